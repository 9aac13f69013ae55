"""Lenient reading: what a log says, and how its lines name kill points."""

from __future__ import annotations

from chaos.judge.log import point_name, read_log
from tests.loggen.render import Line, render, render_line
from tests.loggen.small import (
    ATTEMPT,
    PROMPT,
    REPLY,
    aborting,
    answered,
    attempt,
    compacted,
    completed,
    failed,
    header,
    intent,
    numbered,
    prompt,
    reply,
    result,
    tool_run,
    unstarted,
    usage,
)


def test_facts_come_in_order_with_line_seq_and_type() -> None:
    view = read_log(render(answered()))
    assert view.header == header()
    assert [(fact.line, fact.seq, fact.kind, fact.type) for fact in view.facts] == [
        (2, 1, "entry", "user"),
        (2, 2, "record", "runStarted"),
        (3, 3, "record", "stepAttempt"),
        (4, 4, "entry", "assistant"),
        (4, 5, "usage", "usage"),
        (5, 6, "record", "operationFinished"),
    ]
    said, started, *_ = view.facts
    assert said.id == PROMPT
    assert said.body["message"] == {"role": "user", "content": "do"}
    assert started.body["inputEntryId"] == PROMPT
    assert started.raw["kind"] == "record"


def test_a_usage_fact_is_its_own_body() -> None:
    fact = next(f for f in read_log(render(answered())).facts if f.type == "usage")
    assert fact.body is fact.raw
    assert fact.body["attemptId"] == ATTEMPT


def test_results_and_compactions_have_types_of_their_own() -> None:
    assert "toolResult" in [fact.type for fact in read_log(render(tool_run())).facts]
    assert "compaction" in [fact.type for fact in read_log(render(compacted())).facts]


def test_the_torn_tail_is_kept_apart() -> None:
    data = render(answered())
    view = read_log(data + b'{"kind":"rec')
    assert (view.complete, view.torn) == (data, b'{"kind":"rec')
    assert view.facts == read_log(data).facts


def test_nothing_at_all_is_a_view_of_nothing() -> None:
    view = read_log(b"")
    assert (view.header, view.facts, view.complete, view.torn) == (None, (), b"", b"")


def test_lines_that_do_not_parse_are_absent() -> None:
    first, *rest = answered()
    junk = b'\n\xff\n{"kind":\n7\n[[]]\n{"kind":"entry","entry":3}\n' + b"[" * 100_000 + b"\n"
    view = read_log(render([first]) + junk + render(rest))
    assert view.header == header()
    assert [fact.line for fact in view.facts][:2] == [9, 9]


def test_what_is_no_fact_of_a_transaction_is_absent_and_the_others_are_not() -> None:
    first, *rest = answered()
    assert isinstance(rest[0], list)
    facts = read_log(render([first, [7, {"kind": None}, *rest[0]]])).facts
    assert [fact.type for fact in facts] == ["user", "runStarted"]


def test_only_line_1_can_be_the_header() -> None:
    first, *rest = answered()
    assert read_log(render([*rest, first])).header is None


def test_an_odd_seq_or_id_reads_as_none() -> None:
    lines = answered()
    lines[2] |= {"seq": True, "id": 3}
    fact = read_log(render(lines)).facts[2]
    assert (fact.seq, fact.id, fact.type) == (None, None, "stepAttempt")


def named(*lines: Line) -> list[tuple[str, str | None]]:
    return [point_name(render_line(line) + b"\n") for line in numbered(*lines)]


def test_a_line_names_its_kill_points() -> None:
    assert named(
        header(),
        prompt(),
        attempt(),
        [reply(), usage(attemptId=ATTEMPT)],
        intent(),
        result(),
        unstarted("aborted", ""),
        aborting(),
        failed(),
        completed(),
        usage(attemptId=ATTEMPT),
    ) == [
        ("header", None),
        ("runStarted", None),
        ("stepAttempt", None),
        ("assistant", None),
        ("toolStarted", "bash"),
        ("toolResult", "bash"),
        ("toolResult", "bash"),
        ("abortRequested", None),
        ("stepFailed", None),
        ("operationFinished", None),
        ("usage", None),
    ]
    assert [name for name, _ in named(*compacted())[5:8]] == [
        "compactionStarted",
        "stepAttempt",
        "compaction",
    ]


def test_the_usage_never_names_a_line_that_says_more() -> None:
    assert named(header(), [usage(attemptId=ATTEMPT), reply()])[1] == ("assistant", None)
    assert named(header(), [prompt()[0], usage(attemptId=ATTEMPT)])[1] == ("user", None)


def test_what_is_no_complete_line_is_partial() -> None:
    whole = render_line(reply()) + b"\n"
    for written in (b"", b"\n", whole[:-1], whole[:20], whole[20:], b"7\n", b"[]\n"):
        assert point_name(written) == ("partial", None)


def test_the_first_of_several_lines_decides() -> None:
    lines = numbered(header(), prompt(), attempt())
    assert point_name(render(lines)) == ("header", None)
    assert point_name(render(lines[1:])) == ("runStarted", None)


def test_a_reply_is_told_from_a_result_by_who_speaks() -> None:
    lines = tool_run()
    roles = {f.id: f.type for f in read_log(render(lines)).facts if f.kind == "entry"}
    assert roles[REPLY] == "assistant"
