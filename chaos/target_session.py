"""How a target keeps its session, as its target file says: the part that depends on the dialect.

    session-v2   one log in the workspace, whose facts tell what is accepted and what comes next
    transcript   a log of JSON lines, whose keys the file names (`chaos.transcript`)
    opaque       files of any form: they are watched, and not read

Of the last two, what is accepted and what comes next is told by the wire and by exit codes.
Reads and checks keys; starts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from chaos.flavours import NO_MARKS, SideMarks
from chaos.toml_table import Table, nearest
from chaos.transcript import KEYS, PATH

FACTS = "session-v2"  # the dialect that records facts
DIALECTS = (FACTS, "transcript", "opaque")
ACKNOWLEDGED = ("request", "exit")
HOME = "~/"  # begins a glob below the target's HOME

KEYS_OF_SESSION = ("dialect", "log", "durable", "acknowledged", "side", "side_without_tools")
TABLES_OF_SESSION = ("shell", "transcript")
# Keys that only some dialects have, and those that they must have.
_ONLY = {
    "log": (FACTS, "transcript"),
    "transcript": ("transcript",),
    "durable": ("transcript", "opaque"),
    "acknowledged": ("transcript", "opaque"),
}
_NEEDED = {FACTS: ("log",), "transcript": ("log", "transcript"), "opaque": ("durable",)}


@dataclass(frozen=True, slots=True)
class Shell:
    """The tool by which the target's model runs a command in a shell."""

    tool: str
    arguments: dict[str, Any] = field(hash=False)  # `{command}` in a text stands for the command
    parallel: bool = True  # may the model make several calls in one turn?

    def call(self, command: str) -> dict[str, Any]:
        """The arguments of a call that runs `command`."""
        return {key: _with(value, command) for key, value in self.arguments.items()}


_BASH = Shell("bash", {"command": "{command}"})


@dataclass(frozen=True, slots=True)
class Session:
    """What a target file says of its session."""

    dialect: str = FACTS
    log: str = ""  # glob of the session log; empty: nothing that could be read
    durable: tuple[str, ...] = ()  # globs of further files that hold the session
    acknowledged: str = "request"  # one of ACKNOWLEDGED: when a prompt counts as accepted
    side: SideMarks = NO_MARKS  # of requests that are no turns of the conversation
    shell: Shell | None = _BASH
    transcript: dict[str, str] = field(default_factory=dict, hash=False)  # paths by KEYS

    @property
    def by_facts(self) -> bool:
        """Does its log record facts, that tell what was accepted and what comes next?"""
        return self.dialect == FACTS


def read_session(root: Table) -> Session:
    """Read these keys of a target file. Raises ScenarioError."""
    dialect = _one_of(root, "dialect", DIALECTS, root.text("dialect"))
    for key, dialects in _ONLY.items():
        if key in root and dialect not in dialects:
            raise root.error(f"{key} is no key of the dialect {dialect!r}; leave it out", key)
    for key in _NEEDED[dialect]:
        if key not in root:
            raise root.error(f"the dialect {dialect!r} needs the key {key!r}", "dialect")
    log = (root.text("log"),) if "log" in root else ()
    durable = root.texts("durable", ())
    in_home = dialect != FACTS
    for glob in (*log, *durable) if in_home else ():
        if any(character in glob for character in "[];\n"):
            raise root.error(
                f"{glob!r}: '[', ']' and ';' cannot be told in the name of a kill point; use '?'",
                "log" if glob in log else "durable",
            )
    return Session(
        dialect=dialect,
        log=next(iter(inside(root, "log", log, home=in_home)), ""),
        durable=inside(root, "durable", durable, home=True),
        acknowledged=_one_of(
            root,
            "acknowledged",
            ACKNOWLEDGED,
            root.text("acknowledged") if "acknowledged" in root else ACKNOWLEDGED[0],
        ),
        side=SideMarks(root.texts("side", ()), bool(root.either("side_without_tools", bool))),
        shell=_shell(root, _BASH if dialect == FACTS else None),
        transcript=_transcript(root.table("transcript")) if "transcript" in root else {},
    )


def inside(root: Table, key: str, paths: Iterable[str], *, home: bool = False) -> tuple[str, ...]:
    """Paths and globs that stay in the workspace or (`home`), after `~/`, in the HOME."""
    checked = tuple(paths)
    for path in checked:
        if escapes(path.removeprefix(HOME) if home else path):
            where = "the workspace and the HOME" if home else "the workspace"
            raise root.error(f"{key}: {path!r} leads out of {where}", key)
    return checked


def escapes(path: str) -> bool:
    """True of a path that is absolute or climbs with `..`, so may leave the workspace."""
    pure = PurePosixPath(path)
    return pure.is_absolute() or ".." in pure.parts or not pure.parts


def _shell(root: Table, default: Shell | None) -> Shell | None:
    if "shell" not in root:
        return default
    table = root.table("shell")
    table.only("tool", "arguments", "parallel")
    tool = table.text("tool")
    arguments = table.either("arguments", dict) or {"command": "{command}"}
    parallel = table.either("parallel", bool) if "parallel" in table else True
    shell = Shell(tool, arguments, bool(parallel))
    if shell.call("") == arguments:
        raise table.error("shell.arguments: no text holds {command}", "arguments")
    return shell


def _transcript(table: Table) -> dict[str, str]:
    table.only(*KEYS)
    paths = {key: table.text(key) for key in KEYS if key in table or key == KEYS[0]}
    for key, path in paths.items():
        if not PATH.fullmatch(path):
            raise table.error(
                f"transcript.{key}: expected keys joined by dots, such as message.content[].id, "
                f"found {path!r}",
                key,
            )
    return paths


def _one_of(root: Table, key: str, known: tuple[str, ...], found: str) -> str:
    if found not in known:
        raise root.error(f"unknown {key} {found!r}{nearest(found, known)}", key)
    return found


def _with(value: Any, command: str) -> Any:
    """A value of the arguments with the command in its place."""
    match value:
        case str():
            return value.replace("{command}", command)
        case list():
            return [_with(item, command) for item in value]
        case dict():
            return {key: _with(item, command) for key, item in value.items()}
        case _:
            return value
