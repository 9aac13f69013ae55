"""Fresh UUIDv7 identifiers, in increasing order even if the clock steps back.

What it promises: every id from one `IdSource` is greater than the one before it and greater than
the `after` it started from. In lower-case hex the order of the text is the order of the numbers.
What it does not do: it does not know which ids a log has used; the store says where to start.

Source: session contract, section 2 ("Common").
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable

_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_RANDOM_BITS = 74  # 12 behind the version, 62 behind the variant
_LAST = (1 << (48 + _RANDOM_BITS)) - 1


def is_uuid7(text: str) -> bool:
    """Whether `text` is a UUIDv7 in the one spelling that a log allows (lower case)."""
    return _UUID7.fullmatch(text) is not None


def milliseconds_of(uuid7: str) -> int:
    """The Unix time in ms that a UUIDv7 carries."""
    return int(uuid7[:8] + uuid7[9:13], 16)


def now_ms() -> int:
    """Unix time in ms, the unit of every timestamp in a log."""
    return time.time_ns() // 1_000_000


class IdSource:
    """Gives fresh ids. `after` is the greatest id already taken, or None."""

    def __init__(self, after: str | None = None, clock_ms: Callable[[], int] = now_ms) -> None:
        self._clock_ms = clock_ms
        self._last = _number(after) if after is not None else -1

    def fresh(self) -> str:
        """The next id: from clock and randomness, or the successor of the last one if greater."""
        drawn = self._clock_ms() << _RANDOM_BITS | _random()
        if drawn >> _RANDOM_BITS > self._last >> _RANDOM_BITS or self._last >= _LAST:
            # Past the very last id there is no greater one; a fresh draw at least stays unique.
            self._last = drawn
        else:
            self._last += 1
        return _text(self._last)


def _random() -> int:
    # The top random bit is left free, so that thousands of successors fit into one millisecond.
    return int.from_bytes(os.urandom(10), "big") >> (80 - _RANDOM_BITS + 1)


def _number(uuid7: str) -> int:
    """The 122 bits that are not version or variant, as one number."""
    digits = uuid7.replace("-", "")
    high, low = int(digits[:12] + digits[13:16], 16), int(digits[16:], 16)
    return high << 62 | (low & ((1 << 62) - 1))


def _text(number: int) -> str:
    low = number & ((1 << 62) - 1) | 0b10 << 62
    high = number >> 62
    digits = f"{high >> 12:012x}7{high & 0xFFF:03x}{low:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
