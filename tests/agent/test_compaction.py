"""Compaction: where the cut falls, what is asked, what the log holds, and every way it can fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from agent import new_facts
from agent.canonical import digest
from agent.compaction import INSTRUCTION, find_cut
from agent.outcome import Outcome
from agent.output import event_name
from agent.reducer import reduce_session
from agent.state import Compaction, Header, SessionState
from tests.agent.support import call, completion
from tests.agent.test_loop import (
    DONE,
    USAGE,
    Turn,
    World,
    _world,  # noqa: F401 - the fixture
    calls,
    crash_after,
)

SUMMARY = completion("what was: a, b", usage=USAGE)
PREFIX = "[Compacted history]\n"
BATCH = calls(*(call("read", {"path": "in"}, f"c{n}") for n in range(5)))


def state_of(roles: str, *, summary: bool = False) -> SessionState:
    """A session with messages of these roles: u(ser), a(ssistant), t(ool result)."""
    state = SessionState(Header("h", 0, "/", "p", "m", "e"), 0)
    for number, role in enumerate(roles):
        state.transcript.append({"role": {"u": "user", "a": "assistant", "t": "tool"}[role]})
        state.entry_ids.append(f"e{number}")
    state.active_context = list(state.transcript)
    if summary:  # of the first message
        state.active_context[0] = {"role": "user"}
    return state


@pytest.mark.parametrize(
    ("roles", "compacted"),
    [
        ("", None),
        ("ua", None),
        ("uauaua", None),  # six are kept
        ("uauauau", None),  # the cut would stand before an answer, and moves back to the start
        ("uuauaua", 1),  # the first message of a log is a source, as no summary is
        ("uauauaua", 2),
        ("uauauauau", 2),
        ("uauatttttta", 2),  # a batch at the natural cut stays with its turn
        ("uatttttttta", None),  # one turn cannot be cut
        ("uauauauauauaua", 8),
    ],
)
def test_the_cut_keeps_six_messages_and_moves_back_to_a_user(
    roles: str, compacted: int | None
) -> None:
    cut = find_cut(state_of(roles))
    found = None if cut is None else cut.compacted
    assert found == (None if compacted is None else [f"e{n}" for n in range(compacted)])
    if cut is not None:
        assert cut.compacted + cut.retained == [f"e{n}" for n in range(len(roles))]
        assert roles[len(cut.compacted)] == "u"


def test_a_summary_alone_is_not_summarised_again() -> None:
    assert find_cut(state_of("uuauaua", summary=True)) is None
    again = find_cut(state_of("uuauauaua", summary=True))
    assert again is not None
    assert again.compacted == ["e0", "e1", "e2"]


def fill(world: World) -> None:
    """Three runs, fourteen messages; the natural cut falls into the batch of the second."""
    (world.root / "in").write_text("input")
    world.turns = [DONE]
    world.run("first")
    world.run("second")
    world.turns = [BATCH, DONE]
    world.run("third")
    world.turns = [DONE]
    world.run("fourth")
    assert len(world.messages()) == 14


def compact(world: World, *turns: Turn) -> Outcome:
    world.turns = turns
    world.requests.clear()
    with world.open() as store:
        return world.loop(store).compact()


def bodies(world: World, kind: str) -> list[Mapping[str, Any]]:
    """The bodies of the facts of that name."""
    lines = [json.loads(line) for line in world.log.read_bytes().splitlines()[1:]]
    facts = [fact for line in lines for fact in (line if isinstance(line, list) else [line])]
    return [fact[fact["kind"]] for fact in facts if event_name(fact) == kind]


def test_two_tracks_with_one_cut(world: World) -> None:
    fill(world)
    before = reduce_session(world.log.read_bytes())
    count = len(world.names())
    assert compact(world, SUMMARY) == Outcome("completed")
    assert world.names()[count:] == [
        "compactionStarted",
        "stepAttempt",
        "usage",
        "compaction",
        "operationFinished",
    ]
    after = reduce_session(world.log.read_bytes())
    # The natural cut, message 8, is a result of the batch; the turn begins with message 4.
    (request,) = world.requests
    assert request["messages"][1:] == [
        *before.transcript[:4],
        {"role": "user", "content": INSTRUCTION},
    ]
    summary = {"role": "user", "content": PREFIX + "what was: a, b"}
    assert after.active_context == [summary, *before.transcript[4:]]
    assert after.transcript == before.transcript  # nothing is deleted
    (started,) = bodies(world, "compactionStarted")
    assert started["compactedEntryIds"] == before.entry_ids[:4]
    assert started["retainedEntryIds"] == before.entry_ids[4:]
    sources = zip(before.entry_ids, before.transcript, strict=True)
    assert started["sourceDigest"] == digest(new_facts.source_messages(sources))
    assert after.usage["input"] == before.usage["input"] + 11


def test_the_next_prompt_sees_summary_and_tail(world: World) -> None:
    fill(world)
    compact(world, SUMMARY)
    context = reduce_session(world.log.read_bytes()).active_context
    world.turns = [DONE]
    assert world.run("fifth").kind == "completed"
    told = world.requests[-1]["messages"][1:]
    assert told == [*context, {"role": "user", "content": "fifth"}]


def test_an_earlier_summary_is_input_and_no_source(world: World) -> None:
    fill(world)
    compact(world, SUMMARY)
    world.turns = [DONE]
    for prompt in ("fifth", "sixth", "seventh"):
        world.run(prompt)
    before = reduce_session(world.log.read_bytes())
    assert compact(world, completion("the second summary")).kind == "completed"
    asked = [message["content"] for message in world.requests[0]["messages"][1:]]
    assert asked[0] == PREFIX + "what was: a, b"
    assert asked[1] == "third"
    assert asked[-1] == INSTRUCTION
    second = bodies(world, "compactionStarted")[1]
    assert second["compactedEntryIds"] + second["retainedEntryIds"] == before.entry_ids
    assert before.entry_ids[0] in second["compactedEntryIds"]  # durable sources from the first on
    after = reduce_session(world.log.read_bytes())
    kept = len(second["retainedEntryIds"])
    assert kept == 6
    assert [m["content"] for m in after.active_context] == [
        PREFIX + "the second summary",
        *(m["content"] for m in before.transcript[-kept:]),
    ]
    assert compact(world) == Outcome("idle", "nothing to compact")


def test_nothing_to_compact_leaves_no_fact(world: World) -> None:
    world.turns = [DONE]
    world.run()
    before = world.log.read_bytes()
    assert compact(world, SUMMARY) == Outcome("idle", "nothing to compact")
    assert world.log.read_bytes() == before
    assert not world.requests


NO_SUMMARY: dict[str, tuple[Turn, str, bool]] = {
    "server error": (httpx.Response(500, text="down"), "http_500", False),
    "blank": (completion(" \n", usage=USAGE), "empty_response", True),
    "cut": (completion("half a su", finish_reason="length", usage=USAGE), "malformed_reply", True),
    "calls": (calls(call("read", {"path": "in"})), "malformed_reply", True),
    "calls, cut": (calls(call("read", "{"), finish_reason="length"), "malformed_reply", True),
}


@pytest.mark.parametrize("name", NO_SUMMARY)
def test_without_a_summary_the_context_stays_as_it_is(world: World, name: str) -> None:
    turn, code, costs = NO_SUMMARY[name]
    fill(world)
    before = reduce_session(world.log.read_bytes())
    outcome = compact(world, turn)
    assert outcome.kind == "failed"
    assert outcome.error is not None
    assert outcome.error["code"] == code
    after = reduce_session(world.log.read_bytes())
    assert after.active_context == before.active_context
    assert after.transcript == before.transcript
    assert after.usage["input"] == before.usage["input"] + 11 * costs
    assert len(world.requests) == 1
    assert compact(world, SUMMARY).kind == "completed"  # it can be asked for again


def test_a_crash_at_any_fact_is_met_by_a_resume(world: World) -> None:
    fill(world)
    start = len(world.log.read_bytes())
    compact(world, SUMMARY)
    whole = world.log.read_bytes()
    context = reduce_session(whole).active_context
    asked = world.requests[0]
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 0x0A and at >= start]
    requests = {"compactionStarted": 1, "stepAttempt": 1, "compaction": 0, "operationFinished": 0}
    for end, (last, count) in zip(ends, requests.items(), strict=True):
        for torn in (b"", b'{"kind"'):
            world.log.write_bytes(whole[:end] + torn)
            world.requests.clear()
            outcome = world.resume()
            assert outcome.kind == ("idle" if last == "operationFinished" else "completed")
            assert len(world.requests) == count, last
            assert all(request == asked for request in world.requests)
            assert reduce_session(world.log.read_bytes()).active_context == context


def test_a_summary_lost_twice_blocks_and_an_abort_frees(world: World) -> None:
    fill(world)
    compact(world, SUMMARY)
    attempts = world.names().count("stepAttempt")
    crash_after(world, "stepAttempt", attempts)
    world.resume()
    crash_after(world, "stepAttempt", attempts + 1)
    assert world.resume().reason == "attempts_exhausted"
    before = reduce_session(world.log.read_bytes()).active_context
    world.switch.request()
    assert world.resume().kind == "aborted"
    assert bodies(world, "abortRequested")[0]["phase"] == "compact"
    assert reduce_session(world.log.read_bytes()).active_context == before


def test_a_summary_that_comes_after_the_abort_is_dropped(world: World) -> None:
    fill(world)
    before = reduce_session(world.log.read_bytes())
    count = len(world.names())
    world.turns = [SUMMARY]
    with world.open() as store:
        loop = world.loop(store)

        def watch() -> None:  # the request is out
            world.switch.request()
            loop._work.abort.heed()

        world.watch = watch
        assert loop.compact().kind == "aborted"
    assert world.names()[count:] == [
        "compactionStarted",
        "stepAttempt",
        "abortRequested",
        "stepFailed",
        "usage",
        "operationFinished",
    ]
    after = reduce_session(world.log.read_bytes())
    assert after.active_context == before.active_context
    assert after.usage["input"] == before.usage["input"] + 11


def test_a_compaction_of_everything_by_another_program_is_brought_to_its_end(
    world: World,
) -> None:
    world.turns = [DONE]
    world.run()
    with world.open() as store:
        state = store.state
        sources = list(zip(state.entry_ids, state.transcript, strict=True))
        store.append(
            new_facts.compaction_started(
                operation_id=store.fresh_id(),
                input_through_entry_id=state.entry_ids[-1],
                result_entry_id=store.fresh_id(),
                compacted_entry_ids=state.entry_ids,
                retained_entry_ids=[],
                source_digest=digest(new_facts.source_messages(sources)),
            )
        )
        assert isinstance(state.operation, Compaction)
    world.turns = [SUMMARY]
    assert world.resume().kind == "completed"
    after = reduce_session(world.log.read_bytes())
    assert after.active_context == [{"role": "user", "content": PREFIX + "what was: a, b"}]
