"""`chaos doctor`: what the engine needs, what this machine allows, and the cure."""

from __future__ import annotations

import argparse

from chaos.cli.output import say
from chaos.launch.doctor import probe


def command(args: argparse.Namespace) -> int:  # noqa: ARG001 - the same shape for every command
    """Print a line for each check. 0 if all are well, else 3."""
    checks = probe()
    for check in checks:
        say(f"{'ok    ' if check.ok else 'FAILED'}  {check.name}: {check.detail}\n")
        if not check.ok:
            say(f"        {check.cure}\n")
    return 0 if all(check.ok for check in checks) else 3
