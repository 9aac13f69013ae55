"""AGENTS.md that changes during a session: when it blocks, when it must not, and the way on.

The prompt is read before each new step. So what the agent's own tool changes holds from the next
step on, whose attempt records it; and only a change while a request is open, by somebody else, is
found by a resume as a changed configuration.
"""

from __future__ import annotations

from agent.configuration import Configuration
from tests.agent.support import call, completion
from tests.agent.test_loop import (
    DONE,
    World,
    _world,  # noqa: F401 - the fixture
    calls,
    crash_after,
)

REWRITE = [
    calls(call("write", {"path": "AGENTS.md", "content": "new rules"})),
    completion("done"),
]


def now(world: World) -> Configuration:
    """What a process that starts now runs under."""
    return Configuration.of(world.settings()).in_workspace(world.root)


def prompts(world: World) -> list[str]:
    return [request["messages"][0]["content"] for request in world.requests]


def test_what_a_tool_writes_holds_from_the_next_step_on(world: World) -> None:
    (world.root / "AGENTS.md").write_text("old rules")
    world.turns = REWRITE
    assert world.run().kind == "completed"
    first, second = prompts(world)
    assert "old rules" in first
    assert "new rules" in second


def test_a_change_by_the_agents_own_tool_never_blocks_wherever_it_dies(world: World) -> None:
    world.turns = REWRITE
    (world.root / "AGENTS.md").write_text("old rules")
    world.run()
    whole = world.log.read_bytes()
    started, ended = whole.index(b'"toolStarted"'), whole.index(b'"role":"tool"')
    for end in [at + 1 for at, byte in enumerate(whole) if byte == 0x0A][1:]:
        # A kill between intent and result leaves the file old or new: both must go on.
        left = ["old rules"] * (end < ended) + ["new rules"] * (end > started)
        for rules in left:
            (world.root / "AGENTS.md").write_text(rules)
            world.log.write_bytes(whole[:end])
            assert world.resume(now(world)).kind in ("completed", "idle"), (end, rules)


def test_a_change_by_somebody_else_while_a_request_is_open_blocks_and_names_it(
    world: World,
) -> None:
    (world.root / "AGENTS.md").write_text("old rules")
    world.turns = [DONE]
    world.run()
    crash_after(world, "stepAttempt")
    before = world.log.read_bytes()
    (world.root / "AGENTS.md").write_text("new rules")
    outcome = world.resume(now(world))
    assert (outcome.kind, outcome.reason) == ("blocked", "configuration_changed")
    assert "make AGENTS.md what it was" in outcome.message
    assert world.log.read_bytes() == before
    (world.root / "AGENTS.md").write_text("old rules")  # restored
    assert world.resume(now(world)).kind == "completed"


def test_a_change_while_the_session_is_idle_is_no_matter(world: World) -> None:
    world.turns = [DONE]
    assert world.run("one").kind == "completed"
    (world.root / "AGENTS.md").write_text("new rules")
    assert world.run("two").kind == "completed"
    assert "new rules" in prompts(world)[-1]


def test_a_change_while_a_live_request_is_open_does_not_disturb_it(world: World) -> None:
    def change() -> None:
        (world.root / "AGENTS.md").write_text(f"rules {len(world.requests)}")

    world.watch = change
    world.turns = REWRITE
    assert world.run().kind == "completed"


def test_a_second_attempt_asks_what_the_first_one_asked(world: World) -> None:
    """The file changes between the look at the start of a resume and its request."""
    (world.root / "AGENTS.md").write_text("old rules")
    world.turns = [DONE]
    world.run()
    crash_after(world, "stepAttempt")
    looked_at = now(world)
    (world.root / "AGENTS.md").write_text("new rules")
    assert world.resume(looked_at).kind == "completed"
    assert "old rules" in prompts(world)[-1]
