"""Rules L that need more than one log: L2, L7, L9; and that the strict reading is applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.judge.build import BASH, Story, broken, deploy, ids, killed_deploy, live, plain

REFERENCE = deploy().idle().probe().evidence()


def said(**usage: int) -> Story:
    """One answer, with these counters instead of the right ones."""
    story = Story("say it").launch("run").header().prompt().attempt().request()
    return story.reply("said", **usage).finish().end()


def test_the_strict_reading_is_applied_to_what_each_launch_left() -> None:
    story = plain().launch("resume").append(b'{"kind":"bad"}\n').end()
    (message,) = broken(story.evidence())
    assert message.startswith("L1: INVALID_FACT at line 6")
    assert message.endswith(", as left by launch 2 (resume)")


def test_the_strict_reading_sees_crash_images() -> None:
    story = Story("say it").launch("run", "log@2/after").header().append(b"\n").dead()
    assert ids(story.evidence()) == ["L1"]


def test_a_fault_that_later_logs_repeat_is_reported_once() -> None:
    story = Story("say it").launch("run").append(b"{}\n").end(4).launch("idle").end(4)
    assert ids(story.evidence()).count("L1") == 1


def test_a_log_that_was_mended_is_read_as_it_was_before() -> None:
    """What a launch left is read for itself where the final log does not begin with it."""
    story = plain()
    good = story.log
    story.launch("resume").append(b"{}\n").end().launch("resume").overwrite(good).end()
    assert ids(story.evidence()).count("L1") == 1


@pytest.mark.parametrize("point", ["log:header#1/before", "log:header#1/torn@12"])
def test_a_file_without_a_complete_line_is_no_session_yet(point: str) -> None:
    story = Story("say it").launch("run", point).header().dead()
    assert ids(story.evidence()) == []


def test_l2_a_line_that_was_cut() -> None:
    story = killed_deploy()
    story.launch("resume").cut(100).end(0)
    assert broken(story.evidence())[0] == (
        'L2: a complete line was changed: expected …\'createdAt": 1, "cwd": "/room/workspace", '
        '"provider": "mock",\', found its end after 100 bytes at launch 2 (resume), line 1, '
        "event 12"
    )


def test_l2_a_line_that_was_rewritten() -> None:
    story = deploy().launch("idle")
    story.overwrite(story.log.replace(b'"deployed"', b'"replayed"')).end()
    assert broken(story.evidence(REFERENCE))[0] == (
        'L2: a complete line was changed: expected …\'stant", "content": "deployed"}}}, '
        '{"kind": "usage", "seq": 1\', found …\'stant", "content": "replayed"}}}, '
        '{"kind": "usage", "seq": 1\' at launch 2 (idle), line 8, event 16'
    )


@pytest.mark.parametrize("line", [b"second\n", b"other\n"])
def test_l2_of_a_line_that_was_changed_a_few_bytes_are_shown(line: bytes) -> None:
    story = Story("say it").launch("run").append(b"first\n" + line + b"third\n").end(4)
    story.launch("idle").overwrite(b"first\n" + line.upper() + b"third\n").end(4)
    (message,) = [m for m in broken(story.evidence()) if m.startswith("L2")]
    expected, found = (repr(each.decode()) for each in (line, line.upper()))
    what = f"L2: a complete line was changed: expected {expected}, found {found} at"
    assert message.startswith(f"{what} launch 2 (idle), line 2")


def test_l2_a_log_that_was_removed_and_written_anew() -> None:
    story = plain().launch("resume")
    log = story.log
    story.overwrite(b"").append(log).end()
    assert "L2" in ids(story.evidence())


def test_l2_a_torn_tail_may_go() -> None:
    story = live(Story("deploy it").launch("run", "log:toolStarted#1/torn@40"))
    live(story.launch("resume"))
    assert broken(story.idle().probe().evidence(REFERENCE)) == []


def line_3(fault: str, found: str) -> list[str]:
    expected = """'{"kind": "record", "seq": 3, "id": "018f0000-0000-7000-8000-'"""
    return [f"L2: {fault}: expected {expected}, found {found} at launch 2 (resume), line 3"]


def shortened(story: Story, *first: str) -> list[str]:
    """What L2 says where a launch finds only the first two lines of the log."""
    story.log = b"".join(story.log.splitlines(keepends=True)[:2])
    found = broken(story.launch("resume").end(first=first).evidence())
    return [message for message in found if message.startswith("L2")]


def asked() -> Story:
    """Three lines; the last was acted upon before the kill."""
    story = Story("say it").launch("run", "log:assistant#1/before").header().prompt().attempt()
    return story.request().reply().dead()


def test_l2_a_line_that_is_gone_when_the_next_launch_begins() -> None:
    fault = line_3("a complete line was changed", "its end after 639 bytes")
    assert shortened(asked()) == fault
    assert shortened(asked(), "damage: cut@638") == []  # the target's doing it is not


def test_l2_a_loss_of_power_may_take_what_nobody_acted_upon() -> None:
    found = "it lost, of 3 lines that had been acted upon"
    fault = line_3("a power loss took a durable line", found)
    loss = "power-loss: data=2 names=1"
    assert shortened(asked(), loss) == fault
    announced = Story("say it").launch("run", "log:stepAttempt#1/after").header().prompt()
    assert shortened(announced.attempt().dead(), loss) == []
    over = Story("say it").launch("run").header().prompt().attempt().end(3)
    assert shortened(over, loss) == fault  # a launch that ended promised all of its log


def test_l2_what_is_acted_upon_after_a_loss_of_power_was_not_lost() -> None:
    loss = ("power-loss: data=2 names=1",)

    def begun(kill: str | None) -> Story:
        return Story("say it").launch("run", kill).header().prompt()

    lost, story = begun(None).attempt().log, begun("log:runStarted#1/after").dead()
    story.launches[0] = replace(story.launches[0], log_after=story.blobs.put(lost))
    story.launch("resume").attempt().request().reply().finish().end(first=loss)
    assert "L2" not in ids(story.evidence())


def test_l7_an_operation_without_an_end() -> None:
    story = Story("say it").launch("run").header().prompt().attempt().request().reply("x").end(0)
    assert broken(story.idle().evidence()) == [
        "L7: operation 1 has no terminal fact after an unblocked launch: expected one "
        "operationFinished, found none at launch 1 (run), line 2, seq 2",
        "R2: wrong exit code: expected 3, since operation 1 is left open, found 0: stderr is empty "
        "at launch 1 (run)",
    ]


def test_l7_a_blocked_operation_rightly_has_none() -> None:
    story = Story("deploy it")
    for kill in ("log:stepAttempt#1/after", "log:stepAttempt#1/after", None):
        live(story.launch("resume" if story.log else "run", kill))
    assert broken(story.evidence()) == []


@pytest.mark.parametrize(
    ("counted", "good"),
    [
        ({}, True),
        ({"input": 9}, True),  # without the cached tokens: the adapter's choice
        ({"input": 12}, False),
        ({"output": 6}, False),
        ({"cacheRead": 0}, False),
    ],
)
def test_l9_counters_are_the_providers(counted: dict[str, int], good: bool) -> None:
    assert ids(said(**counted).idle().probe().evidence()) == ([] if good else ["L9"])


def without(story: Story) -> Story:
    return story.reply("said", usage=False)


def twice(story: Story) -> Story:
    return story.reply("said").write(story.usage())


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            without,
            "usage of a durable reply is not counted: expected prompt 11, completion 3, cached 2,"
            " found none at launch 1 (run), line 4, seq 4, event 4",
        ),
        (twice, "usage counted twice: expected one usage fact, found two at line 5, seq 6"),
    ],
)
def test_l9_once_per_attempt(reply: Callable[[Story], Story], message: str) -> None:
    story = reply(Story("say it").launch("run").header().prompt().attempt().request())
    assert broken(story.finish().end().idle().probe().evidence()) == [f"L9: {message}"]


def test_l9_owes_nothing_for_a_reply_that_died_with_a_kill() -> None:
    story = live(Story("deploy it").launch("run", "log:assistant#1/before"))
    live(story.launch("resume"))
    assert broken(story.idle().probe().evidence(REFERENCE)) == []


def test_l9_owes_nothing_where_the_provider_reported_nothing() -> None:
    story = Story("say it").launch("run").header().prompt().attempt().request(usage=None)
    story.reply("said", usage=False).finish().end()
    assert broken(story.idle().probe().evidence()) == []


@pytest.mark.parametrize(("prompt", "owed"), [(2**53 - 1, False), (0, True)])
def test_l9_owes_nothing_that_the_sums_of_a_log_could_not_hold(prompt: int, owed: bool) -> None:
    most = {"prompt_tokens": 2**53 - 1, "completion_tokens": 1}
    story = Story("deploy it").launch("run").header().prompt().attempt().request(usage=most)
    story.reply(BASH, input=2**53 - 1, output=1, cacheRead=0).intent().exec().effect().result()
    story.attempt().request(usage={**most, "prompt_tokens": prompt}).reply("done", usage=False)
    assert ids(story.finish().end().evidence()) == (["L9"] if owed else [])


def test_l9_owes_nothing_before_the_end_of_a_course() -> None:
    story = Story("say it").launch("run", "log:usage#1/before").header().prompt().attempt()
    story.request().reply("said", usage=False)
    story.write(story.usage()).dead()
    assert broken(story.evidence(merged_into="another")) == []
    story.launch("resume").finish().end()
    assert "L9" in ids(story.idle().probe().evidence())


def test_l9_leaves_a_usage_fact_without_counters_to_l1() -> None:
    story = Story("say it").launch("run").header().prompt().attempt().request()
    story.reply("said", usage=False).write({**story.usage(), "usage": 7}).finish().end()
    assert ids(story.evidence()) == ["L1"]


def test_l9_a_summary_costs_like_any_reply() -> None:
    story = plain(steps=("run", "compact")).launch("compact").compact(1).attempt()
    story.request([{"role": "user", "content": "say it"}]).summarised(usage=False).finish().end()
    assert [m.partition(" at ")[0] for m in broken(story.evidence())] == [
        "L9: usage of a durable reply is not counted: expected prompt 11, completion 3, cached 2, "
        "found none"
    ]
