"""The commands and their options, as argparse sees them.

Only parses: what a command does is in the module that COMMANDS names. A wrong command line is a
`UsageError`, so that it exits with 4 like every other usage error and not with argparse's 2.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from chaos.cli.output import say
from chaos.errors import UsageError
from chaos.options import CLOSURE, FAULTS, LAUNCHES, TORN
from chaos.points import Phase
from chaos.toml_table import nearest

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

COMMANDS = {
    "run": "chaos.cli.run",
    "points": "chaos.cli.points",
    "replay": "chaos.cli.replay",
    "shrink": "chaos.cli.shrink",
    "judge": "chaos.cli.judge",
    "certify": "chaos.cli.certify",
    "doctor": "chaos.cli.doctor",
    "new": "chaos.cli.new",
}
MOST_JOBS = 64
MOST_KILLS = 16
MOST_STATES = 1_000_000
_EXECUTOR = re.compile(r"dask://[^/\s]+:\d+")
_SHARE = re.compile(r"(\d+(?:\.\d+)?)(%?)")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|)")
CERTIFY_S = 170.0
DEFAULT_REPORT = "chaos-report"


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: SupportsWrite[str] | None = None) -> None:  # noqa: ARG002
        """To stdout; argparse would keep quiet where it cannot be written."""
        say(self.format_help())

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().rstrip()}")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """To stdout, as the help."""
        from importlib.metadata import version  # for this alone

        say(f"chaos {version('killpoint')}\n")
        parser.exit()


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read a command line, and keep it as `line`. Raises UsageError; SystemExit after --help."""
    args = _parser().parse_args(argv)
    args.line = shlex.join(["chaos", *argv])
    return args


def file(text: str) -> str:
    """The name of a file or folder: empty, it would silently be the current directory."""
    if not text:
        raise argparse.ArgumentTypeError("expected the name of a file or folder, found ''")
    return text


def phases(text: str) -> tuple[Phase, ...]:
    """`before,torn,after`, or some of them."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in tuple(Phase):
            known = tuple(map(str, Phase))
            raise argparse.ArgumentTypeError(f"unknown phase {word!r}{nearest(word, known)}")
    return tuple(phase for phase in Phase if phase in words)


def depth(text: str) -> int | None:
    """How many kills a schedule may have; `closure` (None) is as many as it takes."""
    if text == CLOSURE:
        return None
    return _count(text, MOST_KILLS, f" or {CLOSURE}")


def jobs(text: str) -> int:
    """How many lanes."""
    return _count(text, MOST_JOBS)


def states(text: str) -> int:
    """How many crash images."""
    return _count(text, MOST_STATES)


def seconds(text: str) -> float:
    """A duration such as 60s, 1.5m or 90 (seconds)."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"expected a time such as 60s or 2m, found {text!r}")
    return float(match[1]) * (60 if match[2] == "m" else 1)


def share(text: str) -> float:
    """A share such as 0.1, or 10%."""
    match = _SHARE.fullmatch(text)
    value = float(match[1]) / (100 if match[2] else 1) if match else 2.0
    if value > 1:
        raise argparse.ArgumentTypeError(f"expected a share such as 0.1 or 10%, found {text!r}")
    return value


def shard(text: str) -> tuple[int, int]:
    """`I/N`: the I-th of N parts."""
    part, slash, parts = text.partition("/")
    if slash and part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts):
        return int(part), int(parts)
    raise argparse.ArgumentTypeError(f"expected I/N with 1 ≤ I ≤ N, such as 1/4, found {text!r}")


def executor(text: str) -> str:
    """Where lanes run, if not here."""
    if _EXECUTOR.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"expected dask://HOST:PORT, found {text!r}")
    return text


def _count(text: str, most: int, otherwise: str = "") -> int:
    if not text.isdecimal() or not 1 <= int(text) <= most:
        expected = f"a number in 1…{most}{otherwise}"
        raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="chaos",
        description="Kill a real agent at exact instants, resume it, judge what is left.",
        epilog="exit codes: 0 all passed, 1 violation, 2 interrupted, 3 harness error or "
        "inconclusive, 4 usage or scenario error, 5 nothing selected",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _run(commands.add_parser("run", help="try every kill point of every scenario"))

    points = commands.add_parser("points", help="list the kill points of the run without a kill")
    points.add_argument("scenario", type=file, metavar="SCENARIO", help="a scenario file")

    replay = commands.add_parser("replay", help="run one saved schedule again")
    replay.add_argument("failure", type=file, metavar="FAILURE.json", help="from REPORT/failures/")
    replay.add_argument(
        "--hold", action="store_true", help="stop at the kill point, for a debugger, then kill"
    )

    shrink = commands.add_parser("shrink", help="a smaller failure that breaks the same rule")
    shrink.add_argument("failure", type=file, metavar="FAILURE.json", help="from REPORT/failures/")
    shrink.add_argument(
        "--out",
        type=file,
        metavar="FILE",
        help="the new scenario, FILE.toml, with its FILE.json for chaos replay; default: "
        "SCENARIO-shrunk.toml",
    )
    shrink.add_argument(
        "--pytest",
        action="store_true",
        help="write a test beside it that fails now and passes when the fault is mended",
    )

    judge = commands.add_parser("judge", help="judge saved evidence, or any session log")
    judge.add_argument(
        "subject", type=file, metavar="RUN_DIR|LOG", help="a folder of evidence, or a log"
    )

    _certify(commands.add_parser("certify", help="put a target to the standard course"))

    commands.add_parser("doctor", help="what works on this machine, and why not")

    new = commands.add_parser("new", help="a scenario or a target to begin with, which runs")
    new.add_argument("kind", choices=("scenario", "target"), help="what to write")
    new.add_argument("name", type=file, metavar="NAME", help="of it; a folder may stand before it")
    return parser


def _certify(certify: argparse.ArgumentParser) -> None:
    certify.add_argument(
        "target", type=file, metavar="TARGET", help="a target file, or the name of one"
    )
    certify.add_argument(
        "--budget",
        type=seconds,
        default=CERTIFY_S,
        metavar="TIME",
        help="begin no schedule that would not be over by then, were it the longest so far; "
        f"default: {CERTIFY_S:.0f}s",
    )
    _jobs(certify)
    _launch(certify)
    _report(certify)
    certify.add_argument("--json", type=file, metavar="FILE", help="the table; - is stdout")


def _run(run: argparse.ArgumentParser) -> None:
    for family in (_what_is_done, _how, _how_far, _what_is_told):
        family(run)


def _what_is_done(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "scenarios",
        type=file,
        metavar="SCENARIO",
        nargs="*",
        help="files or folders; default: scenarios/",
    )
    run.add_argument(
        "-k", metavar="EXPR", help="only these: words, and, or, not, ( ), over scenario and id"
    )
    run.add_argument(
        "--phases", type=phases, help=f"of {','.join(Phase)}; default: as each scenario says"
    )
    run.add_argument(
        "--faults",
        choices=FAULTS,
        default=FAULTS[0],
        help="what befalls the session: a kill, damage of its log while nothing runs, a loss of "
        "power, a kill and then several resumes at once, a signal, or an error of the disk; "
        f"default: {FAULTS[0]}",
    )
    run.add_argument(
        "--torn",
        choices=TORN,
        default=TORN[0],
        help="tear a write (or cut a damaged log) where it tells, or at every byte; default: "
        f"{TORN[0]}",
    )


def _how(run: argparse.ArgumentParser) -> None:
    _jobs(run)
    run.add_argument(
        "--executor",
        type=executor,
        metavar="dask://HOST:PORT",
        help="the worker processes of a Dask cluster instead of --jobs of this machine",
    )
    _launch(run)
    run.add_argument(
        "--seed", type=int, default=0, metavar="S", help="of what is sampled; default: 0"
    )


def _jobs(run: argparse.ArgumentParser) -> None:
    # Only Linux tells which cores are this process's own, and `judge` works elsewhere too.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    lanes = min(cores or 1, MOST_JOBS)
    run.add_argument(
        "--jobs", type=jobs, default=lanes, metavar="N", help=f"lanes in parallel; default: {lanes}"
    )


def _launch(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--launch",
        choices=LAUNCHES,
        default=LAUNCHES[0],
        help=f"a fresh process, or a fork of one that has its imports done; default: {LAUNCHES[0]}",
    )


def _how_far(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--depth",
        type=depth,
        default=1,
        metavar=f"N|{CLOSURE}",
        help="kills in a schedule: 1 … or as many as lead to a new crash image; default: 1",
    )
    run.add_argument(
        "--budget",
        type=seconds,
        metavar="TIME",
        help="time for a scenario (60s, 2m); its first level is whole in any case; default: none",
    )
    run.add_argument(
        "--max-states",
        type=states,
        metavar="N",
        help="crash images a scenario may have; default: no bound",
    )
    run.add_argument(
        "--verify-dedup",
        type=share,
        default=0.0,
        metavar="P",
        help="share of known crash images to judge again and compare: 0.1, 10%%; default: 0",
    )
    run.add_argument(
        "--shard",
        type=shard,
        default=(1, 1),
        metavar="I/N",
        help="the I-th of N parts of the first level, for N machines; default: 1/1",
    )
    run.add_argument("--fail-fast", action="store_true", help="stop at the first that is not PASS")


def _report(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--report",
        type=file,
        metavar="DIR",
        default=DEFAULT_REPORT,
        help=f"report, failures and their evidence; default: {DEFAULT_REPORT}/",
    )


def _what_is_told(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--known",
        type=file,
        metavar="FILE",
        help="accepted faults: 'FINGERPRINT  # why' a line; red only for others, and for those "
        "not met any more",
    )
    _report(run)
    how_much = run.add_mutually_exclusive_group()
    how_much.add_argument("-q", "--quiet", action="store_true", help="only failures and the sums")
    how_much.add_argument("-v", "--verbose", action="store_true", help="every schedule too")
    run.add_argument("--keep", action="store_true", help="keep the evidence of all schedules")
    run.add_argument("--json", type=file, metavar="FILE", help="write the JSON report; - is stdout")
    run.add_argument(
        "--junit", type=file, metavar="FILE", help="write a JUnit XML report; - is stdout"
    )
    run.add_argument(
        "--github",
        action="store_true",
        help="annotate the scenarios' lines (at most 10), and add to the summary of the step",
    )
