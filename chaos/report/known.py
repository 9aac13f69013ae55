"""Known faults: the fingerprints that a gate accepts, so that it is red only for new ones.

One fault a line, as the report prints its fingerprint, and why it is accepted:

    L6 unanswered-calls > toolStarted    # issue 12: calls are taken last first
    R1 torn-write                        # issue 15: waits for the new store

Empty lines and lines that begin with `#` are skipped. A line whose fault was not met any more is
told, so that the file stays true: it belongs to one command line, the one of the gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from chaos.errors import UsageError
from chaos.regular import read_regular
from chaos.report.triage import Fault


@dataclass(frozen=True, slots=True)
class KnownFault:
    """A line of the file."""

    line: int  # 1-based
    reason: str


Known = Mapping[str, KnownFault]  # by fingerprint
NONE: Known = {}


def read_known(path: Path) -> Known:
    """Read a file. Raises UsageError `path:line: …`."""
    try:
        text = read_regular(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"{path}: cannot be read: {why}") from None
    known: dict[str, KnownFault] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        said, _, reason = line.partition("#")
        fingerprint = " ".join(said.split())
        if not fingerprint:
            continue
        if not reason.strip():
            raise UsageError(
                f"{path}:{number}: expected 'FINGERPRINT  # why it is accepted', found {line!r}"
            )
        if fingerprint in known:
            raise UsageError(
                f"{path}:{number}: {fingerprint!r} stands in line {known[fingerprint].line} already"
            )
        known[fingerprint] = KnownFault(number, reason.strip())
    return known


def accepted(known: Known, faults: Iterable[Fault]) -> dict[str, str]:
    """The schedules whose fault is known, by id, each with the reason."""
    return {
        result.id: known[fault.fingerprint].reason
        for fault in faults
        if fault.fingerprint in known
        for result in fault.results
    }


def gone(known: Known, faults: Iterable[Fault]) -> list[str]:
    """Fingerprints that no fault of a whole sweep has any more, in the order of the file."""
    met = {fault.fingerprint for fault in faults}
    return [fingerprint for fingerprint in known if fingerprint not in met]
