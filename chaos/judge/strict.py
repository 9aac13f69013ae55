"""A session log judged from its bytes alone: `check_log`.

For rules L1 and L3 to L11 as far as one log shows them. It is a whole reading of the session
contract in code of its own, so that a fault in a target's reader cannot hide itself here. Promises
to be quiet exactly when the contract calls the log valid; a torn tail is no violation. Stops at the
first broken fact: what follows it has no meaning. Does not say what a *correct agent* would have
written, nor look at anything but the bytes.

Source: session contract, sections 1 to 4; the order of the questions is that of section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaos.judge import shapes
from chaos.judge import strict_calls as calls
from chaos.judge import strict_compaction as compaction
from chaos.judge import strict_operations as operations
from chaos.judge import strict_steps as steps
from chaos.judge.log import LF, split_torn
from chaos.judge.shape_checks import Check, shown
from chaos.judge.strict_json import decode_json
from chaos.judge.strict_state import (
    DUPLICATE_ID,
    INVALID_FACT,
    Ids,
    Refusal,
    State,
    refuse,
    require,
)
from chaos.results import Violation

_COMMON = frozenset({"kind", "seq", "id", "timestamp"})
# kind -> (keys required, keys allowed)
_ENVELOPE = {
    "entry": (_COMMON | {"entry"}, _COMMON | {"entry"}),
    "record": (_COMMON | {"record"}, _COMMON | {"record"}),
    "usage": (
        _COMMON | {"operationId", "usage"},
        _COMMON | {"operationId", "usage", "attemptId", "toolStartedId"},
    ),
}
_RECORDS = {
    "runStarted": operations.run_started,
    "compactionStarted": compaction.compaction_started,
    "stepAttempt": steps.step_attempt,
    "stepFailed": steps.step_failed,
    "toolStarted": calls.tool_started,
    "abortRequested": operations.abort_requested,
    "operationFinished": operations.operation_finished,
}


def check_log(data: bytes) -> list[Violation]:
    """The first violation of the contract in a session file, or none.

    The evidence holds `code` (the contract's error code), `line` (1-based), `seq` where the broken
    fact has a usable one, `expected` and `found`. A file without a complete line is a violation
    here (`MISSING_HEADER`); whether it may be "no session yet" is for the caller to decide.
    """
    complete, _ = split_torn(data)
    lines = complete.split(LF)[:-1]
    reader = _Reader()
    number = 1
    try:
        if not lines:
            refuse("L1", "MISSING_HEADER", "a header line that ends in LF", f"{len(data)} bytes")
        for number, line in enumerate(lines, start=1):
            reader.read(number, line)
    except Refusal as refusal:
        return [_violation(refusal, number, reader.seq)]
    return []


def _violation(refusal: Refusal, line: int, seq: int | None) -> Violation:
    where = f"line {line}" if seq is None else f"line {line}, seq {seq}"
    evidence: dict[str, object] = {"code": refusal.code, "line": line}
    if seq is not None:
        evidence["seq"] = seq
    evidence |= {"expected": refusal.expected, "found": refusal.found}
    return Violation(refusal.rule, f"{refusal.code} at {where}: {refusal}", evidence)


class _Reader:
    """Reads line by line. `seq` is that of the fact being read, where it has a usable one."""

    def __init__(self) -> None:
        self.seq: int | None = None
        self._last_seq = 0
        self._state = State()

    def read(self, number: int, line: bytes) -> None:
        """One complete line, without its LF. Raises Refusal."""
        self.seq = None
        self._state.prompts.clear()
        value = _decode(line)
        if number == 1:
            self._header(value)
        elif isinstance(value, list):
            if not value:
                refuse("L1", "EMPTY_TRANSACTION", "at least one fact in a transaction", "none")
            for fact in value:
                self._fact(fact)
        else:
            self._fact(value)

    def _header(self, value: object) -> None:
        wrong = shapes.header(value)
        if wrong is not None:
            if shapes.header_of_any_version(value) is None:
                code, expected = "UNSUPPORTED_VERSION", f"version {shapes.VERSION}"
            else:
                code, expected = "INVALID_HEADER", f"{wrong.path or 'header'}: {wrong.expected}"
            refuse("L1", code, expected, wrong.found)
        assert isinstance(value, dict)  # noqa: S101 - the shape says so
        self._state.used.add(value["id"])

    def _fact(self, value: object) -> None:
        self.seq = None
        if not isinstance(value, dict):
            refuse("L1", INVALID_FACT, "a fact, which is an object", shown(value))
        seq = value.get("seq")
        if shapes.positive(seq) is None:
            self.seq = seq
        self._envelope(value)
        state, fact_id = self._state, value["id"]
        require(
            fact_id not in state.used,
            "L3",
            DUPLICATE_ID,
            "an id that stands for nothing else",
            fact_id,
        )
        ids = self._apply(value)
        self._reserve(fact_id, ids)

    def _envelope(self, fact: Mapping[str, Any]) -> None:
        kind = fact.get("kind")
        if not isinstance(kind, str) or kind not in _ENVELOPE:
            refuse("L1", INVALID_FACT, "kind entry, record or usage", shown(kind))
        required, allowed = _ENVELOPE[kind]
        if not required <= fact.keys() <= allowed:
            names = ", ".join(sorted((required - fact.keys()) | (fact.keys() - allowed)))
            refuse("L1", INVALID_FACT, f"the keys of a {kind} fact", f"missing or unknown: {names}")
        _require_shape("L3", "seq", shapes.positive, fact["seq"])
        expected = self._last_seq + 1
        require(fact["seq"] == expected, "L3", "SEQ_MISMATCH", f"seq {expected}", fact["seq"])
        self._last_seq = expected
        _require_shape("L3", "id", shapes.uuid7, fact["id"])
        _require_shape("L1", "timestamp", shapes.natural, fact["timestamp"])

    def _apply(self, fact: Mapping[str, Any]) -> Ids:
        """The rules of the fact's kind; what they do with ids."""
        state, fact_id = self._state, fact["id"]
        if fact["kind"] == "usage":
            _require_usage_shape(fact)
            return operations.usage(state, fact_id, fact)
        if fact["kind"] == "record":
            record = fact["record"]
            _require_shape("L1", "record", shapes.record, record)
            return _RECORDS[record["type"]](state, fact_id, record)
        entry = fact["entry"]
        _require_shape("L1", "entry", shapes.entry, entry)
        if entry["type"] == "compaction":
            return compaction.compaction_entry(state, fact_id, entry)
        role = entry["message"]["role"]
        if role == "user":
            return operations.user_entry(state, fact_id, entry)
        if role == "assistant":
            return steps.assistant_entry(state, fact_id, entry)
        return calls.tool_result(state, fact_id, entry)

    def _reserve(self, fact_id: str, ids: Ids) -> None:
        """Last of all: a promised id is used by the fact it was promised to, and by no other."""
        state = self._state
        if fact_id in state.reserved:
            require(
                ids.keeps_promise,
                "L3",
                DUPLICATE_ID,
                "an id reserved for a result to be used by that result alone",
                fact_id,
            )
            state.reserved.remove(fact_id)
        state.used.add(fact_id)
        fresh = ids.names if ids.promises is None else (*ids.names, ids.promises)
        for name in fresh:
            require(
                name not in state.used and name not in state.reserved,
                "L3",
                DUPLICATE_ID,
                "a new id that stands for nothing else",
                name,
            )
            (state.reserved if name == ids.promises else state.used).add(name)


def _decode(line: bytes) -> object:
    """The JSON value of a line. Raises Refusal for whatever is wrong with the line itself."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        refuse("L1", "INVALID_UTF8", "strict UTF-8", f"byte {error.start} does not decode")
    if not text.strip():
        refuse("L1", "BLANK_LINE", "a header or a transaction", "a blank line")
    if text.endswith("\r"):
        refuse("L1", "CRLF_NOT_ALLOWED", "lines that end in LF alone", "CR LF")
    try:
        return decode_json(text)
    except ValueError as error:
        refuse("L1", "MALFORMED_JSON", "one strict JSON value", str(error))


def _require_shape(rule: str, what: str, shape: Check, value: object) -> None:
    if (wrong := shape(value)) is not None:
        path = f"{what}.{wrong.path}" if wrong.path else what
        refuse(rule, INVALID_FACT, f"{path}: {wrong.expected}", wrong.found)


def _require_usage_shape(fact: Mapping[str, Any]) -> None:
    _require_shape("L1", "operationId", shapes.uuid7, fact["operationId"])
    measured = [key for key in ("attemptId", "toolStartedId") if key in fact]
    require(
        len(measured) == 1,
        "L9",
        INVALID_FACT,
        "exactly one of attemptId and toolStartedId",
        measured or "neither",
    )
    _require_shape("L1", measured[0], shapes.uuid7, fact[measured[0]])
    _require_shape("L1", "usage", shapes.usage_counters, fact["usage"])
