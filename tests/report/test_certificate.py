"""The certificate: a table over made-up schedules of a target whose log is not read."""

from __future__ import annotations

import json
from dataclasses import replace

from chaos.judge import RULES, judge
from chaos.report.certificate import Cell, Subject, certificate, certificate_json, rows_of
from chaos.results import Closure, ScenarioResult, ScheduleResult, SweepResult, Verdict
from tests.judge.wire import WireStory, shipped

SUBJECT = Subject("thing", "1.2", "opaque", ("thing", "{prompt}"), "thing.toml")
CLOSURE = Closure(complete=True, states=0, depth=1, harvested=0, verified=0, left=0, wanted=1)


def result(
    story: WireStory, point: str = "", verdict: Verdict | None = None, **facts: object
) -> ScheduleResult:
    """A schedule, judged; with a verdict of its own if it proves nothing."""
    evidence = replace(story.evidence(), schedule=f"run: {point or 'none'}")
    violations = tuple(judge(evidence))
    found = verdict or (Verdict.VIOLATION if violations else Verdict.PASS)
    ident = f"s-{point.replace('/', '-').replace(':', '-') or 'baseline'}"
    kills = int(bool(point))
    return ScheduleResult(
        ident, evidence.schedule, found, violations, "", kills, kills, 1.0, evidence=evidence
    )


def lost(point: str) -> ScheduleResult:
    story = WireStory("ship it").launch("run").ask(answered=False).die().forget()
    return result(story.launch("resume").ask().say("what?").end(), point)


def sweep(*results: ScheduleResult, notes: tuple[str, ...] = ()) -> SweepResult:
    scenario = ScenarioResult("s", "s.toml", (), results, CLOSURE, 1.0, notes=notes)
    return SweepResult((scenario,), 12.0, 0)


GOOD = result(shipped().idle().probe())
KILLED = result(shipped().idle().probe(), "provider:1/response")


def test_every_rule_has_a_row_in_order() -> None:
    rows = rows_of(sweep(GOOD, KILLED))
    assert {row.id for row in rows} == {rule.id for rule in RULES}
    families = "".join(dict.fromkeys(row.id[0] for row in rows))
    assert families == "LPERX"
    whys = {row.id: row.why for row in rows}
    assert whys["L1"] == "not applicable: needs a session log that can be read"
    assert whys["P1"] == "not applicable: needs the facts of a session log"
    assert whys["E5"] == "not tried: it wrote no file of the workspace"


def cells(of: SweepResult, ident: str) -> tuple[str, str]:
    row = next(row for row in rows_of(of) if row.id == ident)
    return str(row.without_kill), str(row.after_kills)


def test_what_is_broken_after_kills_is_counted_there() -> None:
    broken = sweep(GOOD, KILLED, lost("provider:1/request"), lost("provider:2/request"))
    assert cells(broken, "R1") == ("ok 1", "BROKEN 2 of 3")
    assert cells(broken, "R3") == ("ok 1", "ok 3")


def test_what_breaks_without_a_kill_is_not_counted_again() -> None:
    bad = result(shipped().probe().idle().launch("resume").end(3))
    also = result(shipped().launch("resume").end(3), "provider:1/response")
    assert cells(sweep(bad, also, KILLED), "R2") == ("BROKEN 1 of 1", "as without a kill")


def test_what_proves_nothing_is_not_counted() -> None:
    doubtful = result(shipped().idle(), "provider:2/request", Verdict.INCONCLUSIVE)
    assert cells(sweep(GOOD, doubtful), "R1") == ("ok 1", "not tried")
    assert str(Cell(0, 0)) == "not tried"


def test_as_text() -> None:
    text = certificate(SUBJECT, sweep(GOOD, lost("provider:1/request"), notes=("a note",)), {})
    lines = text.splitlines()
    assert lines[:3] == [
        "target     thing 1.2, opaque",
        "command    thing {prompt}",
        "course     2 schedules, 1 kills (1 proven exact), 0 inconclusive, 0 errors, 12 s",
    ]
    table = {line.split()[0]: line for line in lines if line and line[0] in "LPERX"}
    assert table["R1"].split()[:3] == ["R1", "ok", "1"]
    assert "BROKEN 1 of 1     an accepted prompt reaches the model again, and once" in table["R1"]
    assert "note       s: a note" in lines
    assert "fault 1    R1, after 1 of the kills; the smallest:" in lines
    assert any(line.startswith("VIOLATION  s-provider-1-request") for line in lines)


def test_without_evidence_there_is_no_table() -> None:
    broken = replace(sweep().scenarios[0], error="it does not start")
    text = certificate(SUBJECT, SweepResult((broken,), 1.0, 0), {})
    assert "nothing was judged" in text
    assert "error      s: it does not start" in text


def test_as_json() -> None:
    told = json.loads(certificate_json(SUBJECT, sweep(GOOD, lost("provider:1/request")), {}))
    assert told["target"]["version"] == "1.2"
    rows = {row["id"]: row for row in told["rules"]}
    assert rows["R1"]["after_kills"] == {"judged": 1, "broken": 1, "before": 0}
    assert rows["P1"]["without_kill"] is None
    assert told["report"]["summary"]["violations"] == 1
