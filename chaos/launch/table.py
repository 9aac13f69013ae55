"""The system calls that the kernel stops the target at: numbers, arguments, registers.

Pure data, a row each. A row says where a call keeps its file, its bytes and its sizes, by argument
index, so that decoding and tearing need no code per call. Everything that is not in `ROWS` runs
at full speed.

io_uring is refused: calls made through it would pass by unseen. Programs know this answer from old
kernels and from containers, and make plain calls instead.

Does not cover: changes through a mapping (detected only), ioctl(FICLONE), a rename of
a directory that holds watched files, mprotect of a shared mapping to writable.

Source: design section 2; system call numbers from the kernel's unistd tables.
"""

from __future__ import annotations

import errno
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Alarm(Enum):
    """Rows that are not calls to decide about but signs that something passes by the engine."""

    MAPPING = "mmap"
    TRACER = "ptrace"


@dataclass(frozen=True, slots=True)
class ArgTest:
    """Stop only where `args[index] & mask == value` (low 32 bits)."""

    index: int
    mask: int
    value: int


@dataclass(frozen=True, slots=True)
class Row:
    """One system call. Fields other than the first three are argument indices."""

    name: str
    x86_64: int | None
    aarch64: int | None
    fd: int | None = None
    dirfd: int | None = None
    path: int | None = None
    new_dirfd: int | None = None
    new_path: int | None = None
    buffer: int | None = None
    vector: int | None = None  # of struct iovec; `length` is then their count
    length: int | None = None
    offset: int | None = None  # absent or -1: the file position
    offset_at: int | None = None  # pointer to an offset; NULL: the file position
    size: int | None = None
    removes: bool = False  # `path` loses its file
    opens: bool = False  # truncates to 0, if it exists
    when: tuple[ArgTest, ...] = ()  # all must hold
    alarm: Alarm | None = None
    refused: int = 0  # the errno that it returns; the target is not stopped


_O_TRUNC = 0o1000
_SHARED_WRITABLE_FILE = (
    ArgTest(2, 0x2, 0x2),  # PROT_WRITE
    ArgTest(3, 0x21, 0x1),  # MAP_SHARED (or MAP_SHARED_VALIDATE), not MAP_ANONYMOUS
)


def _truncating(flags: int) -> tuple[ArgTest, ...]:
    return (ArgTest(flags, _O_TRUNC, _O_TRUNC),)


ROWS: tuple[Row, ...] = (
    Row("write", 1, 64, fd=0, buffer=1, length=2),
    Row("pwrite64", 18, 68, fd=0, buffer=1, length=2, offset=3),
    Row("writev", 20, 66, fd=0, vector=1, length=2),
    Row("pwritev", 296, 70, fd=0, vector=1, length=2, offset=3),
    Row("pwritev2", 328, 287, fd=0, vector=1, length=2, offset=3),
    Row("sendfile", 40, 71, fd=0, length=3),
    Row("copy_file_range", 326, 285, fd=2, length=4, offset_at=3),
    Row("splice", 275, 76, fd=2, length=4, offset_at=3),
    Row("fallocate", 285, 47, fd=0, offset=2),
    Row("fsync", 74, 82, fd=0),
    Row("fdatasync", 75, 83, fd=0),
    Row("ftruncate", 77, 46, fd=0, size=1),
    Row("truncate", 76, 45, path=0, size=1),
    Row("creat", 85, None, path=0, opens=True),
    Row("open", 2, None, path=0, opens=True, when=_truncating(1)),
    Row("openat", 257, 56, dirfd=0, path=1, opens=True, when=_truncating(2)),
    Row("rename", 82, None, path=0, new_path=1),
    Row("renameat", 264, 38, dirfd=0, path=1, new_dirfd=2, new_path=3),
    Row("renameat2", 316, 276, dirfd=0, path=1, new_dirfd=2, new_path=3),
    Row("unlink", 87, None, path=0, removes=True),
    Row("unlinkat", 263, 35, dirfd=0, path=1, removes=True),
    Row("link", 86, None, path=0, new_path=1),
    Row("linkat", 265, 37, dirfd=0, path=1, new_dirfd=2, new_path=3),
    Row("mmap", 9, 222, fd=4, when=_SHARED_WRITABLE_FILE, alarm=Alarm.MAPPING),
    Row("io_uring_setup", 425, 425, refused=errno.ENOSYS),
    Row("ptrace", 101, 117, alarm=Alarm.TRACER),
)


@dataclass(frozen=True, slots=True)
class Arch:
    """One processor: the layout of its general registers as 64-bit words (NT_PRSTATUS)."""

    name: str
    audit: int  # AUDIT_ARCH_*: what seccomp sees of a native call
    words: int
    args: tuple[int, ...]
    number: int
    result: int
    pointer: int  # of instructions
    repeated: int  # where the call instruction takes the number from when it is run again
    call_bytes: int  # length of that instruction
    number_regset: int | None  # where the call number is changed, if not in `number`
    foreign_bit: int  # set in the number of calls of a second ABI (x32); 0: none

    def rows(self) -> Mapping[int, Row]:
        """The table by call number."""
        numbered = ((getattr(row, self.name), row) for row in ROWS)
        return {number: row for number, row in numbered if number is not None}


ARCHES: Mapping[str, Arch] = {
    "x86_64": Arch(
        name="x86_64",
        audit=0xC000003E,
        words=27,
        args=(14, 13, 12, 7, 9, 8),  # rdi rsi rdx r10 r8 r9
        number=15,  # orig_rax
        result=10,  # rax
        pointer=16,  # rip
        repeated=10,  # rax
        call_bytes=2,
        number_regset=None,
        foreign_bit=0x4000_0000,
    ),
    "aarch64": Arch(
        name="aarch64",
        audit=0xC00000B7,
        words=34,
        args=(0, 1, 2, 3, 4, 5),
        number=8,  # x8
        result=0,  # x0
        pointer=32,  # pc
        repeated=8,  # x8
        call_bytes=4,
        number_regset=0x404,  # NT_ARM_SYSTEM_CALL
        foreign_bit=0,
    ),
}


def native() -> Arch | None:
    """This machine's row; None where the engine does not know the processor."""
    return ARCHES.get(platform.machine())
