"""What a file of records must hold, known without asking the engine or the judge.

Pure. The programs of this folder append lines that follow from who writes them and which line it
is; here they are made again. `Promise` follows a launch: which writer came next is what it is told,
the bytes are its own.
"""

from __future__ import annotations

from collections import Counter

Writer = tuple[int, int]  # process, thread: both from 0, as the programs number them


def line(writer: Writer, number: int) -> bytes:
    """The line `number`, from 0, of a writer."""
    process, thread = writer
    padding = chr(ord("a") + number % 26) * ((7 * number + 3 * thread + 5 * process) % 61)
    return f"{process}.{thread}:{number}:é{padding}\n".encode()


def writer_of(text: bytes) -> Writer:
    """Who wrote a line. Raises ValueError where no writer would have begun a line so."""
    process, _, thread = text.partition(b":")[0].partition(b".")
    return int(process), int(thread)


class Promise:
    """The bytes that the file must hold, as the calls on it go by."""

    def __init__(self) -> None:
        self.data = b""
        self._next: Counter[Writer] = Counter()  # line of each writer
        self._handed: dict[Writer, int] = {}  # lines of its call that has not returned

    def hand_over(self, text: bytes) -> bytes:
        """A call brings `text`. Gives the bytes that it must be bringing. Raises InexactError where
        its program would have brought others."""
        try:
            writer = writer_of(text)
        except ValueError:
            raise InexactError(f"no writer would begin a line with {text[:40]!r}") from None
        made, count = b"", 0
        while len(made) < len(text):
            made += line(writer, self._next[writer] + count)
            count += 1
        if made != text:
            raise InexactError(f"writer {writer} should bring {made!r}, it brings {text!r}")
        self._handed[writer] = count
        return made

    def kept(self, made: bytes, count: int) -> None:
        """Of the bytes that were handed over last by their writer, `count` are in the file now."""
        writer = writer_of(made)
        self.data += made[:count]
        if count == len(made):
            self._next[writer] += self._handed.pop(writer)


class InexactError(Exception):
    """Something is not as promised; the text says what."""


def compare(promised: bytes, found: bytes) -> None:
    """Raises InexactError where they differ."""
    if promised == found:
        return
    pairs = enumerate(zip(promised, found, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(promised), len(found)))
    raise InexactError(
        f"promised {len(promised)} bytes, found {len(found)}; they differ from byte {at}: "
        f"promised {promised[at : at + 40]!r}, found {found[at : at + 40]!r}"
    )


def check_rest(at_death: bytes, rest: bytes, dead: int | None) -> None:
    """After a kill, those that it spared go on: whole lines, each writer's in order, and none of
    the process `dead` (None: nobody was spared, nothing follows). Raises InexactError."""
    if dead is None and rest:
        raise InexactError(f"nobody was left, but {len(rest)} bytes followed: {rest[:40]!r}")
    before = Counter(writer_of(text) for text in at_death.split(b"\n")[:-1])
    for text in rest.splitlines(keepends=True):
        writer = writer_of(text)
        if writer[0] == dead:
            raise InexactError(f"process {dead} was killed, but wrote afterwards: {text!r}")
        compare(line(writer, before[writer]), text)
        before[writer] += 1
