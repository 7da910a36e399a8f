# What a newcomer, a contributor and CI call. `make demo` and `make test` set themselves up:
# python3 (3.11 or newer, with venv), git and make are all they need to find.

VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# The first Python on PATH that is new enough and can make environments.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo $$p; break; }; done)
# Bytecode of what is installed lies beside it, where a run outside of make finds it too.
PIP := env -u PYTHONPYCACHEPREFIX $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
# Programs that do not get on with others, each beside $(VENV): what tests/environments/NAME.txt lists in $(VENV)-NAME.
ENVIRONMENTS := $(patsubst tests/environments/%.txt,$(VENV)-%/made,$(wildcard tests/environments/*.txt))
# What `make test-all` wants besides: each lies over the environment of vLLM.
HEAVY := $(patsubst tests/environments/heavy/%.txt,$(VENV)-%/made,$(wildcard tests/environments/heavy/*.txt))
# Source of the engines whose own parsers the tests ask.
SOURCES := $(VENV)/sources/made
# Programs whose flags a wheel of PyPI tells.
LEARNT := $(patsubst manifests/flags/%/grammar.toml,%,$(shell grep -l '^distribution' manifests/flags/*/grammar.toml))
# What runs on compute nodes without the launcher: `bundle.CONVERTER`; a test holds the two to each other.
CONVERTER := $(patsubst %,launcher/%.py,execute/images/convert execute/images/failure execute/images/flatten \
	execute/images/squash execute/images/unpack images/layering images/oci run/record)
# What needs no root. Images are made and mounted, which does.
AS_NOBODY := tests/cli tests/end tests/execute tests/run --ignore=tests/cli/images --ignore=tests/execute/images
# Caches live in the environment's folder: `make check` leaves the tree as it was.
CACHE := $(CURDIR)/$(VENV)/cache
export RUFF_CACHE_DIR := $(CACHE)/ruff
export MYPY_CACHE_DIR := $(CACHE)/mypy
export PYTHONPYCACHEPREFIX := $(CACHE)/bytecode
unexport PYTHONDONTWRITEBYTECODE
CODE := launcher tests benchmarks docs

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help setup demo test test-nobody test-all check format golden flags docs bench bench-slurm bench-images wheel clean \
	check-lint check-format check-types check-layers check-shape check-python check-docs

help: ## what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r name what; do \
		printf '%-16s %s\n' "$$name" "$$what"; done

setup: $(VENV)/dev $(ENVIRONMENTS) $(SOURCES) ## the environments for development, in .venv and .venv-NAME

demo: $(VENV)/demo ## run the quickstart on this machine: workers, router, one completion, clean stop
	@$(BIN)/python docs/demo.py

test: $(VENV)/dev $(ENVIRONMENTS) $(SOURCES) ## every test that CI runs
	@bash .ci/packages
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

test-nobody: $(VENV)/dev $(ENVIRONMENTS) ## by root: those that need no root, as the user nobody
	@$(BIN)/python -m tests.nobody -n $(JOBS) --dist loadfile $(AS_NOBODY)

test-all: $(VENV)/dev $(ENVIRONMENTS) $(HEAVY) $(SOURCES) ## the same and those that take minutes
	@bash .ci/packages
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "not site"

check: check-lint check-format check-types check-layers check-shape check-python check-docs ## everything CI asks of the text; changes nothing

check-lint: $(VENV)/dev
	$(BIN)/ruff check $(CODE)

check-format: $(VENV)/dev
	$(BIN)/ruff format --check $(CODE)

check-types: $(VENV)/dev
	$(BIN)/mypy

check-layers: $(VENV)/dev
	$(BIN)/lint-imports --no-cache

check-shape: $(VENV)/dev
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/test_shape.py

check-python: $(VENV)/dev
	$(BIN)/vermin --target=3.9- --violations --no-tips --quiet launcher/run $(CONVERTER)
	$(BIN)/vermin --target=3.6- --violations --no-tips --quiet launcher/execute/inside/node.py

check-docs: $(VENV)/dev
	$(BIN)/python -m docs.generate --check

format: $(VENV)/dev ## put the code into shape
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

golden: $(VENV)/dev ## write the expected plans and scripts anew; read the diff before committing
	@$(BIN)/python -m pytest -q -n $(JOBS) --golden tests/golden

flags: $(VENV)/dev ## make the flag catalogues anew from PyPI, with those of the newest versions; say what changed
	@for program in $(LEARNT); do $(BIN)/python -m launcher flags harvest $$program --again --into manifests/flags || exit; done

docs: $(VENV)/dev ## write docs/reference and the outputs quoted in the guides
	$(BIN)/python -m docs.generate

bench: $(VENV)/dev ## measure; writes benchmarks/results.md
	$(BIN)/python -m benchmarks.run

bench-slurm: $(VENV)/dev ## the same on a real Slurm of four nodes (root); writes benchmarks/slurm.md
	@bash .ci/packages
	$(BIN)/python -m benchmarks.slurm

bench-images: $(VENV)/dev ## the same of images, beside enroot where it is (root); writes benchmarks/images.md
	@bash .ci/packages
	$(BIN)/python -m benchmarks.images

wheel: $(VENV)/dev ## dist/launcher-*.whl
	$(BIN)/python -m build --wheel --no-isolation

clean: ## remove what the targets above made
	rm -rf $(VENV) $(VENV)-* build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache

$(VENV)/made:
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or newer with venv on PATH (Debian: apt-get install python3-venv; or make PYTHON=/path/to/python3)" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/demo: $(VENV)/made pyproject.toml constraints.txt
	@echo "installing what the demo needs into $(VENV) (once)"
	@$(PIP) install --constraint constraints.txt --editable '.[demo]'
	@touch $@

$(VENV)/dev: $(VENV)/made pyproject.toml constraints.txt
	@echo "installing what development needs into $(VENV) (once)"
	@$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $(VENV)/demo $@

$(SOURCES): $(wildcard tests/flags/s*) $(wildcard manifests/flags/*/grammar.toml) | $(VENV)/dev
	@echo "fetching the source of engines into $(VENV)/sources (once)"
	@$(BIN)/python -m tests.flags.sources
	@touch $@

# Its requirements name builds of torch and its kin that no registry has; the file lists all that it needs.
$(VENV)-vllm/made: ALONE := --no-deps

$(VENV)-%/made: tests/environments/%.txt | $(VENV)/dev
	@echo "installing $* into $(VENV)-$* (once)"
	@$(BIN)/python -m venv --clear --without-pip $(VENV)-$*
	@$(PIP) --python $(VENV)-$*/bin/python install $(ALONE) --requirement $<
	@touch $@

$(VENV)-%/made: tests/environments/heavy/%.txt | $(ENVIRONMENTS)
	@echo "installing $* into $(VENV)-$* (once)"
	@$(BIN)/python -m venv --clear --without-pip $(VENV)-$*
	@$(PIP) --python $(VENV)-$*/bin/python install --no-deps --requirement $<
	@cd $(VENV)-$*/lib/python3*/site-packages && echo $(CURDIR)/$(VENV)-vllm/lib/python3*/site-packages >over.pth
	@touch $@
