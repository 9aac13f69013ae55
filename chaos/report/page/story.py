"""One failure's evidence as the page shows it: lanes of events, and the log as it grew.

Bounded: long lines, bodies and lists are cut, and say so. The secret is taken out of all
that others wrote first (a cut must not leave half a key); it goes through `visible` then. Pure.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from itertools import islice
from typing import Any

from chaos.evidence import (
    Answered,
    Effect,
    Ended,
    Event,
    Evidence,
    Exec,
    FileChange,
    Injected,
    Kill,
    Launch,
    LogWrite,
    Request,
    Rival,
    Signal,
    StateWrite,
    Sync,
)
from chaos.judge import unaccounted
from chaos.judge.log import LF, read_log
from chaos.report.counts import told_of
from chaos.report.explain import said
from chaos.report.meaning import kill_meaning
from chaos.report.timeline import (
    event_in_words,
    fact_in_words,
    kill_in_words,
    launch_end,
    launch_name,
    number_in,
    processes_beside,
)
from chaos.report.visible import visible, without_secret
from chaos.results import ScheduleResult, Violation

LANES = ("agent", "log", "provider", "tools", "outside", "kills")
LANE: Mapping[type[Event], str] = {
    LogWrite: "log",
    Request: "provider",
    Answered: "provider",
    Effect: "outside",
    FileChange: "outside",
    StateWrite: "log",
    Sync: "outside",
    Exec: "tools",
    Ended: "tools",
    Rival: "agent",
    Kill: "kills",
    Signal: "kills",
    Injected: "kills",
}
# Blobs whose beginning is shown; all others are named by their digest.
_SHOWN = {"body", "answer", "stdout", "stderr"}
_OF_A_FILE = {"before", "after"}
_LEFT_OUT = {"order", "launch", "at_ms", "tree"}
_BODY, _LINE, _TEXT = 1200, 2000, 600  # characters of a body, of a line of the log, of others
_MESSAGE = 1500
_MOST_EVENTS, _MOST_LINES, _STREAM_LINES = 300, 400, 8
_DIGEST = 12


def story_of(result: ScheduleResult, evidence: Evidence) -> dict[str, Any]:
    """What the page tells of a schedule that did not pass."""
    teller = _Teller(evidence)
    evidence = teller.evidence
    return {
        "violations": [teller.violation(v) for v in result.violations[:20]],
        "kills": [
            {
                "order": kill.order,
                "launch": launch_name(evidence, kill.launch),
                "point": teller.text(kill.point),
                "meaning": teller.text(kill_meaning(kill)),
                "proof": teller.text(f"SIGKILL {kill_in_words(kill)}"),
                "beside": teller.texts(processes_beside(kill)),
            }
            for kill in evidence.kills
        ],
        "launches": [teller.launch(launch) for launch in evidence.launches],
        "events": [teller.event(event) for event in evidence.events[:_MOST_EVENTS]],
        "more": max(0, len(evidence.events) - _MOST_EVENTS),
        "log": teller.log(),
        "lost": teller.texts(unaccounted(evidence)),
    }


class _Teller:
    """Reads one evidence and knows its secret."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = told_of(evidence)
        self.secret = evidence.facts.secret

    def text(self, text: str, limit: int = _TEXT) -> str:
        return visible(without_secret(text, self.secret), limit)

    def texts(self, lines: Iterable[str]) -> list[str]:
        return [self.text(line) for line in lines]

    def violation(self, violation: Violation) -> dict[str, Any]:
        """In words, and `launch`, `line` and `order` as numbers."""
        words = {key: self.text(text, _MESSAGE) for key, text in asdict(said(violation)).items()}
        numbers = {key: number_in(violation, key) for key in ("launch", "line", "order")}
        told = {**words, **numbers}.items()
        return {"id": violation.id} | {key: each for key, each in told if each not in ("", None)}

    def launch(self, launch: Launch) -> dict[str, Any]:
        return {
            "name": launch_name(self.evidence, launch.index),
            "role": launch.role,
            "end": launch_end(launch),
            "killed": launch.killed,
            "found": self.texts((*launch.first, *launch.changed)),
            "command": self.text(shlex.join(launch.argv)),
            "seconds": round(launch.seconds, 3),
            "pid": launch.pid,
            "stderr": self._last_lines(launch.stderr),
            "stdout": self._last_lines(launch.stdout),
        }

    def _last_lines(self, blob: str) -> list[str]:
        text = self.evidence.blobs.text(blob)
        return self.texts(text.splitlines()[-_STREAM_LINES:])

    def event(self, event: Event) -> list[Any]:
        """`[order, launch, at_ms, lane, kind, words, fields]`."""
        kind, _, words = self.text(event_in_words(event)).partition(" ")
        lane = LANES.index(LANE[type(event)])
        shown = {name: value for name, value in self._fields(event) if value != ""}
        at_ms = round(event.at_ms, 2)
        return [event.order, event.launch, at_ms, lane, kind, words.strip(), shown]

    def _fields(self, event: Event) -> Iterator[tuple[str, Any]]:
        """The raw facts of an event."""
        blobs = self.evidence.blobs.data
        for field in fields(event):
            value = getattr(event, field.name)
            if field.name in _LEFT_OUT or value is None:
                continue
            if isinstance(value, str) and value in blobs:
                yield field.name, self._blob(event, field.name, value)
            elif isinstance(value, tuple):
                yield field.name, self.text(shlex.join(map(str, value)))
            elif isinstance(value, bool) or not isinstance(value, int | float):
                yield field.name, self.text(str(value))
            else:
                yield field.name, value

    def _blob(self, event: Event, name: str, blob: str) -> str:
        if name in _SHOWN or (name in _OF_A_FILE and isinstance(event, FileChange)):
            return self.text(self.evidence.blobs.text(blob), _BODY)
        return f"sha256 {blob[:_DIGEST]}…"

    def log(self) -> dict[str, Any]:
        """The log as it grew: `lines` are told once, each as its facts and its text; a step is
        `[order, launch, lines kept of the state before, lines then added]`. Order 0 is a change
        that no event explains: what befell the log before a launch."""
        known: dict[bytes, int] = {}
        steps = []
        before: list[bytes] = []
        for order, launch, data in _states(self.evidence):
            lines = data.split(LF)[:_MOST_LINES]
            lines = [*(line + LF for line in lines[:-1]), *filter(None, lines[-1:])]
            kept = _common(before, lines)
            if kept == len(before) == len(lines):
                continue
            added = [known.setdefault(line, len(known)) for line in lines[kept:]]
            steps.append([order, launch, kept, added])
            before = lines
        return {"lines": [self._line(line) for line in known], "steps": steps}

    def _line(self, line: bytes) -> list[Any]:
        """`[facts, text]`, and the number of its bytes where the line is torn."""
        text = self.text(line.removesuffix(LF).decode("utf-8", "replace"), _LINE)
        if not line.endswith(LF):
            return [[], text, len(line)]
        view = read_log(line)
        facts = [[fact.seq, self.text(fact_in_words(fact))] for fact in islice(view.facts, 40)]
        if not facts and view.header is not None:
            facts = [[None, "header"]]
        return [facts, text]


def _states(evidence: Evidence) -> Iterator[tuple[int, int, bytes]]:
    """The log at every moment at which it may have changed, as (order, launch, bytes)."""
    get = evidence.blobs.get
    for launch in evidence.launches:
        yield 0, launch.index, get(launch.log_before)
        for event in evidence.of_launch(launch.index):
            if isinstance(event, LogWrite):
                yield event.order, launch.index, get(event.log)
            elif isinstance(event, Kill):
                yield event.order, launch.index, get(event.log_after)
        yield 0, launch.index, get(launch.log_after)


def _common(one: list[bytes], other: list[bytes]) -> int:
    """How many lines both begin with."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
