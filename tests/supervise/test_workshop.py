"""The run's directory goes with the run, however that ends."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from chaos.errors import HarnessError
from chaos.supervise.workshop import ALIVE, hold, workshop

_HOLDER = """
import sys
from chaos.supervise.workshop import workshop
with workshop() as root:
    (root / "deep").mkdir()
    (root / "deep" / "file").write_text("x")
    print(root, flush=True)
    sys.stdin.read()
"""


def test_an_orderly_exit_removes_it_and_its_janitor(tmp_path: Path) -> None:
    with workshop() as root:
        assert root.is_dir()
        assert len(psutil.Process().children()) == 1
    assert not root.exists()
    assert psutil.Process().children() == []


def test_sigkill_of_the_supervisor_removes_it() -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    root = Path(holder.stdout.readline().strip())
    assert (root / "deep" / "file").exists()
    janitors = psutil.Process(holder.pid).children()
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    assert gone_within_5_s(root)
    _, alive = psutil.wait_procs(janitors, timeout=5)
    assert alive == []


def test_what_a_dying_target_makes_anew_is_removed_too() -> None:
    """A target has the directory in its environment. It is one step behind its dead lane."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    root = Path(holder.stdout.readline().strip())
    target = subprocess.Popen(
        ["sh", "-c", 'read line; mkdir -p "$HOME"; exec sleep 0'],
        env={"PATH": os.environ["PATH"], "HOME": str(root / "lane" / "home")},
        stdin=subprocess.PIPE,
    )
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    assert gone_within_5_s(root)
    target.communicate(b"\n")
    assert target.returncode == 0
    assert gone_within_5_s(root)


def test_sigkill_of_a_supervisor_that_has_just_begun_removes_it() -> None:
    """Before it holds the lock: the janitor is there before the directory."""
    script = """
import os, signal
from chaos.supervise import workshop
def hold(root):
    print(root, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
workshop.hold = hold
with workshop.workshop(): pass
"""
    python = (sys.executable, "-c", script)
    died = subprocess.run(python, check=False, stdout=subprocess.PIPE, text=True)
    assert died.returncode == -signal.SIGKILL
    assert gone_within_5_s(Path(died.stdout.strip()))


def test_sigkill_of_a_supervisor_whose_janitor_has_just_begun_removes_it() -> None:
    """Before anybody hears that the directory was made."""
    script = """
import os, signal, subprocess
from chaos.supervise import workshop
begin = subprocess.Popen
def popen(argv, **options):
    print(argv[-1], begin(argv, **options).pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
workshop.subprocess.Popen = popen
with workshop.workshop(): pass
"""
    python = (sys.executable, "-c", script)
    died = subprocess.run(python, check=False, stdout=subprocess.PIPE, text=True)
    assert died.returncode == -signal.SIGKILL
    root, janitor = died.stdout.split()
    if psutil.pid_exists(int(janitor)):
        psutil.wait_procs([psutil.Process(int(janitor))], timeout=5)
    assert not Path(root).exists()


def test_a_fork_of_the_supervisor_leaves_it_alone() -> None:
    script = """
import os, sys
from chaos.supervise.workshop import workshop
with workshop() as root:
    if os.fork() == 0:
        sys.exit()
    os.wait()
    print(root.is_dir(), root)
"""
    told = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert told[0] == "True"
    assert not Path(told[1]).exists()


def test_a_directory_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with (
        pytest.raises(HarnessError, match=r"cannot make .*gone.*No such file .*TMPDIR"),
        workshop(),
    ):
        pass


@pytest.mark.parametrize(
    ("named", "free", "flag", "place"),
    [
        (None, 1 << 40, 0, "/dev/shm"),
        ("/tmp", 1 << 40, 0, "/tmp"),  # who names a directory gets it
        (None, 0, 0, "/tmp"),
        (None, 1 << 40, os.ST_NOEXEC, "/tmp"),
    ],
)
def test_it_is_in_memory_where_there_is_room_and_nobody_names_another_place(
    named: str | None, free: int, flag: int, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    monkeypatch.delenv("TMPDIR", raising=False)
    if named:
        monkeypatch.setenv("TMPDIR", named)
    size = SimpleNamespace(f_bavail=free, f_frsize=1, f_flag=flag)
    monkeypatch.setattr(os, "statvfs", lambda _: size)
    with workshop() as root:
        assert str(root.parent) == place


def test_who_comes_after_the_janitor_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lane that starts as its supervisor dies: it waits for the lock of a janitor, who removes
    what it is a lock of."""
    (tmp_path / ALIVE).touch()
    opened = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(fcntl, "flock", lambda *_: (tmp_path / ALIVE).unlink())
    with pytest.raises(FileNotFoundError, match=ALIVE):
        hold(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == opened


def test_nothing_is_left_where_no_janitor_can_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    opened = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError), workshop():
        pass
    assert list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == opened  # the lock is let go, too


@retry(
    stop=stop_after_delay(5),
    wait=wait_fixed(0.01),
    retry=retry_if_result(lambda gone: not gone),
    retry_error_callback=lambda _: False,
)
def gone_within_5_s(path: Path) -> bool:
    return not path.exists()
