"""The statements of the rules, for explanations."""

from __future__ import annotations

from chaos.judge import RULES


def statements() -> dict[str, str]:
    """Rule id -> its one-line statement."""
    return {rule.id: rule.statement for rule in RULES}
