"""Random legal histories, from a generator that knows nothing of the agent.

Every prefix reduces, plans and comes to an end; every cut of the last line opens; every change of
a single byte is refused with a code or leaves a log that is legal still; and none of it changes a
byte of the file.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.errors import SessionError
from agent.inspection import inspect
from agent.planner import CurrentConfiguration, CurrentTool
from agent.plans import Blocked
from agent.reducer import reduce_session
from agent.state import Idle
from agent.store import SessionStore
from tests.agent.test_planner import Executor
from tests.loggen import sample_at

SEED = 20_261_130
seeded = settings(
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
histories = st.integers(0, 400).map(lambda number: sample_at(SEED, number, 0).data)


def lines_of(data: bytes) -> list[bytes]:
    return data.split(b"\n")[:-1]


def executor(lines: list[bytes]) -> Executor:
    """The configuration of today is the one that the log knows last: nothing has drifted."""
    state = reduce_session(b"\n".join(lines) + b"\n")
    operation = state.operation
    step = None if isinstance(operation, Idle) else operation.step
    snapshot = step.configuration_snapshot if step else None
    intents = () if isinstance(operation, Idle) else getattr(operation, "tool_calls", ())
    declared = {intent.tool_name: (intent.replay, intent.replay_key) for intent in intents}
    tools = tuple(
        CurrentTool(t["name"], t["definitionDigest"], *declared.get(t["name"], ("never", "x")))
        for t in (snapshot["tools"] if snapshot else ())
    )
    digest = step.configuration_digest if step else f"sha256:{0:064}"
    here = state.header.environment_identity
    now = CurrentConfiguration(digest, here, tools)
    return Executor(lines, now, **({"snapshot": snapshot} if snapshot else {}), environment=here)


@seeded
@given(histories, st.data())
def test_every_prefix_comes_to_an_end(data: bytes, choice: st.DataObject) -> None:
    lines = lines_of(data)
    count = choice.draw(st.integers(1, len(lines)))
    made = executor(lines[:count])
    end = made.to_the_end()
    if isinstance(end, Blocked):
        # Nothing has drifted, so only two lost attempts, or an intent recorded elsewhere, may wait.
        assert end.reason in ("attempts_exhausted", "environment_changed"), end
    else:
        assert isinstance(made.state.operation, Idle)


@seeded
@given(histories, st.data())
def test_every_cut_of_the_last_line_opens(
    tmp_path: Path, data: bytes, choice: st.DataObject
) -> None:
    lines = lines_of(data)
    whole = b"\n".join(lines[:-1]) + b"\n" if lines[1:] else b""
    cut = choice.draw(st.integers(0, len(lines[-1])))
    file = session(tmp_path, whole + lines[-1][:cut])
    with SessionStore.open(file) as store:
        if whole:
            assert store.state.to_json() == {
                **reduce_session(whole).to_json(),
                "repairedLength": len(whole),
            }
        else:
            assert not store.is_session
    assert file.read_bytes() == whole + lines[-1][:cut]  # opening changes no byte


@seeded
@given(histories, st.data())
def test_a_changed_byte_is_refused_with_a_code_or_still_legal(
    tmp_path: Path, data: bytes, choice: st.DataObject
) -> None:
    at = choice.draw(st.integers(0, len(data) - 1))
    byte = choice.draw(st.integers(0, 255).filter(lambda b: b != data[at]))
    changed = data[:at] + bytes([byte]) + data[at + 1 :]
    file = session(tmp_path, changed)
    found = inspect(changed)
    code = None
    try:
        SessionStore.open(file).close()
    except SessionError as error:
        code = error.code
    # A file without a complete line is no session yet; else store and reducer agree.
    expected = None if found["ok"] else found["error"]["code"]
    assert code == expected or (code, expected) == (None, "MISSING_HEADER")
    assert file.read_bytes() == changed


def session(directory: Path, data: bytes) -> Path:
    """A session file with the name that its header asks for."""
    ident = "00000000-0000-7000-8000-000000000000"
    with contextlib.suppress(SessionError):
        ident = reduce_session(data.partition(b"\n")[0] + b"\n").header.id
    file = directory / f"2026-11-30T00-00-00-000Z_{ident}.jsonl"
    file.write_bytes(data)
    return file


def test_the_histories_reach_what_there_is_to_reach() -> None:
    """A generator that wrote plain answers only would prove little."""
    everything = b"".join(sample_at(SEED, number, 0).data for number in range(60))
    for word in ("compactionStarted", "abortRequested", "interrupted", "stepFailed", "truncated"):
        assert f'"{word}"'.encode() in everything, word
