"""The standard course of `chaos certify`: the scenarios that every target is put to.

They are scenario files like any other, but for their target, which is added: a failure of one
carries it along.
"""

from __future__ import annotations

from pathlib import Path

from chaos.scenario import Scenario, parse_scenario
from chaos.target import Target
from chaos.toml_write import write_toml

_FILES = Path(__file__).parent / "standard_course"


def standard_course(target: Target) -> list[Scenario]:
    """The scenarios for a target; one whose model can run no command has those without tools."""
    shell = target.session.shell
    tools = "tools" if shell and shell.parallel else "tools-one-by-one"
    profile = write_toml({"target": {"profile": target.name}})
    scenarios = []
    for place, name in enumerate((tools, "answer") if shell else ("answer",), start=1):
        text = f"{(_FILES / name).with_suffix('.toml').read_text(encoding='utf-8')}\n{profile}"
        scenarios.append(parse_scenario(text, f"<certify>/{place}.toml", lambda _: target))
    return scenarios
