"""The filter stops at exactly the calls of the table; here its instructions are interpreted."""

from __future__ import annotations

import struct

import pytest

from chaos.launch.filter import assemble
from chaos.launch.table import ARCHES, ROWS, Arch

ALLOW = "allow"
STOP = "stop"
FOREIGN = "foreign"
REFUSE = "refuse"
_RESULTS = {0x7FFF0000: ALLOW, 0x7FF00000: STOP, 0x7FF00001: FOREIGN, 0x00050026: REFUSE}

arches = pytest.mark.parametrize("arch", ARCHES.values(), ids=ARCHES.keys())


def verdict(arch: Arch, number: int, *args: int, audit: int | None = None) -> str:
    """Run the filter on one call, as the kernel does."""
    padded = (*args, *[0] * (6 - len(args)))
    data = struct.pack("=iIQ6Q", number, audit or arch.audit, 0, *padded)
    program = list(struct.iter_unpack("=HBBI", assemble(arch)))
    accumulator = at = 0
    while True:
        code, true, false, k = program[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, k)
            case 0x54:
                accumulator &= k
            case 0x15:
                at += true if accumulator == k else false
            case 0x35:
                at += true if accumulator >= k else false
            case 0x06:
                return _RESULTS[k]
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


@arches
def test_every_call_of_the_table_stops_and_no_other(arch: Arch) -> None:
    always = {number for number, row in arch.rows().items() if not row.when}
    refused = {number for number, row in arch.rows().items() if row.refused}
    sometimes = {number for number, row in arch.rows().items() if row.when}
    for number in range(500):
        wanted = REFUSE if number in refused else STOP if number in always else ALLOW
        assert verdict(arch, number) == wanted, number
    assert all(verdict(arch, number, *[2**64 - 1] * 6) != FOREIGN for number in sometimes)


@arches
def test_an_open_stops_only_if_it_truncates(arch: Arch) -> None:
    [openat] = [number for number, row in arch.rows().items() if row.name == "openat"]
    flags = {0o1: ALLOW, 0o101: ALLOW, 0o2101: ALLOW, 0o1101: STOP, 0o2001101: STOP}
    assert {flag: verdict(arch, openat, 0, 0, flag) for flag in flags} == flags


@arches
@pytest.mark.parametrize(
    ("protection", "flags", "wanted"),
    [
        (0x1, 0x1, ALLOW),  # read-only
        (0x3, 0x1, STOP),  # read and write, shared
        (0x2, 0x3, STOP),  # MAP_SHARED_VALIDATE
        (0x3, 0x2, ALLOW),  # private
        (0x3, 0x21, ALLOW),  # anonymous
    ],
)
def test_a_mapping_stops_only_if_it_can_change_a_file(
    arch: Arch, protection: int, flags: int, wanted: str
) -> None:
    [mmap] = [number for number, row in arch.rows().items() if row.name == "mmap"]
    assert verdict(arch, mmap, 0, 4096, protection, flags) == wanted


@arches
def test_a_call_that_the_engine_cannot_read_is_marked(arch: Arch) -> None:
    i386 = 0x40000003
    assert verdict(arch, 4, audit=i386) == FOREIGN
    if arch.foreign_bit:
        assert verdict(arch, arch.foreign_bit | 1) == FOREIGN


def test_names_are_the_numbers_of_this_kernel() -> None:
    """Against the header that the machine's own compiler uses."""
    header = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
    try:
        with open(header) as file:
            words = [line.split() for line in file if line.startswith("#define __NR_")]
    except FileNotFoundError:
        pytest.skip(f"needs {header}")
    numbers = {name.removeprefix("__NR_"): int(number) for _, name, number in words}
    assert {row.name: row.x86_64 for row in ROWS} == {row.name: numbers[row.name] for row in ROWS}
