"""`chaos new`: a scenario or a target to begin with, which runs as it is.

The files come from `templates/`, with the name filled in; a scenario takes the target that is
beside it, if there is one. Promises: nothing that exists is written over, and what is written
passes with the built-in agent before anything is changed in it.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from chaos.cli.output import say
from chaos.errors import UsageError
from chaos.scenario import NAME
from chaos.target import TARGETS

BUILT_IN = "agent"
_TEMPLATES = Path(__file__).parent / "templates"
_SUFFIX = ".toml"
_PROFILE = re.compile(r"[\w.-]+")  # a target that a template can name without quoting it
_New = tuple[Path, str, str]  # where it is written, its text, and what to say of it


def command(args: argparse.Namespace) -> int:
    """Write the file and say what to type next."""
    folder, name = _where(args.name)
    path, text, said = _KINDS[args.kind](folder, name)
    _write(path, text)
    say(f"written   {path}\n{said}\n")
    return 0


def _where(text: str) -> tuple[Path, str]:
    """The folder and the name. Raises UsageError for a name that a scenario could not have."""
    path = Path(text.removesuffix(_SUFFIX))
    if not NAME.fullmatch(path.name):
        raise UsageError(
            f"{text!r}: expected a name of lower-case words joined by '-', found {path.name!r}; "
            "write for example: chaos new scenario deploy-twice"
        )
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such folder; make it first: mkdir -p {path.parent}")
    return path.parent, path.name


def _scenario(folder: Path, name: str) -> _New:
    """With the target beside it whose name is nearest, else the built-in one."""
    found = (path.stem for path in (folder / TARGETS).glob(f"*{_SUFFIX}"))
    profiles = sorted(stem for stem in found if _PROFILE.fullmatch(stem))
    chosen = [*get_close_matches(name, profiles, n=1, cutoff=0.0), BUILT_IN][0]
    others = [each for each in (*profiles, BUILT_IN) if each != chosen]
    text = _template("scenario", NAME=name, PROFILE=chosen, OTHERS=", ".join(others) or "none yet")
    path = folder / f"{name}{_SUFFIX}"
    target = f"target    {chosen}" + (f" (there is also: {', '.join(others)})" if others else "")
    return path, text, f"{target}\nnext      chaos run {shlex.quote(str(path))} --launch warm"


def _target(folder: Path, name: str) -> _New:
    """In the folder where a scenario in `folder` looks for it."""
    path = folder / TARGETS / f"{name}{_SUFFIX}"
    following = f"chaos new scenario {shlex.quote(str(folder / f'{name}-hello'))}"
    return path, _template("target", NAME=name), f"next      {following}"


_KINDS: dict[str, Callable[[Path, str], _New]] = {"scenario": _scenario, "target": _target}


def _template(kind: str, **values: str) -> str:
    text = (_TEMPLATES / f"{kind}{_SUFFIX}").read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"<{key}>", value)
    return text


def _write(path: Path, text: str) -> None:
    try:
        if not path.parent.is_dir():
            path.parent.mkdir()
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:
                path.unlink()  # a half would be in the way of the next attempt
                raise
    except FileExistsError as error:
        there = error.filename
        raise UsageError(f"{there}: there already; take another name, or remove it") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
