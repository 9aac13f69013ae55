"""A person at a terminal: a real agent on a pseudo-terminal, keys pressed, the screen read."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agent.support import SECRET, ModelServer

ROOT = Path(__file__).parents[2]
BOUND_S = 30
CTRL_C, CTRL_D, ESC, ENTER = b"\x03", b"\x04", b"\x1b", b"\r"
# What a terminal is told beside text: colours, cursor movements, titles, modes.
_CONTROLS = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>78]|\x1b\][^\x07]*\x07|\x07")


# Makes the terminal on standard input the one whose Ctrl-C is a signal, then is the program.
_IN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


class Person:
    """Sits at a terminal in which the agent runs: `chat`, or the command given first."""

    def __init__(self, workspace: Path, base_url: str, *arguments: str, **env: str) -> None:
        self.workspace = workspace
        command = arguments if arguments[:1] == ("run",) else ("chat", *arguments)
        self._shown = b""
        self._read = 0  # so much of it was looked at
        self._keyboard, device = os.openpty()
        termios.tcsetwinsize(device, (24, 80))
        self.attributes = termios.tcgetattr(device)
        self._device = device

        self.agent = subprocess.Popen(
            [sys.executable, "-c", _IN_TERMINAL, sys.executable, "-m", "agent", *command],
            cwd=workspace,
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith("AGENT_")},
                "PYTHONPATH": str(ROOT),
                "AGENT_API_KEY": SECRET,
                "AGENT_BASE_URL": base_url,
                "AGENT_MODEL": "test/model",
                "TERM": "xterm",
                "LC_ALL": "C.UTF-8",
                "PROMPT_TOOLKIT_NO_CPR": "1",  # nobody here answers where the cursor is
                **env,
            },
            stdin=device,
            stdout=device,
            stderr=device,
            start_new_session=True,
        )

    def press(self, *keys: bytes | str) -> None:
        for key in keys:
            os.write(self._keyboard, key.encode() if isinstance(key, str) else key)

    def says(self, prompt: str) -> None:
        """Type a line once the agent asks for one."""
        self.sees("you>")
        self.press(prompt)
        self.sees(prompt.strip())  # the editor has it
        self.press(ENTER)

    def sees(self, text: str) -> None:
        """Wait until the screen shows `text`; what stands before it is then read."""
        self.waits_until(lambda: text in self.screen, f"{text!r} on the screen")
        self._read += self.screen.index(text) + len(text)

    def leaves(self) -> int:
        """Wait for the end of the program; its exit code."""
        self.waits_until(lambda: self.agent.poll() is not None, "the end")
        return self.agent.wait()

    @property
    def terminal_is_as_it_was(self) -> bool:
        return termios.tcgetattr(self._device) == self.attributes

    def stops_and_goes_on(self) -> None:
        """What a shell does at Ctrl-Z and `fg`: between them the terminal is its own."""
        self.agent.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.agent.pid, os.WSTOPPED | os.WNOWAIT)
        termios.tcsetattr(self._device, termios.TCSANOW, self.attributes)
        self.agent.send_signal(signal.SIGCONT)
        self.waits_until(lambda: not self.terminal_is_as_it_was, "a terminal without echo")

    def close(self) -> None:
        self.agent.kill()
        self.agent.wait()
        os.close(self._keyboard)
        os.close(self._device)

    def waits_until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something `holds`; the screen is read meanwhile."""
        deadline = time.monotonic() + BOUND_S
        while not holds():
            assert time.monotonic() < deadline, f"expected {what}, found:\n{self.screen}"
            if select.select([self._keyboard], [], [], 0.02)[0]:
                self._shown += os.read(self._keyboard, 1 << 16)
            else:
                ended = self.agent.poll() is not None
                assert not ended or holds(), f"expected {what}, found the end:\n{self.screen}"

    @property
    def screen(self) -> str:
        """What was shown and not looked at yet."""
        return _CONTROLS.sub(b"", self._shown).decode("utf-8", "replace")[self._read :]

    @property
    def log(self) -> Path:
        (found,) = (self.workspace / ".agent" / "sessions").glob("*.jsonl")
        return found

    def facts(self) -> list[str]:
        return [line for line in self.log.read_text().splitlines()[1:] if line]


class Held(ModelServer):
    """Lets requests wait until they are `released`."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(*answers)
        self.arrived, self.released = threading.Semaphore(0), threading.Event()

    def answer(self, body: bytes) -> tuple[int, bytes]:
        self.arrived.release()
        self.released.wait(BOUND_S)
        return super().answer(body)

    def __exit__(self, *exception: Any) -> None:
        self.released.set()
        super().__exit__(*exception)


Sit = Callable[..., Person]  # (server or URL, *arguments, **env)
