# make demo    simulate a slider-crank with clearance, friction and impacts; results go to out/
# make test    format, lint, types, layers, tests; not those that tests/slow.txt names, unless CI=true
# make test-all    all of that, with every test and a coverage report
# make bench   measure speed
# make clean   remove everything that was made
#
# Needs Python 3.11 or newer and make. Choose another interpreter with `make PYTHON=python3.12 ...`.

VENV := .venv
BIN := $(VENV)/bin

# The first interpreter that is new enough.
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11 python3.14 python,\
	$(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))

.PHONY: demo test test-all check bench clean
.DEFAULT_GOAL := demo

demo: $(VENV)/installed
	$(BIN)/stickslip run slider_crank --method rattle --t-end 0.2 --out out
	@echo
	@echo "The command is $(BIN)/stickslip; \`. $(BIN)/activate\` puts it on the path."

# Bytecode is kept, whatever the environment says: tests start many processes, and to compile the package anew takes each of
# them half a second.
test test-all: export PYTHONDONTWRITEBYTECODE =

PYTEST := $(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal
ifeq ($(CI),true)
test: test-all
else
test: check
	$(PYTEST) -m "not slow"
endif

test-all: check
	$(PYTEST) --cov=stickslip

check: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: $(VENV)/installed
	$(BIN)/python bench/run.py
	$(BIN)/python bench/studies.py 0.1

# The stamps spare a second installation, until pyproject.toml changes.
$(VENV)/installed: pyproject.toml | $(VENV)/made
	@echo "Installing stickslip into $(VENV); this takes about a minute, once."
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(VENV)/made
	@echo "Installing stickslip and its development tools into $(VENV); this takes about a minute, once."
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/installed

$(VENV)/made:
	@test -n "$(PYTHON)" || { echo "stickslip needs Python 3.11 or newer, and none was found on the PATH." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info)' 2>/dev/null || { \
		echo "stickslip needs Python 3.11 or newer, and $(PYTHON) is not. Name another: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

clean:
	rm -rf $(VENV) out build dist .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
