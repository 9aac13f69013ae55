"""Server-sent events: bytes in, the data of each event out.

Pure. Splits at CR, LF or CRLF wherever the network cut the bytes, joins the `data:` lines of one
event, and drops comments (`: keep-alive`) and other fields. It gives bytes: what they mean, and
whether they are valid UTF-8, is decided by who parses them. An event that the end of the stream
left without its blank line is not an event. The cost is that of the bytes, however they are cut.
"""

from __future__ import annotations

from collections.abc import Iterator


class EventDecoder:
    """Feed it chunks; it yields the data of each event that is complete."""

    def __init__(self) -> None:
        self._line: list[bytes] = []  # the pieces of the line that has not ended yet
        self._data: list[bytes] = []
        self._after_cr = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Data of the events that `chunk` completes."""
        if not chunk:
            return
        if self._after_cr:
            # CRLF may be cut between its two bytes; the LF then belongs to the line already ended.
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk.endswith(b"\r")
        # bytes.splitlines knows CR, LF and CRLF only, which is exactly this format's rule.
        for piece in chunk.splitlines(keepends=True):
            self._line.append(piece)
            if piece.endswith((b"\n", b"\r")):
                line = b"".join(self._line).rstrip(b"\r\n")
                self._line.clear()
                data = self._end_line(line)
                if data is not None:
                    yield data

    def _end_line(self, line: bytes) -> bytes | None:
        if line:
            field, _, value = line.partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
            return None
        data, self._data = self._data, []
        return b"\n".join(data) if data else None
