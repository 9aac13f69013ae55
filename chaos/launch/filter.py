"""The seccomp filter: which system calls of the target the kernel hands to the tracer.

Pure. `assemble` turns the table of calls into a classic BPF program, as the bytes of an array of
`struct sock_filter`. A call in the table gives SECCOMP_RET_TRACE with data NATIVE, a call of a
foreign architecture or ABI with data FOREIGN (the engine cannot read it and says so); one that is
refused returns its errno; the rest is allowed.

Source: seccomp(2), linux/filter.h.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from chaos.launch.table import Arch, Row

NATIVE = 0
FOREIGN = 1

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06  # BPF_LD|W|ABS, BPF_ALU|AND|K, BPF_RET|K
_JEQ, _JGE = 0x15, 0x35  # BPF_JMP|JEQ|K, BPF_JMP|JGE|K
_ALLOW, _TRACE, _ERRNO = 0x7FFF0000, 0x7FF00000, 0x00050000
_NUMBER, _ARCH, _ARGS = 0, 4, 16  # offsets in struct seccomp_data

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, k


@lru_cache
def assemble(arch: Arch) -> bytes:
    """The filter for all rows of the table that this architecture has."""
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, arch.audit),
        (_RETURN, 0, 0, _TRACE | FOREIGN),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if arch.foreign_bit:
        program += [(_JGE, 0, 1, arch.foreign_bit), (_RETURN, 0, 0, _TRACE | FOREIGN)]
    for number, row in arch.rows().items():
        body = _row(row)
        program += [(_JEQ, 0, len(body), number), *body]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _row(row: Row) -> list[Instruction]:
    """What follows once the number matched: ends in a return."""
    if row.refused:
        return [(_RETURN, 0, 0, _ERRNO | row.refused)]
    body: list[Instruction] = []
    for test in row.when:
        # Little-endian: the low half of a 64-bit argument comes first.
        body += [
            (_LOAD, 0, 0, _ARGS + 8 * test.index),
            (_AND, 0, 0, test.mask),
            (_JEQ, 1, 0, test.value),
            (_RETURN, 0, 0, _ALLOW),
        ]
    return [*body, (_RETURN, 0, 0, _TRACE | NATIVE)]
