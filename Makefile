# All targets use the virtual environment .venv, which is created on first use. Python 3.11+ and make are sufficient.
PYTHON ?= python3
PY := .venv/bin/python
INSTALLED := .venv/.installed

.PHONY: help run docs test check bench format package requirements clean

help:            ## List the targets
	@grep -E '^[a-z]+: .*##' Makefile | sed -E 's/: .*## /\t/' | expand -t 10

$(INSTALLED): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "quatcast needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv .venv
	@echo "Installing quatcast and its tools into .venv ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/dev.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(INSTALLED)

run: $(INSTALLED)   ## Compare the predictors on simulated recordings and write a report
	@$(PY) -m quatcast compare --profile quick

test: check      ## Run all checks, doctests and tests
	$(PY) -m pytest -n auto --dist worksteal

check: $(INSTALLED) ## Run only the fast checks: format, lint, types, import layers
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports; raise SystemExit(lint_imports())'

docs: $(INSTALLED) ## Build the documentation into docs/_build/html
	$(PY) -m sphinx -q -W --keep-going docs docs/_build/html
	@echo "Documentation: docs/_build/html/index.html"

bench: $(INSTALLED) ## Measure the time per step and compare it with classical RTRL
	$(PY) benchmarks/step_time.py

format: $(INSTALLED) ## Format the code and fix lint errors that can be fixed automatically
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

package: $(INSTALLED) ## Build wheel and source distribution, and test the wheel in an empty environment
	rm -rf dist
	$(PY) -m build --no-isolation --outdir dist .
	$(PY) -m twine check --strict dist/*
	$(PYTHON) .ci/try_wheel.py dist

requirements: $(INSTALLED) ## Choose the versions of the development environment anew, with their hashes
	$(PY) -m uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
	  --upgrade --no-header --no-annotate --quiet --output-file requirements/dev.txt

clean:           ## Remove the virtual environment, caches and build results
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build docs/_build docs/api/generated docs/gallery
