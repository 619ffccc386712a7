# The commands of the project; `make` alone lists them. Each installs what it needs and says so first.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
SCENARIO ?= default
VENV := $(CURDIR)/.venv
# Molecule calls ansible-playbook and pytest by their names.
export PATH := $(VENV)/bin:$(PATH)
export PYTHONPATH := $(CURDIR)/services
# Logs that can be searched: no frames around them, and no colours but on a terminal.
export MOLECULE_COMMAND_BORDERS := false
ifndef MAKE_TERMOUT
export NO_COLOR := 1
endif

.PHONY: help
help: ## this list
	@echo "Talaria: make COMMAND"
	@sed -En 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

##### Seeing it work #####

.PHONY: demo
demo: .ready-hosts $(VENV)/.made ## bring the bundle up on a local test host and act as an agent on it
	@PYTHONPATH=molecule exec python -m demo up

.PHONY: demo-down
demo-down: $(VENV)/.made ## remove what `make demo` made
	@PYTHONPATH=molecule exec python -m demo down

##### A real host #####

.PHONY: deploy
deploy: .ready-deploy .inventory ## deploy to INVENTORY=inventory/NAME (LIMIT=, TAGS=, CHECK=1 narrow it or only look)
	@python services/wheelhouse.py x86_64 aarch64
	ansible-playbook --inventory $(INVENTORY) playbooks/site.yml \
	    $(if $(LIMIT),--limit $(LIMIT)) $(if $(TAGS),--tags $(TAGS)) $(if $(CHECK),--check --diff) </dev/null

.PHONY: verify
verify: .ready-deploy .inventory ## prove the deployed INVENTORY=inventory/NAME (TOKEN_FILE=, the agent's token, for its tools)
	ansible-playbook --inventory $(INVENTORY) playbooks/verify.yml $(if $(LIMIT),--limit $(LIMIT)) </dev/null
	ANSIBLE_BECOME=true $(if $(TOKEN_FILE),TALARIA_TOKEN_FILE=$(TOKEN_FILE)) pytest -p no:cacheprovider -m 'not laboratory' \
	    --connection=ansible --ansible-inventory=$(INVENTORY) --hosts=gateway_hosts tests/host

.PHONY: token
token: $(VENV)/.made ## print a new token for CLIENT=name, and the line for the inventory
	@$(if $(CLIENT),,echo "Which client? make token CLIENT=hermes" >&2; exit 2;) mcp-gateway token new $(CLIENT)

.PHONY: wheelhouse
wheelhouse: $(VENV)/.made ## collect the wheels that hosts install from (for this machine's architecture)
	@python services/wheelhouse.py

##### Checking a change #####

.PHONY: test
test: lint unit molecule ## lint, unit, then Debian 13 and Debian 12 hosts from nothing

.PHONY: test-all
test-all: lint unit ## all of `make test`, and every other Molecule scenario
	@for scenario in molecule/*/molecule.yml; do $(MAKE) molecule SCENARIO="$$(basename "$$(dirname "$$scenario")")"; done

.PHONY: lint
lint: $(VENV)/.made ## ansible-lint (production), yamllint, ruff, mypy --strict, shellcheck
	@.ci/machine.sh lint
	@$(MAKE) --jobs=2 --output-sync=target .lint-ansible .lint-python .lint-types .lint-yaml .lint-shell
	@echo "lint passed"

.PHONY: .lint-ansible .lint-yaml .lint-python .lint-types .lint-shell
.lint-ansible:
	@ansible-lint -q
.lint-yaml:
	@yamllint --strict .
.lint-python:
	@ruff check --quiet . && ruff format --quiet --check .
.lint-types:
	@mypy --no-error-summary $(wildcard services molecule tests bench)
.lint-shell:
	@git ls-files --cached --others --exclude-standard | xargs grep -d skip -lE '^#!(/usr)?/bin/(env )?(ba)?sh' | xargs shellcheck

.PHONY: unit
unit: $(VENV)/.made ## unit and integration tests, without containers (ARGS= goes to pytest)
	@.ci/machine.sh unit
	@pytest $(ARGS)

.PHONY: molecule
molecule: .ready-hosts wheelhouse ## one Molecule scenario from nothing (SCENARIO=default; KEEP=1 keeps the hosts)
	@$(if $(KEEP),molecule destroy --scenario-name $(SCENARIO))
	@molecule test --scenario-name $(SCENARIO) $(if $(KEEP),--destroy=never)

.PHONY: bench
bench: .ready-hosts ## measured ratios against named floors, in one run
	@python -m bench

##### Housekeeping #####

.PHONY: lock
lock: $(VENV)/.made ## resolve requirements*.in into requirements*.txt, with hashes
	@python -m pip install -qq --target .cache/uv uv
	@for name in requirements requirements-dev; do \
	    .cache/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	    --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) --output-file $$name.txt $$name.in; done

.PHONY: clean
clean: ## remove what was built and cached here, test hosts and images too (not the demo: see demo-down)
	@[[ ! -x $(VENV)/bin/molecule ]] || molecule reset --all >/dev/null 2>&1 || true
	@molecule/hosts.py clean || true
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .ansible services/*.egg-info

.PHONY: .inventory
.inventory:
	@if [[ -z "$(INVENTORY)" || ! -e "$(INVENTORY)" ]]; then \
	    echo "Which hosts? Copy inventory/example to inventory/NAME, fill it in and add INVENTORY=inventory/NAME." >&2; exit 2; fi

.PHONY: .ready-deploy .ready-hosts
.ready-deploy: $(VENV)/.made
	@.ci/machine.sh deploy
.ready-hosts: $(VENV)/.made
	@.ci/machine.sh hosts

# Written last, so that an interrupted installation is begun again; it names the place, because scripts in it do.
ifneq ($(shell cat $(VENV)/.made 2>/dev/null),$(VENV))
.PHONY: $(VENV)/.made
endif
$(VENV)/.made: requirements-dev.txt services/pyproject.toml
	@.ci/machine.sh python
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.13 …")'
	@echo "Making .venv from requirements-dev.txt (under a minute)"
	@rm -f $@
	@$(PYTHON) -m venv --clear $(VENV)
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --require-hashes --requirement requirements-dev.txt
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-index --no-build-isolation --editable services
	@echo $(VENV) >$@
