"""`chaos points`: the kill points of a scenario's run without a kill, one a line."""

from __future__ import annotations

import argparse

from chaos.cli.find import find_scenarios
from chaos.cli.output import say
from chaos.errors import UsageError
from chaos.options import SweepOptions
from chaos.supervise.sweep import baseline_points


def command(args: argparse.Namespace) -> int:
    """Print the points in the order of their instants."""
    scenarios = find_scenarios([args.scenario])
    if len(scenarios) != 1:
        raise UsageError(f"{args.scenario}: expected one scenario file, found {len(scenarios)}")
    say("".join(f"{point}\n" for point in baseline_points(scenarios[0], SweepOptions())))
    return 0
