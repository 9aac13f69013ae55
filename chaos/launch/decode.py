"""From the registers of a thread at a call's entry to a `Call`, and back: making the call smaller.

`decode` reads only; `Edit` changes one call of one stopped thread and undoes what the target could
notice. Which argument means what stands in the table.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import accumulate

from chaos.errors import UsageError
from chaos.launch.files import Files, Found, Inode, position
from chaos.launch.model import Action, Call
from chaos.launch.proc import read_memory, read_path, write_memory
from chaos.launch.ptrace import Registers
from chaos.launch.table import Row

CAPTURE_LIMIT_BYTES = 64 * 1024 * 1024
_MAX_RW_COUNT = 0x7FFF_F000  # more bytes than this one call never moves
_MAX_VECTORS = 1024
_IOVEC = struct.Struct("=QQ")


@dataclass(frozen=True, slots=True)
class Watched:
    """A call on a watched file, and the inodes that lose their last name if it succeeds."""

    call: Call
    doomed: tuple[Inode, ...]


def decode(row: Row, registers: Registers, pid: int, tid: int, files: Files) -> Watched | None:
    """What the thread is about to do; None where no watched file is concerned, or none any more:
    the process has gone, or another thread of it closed the file just now."""
    try:
        if row.path is not None:
            return _on_path(row, registers, pid, tid, files)
        return _on_descriptor(row, registers, pid, tid, files)
    except (FileNotFoundError, ProcessLookupError):
        return None


def _on_descriptor(
    row: Row, registers: Registers, pid: int, tid: int, files: Files
) -> Watched | None:
    assert row.fd is not None  # noqa: S101 - a row has a path or a descriptor
    fd = registers.arg_int(row.fd)
    found = files.of_descriptor(tid, fd)
    if found is None or found.label is None:
        return None
    call = Call(pid, tid, row.name, found.label, found.path, fd)
    if row.size is not None:
        call.size = registers.arg_long(row.size)
    call.offset = _offset(row, registers, tid, fd, found)
    if row.length is not None:
        _measure(row, registers, tid, call)
    return Watched(call, ())


def _offset(row: Row, registers: Registers, tid: int, fd: int, found: Found) -> int:
    if row.offset is not None and (given := registers.arg_long(row.offset)) != -1:
        return given
    if row.offset_at is not None and (address := registers.arg(row.offset_at)):
        return int.from_bytes(read_memory(tid, address, 8), "little", signed=True)
    return -1 if row.length is None else position(tid, fd, found.size)


def _measure(row: Row, registers: Registers, tid: int, call: Call) -> None:
    """Fill in how much is to be written, and the bytes themselves."""
    assert row.length is not None  # noqa: S101 - asked for by the caller
    count = registers.arg(row.length)
    if row.vector is None:
        call.length = min(count, _MAX_RW_COUNT)
        parts = [(registers.arg(row.buffer), call.length)] if row.buffer is not None else []
    else:
        parts = _vectors(tid, registers.arg(row.vector), count)
        call.length = min(sum(size for _, size in parts), _MAX_RW_COUNT)
    room = CAPTURE_LIMIT_BYTES
    for address, size in parts:
        call.data += read_memory(tid, address, min(size, room))
        room -= min(size, room)


def _vectors(tid: int, address: int, count: int) -> list[tuple[int, int]]:
    """(address, size) of each vector; none where the kernel will refuse the call."""
    if count > _MAX_VECTORS:
        return []
    raw = read_memory(tid, address, count * _IOVEC.size)
    return list(_IOVEC.iter_unpack(raw[: len(raw) // _IOVEC.size * _IOVEC.size]))


def _on_path(row: Row, registers: Registers, pid: int, tid: int, files: Files) -> Watched | None:
    path, dirfd = _path(registers, tid, row.path, row.dirfd)
    if path is None:
        return None
    follow = row.size is not None or row.opens
    old = files.of_path(tid, dirfd, path, follow=follow)
    if old is None or (row.opens and old.size == 0):
        return None  # nothing there, nothing to lose
    label = old.label
    doomed = (old,) if row.removes else ()
    call = Call(pid, tid, row.name, "", old.path)
    target, new_dirfd = _path(registers, tid, row.new_path, row.new_dirfd)
    if target is not None:
        call.new_path = files.new_name(tid, new_dirfd, target)
        replaced = files.of_path(tid, new_dirfd, target, follow=False)
        label = files.label(call.new_path) or (replaced and replaced.label) or label
        doomed = (replaced,) if replaced and replaced.inode != old.inode else ()
    if label is None:
        return None
    call.label = label
    if follow:
        call.size = registers.arg_long(row.size) if row.size is not None else 0
    return Watched(call, tuple(found.inode for found in doomed if found.last_name))


def _path(
    registers: Registers, tid: int, path: int | None, dirfd: int | None
) -> tuple[str | None, int]:
    """A path argument and the directory it starts from; None where the row has none, or the
    address is bad (the kernel will refuse the call)."""
    text = None if path is None else read_path(tid, registers.arg(path))
    return text, -100 if dirfd is None else registers.arg_int(dirfd)


class Edit:
    """A call made smaller, or skipped, in the registers and memory of its thread."""

    def __init__(self, row: Row, registers: Registers, call: Call, action: Action) -> None:
        self._tid, self._errno = call.tid, action.errno
        self._args: dict[int, int] = {}  # argument index -> original value
        self._memory: tuple[int, bytes] | None = None
        if action.errno:
            registers.skip_call()
        elif action.keep is not None:
            self._shorten(row, registers, call, action.keep)

    def _shorten(self, row: Row, registers: Registers, call: Call, keep: int) -> None:
        if row.length is None or not 0 < keep < call.length:
            raise UsageError(
                f"cannot let {keep} bytes of {call.name} happen: it has "
                f"{call.length} bytes to write; choose a count between 1 and {call.length - 1}"
            )
        length = registers.arg(row.length)
        self._args[row.length] = length
        if row.vector is None:
            registers.set_arg(row.length, keep)
            return
        address = registers.arg(row.vector)
        ends = list(accumulate(size for _, size in _vectors(self._tid, address, length)))
        last = next(index for index, end in enumerate(ends) if end >= keep)
        size_at = address + last * _IOVEC.size + 8
        self._memory = (size_at, read_memory(self._tid, size_at, 8))
        rest = keep - (ends[last - 1] if last else 0)
        write_memory(self._tid, size_at, rest.to_bytes(8, "little"))
        registers.set_arg(row.length, last + 1)

    def undo(self, registers: Registers) -> None:
        """At the exit stop: the target finds its registers and memory as a kernel leaves them."""
        if self._errno:
            registers.set_result(-self._errno)
        for index, value in self._args.items():
            registers.set_arg(index, value)
        if self._memory is not None:
            write_memory(self._tid, *self._memory)
