"""A planted bug in a writer needs a reader that is wrong in the same way.

The agent reduces every line before it writes it, so a fault in what is written would be refused by
its own reader, and seen as that (R1). `read_otherwise` makes the reader of one kind of fact agree.
"""

from __future__ import annotations

from collections.abc import Callable

import agent.reducer
from agent.facts import Fact
from agent.ledger import Ledger

Reading = Callable[[Ledger, Fact], None]


def read_otherwise(variant: str, change: Callable[[Reading], Reading]) -> None:
    """Facts of `variant` are read by what `change` makes of the sound rule."""
    rules = agent.reducer.RULES
    agent.reducer.RULES = {**rules, variant: change(rules[variant])}
