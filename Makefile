.PHONY: help demo test soak check record bench setup docs
.DEFAULT_GOAL := help

PY ?= python3
BIN := .venv/bin
READY := .venv/ready

help: ## say what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

setup: $(READY) ## make .venv with the pinned versions

$(READY): pyproject.toml constraints.txt
	@$(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hobbes needs Python 3.11 or newer: make PY=python3.11 ..."; exit 2; }
	@$(PY) -c 'import sys; from hobbes.links import missing_links; sys.exit(missing_links())'
	@echo "setting up .venv (once, a few minutes)"
	@$(PY) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
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

demo: $(READY) ## play a mining run of scripted policies, and say what to look at next
	@$(BIN)/hobbes run mining --agents 10 --rounds 60 --model 'policy:guided?noise=0.05*7,policy:tit-for-tat-raid*2,policy:random'

	@echo "$$NEXT"

define NEXT

What to look at next:
  $(BIN)/hobbes view
      this run as web pages, until you press Ctrl-C
  $(BIN)/hobbes replay cassettes/trust-duel.yaml
      a recorded game of the stand-in server, played again without a network (docs/cassettes.md)
  mkdir -p pilot && gunzip -c experiments/pilot/runs.db.gz > pilot/runs.db
  $(BIN)/hobbes view --home pilot
      21 recorded games of language models as web pages (docs/pilot.md)
endef
export NEXT

record: $(READY) ## record the cassettes anew: the stand-in server, or OPENAI_BASE_URL and MODEL
	@$(BIN)/python -m hobbes.wire.recorder

docs: $(READY) ## build the documentation as a site, into site/
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@$(BIN)/zensical build --clean --strict
	@$(BIN)/python -m hobbes.show.llms_texts

bench: $(READY) ## measure speed, and say where the time goes
	@$(BIN)/python -m benchmarks
