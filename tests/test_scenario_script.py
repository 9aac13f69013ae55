"""What a scenario can let the model say beyond good manners, and how a wrong turn is refused."""

from __future__ import annotations

import json

import pytest

from chaos.errors import ScenarioError
from chaos.flavours.chat import CHAT
from chaos.provider.script import Turn, reply_of, reported_usage
from chaos.scenario import parse_scenario
from chaos.target import load_target

HEAD = """\
name = "small"
about = "One turn."
target.profile = "agent"
[[provider.turn]]
"""


def turns(text: str) -> tuple[Turn, ...]:
    targets = lambda name: load_target(name, beside="/nowhere")  # noqa: E731
    return parse_scenario(HEAD + text, "s.toml", targets).turns


def test_content_may_be_repeated() -> None:
    (turn,) = turns('content = "x\\n"\nrepeat = 6_000_000\n')
    assert len(CHAT.plain(reply_of(turn, 0), "m")) > 12_000_000


def test_a_message_may_hold_what_toml_cannot() -> None:
    (turn,) = turns("""message = '{"role": "assistant", "content": "half: \\ud83d"}'\n""")
    assert b'"content":"half: \\ud83d"' in CHAT.plain(reply_of(turn, 0), "m")


def test_a_message_with_calls_is_followed_by_another_turn() -> None:
    call = '{"id": "a", "function": {"name": "bash", "arguments": {}}}'
    first, second = turns(
        f"""message = '{{"tool_calls": [{call}]}}'\n[[provider.turn]]\ncontent = "done"\n"""
    )
    assert first.calls
    assert not second.calls


def test_a_reply_may_have_no_choices() -> None:
    (turn,) = turns("choices = []\n")
    assert json.loads(CHAT.plain(reply_of(turn, 0), "m"))["choices"] == []


def test_usage_is_sent_as_it_is() -> None:
    (turn,) = turns('content = "x"\nusage = { prompt_tokens = -3, completion_tokens = "many" }\n')
    assert json.loads(CHAT.plain(reply_of(turn, 0), "m"))["usage"] == {
        "prompt_tokens": -3,
        "completion_tokens": "many",
    }
    assert reported_usage(turn, 0) is None


def test_ids_and_arguments_are_those_of_the_file() -> None:
    calls = ", ".join(f'{{ id = "same", name = "read", arguments = "{n}" }}' for n in (1, 2))
    first, _ = turns(f'tool_calls = [{calls}]\n[[provider.turn]]\ncontent = "done"\n')
    assert [(call.id, call.arguments) for call in first.tool_calls] == [
        ("same", "1"),
        ("same", "2"),
    ]


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        ("choices = []\ncontent = 'a'", "5: content says it all; leave 'choices' out"),
        (
            "content = 'a'\nmessage = '{}'",
            "6: content says it all; leave 'message' out",
        ),
        ("choices = [{}]", "5: choices can only be empty; say content, tool_calls or message"),
        ("choices = 1", "5: provider.turn[1].choices: expected an array, found a whole number"),
        ("message = '{'", "5: message is not JSON: Expecting property name"),
        ("message = '[]'", "5: message: expected the JSON of an object"),
        ("message = ' '", "5: provider.turn[1].message is blank"),
        ("repeat = 3", "4: a turn needs content or tool_calls (or message, or choices = [])"),
        ("content = ''\nrepeat = 3", "6: repeat repeats the content, and there is none"),
        ("content = 'a'\nrepeat = 0", "6: provider.turn[1].repeat: expected 1 or more, found 0"),
        (
            "content = 'ab'\nrepeat = 50_000_000",
            "6: repeat: expected at most 67108864 characters of content in the end, found 1",
        ),
        ("messages = '{}'", "5: unknown key 'provider.turn[1].messages'; did you mean 'message'?"),
    ],
)
def test_a_wrong_turn_is_refused_with_its_line(turn: str, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        turns(turn)
    assert str(caught.value).startswith(f"s.toml:{words}")
