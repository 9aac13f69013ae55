"""The names of the instants of one launch: counted as they come, by meaning and by position.

Pure. An instant has several names, the fullest comes last: `log@5`, `log:toolStarted#2` and
`log:toolStarted[bash]#1` may be the same call on the log. Phases are the caller's business. A name
that could not be read back (a path with a semicolon) is not given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from chaos.evidence import SYNCS
from chaos.judge.log import point_name, split_torn
from chaos.judge.workspace import is_temporary
from chaos.launch.model import Call
from chaos.points import is_place
from chaos.transcript import line_name


class Naming:
    """Counts the calls on the log and on files, and the effects, of one launch."""

    def __init__(
        self, temporary: tuple[str, ...] = (), transcript: Mapping[str, str] | None = None
    ) -> None:
        self._temporary = temporary  # globs: such files are named by chance, so they go by these
        self._transcript = transcript  # paths in a line of the log; None: it records facts
        self._positions: Counter[str] = Counter()  # by source
        self._seen: Counter[str] = Counter()  # by name without ordinal

    def log(self, call: Call, log: bytes) -> tuple[str, ...]:
        """The names of the next call on the log, which finds it as `log`: by the line that it
        completes, else by the call itself."""
        name, tool = call.name, None
        if call.length:
            line = split_torn(log)[1] + call.data
            paths = self._transcript
            name, tool = point_name(line) if paths is None else line_name(line, paths)
        return self._names("log", call, tool, name)

    def file(self, call: Call, path: str) -> tuple[str, ...]:
        """The names of the next call on a workspace file."""
        globs = (glob for glob in self._temporary if is_temporary(path, (glob,)))
        return self._names("file", call, next(globs, path))

    def state(self, call: Call, glob: str) -> tuple[str, ...]:
        """The names of the next call on a file that holds the session: by the glob that it is
        watched by, since its own name may be a matter of chance."""
        return self._names("state", call, glob)

    def effects(self, call: Call, names: list[str]) -> tuple[str, ...]:
        """The names of the next call on the effect journal, which makes these effects."""
        named = [self._counted(f"effect:{name}") for name in names]
        return self._positioned("effect", call, named)

    def position(self, source: str) -> int:
        """How many calls of this source there were."""
        return self._positions[source]

    def _names(
        self, source: str, call: Call, detail: str | None, name: str = ""
    ) -> tuple[str, ...]:
        name = name or call.name
        names = [self._counted(f"{source}:{name}")]
        if detail is not None:
            names.append(self._counted(f"{source}:{name}[{detail}]"))
        return self._positioned(source, call, names)

    def _positioned(self, source: str, call: Call, names: list[str]) -> tuple[str, ...]:
        good = tuple(filter(is_place, names))
        if call.name in SYNCS:  # it can fail, but is no kill point: that is the write's `after`
            return good
        self._positions[source] += 1
        return (f"{source}@{self._positions[source]}", *good)

    def _counted(self, name: str) -> str:
        self._seen[name] += 1
        return f"{name}#{self._seen[name]}"
