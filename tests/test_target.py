"""Target files: what they say, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from chaos.errors import ScenarioError
from chaos.target import NEVER, TargetNotFound, load_target, parse_target

SMALLEST = """\
name = "mine"
about = "A program of my own."
dialect = "session-v2"
log = "log/*.jsonl"
state = ["log"]
[commands]
run = ["mine", "--dir", "{workspace}", "{prompt}"]
resume = ["mine", "--again"]
[exit_codes]
completed = 0
"""


def refused(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_target(text, "t.toml")
    return str(caught.value)


def test_ten_lines_make_a_target() -> None:
    target = parse_target(SMALLEST, "t.toml")
    assert target.commands["resume"] == ("mine", "--again")
    assert target.exit_codes["completed"] == 0
    assert target.exit_codes["blocked"] == NEVER  # left out: it never exits so
    assert (target.launch_limit_s, target.grace_s) == (20.0, 2.0)
    assert target.warm is None
    assert target.source == SMALLEST


def test_placeholders_are_filled_once() -> None:
    target = parse_target(SMALLEST, "t.toml")
    # A prompt that looks like a placeholder is still the user's text.
    argv = target.command("run", prompt="{workspace} {home}", workspace="/w")
    assert argv == ("mine", "--dir", "/w", "{workspace} {home}")


def test_its_home_is_laid_out_as_it_stands() -> None:
    target = parse_target(f"{SMALLEST}[home]\n'.config/mine.json' = '{{home}}'\n", "t.toml")
    assert target.home == {".config/mine.json": "{home}"}


def test_the_built_in_agent() -> None:
    target = load_target("agent", beside="/nowhere")
    argv = target.command("run", workspace="/w", session="S", prompt="hello")
    assert argv[0] == sys.executable
    assert argv[-2:] == ("--", "hello")  # a prompt may begin with a dash
    assert target.environment(base_url="http://m/v1", api_key="k")["AGENT_API_KEY"] == "k"
    assert target.exit_codes == {
        "completed": 0,
        "failed": 1,
        "blocked": 3,
        "corrupt": 4,
        "busy": 5,
        "aborted": 130,
    }


def test_a_target_beside_the_scenario_comes_first(tmp_path: Path) -> None:
    (tmp_path / "targets").mkdir()
    (tmp_path / "targets/agent.toml").write_text(SMALLEST)
    assert load_target("agent", str(tmp_path)).name == "mine"
    assert load_target("./targets/agent.toml", str(tmp_path)).name == "mine"


def test_an_unknown_name_brings_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(TargetNotFound, match=r"^no target 'agnet'; did you mean 'agent'\?$"):
        load_target("agnet", str(tmp_path))
    with pytest.raises(TargetNotFound, match=r"no target file .*/mine\.toml"):
        load_target("./mine.toml", str(tmp_path))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("dialect =", "dialct =", "t.toml:3: unknown key 'dialct'; did you mean 'dialect'?"),
        ("session-v2", "v2", "t.toml:3: unknown dialect 'v2'; known here: opaque, session-v2"),
        ("log/*", "/log/*", "t.toml:4: log: '/log/*.jsonl' leads out of the workspace"),
        ('["log"]', '["../log"]', "t.toml:5: state: '../log' leads out of the workspace"),
        ('["log"]', "[]\n[comands]", "t.toml:6: unknown key 'comands'; did you mean 'commands'?"),
        (
            "{workspace}",
            "{workspce}",
            "t.toml:7: unknown placeholder {workspce}; did you mean 'workspace'?",
        ),
        (
            '"{prompt}"',
            '"prompt"',
            "t.toml:7: commands.run must hold {prompt}, or no prompt reaches it",
        ),
        ('["mine", "--again"]', "[]", "t.toml:8: commands.resume is empty; name the program"),
        ("resume", "#", "t.toml:6: missing key 'commands.resume' (an array)"),
        ("completed", "complete", "t.toml:10: unknown key 'exit_codes.complete'; did you mean"),
        ("= 0", "= 256", "t.toml:10: exit_codes.completed: an exit code is 0…255"),
        ("= 0", "= true", "t.toml:10: exit_codes.completed: expected a whole number, found true"),
        (
            "= 0",
            "= 0\n[limits]\ngrace_s = 0",
            "t.toml:12: limits.grace_s: expected seconds in 0…3600, found 0",
        ),
        ("= 0", "= 0\n[env]\nA = 1", "t.toml:12: env.A: expected a string, found a whole number"),
        ("= 0", "= 0\n[env]\nCHAOS_X = ''", "t.toml:12: env: CHAOS_X belongs to the harness"),
        (
            "= 0",
            "= 0\n[home]\n'../x' = ''",
            "t.toml:12: home: expected a file's path inside the HOME",
        ),
        ("= 0", "= 0\n[warm]", "t.toml:11: missing key 'warm.module' (a string)"),
        (
            "= 0",
            '= 0\n[warm]\nmodule = "m"\nrehearsal = [\n"rum"]',
            "t.toml:14: warm.rehearsal: no command 'rum'; did you mean 'run'?",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, message: str) -> None:
    assert old in SMALLEST
    assert refused(SMALLEST.replace(old, new, 1))[: len(message)] == message


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_bytes(b"name = 'x'\nabout = '\xff'\n")
    with pytest.raises(ScenarioError, match=r"t\.toml:2: not UTF-8"):
        load_target("./t.toml", str(tmp_path))
