"""The judge: numbered rules over evidence, and the proof of kills.

    judge(evidence)    what is broken, by rule, in the order of `RULES`
    inexact(evidence)  why a kill proves nothing (INCONCLUSIVE); empty if every kill is exact
    unaccounted(e)     replies that were paid for and that no durable fact counts (no violation)
    RULES              the table of all rules

Pure: no process, no file, no clock. A saved run can be judged again by newer rules. Never imports
the target and never looks at its code; it shares only the written session contract with it.

Source: design section 5.
"""

from __future__ import annotations

from itertools import islice

from chaos.evidence import Evidence
from chaos.judge import (
    rules_blocked,
    rules_effects,
    rules_end,
    rules_files,
    rules_log,
    rules_memory,
    rules_process,
    rules_provider,
    rules_recovery,
    rules_transcript,
    rules_wire,
)
from chaos.judge.case import Need, Rule
from chaos.judge.damaged import cases_of
from chaos.judge.proof import inexact
from chaos.judge.rules_usage import unaccounted
from chaos.results import Violation

RULES: tuple[Rule, ...] = (
    *rules_log.RULES,
    *rules_provider.RULES,
    *rules_effects.RULES,  # E1 to E4
    *rules_files.RULES,  # E5
    *rules_memory.RULES,  # E6
    *rules_recovery.RULES,  # R1 to R3
    *rules_blocked.RULES,  # R4
    *rules_end.RULES,  # R5
    *rules_process.RULES,
    *rules_transcript.RULES,
    *rules_wire.RULES,
)
MOST = 20  # violations of one rule: an agent that goes round in circles breaks it at every turn
STATEMENTS = {rule.id: rule.statement for rule in reversed(RULES)}

__all__ = ["RULES", "STATEMENTS", "Need", "Rule", "inexact", "judge", "unaccounted"]


def judge(evidence: Evidence) -> list[Violation]:
    """Every broken rule. Rules hold in every run, killed or not, whatever `inexact` says."""
    return [
        violation
        for case in cases_of(evidence)
        for rule in RULES
        if all(case.has(need) for need in rule.needs)
        for violation in islice(rule.check(case), MOST)
    ]
