"""The reducer: the bytes of a session log to the state they add up to.

Pure. It promises: a line is applied whole or not at all; the cost of a line does not grow with
the log; no input raises anything but SessionError. Bytes after the last LF are a torn tail and
are not read. Order of the questions about a fact: envelope, seq, id, timestamp, duplicate id, the
fact's own rules, reserved ids (session contract, sections 1, 3 and 4).

It knows no tools, models or environment of today; the planner compares with those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from agent import entries, records, schema
from agent.errors import SessionError
from agent.facts import Fact, JSONObject
from agent.ledger import AWAITED, MESSAGE, Ledger, Refusal
from agent.shapes import an_object, one_of, uuid7
from agent.state import Header, SessionState
from agent.strict_json import JSON, StrictJSONError, loads

RULES: Mapping[str, Callable[[Ledger, Fact], None]] = {
    "user": entries.user,
    "assistant": entries.assistant,
    "startedResult": entries.started_result,
    "unstartedResult": entries.unstarted_result,
    "compaction": entries.compaction,
    "runStarted": records.run_started,
    "compactionStarted": records.compaction_started,
    "stepAttempt": records.step_attempt,
    "stepFailed": records.step_failed,
    "toolStarted": records.tool_started,
    "abortRequested": records.abort_requested,
    "operationFinished": records.operation_finished,
    "usage": records.usage,
}

# What a fact's own id names, where that is more than its variant.
NOUNS = dict.fromkeys(("user", "assistant", "startedResult", "unstartedResult"), MESSAGE)

_kind = one_of(*schema.ENVELOPES)


def reduce_session(data: bytes) -> SessionState:
    """Reduce a whole log. Raises SessionError for the first complete line that is not legal."""
    if b"\n" not in data:
        raise SessionError("MISSING_HEADER", 1, None, "no complete line; expected a header")
    return SessionReducer.of(data).state


class SessionReducer:
    """Reduces a log line by line. `state` is live: each `feed` changes it."""

    def __init__(self) -> None:
        self._ledger: Ledger | None = None
        self._lines = 0

    @classmethod
    def of(cls, data: bytes) -> SessionReducer:
        """Reduces on from these bytes, whose complete lines are applied. Raises SessionError."""
        reducer = cls()
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            reducer.feed(data[start:end])
            start = end + 1
        return reducer

    @property
    def state(self) -> SessionState:
        """The state after the lines fed so far. Raises LookupError before the header."""
        if self._ledger is None:
            raise LookupError("no header was fed yet")
        return self._ledger.state

    def feed(self, line: bytes) -> tuple[Fact, ...]:
        """Apply one complete line, given without its LF; the first one is the header.

        Returns the facts of the line (none for the header). Raises SessionError, and then nothing
        has changed; ValueError if `line` holds an LF.
        """
        ledger, facts = self._read(line)
        self._keep(ledger, facts, line)
        return facts

    @contextmanager
    def adding(self, line: bytes) -> Iterator[None]:
        """Apply a line for as long as the block takes to write it down, then keep it.

        For a writer: a candidate is refused, as by `feed`, before the disk is touched, and is
        forgotten where the block raises.
        """
        ledger, facts = self._read(line)
        try:
            yield
        except BaseException:
            ledger.rollback()
            raise
        self._keep(ledger, facts, line)

    def _read(self, line: bytes) -> tuple[Ledger, tuple[Fact, ...]]:
        """The ledger with the line in it, neither kept nor forgotten yet."""
        if b"\n" in line:
            raise ValueError("expected one line without its LF")
        number = self._lines + 1
        value = _read_line(line, number)
        if self._ledger is None:
            return Ledger(_header(value), 0), ()
        return self._ledger, _transaction(self._ledger, value, number)

    def _keep(self, ledger: Ledger, facts: tuple[Fact, ...], line: bytes) -> None:
        ledger.commit()
        ledger.state.last_seq += len(facts)
        ledger.state.repaired_length += len(line) + 1
        self._ledger = ledger
        self._lines += 1


def _read_line(line: bytes, number: int) -> JSON:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SessionError("INVALID_UTF8", number, None, f"byte {error.start}") from None
    if not text.strip():
        raise SessionError("BLANK_LINE", number, None, "expected a JSON value, found none")
    if text[-1] == "\r":
        raise SessionError("CRLF_NOT_ALLOWED", number, None, "a line ends with LF alone")
    try:
        return loads(line)
    except StrictJSONError as error:
        raise SessionError("MALFORMED_JSON", number, None, str(error)) from None


def _header(value: JSON) -> Header:
    complaint = schema.HEADER(value)
    if complaint:
        other = not schema.HEADER_OF_ANY_VERSION(value)
        code = "UNSUPPORTED_VERSION" if other else "INVALID_HEADER"
        raise SessionError(code, 1, None, complaint)
    return Header(
        id=value["id"],
        created_at=value["createdAt"],
        cwd=value["cwd"],
        provider=value["provider"],
        model=value["model"],
        environment_identity=value["environmentIdentity"],
    )


def _transaction(ledger: Ledger, value: JSON, line: int) -> tuple[Fact, ...]:
    """Apply one fact, or an array of facts, whole or not at all. The caller commits."""
    items = value if type(value) is list else [value]
    if not items:
        raise SessionError("EMPTY_TRANSACTION", line, None, "expected at least one fact")
    facts = []
    seq = ledger.state.last_seq
    for item in items:
        seq += 1
        try:
            facts.append(_apply(ledger, item, seq))
        except Refusal as refusal:
            ledger.rollback()
            raise SessionError(refusal.code, line, _usable_seq(item), str(refusal)) from None
    return tuple(facts)


def _apply(ledger: Ledger, item: Any, expected_seq: int) -> Fact:
    """Ask one fact all its questions, in the order of the contract, and apply it."""
    kind = _envelope(item, expected_seq)
    id_, ids = item["id"], ledger.ids
    reserved = ids.get(id_) == AWAITED
    if id_ in ids and not reserved:
        raise Refusal("DUPLICATE_ID", f"id {id_} is in use already; ids are used once")
    body = item[kind] if kind != "usage" else _usage_body(item)
    variant, complaint = schema.variant(kind, body)
    complaint = complaint or schema.BODIES[variant](body)
    if complaint:
        raise Refusal("INVALID_FACT", complaint)
    fact = Fact(kind, variant, expected_seq, id_, item["timestamp"], body)
    if not reserved:
        ledger.take(id_, "this fact")  # which no reference in it may name
    RULES[variant](ledger, fact)
    if not reserved:
        ids[id_] = NOUNS.get(variant, variant)
    elif ids[id_] == AWAITED:
        raise Refusal("DUPLICATE_ID", f"id {id_} is reserved for a result")
    return fact


def _envelope(item: Any, expected_seq: int) -> str:
    """Check the outer object of a fact; gives its kind."""
    complaint = an_object(item)
    if complaint:
        raise Refusal("INVALID_FACT", complaint)
    kind = item.get("kind")
    if type(kind) is not str or kind not in schema.ENVELOPES:
        raise Refusal("INVALID_FACT", f"kind: {_kind(kind)}")
    needed, allowed = schema.ENVELOPES[kind]
    if item.keys() != needed and not needed <= item.keys() <= needed | allowed:
        odd = sorted((needed ^ item.keys()) - allowed)
        raise Refusal("INVALID_FACT", f"missing or unknown keys: {', '.join(map(ascii, odd))}")
    seq = item["seq"]
    if type(seq) is not int or seq != expected_seq:
        complaint = schema.POSITIVE_SAFE_INTEGER(seq)
        if complaint:
            raise Refusal("INVALID_FACT", f"seq: {complaint}")
        raise Refusal("SEQ_MISMATCH", f"expected seq {expected_seq}, found {seq}")
    complaint = uuid7(item["id"])
    if complaint:
        raise Refusal("INVALID_FACT", f"id: {complaint}")
    complaint = schema.SAFE_INTEGER(item["timestamp"])
    if complaint:
        raise Refusal("INVALID_FACT", f"timestamp: {complaint}")
    return kind


def _usage_body(item: JSONObject) -> JSONObject:
    return {key: item[key] for key in item if key not in schema.ENVELOPE_KEYS}


def _usable_seq(item: Any) -> int | None:
    seq = item.get("seq") if type(item) is dict else None
    return None if schema.POSITIVE_SAFE_INTEGER(seq) else seq
