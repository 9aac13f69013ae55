"""How a command ended, in words for people and for `--json`.

Pure. An `Outcome` is what the loop gives back; its exit code follows from it by one table.
Source: design, section 7 (exit codes); session contract, section 5 (`blocked`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.failures import ExitCode

EXIT_CODES: Mapping[str, ExitCode] = {
    "completed": ExitCode.DONE,
    "idle": ExitCode.DONE,
    "failed": ExitCode.FAILED,
    "blocked": ExitCode.BLOCKED,
    "aborted": ExitCode.ABORTED,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a command. `kind` is a key of EXIT_CODES."""

    kind: str
    message: str = ""  # for people: why it failed or is blocked, what to do next
    error: Mapping[str, str] | None = None  # of a failed operation: code, message
    reason: str | None = None  # of a blocked one: the plan's reason

    @property
    def exit_code(self) -> ExitCode:
        return EXIT_CODES[self.kind]

    def to_json(self) -> dict[str, Any]:
        """The last event of `--json`."""
        told = {"reason": self.reason, "error": self.error, "message": self.message or None}
        return {
            "event": "outcome",
            "outcome": self.kind,
            "exitCode": int(self.exit_code),
            **{name: value for name, value in told.items() if value is not None},
        }
