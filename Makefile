# Every target sets up what it needs: python3 and make are enough to start from.

PY := .venv/bin/python
PEERS := .venv-peers/bin/python
# Stamps, not directories: each is written only after its step has finished.
RUNS := .venv/.runs
STAMP := .venv/.installed
# One BLAS thread per process: on busy cores two of them make small linear algebra many times slower.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# Some machines tell Python not to keep the modules it has compiled. Each of our many processes would compile them again.
unexport PYTHONDONTWRITEBYTECODE
# What `make sanitize` runs: tests that reach into the core.
SLICE := tests/core --ignore=tests/core/test_build.py -k 'not clarabel and not ten_thousand and not leak'
# A file of tests stays in one process: what its tests share, a server or a browser, is started once.
SPREAD := -n 2 --dist loadfile
FUZZED := 300
DAMAGED := 20
CHECKED := src tests docs core benchmarks chain hatch_build.py

.DEFAULT_GOAL := help
.PHONY: help paper compare study league outside peers test lint format docs bench soak torture sbom core wheel sanitize sanitized clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

# Only files whose hashes are in a lock are installed, whatever an index offers.
INSTALL := -m pip install -q --require-hashes

# What runs the experiments; a compiler too, where the system has none. Where it has one, the core is compiled while
# the packages arrive; otherwise, or if that fails, the last step does it. Most modules are never imported: Python compiles
# those that are.
$(RUNS): requirements-paper.lock requirements-compiler.lock pyproject.toml hatch_build.py
	python3 core/build.py --here 2> /dev/null & \
		{ test -x $(PY) || python3 -m venv .venv; } && $(PY) $(INSTALL) --no-compile -r requirements-paper.lock; \
		ended=$$?; wait; exit $$ended
	test -z "$$($(PY) core/build.py --needs)" || $(PY) $(INSTALL) -r requirements-compiler.lock
	$(PY) -m pip install -q --no-build-isolation --no-deps -e .
	touch $@

# What tests and documents them; zig is one of the compilers that the core is tested with.
$(STAMP): requirements.lock requirements-compiler.lock $(RUNS)
	$(PY) $(INSTALL) -r requirements.lock -r requirements-compiler.lock
	touch $@

# Warnings are errors for us; they must not keep anybody with another compiler from running the experiments, which need
# no library but that for this machine either.
BUILT := --strict
paper compare study league outside bench docs: BUILT := --here

core: $(RUNS) ## the compiled core: what an edit touched, with warnings as errors
	$(PY) core/build.py $(BUILT)

paper: core ## what the paper shows, into paper/
	.venv/bin/vbmle paper --out paper

compare: core ## all agents, with default and tuned settings, into compare/
	.venv/bin/vbmle compare --out compare

league: core ## how far behind the best each agent is, over many worlds, into league/
	.venv/bin/vbmle league --out league

outside: core ## rewards in problems that others published, beside what can be earned there
	$(ONE_THREAD) $(PY) examples/outside.py

study: core ## what the maximiser and the bias do to regret, into study/
	.venv/bin/vbmle study --out study

.venv-peers/.installed: requirements-peers.lock requirements-torch.lock requirements-compiler.lock pyproject.toml
	test -x $(PEERS) || python3 -m venv .venv-peers
	$(PEERS) $(INSTALL) --no-deps -r requirements-peers.lock
	$(PEERS) -m pip install -q --no-deps -r requirements-torch.lock
	test -z "$$($(PEERS) core/build.py --needs)" || $(PEERS) $(INSTALL) -r requirements-compiler.lock
	$(PEERS) -m pip install -q --no-build-isolation --no-deps -e .
	touch $@

peers: .venv-peers/.installed ## reward lost by VBMLE, Q-learning and DQN, into peers/ and docs/peers.md
	$(PEERS) core/build.py --here
	$(ONE_THREAD) $(PEERS) examples/peers/peers.py --out peers --page docs/peers.md

test: lint core ## lint, then all tests
	$(ONE_THREAD) $(PY) -m pytest $(SPREAD)

lint: $(STAMP) ## ruff and mypy on everything in Python
	$(PY) core/binding.py
	$(PY) -m ruff check $(CHECKED)
	$(PY) -m ruff format --check $(CHECKED)
	$(PY) -m mypy

format: $(STAMP) ## rewrite the code in the house format
	$(PY) -m ruff check --fix $(CHECKED)
	$(PY) -m ruff format $(CHECKED)

soak: $(STAMP) core ## the service for two hours: 10,000 stories of clients, killed at every write, 1,000 storms, every call failing
	$(ONE_THREAD) VBMLE_SOAK=1 $(PY) -m pytest -s tests/serve/test_stories.py tests/serve/test_crashes.py tests/serve/test_openapi.py
	$(ONE_THREAD) $(PY) tests/storms.py 1000 --seed $$(date +%j)
	$(ONE_THREAD) $(PY) tests/storms.py 0 --every
	$(ONE_THREAD) $(PY) tests/storms.py 100 --server

docs: $(STAMP) core ## the documentation, into site/; fails on an undocumented public name
	$(PY) -m mkdocs build --strict

bench: $(STAMP) core ## the speed table, into bench/
	.venv/bin/vbmle bench --out bench

torture: $(STAMP) core ## kills, full disks, damaged files, fuzzed solves, extremes, two writers, damaged records (docs/robustness.md)
	$(ONE_THREAD) $(PY) tests/fuzz_files.py 10000
	$(ONE_THREAD) $(PY) tests/fuzz.py 100000
	$(ONE_THREAD) $(PY) tests/fuzz_extremes.py 2000
	$(ONE_THREAD) $(PY) tests/kills.py 5
	$(ONE_THREAD) $(PY) tests/damaged_stores.py 1000
	$(ONE_THREAD) $(PY) -m pytest -q $(SPREAD) tests/common tests/experiments/test_store.py tests/test_edges.py tests/test_supply_chain.py

sbom: $(STAMP) ## what it is all made of (CycloneDX) and under which licences, into sbom/
	$(PY) chain/sbom.py sbom/vbmle.cdx.json
	$(PY) chain/licences.py > sbom/licences.txt || { cat sbom/licences.txt; exit 1; }

wheel: $(RUNS) ## a wheel for this platform and any Python, and the sources to build others from, into dist/
	$(PY) -m hatchling build

# The newest clang that says its version, as Debian's do.
CLANG := $(notdir $(shell ls -v /usr/bin/clang-[0-9]* 2> /dev/null | tail -n 1))

sanitize: $(STAMP) ## the core with address and undefined-behaviour checks of gcc and of clang, under the tests that reach into it
	$(MAKE) sanitized RUNTIME="$$($${CC:-cc} -print-file-name=libasan.so)"
	test -z "$(CLANG)" || CXX=$(subst clang,clang++,$(CLANG)) CC=$(CLANG) $(MAKE) sanitized \
		RUNTIME="$$($(CLANG) -print-file-name=libclang_rt.asan-$$(uname -m).so)"

sanitized: # by the compiler at hand, whose checks are in RUNTIME
	$(PY) core/build.py --strict --sanitize
	$(ONE_THREAD) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		LD_PRELOAD="$(RUNTIME)" VBMLE_LIBRARY=core/build/sanitize/libvbmle.so \
		sh -c "$(PY) -m pytest $(SPREAD) $(SLICE) && $(PY) tests/fuzz.py $(FUZZED) && $(PY) tests/fuzz_files.py $(DAMAGED)"

clean: ## remove everything that is built, the environment included
	rm -rf .venv .venv-peers site dist core/build src/vbmle/core/libvbmle* .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
