"""A file is there whole or not at all, wherever its writer is killed."""

from __future__ import annotations

import os
import shutil
import sys
from itertools import groupby
from pathlib import Path

from chaos.launch.model import GO, Action
from chaos.report.folder import UNFINISHED, ReportFolder
from chaos.whole import is_part_of, write_whole
from tests.launch.support import Notes, Room, kill_after, kill_nth, tear

ROOT = Path(__file__).resolve().parents[1]
OLDER = b'{"version":1,"scenarios":[]}\n'
REPORT = """
import sys
from pathlib import Path
from chaos.report.folder import ReportFolder
from chaos.results import SweepResult
folder = ReportFolder(Path(sys.argv[1]))
folder.prepare()
folder.finish(SweepResult((), 1.0, 0))
"""


def test_a_new_text_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for text in ("é" * 9, ""):
        write_whole(file, text)
        assert file.read_text(encoding="utf-8") == text
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_stays_and_leads_to_the_new_text(tmp_path: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "folder" / "file"
    file.parent.mkdir()
    link.symlink_to(file)
    write_whole(link, "text")
    assert link.is_symlink()
    assert file.read_text() == "text"


def test_a_link_that_leads_to_itself_makes_room_for_the_text(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    write_whole(link, "text")
    assert link.read_text() == "text"


def test_what_is_no_regular_file_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "text")
    assert os.read(end, 9) == b"text"
    os.close(end)


def test_a_part_is_known_by_its_name(tmp_path: Path) -> None:
    assert is_part_of(".report.json.part", "report.json")
    assert not is_part_of(".report.json.part", "report.txt")
    assert not is_part_of("report.json", "report.json")


class Writer(Notes):
    """Watches everything in the folder of a report; looks at its report.json at the death."""

    def classify(self, path: str) -> str | None:
        return "log" if Path(path).parent == self.log.parent else None


def write_report(room: Room, number: int = 0, action: Action = GO) -> Writer:
    """Into a folder that holds an older report, with `action` at a call that changes it."""
    folder = room.path / "report"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in ("report.json", "report.txt"):
        (folder / name).write_bytes(OLDER)
    notes = Writer(folder / "report.json")
    python = (sys.executable, "-c", REPORT, folder)
    room.run(*python, notes=notes, plan=kill_nth(number, action), PYTHONPATH=str(ROOT))
    return notes


def test_a_report_whose_writer_is_killed_is_whole_or_absent(tmp_path: Path) -> None:
    """The harness under its own engine: killed after every call that changes the folder of a
    report, and inside of every one that writes."""
    room = Room(tmp_path)
    undisturbed = write_report(room)
    whole, calls = undisturbed.read(), undisturbed.entered
    moved = [Path(call.new_path).name for call in calls if call.new_path]
    assert moved == [UNFINISHED, "report.txt", "report.json", "report.html"]
    found = []
    for number, call in enumerate(calls, start=1):
        for action in (*([tear(2)] if call.length else []), kill_after()):
            died = write_report(room, number, action)
            assert died.killed is not None
            found.append(died.at_death)
            ReportFolder(room.path / "report").prepare()  # it can be used again
    assert [text for text, _ in groupby(found)] == [OLDER, b"", whole]
