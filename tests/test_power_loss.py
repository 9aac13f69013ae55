"""What a loss of power can leave: bytes until the file is synced, names until the directory is."""

from __future__ import annotations

import pytest

from chaos.errors import UsageError
from chaos.evidence import ABSENT, Blobs, Event, FileChange, LogWrite, Request, Sync
from chaos.power_loss import Loss, Unsynced, acknowledged, unsynced

LOG = ".agent/sessions/LOG"
AGENT, TOOL = 7, 8


class Story:
    """Calls of an agent on its log and on files, one after the other."""

    def __init__(self, **files: str) -> None:
        self.blobs = Blobs()
        self.events: list[Event] = []
        self.log = b""
        self.files = {f"{name}.txt": text.encode() for name, text in files.items()}
        self.before = {path: self.blobs.put(data) for path, data in self.files.items()}

    def where(self) -> tuple[int, int, float]:
        return len(self.events) + 1, 0, 0.0

    def line(self, text: str) -> Story:
        data = text.encode()
        self.log += data
        point, place = "log:partial#1", (len(self.log) - len(data), len(data), len(data))
        log = self.blobs.put(self.log)
        self.events.append(LogWrite(*self.where(), AGENT, "write", point, 1, *place, log))
        return self

    def file(self, path: str, text: str | None, *, old: str = "", pid: int = AGENT) -> Story:
        before = self._content(path)
        if old:
            self.files[path] = self.files.pop(old)
        elif text is None:
            del self.files[path]
        else:
            self.files[path] = text.encode()
        call = "rename" if old else "unlink" if text is None else "write"
        change = FileChange(
            *self.where(), pid, call, path, before, self._content(path), ABSENT, old=old
        )
        self.events.append(change)
        return self

    def sync(self, path: str, *names: str) -> Story:
        self.events.append(Sync(*self.where(), AGENT, "fsync", path, ABSENT, names))
        return self

    def request(self) -> Story:
        log = self.blobs.put(self.log)
        self.events.append(Request(*self.where(), 1, "POST", "/", ABSENT, log, 200, "", ABSENT))
        return self

    def state(self) -> Unsynced:
        return unsynced(self.events, self.blobs, LOG, None, self.before)

    def left(self, loss: str) -> dict[str, str]:
        after = self.state().after(Loss.parse(loss))
        return {path: data.decode() for path, data in after.items()}

    def losses(self) -> list[str]:
        return [str(loss) for loss in self.state().losses()]

    def _content(self, path: str) -> str:
        return self.blobs.put(self.files[path]) if path in self.files else ABSENT


def test_what_was_never_synced_can_go_to_the_last_byte() -> None:
    story = Story().line("one\n").line("two\n")
    assert story.left("data=0 names=0") == {}
    assert story.left("data=0 names=1") == {LOG: ""}
    assert story.left("data=0+half names=1") == {LOG: "on"}
    assert story.left("data=1+half names=1") == {LOG: "one\ntw"}
    assert story.left("data=2 names=1") == {LOG: "one\ntwo\n"}


def test_a_synced_file_without_a_synced_name_is_nowhere() -> None:
    story = Story().line("one\n").sync(LOG)
    assert story.losses() == ["data=0 names=0"]
    assert story.left("data=0 names=0") == {}
    assert story.sync(".agent/sessions/").losses() == []


def test_a_name_synced_before_the_first_byte() -> None:
    story = Story().sync(".agent/sessions/", LOG).line("one\n")
    assert story.losses() == ["data=0 names=0", "data=0+half names=0"]
    assert story.left("data=0 names=0") == {LOG: ""}


def test_a_sync_keeps_what_was_written_before_it_only() -> None:
    story = Story().line("one\n").sync(LOG).sync(".agent/sessions/").line("two\n")
    assert story.left("data=0 names=0") == {LOG: "one\n"}
    assert story.sync(LOG).losses() == []


def test_the_sync_of_one_file_keeps_no_other() -> None:
    story = Story(a="old").line("one\n").file("a.txt", "new")
    story.sync(LOG).sync(".agent/sessions/")
    assert story.left("data=0 names=0") == {"a.txt": "old", LOG: "one\n"}


def test_a_rename_may_be_there_before_the_bytes() -> None:
    story = Story(a="old").line("l\n").sync(LOG).sync(".agent/sessions/")
    story.file("tmp", "new").file("a.txt", "", old="tmp")
    assert story.left("data=0 names=2") == {"a.txt": "", LOG: "l\n"}
    assert story.left("data=1 names=1") == {"a.txt": "old", "tmp": "new", LOG: "l\n"}
    assert story.left("data=1 names=0") == {"a.txt": "old", LOG: "l\n"}


def test_a_file_that_was_removed_may_come_back() -> None:
    story = Story(a="old").line("l\n").sync(LOG).sync(".agent/sessions/").file("a.txt", None)
    assert story.left("data=0 names=0") == {"a.txt": "old", LOG: "l\n"}
    assert story.sync("./").losses() == []


def test_what_other_programs_wrote_is_theirs_to_sync() -> None:
    story = Story().line("l\n").sync(LOG).sync(".agent/sessions/")
    assert story.file("made.txt", "by a tool", pid=TOOL).losses() == []


def test_every_prefix_of_the_writes_and_of_the_names() -> None:
    story = Story(a="old").line("one\n").file("b.txt", "b")
    assert story.losses() == [
        "data=0 names=2",
        "data=0+half names=2",
        "data=1 names=2",
        "data=1+half names=2",
        "data=0 names=0",
        "data=2 names=0",
        "data=0 names=1",
        "data=2 names=1",
    ]


def test_what_somebody_outside_may_know_of() -> None:
    story = Story().line("one\n").request().line("two\n")
    assert story.blobs.get(acknowledged(story.events) or "") == b"one\n"
    assert acknowledged(Story().line("one\n").events) is None


@pytest.mark.parametrize("text", ["data=1", "names=1", "data=-1 names=0", "data=1 names=x", ""])
def test_what_is_no_loss(text: str) -> None:
    with pytest.raises(UsageError, match="write for example 'data=2"):
        Loss.parse(text)


def test_no_more_can_be_kept_than_there_is_to_lose() -> None:
    with pytest.raises(UsageError, match="there are 1 unsynced writes and 1 unsynced changes"):
        Story().line("one\n").left("data=1+half names=0")
