"""Target files: how to start the program under test, and where it keeps what.

A target is any program that keeps a session: a few lines of TOML say how it is run and resumed,
where its session lies (`chaos.target_session`) and what its exit codes mean. `parse_target` is a
function of the text, so that a saved failure carries its target with it; `load_target` finds the
file by name.

Does not start anything, and knows no particular target: the built-in ones are data, in
`chaos/targets/`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from chaos.errors import ScenarioError
from chaos.regular import read_regular
from chaos.target_session import (
    KEYS_OF_SESSION,
    TABLES_OF_SESSION,
    Session,
    escapes,
    inside,
    read_session,
)
from chaos.toml_table import Table, nearest, read_toml

PLACEHOLDERS = (
    *("python", "here", "workspace", "home", "session", "prompt"),
    *("base_url", "base_root", "api_key"),
)
ROLES = ("run", "resume")  # commands that every target has
MORE_ROLES = ("compact", "abort")  # and those that it may have
DURABILITIES = ("process", "fsync")
OUTCOMES = ("completed", "failed", "blocked", "corrupt", "busy", "aborted")
NEVER = -1  # the exit code of an outcome that the target does not have

_KEYS = ("name", "about", "state", "temporary", "durability", "stdin", "version")
_TABLES = ("commands", "env", "home", "exit_codes", "limits", "warm")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
# What Linux takes: NAME_MAX, and PATH_MAX less a quarter for the way to the directory itself.
_MOST_BYTES = {"a name": 255, "a path": 3072}
TARGETS = "targets"  # the folder beside scenarios that holds profiles, not scenarios
_BUILT_IN = Path(__file__).parent / TARGETS


class TargetNotFound(ScenarioError):  # noqa: N818 - says what happened, like the rest of the tree
    """No target file of that name. The message has no place: the one who asked knows it."""


@dataclass(frozen=True, slots=True)
class WarmProfile:
    """What a warm parent does before it forks launches (`--launch warm`)."""

    module: str  # run as `python -m module`
    preload: tuple[str, ...]  # libraries only, never the target's state
    rehearsal: tuple[str, ...] = ()  # commands (roles) to run once, in this order


@dataclass(frozen=True, slots=True)
class Target:
    """A program under test. Commands and env hold placeholders such as `{workspace}`."""

    name: str
    about: str
    session: Session  # how it keeps its session
    commands: Mapping[str, tuple[str, ...]]  # by role: ROLES, and some of MORE_ROLES
    env: Mapping[str, str]
    home: Mapping[str, str]  # path in its HOME -> content, with placeholders
    exit_codes: Mapping[str, int]  # a code for each of OUTCOMES; NEVER where it has none
    launch_limit_s: float  # a launch that takes longer is ended and judged (R2)
    grace_s: float  # how long a descendant may outlive the target (X1)
    state: tuple[str, ...]  # workspace directories that belong to the target itself
    temporary: tuple[str, ...]  # globs, workspace-relative: its temporary files (X3)
    durability: str  # what it promises to survive: "process" (a crash), "fsync" (a power loss)
    warm: WarmProfile | None
    stdin: str  # text with placeholders that it is given on standard input; empty: /dev/null
    version: tuple[str, ...]  # argv that prints its version; may be empty
    path: str  # of the target file
    source: str  # its TOML text

    @property
    def dialect(self) -> str:
        """How its log is read, if at all."""
        return self.session.dialect

    @property
    def log(self) -> str:
        """Glob of the session log; empty where nothing of it can be read."""
        return self.session.log

    @property
    def goes_on(self) -> bool:
        """Is its `resume` given a prompt?"""
        return any("{prompt}" in part for part in (*self.commands["resume"], self.stdin))

    def command(self, role: str, **values: str) -> tuple[str, ...]:
        """The argv of `role` (a key of `commands`), placeholders filled from `values`; `{python}`
        is the interpreter that runs chaos, `{here}` the folder of the target file."""
        return tuple(self.filled(part, values) for part in self.commands[role])

    def environment(self, **values: str) -> dict[str, str]:
        """The target's environment variables, placeholders filled as in `command`."""
        return {name: self.filled(value, values) for name, value in self.env.items()}

    def filled(self, text: str, values: Mapping[str, str]) -> str:
        """A text of the target file with its placeholders filled."""
        known = self._known(values)
        return _PLACEHOLDER.sub(lambda match: known[match[1]], text)

    def filled_file(self, text: str, values: Mapping[str, str]) -> str:
        """The same of a file's content, where other words in braces mean something to the target
        and stay as they are."""
        known = self._known(values)
        return _PLACEHOLDER.sub(lambda match: known.get(match[1], match[0]), text)

    def _known(self, values: Mapping[str, str]) -> dict[str, str]:
        return {"python": sys.executable, "here": _folder_of(self.path), **values}


@lru_cache
def _folder_of(path: str) -> str:
    return str(Path(path).parent)


def parse_target(text: str, path: str) -> Target:
    """Read a target file's text. Raises ScenarioError `path:line: …`."""
    root = read_toml(text, path)
    root.only(*_KEYS, *KEYS_OF_SESSION, *_TABLES, *TABLES_OF_SESSION)
    session = read_session(root)
    limits = root.table("limits")
    limits.only("launch_s", "grace_s")
    return Target(
        name=root.text("name"),
        about=root.text("about"),
        session=session,
        commands=_commands(root, session),
        env=_environment(root),
        home=read_files(root, "home"),
        exit_codes=_exit_codes(root),
        launch_limit_s=limits.seconds("launch_s", 20.0),
        grace_s=limits.seconds("grace_s", 2.0),
        state=inside(root, "state", root.texts("state", None if session.by_facts else ())),
        temporary=inside(root, "temporary", root.texts("temporary", ())),
        durability=_durability(root),
        warm=_warm(root),
        stdin=_stdin(root),
        version=_version(root),
        path=path,
        source=text,
    )


def load_target(name_or_path: str, beside: str) -> Target:
    """Read the target that a scenario in directory `beside` names.

    A name with a slash or `.toml` is a path from there; a bare name is `targets/NAME.toml` there,
    else a built-in one. Raises TargetNotFound, or ScenarioError for what is wrong in the file.
    """
    here = Path(beside)
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        places = [here / name_or_path]
    else:
        places = [folder / f"{name_or_path}.toml" for folder in (here / TARGETS, _BUILT_IN)]
    for place in places:
        if place.is_file():
            return parse_target(read_text(place), str(place.resolve()))
    if len(places) == 1:
        raise TargetNotFound(f"no target file {places[0]}")
    known = {path.stem for folder in (here / TARGETS, _BUILT_IN) for path in folder.glob("*.toml")}
    raise TargetNotFound(f"no target {name_or_path!r}{nearest(name_or_path, known)}")


def read_text(path: Path) -> str:
    """A TOML file's text. Raises ScenarioError where it cannot be read as UTF-8."""
    try:
        return read_regular(path).decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{path}:{line}: not UTF-8; save the file as UTF-8") from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None


def read_files(root: Table, key: str) -> dict[str, str]:
    """A table of files, path -> content, that stay in one directory and do not collide. The paths
    are in their shortest form: `./a//b` is `a/b`."""
    contents: dict[str, str] = root.mapping(key, str)
    written: dict[str, str] = {}  # path -> as the file writes it
    for name in contents:
        path = _file_path(root, key, name)
        other = written.setdefault(path, name)
        if other != name:
            raise root.error(f"{key}: {other!r} and {name!r} are the same file", key, name)
    for path, name in written.items():
        for longer, other in written.items():
            if longer.startswith(f"{path}/"):
                raise root.error(
                    f"{key}: {name!r} cannot be a file and the folder of {other!r}", key, name
                )
    return {path: contents[name] for path, name in written.items()}


def _file_path(root: Table, key: str, name: str) -> str:
    """The shortest form of a file's path, which a file system will take."""
    if escapes(name) or name.endswith(("/", "/.")) or "\0" in name:
        where = "workspace" if key == "files" else "HOME"
        raise root.error(
            f"{key}: expected a file's path inside the {where}, found {name!r}", key, name
        )
    path = PurePosixPath(name)
    sizes = {"a name": max(len(part.encode()) for part in path.parts)}
    sizes["a path"] = len(str(path).encode())
    for what, size in sizes.items():
        if size > _MOST_BYTES[what]:
            raise root.error(
                f"{key}: expected {what} of at most {_MOST_BYTES[what]} bytes, found {size}",
                key,
                name,
            )
    return str(path)


def _durability(root: Table) -> str:
    found, known = root.text("durability") if "durability" in root else "process", DURABILITIES
    if found not in known:
        raise root.error(f"unknown durability {found!r}{nearest(found, known)}", "durability")
    return found


def _commands(root: Table, session: Session) -> dict[str, tuple[str, ...]]:
    commands = root.table("commands")
    commands.only(*ROLES, *MORE_ROLES)
    roles = (*ROLES, *(role for role in MORE_ROLES if role in commands))
    for role in roles[len(ROLES) :]:
        if not session.by_facts:
            raise commands.error(
                f"commands.{role}: when it has begun is told by facts, which the dialect "
                f"{session.dialect!r} has not; leave it out",
                role,
            )
    found = {role: commands.texts(role) for role in roles}
    for role, argv in found.items():
        if not argv:
            raise commands.error(f"commands.{role} is empty; name the program", role)
        for index, part in enumerate(argv):
            _check_placeholders(commands, part, role, index)
    if not any("{prompt}" in part for part in (*found["run"], _stdin(root))):
        raise commands.error("commands.run must hold {prompt}, or no prompt reaches it", "run")
    return found


def _environment(root: Table) -> dict[str, str]:
    found = root.environment("env")
    for name, value in found.items():
        _check_placeholders(root, value, "env", name)
    return found


def _stdin(root: Table) -> str:
    """What a target reads on standard input: `{prompt}` there is the prompt of every command."""
    found = root.text("stdin") if "stdin" in root else ""
    _check_placeholders(root, found, "stdin")
    return found


def _version(root: Table) -> tuple[str, ...]:
    argv = root.texts("version", ())
    for index, part in enumerate(argv):
        _check_placeholders(root, part, "version", index)
    return argv


def _check_placeholders(table: Table, text: str, *keys: str | int) -> None:
    for name in _PLACEHOLDER.findall(text):
        if name not in PLACEHOLDERS:
            raise table.error(f"unknown placeholder {{{name}}}{nearest(name, PLACEHOLDERS)}", *keys)


def _exit_codes(root: Table) -> dict[str, int]:
    codes = root.table("exit_codes")
    codes.only(*OUTCOMES)
    found = dict.fromkeys(OUTCOMES, NEVER)
    for outcome in ("completed", *codes.names()):
        found[outcome] = codes.whole(outcome, least=0)
        if found[outcome] > 255:
            raise codes.error(f"exit_codes.{outcome}: an exit code is 0…255", outcome)
    return found


def _warm(root: Table) -> WarmProfile | None:
    if "warm" not in root:
        return None
    warm = root.table("warm")
    warm.only("module", "preload", "rehearsal")
    rehearsal = warm.texts("rehearsal", ())
    commands = root.table("commands").names()
    for index, role in enumerate(rehearsal):
        if role not in commands:
            why = f"warm.rehearsal: no command {role!r}{nearest(role, commands)}"
            raise warm.error(why, "rehearsal", index)
    return WarmProfile(warm.text("module"), warm.texts("preload", ()), rehearsal)
