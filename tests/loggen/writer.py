"""The plumbing of a history: ids, seq, clock, and facts in their envelopes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.loggen.render import Line

Fact = dict[str, Any]
_TOOLS = ["bash", "edit", "read", "write"]


class Writer:
    """Writes facts one after another and remembers what the next ones must name."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[Line] = []
        self.seq = 0
        self.clock = 1_700_000_000_000 + rng.randrange(10**9)
        self.messages: list[tuple[str, Fact]] = []
        self.late: list[Callable[[], Fact]] = []  # usage facts that come after the end
        self.operation = ""
        self.step: Fact = {}
        self.snapshot = self.some_snapshot()

    def new_id(self) -> str:
        self.clock += self.rng.randrange(1, 5)
        stamp, noise = f"{self.clock:012x}", f"{self.rng.getrandbits(74):019x}"
        variant = "89ab"[self.rng.randrange(4)]
        return f"{stamp[:8]}-{stamp[8:]}-7{noise[:3]}-{variant}{noise[3:6]}-{noise[6:18]}"

    def fact(self, kind: str, body: Fact, fact_id: str = "") -> Fact:
        self.seq += 1
        fact = {"kind": kind, "seq": self.seq, "id": fact_id or self.new_id()}
        fact["timestamp"] = self.clock
        return {**fact, **body} if kind == "usage" else {**fact, kind: body}

    def record(self, type_: str, **body: Any) -> Fact:
        return self.fact("record", {"type": type_, "operationId": self.operation, **body})

    def message(self, message: Fact, fact_id: str = "", **body: Any) -> Fact:
        fact = self.fact("entry", {"type": "message", **body, "message": message}, fact_id)
        self.messages.append((fact["id"], message))
        return fact

    def put(self, *facts: Fact) -> None:
        self.lines.append(list(facts) if len(facts) > 1 else facts[0])

    def usage(self, **measured: str) -> Fact:
        names = ("input", "output", "cacheRead", "cacheWrite")
        counters = {name: self.rng.choice([0, 1, 7, 100]) for name in names}
        operation = self.operation
        return self.fact("usage", {"operationId": operation, **measured, "usage": counters})

    def usage_later(self, **measured: str) -> None:
        operation = self.operation

        def later() -> Fact:
            return {**self.usage(**measured), "operationId": operation}

        self.late.append(later)

    def some_snapshot(self) -> Fact:
        def some() -> str:
            return "sha256:" + f"{self.rng.randrange(4):064x}"

        tools = self.rng.sample(_TOOLS, self.rng.randrange(2, len(_TOOLS) + 1))
        return {
            "model": "m",
            "systemPromptDigest": some(),
            "tools": [{"name": name, "definitionDigest": some()} for name in tools],
            "adapterIdentity": "openai:v1",
            "routingIdentity": "openrouter:m",
            "outputOptionsDigest": some(),
        }
