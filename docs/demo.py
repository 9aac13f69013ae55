"""Sixty seconds of Killpoint: `make demo`.

A planted bug, its failure on the terminal, its report, its shrunk scenario, then the sound agent
passing. Everything is left in chaos-demo/, to look at. Exits with 0 only when the bug was found and
the sound agent passed, so CI can run it.
"""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.planted.bugs import BUGS  # noqa: E402 - found by the line above

BUG = "a-never-tool-is-run-again"
DEMO = "chaos-demo"
FAILURE = "deploy-is-never-repeated-log-toolStarted-bash-1-after"
FAILS, PASSES = 1, 0


def stage(folder: Path) -> None:
    """Lay out `deploy.toml` and the profile of the agent with the planted bug."""
    profile = (ROOT / "chaos" / "targets" / "agent.toml").read_text(encoding="utf-8")
    profile = profile.replace('"-m", "agent"', f'"-m", "tests.planted", "{BUG}"')
    profile = profile.replace('module = "agent"', 'module = "tests.planted"')
    profile = profile.replace("[env]", f'[env]\nPYTHONPATH = "{ROOT}"')
    (folder / "targets").mkdir()
    (folder / "targets" / "agent.toml").write_text(profile, encoding="utf-8")
    scenario = ROOT / "scenarios" / "calls" / "deploy-is-never-repeated.toml"
    shutil.copyfile(scenario, folder / "deploy.toml")


def main() -> int:
    """Tell the story. Gives the exit code."""
    started = time.monotonic()
    folder = Path(DEMO)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    stage(folder)
    _title("A bug, planted into a sound agent")
    sys.stdout.write(inspect.getsource(BUGS[BUG].plant))
    shrunk = "deploy-is-never-repeated-shrunk"
    told = [
        _title("Kill it at every instant after something became durable")
        or _chaos(folder, FAILS, "run", "deploy.toml", "--launch", "warm", "--phases", "after"),
        _title("The same failure, from its file, at the first try")
        or _chaos(folder, FAILS, "replay", f"chaos-report/failures/{FAILURE}.json", shown=12),
        _title("Smaller: what the failure does not need is taken away")
        or _chaos(folder, 0, "shrink", f"chaos-report/failures/{FAILURE}.json", "--pytest", last=4),
    ]
    sys.stdout.write(f"\n{(folder / f'{shrunk}.toml').read_text(encoding='utf-8')}")
    _title("The bug is mended: the sound agent, at the same instant and at all others")
    shutil.rmtree(folder / "targets")  # what is found then is the agent of this repository
    told += [
        _chaos(folder, PASSES, "run", f"{shrunk}.toml", "--report", "fixed"),
        _chaos(folder, PASSES, "run", "deploy.toml", "--launch", "warm", "--report", "fixed"),
    ]
    _title(f"{time.monotonic() - started:.0f} s. To look at: {DEMO}/chaos-report/report.html")
    return 0 if all(told) else 1


def _title(text: str) -> None:
    sys.stdout.write(f"\n=== {text}\n\n")


def _chaos(
    folder: Path, expected: int, *argv: str, shown: int | None = None, last: int | None = None
) -> bool:
    """Run a command and tell its output, or the first or last lines. Was its end as expected?"""
    sys.stdout.write(f"$ chaos {' '.join(argv)}\n")
    sys.stdout.flush()
    done = subprocess.run(
        [sys.executable, "-m", "chaos", *argv],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines(keepends=True)
    sys.stdout.write("".join(lines[:shown] if last is None else lines[-last:]))
    if len(lines) > (shown or len(lines)):
        sys.stdout.write(f"… {len(lines) - shown if shown else 0} more lines\n")
    if done.returncode != expected:
        sys.stdout.write(f"exit code {done.returncode}, expected {expected}\n")
    return done.returncode == expected


if __name__ == "__main__":
    sys.exit(main())
