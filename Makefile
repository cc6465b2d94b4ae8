# One verb per task. Needs a `python3` (3.11 or later) with pip, make and a POSIX shell; everything else goes into $(VENV).

PYTHON ?= python3
VENV ?= .venv

PY := $(VENV)/bin/python
# The constraints hold for the build back end too, hence by environment and not by -c.
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt $(PY) -m pip --quiet
# Hundreds of processes of the tests import typednn: they compile its modules once, even where the environment keeps Python from it.
unexport PYTHONDONTWRITEBYTECODE
# One BLAS thread: pytest-xdist already starts one process per core, and in small products two threads wait for each other.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# One process per core; one that is done takes tests over from another, so that none is left with all the slow ones at the end.
SHARED := -n auto --dist worksteal
# pyright stays at the version of constraints.txt and asks nobody for a newer one. It finds the environment by PATH: --verifytypes
# does not look at --pythonpath.
PYRIGHT := PYRIGHT_PYTHON_IGNORE_WARNINGS=1 PATH="$$(cd $(VENV)/bin && pwd):$$PATH" $(PY) -m pyright
# The oldest mypy that the plugin promises to work with; constraints.txt pins the newest, which is in $(VENV) itself.
OLDEST_MYPY := $(VENV)/oldest-mypy
# Between single quotes of the shell, whatever its words hold; only a comma would end it.
headline = @printf '\n== %s\n' '$(subst ','\'',$(1))'

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test quick lint types floors coverage-fresh suite docs parity torture gpu bench bench-avx2 format coverage-doc clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.dev-installed ## install typednn and everything that its development needs

demo: $(VENV)/.demo-installed ## train LeNet5 on real digits, to a report with pictures
	@$(ONE_THREAD) $(PY) -m typednn train lenet5 --data digits --report

test: lint types floors coverage-fresh suite ## everything but the comparison with PyTorch
	$(call headline,all passed)

quick: lint ## style, and the tests nearest to what was changed since the last commit (or SINCE=COMMIT), in two minutes
	$(call headline,the nearest tests)
	@$(ONE_THREAD) $(PY) tests/repo/quick.py

lint: $(VENV)/.dev-installed ## style
	$(call headline,ruff)
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: $(VENV)/.dev-installed ## mypy and pyright, both strict, and the public API typed to 100 %
	$(call headline,mypy --strict)
	@$(PY) -m mypy
	$(call headline,pyright strict)
	@$(PYRIGHT)
	$(call headline,pyright --verifytypes)
	@report=$$($(PYRIGHT) --verifytypes typednn --ignoreexternal) || { printf '%s\n' "$$report"; exit 1; }; \
	printf '%s\n' "$$report" | grep 'completeness score'

floors: $(VENV)/.dev-installed ## no module imports from a floor above its own
	$(call headline,import contracts)
	@$(VENV)/bin/lint-imports --no-cache

coverage-fresh: $(VENV)/.dev-installed ## docs/coverage.md says what the tests say
	$(call headline,specification rows and their tests)
	@$(PY) tests/repo/coverage_doc.py --check

suite: $(VENV)/.dev-installed $(OLDEST_MYPY)/.installed ## the tests themselves
	$(call headline,pytest)
	@$(ONE_THREAD) TYPEDNN_OLDEST_MYPY="$$(cd $(OLDEST_MYPY) && pwd)" $(PY) -m pytest $(SHARED) -m "not parity and not gpu"

docs: $(VENV)/.dev-installed ## build the documentation as a site, build/site/index.html, in a minute and without a network
	$(call headline,a site of the documentation)
	@$(ONE_THREAD) $(PY) -m website

parity: $(VENV)/.parity-installed ## compare with PyTorch (installs it)
	$(call headline,parity with PyTorch)
	@$(ONE_THREAD) $(PY) -m pytest $(SHARED) -m parity

torture: $(VENV)/.torture-installed $(VENV)/.parity-installed ## every property with 500 new examples, 62 or 125 where each compiles kernels; 200 kills of seven kinds of training; 100 kills of ranks; the bits of 1 to 8 ranks; 2,000 rounds of writers; fuzz every reader; 105,000 programs of the graph, 20,000 for the mypy plugin; the paper's result on MNIST
	$(call headline,500 examples of every property)
	@$(ONE_THREAD) HYPOTHESIS_PROFILE=long $(PY) -m pytest $(SHARED) -m "not parity and not gpu"
	$(call headline,200 kills of seven kinds of training)
	@$(ONE_THREAD) $(PY) -m tests.training.torture --kills 200
	$(call headline,100 kills of ranks)
	@$(ONE_THREAD) $(PY) -m tests.parallel.torture --kills 100
	$(call headline,the bits of 1 to 8 ranks)
	@$(ONE_THREAD) $(PY) -m tests.parallel.bits
	$(call headline,several writers of one name)
	@$(ONE_THREAD) $(PY) -m tests.torture.writers --rounds 2000
	$(call headline,fuzzing)
	@$(ONE_THREAD) $(PY) -m tests.torture.fuzz_readers --seconds 20
	$(call headline,random programs of the graph)
	@$(ONE_THREAD) $(PY) -m tests.graph.random_programs --interpreted 100000 --compiled 5000
	$(call headline,random bodies for the mypy plugin)
	@$(ONE_THREAD) $(PY) -m tests.typing.random_bodies --programs 20000
	$(call headline,recipes on MNIST)
	@$(ONE_THREAD) TYPEDNN_LONG=1 $(PY) -m pytest tests/recipes/test_mnist.py
	$(call headline,a fault for each row of the specification)
	@$(ONE_THREAD) TYPEDNN_LONG=1 $(PY) -m pytest $(SHARED) -m "not gpu" tests/repo/test_mutants.py

gpu: $(VENV)/.dev-installed ## the same laws on a GPU (needs CuPy in $(VENV))
	$(call headline,laws on a GPU)
	@$(PY) -m pytest -m gpu

bench: $(VENV)/.bench-installed ## time typednn, beside PyTorch, ONNX Runtime and JAX (installs them; a quarter of an hour)
	@$(PY) -m benchmarks

bench-avx2: $(VENV)/.bench-installed ## the tables of kernels and of the graph with every library held to AVX2, on a processor with AVX-512
	@$(PY) -m benchmarks.kernels --target avx2
	@$(PY) -m benchmarks.graph --target avx2

format: $(VENV)/.dev-installed ## let ruff put the code in order
	@$(PY) -m ruff check --fix --quiet .
	@$(PY) -m ruff format .

coverage-doc: $(VENV)/.dev-installed ## write docs/coverage.md anew
	@$(PY) tests/repo/coverage_doc.py

clean: ## remove the environment, caches and builds
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("typednn needs Python 3.11 or later, $(PYTHON) is " + sys.version.split()[0] + "; set PYTHON=python3.x")'
	$(call headline,new environment in $(VENV))
	@$(PYTHON) -m venv $(VENV)

# The developer's environment holds what the demo needs, hence the second stamp.
$(VENV)/.dev-installed: pyproject.toml constraints.txt | $(PY)
	$(call headline,installing typednn with its development tools)
	@$(PIP) install --editable '.[dev,demo]'
	@touch $(VENV)/.demo-installed $@

$(OLDEST_MYPY)/.installed: pyproject.toml | $(PY)
	$(call headline,installing the oldest mypy)
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(PY) -m pip --quiet install --upgrade --target $(OLDEST_MYPY) mypy==1.18.2
	@touch $@

$(VENV)/.demo-installed: pyproject.toml constraints.txt | $(PY)
	$(call headline,installing typednn)
	@$(PIP) install --editable '.[demo,fast]'
	@touch $@

$(VENV)/.torture-installed: $(VENV)/.dev-installed
	@$(PIP) install --editable '.[dev,demo,torture]'
	@touch $@

$(VENV)/.bench-installed: $(VENV)/.dev-installed
	$(call headline,installing typednn's peers)
	@$(PIP) install --editable '.[dev,demo,fast,parity,bench]'
	@touch $@

$(VENV)/.parity-installed: $(VENV)/.dev-installed
	$(call headline,installing PyTorch)
	@$(PIP) install --editable '.[dev,demo,parity]'
	@touch $@
