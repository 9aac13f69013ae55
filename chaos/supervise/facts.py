"""What the rules must know of a scenario and its target, as plain values. Pure."""

from __future__ import annotations

from chaos.evidence import Facts
from chaos.scenario import Scenario
from chaos.supervise.prompts import GO_ON_PROMPT, PROBE_PROMPT


def facts_of(scenario: Scenario, api_key: str) -> Facts:
    """Of a scenario, whose target is given this key."""
    target, session = scenario.target, scenario.target.session
    return Facts(
        scenario=scenario.name,
        dialect=target.dialect,
        prompts=tuple(step.prompt for step in scenario.steps if step.do == "run"),
        probe_prompt=PROBE_PROMPT,
        exit_codes=target.exit_codes,
        expect_outcome=scenario.expect_outcome,
        expect_effects=scenario.expect_effects,
        temporary=target.temporary,
        secret=api_key,
        steps=tuple(step.do for step in scenario.steps),
        expect_blocked=scenario.expect_blocked,
        acknowledged=session.acknowledged,
        goes_on=GO_ON_PROMPT if target.goes_on else "",
        side=session.side.texts,
        side_without_tools=session.side.without_tools,
        shell=session.shell.tool if session.shell else "",
        durable=session.durable,
        transcript=session.transcript,
    )
