"""A small agent that keeps its session in a SQLite database below its HOME.

    python sqlite_agent.py run PROMPT      says PROMPT and works to the end
    python sqlite_agent.py resume          goes on with what is unfinished

$JOURNAL is the journal mode (WAL); $FAULT one thing that it does wrong: `replay` runs a tool
again of which it does not know the end, `lazy` stores its messages at the end only, `orphan` leaves
a process behind, `forget` mends its session by dropping every call, `restless` asks the model
whenever it is started.
"""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import urllib.request
from pathlib import Path

FAULT = os.environ.get("FAULT", "")
Message = dict[str, object]


class Session:
    """What was said, and what of it is stored. A kind of storage is a subclass."""

    said: list[dict]

    def say(self, message: dict) -> None:
        raise NotImplementedError

    def begin(self, call: str) -> bool:
        """Note that a tool starts; False: it had started before."""
        raise NotImplementedError

    def open_calls(self) -> list[dict]:
        asked = [call for message in self.said for call in message.get("tool_calls", ())]
        known = {message.get("tool_call_id") for message in self.said}
        return [call for call in asked if call["id"] not in known]

    def work(self) -> None:
        """Until the model has said the last word."""
        while self.said and (self.open_calls() or self.said[-1]["role"] != "assistant"):
            for call in self.open_calls():
                output = run_tool(call) if self.begin(call["id"]) else "unknown: interrupted"
                self.say({"role": "tool", "tool_call_id": call["id"], "content": output})
            self.say(ask(self.said))


class Database(Session):
    def __init__(self) -> None:
        folder = Path("~/.sqlite-agent").expanduser()
        folder.mkdir(exist_ok=True)
        self._db = sqlite3.connect(folder / "session.db", isolation_level=None)
        self._db.execute(f"PRAGMA journal_mode={os.environ.get('JOURNAL', 'WAL')}")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE IF NOT EXISTS said (n INTEGER PRIMARY KEY, message TEXT)")
        self._db.execute("CREATE TABLE IF NOT EXISTS begun (call TEXT PRIMARY KEY)")
        rows = self._db.execute("SELECT message FROM said ORDER BY n")
        self.said: list[dict] = [json.loads(text) for (text,) in rows]
        if FAULT == "forget":
            self.said = [m for m in self.said if m["role"] != "tool" and not m.get("tool_calls")]
        self._stored = len(self.said)

    def say(self, message: dict) -> None:
        self.said.append(message)
        if FAULT != "lazy":
            self.store()

    def store(self) -> None:
        for message in self.said[self._stored :]:
            self._db.execute("INSERT INTO said (message) VALUES (?)", (json.dumps(message),))
        self._stored = len(self.said)

    def begin(self, call: str) -> bool:
        with contextlib.suppress(sqlite3.IntegrityError):
            self._db.execute("INSERT INTO begun VALUES (?)", (call,))
            return True
        return FAULT == "replay"

    def work(self) -> None:
        super().work()
        self.store()


def ask(messages: list[dict]) -> dict:
    shell = {"type": "object", "properties": {"command": {"type": "string"}}}
    function = {"name": "sh", "description": "Run a command.", "parameters": shell}
    tools = [{"type": "function", "function": function}]
    body = json.dumps({"model": "any", "messages": messages, "tools": tools}).encode()
    key = {"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{os.environ['MODEL_URL']}/chat/completions", body, key)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["choices"][0]["message"]


def run_tool(call: dict) -> str:
    command = json.loads(call["function"]["arguments"])["command"]
    other = subprocess.Popen(["sleep", "30"]) if FAULT == "orphan" else None
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    if other:
        other.kill()
    return done.stdout + done.stderr + f"exit code {done.returncode}"


def main(session: Session) -> None:
    if sys.argv[1] == "run":
        prompt = {"role": "user", "content": sys.argv[2]}
        if session.said[-1:] != [prompt]:  # else an earlier start of this command has said it
            session.say(prompt)
    elif FAULT == "restless":
        session.say({"role": "user", "content": "is there anything left?"})
    session.work()


if __name__ == "__main__":
    main(Database())
