"""The stage: where courses run, one after the other, each finding it as the one before did.

It knows what a launch is given (arguments, environment, streams, the model's script) and what is
read off when it is over. It does not start anything: the engine does, on the course's word.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.evidence import Blobs
from chaos.launch.model import Command, Launcher, Outcome
from chaos.provider.mock import Fault, MockProvider, ProviderObserver
from chaos.provider.script import Turn
from chaos.supervise.room import Room
from chaos.target import Target
from chaos.target_session import Session

# A fixed UUIDv7 of the past: every lineage of every scenario opens the same session.
SESSION = "0193a5c0-0000-7000-8000-000000000001"
_COMMANDS = {"idle": "resume", "probe": "run"}  # of roles that have none of their own


@dataclass(slots=True)
class Stage:
    """Where courses run: a room, a mock provider and a launcher that outlive each of them."""

    room: Room
    mock: MockProvider
    launcher: Launcher | None
    token: str
    api_key: str

    def chance(self) -> Mapping[str, str]:
        """Texts that differ from lane to lane, and the labels that stand for them."""
        return {
            str(self.room.root): "ROOM",
            self.token: "TOKEN",
            f"127.0.0.1:{self.mock.port}": "PROVIDER",
        }

    def open(
        self,
        turns: Sequence[Turn],
        faults: Mapping[int, Fault],
        observer: ProviderObserver,
        session: Session,
    ) -> None:
        """Make ready for a launch: fresh streams, and the model that it will meet."""
        self.room.clear_streams()
        self.mock.begin(
            self.token,
            turns,
            faults,
            observer,
            api_key=self.api_key,
            unique_ids=not session.by_facts,  # a log of facts tells two calls of one id apart
            side=session.side,
        )

    def command(
        self,
        target: Target,
        role: str,
        prompt: str | None,
        env: Mapping[str, str],
        rival: int = 0,
    ) -> Command:
        """What to start for a launch of this role. `env` is added to the target's; a `rival`,
        numbered from 1, has streams of its own."""
        own = f".{rival}" if rival else ""
        values = self._values(prompt or "")
        return Command(
            argv=target.command(_COMMANDS.get(role, role), **values),
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "LANG": "C.UTF-8",
                "TZ": "UTC",
                "HOME": str(self.room.home),
                "CHAOS_EFFECTS": str(self.room.effects),
                **target.environment(**values),
                **env,
            },
            cwd=str(self.room.workspace),
            stdout=f"{self.room.stdout}{own}",
            stderr=f"{self.room.stderr}{own}",
            **({"stdin": self._input(target, values, own)} if target.stdin else {}),
        )

    def lay_out(self, files: Mapping[str, str], target: Target) -> None:
        """Make the room new: these files in the workspace, and the target's own in its HOME."""
        values = self._values("")
        home = {path: target.filled_file(text, values) for path, text in target.home.items()}
        self.room.reset(files, home)

    def _values(self, prompt: str) -> dict[str, str]:
        """What the placeholders of a target file stand for."""
        root = self.mock.root_of(self.token)
        return {
            "workspace": str(self.room.workspace),
            "home": str(self.room.home),
            "session": SESSION,
            "prompt": prompt,
            "base_url": f"{root}/v1",
            "base_root": root,
            "api_key": self.api_key,
        }

    def _input(self, target: Target, values: Mapping[str, str], own: str) -> str:
        """Lay out what a launch reads on standard input. Returns the file."""
        path = f"{self.room.stdin}{own}"
        Path(path).write_text(target.filled(target.stdin, values), encoding="utf-8")
        return path

    def ended(
        self, outcome: Outcome, blobs: Blobs, unexplained: Iterable[str]
    ) -> Mapping[str, Any]:
        """How a launch ended, and what it left, as fields of `Launch`."""
        room = self.room
        signalled = os.WIFSIGNALED(outcome.wait_status)
        return {
            "exit_code": None if signalled else os.WEXITSTATUS(outcome.wait_status),
            "signal": os.WTERMSIG(outcome.wait_status) if signalled else None,
            "killed": outcome.killed,
            "timed_out": outcome.timed_out,
            "seconds": outcome.seconds,
            "log_after": blobs.put(room.log()),
            "files_after": room.tree(blobs),
            "state_files": room.state_files(),
            "stdout": blobs.put(room.read(room.stdout) or b""),
            "stderr": blobs.put(room.read(room.stderr) or b""),
            "survivors": outcome.survivors,
            "unseen": (*outcome.unseen, *unexplained),
            "stacks": outcome.stacks,
            "pid": outcome.pid,
        }
