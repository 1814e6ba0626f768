# Plain Python >= 3.11 and make are all this needs. `make help` lists what there is.
# VENV may name another directory; PYTHON another interpreter.

VENV ?= .venv
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
WORKERS ?= 4
# Collected once, see tests/plugins/forks.py. Short tests go by file, in the order of tests/plugins/pace.py; long ones
# each to whoever is free. Short ones wait more than they work: six at a time keep two processors busy.
BY_FILE := --forks 6
ONE_BY_ONE := --forks $(WORKERS) --share test

# A stamp carries the checksum of what it was made from, so that a changed lock makes a new environment
# whatever the files' times say.
sum = $(shell cat $(1) | cksum | tr ' ' '-')
RUNTIME := $(VENV)/.runtime-$(call sum,requirements/runtime.txt)
DEV := $(VENV)/.dev-$(call sum,requirements/runtime.txt requirements/dev.txt)
PROJECT := $(VENV)/.project-$(call sum,pyproject.toml)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input

# Says how long a step took: $(call timed,what it is,command).
timed = @echo '$(2)'; begun=$$(date +%s); $(2); code=$$?; \
	echo "-- $(1): $$(($$(date +%s) - begun)) s"; exit $$code

.PHONY: help run test rules types tests proof controls slice lint walk lock wheels image clean install install-dev
.DEFAULT_GOAL := help

help:
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(RUNTIME):
	@test -n "$(PYTHON)" || { echo "hubbub needs Python >= 3.11; none found. Install one, or name it: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "Installing into $(VENV). This happens once, and takes a minute or two."
	@$(PYTHON) -m venv --clear $(VENV) || { echo "No environment could be made. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; }
	@sh requirements/install.sh $(BIN)/python requirements/runtime.txt
	@touch $@

$(DEV): $(RUNTIME)
	@sh requirements/install.sh $(BIN)/python requirements/dev.txt
	@touch $@

$(PROJECT): $(RUNTIME)
	@$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@rm -f $(VENV)/.project-*; touch $@

install: $(RUNTIME) $(PROJECT)
install-dev: $(DEV) $(PROJECT)

run: install  ## the hub, on hubbub.toml or built-in defaults
	@exec $(BIN)/hubbub run

lint: rules  ## ruff, pyright, import-linter, the house in figures
	$(call timed,pyright,$(PYRIGHT) --threads 2)

PYRIGHT := $(BIN)/pyright --pythonpath $(BIN)/python
rules: install-dev
	$(call timed,ruff check,$(BIN)/ruff check .)
	$(call timed,ruff format,$(BIN)/ruff format --check .)
	$(call timed,import-linter,PYTHONPATH=. $(BIN)/lint-imports --no-cache)
	$(call timed,house,$(BIN)/python -m tests.architecture.house)
	$(call timed,facts,$(BIN)/python -m tests.architecture.facts)

# pyright fills the pauses of the tests, with one thread: two do much of the work twice. What it says stands
# after what they say; either's failure is the run's.
test: rules  ## lint and the tests of profile "test"
	@types=$$(mktemp); $(MAKE) --no-print-directory types >$$types 2>&1 & beside=$$!; \
	trap 'kill $$beside 2>/dev/null' INT TERM; \
	$(MAKE) --no-print-directory tests; tests=$$?; \
	wait $$beside; typed=$$?; cat $$types; rm -f $$types; [ $$tests -eq 0 ] && [ $$typed -eq 0 ]

types: install-dev
	$(call timed,pyright,nice -n 5 $(PYRIGHT))

tests: install-dev
	$(call timed,pytest,HUBBUB_PROFILE=test $(PYTEST) $(BY_FILE))

proof: lint  ## everything at full length; writes docs/proof/*.json
	HUBBUB_PROFILE=proof $(PYTEST) $(ONE_BY_ONE)

slice: install-dev  ## a slice of the long suites (HUBBUB_SEED, HUBBUB_SHARD=i/n)
	HUBBUB_PROFILE=ci $(PYTEST) $(ONE_BY_ONE)

controls: install-dev  ## planted faults: the named tests must turn red (SHARD=i/n; TESTED=profile: its tests were just green; NEEDS=docker)
	$(BIN)/python -m tests.controls.run --workers $(WORKERS) $(if $(SHARD),--shard $(SHARD)) $(if $(TESTED),--tested $(TESTED)) $(if $(NEEDS),--needs $(NEEDS))

walk: install-dev  ## how many product files one hello and one approved shell call pass
	$(BIN)/python -m tests.architecture.walk

UV := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
# The larger set first: what runs in production is then exactly what the tests ran with.
lock: install-dev  ## remake requirements/*.txt from pyproject.toml; UPGRADE=1 takes newer releases
	$(UV) $(if $(UPGRADE),--upgrade) --extra fast --extra mcp --group build --group lint --group test --group lock -o requirements/dev.txt
	$(UV) $(if $(UPGRADE),--upgrade) --extra fast --extra mcp --group build -c requirements/dev.txt -o requirements/runtime.txt

# What the image is made of: for its Python, not for the one that runs here.
WHEELS := build/wheels
IMAGE_PYTHON ?= 3.11
IMAGE_ARCH ?= $(shell uname -m)
manylinux = --platform manylinux_$(1)_$(IMAGE_ARCH)
wheels: $(RUNTIME)  ## fetch what the image installs into build/wheels
	@rm -rf $(WHEELS)
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-input --no-deps --require-hashes \
		--only-binary=:all: --implementation cp --python-version $(IMAGE_PYTHON) \
		$(call manylinux,2_35) $(call manylinux,2_34) $(call manylinux,2_31) $(call manylinux,2_28) \
		$(call manylinux,2_17) $(call manylinux,2_12) $(call manylinux,2_5) --platform manylinux2014_$(IMAGE_ARCH) \
		-d $(WHEELS) -r requirements/runtime.txt

IMAGE ?= hubbub
image: wheels  ## build the image; BASE=… names another base with Python $(IMAGE_PYTHON)
	docker build --network none $(if $(BASE),--build-arg BASE=$(BASE)) -t $(IMAGE) .

clean:  ## remove the environment and the caches
	rm -rf $(VENV) .ci-venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
