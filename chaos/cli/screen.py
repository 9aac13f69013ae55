"""Where the report of a sweep goes while it is made: results above, what is going on below.

On a terminal the last lines are drawn anew a few times a second (rich does it), and results scroll
away above them. Elsewhere there are plain lines only; in a log of CI a line now and then shows that
the sweep lives. What is written is the same in both.

Promises that the terminal is whole when `close` returns: the cursor is visible, and the lines of
progress are gone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from chaos.cli.output import complain, failing_well
from chaos.cli.paint import in_colour, is_plain_terminal, painted, set_apart, surroundings
from chaos.cli.tally import Tally, Track

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.text import Text

HEARTBEAT_S = 30.0  # without a word; in a long sweep a twentieth of its time
_SHARE = 20
_MOST_TRACKS = 4
_TIMES_A_SECOND = 4
_BAR = 24  # columns
_NARROW = 72  # columns: no bar below this


def screen_for(
    stream: TextIO | None, write: Callable[[str], None], tally: Tally, *, quiet: bool
) -> Screen:
    """The right one. `write` writes to `stream`."""
    if quiet:
        return Lines(stream, write, None)
    encoding = (getattr(stream, "encoding", None) or "").lower()
    if stream is not None and is_plain_terminal(stream) and encoding.startswith("utf"):
        return Live(stream, tally)
    return Lines(stream, write, tally)


class Lines:
    """Plain lines, in colour where that is wanted. Without a tally there is no sign of life."""

    def __init__(
        self, stream: TextIO | None, write: Callable[[str], None], tally: Tally | None
    ) -> None:
        self._stream = stream
        self._write = write
        self._tally = tally
        self._last = time.monotonic()

    def open(self) -> None:
        """Nothing to do."""

    def write(self, text: str) -> None:
        """A part of the report, LF included."""
        self._write(painted(text, self._stream))
        self._last = time.monotonic()

    def tick(self) -> None:
        """A sign of life, if there was none for long."""
        now = time.monotonic()
        if self._tally is None:
            return
        if now - self._last >= max(HEARTBEAT_S, (now - self._tally.started) / _SHARE):
            self._last = now
            scenarios = f"{self._tally.over} of {len(self._tally.tracks)} scenarios"
            complain(f"at work: {', '.join((scenarios, *self._tally.in_words(now)))}")

    def close(self) -> None:
        """Nothing to do."""


class Live:
    """A terminal. It may be closed at any time, and more than once."""

    def __init__(self, stream: TextIO, tally: Tally) -> None:
        # Slow to import, and of no use in CI.
        from rich.console import Console
        from rich.live import Live as RichLive

        self._console = Console(
            file=stream,
            force_terminal=True,
            no_color=False,  # told by the next line alone
            color_system="standard" if in_colour(stream) else None,
            highlight=False,
            _environ=surroundings(),
        )
        self._live = RichLive(
            _Board(tally),
            console=self._console,
            refresh_per_second=_TIMES_A_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def open(self) -> None:
        if not self._live.is_started:
            self._live.start()

    def write(self, text: str) -> None:
        with failing_well():
            self._console.print(set_apart(text), end="", soft_wrap=True)

    def tick(self) -> None:
        """It draws itself."""

    def close(self) -> None:
        if self._live.is_started:
            self._live.stop()


Screen = Lines | Live


class _Board:
    """The lines of progress, as they are at the moment of drawing."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = options.max_width, console.size.height
        most = max(0, min(_MOST_TRACKS, height - 4))
        tracks = self._tally.at_work(most)
        longest = max((len(track.name) for track in tracks), default=0)
        room = max(8, min(longest, width - 30))
        for track in tracks:
            yield _line(_of_track(track, room))
        yield self._sums(wide=width >= _NARROW)

    def _sums(self, *, wide: bool) -> RenderableType:
        words = self._tally.in_words(time.monotonic())
        if not wide:
            return _line("  ".join(words))
        from rich.progress_bar import ProgressBar  # as above
        from rich.table import Table

        row = Table.grid(padding=(0, 2, 0, 0))
        total = max(self._tally.planned, 1)
        row.add_row(
            ProgressBar(total=total, completed=self._tally.done, width=_BAR),
            _line("  ".join(words)),
        )
        return row


def _of_track(track: Track, room: int) -> str:
    name = track.name if len(track.name) <= room else f"{track.name[: room - 1]}…"
    if not track.begun:
        return f"{name:<{room}}  run without a kill"
    return f"{name:<{room}}  {track.done:>4} of {track.planned:<4} {track.kills:>4} kills"


def _line(text: str) -> Text:
    from rich.text import Text  # as above

    return Text(text, style="dim", no_wrap=True, overflow="ellipsis")
