"""The table of planted bugs: each changes one behaviour, and names the rule that must catch it.

A bug replaces one function or method of the agent. It is caught when `rule` is among the ids that
its smallest schedule reports, at no more than `depth` kills; 0 kills: the run without a kill shows
it already. Bugs are in files by theme; each file enters its own into the table when it is imported.
"""

from __future__ import annotations

from tests.planted import (
    bugs_abort,
    bugs_compaction,
    bugs_damage,
    bugs_memory,
    bugs_order,
    bugs_planner,
    bugs_power_loss,
    bugs_processes,
    bugs_provider,
    bugs_recovery,
    bugs_store,
    bugs_tools,
)
from tests.planted.table import BUGS

__all__ = [
    "BUGS",
    "bugs_abort",
    "bugs_compaction",
    "bugs_damage",
    "bugs_memory",
    "bugs_order",
    "bugs_planner",
    "bugs_power_loss",
    "bugs_processes",
    "bugs_provider",
    "bugs_recovery",
    "bugs_store",
    "bugs_tools",
]
