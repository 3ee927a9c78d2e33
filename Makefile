# Everything works on a machine with Python 3.11 and make:  make demo,  make test,  make docs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: demo test test-all docs pictures fuzz check format bench wheel clean

demo: $(VENV)/.ready
	$(BIN)/modia demo

test: check
	$(PYTEST)

test-all: check $(VENV)/.ready-docs
	$(PYTEST) -m "slow or not slow"

# The site, in .build/docs/html; nothing is fetched but the packages, and a warning is an error.
docs: $(VENV)/.ready-docs
	$(BIN)/python docs/site.py

# The pictures of the documents, drawn anew by the code of their pages.
pictures: $(VENV)/.ready-docs
	$(BIN)/python docs/draw.py

# Random models with known answers; FUZZ="--models 300 --kind circuit" for fewer. docs/trust.md has the tally.
FUZZ ?= --models 3000 --seed 1 --minutes 90 --tally docs/trust.md
fuzz: $(VENV)/.ready-dev
	$(BIN)/python -m tests.fuzz $(FUZZ)

# The four folders are one package only once installed: checkers that read files see them put together.
check: $(VENV)/.ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	rm -rf .build/package && mkdir -p .build/package
	cp -r modia_py .build/package/modia_py
	for folder in arrays solvers models; do cp -r $$folder .build/package/modia_py/$$folder; done
	cd .build/package && MYPYPATH=. ../../$(BIN)/mypy --config-file ../../pyproject.toml --cache-dir ../../.mypy_cache -p modia_py
	cd .build/package && PYTHONPATH=. ../../$(BIN)/lint-imports --config ../../pyproject.toml --no-cache

format: $(VENV)/.ready-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.ready-dev
	$(BIN)/python benchmarks/language.py
	$(BIN)/python benchmarks/structure.py
	$(BIN)/python benchmarks/singularities.py

wheel: $(VENV)/.ready-dev
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir .build/wheels .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Native code is compiled on first use and kept; better now than in the first simulation.
NATIVE := from modia_py.solvers.linear import band as b; from modia_py.solvers.native import attempt as a; from modia_py.plan import planned_function as p; a.why_not(), b.why_not_native(), p.is_native(), p.makes_steps()

$(VENV)/.ready: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable ".[plot]"
	$(BIN)/python -c "$(NATIVE)"
	touch $@

$(VENV)/.ready-dev: pyproject.toml tools/install_cholmod.sh | $(VENV)/.ready
	$(PIP) install --editable ".[plot,io,dev]"
	sh tools/install_cholmod.sh $(BIN)/python
	touch $@

$(VENV)/.ready-docs: pyproject.toml | $(VENV)/.ready
	$(PIP) install --editable ".[plot,io,movie,docs]"
	touch $@

clean:
	rm -rf $(VENV) .build build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
