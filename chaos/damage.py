"""Post-mortem damage of a session log: what may befall a file that nobody is writing.

    cut@812               only the first 812 bytes are left
    glue@3                the LF between lines 3 and 4 is gone
    nul@812+64            64 bytes from byte 812 on are NUL; the file may grow by them
    empty@1               line 1 has no bytes left but its LF
    drop@1                line 1 is gone
    duplicate@3           line 3 stands twice
    swap@3                lines 3 and 4 have changed places
    crlf                  every line ends in CR LF
    say@1:version=3       in line 1 the first value of the key "version" is 3, as if another version
                          of the program had written it; a number stays a number, a text a text

Pure: it parses and prints a damage, applies it to bytes, and lists the damages of a log. Lines
count from 1, bytes from 0. A torn tail is no line. What must come of a damaged log is the judge's
business (`chaos.judge.damaged`). Source: fault catalogue, class 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from chaos.errors import UsageError
from chaos.points import DAMAGE, torn_ends

LF = b"\n"
_NUL_BYTES = 64  # of a run that is listed, where nothing else gives its length
_MOST_NUL_BYTES = 1 << 24
_NUMBER = "(?:0|[1-9][0-9]{0,15})"
_WRITTEN = re.compile(
    rf"(?P<kind>[a-z]+)(?:@(?P<at>{_NUMBER})(?:\+(?P<length>{_NUMBER})|:(?P<say>[^;\n]+))?)?"
)
_SAY = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9]*)=(?P<value>[^\"\\\s;]+)")


@dataclass(frozen=True, slots=True)
class Damage:
    """One damage. `at` is a byte (cut, nul) or a line (the others); None where it is everywhere."""

    kind: str  # a key of _KINDS
    at: int | None = None
    length: int = 0  # of a nul, in bytes
    say: str = ""  # of a say: KEY=VALUE

    @classmethod
    def parse(cls, text: str) -> Damage:
        """Read a damage as it is printed. Raises UsageError with what there is."""
        match = _WRITTEN.fullmatch(text.strip())
        kind = _KINDS.get(match["kind"]) if match else None
        if match is not None and kind is not None:
            given = "".join(sign for sign in "@+:" if match[_PARTS[sign]] is not None)
            if given == kind.takes and (":" not in given or _SAY.fullmatch(match["say"])):
                at = int(match["at"]) if match["at"] else None
                return cls(match["kind"], at, int(match["length"] or 0), match["say"] or "")
        known = ", ".join(f"{name}{kind.example}" for name, kind in _KINDS.items())
        raise UsageError(f"not a damage: {text!r}; write for example {known}")

    def apply(self, log: bytes) -> bytes:
        """The log with this damage. Raises UsageError where the log has no such place."""
        made = _KINDS[self.kind].apply(self, log)
        if made is None:
            size = f"{len(log)} bytes in {log.count(LF)} complete lines"
            raise UsageError(f"{DAMAGE}: {self}: the log has no such place; it has {size}")
        return made

    def __str__(self) -> str:
        place = "" if self.at is None else f"@{self.at}"
        return f"{self.kind}{place}{f'+{self.length}' if self.length else ''}{self._said}"

    @property
    def _said(self) -> str:
        return f":{self.say}" if self.say else ""


_PARTS = {"@": "at", "+": "length", ":": "say"}


def damages_of(log: bytes, every: bool = False, last: int | None = None) -> Iterator[Damage]:
    """The damages of a log, in the order of their kinds. `every`: it is cut at every byte, not only
    where a cut tells; `last`: only the first line is damaged, and so many at the end. A `say` is
    not among them: it has a meaning, which only a scenario knows."""
    total = log.count(LF)
    spans = [s for s in _spans(log) if last is None or s.number == 1 or s.number > total - last]
    numbers = [span.number for span in spans]
    followed = [number for number in numbers if number < total]
    yield from (Damage("cut", at) for at in (range(len(log)) if every else _cuts(spans)))
    yield from (Damage("glue", at) for at in followed)
    yield from _nuls(spans)
    if spans:
        half = len(spans[-1].line) // 2 + 1
        yield Damage("nul", len(log) - half, half)
        yield Damage("nul", len(log), _NUL_BYTES)
    yield from (Damage("empty", at) for at in numbers)
    yield from (Damage("drop", at) for at in followed)  # without the last one, it is a cut
    yield from (Damage("duplicate", at) for at in numbers)
    yield from (Damage("swap", at) for at in followed)
    if spans:
        yield Damage("crlf")


@dataclass(frozen=True, slots=True)
class _Span:
    """A complete line, with its LF, in its place."""

    number: int  # from 1
    start: int
    line: bytes


def _spans(log: bytes) -> Iterator[_Span]:
    start = 0
    for number, line in enumerate(_lines(log), start=1):
        yield _Span(number, start, line)
        start += len(line)


def _cuts(spans: list[_Span]) -> list[int]:
    """Before a line, and where its write would be torn."""
    return [span.start + k for span in spans for k in (0, *sorted(torn_ends(span.line)))]


def _nuls(spans: list[_Span]) -> Iterator[Damage]:
    """In the middle of a line; over a line but its LF; over its LF too."""
    for span in spans:
        size = len(span.line)
        yield Damage("nul", span.start + size // 2, 1)
        if size > 1:
            yield Damage("nul", span.start, size - 1)
        yield Damage("nul", span.start, size)


def _lines(log: bytes) -> list[bytes]:
    """The complete lines, each with its LF."""
    return [line + LF for line in log.split(LF)[:-1]]


def _cut(damage: Damage, log: bytes) -> bytes | None:
    return log[: damage.at] if (damage.at or 0) < len(log) else None


def _nul(damage: Damage, log: bytes) -> bytes | None:
    at, length = damage.at or 0, damage.length
    if at > len(log) or not 0 < length <= _MOST_NUL_BYTES:
        return None
    return log[:at] + bytes(length) + log[at + length :]


def _crlf(_damage: Damage, log: bytes) -> bytes | None:
    return log.replace(LF, b"\r\n")


def _say(damage: Damage, log: bytes) -> bytes | None:
    key, _, value = damage.say.partition("=")
    pattern = re.compile(rf'("{key}"\s*:\s*)("[^"\\]*"|[0-9]+)'.encode())

    def change(lines: list[bytes], at: int) -> bool:
        found = pattern.search(lines[at])
        if found is None:
            return False
        quote = b'"' if found[2].startswith(b'"') else b""
        said = quote + value.encode() + quote
        lines[at] = lines[at][: found.start(2)] + said + lines[at][found.end(2) :]
        return True

    return _on_lines(damage, log, change)


# A change of complete lines at an index. It may take back that it can be made (False).
_Change = Callable[[list[bytes], int], bool | None]


def _on_lines(damage: Damage, log: bytes, change: _Change, follow: int = 0) -> bytes | None:
    """Change complete lines; `follow` more of them must come after the one that is named."""
    lines, at = _lines(log), (damage.at or 0) - 1
    torn = log[sum(map(len, lines)) :]
    if not 0 <= at < len(lines) - follow or change(lines, at) is False:
        return None
    return b"".join(lines) + torn


def _glue(lines: list[bytes], at: int) -> None:
    lines[at] = lines[at][:-1]


def _empty(lines: list[bytes], at: int) -> None:
    lines[at] = LF


def _drop(lines: list[bytes], at: int) -> None:
    del lines[at]


def _duplicate(lines: list[bytes], at: int) -> None:
    lines.insert(at, lines[at])


def _swap(lines: list[bytes], at: int) -> None:
    lines[at], lines[at + 1] = lines[at + 1], lines[at]


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a kind of damage is written, and what it does; None: there is no such place."""

    takes: str  # the signs of its parts
    example: str
    apply: Callable[[Damage, bytes], bytes | None]


_KINDS = {
    "cut": _Kind("@", "@812", _cut),
    "glue": _Kind("@", "@3", lambda damage, log: _on_lines(damage, log, _glue, follow=1)),
    "nul": _Kind("@+", "@812+64", _nul),
    "empty": _Kind("@", "@1", lambda damage, log: _on_lines(damage, log, _empty)),
    "drop": _Kind("@", "@1", lambda damage, log: _on_lines(damage, log, _drop)),
    "duplicate": _Kind("@", "@3", lambda damage, log: _on_lines(damage, log, _duplicate)),
    "swap": _Kind("@", "@3", lambda damage, log: _on_lines(damage, log, _swap, follow=1)),
    "crlf": _Kind("", "", _crlf),
    "say": _Kind("@:", "@1:version=3", _say),
}
