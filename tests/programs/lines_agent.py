"""The agent of sqlite_agent.py with another storage: a line of JSON a message, below its HOME.

$FAULT=keep-torn does not cut a torn line off before it appends to it.
"""

import json
import os
from pathlib import Path

from sqlite_agent import FAULT, Session, main


class Lines(Session):
    def __init__(self) -> None:
        path = Path("~/.lines-agent/0001.jsonl").expanduser()
        path.parent.mkdir(exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data and FAULT != "keep-torn":
            os.ftruncate(self._file, len(whole))
        read = [json.loads(line) for line in whole.splitlines()]
        self.said = [line["message"] for line in read if "message" in line]
        self._begun = {line["begun"] for line in read if "begun" in line}

    def say(self, message: dict) -> None:
        self.said.append(message)
        self._append({"message": message})

    def begin(self, call: str) -> bool:
        if call in self._begun:
            return False
        self._append({"begun": call})
        return True

    def _append(self, line: dict) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


main(Lines())
