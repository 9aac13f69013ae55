"""Drift: what is different in one launch, and only in that one.

    set:NAME=VALUE     an environment variable
    write:PATH=TEXT    a file of the workspace
    delete:PATH        a file or directory of the workspace is not there
    move:NAME          the workspace is another directory, beside its own
    clock:-1h          the wall clock

A table of who carries out what, and takes it back: also what the target has put in its place
meanwhile. Whether the target must be held up by it, its
contract says, and the scenario (`[expect] blocked`).

The clock is that of libfaketime where a launch is an exec. A warm launch is a Python that was
preloaded long ago: its `time.time` and `time.time_ns` are shifted (`chaos.launch.warm_parent`), and
neither `datetime.now` nor the tools it starts.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath
from typing import TypeVar

from chaos.errors import ChaosError
from chaos.scenario_events import PlannedEvent
from chaos.supervise.room import Room

_LIBRARIES = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib*/faketime/libfaketime.so.1")
_AWAY = "away"  # beside the workspace: what is not there for now
_Known = TypeVar("_Known")  # what is known of a file


@contextmanager
def drifted(room: Room, events: Sequence[PlannedEvent], launch: str) -> Iterator[dict[str, str]]:
    """What events change for a launch (`exec` or `warm`). Gives the environment to add. Raises
    ChaosError where the machine has no clock to lend, and where a file is to lie in a file."""
    env: dict[str, str] = {}
    with ExitStack() as taken_back:
        for event in events:
            if event.kind in _ACTS:
                _ACTS[event.kind](room, event, env, taken_back)
        if "FAKETIME" in env and launch == "exec":
            env |= _preloaded()
        yield env


def _set(_room: Room, event: PlannedEvent, env: dict[str, str], _taken_back: ExitStack) -> None:
    name, value = event.variable
    env[name] = value


def _write(room: Room, event: PlannedEvent, _env: dict[str, str], taken_back: ExitStack) -> None:
    name, text = event.variable
    path = room.workspace / name
    for folder in _folders(room.workspace, path):
        if folder.exists() and not folder.is_dir():
            raise ChaosError(f"{event.do}: expected a directory, found a file: {folder}")
        if not folder.exists():
            folder.mkdir()
            taken_back.callback(_leave, folder)
    _put_away(room, path, taken_back)
    path.write_text(text, encoding="utf-8")


def _delete(room: Room, event: PlannedEvent, _env: dict[str, str], taken_back: ExitStack) -> None:
    _put_away(room, room.workspace / event.argument, taken_back)


def _put_away(room: Room, path: Path, taken_back: ExitStack) -> None:
    if path.exists() or path.is_symlink():
        aside = room.root / f"{_AWAY}-{len(list(room.root.glob(f'{_AWAY}-*')))}"
        path.rename(aside)
        taken_back.callback(_put_back, room.workspace, aside, path)
    taken_back.callback(_remove, path)


def _put_back(workspace: Path, aside: Path, path: Path) -> None:
    """The directories that it was in are there again, too, whatever the target made of them."""
    for folder in _folders(workspace, path):
        if not folder.is_dir():
            _remove(folder)
            folder.mkdir()
    aside.rename(path)


def _remove(path: Path) -> None:
    """Whatever is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with suppress(NotADirectoryError):  # of the directory that it was in, a file was made
            path.unlink(missing_ok=True)


def _leave(folder: Path) -> None:
    """Remove a directory that was made for a file, unless the target needed it, too."""
    with suppress(OSError):
        folder.rmdir()


def _folders(workspace: Path, path: Path) -> list[Path]:
    """The directories between the workspace and a path in it, outermost first."""
    between = path.relative_to(workspace).parents
    return [workspace / folder for folder in reversed(between[:-1])]


def _move(room: Room, event: PlannedEvent, _env: dict[str, str], taken_back: ExitStack) -> None:
    taken_back.callback(room.move, room.workspace.name)
    room.move(event.argument)


def _clock(_room: Room, event: PlannedEvent, env: dict[str, str], _taken_back: ExitStack) -> None:
    env["FAKETIME"] = f"{event.shift_s:+d}"


_ACTS: Mapping[str, Callable[[Room, PlannedEvent, dict[str, str], ExitStack], None]] = {
    "set": _set,
    "write": _write,
    "delete": _delete,
    "move": _move,
    "clock": _clock,
}


def changed_paths(events: Iterable[PlannedEvent]) -> tuple[str, ...]:
    """What the events change in the workspace, relative to it."""
    paths = {"write": lambda e: e.variable[0], "delete": lambda e: e.argument}
    return tuple(paths[event.kind](event) for event in events if event.kind in paths)


def taken_back(
    now: Mapping[str, _Known], before: Mapping[str, _Known], paths: Sequence[str]
) -> dict[str, _Known]:
    """The files of the workspace as they will be after the launch, when what it found changed is as
    it was before it. Both by their names."""

    def is_changed(name: str) -> bool:
        return any(name == path or name.startswith(f"{path}/") for path in paths)

    put_back = {name: known for name, known in before.items() if is_changed(name)}
    folders = {str(folder) for name in put_back for folder in PurePath(name).parents}
    kept = (name for name in now if not is_changed(name) and name not in folders)
    return {**{name: now[name] for name in kept}, **put_back}


def clock_library() -> str | None:
    """What gives a launch by exec another clock; None: nothing on this machine."""
    found = (str(path) for glob in _LIBRARIES for path in Path("/").glob(glob.lstrip("/")))
    return next(found, None)


def _preloaded() -> dict[str, str]:
    """What makes libfaketime shift the wall clock alone, and leave nothing behind when killed."""
    library = clock_library()
    if library is None:
        raise ChaosError(
            "clock: a launch by exec needs libfaketime, found none at "
            f"{_LIBRARIES[0]}; install it (apt-get install libfaketime), or use --launch warm"
        )
    before = [os.environ["LD_PRELOAD"]] if os.environ.get("LD_PRELOAD") else []
    return {
        "LD_PRELOAD": ":".join((library, *before)),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DISABLE_SHM": "1",
    }
