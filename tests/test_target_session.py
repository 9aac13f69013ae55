"""How a target keeps its session: what each dialect says, and what is refused."""

from __future__ import annotations

import pytest

from chaos.errors import ScenarioError
from chaos.target import Target, parse_target

OPAQUE = """\
name = "mine"
about = "A program of my own."
dialect = "opaque"
durable = ["~/.mine/*.db", "sessions/*.json"]
[commands]
run = ["mine", "{prompt}"]
resume = ["mine", "--again"]
[exit_codes]
completed = 0
"""
TRANSCRIPT = OPAQUE.replace("opaque", "transcript").replace(
    "durable", 'log = "~/.mine/*/*.jsonl"\ndurable'
) + ('[transcript]\nrole = "message.role"\ncall = "message.content[].id"\n')


def target(text: str) -> Target:
    return parse_target(text, "t.toml")


def refused(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        target(text)
    return str(caught.value)


def test_a_session_of_any_form() -> None:
    found = target(OPAQUE)
    assert (found.dialect, found.log, found.state) == ("opaque", "", ())
    assert found.session.durable == ("~/.mine/*.db", "sessions/*.json")
    assert (found.session.acknowledged, found.session.shell) == ("request", None)
    assert not found.session.by_facts


def test_a_transcript_says_where_things_stand_in_a_line() -> None:
    found = target(TRANSCRIPT)
    assert found.log == "~/.mine/*/*.jsonl"
    assert found.session.transcript["call"] == "message.content[].id"


def test_the_shell_tool_takes_a_command_wherever_its_arguments_have_room() -> None:
    text = f'{OPAQUE}[shell]\ntool = "sh"\narguments = {{ argv = ["sh", "-c", "{{command}}"] }}\n'
    shell = target(text).session.shell
    assert shell is not None
    assert shell.call("echo {x}") == {"argv": ["sh", "-c", "echo {x}"]}


def test_a_prompt_may_come_on_standard_input() -> None:
    text = OPAQUE.replace('"mine", "{prompt}"', '"mine"')
    assert "commands.run must hold {prompt}" in refused(text)
    found = target(text.replace("[commands]", 'stdin = "{prompt}\\n"\n[commands]'))
    assert found.goes_on  # `resume` is given it, too
    assert not target(OPAQUE).goes_on


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OPAQUE.replace("durable", "# "), "t.toml:3: the dialect 'opaque' needs the key 'durable'"),
        (
            OPAQUE.replace("durable", 'log = "a"\ndurable'),
            "t.toml:4: log is no key of the dialect 'opaque'; leave it out",
        ),
        (
            OPAQUE.replace("opaque", "session-v2").replace("durable", 'log = "a"\ndurable'),
            "t.toml:5: durable is no key of the dialect 'session-v2'; leave it out",
        ),
        (
            OPAQUE.replace("~/.mine/*.db", "~/../*.db"),
            "t.toml:4: durable: '~/../*.db' leads out of the workspace and the HOME",
        ),
        (
            OPAQUE.replace("*.db", "[ab].db"),
            "t.toml:4: '~/.mine/[ab].db': '[', ']' and ';' cannot be told in the name of a kill",
        ),
        (
            OPAQUE.replace("[exit", 'abort = ["mine", "--abort"]\n[exit'),
            "t.toml:8: commands.abort: when it has begun is told by facts, which the dialect",
        ),
        (
            f'{OPAQUE}[shell]\ntool = "sh"\narguments = {{ command = "true" }}\n',
            "t.toml:12: shell.arguments: no text holds {command}",
        ),
        (
            OPAQUE.replace("[commands]", 'acknowledged = "soon"\n[commands]'),
            "t.toml:5: unknown acknowledged 'soon'; known here: exit, request",
        ),
        (
            TRANSCRIPT.replace("content[].id", "content[0]"),
            "t.toml:13: transcript.call: expected keys joined by dots, such as message.content[].i",
        ),
        (TRANSCRIPT.replace("role =", "# "), "missing key 'transcript.role' (a string)"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    assert message in refused(text)
