"""A watched file is found under every name, by every call that changes it or its name."""

from __future__ import annotations

import errno

import pytest

from chaos.launch.files import Files

from .support import PYTHON, Notes, Room

PRELUDE = """
import os
log = os.environ["LOG"]
def make(path, text=b"old"):
    with open(path, "wb", buffering=0) as file: file.write(text)
"""


def calls(room: Room, script: str) -> list[tuple[str, str, str | None, int | None, int | None]]:
    """name, path and new path (below the room), size, result of each watched call."""
    notes, outcome = room.run(*PYTHON, "-c", PRELUDE + script)
    assert outcome.wait_status == 0, room.stderr
    return [
        (call.name, short(room, call.path), short(room, call.new_path), call.size, call.returned)
        for call in notes.returned
        if call.data != b"old"
    ]


def short(room: Room, path: str | None) -> str:
    return path.removeprefix(f"{room.path}/") if path is not None else ""


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("os.rename(log, 'b')", ("rename", "session.log", "b", None, 0)),
        ("os.unlink(log)", ("unlink", "session.log", "", None, 0)),
        ("os.truncate(log, 1)", ("truncate", "session.log", "", 1, 0)),
        ("os.ftruncate(os.open(log, os.O_RDWR), 2)", ("ftruncate", "session.log", "", 2, 0)),
        ("os.fsync(os.open(log, os.O_RDONLY))", ("fsync", "session.log", "", None, 0)),
        ("os.fdatasync(os.open(log, os.O_RDONLY))", ("fdatasync", "session.log", "", None, 0)),
        ("os.open(log, os.O_WRONLY | os.O_TRUNC)", ("openat", "session.log", "", 0, 3)),
        ("os.link(log, 'b')", ("link", "session.log", "b", None, 0)),
        (
            "os.posix_fallocate(os.open(log, os.O_RDWR), 0, 9)",
            ("fallocate", "session.log", "", None, 0),
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_calls_that_carry_no_bytes(
    room: Room, script: str, wanted: tuple[str, str, str | None, int | None, int | None]
) -> None:
    assert calls(room, "make(log)\n" + script) == [wanted]


def test_a_file_that_takes_the_watched_name_is_watched(room: Room) -> None:
    assert calls(room, "make('temporary'); os.replace('temporary', log)") == [
        ("rename", "temporary", "session.log", None, 0)
    ]


def test_a_watched_file_stays_watched_under_another_name(room: Room) -> None:
    script = """
make(log)
fd = os.open(log, os.O_WRONLY | os.O_APPEND)
os.rename(log, "elsewhere")
os.write(fd, b"more")
os.write(os.open("elsewhere", os.O_WRONLY), b"over")
"""
    assert [(name, path) for name, path, *_ in calls(room, script)] == [
        ("rename", "session.log"),
        ("write", "elsewhere"),
        ("write", "elsewhere"),
    ]


@pytest.mark.parametrize(
    "removal", ["os.unlink(log)", "make('other'); os.replace('other', log); os.unlink(log)"]
)
def test_an_inode_that_serves_another_file_is_not_mistaken(room: Room, removal: str) -> None:
    """ext4 gives a freed inode to the next file at once."""
    script = f"make(log)\n{removal}\nfor n in range(20): make(f'new{{n}}', b'new')"
    assert [call for call in calls(room, script) if call[0] == "write"] == []


def test_a_file_without_a_name_is_not_durable_and_not_watched(room: Room) -> None:
    script = "make(log); fd = os.open(log, os.O_WRONLY); os.unlink(log); os.write(fd, b'lost')"
    assert [name for name, *_ in calls(room, script)] == ["unlink"]


@pytest.mark.parametrize(
    "script",
    [
        "os.rename('missing', log)",
        "os.unlink('missing')",
        "os.write(99, b'x')",
        "os.truncate('.', 0)",
    ],
)
def test_a_call_that_must_fail_is_left_alone(room: Room, script: str) -> None:
    assert calls(room, f"try: {script}\nexcept OSError: pass") == []


def test_bad_addresses_are_for_the_kernel_to_refuse(room: Room) -> None:
    script = """
import ctypes
libc = ctypes.CDLL(None)
make(log)
fd = os.open(log, os.O_WRONLY)
results = [libc.write(fd, ctypes.c_void_p(8), 4), libc.rename(ctypes.c_void_p(8), b"b"),
           libc.writev(fd, ctypes.c_void_p(8), 1), libc.writev(fd, ctypes.c_void_p(8), 5000)]
assert results == [-1, -1, -1, -1]
"""
    assert {result for *_, result in calls(room, script)} == {-errno.EFAULT, -errno.EINVAL}


def test_links_and_directories_on_the_way_do_not_matter(room: Room) -> None:
    (room.path / "way").symlink_to(room.path)
    script = """
make("way/session.log")
os.chdir("/")
directory = os.open(os.path.dirname(log), os.O_RDONLY)
os.rename("session.log", "b", src_dir_fd=directory, dst_dir_fd=directory)
os.rename("way/b", "way/../" + os.path.basename(os.path.dirname(log)) + "/session.log",
          src_dir_fd=directory, dst_dir_fd=directory)
os.unlink("session.log", dir_fd=directory)
"""
    assert [call[:3] for call in calls(room, script)] == [
        ("renameat", "session.log", "b"),
        ("renameat", "b", "session.log"),
        ("unlinkat", "session.log", ""),
    ]


def test_copies_by_the_kernel_are_seen_with_their_length(room: Room) -> None:
    script = """
make("source", b"source")
source, target = os.open("source", os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT)
os.copy_file_range(source, target, 4, 0, 2)
os.sendfile(target, source, 0, 6)
"""
    notes, _ = room.run(*PYTHON, "-c", PRELUDE + script)
    facts = [(c.name, c.offset, c.length, c.data, c.returned) for c in notes.returned]
    assert facts == [("copy_file_range", 2, 4, b"", 4), ("sendfile", 0, 6, b"", 6)]


@pytest.mark.parametrize(
    ("flags", "offsets"), [("os.O_APPEND", [6, 9]), ("0", [0, 3])], ids=["append", "plain"]
)
def test_the_offset_is_where_the_bytes_go(room: Room, flags: str, offsets: list[int]) -> None:
    script = f"""
make(log, b"before")
fd = os.open(log, os.O_WRONLY | {flags})
os.write(fd, b"one"); os.write(fd, b"two")
"""
    notes, _ = room.run(*PYTHON, "-c", PRELUDE + script)
    assert [call.offset for call in notes.returned[1:]] == offsets


def test_nothing_but_regular_files_is_asked_about(room: Room) -> None:
    asked: list[str] = []

    class Asked(Notes):
        def classify(self, path: str) -> str | None:
            asked.append(path)
            return None

    script = "echo > /dev/null | cat; echo text; mkfifo f; cat f & echo > f; echo x > file"
    room.run(*room.shell(script), notes=Asked(room.log))
    assert sorted(asked) == sorted(str(room.path / name) for name in ("file", "stdout"))


def test_a_tool_in_another_mount_namespace_writes_the_same_file(room: Room) -> None:
    """It sees the log at another path; the inode tells."""
    script = """
echo one >> "$LOG"
unshare --mount sh -c 'mkdir -p m && mount --bind . m && cd m && echo two >> session.log'
"""
    notes, _ = room.run(*room.shell(script))
    if "unshare" in room.stderr or "mount" in room.stderr:
        pytest.skip(f"needs the right to mount: {room.stderr}")
    assert [call.data for call in notes.returned] == [b"one\n", b"two\n"]


def test_a_process_that_forbids_looking_at_it_is_told_as_unseen(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may always look, so the refusal is played."""

    def refuse(files: Files, tid: int, fd: int) -> None:
        raise PermissionError

    monkeypatch.setattr(Files, "of_descriptor", refuse)
    _, outcome = room.run(*room.shell('echo line >> "$LOG"'))
    [text] = outcome.unseen
    assert text.startswith("write of a process that forbids looking at it")
    assert room.log.read_bytes() == b"line\n"
