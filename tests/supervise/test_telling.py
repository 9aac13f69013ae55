"""Which kills `chaos certify` tries, and in which order, on a run whose points are known."""

from __future__ import annotations

from chaos.evidence import Evidence, StateWrite
from chaos.explore.work import Branch
from chaos.points import Schedule
from chaos.supervise.telling import telling
from tests.judge.wire import WireStory


def burst(story: WireStory, *lengths: int) -> WireStory:
    """Calls that change the session, of so many bytes each."""
    for length in lengths:
        count = sum(isinstance(event, StateWrite) for event in story.events) + 1
        point = f"state:write[s.db]#{count}"
        call = {"pid": 1, "call": "write", "path": "s.db", "glob": "s.db", "point": point}
        story._event(StateWrite, offset=0, length=length, returned=length, **call)
    return story


def ran() -> Evidence:
    """A question, two writes, a call with an effect, three writes, the answer."""
    story = burst(WireStory("ship it").launch("run"), 10, 40).ask().call("ship").effect("ship")
    return burst(story.result(), 5, 6, 7).ask().say("shipped").end().evidence()


PARTS = {
    "state:write[s.db]": ("before", "torn@1", "torn@3", "torn@4", "after"),
    "effect:ship": ("before", "after"),
    "provider": ("request", "chunk@1", "chunk@4", "chunk@7", "response"),
}


def branches() -> list[Branch]:
    places = [f"state:write[s.db]#{n}" for n in range(1, 6)] + ["effect:ship#1"]
    points = [f"{place}/{part}" for place in places for part in PARTS[place.partition("#")[0]]]
    points += [f"provider:{n}/{part}" for n in (1, 2) for part in PARTS["provider"]]
    return [Branch(point, Schedule.parse(f"run: {point}")) for point in points]


def test_one_kill_of_each_kind_then_the_next_of_each() -> None:
    assert [branch.id for branch in telling(branches(), ran())] == [
        "provider:1/request",
        "effect:ship#1/after",
        "provider:2/response",
        "provider:1/chunk@4",
        "effect:ship#1/before",
        "state:write[s.db]#2/torn@3",  # the longest of its burst, in its middle
        "state:write[s.db]#1/after",  # the first of its burst
        "state:write[s.db]#2/before",  # the last of it
        "provider:2/request",
        "provider:1/response",
        "provider:2/chunk@4",
        "state:write[s.db]#5/torn@3",
        "state:write[s.db]#3/after",
        "state:write[s.db]#5/before",
    ]


def test_what_is_not_offered_is_not_chosen() -> None:
    offered = [branch for branch in branches() if "provider" not in branch.id]
    assert {branch.id.partition(":")[0] for branch in telling(offered, ran())} == {
        "effect",
        "state",
    }
