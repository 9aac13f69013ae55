"""Sessions as people read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import new_facts, strict_json
from agent.errors import SessionError
from agent.view import _DETAILS, _NAMES, listing, transcript
from agent.workspace import Workspace
from tests.corpus.cases import ACCEPTED

ID = "018f0000-0000-7000-8000-000000000001"


def uuid7(number: int) -> str:
    return f"018f0000-0000-7000-8000-{number:012x}"


def log() -> bytes:
    """An accepted prompt of two lines."""
    header = new_facts.header(
        id=ID,
        created_at=1_700_000_000_000,
        cwd="/w",
        provider="p",
        model="m",
        environment_identity="e",
    )
    started = new_facts.run_started(operation_id=uuid7(3), input_entry_id=uuid7(2))
    facts = [
        new_facts.user_message("first\nsecond").stamp(1, uuid7(2), 1),
        started.stamp(2, uuid7(4), 1),
    ]
    return strict_json.dumps(header) + b"\n" + strict_json.dumps(facts) + b"\n"


def test_show_prints_each_fact_and_the_condition() -> None:
    assert list(transcript(log() + b'{"torn')) == [
        f"session {ID}, 2023-11-14T22:13:20Z, m, /w",
        "    1  00:00:00  user",
        "                first",
        "                second",
        "    2  00:00:00  runStarted",
        "unfinished; tokens: input 0, output 0, cacheRead 0, cacheWrite 0",
        f"go on with: resume {ID}",
    ]


def shown(name: str) -> str:
    return "\n".join(transcript(ACCEPTED[name].data()))


@pytest.mark.parametrize("name", ACCEPTED)
def test_every_legal_log_can_be_shown(name: str) -> None:
    text = shown(name)
    assert text.startswith("session ")
    assert "\nidle; tokens: " in text or "\nunfinished; tokens: " in text
    assert "Result" not in text.replace("toolResult", "")  # no name that only the code knows


# log -> a line of it
LINES = {
    "tool-pending-safe": 'toolStarted: read {"path": "a"} (safe to run again)',
    "tool-pending-never": 'toolStarted: read {"path": "a"}\n',
    "tool-called": '-> read {"path":"a"}',
    "abort-answered": "toolResult: read, interrupted",
    "only-bad-calls-answered": "toolResult: missing, unknownTool",
    "attempt-repeated": "stepAttempt: 2, ",
    "attempt-failed": "stepFailed: http_500: the provider said so",
    "failed-then-new-prompt": "operationFinished: run failed, http_500",
    "truncated-finished": "operationFinished: run completed (truncated)",
    "compaction-aborted": "abortRequested: compaction, phase compact",
    "compaction-repeated": "compactionStarted: messages to summarise 4, to keep 2",
}


@pytest.mark.parametrize("name", LINES)
def test_a_fact_says_what_a_reader_wants_to_know(name: str) -> None:
    assert LINES[name] in shown(name)


def test_every_kind_of_fact_is_among_them() -> None:
    everything = "\n".join(map(shown, ACCEPTED))
    for name in (*_DETAILS.keys() - _NAMES.keys(), *_NAMES.values()):
        assert f"  {name}" in everything, name


def test_show_stops_at_the_first_bad_line() -> None:
    lines = transcript(log() + b"\n")
    assert next(lines).startswith("session")
    with pytest.raises(SessionError, match="BLANK_LINE at line 3"):
        list(lines)


def test_sessions_lists_what_is_one_and_changes_nothing(tmp_path: Path) -> None:
    workspace = Workspace.at(str(tmp_path))
    path = workspace.path_of_new(ID)
    path.write_bytes(log())
    workspace.path_of_new(uuid7(0xA)).write_bytes(b'{"not yet')
    workspace.path_of_new(uuid7(0xB)).write_bytes(b"\n")
    assert list(listing(workspace)) == [
        f"{ID}  2023-11-14T22:13:20Z  unfinished  first second",
        f"{uuid7(0xB)}  corrupt: BLANK_LINE at line 1: expected a JSON value, found none",
    ]
    assert path.read_bytes() == log()
