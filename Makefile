# Every target sets up what it needs: python3 and make are enough to start from.

PY := .venv/bin/python
PEERS := .venv-peers/bin/python
# A stamp, not the directory: it is written only after the installation has finished.
STAMP := .venv/.installed
# One BLAS thread per process: on busy cores two of them make small linear algebra many times slower.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help paper compare study peers test lint format docs bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

$(STAMP): requirements.lock pyproject.toml
	test -x $(PY) || python3 -m venv .venv
	$(PY) -m pip install -q -r requirements.lock
	$(PY) -m pip install -q --no-deps -e .
	touch $@

paper: $(STAMP) ## what the paper shows, into paper/
	.venv/bin/vbmle paper --out paper

compare: $(STAMP) ## all agents, as they come and tuned, into compare/
	.venv/bin/vbmle compare --out compare

study: $(STAMP) ## what the maximiser and the bias do to regret, into study/
	.venv/bin/vbmle study --out study

.venv-peers/.installed: requirements-peers.lock pyproject.toml
	test -x $(PEERS) || python3 -m venv .venv-peers
	$(PEERS) -m pip install -q -r requirements-peers.lock
	$(PEERS) -m pip install -q --no-deps -e .
	touch $@

peers: .venv-peers/.installed ## reward lost by VBMLE, Q-learning and DQN, into peers/ and docs/peers.md
	$(ONE_THREAD) $(PEERS) examples/peers/peers.py --out peers --page docs/peers.md

test: lint ## lint, then all tests
	$(ONE_THREAD) $(PY) -m pytest -n 2

lint: $(STAMP) ## ruff and mypy on src and tests
	$(PY) -m ruff check src tests docs
	$(PY) -m ruff format --check src tests docs
	$(PY) -m mypy

format: $(STAMP) ## rewrite the code in the house format
	$(PY) -m ruff check --fix src tests docs
	$(PY) -m ruff format src tests docs

docs: $(STAMP) ## the documentation, into site/; fails on an undocumented public name
	$(PY) -m mkdocs build --strict

bench: $(STAMP) ## the speed table, into bench/
	.venv/bin/vbmle bench --out bench

clean: ## remove everything that is built, the environment included
	rm -rf .venv .venv-peers site dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +
