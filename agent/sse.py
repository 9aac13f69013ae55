"""Server-sent events: bytes in, the data of each event out.

Pure. Splits at CR, LF or CRLF wherever the network cut the bytes, joins the `data:` lines of one
event, and drops comments (`: keep-alive`) and other fields. It gives bytes: what they mean, and
whether they are valid UTF-8, is decided by who parses them. An event that the end of the stream
left without its blank line is not an event.
"""

from __future__ import annotations

from collections.abc import Iterator


class EventDecoder:
    """Feed it chunks; it yields the data of each event that is complete."""

    def __init__(self) -> None:
        self._line = bytearray()
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
        self._line += chunk
        # bytes.splitlines knows CR, LF and CRLF only, which is exactly this format's rule.
        lines = self._line.splitlines(keepends=True)
        rest = b"" if not lines or lines[-1].endswith((b"\n", b"\r")) else bytes(lines.pop())
        self._line = bytearray(rest)
        for line in lines:
            data = self._end_line(bytes(line).rstrip(b"\r\n"))
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
