# Every target makes its own .venv first, so each works alone on a fresh clone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
CLOSED := $(addprefix scenarios/,plain-answer.toml safe-read-is-replayed.toml length-cuts-the-calls.toml)
COLD   := $(addprefix scenarios/,plain-answer.toml deploy-is-never-repeated.toml)

.PHONY: venv chaos chaos-closure test test-slow lint bench docs mutants clean

venv: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# Every scenario with one kill; the crashes of crashes of three, to the closure; two of them cold.
chaos: $(STAMP)
	$(BIN)/chaos run scenarios --launch warm
	$(BIN)/chaos run $(CLOSED) --launch warm --depth closure --report chaos-report-closed
	$(BIN)/chaos run $(COLD) --launch exec --phases before,after --report chaos-report-cold

chaos-closure: $(STAMP)
	$(BIN)/chaos run scenarios --launch warm --depth closure

test: $(STAMP)
	$(BIN)/python -m pytest

# The tests marked slow: equal verdicts of warm and cold, killed and harvested, on all scenarios …
test-slow: $(STAMP)
	$(BIN)/python -m pytest --slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m tests.bench

docs: $(STAMP)
	$(BIN)/python docs/build.py --runs

# Every planted bug against the sweep that must catch it: caught, missed, or by the wrong rule.
mutants: $(STAMP)
	$(BIN)/python -m tests.planted.score

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
