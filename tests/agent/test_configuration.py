"""Settings are checked before anything is written, and no record of them holds a secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.canonical import digest
from agent.configuration import DEFAULT_BASE_URL, Settings, tool_environment
from agent.failures import UsageFailure
from agent.workspace import Workspace
from tests.agent.support import SECRET, configuration, settings

HERE = Workspace(Path("/workspace"))


def test_defaults_are_openrouter_and_the_real_path() -> None:
    found = Settings.from_environment({"OPENROUTER_API_KEY": SECRET}, HERE)
    assert found.base_url == DEFAULT_BASE_URL == "https://openrouter.ai/api/v1"
    assert found.environment_identity == "/workspace"
    assert found.api_key == SECRET
    assert not found.stream
    assert SECRET not in repr(found)


def test_the_agents_own_variables_come_first() -> None:
    environ = {
        "AGENT_BASE_URL": "http://127.0.0.1:1/v1/",
        "AGENT_MODEL": "m",
        "AGENT_STREAM": "1",
        "AGENT_ENVIRONMENT_IDENTITY": "container-7",
        "AGENT_API_KEY": "first",
        "OPENROUTER_API_KEY": "second",
        "AGENT_TIMEOUT_S": "0.5",
    }
    found = Settings.from_environment(environ, HERE)
    assert found == Settings("http://127.0.0.1:1/v1", "m", True, "container-7", "first", 0.5)


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "nan", "inf", "86401"])
def test_a_timeout_is_a_number_of_seconds(seconds: str) -> None:
    with pytest.raises(UsageFailure, match="AGENT_TIMEOUT_S: expected more than 0"):
        Settings.from_environment({"AGENT_TIMEOUT_S": seconds, "AGENT_API_KEY": SECRET}, HERE)


@pytest.mark.parametrize(
    "url",
    [
        "models",
        "ftp://x/v1",
        "http://",
        "http://x:port/",
        "http://u:p@x/",
        "http://x/?key=1",
        "//x",
    ],
)
def test_a_base_url_that_cannot_be_used_or_recorded_is_refused(url: str) -> None:
    with pytest.raises(UsageFailure, match="AGENT_BASE_URL"):
        Settings.from_environment({"AGENT_BASE_URL": url, "AGENT_API_KEY": SECRET}, HERE)


@pytest.mark.parametrize("key", ["a\nb", "schlüssel", "\udcff"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        Settings.from_environment({"AGENT_API_KEY": key}, HERE)
    assert key not in str(caught.value)


def test_a_missing_key_names_the_variables_even_for_a_local_server() -> None:
    with pytest.raises(UsageFailure, match="AGENT_API_KEY or OPENROUTER_API_KEY"):
        settings(api_key="").require_key()
    settings().require_key()


def test_the_snapshot_names_what_a_request_depends_on_and_no_secret() -> None:
    built = configuration()
    assert built.current.configuration_digest == digest(built.snapshot)
    assert set(built.snapshot) == {
        "model",
        "systemPromptDigest",
        "tools",
        "adapterIdentity",
        "routingIdentity",
        "outputOptionsDigest",
    }
    assert SECRET not in json.dumps(built.snapshot)


def test_only_what_changes_the_request_changes_the_digest() -> None:
    same = configuration().current.configuration_digest
    assert configuration(api_key="another").current.configuration_digest == same
    assert configuration(stream=True).current.configuration_digest == same
    assert configuration(model="other").current.configuration_digest != same
    assert configuration(base_url="http://x/v1").current.configuration_digest != same


def test_tools_get_the_environment_without_the_keys() -> None:
    environ = {"AGENT_API_KEY": "1", "OPENROUTER_API_KEY": "2", "AGENT_MODEL": "m", "PATH": "/bin"}
    assert tool_environment(environ) == {"AGENT_MODEL": "m", "PATH": "/bin"}


@pytest.mark.parametrize(
    ("variable", "terminal", "stream"),
    [("", True, True), ("", False, False), ("1", False, True), ("0", True, False)],
)
def test_a_terminal_streams_unless_the_variable_says_otherwise(
    variable: str, terminal: bool, stream: bool
) -> None:
    environ = {"AGENT_STREAM": variable, "AGENT_API_KEY": SECRET}
    assert Settings.from_environment(environ, HERE, stream=terminal).stream is stream
