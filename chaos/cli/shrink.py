"""`chaos shrink`: a smaller failure, as a scenario of its own, a failure file and a test."""

from __future__ import annotations

import argparse
import os
import re
import tomllib
from pathlib import Path

from chaos.cli.output import near, say, show
from chaos.errors import ScenarioError, UsageError
from chaos.report.counts import number_of
from chaos.report.explain import explain
from chaos.report.failure import read_failure, write_failure
from chaos.report.visible import visible
from chaos.supervise.shrink import Shrunk, shrink_failure
from chaos.target import load_target

_TEST = '''\
"""Fails while {name} breaks {rule}, passes when it does not. Written by `chaos shrink`."""

from pathlib import Path

from chaos import replay

FAILURE = Path(__file__).with_name("{file}")  # {schedule}


def test_{function}() -> None:
    replay(FAILURE).check()
'''


def command(args: argparse.Namespace) -> int:
    """Shrink and write. 0 when the failure still fails, however much of it could go."""
    failure = read_failure(Path(args.failure))
    name = failure.scenario.name.removesuffix("-shrunk")
    out = Path(os.path.realpath(args.out or f"{name}-shrunk.toml"))
    _check(out)
    target = failure.scenario.target
    carried = f"./{out.stem}.target.toml"
    profile = tomllib.loads(failure.scenario.source)["target"]["profile"]
    found = _finds(profile, out.parent, target.source)
    shrunk = shrink_failure(failure, str(out), profile if found else carried)
    out.write_text(shrunk.failure.scenario.source, encoding="utf-8")
    if not found:
        (out.parent / carried).write_text(target.source, encoding="utf-8")
    saved = out.with_suffix(".json")
    write_failure(shrunk.failure, saved)
    show(explain(shrunk.result, str(saved)))  # from any directory
    say(f"\n{_in_words(shrunk)}scenario  {near(out)}\n")
    if args.pytest:
        say(f"test      {near(_write_test(shrunk, saved))}\n")
    return 0


def _check(out: Path) -> None:
    """Refuse before the work, not after it."""
    if out.suffix != ".toml" or not out.parent.is_dir() or out.is_dir():
        raise UsageError(f"--out {out}: expected a file NAME.toml in a folder that exists")


def _finds(profile: str, folder: Path, source: str) -> bool:
    """Is the failure's target found from there? Its file may have changed or gone since."""
    try:
        return load_target(profile, str(folder)).source == source
    except ScenarioError:
        return False


def _in_words(shrunk: Shrunk) -> str:
    """`shrunk    2 -> 1 kills, 4 -> 2 turns` of what there was any."""
    parts = [
        f"{count} -> {number_of(shrunk.after[name], name)}"
        for name, count in shrunk.before.items()
        if count
    ]
    return f"shrunk    {', '.join(parts)} ({shrunk.runs} runs; still {shrunk.rule})\n"


def _write_test(shrunk: Shrunk, saved: Path) -> Path:
    function = re.sub(r"\W+", "_", saved.stem, flags=re.ASCII)
    file = saved.with_name(f"test_{function}.py")
    text = _TEST.format(
        name=shrunk.failure.scenario.name,
        rule=shrunk.rule,
        file=saved.name.replace("\\", "\\\\").replace('"', '\\"'),
        function=function,
        schedule=visible(shrunk.result.schedule),
    )
    file.write_text(text, encoding="utf-8")
    return file
