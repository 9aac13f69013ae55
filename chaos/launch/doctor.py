"""Does the kill engine work on this machine, and if not, what to do about it?

`probe` tries the real thing in its own process: seize a child and tear a 6-byte write to 2. A
failed check names the cure; checks that depend on a failed one are still made and may fail too.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from chaos.errors import ChaosError
from chaos.launch import proc
from chaos.launch.model import GO, Action, Bystander, Call, Command, KillAt, Strike
from chaos.launch.spawn import supported
from chaos.launch.tracer import trace

_PYTHON = (3, 11)
_KERNEL = (4, 8)  # from here on a filter's stop comes after the entry, and its changes count
_PSUTIL = (6, 0)
_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold. `cure` is empty where it does."""

    name: str
    ok: bool
    detail: str
    cure: str = ""


def probe() -> list[Check]:
    """All checks, in the order in which a reader should fix them."""
    return [check() for check in _CHECKS]


def _check(name: str, ok: bool, detail: str, cure: str) -> Check:
    return Check(name, ok, detail, "" if ok else cure)


def _platform() -> Check:
    detail = f"{platform.system()} {platform.release()} on {platform.machine()}"
    try:
        supported()
    except ChaosError as error:
        return Check("platform", False, detail, str(error))
    wanted = ".".join(map(str, _KERNEL))
    found = _numbers(platform.release())
    return _check("platform", found >= _KERNEL, detail, f"use a Linux kernel of {wanted} or later")


def _python() -> Check:
    wanted = ".".join(map(str, _PYTHON))
    cure = f"use Python {wanted} or later"
    return _check("python", sys.version_info >= _PYTHON, platform.python_version(), cure)


def _psutil() -> Check:
    cure = f"pip install 'psutil>={_PSUTIL[0]}.{_PSUTIL[1]}'"
    try:
        found = version("psutil")
    except PackageNotFoundError:
        return Check("psutil", False, "not installed", cure)
    return _check("psutil", _numbers(found) >= _PSUTIL, found, cure)


def _untraced() -> Check:
    tracer = proc.status(os.getpid(), "TracerPid") or "0"
    name = " ".join(proc.argv(int(tracer))) if tracer != "0" else ""
    detail = f"traced by process {tracer} ({name})" if name else "this process is not traced"
    return _check("untraced", tracer == "0", detail, "run chaos outside of strace or a debugger")


def _seccomp() -> Check:
    known = proc.status(os.getpid(), "Seccomp")
    modes = {"0": "available", "2": "available (this process has a filter already)"}
    cure = "use a kernel with CONFIG_SECCOMP_FILTER, or a container that does not hide it"
    return _check("seccomp", known in modes, modes.get(known or "", "missing"), cure)


def _tear() -> Check:
    """The engine itself, end to end."""
    name, wanted = "kill", b"ab"
    with tempfile.TemporaryDirectory(prefix="killpoint-doctor-") as room:
        log, stream = Path(room, "log"), str(Path(room, "stream"))
        command = Command(
            argv=("sh", "-c", 'printf abcdef >> "$0"', str(log)),
            env={"PATH": os.environ.get("PATH", os.defpath)},
            cwd=room,
            stdout=stream,
            stderr=stream,
        )
        probe_ = _Probe(log)
        try:
            outcome = trace(command, probe_, limit_s=_LIMIT_S, grace_s=1.0)
        except ChaosError as error:
            return Check(name, False, "cannot seize a child", str(error))
        ok = probe_.found == wanted and outcome.wait_status == 9
        detail = (
            f"a write of 6 bytes torn to 2 left {probe_.found!r}, wait status {outcome.wait_status}"
        )
        cure = (
            "expected b'ab' and 9: this kernel does not stop or change calls as Linux does "
            "(gVisor, emulation?); run chaos on Linux itself or in a virtual machine"
        )
        return _check(name, ok, detail, cure)


class _Probe(Bystander):
    """Tears the one write on `log` to 2 bytes and reads what is there."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.found: bytes | None = None

    def classify(self, path: str) -> str | None:
        return "log" if path == os.path.realpath(self._log) else None

    def entering(self, call: Call) -> Action:
        return Action(keep=2, strike=Strike(KillAt.EXIT)) if call.length == 6 else GO

    def dead(self, *_: object) -> None:
        """Nothing has run since."""
        self.found = self._log.read_bytes()


def _numbers(text: str) -> tuple[int, ...]:
    """The leading numbers of a version."""
    parts = text.replace("-", ".").split(".")[:2]
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in parts)


_CHECKS: tuple[Callable[[], Check], ...] = (
    _platform,
    _python,
    _psutil,
    _untraced,
    _seccomp,
    _tear,
)
