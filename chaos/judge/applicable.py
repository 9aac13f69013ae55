"""Which rules a target can be judged by: those whose evidence its dialect gives.

Pure. A rule that says nothing because nothing is there to see has not been kept, so it is told as
*not applicable*, never as passed.
"""

from __future__ import annotations

from collections.abc import Iterable

from chaos.evidence import Facts
from chaos.judge.case import Need, Rule, offers

_MISSING = {
    Need.LOG: "needs a session log that can be read",
    Need.FACTS: "needs the facts of a session log",
    Need.LINES: "needs a session log that can be read",
    Need.CALLS: "needs a session log in which calls and results are named",
}


def statements(rules: Iterable[Rule], facts: Facts) -> dict[str, str]:
    """The rules that the target can be judged by: id -> what it promises, as far as is seen. Of a
    row for every dialect and one that needs something of this dialect, the second tells."""
    found: dict[str, str] = {}
    for rule in rules:
        offered = all(offers(facts, need) for need in rule.needs)
        if offered and (rule.needs or rule.id not in found):
            found[rule.id] = rule.statement
    return found


def not_applicable(rules: Iterable[Rule], facts: Facts) -> dict[str, str]:
    """The rules that it cannot be judged by: id -> why."""
    rules = tuple(rules)
    judged = statements(rules, facts)
    return {
        rule.id: next(
            why for need, why in _MISSING.items() if need in rule.needs and not offers(facts, need)
        )
        for rule in rules
        if rule.id not in judged and any(need in _MISSING for need in rule.needs)
    }
