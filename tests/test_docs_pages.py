"""The pages for owners of other agents are true: what they show works, what they list is all."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from agent.errors import CODES
from agent.facts import SYNTHETIC_TEXT
from agent.inspection import inspect
from agent.outcome import EXIT_CODES
from agent.planner import (
    ATTEMPTS_EXHAUSTED,
    CONFIGURATION_CHANGED,
    ENVIRONMENT_CHANGED,
    REPLAY_DECLARATION_CHANGED,
)
from chaos.cli.parser import parse
from chaos.errors import ScenarioError
from chaos.judge import STATEMENTS
from chaos.judge.log import read_log
from chaos.judge.strict import check_log
from chaos.provider.faults import KNOWN
from chaos.scenario import parse_scenario
from chaos.scenario_events import KINDS
from chaos.target import OUTCOMES, Target, parse_target
from chaos.transcript import KEYS as TRANSCRIPT_KEYS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LOG_PAGE = (DOCS / "session-log.md").read_text(encoding="utf-8")
TARGET_PAGE = (DOCS / "targets.md").read_text(encoding="utf-8")
CORPUS = sorted((ROOT / "tests" / "corpus" / "logs").glob("*.jsonl"))
UNKNOWN = "zzz"  # like no key that there is, so that an error lists them all


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def section(page: str, heading: str) -> str:
    """The text from a heading to the next one."""
    found = re.search(
        rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", page, re.MULTILINE | re.DOTALL
    )
    assert found, heading
    return found[1]


def rows(page: str) -> list[list[str]]:
    """The cells of every row of every table."""
    lines = (line for line in page.splitlines() if line.startswith("| "))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def first_code(row: list[str]) -> str:
    """What the first code span of a row's first cell says."""
    found = re.match(r"`([^`]+)`", row[0])
    return found[1] if found else ""


def example() -> list[bytes]:
    """The log that the page shows, a line each. It is broken there to be read."""
    return [
        json.dumps(json.loads(block), ensure_ascii=False).encode() + b"\n"
        for block in blocks(LOG_PAGE, "json")
    ]


# --- session-log.md ------------------------------------------------------------------------------


def test_the_log_of_the_page_is_valid_for_both_readers() -> None:
    log = b"".join(example())
    assert check_log(log) == []
    told = inspect(log)
    assert told["ok"] is True
    assert told["state"]["operation"] == {"kind": "idle"}
    assert [message["role"] for message in told["state"]["transcript"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


@pytest.mark.parametrize("count", range(1, len(example())))
def test_a_crash_between_any_two_of_its_lines_leaves_a_valid_log(count: int) -> None:
    whole, torn = example()[:count], example()[count][:-1]  # all but its LF
    for log in (b"".join(whole), b"".join(whole) + torn):
        assert check_log(log) == []
        assert inspect(log)["ok"] is True


@pytest.mark.parametrize("left_out", range(len(example()) - 1))
def test_none_of_its_lines_can_be_left_out(left_out: int) -> None:
    lines = example()
    del lines[left_out]
    log = b"".join(lines)
    assert check_log(log)
    assert inspect(log)["ok"] is False


def test_its_lines_are_announced_in_order() -> None:
    assert re.findall(r"^Line (\d+)\.", LOG_PAGE, re.MULTILINE) == [
        str(number) for number in range(1, len(example()) + 1)
    ]


# Objects whose keys are no part of a fact's own row.
ELSEWHERE = {"toolStarted": {"arguments"}, "compaction": {"message"}}


def keys_in(value: object, elsewhere: set[str]) -> set[str]:
    """Every key of a JSON value, at any depth."""
    if isinstance(value, list):
        return {key for each in value for key in keys_in(each, elsewhere)}
    if not isinstance(value, dict):
        return set()
    inside = (keys_in(each, elsewhere) for name, each in value.items() if name not in elsewhere)
    return set(value).union(*inside)


def test_the_tables_name_every_fact_and_every_key() -> None:
    """As far as the accepted logs of the corpus have them, which is all."""
    met: dict[str, set[str]] = defaultdict(set)
    for path in CORPUS:
        if not check_log(data := path.read_bytes()):
            for fact in read_log(data).facts:
                met[fact.type] |= keys_in(fact.body, ELSEWHERE.get(fact.type, set()))
    facts = LOG_PAGE.partition("## Facts")[2].partition("\n## ")[0]
    said: dict[str, str] = defaultdict(str)
    for row in rows(facts):
        said[first_code(row)] += row[2]
    common, _, snapshot = facts.partition("`configurationSnapshot` holds")
    said["stepAttempt"] += snapshot.partition("\n\n")[0]
    in_a_record = {"type", "operationId"}
    assert all(f"`{key}`" in common for key in ("kind", "seq", "id", "timestamp", *in_a_record))
    assert {name for name in said if name and name != "fact"} == met.keys()
    for name, keys in met.items():
        named = set(re.findall(r"`(\w+)`", said[name]))
        assert keys - {"kind", "seq", "id", "timestamp"} - in_a_record <= named, name


def test_the_header_is_described_key_by_key() -> None:
    described = re.search(r"^The header: (.*?)\n\n", LOG_PAGE, re.MULTILINE | re.DOTALL)
    assert described
    for key in json.loads(blocks(LOG_PAGE, "json")[0]):
        assert f"`{key}`" in described[1]


def test_every_error_code_is_in_the_table_and_no_other() -> None:
    table = rows(section(LOG_PAGE, "Error codes"))
    named = [re.findall(r"`([A-Z0-9_]+)`", row[0]) for row in table]
    assert sorted(code for codes in named for code in codes) == sorted(CODES)


def test_synthetic_texts_are_word_for_word() -> None:
    table = rows(section(LOG_PAGE, "Synthetic results"))[1:]
    assert {first_code(row): row[1] for row in table} == {
        reason: f"`{text}`" for reason, text in SYNTHETIC_TEXT.items()
    }


def test_the_table_of_what_comes_next_names_every_reason_to_block() -> None:
    after = LOG_PAGE.partition("| the log shows | next |")[2].partition("\n\n")[0]
    reasons = (
        ATTEMPTS_EXHAUSTED,
        CONFIGURATION_CHANGED,
        ENVIRONMENT_CHANGED,
        REPLAY_DECLARATION_CHANGED,
    )
    assert all(f"`{blocked.reason}`" in after for blocked in reasons)


def test_exit_codes_of_the_built_in_agent() -> None:
    target = parse_target((ROOT / "chaos" / "targets" / "agent.toml").read_text(), "agent.toml")
    told = {first_code(row): row[2] for row in rows(section(LOG_PAGE, "Exit codes"))[1:]}
    assert told == {outcome: str(target.exit_codes[outcome]) for outcome in OUTCOMES}
    for outcome in ("completed", "failed", "blocked", "aborted"):
        assert int(EXIT_CODES[outcome]) == target.exit_codes[outcome]


# --- targets.md ----------------------------------------------------------------------------------


def the_target() -> Target:
    return parse_target(blocks(TARGET_PAGE, "toml")[0], "targets/mine.toml")


def test_the_example_is_a_target() -> None:
    target = the_target()
    argv = target.command("run", session="S", prompt="--help me")
    assert argv == ("mine", "run", "--session", "S", "--", "--help me")
    assert target.environment(base_url="u", api_key="k")["MINE_API_KEY"] == "k"


def test_the_scenario_that_checks_it_is_one() -> None:
    scenario = parse_scenario(blocks(TARGET_PAGE, "toml")[2], "hello.toml", lambda _: the_target())
    assert scenario.target.name == "mine"


def test_a_target_that_is_not_read_is_one_too() -> None:
    target = parse_target(blocks(TARGET_PAGE, "toml")[1], "targets/other.toml")
    assert target.session.shell is not None
    assert target.session.shell.call("date") == {"cmd": "date"}
    assert target.goes_on


def accepted(text: str) -> set[str]:
    """What `parse_target` takes where `text` has UNKNOWN, as its error lists it."""
    with pytest.raises(ScenarioError) as caught:
        parse_target(text, "t.toml")
    known = str(caught.value).partition("known here: ")[2]
    assert known, caught.value
    return set(known.split(", "))


def test_the_page_names_every_key_that_a_target_may_have_and_no_other() -> None:
    text = blocks(TARGET_PAGE, "toml")[0]
    keys = accepted(f"{UNKNOWN} = 1\n{text}")
    for table in ("commands", "exit_codes"):
        inside = accepted(text.replace(f"[{table}]", f"[{table}]\n{UNKNOWN} = 1"))
        keys |= {f"[{table}] {key}" for key in inside}
    for table in ("limits", "warm", "shell"):
        inside = accepted(f"{text}[{table}]\n{UNKNOWN} = 1\n")
        keys |= {f"[{table}] {key}" for key in inside}
    keys |= {f"[transcript] {key}" for key in TRANSCRIPT_KEYS}
    assert {first_code(row) for row in rows(section(TARGET_PAGE, "Every key"))[1:]} == keys


def test_the_page_names_every_placeholder_and_dialect() -> None:
    text = blocks(TARGET_PAGE, "toml")[0]
    placeholders = accepted(text.replace("{prompt}", f"{{prompt}} {{{UNKNOWN}}}"))
    listed = {first_code(row) for row in rows(section(TARGET_PAGE, "Placeholders"))[1:]}
    assert listed == {f"{{{placeholder}}}" for placeholder in placeholders}
    for dialect in accepted(text.replace("session-v2", UNKNOWN)):
        assert f"`{dialect}`" in TARGET_PAGE


def test_defaults_of_limits_are_those_of_the_page() -> None:
    told = {first_code(row): row[2] for row in rows(section(TARGET_PAGE, "Every key"))}
    target = the_target()
    assert float(told["[limits] launch_s"]) == target.launch_limit_s
    assert float(told["[limits] grace_s"]) == target.grace_s


# --- both, and scenarios.md ----------------------------------------------------------------------


@pytest.mark.parametrize("page", [LOG_PAGE, TARGET_PAGE], ids=["session-log", "targets"])
def test_commands_rules_and_anchors(page: str) -> None:
    commands = re.findall(r"^ {4,}chaos ([^#\n]+)", page, re.MULTILINE)
    assert commands
    for command in commands:
        assert parse(command.split()).command
    assert set(re.findall(r"\b[LPERX]\d+\b", page)) <= STATEMENTS.keys()
    for target, anchor in re.findall(r"\]\(([a-z-]+\.md)#([a-z-]+)\)", page):
        headings = re.findall(r"^#+ (.*)", (DOCS / target).read_text("utf-8"), re.MULTILINE)
        assert anchor in {heading.lower().replace(" ", "-") for heading in headings}


def test_scenarios_md_names_every_event_in_full() -> None:
    page = (DOCS / "scenarios.md").read_text(encoding="utf-8")
    for event in KNOWN:
        assert f"`{event}`" in page
    for kind in KINDS:
        assert f"| `{kind}" in page
