"""Rule E5: the smallest writes that leave a mixture, and the nearest that do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.judge.build import TOOL_PID, WRITE, Story, broken, ids

NEW, OLD = "3 bytes (sha256 11507a0e)", "3 bytes (sha256 cba06b57)"


def atomic(story: Story) -> Story:
    """A temporary file, renamed into place."""
    temporary = ".killpoint-tmp-1"
    story.change(temporary, "ne", "write").change(temporary, "new", "write")
    return story.change("out.txt", "new").change(temporary, None, "unlink")


def in_place(story: Story, pid: int = 100) -> Story:
    """Cut to nothing, then written in two parts."""
    story.change("out.txt", "", "openat", pid).change("out.txt", "ne", "write", pid)
    return story.change("out.txt", "new", "write", pid)


def by_a_command(story: Story) -> Story:
    return in_place(story, TOOL_PID)


def too_early(story: Story) -> Story:
    """Renamed into place before it is whole."""
    return story.change("out.txt", "ne").change("out.txt", "new", "write")


def at_once(story: Story) -> Story:
    return story.change("out.txt", "new", "write")


def writing(how: Callable[[Story], Story], kill: str | None = None) -> Story:
    """One call that writes out.txt, up to its result."""
    story = Story("write it", files={"out.txt": "old"}).launch("run", kill).header().prompt()
    return how(story.attempt().request().reply(WRITE).intent()).result()


def ended(story: Story) -> Story:
    story.attempt().request().reply("written").finish().end()
    return story.idle().probe()


REFERENCE = ended(writing(atomic)).evidence()


@pytest.mark.parametrize(
    ("how", "found"),
    [
        (atomic, []),
        (by_a_command, []),
        (at_once, []),
        (
            in_place,
            [
                "0 bytes (sha256 e3b0c442) after openat at launch 1 (run), event 8",
                "2 bytes (sha256 cb58e460) after write at launch 1 (run), event 9",
            ],
        ),
        (too_early, ["2 bytes (sha256 cb58e460) after rename at launch 1 (run), event 8"]),
    ],
)
def test_e5_in_a_run_without_a_kill(how: Callable[[Story], Story], found: list[str]) -> None:
    expected = f"E5: out.txt is half written: expected {NEW} or {OLD}, found "
    assert broken(ended(writing(how)).evidence(REFERENCE)) == [expected + text for text in found]
    assert broken(ended(writing(how)).evidence()) == [expected + text for text in found]


def killed(how: Callable[[Story], Story]) -> Story:
    """The same, dead before its result; the resume says that it does not know."""
    story = writing(how, "log:toolResult#1/before").dead()
    return ended(story.launch("resume").result(outcome="interrupted"))


def half(story: Story) -> Story:
    return story.change("out.txt", "n", "write")


def unseen(story: Story) -> Story:
    """The file changes, and no call was seen to do it."""
    story.files["out.txt"] = b"n"
    return story


@pytest.mark.parametrize(
    ("how", "broken_rules"),
    [
        (atomic, []),
        (at_once, []),
        (lambda story: story, []),
        (half, ["E5"]),
        (unseen, ["E5"]),
        (lambda story: story.change("out.txt", "n", "write", TOOL_PID), []),
    ],
)
def test_e5_after_a_kill(how: Callable[[Story], Story], broken_rules: list[str]) -> None:
    assert ids(killed(how).evidence(REFERENCE)) == broken_rules


def test_e5_a_finished_file_renamed_into_place_is_whole_without_a_reference() -> None:
    assert ids(killed(atomic).evidence()) == []
    assert ids(killed(at_once).evidence()) == ["E5"]


def test_e5_a_file_that_is_gone() -> None:
    assert ids(killed(lambda s: s.change("out.txt", None, "unlink")).evidence(REFERENCE)) == ["E5"]


def test_e5_a_new_file_is_nothing_or_whole() -> None:
    def create(story: Story) -> Story:
        return story.change("more.txt", "more")

    reference = ended(writing(create)).evidence()
    assert ids(killed(create).evidence(reference)) == []
    assert ids(killed(lambda s: s.change("more.txt", "m", "write")).evidence(reference)) == ["E5"]


def test_e5_temporary_files_may_be_half_written() -> None:
    story = killed(lambda s: s.change(".killpoint-tmp-1", "n", "write"))
    assert "E5" not in ids(story.evidence(REFERENCE))


def test_what_a_command_left_is_not_judged_at_a_later_launch_either() -> None:
    story = writing(by_a_command)
    story.files["out.txt"] = b"half"
    assert "E5" not in ids(ended(story).evidence(REFERENCE))
    story = writing(atomic)
    story.files["out.txt"] = b"half"
    assert "E5" in ids(ended(story).evidence(REFERENCE))
