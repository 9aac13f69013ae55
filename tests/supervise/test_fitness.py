"""Is a target fit to be swept? What its run without a kill tells of one that is not read."""

from __future__ import annotations

import pytest

from chaos.errors import ScenarioError
from chaos.evidence import Evidence, StateWrite
from chaos.scenario import Scenario
from chaos.supervise.fitness import check_reference
from chaos.supervise.standard import standard_course
from chaos.target import parse_target
from tests.judge.wire import WireStory

TARGET = """
name = "thing"
about = "A thing."
dialect = "opaque"
durable = ["s.db"]
[commands]
run = ["thing", "{prompt}"]
resume = ["thing", "{prompt}"]
[exit_codes]
completed = 0
[shell]
tool = "bash"
"""


def tools(parallel: str = "true") -> Scenario:
    return standard_course(parse_target(f"{TARGET}parallel = {parallel}", "thing.toml"))[0]


def asked(**body: object) -> Evidence:
    story = WireStory("ship it").launch("run").ask(**body).say("done")
    call = {"call": "write", "path": "s.db", "glob": "s.db", "point": "state:write[s.db]#1"}
    story._event(StateWrite, pid=1, offset=0, length=1, returned=1, **call)
    return story.end().evidence()


def test_one_that_is_seen_and_let_in_is_fit() -> None:
    check_reference(tools(), asked())


def test_one_that_asks_for_one_call_at_a_time_is_given_one() -> None:
    with pytest.raises(ScenarioError, match=r"thing.toml: .* one tool call at a time .* parallel"):
        check_reference(tools(), asked(parallel_tool_calls=False))
    check_reference(tools("false"), asked(parallel_tool_calls=False))


def test_one_that_is_not_let_in() -> None:
    with pytest.raises(ScenarioError, match=r"expected the target to send the key .* answered 401"):
        check_reference(tools(), asked(status=401))
