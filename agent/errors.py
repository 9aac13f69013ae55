"""The one error of a session log: which rule a complete line breaks, and where.

Pure. Codes and their meaning come from the session contract, section 3. A torn tail is no error.
"""

from __future__ import annotations

CODES = (
    "INVALID_UTF8",
    "MISSING_HEADER",
    "INVALID_HEADER",
    "UNSUPPORTED_VERSION",
    "BLANK_LINE",
    "CRLF_NOT_ALLOWED",
    "MALFORMED_JSON",
    "EMPTY_TRANSACTION",
    "INVALID_FACT",
    "SEQ_MISMATCH",
    "DUPLICATE_ID",
    "INVALID_REFERENCE",
    "INVALID_TRANSITION",
    "INVALID_TRANSCRIPT",
)


class SessionError(Exception):
    """A complete line of the log is not legal; nothing was changed.

    `line` is 1-based. `seq` is the number the offending fact gives itself, where it gives a usable
    one. `message` says what was expected and what was found.
    """

    def __init__(self, code: str, line: int, seq: int | None, message: str) -> None:
        where = f"line {line}" if seq is None else f"line {line}, seq {seq}"
        super().__init__(f"{code} at {where}: {message}")
        self.code = code
        self.line = line
        self.seq = seq
        self.message = message

    def to_json(self) -> dict[str, str | int]:
        """`{"code", "line"[, "seq"]}`, as `inspect` prints it."""
        found: dict[str, str | int] = {"code": self.code, "line": self.line}
        if self.seq is not None:
            found["seq"] = self.seq
        return found
