"""What a loss of power would leave of a session: what was not synced goes, all of it or a part.

Pure: from the events of a lineage to the images that a loss at its end could leave. A kill keeps
the page cache, so this is a family of faults of its own, and never mixed with kills in a verdict.

The model, file by file and strict in the sense of POSIX: the bytes of a file are durable once it
was synced; a name (a new file, a rename, an unlink) once its directory was. Of what was not, any
prefix may be there: so many of the unsynced writes, in order, perhaps half of the next; and,
independently, so many of the unsynced changes of names. Only what the agent itself wrote can go:
what other programs wrote is their own to sync, and the effect journal stands for the world outside.

    data=2 names=0        the first two unsynced writes, none of the changes of names
    data=2+half names=1   half of the third write too

Source: design section 9; session contract section 1 ("Promise").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from chaos.errors import UsageError
from chaos.evidence import (
    ABSENT,
    Blobs,
    Effect,
    Event,
    Exec,
    FileChange,
    LogWrite,
    Request,
    Sync,
    Tree,
)

_LOSS = re.compile(r"data=(?P<data>\d{1,6})(?P<half>\+half)? names=(?P<names>\d{1,6})")


@dataclass(frozen=True, slots=True)
class Loss:
    """What is kept of what was not synced: `data` writes (and half of the next), `names` changes
    of names."""

    data: int
    names: int
    half: bool = False

    @classmethod
    def parse(cls, text: str) -> Loss:
        """Read a loss as it is printed. Raises UsageError."""
        match = _LOSS.fullmatch(text)
        if match is None:
            raise UsageError(f"not a power loss: {text!r}; write for example 'data=2+half names=0'")
        return cls(int(match["data"]), int(match["names"]), match["half"] is not None)

    def __str__(self) -> str:
        return f"data={self.data}{'+half' if self.half else ''} names={self.names}"


@dataclass(frozen=True, slots=True)
class _Data:
    """An unsynced change of a file's bytes."""

    file: int
    before: bytes
    after: bytes

    def half(self) -> bytes:
        """As far as the middle of what it added; one that only takes away happens or does not."""
        if not self.after.startswith(self.before):
            return self.before
        return self.after[: (len(self.before) + len(self.after)) // 2]


@dataclass(frozen=True, slots=True)
class _Name:
    """An unsynced change of names: `file` is called `path` now, and no more `old`."""

    directory: str
    path: str
    file: int | None
    old: str | None = None


@dataclass(slots=True)
class Unsynced:
    """What is durable of the session's files, and what is not yet. `log` is the log's path."""

    log: str
    bytes_of: dict[int, bytes] = field(default_factory=dict)  # durable, by file
    names: dict[str, int] = field(default_factory=dict)  # durable
    data: list[_Data] = field(default_factory=list)
    renames: list[_Name] = field(default_factory=list)
    _writer: int = 0  # the process that wrote the log last
    _now: dict[str, int] = field(default_factory=dict)  # names as the target sees them
    _content: dict[int, bytes] = field(default_factory=dict)  # bytes as the target sees them

    def start(self, files: Mapping[str, bytes]) -> None:
        """What was there before the first launch is durable."""
        for path, content in files.items():
            file = self._new(path)
            self.names[path] = file
            self.bytes_of[file] = self._content[file] = content

    def take(self, event: Event, blobs: Blobs) -> None:
        """An event has happened."""
        match event:
            case LogWrite():
                self._writer = event.pid
                gone = event.log == ABSENT or event.call.startswith("unlink")
                self.change(self.log, None if gone else blobs.get(event.log), None, durable=False)
            case FileChange():
                after = None if event.after == ABSENT else blobs.get(event.after)
                foreign = event.pid != self._writer
                self.change(event.path, after, event.old or None, durable=foreign)
            case Sync():
                self.sync(event.path, event.names)

    def change(self, path: str, after: bytes | None, old: str | None, *, durable: bool) -> None:
        """A call left `path` with these bytes (None: no file); `old` is the former name of what
        was renamed. `durable`: nobody asks who wrote it."""
        directory = f"{path.rpartition('/')[0] or '.'}/"
        if after is None:
            gone = self._now.pop(path, None)
            if gone is not None:
                self.renames.append(_Name(directory, path, None))
        elif old is not None and old in self._now:
            file = self._now[path] = self._now.pop(old)
            self.renames.append(_Name(directory, path, file, old))
            self._write(file, after)
        else:
            if path not in self._now:
                self.renames.append(_Name(directory, path, self._new(path)))
            self._write(self._now[path], after)
        if durable:
            self.sync(path)
            self.sync(directory)

    def sync(self, path: str, names: Iterable[str] = ()) -> None:
        """A file was synced, or a directory, whose path ends in a slash, with these names in it:
        a new file without a byte is seen here first."""
        if path.endswith("/"):
            for new in names:
                if new not in self._now:
                    self.renames.append(_Name(path, new, self._new(new)))
            for name in [name for name in self.renames if name.directory == path]:
                self.renames.remove(name)
                _rename(self.names, name)
        elif path in self._now:
            file = self._now[path]
            self.bytes_of[file] = self._content[file]
            self.data = [each for each in self.data if each.file != file]

    def after(self, loss: Loss) -> dict[str, bytes]:
        """The files that a loss leaves, by path. Raises UsageError for one that keeps more than
        there is to lose."""
        if loss.data + loss.half > len(self.data) or loss.names > len(self.renames):
            raise UsageError(
                f"{loss}: there are {len(self.data)} unsynced writes and {len(self.renames)} "
                "unsynced changes of names"
            )
        content, names = dict(self.bytes_of), dict(self.names)
        for change in self.data[: loss.data]:
            content[change.file] = change.after
        if loss.half:
            content[self.data[loss.data].file] = self.data[loss.data].half()
        for name in self.renames[: loss.names]:
            _rename(names, name)
        return {path: content.get(file, b"") for path, file in names.items()}

    def losses(self) -> Iterator[Loss]:
        """Every prefix of the writes, whole and by half, with all names; with the writes gone or
        there, every prefix of the names."""
        data, names = len(self.data), len(self.renames)
        if not data and not names:
            return
        for kept in range(data):
            yield Loss(kept, names)
            yield Loss(kept, names, half=True)
        for kept in range(names):
            yield from (Loss(written, kept) for written in dict.fromkeys((0, data)))

    def _write(self, file: int, after: bytes) -> None:
        before = self._content[file]
        self._content[file] = after
        if before != after:
            self.data.append(_Data(file, before, after))

    def _new(self, path: str) -> int:
        file = len(self._content)
        self._now[path] = file
        self._content[file] = b""
        return file


def _rename(names: dict[str, int], change: _Name) -> None:
    if change.old is not None:
        names.pop(change.old, None)
    if change.file is None:
        names.pop(change.path, None)
    else:
        names[change.path] = change.file


def unsynced(
    events: Iterable[Event], blobs: Blobs, log: str, log_before: bytes | None, files_before: Tree
) -> Unsynced:
    """What a loss of power after these events could take. `log` is the log's path in the workspace;
    `log_before` and `files_before` are what there was before the first of the events."""
    state = Unsynced(log)
    start = {path: blobs.get(name) for path, name in files_before.items()}
    state.start(start if log_before is None else {**start, log: log_before})
    for event in events:
        state.take(event, blobs)
    return state


def acknowledged(events: Iterable[Event]) -> str | None:
    """The name of the log as it was when somebody outside could first know of it: at the last
    request, start of a program, effect or change of a file. None: nothing happened outside."""
    known: str | None = None
    for event in events:
        if isinstance(event, Request | Exec | Effect | FileChange):
            known = event.log
    return known
