"""Small agents of other makes: SQLite, one file a message in Node, behind a launcher that forks.

Their sessions are not read. Every kill is exact all the same, a sound agent passes, and one that
does wrong is caught.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import pytest

from chaos.errors import ScenarioError, UsageError
from chaos.evidence import Evidence, Kill, StateWrite
from chaos.judge import inexact
from chaos.points import Scope
from chaos.results import ScheduleResult, Verdict
from chaos.scenario import Scenario, parse_scenario
from chaos.target import parse_target
from tests.planted.support import ROOT, run

PROGRAMS = ROOT / "tests/programs"
TARGET = """\
name = "small"
about = "A small agent of another make."
dialect = "opaque"
durable = {durable}
[commands]
run = {run}
resume = {resume}
[env]
MODEL_URL = "{{base_url}}"
KEY = "{{api_key}}"
[exit_codes]
completed = 0
[shell]
tool = "sh"
"""
SCENARIO = """\
name = "one-tool"
about = "One effect, then an answer."
target.profile = "small"
[[provider.turn]]
tool_calls = [{ shell = 'echo ping >> "$CHAOS_EFFECTS"' }]
[[provider.turn]]
content = "done"
[expect]
effects = { ping = "at-most-once" }
"""
SQLITE = TARGET.format(
    durable=[f"~/.sqlite-agent/session.db{end}" for end in ("", "-wal", "-shm", "-journal")],
    run=["{python}", f"{PROGRAMS}/sqlite_agent.py", "run", "{prompt}"],
    resume=["{python}", f"{PROGRAMS}/sqlite_agent.py", "resume"],
)
NODE = TARGET.format(
    durable=["messages/*.json", "messages/*.tmp"],
    run=[f"{PROGRAMS}/launcher.sh", "node", f"{PROGRAMS}/messages_agent.mjs", "{prompt}"],
    resume=[f"{PROGRAMS}/launcher.sh", "node", f"{PROGRAMS}/messages_agent.mjs", "{prompt}"],
)
LINES = SQLITE.replace("sqlite_agent.py", "lines_agent.py").replace("opaque", "transcript") + (
    """[transcript]
role = "message.role"
call = "message.tool_calls[].id"
tool = "message.tool_calls[].function.name"
result = "message.tool_call_id"
"""
)
LINES = re.sub("durable = .*", 'log = "~/.lines-agent/*.jsonl"', LINES)
WAL = "state:pwrite64[~/.sqlite-agent/session.db-wal]"
JOURNAL = "~/.sqlite-agent/session.db-journal"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")


def scenario(target: str, *points: str, **env: str) -> Scenario:
    """The scenario, killed at these points only; `env` is the target's. The agent dies alone, also
    where a tool of it stands at the point."""
    made = parse_scenario(SCENARIO, "s.toml", lambda _: parse_target(target, "t.toml"))
    return replace(made, env=env, kill=replace(made.kill, points=points, scope=Scope.PROCESS))


def killed(target: str, *points: str, **env: str) -> list[ScheduleResult]:
    """What became of each kill, at all the phases of these points."""
    (result,) = run(scenario(target, *points, **env), launch="exec", keep=True).scenarios
    assert result.error == ""
    return [each for each in result.schedules if each.schedule != "run: none"]


def rules(results: list[ScheduleResult]) -> set[str]:
    return {violation.id for result in results for violation in result.violations}


def the_kill(result: ScheduleResult) -> tuple[Evidence, Kill]:
    assert result.evidence is not None
    return result.evidence, next(e for e in result.evidence.events if isinstance(e, Kill))


def test_a_write_ahead_log_is_killed_at_and_cut() -> None:
    chosen = (f"{WAL}#3", f"{WAL}#5/torn@2048", "provider:1/request", "effect:ping#1/after")
    results = killed(SQLITE, *chosen)
    assert [str(each.verdict) for each in results] == ["PASS"] * len(results), results
    assert sum(each.exact for each in results) == len(results) == 8
    for result in results:
        evidence, kill = the_kill(result)
        if "torn" in kill.point:
            after = evidence.blobs.get(kill.after)
            assert (
                after[: kill.offset + kill.kept][kill.offset :]
                == (evidence.blobs.get(kill.payload)[: kill.kept])
            )


def test_a_database_is_never_cut_and_its_index_is_no_file_of_the_session() -> None:
    write, unlink = "state:pwrite64[~/.sqlite-agent/session.db]#3", f"state:unlink[{JOURNAL}]#2"
    (result,) = run(scenario(SQLITE, write, unlink, JOURNAL="DELETE"), launch="exec").scenarios
    assert [str(each.verdict) for each in result.schedules] == ["PASS"] * 5
    kills = [each.schedule for each in result.schedules[1:]]
    phases = ("before", "after")
    assert kills == [f"run: {place}/{phase}" for place in (write, unlink) for phase in phases]
    assert any("session.db-journal" in point for point in result.points)
    assert not any("-shm" in point for point in result.points)


@pytest.mark.parametrize(
    ("fault", "point", "rule"),
    [
        ("replay", "effect:ping#1/after", "E2"),  # the tool ran, its end was not stored
        ("lazy", "provider:2/request", "R1"),  # nothing is stored before the end
        ("orphan", "effect:ping#1/after", "X1"),
        ("forget", "effect:ping#1/after", "E6"),  # the tool ran, and the model never hears of it
        ("forget", "provider:2/request", "P6"),  # it had heard of it
        ("restless", "provider:2/response", "R3"),
    ],
)
def test_one_that_does_wrong_is_caught(fault: str, point: str, rule: str) -> None:
    assert rule in rules(killed(SQLITE, point, FAULT=fault))
    assert not rules(killed(SQLITE, point))


def test_a_transcript_is_killed_at_by_the_roles_of_its_lines() -> None:
    points = ("log:user#1/torn@9", "log:assistant[sh]#1", "log:line#1/after", "log:tool#1/before")
    results = killed(LINES, *points)
    assert [str(each.verdict) for each in results] == ["PASS"] * 8, results
    assert sum(each.exact for each in results) == 8
    assert killed(LINES, points[0], FAULT="keep-torn")[0].verdict is Verdict.VIOLATION


@needs_node
def test_the_agent_is_killed_and_not_its_launcher() -> None:
    first = "state:rename[messages/*.json]#2"  # by a worker thread
    results = killed(NODE, first, "provider:1/request", "provider:2/response")
    assert [str(each.verdict) for each in results] == ["PASS"] * 4, results
    for result in results:
        evidence, kill = the_kill(result)
        assert kill.pid != evidence.launches[0].pid
        assert not kill.tid or (kill.tid != kill.pid and kill.path == "messages/0001.json")
        # What a `resume` is told cannot be nothing, where it must be told something.
        assert [launch.prompt for launch in evidence.launches[1:]][:1] == ["killpoint: go on"]


@needs_node
def test_a_message_that_is_written_in_place_is_found_by_half() -> None:
    torn = "state:write[messages/*.json]#2/torn@5"
    assert "R2" in rules(killed(NODE, torn, FAULT="in-place"))


def test_a_forged_proof_is_none() -> None:
    (result,) = killed(SQLITE, f"{WAL}#3/after")
    evidence, kill = the_kill(result)
    assert inexact(evidence) == []

    def forged(**fields: object) -> list[str]:
        events = tuple(
            replace(e, **fields) if isinstance(e, Kill) else e  # type: ignore[arg-type]
            for e in evidence.events
        )
        return inexact(replace(evidence, events=events))

    assert "the bytes at death differ" in forged(after=kill.before)[0]
    assert "expected a payload" in forged(payload=kill.before)[0]
    assert "the last change of a file is not of ~/else" in forged(path="~/else")[0]
    earlier = [
        e for e in evidence.events if isinstance(e, StateWrite) and f"[{e.glob}]" in kill.point
    ]
    unseen = tuple(e for e in evidence.events if e is not earlier[0])
    told = inexact(replace(evidence, events=unseen))
    assert "expected number 3 of its kind, found number 2" in told[0]


def test_what_a_sweep_cannot_do_without_facts_is_said() -> None:
    made = scenario(SQLITE)
    with pytest.raises(UsageError, match="its crash images cannot be compared"):
        run(made, launch="exec", depth=2)
    with pytest.raises(UsageError, match=r"--faults damage needs a session log of facts"):
        run(made, launch="exec", faults="damage")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("session.db", "elsewhere.db"), r"expected the target to write files that match"),
        (('{base_url}"', '{base_root}/v7"'), r"expected the target to ask the model at .*, found"),
        (("{api_key}", "mine"), r"expected the target to send the key .*, found .* answered 401"),
    ],
)
def test_a_target_that_is_not_seen_is_told(change: tuple[str, str], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        run(scenario(SQLITE.replace(*change)), launch="exec", select=lambda _: False)
