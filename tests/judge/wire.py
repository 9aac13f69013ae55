"""Small evidence of a target whose log is not read: a story of what crosses the wire.

    story = WireStory("ship it")
    story.launch("run").ask().call("ship").effect("ship").result().ask().say("shipped").end()
    evidence = story.idle().probe().evidence()

As `tests.judge.build`, each verb does what a good agent does next. `forget(n)` drops the last
messages of what the agent remembers: that is how most bad agents are told.
"""

from __future__ import annotations

import json
from typing import Any

from chaos.evidence import Answered, Blobs, Effect, Event, Evidence, Facts, Launch, Request

GO_ON, PROBE = "go on", "killpoint probe"
CODES = {"completed": 0, "failed": 1, "blocked": -1, "corrupt": -1, "busy": -1, "aborted": -1}
PATH = "/v1/chat/completions"


class WireStory:
    """A lineage in the making."""

    def __init__(self, *prompts: str, goes_on: str = GO_ON, **facts: Any) -> None:
        known: dict[str, Any] = {
            "scenario": "story",
            "dialect": "opaque",
            "prompts": prompts,
            "probe_prompt": PROBE,
            "exit_codes": CODES,
            "expect_outcome": None,
            "expect_effects": {},
            "temporary": (),
            "secret": "sk-secret",
            "goes_on": goes_on,
        }
        self.facts = Facts(**known | facts)
        self.blobs = Blobs()
        self.log = b""
        self.memory: list[dict[str, Any]] = []
        self.events: list[Event] = []
        self.launches: list[Launch] = []
        self._open: dict[str, Any] = {}
        self._asked = 0
        self._calls = 0
        self._prompts = 0

    def launch(self, role: str, prompt: str | None = None) -> WireStory:
        """The target starts, and takes the prompt that its role is given."""
        if role == "run" and prompt is None:
            prompt = self.facts.prompts[self._prompts]
            self._prompts += 1
        told = prompt or {"probe": PROBE, "run": prompt}.get(role, self.facts.goes_on)
        if told:
            self.memory.append({"role": "user", "content": told})
        self._asked = 0
        steps = len(self.facts.prompts)
        self._open = {
            "index": len(self.launches),
            "role": role,
            "step": steps if role in ("idle", "probe") else max(self._prompts - 1, 0),
            "argv": ("agent", role),
            "prompt": told or None,
            "log_before": self.blobs.put(self.log),
            "files_before": {},
        }
        return self

    def ask(self, *, answered: bool = True, status: int = 200, **body: Any) -> WireStory:
        """A request with all that is remembered arrives."""
        self._asked += 1
        whole: dict[str, Any] = {"model": "m", "messages": list(self.memory), **body}
        data = json.dumps(whole).encode()
        request = {"method": "POST", "path": PATH, "body": self.blobs.put(data), "log": ""}
        answer = {"status": status, "reason": "", "answer": ""}
        self._event(Request, ordinal=self._asked, **request, **answer)
        if answered:
            self._event(Answered, ordinal=self._asked, complete=True)
        return self

    def call(self, *names: str) -> WireStory:
        """The model calls the shell, once for each effect."""
        calls = []
        for name in names:
            self._calls += 1
            function = {"name": "bash", "arguments": json.dumps({"command": f"echo {name}"})}
            calls.append({"id": f"c{self._calls}", "type": "function", "function": function})
        self.memory.append({"role": "assistant", "content": None, "tool_calls": calls})
        return self

    def effect(self, name: str) -> WireStory:
        """Something happens outside."""
        argv = ("sh", "-c", f"echo {name}")
        how = {"log": "", "holds_log": False, "point": f"effect:{name}#1"}
        return self._event(Effect, pid=9, argv=argv, name=name, **how)

    def result(self, text: str = "ok", index: int = 0) -> WireStory:
        """The result of a call of the last turn is remembered."""
        calls = next(m["tool_calls"] for m in reversed(self.memory) if "tool_calls" in m)
        message = {"role": "tool", "content": text, "tool_call_id": calls[index]["id"]}
        self.memory.append(message)
        return self

    def say(self, text: str) -> WireStory:
        """The model's answer is remembered."""
        self.memory.append({"role": "assistant", "content": text})
        return self

    def forget(self, count: int = 1) -> WireStory:
        """The last things are remembered no more."""
        del self.memory[-count:]
        return self

    def die(self) -> WireStory:
        """The launch ends by its kill."""
        return self.end(None, signal=9, killed=True)

    def end(self, code: int | None = 0, *, stderr: str = "", **fields: Any) -> WireStory:
        """The launch is over."""
        known = {
            "exit_code": code,
            "signal": None,
            "killed": False,
            "timed_out": False,
            "seconds": 0.1,
            "log_after": self.blobs.put(self.log),
            "files_after": {},
            "state_files": (),
            "stdout": self.blobs.put(b""),
            "stderr": self.blobs.put(stderr.encode()),
        }
        self.launches.append(Launch(**{**self._open, **known, **fields}))
        return self

    def idle(self) -> WireStory:
        """A resume with nothing to do: it may be told to go on."""
        self.launch("idle")
        if self.facts.goes_on:
            self.ask().say("nothing left")
        return self.end()

    def probe(self) -> WireStory:
        """A turn with a tool, then an answer."""
        self.launch("probe").ask().call("probe").effect("probe").result()
        return self.ask().say("probed").end()

    def evidence(self, *references: Evidence) -> Evidence:
        """All that it left."""
        return Evidence(
            schedule="run: none",
            facts=self.facts,
            launches=tuple(self.launches),
            events=tuple(self.events),
            blobs=self.blobs,
            references=references,
        )

    def _event(self, kind: Any, **fields: Any) -> WireStory:
        order = len(self.events) + 1
        launch = self._open["index"]
        self.events.append(kind(order=order, launch=launch, at_ms=float(order), **fields))
        return self


def shipped(**facts: Any) -> WireStory:
    """A prompt, one call with an effect, and the end; nothing was killed."""
    story = WireStory("ship it", **facts).launch("run").ask().call("ship").effect("ship").result()
    return story.ask().say("shipped").end()
