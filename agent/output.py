"""What the agent prints while it works: for people, or one JSON event a line.

What it promises: an event is printed only after its fact is durable, and the outcome comes last; a
reader that goes away ends the printing, never the work. Text for people has no control characters
but line ends and tabs, whatever model and tools wrote. People see a streamed reply as it comes; if
it breaks off they are told that nothing of it is kept.
What it does not do: it decides nothing, and keeps nothing.

Events of `--json`: `{"event":"session","session":ID,"path":…}`; then per fact
`{"event":NAME,"fact":{…}}` with the names of `event_name`; last `{"event":"outcome",…}`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from pathlib import Path

    from agent.outcome import Outcome


_SHOWN = 200  # characters of arguments and results that a person is shown while the agent works


class Output:
    """Prints to `out` (replies, or events) and `err` (what happens meanwhile)."""

    def __init__(self, out: TextIO, err: TextIO, *, events: bool) -> None:
        self._out = out
        self._err = err
        self._events = events
        self._in_line = False  # the last line has no end yet
        self._coming = False  # text of a reply was shown that is not durable yet

    @property
    def on_terminal(self) -> bool:
        """Whether a person watches the replies come."""
        return not self._events and self._out.isatty()

    def session(self, session_id: str, path: Path) -> None:
        """The session that is worked on."""
        if self._events:
            self._event({"event": "session", "session": session_id, "path": str(path)})
        else:
            _print(self._err, f"session {session_id}")

    def note(self, text: str) -> None:
        """A line for people only."""
        self._end_line()
        if not self._events:
            _print(self._err, text)

    def reply(self, content: str | None) -> None:
        """A whole reply, for people; one without text says nothing."""
        if content and not self._events:
            _print(self._out, content)

    def text(self, text: str) -> None:
        """Text of a reply that is still coming: not durable, so no event."""
        if not self._events:
            _write(self._out, printable(text))
            self._in_line = self._coming = True

    def fact(self, fact: Mapping[str, Any]) -> None:
        """A fact that is durable now."""
        name = event_name(fact)
        if self._events:
            self._event({"event": name, "fact": fact})
            return
        self._end_line()
        if name in ("assistant", "stepFailed"):
            self._settle(name, fact)
        elif name in _LINES:
            _print(self._err, shortened(_LINES[name](fact), _SHOWN))

    def outcome(self, outcome: Outcome) -> None:
        """The end, as the last event; words for people in any case."""
        self._end_line()
        if self._events:
            self._event(outcome.to_json())
        words = outcome.message or _ENDS.get(outcome.kind)
        if words:
            _print(self._err, words)

    def failure(self, kind: str, code: int, message: str, more: Mapping[str, object]) -> None:
        """The end without an outcome of the session: usage, busy, corrupt …"""
        self._end_line()
        if self._events:
            told = {"event": "outcome", "outcome": kind, "exitCode": code, "message": message}
            self._event({**told, **more})
        _print(self._err, message)

    def _end_line(self) -> None:
        if self._in_line:
            self._in_line = False
            _write(self._out, "\n")

    def _settle(self, name: str, fact: Mapping[str, Any]) -> None:
        """A reply is durable, or a step has failed: say what is not on the screen already."""
        shown, self._coming = self._coming, False
        if name == "stepFailed":
            if shown:
                _print(self._err, "the reply broke off; nothing of it is kept")
        elif not shown:
            self.reply(fact["entry"]["message"]["content"])

    def _event(self, event: Mapping[str, Any]) -> None:
        write_line(self._out, json.dumps(event, ensure_ascii=False, separators=(",", ":")))


def event_name(fact: Mapping[str, Any]) -> str:
    """`user`, `assistant`, `toolResult`, `compaction`, `usage`, or the type of the record."""
    match fact:
        case {"kind": "record", "record": {"type": str(name)}}:
            return name
        case {"kind": "entry", "entry": {"message": {"role": str(role)}}}:
            return "toolResult" if role == "tool" else role
        case {"kind": "entry"}:
            return "compaction"
        case _:
            return "usage"


_ENDS: Mapping[str, str] = {"aborted": "aborted"}  # said where an outcome has no message
_LINES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "compaction": lambda fact: f"compacted: {fact['entry']['summary']}",
    "toolStarted": lambda fact: (
        f"> {fact['record']['toolName']} "
        f"{json.dumps(fact['record']['arguments'], ensure_ascii=False)}"
    ),
    "toolResult": lambda fact: (
        f"< {fact['entry']['toolName']} {_kind_of(fact['entry']['result'])}: "
        f"{fact['entry']['message']['content']}"
    ),
}


def _kind_of(result: Mapping[str, str]) -> str:
    return result.get("reason", result["type"])


def shortened(text: str, length: int) -> str:
    """`text` on one line of at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def printable(text: str) -> str:
    """`text` with every control character but line ends and tabs made visible."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in _HARMLESS else char.encode("unicode_escape").decode()
        for char in text
    )


# What Python calls not printable, but writing needs: line ends, the spaces of other scripts (U+3000
# of Chinese), and the joiners of emoji, Persian and Indic scripts.
_HARMLESS = frozenset(
    "\n\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u200c\u200d\u202f\u205f\u3000"
)


def _print(stream: TextIO, text: str) -> None:
    write_line(stream, printable(text))


def write_line(stream: TextIO, line: str) -> None:
    """Print a line at once. If nobody reads any more, go on without printing."""
    _write(stream, line + "\n")


def _write(stream: TextIO, text: str) -> None:
    with contextlib.suppress(OSError):
        stream.write(text)
        stream.flush()
