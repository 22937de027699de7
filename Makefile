# `make` lists what can be done. Everything runs in .venv, made on first use and again when a lock changes.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
# What only computes keeps every core busy; what starts servers mostly waits, and is not starved by the other. A worker that
# has nothing left takes tests from another, and neighbours stay together: they share a server. Each of the many processes
# would compile the same modules anew if none were allowed to keep them.
CORES := $(shell getconf _NPROCESSORS_ONLN)
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q --dist worksteal
COMPUTING := -n $(CORES) --ignore=tests/live --ignore=tests/browser
SERVING := -n $(shell expr $(CORES) + 1) tests/live tests/browser
TIMES ?= 10

export PYTHON

.PHONY: help run tour test check explore bench docs lock clean static chromium

help: ## list the targets
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

run: $(INSTALLED) ## serve a small cluster, run real jobs on it, watch one make way and come back
	@$(BIN)/cede demo

tour: $(INSTALLED) ## take the tour: plans made from the examples, each explained
	@$(BIN)/python -m cede.cli.tour

test: static chromium ## every static check and every test
	@echo "  pytest, what only computes"
	@failed=0; $(PYTEST) $(COMPUTING) || failed=1; \
	echo "  pytest, real servers and processes"; \
	$(PYTEST) $(SERVING) || failed=1; exit $$failed

check: static chromium ## every static check and the quick tests
	@echo "  pytest, quick tests"
	@SAMPLE=0.2 $(PYTEST) -n $(shell expr $(CORES) + 2) -m "not slow"

explore: $(INSTALLED_DEV) ## look at many more of the cases that tests draw by lot, new ones each time: TIMES=10
	@echo "  pytest, $(TIMES) times as many drawn cases"
	@SAMPLE=$(TIMES) $(PYTEST) -n $(CORES) -v -m "drawn or hypothesis" --ignore=tests/live --timeout=7200 --hypothesis-profile explore

bench: $(INSTALLED) ## measure Cede beside a yardstick: NAME=plan, sim, kueue, ...; ARGS="--quick"
	@$(BIN)/python -m bench $(or $(NAME),--help) $(ARGS)

docs: $(INSTALLED_DEV) chromium ## draw anew what the docs show of the code: reference, pictures, output
	@$(BIN)/python -m docs.generate

lock: ## write both locks anew (UPGRADE=1: with the newest versions)
	@.ci/lock

clean: ## remove the virtual environment and every cache
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} +

static: $(INSTALLED_DEV)
	@echo "  ruff check"
	@$(BIN)/ruff check --no-cache --quiet
	@echo "  ruff format"
	@$(BIN)/ruff format --no-cache --check --quiet
	@echo "  mypy"
	@$(BIN)/mypy --no-error-summary
	@echo "  import contracts"
	@$(BIN)/lint-imports --no-logo >$(VENV)/contracts.log 2>&1 || { cat $(VENV)/contracts.log; exit 1; }

chromium:
	@.ci/chromium

# Who only runs Cede installs what it needs; tests and checks need more.
$(INSTALLED): requirements.lock pyproject.toml .ci/venv
	@.ci/venv $(VENV) requirements.lock
	@touch $@

$(INSTALLED_DEV): requirements-dev.lock pyproject.toml .ci/venv
	@.ci/venv $(VENV) requirements-dev.lock
	@touch $(INSTALLED) $@
