"""A sweep as it looks while it goes on, on a real terminal, with results made up beforehand.

`python -m tests.cli.programs` prints what a terminal shows at each stage; it waits for a line on
stdin between them, so that nothing depends on time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import chaos.cli.run
from chaos.cli import main
from chaos.options import Listener, SweepOptions
from chaos.results import SweepResult
from chaos.scenario import Scenario
from tests.report import sample


def sweep(_: list[Scenario], __: SweepOptions, listener: Listener) -> SweepResult:
    """Two schedules, one of them broken; a stop before, between and after."""
    name = "deploy"
    listener.scenario_started(name)
    stop()
    listener.schedules_planned(name, 40)
    listener.schedule_done(name, sample.passed())
    try:
        stop()
    except KeyboardInterrupt:
        return sample.sweep_result(sample.passed(), interrupted=True)
    listener.schedule_done(name, sample.violated())
    result = sample.sweep_result(sample.passed(), sample.violated())
    stop()
    listener.scenario_done(result.scenarios[0])
    return result


def stop() -> None:
    sys.stdin.readline()


if __name__ == "__main__":
    Path("deploy.toml").write_text(sample.SCENARIO)
    chaos.cli.run.sweep = sweep  # type: ignore[assignment]
    raise SystemExit(main(sys.argv[1:]))
