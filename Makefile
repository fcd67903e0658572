.PHONY: help demo test soak check record bench setup docs
.DEFAULT_GOAL := help

PY ?= python3
BIN := .venv/bin
UV := $(or $(shell command -v uv),$(BIN)/uv)
# uv does not read pip's settings; where it reaches no index, pip does.
INSTALL = UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1 $(UV) pip install --quiet --python $(BIN)/python -c constraints.txt $(1) || $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt $(1)
BASE := .venv/base
READY := .venv/ready

help: ## say what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

setup: $(READY) ## make .venv with the pinned versions of all that the tests need

$(BASE): pyproject.toml constraints.txt
	@$(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hobbes needs Python 3.11 or newer: make PY=python3.11 ..."; exit 2; }
	@$(PY) -c 'import sys; from hobbes.links import missing_links; sys.exit(missing_links())'
	@echo "making .venv, with $$($(PY) --version)"
	@$(PY) -m venv .venv
	@test -x $(UV) || { echo "bringing uv, which installs the rest"; $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt uv; }
	@echo "installing hobbes and what it needs: about 80 packages, 180 MB (10 seconds or so)"
	@$(call INSTALL,-e .)
	@touch $(BASE)

$(READY): $(BASE)
	@echo "adding what the tests need: about 130 packages, 1 GB (half a minute or so)"
	@$(call INSTALL,-e '.[dev]')
	@touch $(READY)

test: $(READY) ## run the whole test suite, the network blocked
	@$(BIN)/pytest -n auto --dist worksteal

soak: $(READY) ## run the long tests: laws, fuzz, kills, faults, power cuts (an hour or so)
	@$(BIN)/pytest -n auto --dist worksteal --hypothesis-profile=soak -m '' tests/engine/*/test_laws.py tests/contract/test_ways.py tests/probe/test_probes.py tests/probe/test_probe_calibration.py tests/soak

check: $(READY) ## lint, types, floors, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory test

demo: $(BASE) ## show a broken promise of a language model, and play a run of scripted policies
	@$(BIN)/hobbes demo

record: $(READY) ## record the cassettes anew: the stand-in server, or OPENAI_BASE_URL and MODEL
	@$(BIN)/python -m hobbes.wire.recorder

docs: $(BASE) ## build the documentation as a site, into site/
	@$(call INSTALL,-e '.[docs]')
	@$(BIN)/zensical build --clean --strict
	@$(BIN)/python docs/llms_texts.py

bench: $(READY) ## measure speed, and say where the time goes
	@$(BIN)/python -m benchmarks
