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
    "provider:malformed": "status 200, but the body is broken JSON",
    "provider:hold": "the request is read and never answered",
    "provider:cut@N": "the answer ends (FIN) after N events of its stream, or N bytes of its body",
}
_FAULT = re.compile(
    r"provider:(?:(?P<status>[45][0-9]{2})|(?P<kind>reset|close|malformed|hold)"
    r"|cut@(?P<cut>0|[1-9][0-9]{0,8}))"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong. `kind`: status | reset | close | malformed | hold | cut."""

    kind: str
    status: int = 0  # of kind "status"
    cut: int = 0  # of kind "cut": stream events, or body bytes, that are still sent

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Read a fault as a scenario writes it. Raises ScenarioError listing those that exist."""
        match = _FAULT.fullmatch(text)
        if match is None:
            known = "; ".join(f"{name} ({meaning})" for name, meaning in KNOWN.items())
            raise ScenarioError(f"not a provider fault: {text!r}; expected one of {known}")
        if match["status"]:
            return cls("status", status=int(match["status"]))
        return cls("cut", cut=int(match["cut"])) if match["cut"] else cls(match["kind"])

    def __str__(self) -> str:
        detail = {"status": str(self.status), "cut": f"cut@{self.cut}"}
        return f"provider:{detail.get(self.kind, self.kind)}"
