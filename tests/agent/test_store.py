"""The log on disk: appended whole or not at all, repaired late, owned by one."""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import new_facts
from agent.errors import SessionError
from agent.failures import SessionBusy, StoreFailure, UsageFailure
from agent.reducer import reduce_session
from agent.state import Idle, Run
from agent.store import Reserved, SessionStore

ID = "018f0000-0000-7000-8000-000000000001"
OTHER = "018f0000-0000-7000-8000-000000000002"


def header(session_id: str = ID) -> dict[str, Any]:
    return new_facts.header(
        id=session_id,
        created_at=1,
        cwd="/w",
        provider="p",
        model="m",
        environment_identity="here",
    )


def accept(store: SessionStore, prompt: str = "dö it") -> list[dict[str, Any]]:
    """Start a run: two facts in one transaction."""
    entry, operation = store.fresh_id(), store.fresh_id()
    return store.append(
        Reserved(entry, new_facts.user_message(prompt)),
        new_facts.run_started(operation_id=operation, input_entry_id=entry),
    )


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / f"2024-03-09T16-00-00-000Z_{ID}.jsonl"


@pytest.fixture(name="store")
def _store(path: Path) -> Iterator[SessionStore]:
    with SessionStore.open(path, create=True) as store:
        store.begin(header())
        yield store


def test_a_session_is_a_private_file_that_reads_as_its_state(
    store: SessionStore, path: Path
) -> None:
    facts = accept(store)
    assert [fact["seq"] for fact in facts] == [1, 2]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    data = path.read_bytes()
    assert data.count(b"\n") == 2
    assert reduce_session(data).to_json() == store.state.to_json()
    assert isinstance(store.state.operation, Run)


def test_ids_increase_over_a_restart_even_past_reserved_ones(
    store: SessionStore, path: Path
) -> None:
    facts = accept(store)
    store.close()
    with SessionStore.open(path) as again:
        assert again.fresh_id() > max(fact["id"] for fact in facts)
        assert again.fresh_id() > again.state.greatest_id


def test_one_append_is_one_write(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = record_writes(monkeypatch)
    accept(store)
    assert len(writes) == 1
    assert writes[0].endswith(b"\n")


def test_a_short_write_is_continued(
    store: SessionStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr("os.write", lambda fd, data: real(fd, data[:7]))
    accept(store)
    monkeypatch.undo()
    assert reduce_session(path.read_bytes()).to_json() == store.state.to_json()


@pytest.mark.parametrize("kept", [0, 1, 100])
def test_after_a_failed_write_nothing_is_taken_until_it_is_opened_again(
    store: SessionStore, path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    before = path.read_bytes()
    real = os.write
    answers: Iterator[Callable[[int, bytes], int]] = iter([lambda fd, data: real(fd, data[:kept])])

    def full(fd: int, data: bytes) -> int:
        answer = next(answers, None)
        if answer is None or kept == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return answer(fd, data)

    monkeypatch.setattr("os.write", full)
    with pytest.raises(StoreFailure, match="No space left on device"):
        accept(store)
    monkeypatch.undo()
    assert isinstance(store.state.operation, Idle)  # memory did not run ahead of the disk
    assert len(path.read_bytes()) == len(before) + kept
    with pytest.raises(StoreFailure, match="open it again"):
        accept(store)
    store.close()
    with SessionStore.open(path) as again:
        accept(again, "second try")
        assert path.read_bytes().startswith(before)
        assert reduce_session(path.read_bytes()).to_json() == again.state.to_json()


def test_a_refused_fact_changes_neither_disk_nor_memory(store: SessionStore, path: Path) -> None:
    accept(store)
    data, state = path.read_bytes(), store.state.to_json()
    with pytest.raises(SessionError, match="INVALID_TRANSITION"):
        accept(store, "while the first one runs")
    assert path.read_bytes() == data
    assert store.state.to_json() == state


def test_a_tail_torn_at_any_byte_is_cut_off_before_the_first_append_only(
    store: SessionStore, path: Path
) -> None:
    start = len(path.read_bytes())
    accept(store)
    whole = path.read_bytes()
    store.close()
    for cut in range(start, len(whole)):
        path.write_bytes(whole[:cut])
        with SessionStore.open(path) as again:
            assert again.is_session
            assert isinstance(again.state.operation, Idle)
            assert path.read_bytes() == whole[:cut]  # opening changes no byte
            accept(again)
            assert reduce_session(path.read_bytes()).to_json() == again.state.to_json()


def test_a_file_without_a_complete_line_is_no_session_until_it_is_begun(
    store: SessionStore, path: Path
) -> None:
    store.close()
    line = path.read_bytes()
    for cut in range(len(line)):
        path.write_bytes(line[:cut])
        with SessionStore.open(path, create=True) as again:
            assert not again.is_session
            with pytest.raises(LookupError):
                accept(again)
            assert path.read_bytes() == line[:cut]
            again.begin(header())
            assert path.read_bytes() == line


def test_a_second_writer_is_busy_until_the_first_is_done(store: SessionStore, path: Path) -> None:
    with pytest.raises(SessionBusy, match="session busy") as caught:
        SessionStore.open(path, wait_s=0.05)
    assert caught.value.owner in (os.getpid(), None)
    store.close()
    SessionStore.open(path, wait_s=0).close()


def test_two_starts_that_create_one_session_meet_in_one_file(path: Path) -> None:
    with SessionStore.open(path, create=True) as first:
        first.begin(header())
        with pytest.raises(SessionBusy):
            SessionStore.open(path, create=True, wait_s=0)


def test_what_is_no_session_file_of_ours_is_refused(store: SessionStore, path: Path) -> None:
    link = path.with_name(f"x_{ID}.jsonl")
    link.symlink_to(path)
    with pytest.raises(OSError, match="symbolic link"):
        SessionStore.open(link)
    fifo = path.with_name(f"fifo_{ID}.jsonl")
    os.mkfifo(fifo)
    with pytest.raises(UsageFailure, match="no regular file"):
        SessionStore.open(fifo)
    store.close()
    foreign = path.with_name(f"x_{OTHER}.jsonl")
    path.rename(foreign)
    with pytest.raises(SessionError, match="INVALID_HEADER at line 1"):
        SessionStore.open(foreign)


def test_a_corrupt_line_is_named_and_left_as_it_is(store: SessionStore, path: Path) -> None:
    accept(store)
    store.close()
    damaged = path.read_bytes().replace(b'"seq":2', b'"seq":3')
    path.write_bytes(damaged)
    with pytest.raises(SessionError, match="SEQ_MISMATCH at line 2, seq 3"):
        SessionStore.open(path)
    assert path.read_bytes() == damaged


def test_the_cost_of_an_append_does_not_grow(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(store)
    writes = record_writes(monkeypatch)
    reads: list[int] = []
    monkeypatch.setattr("os.pread", lambda *_: reads.append(1))
    end(store)
    assert len(writes) == 1
    assert not reads


def test_fsync_follows_every_write_and_the_directories_come_first(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    real_write, real_sync = os.write, os.fsync

    def write(fd: int, data: bytes) -> int:
        calls.append("write")
        return real_write(fd, data)

    def fsync(fd: int) -> None:
        calls.append(Path(os.readlink(f"/proc/self/fd/{fd}")).name)
        real_sync(fd)

    monkeypatch.setattr("os.write", write)
    monkeypatch.setattr("os.fsync", fsync)
    with SessionStore.open(path, create=True, durability="fsync") as store:
        store.begin(header())
        directories = [directory.name for directory in path.parents[:3]]
        assert calls == [*directories, "write", path.name]
        calls.clear()
        accept(store)
        assert calls == ["write", path.name]
    calls.clear()
    with SessionStore.open(path) as store:  # process durability, the default
        end(store)
    assert calls == ["write"]


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_what_cannot_be_synced_is_no_fact_of_this_process(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    with SessionStore.open(path, create=True, durability="fsync") as store:
        store.begin(header())

        def broken(_: int) -> None:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr("os.fsync", broken)
        with pytest.raises(StoreFailure, match=os.strerror(code)):
            accept(store)
        monkeypatch.undo()
        assert isinstance(store.state.operation, Idle)
        with pytest.raises(StoreFailure, match="open it again"):
            accept(store)
    with SessionStore.open(path, durability="fsync") as again:  # the kernel has it all the same
        assert isinstance(again.state.operation, Run)
        end(again)


def test_a_name_that_cannot_be_synced_begins_no_session(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(directory: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("agent.store.sync_directory", broken)
    with SessionStore.open(path, create=True, durability="fsync") as store:
        with pytest.raises(StoreFailure, match=f"cannot make {path.parent} durable: No space"):
            store.begin(header())
        assert path.read_bytes() == b""


def test_ids_increase_though_the_clock_steps_back_an_hour(
    store: SessionStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time_ns
    hour = 3_600_000_000_000
    accept(store)
    monkeypatch.setattr("time.time_ns", lambda: real() - hour)
    end(store)
    reserved = accept(store)[1]["record"]["operationId"]
    store.close()
    monkeypatch.setattr("time.time_ns", lambda: real() - 2 * hour)
    with SessionStore.open(path) as again:
        end(again)
        assert again.fresh_id() > reserved
    facts = [json.loads(line) for line in path.read_bytes().splitlines()]
    ids = [f["id"] for line in facts for f in (line if isinstance(line, list) else [line])]
    assert len(ids) == 7
    assert ids == sorted(set(ids))


def end(store: SessionStore) -> None:
    """Finish the run that is going on."""
    run = store.state.operation
    assert isinstance(run, Run)
    store.append(
        new_facts.operation_finished(
            operation_id=run.operation_id,
            operation_kind="run",
            outcome="failed",
            error={"code": "c", "message": "m"},
        )
    )


def record_writes(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    writes: list[bytes] = []
    real = os.write

    def write(fd: int, data: bytes) -> int:
        writes.append(bytes(data))
        return real(fd, data)

    monkeypatch.setattr("os.write", write)
    return writes
