# Every target makes its own .venv first, so each works alone on a fresh clone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# What `make chaos` runs; `make chaos-full` runs all of scenarios/ and every family of faults.
QUICK  := $(addprefix scenarios/,calls abort compaction regression)
CLOSED := $(addprefix scenarios/calls/,plain-answer.toml safe-read-is-replayed.toml length-cuts-the-calls.toml)
COLD   := $(addprefix scenarios/calls/,plain-answer.toml deploy-is-never-repeated.toml)
DISTURBED := $(addprefix scenarios/calls/,plain-answer.toml deploy-is-never-repeated.toml three-calls-in-one-turn.toml)

# How many random mutants, and which.
N    := 200
SEED := 1

.PHONY: venv chaos chaos-full chaos-closure test test-slow lint bench docs demo screenshots mutants random-mutants unit-mutants stress soak targets clean

venv: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# Every scenario of QUICK with one kill; the crashes of crashes of three, to the closure; two of them cold.
chaos: $(STAMP)
	$(BIN)/chaos run $(QUICK) --launch warm
	$(BIN)/chaos run $(CLOSED) --launch warm --depth closure --report chaos-report-closed
	$(BIN)/chaos run $(COLD) --launch exec --phases before,after --report chaos-report-cold

# Everything: all scenarios with one kill (at every kind of fact, in every phase: else it fails), then
# the other families of faults. Prints its time.
chaos-full: $(STAMP)
	@date +%s > .chaos-full
	$(BIN)/chaos run scenarios --launch warm --report chaos-report-full
	$(BIN)/python -m tests.stress.coverage chaos-report-full/report.json
	$(BIN)/chaos run scenarios/damage/two-turns.toml --launch warm --faults damage --report chaos-report-damage
	$(BIN)/chaos run scenarios/power-loss $(DISTURBED) --launch warm --faults power-loss --report chaos-report-power-loss
	$(BIN)/chaos run $(DISTURBED) --launch warm --faults concurrent --report chaos-report-concurrent
	$(BIN)/chaos run $(DISTURBED) --launch warm --faults signal --report chaos-report-signal
	$(BIN)/chaos run $(DISTURBED) --launch warm --faults error --report chaos-report-error
	@echo "chaos-full: $$(( $$(date +%s) - $$(cat .chaos-full) )) s"; rm .chaos-full

chaos-closure: $(STAMP)
	$(BIN)/chaos run $(QUICK) --launch warm --depth closure

# In two processes side by side; of a single test, `pytest PATH` says more.
test: $(STAMP)
	$(BIN)/python -m tests.halves

# The tests marked slow (equal verdicts of warm and cold, killed and harvested, on all scenarios; a log
# cut at every byte; images against the model; 80,000 mutated logs), and a stream cut at every byte. Hours.
test-slow: $(STAMP)
	$(BIN)/python -m pytest --slow
	CHAOS_FULL=1 $(BIN)/python -m pytest tests/provider/test_every_byte.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m tests.bench

docs: $(STAMP)
	$(BIN)/python docs/build.py --runs

# A planted bug, its failure, its report, its shrunk scenario, then the sound agent passing.
demo: $(STAMP)
	$(BIN)/python docs/demo.py

# The pictures of the HTML report in docs/, from real runs. Needs chromium.
screenshots: $(STAMP)
	$(BIN)/python docs/screenshots.py

# Every planted bug against the sweep that must catch it: caught, missed, or by the wrong rule.
mutants: $(STAMP)
	$(BIN)/python -m tests.planted.score

# Bugs that nobody chose, against the sweep alone. Goes on where it stood: chaos-report-mutants/.
random-mutants: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mutants]'
	$(BIN)/python -m tests.stress.mutants --count $(N) --seed $(SEED)

# Are the unit tests exact? Random mutants of the judge, and of the agent's reducer and planner.
unit-mutants: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mutants]'
	$(BIN)/python -m tests.stress.unit_mutants --count $(N) --seed $(SEED)

# The harness under stress: kills under load, byte for byte; then the harness itself is killed.
stress: $(STAMP)
	$(BIN)/python -m tests.stress.exactness
	$(BIN)/python -m tests.stress.deaths

# The sound agent over all scenarios, 20 times: not one alarm. An hour and more.
soak: $(STAMP)
	$(BIN)/python -m tests.stress.soak

# Real agents to certify, below .targets/ (npm, PyPI; versions in tests/targets/install.py).
targets: $(STAMP)
	$(BIN)/python -m tests.targets.install

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
