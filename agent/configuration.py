"""What the agent runs under: settings from the environment, and the snapshot that a log records.

What it promises: the snapshot names everything that a request depends on beside the messages, so
that a resume under another configuration is seen; it holds no secret. Streaming is not in it: it
changes how a reply travels, not what was asked.
What it does not do: it compares nothing; the planner does.

Source: session contract, sections 2 (`stepAttempt`) and 5; design, section 7 (environment).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent.canonical import digest
from agent.failures import UsageFailure
from agent.planner import CurrentConfiguration, CurrentTool
from agent.prompt import SYSTEM_PROMPT, system_prompt
from agent.tools import BUILTIN_TOOLS, Tool
from agent.workspace import Workspace

DEFAULT_BASE_URL = "https://openrouter.ai/api/v1"
DEFAULT_MODEL = "anthropic/claude-sonnet-4.5"
DEFAULT_TIMEOUT_S = 180.0
KEY_VARIABLES = ("AGENT_API_KEY", "OPENROUTER_API_KEY")  # the first one set is used
ADAPTER_IDENTITY = "openai:chat-completions:v1"
OUTPUT_OPTIONS: Mapping[str, Any] = {"max_tokens": 8192}


@dataclass(frozen=True, slots=True)
class Settings:
    """The environment of the process, checked. `api_key` is shown nowhere."""

    base_url: str
    model: str
    stream: bool
    environment_identity: str
    api_key: str = field(repr=False)  # "" where none is set
    timeout_s: float = DEFAULT_TIMEOUT_S  # that the provider may stay silent

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str], workspace: Workspace, *, stream: bool = False
    ) -> Settings:
        """Read AGENT_*. Raises UsageFailure for values that cannot be used.

        `stream` is whether to stream where AGENT_STREAM says neither 1 nor 0.
        """
        found = cls(
            base_url=(environ.get("AGENT_BASE_URL") or DEFAULT_BASE_URL).rstrip("/"),
            model=environ.get("AGENT_MODEL") or DEFAULT_MODEL,
            stream={"1": True, "0": False}.get(environ.get("AGENT_STREAM", ""), stream),
            environment_identity=environ.get("AGENT_ENVIRONMENT_IDENTITY") or str(workspace.root),
            api_key=next((environ[name] for name in KEY_VARIABLES if environ.get(name)), ""),
            timeout_s=seconds("AGENT_TIMEOUT_S", environ, DEFAULT_TIMEOUT_S),
        )
        found._check()
        return found

    def _check(self) -> None:
        try:
            url = urlsplit(self.base_url)
            usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise UsageFailure(
                f"AGENT_BASE_URL: expected http(s)://HOST[:PORT]/PATH, found {self.base_url!r}"
            )
        if url.username is not None or url.password is not None or url.query or url.fragment:
            # The log records the base URL, and a log must hold no secret.
            raise UsageFailure(
                "AGENT_BASE_URL: expected no user, password, query or fragment in it; "
                "set the key with AGENT_API_KEY"
            )
        for name, value in (("AGENT_MODEL", self.model), ("AGENT_BASE_URL", self.base_url)):
            if not value.isprintable() or not _is_text(value):
                raise UsageFailure(f"{name}: expected printable text")
        if not _is_text(self.environment_identity):
            raise UsageFailure("the workspace path or AGENT_ENVIRONMENT_IDENTITY is not UTF-8")
        if not (self.api_key.isascii() and self.api_key.isprintable()):
            raise UsageFailure("the API key holds characters that no HTTP header can carry")

    def require_key(self) -> None:
        """Raise UsageFailure where no key is set."""
        if not self.api_key:
            raise UsageFailure(
                f"no API key for {self.base_url}: expected {' or '.join(KEY_VARIABLES)} in the "
                "environment; set one (for a local server any text) and start again"
            )

    def redact(self, text: str) -> str:
        """`text` without the key."""
        return text.replace(self.api_key, "[API key]") if self.api_key else text


@dataclass(frozen=True, slots=True)
class Configuration:
    """Settings, tools and prompt together, with what a log records of them."""

    settings: Settings
    tools: Mapping[str, Tool]
    system_prompt: str
    snapshot: dict[str, Any]
    current: CurrentConfiguration  # what the planner compares with

    @classmethod
    def of(
        cls,
        settings: Settings,
        tools: Mapping[str, Tool] = BUILTIN_TOOLS,
        prompt: str = SYSTEM_PROMPT,
    ) -> Configuration:
        """The configuration under this system prompt; `in_workspace` reads the one of now."""
        snapshot = {
            "model": settings.model,
            "systemPromptDigest": digest(prompt),
            "tools": [
                {"name": tool.name, "definitionDigest": tool.definition_digest}
                for tool in tools.values()
            ],
            "adapterIdentity": ADAPTER_IDENTITY,
            "routingIdentity": settings.base_url,
            "outputOptionsDigest": digest(OUTPUT_OPTIONS),
        }
        current = CurrentConfiguration(
            configuration_digest=digest(snapshot),
            environment_identity=settings.environment_identity,
            tools=tuple(
                CurrentTool(tool.name, tool.definition_digest, tool.replay, tool.replay_key)
                for tool in tools.values()
            ),
        )
        return cls(settings, tools, prompt, snapshot, current)

    def in_workspace(self, workspace: Path) -> Configuration:
        """This configuration under the system prompt that the workspace gives now."""
        prompt = system_prompt(workspace)
        return self if prompt == self.system_prompt else self.of(self.settings, self.tools, prompt)


def tool_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment that tools get: the agent's own without its keys."""
    return {name: value for name, value in environ.items() if name not in KEY_VARIABLES}


def seconds(name: str, environ: Mapping[str, str], default: float) -> float:
    """A time that a variable says. Raises UsageFailure for one that cannot be used."""
    text = environ.get(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 86_400:  # also refuses nan
        raise UsageFailure(
            f"{name}: expected more than 0 and at most 86400 seconds, found {text!r}"
        )
    return value


def _is_text(value: str) -> bool:
    """False for bytes of the environment that are not UTF-8 (they arrive as lone surrogates)."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
