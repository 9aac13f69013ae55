"""The harvest: the crash images that a launch passes through alive, where a kill would leave them.

At each instant the room is read once, and the keys of all images of that instant follow from it.
Harvesting explores; it is no proof: every image is reached by a real kill before it counts.

Source: design section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chaos.evidence import Sha
from chaos.points import KillPoint, Phase, torn_lengths
from chaos.supervise.entry import Entry
from chaos.supervise.notebook import Notebook

# The key of a crash image that differs from the room in its log, and in these files.
KeyOf = Callable[[bytes, Mapping[str, Sha]], str]


@dataclass(frozen=True, slots=True)
class Harvested:
    """A crash image that a launch passed through: where a kill would have left it."""

    launch: int
    point: KillPoint
    image: str  # its key


class Harvest:
    """Collects the images of the launches for which it is on."""

    def __init__(
        self, notebook: Notebook, images: Callable[[], KeyOf] | None, torn: str = "ends"
    ) -> None:
        self.harvested: list[Harvested] = []
        self.on = False
        self._notebook, self._images, self._torn = notebook, images, torn

    def enters(self, entry: Entry) -> None:
        """A call is about to happen: all that a kill in it could leave, but for its end."""
        if not self.on or not entry.kills or self._images is None:
            return
        self.passes(entry.point, Phase.BEFORE)
        call, log = entry.call, entry.log_bytes
        if call.label == "effect" or not call.data:
            return
        key_of, blobs = self._images(), self._notebook.blobs
        for k in torn_lengths(call.data, self._torn):
            if call.label == "log":
                key = key_of(log[: call.offset] + call.data[:k], {})
            else:
                was = blobs.get(entry.content)
                torn = was[: call.offset] + call.data[:k] + was[call.offset + k :]
                key = key_of(log, {entry.relative: blobs.put(torn)})
            self._add(f"{entry.point}/torn@{k}", key)

    def leaves(self, entry: Entry) -> None:
        """A call is done."""
        if entry.kills:
            self.passes(entry.point, Phase.AFTER)

    def passes(self, place: str, phase: Phase) -> None:
        """The launch is at a kill point, and the room is what a kill would leave."""
        if self.on and self._images is not None:
            self._add(f"{place}/{phase}", self._images()(self._notebook.room.log(), {}))

    def _add(self, point: str, key: str) -> None:
        launch = self._notebook.launch
        self.harvested.append(Harvested(launch, KillPoint.parse(point), key))
