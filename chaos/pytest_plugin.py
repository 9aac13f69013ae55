"""The pytest plugin: scenario files as tests, and a fixture for tests of your own.

    pytest scenarios/ --chaos-launch warm    # a test for each kill point of each scenario
    def test_it(chaos): chaos.run(…).check() # see docs/python.md

A scenario file starts programs, so only what is named on the command line is collected: the file
itself, or a folder other than the current one and those above it.

pytest loads this in every project that has killpoint installed. Promises: until a scenario is named
or the fixture is used, it costs the import of this file (chaos itself is imported later) and a look
at the arguments, and changes nothing. One harness serves the session, and ends with it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from chaos.api import Harness
    from chaos.points import Phase, Schedule
    from chaos.scenario import Scenario

_SUFFIX = ".toml"
_TARGETS = "targets"  # a folder of profiles, not of scenarios
_HARNESS = pytest.StashKey["Harness"]()
# Of a file that is no TOML yet: is it meant to be a scenario?
_MEANT = re.compile(r"^\s*\[\[ *provider *\. *turn|^\s*target\s*\.\s*profile", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, by the names that `chaos run` has for them."""
    group = parser.getgroup("chaos", "kill points (killpoint)")
    group.addoption(
        "--chaos-launch",
        choices=("exec", "warm"),
        default="exec",
        help="how targets are started: a fresh process, or a fork of one that has its imports done",
    )
    group.addoption(
        "--chaos-phases",
        type=_phases,
        metavar="PHASES",
        help="before,torn,after,request,chunk,response, or some; default: as each scenario says",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect scenarios if one could be among what is named."""
    if config.args_source is not config.ArgsSource.ARGS:
        return
    here = config.invocation_params.dir
    named = [_real(here / arg.partition("::")[0]) for arg in config.args]
    roots = [path for path in named if not _real(here).is_relative_to(path)]
    if any(path.suffix == _SUFFIX or path.is_dir() for path in roots):
        config.pluginmanager.register(_Collector(roots), "killpoint-scenarios")


@pytest.fixture(scope="session")
def chaos(pytestconfig: pytest.Config) -> Harness:
    """A `chaos.Harness` for the session: `chaos.run(scenario, kill=…)`, `chaos.sweep(…)` …"""
    harness = _harness(pytestconfig)
    if not pytestconfig.pluginmanager.has_plugin("killpoint-explains"):
        pytestconfig.pluginmanager.register(_Explains(harness), "killpoint-explains")
    return harness


class _Collector:
    """Finds scenarios below the paths that were named."""

    def __init__(self, roots: list[Path]) -> None:
        self._roots = roots

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> Any:
        """A collector of the scenario in this file, if it is one."""
        if file_path.suffix != _SUFFIX:
            return None
        path = _real(file_path)
        if path in self._roots or (self._below(path) and _is_scenario(path)):
            return ScenarioFile.from_parent(parent, path=file_path)
        return None

    def _below(self, path: Path) -> bool:
        above = [root for root in self._roots if path.is_relative_to(root)]
        return any(_TARGETS not in path.relative_to(root).parts for root in above)


class ScenarioFile(pytest.File):
    """A scenario: its run without a kill is made to collect it, and tells its kill points."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test for the run without a kill, and one for each kill."""
        from chaos.errors import ChaosError
        from chaos.scenario import load_scenario
        from chaos.supervise.schedules import schedule_id

        harness, phases = _harness(self.config), self.config.getoption("chaos_phases")
        try:
            scenario = load_scenario(str(self.path))
            schedules = harness.schedules(scenario, phases=phases)
        except ChaosError as error:
            raise self.CollectError(str(error)) from None
        for schedule in schedules:
            ident = schedule_id(scenario.name, schedule)
            yield KillTest.from_parent(self, name=ident, scenario=scenario, schedule=schedule)


class KillTest(pytest.Item):
    """One schedule: passes where its verdict is PASS, and for no other verdict."""

    def __init__(self, *, scenario: Scenario, schedule: Schedule, **rest: Any) -> None:
        super().__init__(**rest)
        self._scenario = scenario
        self._schedule = schedule

    def runtest(self) -> None:
        """Carry the schedule out and judge it."""
        _harness(self.config).carry_out(self._scenario, self._schedule, whole=False).check()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What `chaos run` says of it, and in pytest's summary a line: where `CI` is set, pytest
        cuts nothing there."""
        from chaos.api_run import NotPassed
        from chaos.errors import ChaosError

        error = excinfo.value
        again = f"  again     {self._again()}"
        if isinstance(error, NotPassed):
            return _represented(excinfo, error.headline, f"{error}{again}\n")
        if isinstance(error, ChaosError):
            said = f"HARNESS_ERROR: {error}"
            return _represented(excinfo, said.partition("\n")[0], f"{said}\n{again}\n")
        return super().repr_failure(excinfo, style)

    def _again(self) -> str:
        """The command, for the directory in which pytest was called."""
        file = os.path.relpath(self.path, self.config.invocation_params.dir)
        words = ["pytest", f"{file}::{self.name}"]
        words += ["--chaos-launch", self.config.getoption("chaos_launch")]
        if phases := self.config.getoption("chaos_phases"):
            words += ["--chaos-phases", ",".join(phases)]
        return shlex.join(words)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where pytest says the test is."""
        return self.path, 0, self.name


class _Explains:
    """A failed test that used the fixture shows its last run, whatever it asserted."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    def pytest_runtest_setup(self) -> None:
        """A run of an earlier test is not this one's."""
        self._harness.last_run = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the explanation to the report, unless it is what the test failed with."""
        from chaos.api_run import NotPassed

        report = yield
        run = self._harness.last_run
        told = call.excinfo is not None and isinstance(call.excinfo.value, NotPassed)
        if report.failed and run is not None and not told:
            report.sections.append(("chaos: the last run", run.explain()))
        return report


def _represented(excinfo: pytest.ExceptionInfo[BaseException], headline: str, text: str) -> Any:
    """A failure as pytest keeps one (for its summary, JUnit, xdist), with our words in it."""
    made = excinfo.getrepr(style="native")
    entry = made.reprtraceback.reprentries[0]
    entry.lines = text.splitlines(keepends=True)
    made.reprtraceback.reprentries = [entry]
    if made.reprcrash:
        made.reprcrash.message = headline
    return made


def _harness(config: pytest.Config) -> Harness:
    """The harness of the session, made when it is first needed."""
    if _HARNESS not in config.stash:
        from chaos.api import Harness

        harness = Harness(launch=config.getoption("chaos_launch"))
        config.add_cleanup(harness.close)
        config.stash[_HARNESS] = harness
    return config.stash[_HARNESS]


def _real(path: Path) -> Path:
    """Without links. Not Path.resolve, which raises for one that leads to itself."""
    return Path(os.path.realpath(path))


def _is_scenario(path: Path) -> bool:
    """Has the file what makes a scenario? One that is wrong otherwise is told so; a file of
    another kind is left alone."""
    import tomllib

    try:
        text = path.read_text(encoding="utf-8")
        content: dict[str, Any] = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, RecursionError):
        return False
    except ValueError:
        return _MEANT.search(text) is not None
    target, provider = content.get("target"), content.get("provider")
    named = isinstance(target, dict) and "profile" in target
    return named or (isinstance(provider, dict) and "turn" in provider)


def _phases(text: str) -> tuple[Phase, ...]:
    from chaos.cli.parser import phases

    return phases(text)
