"""Scenario files: what they say, and what is refused with which words."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.errors import ScenarioError
from chaos.points import Phase
from chaos.scenario import Scenario, load_scenario, parse_scenario
from chaos.target import Target, load_target

ROOT = Path(__file__).parent.parent

DEPLOY = """\
name = "deploy"
about = "Once, whatever happens."
[target]
profile = "agent"
env = { MODE = "quick" }
[files]
"bin/deploy.sh" = "echo deploy"
[[step]]
run = "deploy it"
[[provider.turn]]
tool_calls = [{ name = "bash", arguments = { command = "sh bin/deploy.sh" } }]
[[provider.turn]]
content = "done"
[kill]
points = ["log:toolStarted[bash]", "log:assistant#2/torn@17"]
phases = ["after", "torn"]
[expect]
effects = { deploy = "at-most-once" }
outcome = "completed"
"""

SMALLEST = """\
name = "small"
about = "Nothing but an answer."
target.profile = "agent"
[[provider.turn]]
content = "hi"
"""


def agent(name: str) -> Target:
    return load_target(name, beside="/nowhere")


def parse(text: str) -> Scenario:
    return parse_scenario(text, "s.toml", agent)


def refused(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse(text)
    return str(caught.value)


def test_all_that_a_scenario_says() -> None:
    scenario = parse(DEPLOY)
    assert (scenario.name, scenario.target.name) == ("deploy", "agent")
    assert scenario.env == {"MODE": "quick"}
    assert scenario.files == {"bin/deploy.sh": "echo deploy"}
    assert [step.prompt for step in scenario.steps] == ["deploy it"]
    assert scenario.turns[0].tool_calls[0].arguments == '{"command":"sh bin/deploy.sh"}'
    assert scenario.turns[1].content == "done"
    assert scenario.kill.points == ("log:toolStarted[bash]", "log:assistant#2/torn@17")
    assert scenario.kill.phases == (Phase.TORN, Phase.AFTER)  # in the order of their instants
    assert scenario.expect_effects == {"deploy": "at-most-once"}
    assert scenario.expect_outcome == "completed"
    assert scenario.source == DEPLOY


def test_one_schedule_and_no_other() -> None:
    text = "run: log:header#1/torn@3; resume: log:assistant#1/after"
    scenario = parse(f'{SMALLEST}\n[kill]\nschedule = "{text}"\n')
    assert str(scenario.kill.schedule) == text
    assert scenario.kill.points == ()


def test_what_may_be_left_out() -> None:
    scenario = parse(SMALLEST)
    assert [(step.do, step.prompt) for step in scenario.steps] == [("run", "begin")]
    assert scenario.kill.points == ()
    assert scenario.kill.phases == tuple(Phase)
    assert scenario.expect_outcome is None


def test_arguments_as_text_are_sent_as_they_are() -> None:
    text = DEPLOY.replace('{ command = "sh bin/deploy.sh" }', "'{\"command\": '")
    assert parse(text).turns[0].tool_calls[0].arguments == '{"command": '


def test_turns_by_prompt_and_by_result() -> None:
    text = SMALLEST.replace(
        '[[provider.turn]]\ncontent = "hi"',
        '[[step]]\nrun = "a"\n'
        '[[provider.turn]]\nwhen = { prompt = "a" }\n'
        'tool_calls = [{ name = "t", arguments = {} }]\n'
        '[[provider.turn]]\nwhen = { last_result = "ok" }\ncontent = ""',
    )
    whens = [turn.when for turn in parse(text).turns]
    assert whens[0] is not None
    assert whens[0].prompt == "a"
    assert whens[1] is not None
    assert whens[1].last_result == "ok"


def test_an_event_hits_a_request_of_a_launch() -> None:
    event = '[[event]]\nlaunch = 2\nat = "provider:1/request"\ndo = "provider:cut@3"\n'
    (found,) = parse(SMALLEST + event).events
    assert (found.launch, found.request, found.do) == (2, 1, "provider:cut@3")


def test_a_signal_hits_the_target_at_an_instant() -> None:
    for at in ("log:toolStarted[bash]#1/after", "log@3/before", "effect:a b#2/before"):
        event = f'[[event]]\nlaunch = 2\nat = "{at}"\ndo = "signal:TERM"\n'
        (found,) = parse(SMALLEST + event).events
        assert (found.at, found.signal, found.fault, found.request) == (at, "TERM", None, None)


@pytest.mark.parametrize(
    ("do", "variable"),
    [
        ("set:A=b=c", ("A", "b=c")),
        ("set:A=", ("A", "")),
        ("write:docs/a b.md=two = 2\\nthree", ("docs/a b.md", "two = 2\nthree")),
        ("delete:docs", ("docs", "")),
        ("move:elsewhere", ("elsewhere", "")),
    ],
)
def test_what_a_launch_finds_changed(do: str, variable: tuple[str, str]) -> None:
    (found,) = parse(f'{SMALLEST}[[event]]\nlaunch = 2\ndo = "{do}"\n').events
    assert (found.at, found.variable) == ("start", variable)


@pytest.mark.parametrize(
    ("shift", "seconds"), [("-1h", -3600), ("+90s", 90), ("-2d", -172_800), ("+5m", 300)]
)
def test_a_clock_that_is_shifted(shift: str, seconds: int) -> None:
    (found,) = parse(f'{SMALLEST}[[event]]\nlaunch = 2\ndo = "clock:{shift}"\n').events
    assert found.shift_s == seconds


@pytest.mark.parametrize(
    "do",
    [
        *("set:A", "set:1=2", "write:docs", "write:=x", "write:/etc/x=y", "write:../x=y"),
        *(
            "write:a/../b=y",
            "write:docs/=x",
            "write:./x=y",
            "delete:a//b",
            "delete:a/.",
            "delete:.",
            "delete:",
            "delete:..",
            "delete:/",
            "delete:a/..",
        ),
        *("move:", "move:a/b", "move:..", "clock:1h", "clock:-1", "clock:-1w"),
    ],
)
def test_a_change_that_cannot_be_made(do: str) -> None:
    found = refused(f'{SMALLEST}[[event]]\nlaunch = 2\ndo = "{do}"\n')
    assert f"not an event: '{do}'; expected {do.partition(':')[0]}" in found


def test_a_reason_that_holds_up() -> None:
    found = parse(SMALLEST + '[expect]\nblocked = "environment_changed"\n')
    assert found.expect_blocked == "environment_changed"
    assert "unknown blocked 'environment'" in refused(
        SMALLEST + '[expect]\nblocked = "environment"\n'
    )


def test_a_schedule_with_damage() -> None:
    damaged = SMALLEST + '[kill]\nschedule = "run: none; damage: glue@2; resume: none"\n'
    assert "damage: glue@2; resume: none" in str(parse(damaged).kill.schedule)
    found = refused(damaged.replace("glue@2", "melt@2"))
    assert "kill.schedule: not a damage: 'melt@2'; write for example cut@812" in found


def test_a_request_may_be_held_while_the_signal_comes() -> None:
    both = EVENT.replace("500", "hold") + EVENT.replace("provider:500", "signal:INT")
    hold, signal = parse(SMALLEST + both).events
    assert hold.fault is not None
    assert (signal.signal, signal.request) == ("INT", 1)


def test_steps_that_say_nothing_to_the_model() -> None:
    text = SMALLEST + '[[step]]\nrun = "a"\n[[step]]\ncompact = true\n[[step]]\nabort = true\n'
    scenario = parse(text + SUMMARY + '[kill]\nsteps = ["compact", "abort"]\n')
    assert [(step.do, step.prompt) for step in scenario.steps] == [
        ("run", "a"),
        ("compact", ""),
        ("abort", ""),
    ]
    assert [turn.compaction for turn in scenario.turns] == [False, True]
    assert scenario.kill.steps == ("compact", "abort")


def test_summaries_are_told_apart_by_an_earlier_one() -> None:
    text = SMALLEST + "[[step]]\ncompact = true\n"
    first, second = f"{SUMMARY}when.summary = false\n", f"{SUMMARY}when.summary = true\n"
    whens = [turn.when for turn in parse(text + first + second).turns[1:]]
    assert [when.summary for when in whens if when] == [False, True]


def test_a_step_that_the_target_has_no_command_for() -> None:
    def targets(name: str) -> Target:
        found = load_target(name, beside="/nowhere")
        few = {role: found.commands[role] for role in ("run", "resume")}
        return replace(found, commands=few, path="t.toml")

    with pytest.raises(ScenarioError) as caught:
        parse_scenario(f"{SMALLEST}[[step]]\nabort = true\n", "s.toml", targets)
    assert str(caught.value) == (
        "s.toml:7: the target 'agent' has no command 'abort'; add commands.abort to t.toml"
    )


def test_the_scenarios_of_this_repository() -> None:
    """Each is named after its file, or after its folder and its file where files are numbered."""
    paths = sorted(p for p in (ROOT / "scenarios").rglob("*.toml") if p.parent.name != "targets")
    names = set()
    for path in paths:
        scenario = load_scenario(str(path))
        numbered = f"{path.parent.name}-{path.stem.lstrip('0123456789-')}"
        assert scenario.name in (path.stem, numbered)
        assert scenario.path == str(path)
        names.add(scenario.name)
    assert len(names) == len(paths) >= 8


def test_the_example_of_the_documentation() -> None:
    text = (ROOT / "docs/scenarios.md").read_text()
    example = re.search(r"```toml\n(name.*?)```", text, re.DOTALL)
    assert example is not None
    assert len(example[1].splitlines()) == 10
    assert parse(example[1]).name == "ping"
    wrong = parse_error_of(example[1].replace("about", "abuot"))
    assert f"chaos: {wrong}" in text


def parse_error_of(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "scenarios/ping.toml", agent)
    return str(caught.value)


TURN = '[[provider.turn]]\ncontent = "hi"'
EVENT = '\n[[event]]\nlaunch = 1\nat = "provider:1/request"\ndo = "provider:500"\n'


SIGNAL = '\n[[event]]\nlaunch = 1\nat = "log:assistant#1/before"\ndo = "signal:INT"\n'
SUMMARY = '[[provider.turn]]\ncontent = "what was said"\ncompaction = true\n'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("about", "abot", "s.toml:2: unknown key 'abot'; did you mean 'about'?"),
        (
            "= ",
            "",
            "s.toml:1: not valid TOML: Expected '=' after a key in a key/value pair (column 6)",
        ),
        (
            '"small"',
            '"Small One"',
            "s.toml:1: name: expected lower-case words joined by '-', found",
        ),
        ('"small"', '"a/../b"', "s.toml:1: name: expected lower-case words"),
        ('"small"', "7", "s.toml:1: name: expected a string, found a whole number: 7"),
        ('"Nothing but an answer."', '" "', "s.toml:2: about is blank; say something"),
        ("target.profile", "#", "s.toml:1: missing key 'target.profile' (a string)"),
        ('"agent"', '"agnet"', "s.toml:3: no target 'agnet'; did you mean 'agent'?"),
        ("target.profile", "target.profle", "s.toml:3: unknown key 'target.profle'; did you mean"),
        (TURN, "", "s.toml:1: expected at least one [[provider.turn]]"),
        (TURN, "[provider]\nturn = 3", "s.toml:5: provider.turn: expected an array, found a whole"),
        (TURN, "[[provider.turn]]", "s.toml:4: a turn needs content or tool_calls"),
        (
            "content",
            "contnt",
            "s.toml:5: unknown key 'provider.turn[1].contnt'; did you mean 'content'?",
        ),
        ('"hi"', "[]", "s.toml:5: provider.turn[1].content: expected a string, found an array"),
        (
            'content = "hi"',
            'tool_calls = [\n{ name = "a", argments = {} }]',
            "s.toml:6: unknown key 'provider.turn[1].tool_calls[1].argments'; did you mean 'argu",
        ),
        (
            'content = "hi"',
            'tool_calls = [{ name = "a" }]',
            "s.toml:5: missing key 'arguments' (a table, or a string to be sent as it is)",
        ),
        (
            'content = "hi"',
            'tool_calls = [{ name = "a", arguments = { day = 2020-01-01 } }]',
            "s.toml:5: arguments hold a date or time, which JSON has not",
        ),
        (
            '"hi"',
            '"hi"\nusage = { prompt_token = 3 }',
            "s.toml:6: unknown key 'provider.turn[1].usage.prompt_token'; did you mean",
        ),
        (
            '"hi"',
            '"hi"\nusage = { prompt_tokens = [3] }',
            "s.toml:6: provider.turn[1].usage.prompt_tokens: expected a whole number or a number",
        ),
        ('"hi"', '"hi"\nwhen = {}', "s.toml:6: when is empty; say prompt, last_result or summary"),
        (TURN, f'{TURN}\n[[step]]\nchat = ""', "s.toml:7: unknown key 'step[1].chat'; known here:"),
        (TURN, f"{TURN}\n[[step]]", "s.toml:6: a step is one of: run, resume, compact, abort"),
        (
            TURN,
            f'{TURN}\n[[step]]\nabort = "now"',
            "s.toml:7: step[1].abort: expected true or false, found a string: 'now'",
        ),
        (
            TURN,
            f"{TURN}\n[[step]]\nabort = false",
            "s.toml:7: abort = false says nothing; leave the step out",
        ),
        (
            TURN,
            f"{TURN}\n[[step]]\ncompact = true",
            "s.toml:6: a step compacts, and no summary answers it; add a [[provider.turn]]",
        ),
        (
            TURN,
            f'{TURN}\n[[provider.turn]]\ncontent = "sum"\ncompaction = true',
            "s.toml:8: no step compacts, so nothing asks for a summary",
        ),
        (
            TURN,
            f"{TURN}\n[[step]]\ncompact = true\n{SUMMARY}{SUMMARY}",
            "s.toml:13: this summary can never be the answer: an earlier one answers whenever it",
        ),
        (
            TURN,
            f'{TURN}\n[kill]\nsteps = ["compact"]',
            "s.toml:7: no step does 'compact'; known here: run",
        ),
        (
            TURN,
            f'{TURN}\n[[step]]\nrun = "a\\u0000b"',
            "s.toml:7: a NUL character cannot be passed",
        ),
        (TURN, f'{TURN}\n[files]\n"/etc/x" = ""', "s.toml:7: files: expected a file's path inside"),
        (
            TURN,
            f'{TURN}\n[files]\n"a/../../x" = ""',
            "s.toml:7: files: expected a file's path insi",
        ),
        (TURN, f'{TURN}\n[files]\na = ""\n"a/b" = ""', "s.toml:7: files: 'a' cannot be a file and"),
        (
            TURN,
            f'{TURN}\n[files]\n"./a/b" = ""\na = ""',
            "s.toml:8: files: 'a' cannot be a file and the folder of './a/b'",
        ),
        (
            TURN,
            f'{TURN}\n[files]\na = ""\n"./a" = ""',
            "s.toml:8: files: 'a' and './a' are the same file",
        ),
        (
            TURN,
            f'{TURN}\n[files]\n"b//c" = ""\n"b/c" = ""',
            "s.toml:8: files: 'b//c' and 'b/c' are the same file",
        ),
        (TURN, f'{TURN}\n[files]\n"x/." = ""', "s.toml:7: files: expected a file's path inside"),
        (
            TURN,
            f'{TURN}\n[files]\n"a/{"é" * 128}" = ""',
            "s.toml:7: files: expected a name of at most 255 bytes, found 256",
        ),
        (
            TURN,
            f'{TURN}\n[files]\n"{"abc/" * 1000}x" = ""',
            "s.toml:7: files: expected a path of at most 3072 bytes, found 4001",
        ),
        (
            TURN,
            f'{TURN}\n[[step]]\nrun = "{"x" * 200_000}"',
            "s.toml:7: step[1].run: a program can be passed 122880 bytes at once, found 200000",
        ),
        (
            "[[provider",
            f'target.env.V = "{"x" * 200_000}"\n[[provider',
            "s.toml:4: target.env: a program can be passed 122880 bytes at once, found 200002",
        ),
        (
            TURN,
            f'{TURN}\n[kill]\npoints = ["log:header#{"1" * 5000}/after"]',
            "s.toml:7: not a kill point: ",
        ),
        (
            TURN,
            f'{TURN}\n[kill]\nphases = ["befor"]',
            "s.toml:7: unknown phase 'befor'; did you mean",
        ),
        (TURN, f"{TURN}\n[kill]\nphases = []", "s.toml:7: kill.phases is empty; leave it out"),
        (
            TURN,
            f'{TURN}\n[kill]\npoints = ["log:"]',
            "s.toml:7: not a kill point: 'log:'; write for",
        ),
        (
            TURN,
            f'{TURN}\n[kill]\nphases = ["after"]\npoints = ["log:assistant#1/before"]',
            "s.toml:8: 'log:assistant#1/before' can never be tried: kill.phases leaves",
        ),
        (
            TURN,
            f'{TURN}\n[kill]\nschedule = "run: none"\npoints = ["log:header"]',
            "s.toml:8: kill.schedule says it all; leave 'points' out",
        ),
        (
            TURN,
            f'{TURN}\n[kill]\nschedule = "run: log:header"',
            "s.toml:7: kill.schedule: not a kill point: 'log:header'; write for",
        ),
        (
            TURN,
            f'{TURN}\n[expect]\neffects = {{ a = "twice" }}',
            "s.toml:7: expect.effects.a: unknown count 'twice'; known here: at-most-once,",
        ),
        (
            TURN,
            f'{TURN}\n[expect]\noutcome = "complete"',
            "s.toml:7: unknown outcome 'complete'; did you mean 'completed'?",
        ),
        (TURN, TURN + EVENT.replace("= 1", "= 0"), "s.toml:7: event[1].launch: expected 1 or more"),
        (
            TURN,
            TURN + EVENT.replace("provider:500", "errno:ENOSPC"),
            "s.toml:8: 'errno:ENOSPC' cannot happen at 'provider:1/request'; expected 'log:NAME#N/",
        ),
        (
            TURN,
            TURN + EVENT.replace("provider:500", "errno:ENOENT"),
            "s.toml:9: not an event: 'errno:ENOENT'; expected errno:ENOSPC, errno:EIO*3 (the next ",
        ),
        (
            TURN,
            TURN + EVENT.replace("provider:500", "erno:ENOSPC"),
            "s.toml:9: not an event: 'erno:ENOSPC'; did you mean 'errno'?; there are provider:FAUL",
        ),
        (
            TURN,
            TURN + SIGNAL.replace("log:assistant#1/before", "log:assistant#1/torn@3"),
            "s.toml:8: 'signal:INT' cannot happen at 'log:assistant#1/torn@3'; expected 'provider:",
        ),
        (
            TURN,
            TURN + SIGNAL + SIGNAL.replace("INT", "TERM"),
            "s.toml:13: launch 1 has an event at log:assistant#1/before already: signal:INT; an",
        ),
        (
            TURN,
            TURN + EVENT.replace("1/request", "1/response"),
            "s.toml:8: 'provider:500' cannot happen at 'provider:1/response'; expected 'provider:",
        ),
        (
            TURN,
            TURN + '\n[[event]]\nlaunch = 2\ndo = "delete:.agent/sessions"\n',
            "s.toml:8: 'delete:.agent/sessions' would change where the session lies; a schedule",
        ),
        (
            TURN,
            TURN + '\n[[event]]\nlaunch = 2\ndo = "write:.agent=x"\n',
            "s.toml:8: 'write:.agent=x' would change where the session lies; a schedule can damage",
        ),
        (
            TURN,
            TURN + EVENT.replace("provider:500", "errno:EINTR*"),
            "s.toml:9: not an event: 'errno:EINTR*'; expected errno:ENOSPC, errno:EIO*3 (the next",
        ),
        (
            TURN,
            TURN + EVENT + EVENT,
            "s.toml:13: launch 1 has an event at provider:1/request already: provider:500; an "
            "instant has one provider at most",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, message: str) -> None:
    assert old in SMALLEST
    assert refused(SMALLEST.replace(old, new, 1))[: len(message)] == message


@pytest.mark.parametrize("act", ["delete:var", "write:var/lib=x", "delete:var/lib/s/1"])
def test_what_lies_around_or_in_the_session_is_not_changed(act: str) -> None:
    text = f'{SMALLEST}[[event]]\nlaunch = 1\ndo = "{act}"\n'
    deep = replace(agent("agent"), state=("./var/lib/s/",))
    with pytest.raises(ScenarioError, match="would change where the session lies"):
        parse_scenario(text, "s.toml", lambda _name: deep)


def test_paths_of_files_are_in_their_shortest_form() -> None:
    scenario = parse(f'{SMALLEST}[files]\n"./a//b/./c" = "x"\n"a/bc" = "y"\n')
    assert scenario.files == {"a/b/c": "x", "a/bc": "y"}


def test_a_turn_that_can_never_be_the_answer() -> None:
    assert refused(SMALLEST + '[[provider.turn]]\ncontent = "unheard"\n').startswith(
        "s.toml:6: turn 2 can never be the answer: a turn without tool_calls"
    )
    cut = DEPLOY.replace('"done"', '"done"\n').replace(
        "[[provider.turn]]\ntool_calls", '[[provider.turn]]\nfinish_reason = "length"\ntool_calls'
    )
    assert "turn 2 can never be the answer" in refused(cut)


def test_a_turn_for_a_prompt_that_nobody_says() -> None:
    text = DEPLOY.replace('content = "done"', 'content = "done"\nwhen = { prompt = "deploy them" }')
    assert refused(text) == "s.toml:14: no step says 'deploy them'; did you mean 'deploy it'?"


def test_a_request_that_nothing_answers() -> None:
    text = DEPLOY.replace('[[provider.turn]]\ncontent = "done"\n', "")
    assert refused(text).startswith(
        "s.toml:8: nothing answers the prompt 'deploy it' when the model is asked "
        "after 1 turn(s) with tool_calls; add a [[provider.turn]]"
    )


def test_a_fault_at_a_request_that_is_never_made() -> None:
    assert refused(SMALLEST + EVENT.replace(":1/", ":2/")) == (
        "s.toml:9: no launch makes request 2: the longest run makes 1"
    )


def test_every_prompt_walks_the_turns_anew() -> None:
    text = DEPLOY.replace('run = "deploy it"', 'run = "deploy it"\n[[step]]\nrun = "and again"')
    assert len(parse(text).steps) == 2


def test_text_that_tomllib_cannot_read_at_all() -> None:
    assert "nested too deeply" in refused("a = " + "[" * 5000)
    assert refused("a = " + "9" * 5000).startswith("s.toml:1: not valid TOML")
