"""What can go wrong at the provider, by name: the `do` of a scenario's event.

Pure. A fault belongs to the schedule, never to the script: it hits one request, by its ordinal in
a launch, so that a later launch with the same transcript gets the scripted answer. This module
only parses and prints; `chaos.provider.exchange` carries faults out.

Source: design sections 4 and 8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from chaos.errors import ScenarioError

# One row a fault: how it is written, and what the target sees.
KNOWN = {
    "provider:STATUS": "an error reply; STATUS is 400 to 599",
    "provider:reset": "the connection is reset (RST) before any byte of an answer",
    "provider:close": "the connection is closed (FIN) before any byte of an answer",
    "provider:hold": "the request is read and never answered",
    "provider:malformed": "status 200, but the body is broken JSON",
    "provider:bad-utf8": "status 200, but what the model says is not UTF-8",
    "provider:no-finish": "the answer is whole but for its finish_reason",
    "provider:cut@N": "the answer is cut off (FIN) after N events of its stream, or N bytes of its "
    "body",
    "provider:reset@N": "the same with a reset (RST)",
    "provider:hold@N": "the same, but the connection stays open and nothing more comes",
    "provider:end@N": "the same, but the answer ends as if that were all of it",
    "provider:cut-byte@N": "N bytes of a stream, too; so reset-byte@N, hold-byte@N, end-byte@N",
}
_FAULT = re.compile(
    r"provider:(?:(?P<status>[45][0-9]{2})"
    r"|(?P<kind>reset|close|hold|malformed|bad-utf8|no-finish)"
    r"|(?P<ending>cut|reset|hold|end)(?P<bytes>-byte)?@(?P<after>0|[1-9][0-9]{0,8}))"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong.

    `kind` is how the fault is written, without its number. `after` is how much of the scripted
    answer is still sent: events of its stream, or bytes (`in_bytes`, or of an unstreamed body).
    """

    kind: str
    status: int = 0  # of kind "status"
    after: int | None = None  # None: the fault is not a place in the answer
    in_bytes: bool = False

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Read a fault as a scenario writes it. Raises ScenarioError listing those that exist."""
        match = _FAULT.fullmatch(text)
        if match is None:
            known = "; ".join(f"{name} ({meaning})" for name, meaning in KNOWN.items())
            raise ScenarioError(f"not a provider fault: {text!r}; expected one of {known}")
        if match["status"]:
            return cls("status", status=int(match["status"]))
        if match["ending"]:
            return cls(match["ending"], after=int(match["after"]), in_bytes=bool(match["bytes"]))
        return cls(match["kind"])

    def __str__(self) -> str:
        if self.kind == "status":
            return f"provider:{self.status}"
        place = "" if self.after is None else f"{'-byte' * self.in_bytes}@{self.after}"
        return f"provider:{self.kind}{place}"
