"""The effect journal as it grows: which effects a change of its bytes makes.

Pure. An effect is a line, whatever call brought it there (write, copy, splice, rename). A line
counts when its LF is there, or when the launch that left it without one is over. A journal that was
cut or replaced begins anew: what had happened has happened.
"""

from __future__ import annotations


class Journal:
    """Follows the bytes. `bytes_now` is what it has been told last."""

    def __init__(self, data: bytes = b"") -> None:
        self.bytes_now = data
        self._counted = len(data)  # bytes that have become effects

    def take(self, data: bytes) -> list[str]:
        """The effects that came with the change to `data`."""
        if not data.startswith(self.bytes_now):
            self._counted = 0
        self.bytes_now = data
        return self._count(data.rfind(b"\n") + 1)

    def close(self) -> list[str]:
        """The effect of a last line without its LF, now that nothing will complete it."""
        return self._count(len(self.bytes_now))

    def _count(self, end: int) -> list[str]:
        start, self._counted = self._counted, max(self._counted, end)
        return lines_of(self.bytes_now[start:end])


def lines_of(data: bytes) -> list[str]:
    """Lines as effects are named, without LF; bytes that are no UTF-8 are replaced."""
    return data.decode("utf-8", "replace").removesuffix("\n").split("\n") if data else []
