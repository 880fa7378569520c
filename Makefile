# The commands of development. `make help` lists the targets from their comments.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
# Relative, so that a checkout in a path with a space works; `python -m`, because scripts carry absolute paths.
RUN := .venv/bin/python
PIP := $(RUN) -m pip install --disable-pip-version-check --constraint constraints.txt
# A fifth of pip's CPU time. It knows no mirrors of pip's configuration: where it fails, pip installs.
UV := $(RUN) -m uv pip install --quiet --system-certs --python $(RUN) --constraint constraints.txt
DEVELOPMENT := --group dev -e clients/python -e clients/console \
	-e '.[embedded,azure-identity,bedrock,documents,embedding,gcs,local-embedding,s3,oidc,http,mcp,telemetry,tokens]'
MANIFESTS := pyproject.toml clients/python/pyproject.toml clients/console/pyproject.toml constraints.txt
PG ?= 18
# Each worker runs whole files, in their order, with its own Postgres and emulators.
# Four workers keep two cores busy, since tests wait for a quarter of their time.
WORKERS ?= 4
# A worker that dies, or hangs and is killed, is replaced twice at most, and its test runs again.
PYTEST := $(RUN) -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 2

.PHONY: help install runtime demo run test lint types format proto sync-client npm buf release constraints \
	cel-vectors console-pictures bench bench-adapters bench-console bench-handover bench-peers bench-query bench-recall bench-statements bench-user-context bench-window contract examples frameworks fuzz \
	soak soak-databases test-adapters clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: .venv/.development ## make .venv with all development tools

runtime: .venv/.runtime

# The packages that `make demo` and `make run` need, without development tools.
.venv/.runtime: $(MANIFESTS) | .venv/bin/pip
	@echo "installing the services' packages into .venv: about 70 packages, 520 MB."
	@echo "Half a minute to two minutes, the first time; development's tools come with \`make install\`."
	@SECONDS=0; $(PIP) -e 'clients/python[console]' -e clients/console -e '.[documents,embedded,http,local-embedding,mcp,tokens]'; echo "installed in $$SECONDS s"
	@touch $@

.venv/.development: $(MANIFESTS) | .venv/bin/pip
	@echo "installing the development tools into .venv: about 130 packages, 740 MB."
	@echo "Half a minute to two minutes, the first time."
	@SECONDS=0; $(PIP) --quiet uv==0.13.9; \
		$(UV) $(DEVELOPMENT) \
			|| { $(PIP) --quiet --upgrade 'pip>=25.1'; $(PIP) --no-compile $(DEVELOPMENT); }; \
		echo "installed in $$SECONDS s"
	@touch .venv/.runtime $@

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; set PYTHON=python3.12, for example"; exit 1; }
	@echo "making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv

demo: runtime ## run the main use case on real input and show it (CHAPTER=mappings: another part of it; CHAPTER=all)
	@$(RUN) examples/demo.py $(CHAPTER)

run: runtime ## start Postgres, both services and the console until Ctrl-C (DEMO=1: with the demo's data)
	@$(RUN) $(if $(filter 1,$(DEMO)),examples/demo.py --stay,-m context_service dev)

test: install npm ## run all tests on real Postgres and real gRPC (PG=16: on the oldest supported one; DATABASES=2: tenants over two; WORKERS=2; TESTS=folder)
	@CONTEXTKEEP_TEST_PG=$(PG) CONTEXTKEEP_TEST_DATABASES=$(DATABASES) $(PYTEST) $(TESTS)

contract: install ## run every case of the contract over gRPC, HTTP and the Python client
	@CONTRACT_BY_ALL_DOORS=1 $(PYTEST) tests/contract

examples: install ## run every property test with many random examples (EXAMPLES=1000 each)
	@EXAMPLES=$(or $(EXAMPLES),1000) $(PYTEST) tests -m hypothesis -o timeout=0 -o faulthandler_timeout=0
	@EXAMPLES=$(or $(EXAMPLES),1000) $(RUN) -m tests.adapters

fuzz: install ## send random requests to every RPC (REQUESTS=2000 each)
	@FUZZ_REQUESTS=$(or $(REQUESTS),2000) $(RUN) -m pytest tests/hostile/test_fuzz.py tests/hostile/test_http.py tests/hostile/test_stalls.py \
		tests/hostile/test_transport.py -k 'whatever or attack_by_several'

lint: install buf ## check style, import directions, protos, and that generated files are current
	@$(RUN) -m ruff format --check --quiet .
	@$(RUN) -m ruff check --quiet .
	@$(RUN) -c 'from importlinter.cli import lint_imports_command as lint; lint()' > .lint-imports.log \
		|| { cat .lint-imports.log; exit 1; }
	@$(RUN) tests/plain_words.py
	@$(RUN) proto/generator --check
	@$(RUN) clients/python/tools/make_sync.py --check

types: install npm ## check the types, strictly
	@$(RUN) -m mypy
	@if command -v npm > /dev/null; then node_modules/.bin/tsc --noEmit --project clients/typescript; \
	elif [ "$${CI:-}" = true ]; then echo "tsc: Node is missing, and CI=true"; exit 1; \
	else echo "tsc: skipped, Node is not installed"; fi

format: install ## format the code and fix what ruff can fix
	@$(RUN) -m ruff format .
	@$(RUN) -m ruff check --fix .

proto: install npm ## generate the stubs from the protos, in Python and TypeScript, and the script of the console
	@$(RUN) proto/generator

sync-client: install ## generate the synchronous client from the asynchronous one
	@$(RUN) clients/python/tools/make_sync.py

# The packages from npm. Without Node this is skipped with a message, but not in CI.
npm:
	@if ! command -v npm > /dev/null; then exit 0; fi; \
	test node_modules/.installed -nt package.json -a node_modules/.installed -nt clients/typescript/package.json \
		|| { echo "installing the npm packages into node_modules: about 600 packages, 600 MB, one minute or two"; SECONDS=0; \
			npm install --loglevel=error --no-package-lock --no-fund --no-audit && touch node_modules/.installed \
			&& echo "installed in $$SECONDS s"; } \
		|| { echo "npm could not install the packages of package.json"; exit 1; }

buf: npm
	@if command -v npm > /dev/null; then \
		cd proto && ../node_modules/.bin/buf lint && ../node_modules/.bin/buf breaking --against released.binpb; \
	elif [ "$${CI:-}" = true ]; then echo "buf: Node is missing, and CI=true"; exit 1; \
	else echo "buf: skipped, Node is not installed"; fi

release: install npm ## store the released protos, stores, their tests and migrations, against which later changes are checked
	@cd proto && ../node_modules/.bin/buf build -o released.binpb
	@$(RUN) -m tests.migrations.release

constraints: install ## pin the packages of development and CI to the installed versions
	@{ echo '# The exact versions that development and CI install; `make constraints` renews them.'; \
		$(RUN) -m pip freeze --exclude-editable --disable-pip-version-check; } > constraints.new
	@mv constraints.new constraints.txt

cel-vectors: install ## run the CEL specification's test vectors (CEL_VECTORS=folder)
	@$(RUN) -m tests.conformance.cel_vectors

console-pictures: install ## make the screenshots of docs/console.md with Debian's chromium
	@$(RUN) -m tests.console.pictures

soak: install npm ## move 1 GiB there and back; then kill processes at random, and look for losses (MINUTES=30 SEED=1 CLOUD=azure)
	@$(RUN) -m pytest -m soak -o faulthandler_timeout=0
	@$(RUN) -m soak --minutes $(or $(MINUTES),30) --seed $(or $(SEED),1) $(if $(CLOUD),--cloud $(CLOUD))

soak-databases: install ## move tenants among three databases while processes are killed, and look for losses (MINUTES=10 SEED=1)
	@$(RUN) -m soak.databases --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1)

bench: install ## measure, as ratios against fixed floors in the same run (SAVE=1: into docs/benchmarks.md)
	@$(RUN) -m bench $(if $(SAVE),--save)

bench-recall: install ## measure whether recalled passages hold the answer (LOCOMO=folder BEAM=folder QUICK=1 CACHE=folder SAVE=1: into docs/benchmarks.md)
	@$(RUN) -m bench.quality $(if $(LOCOMO),--locomo $(LOCOMO)) $(if $(BEAM),--beam $(BEAM)) \
		$(if $(QUICK),--quick) $(if $(CACHE),--cache $(CACHE)) $(if $(SAVE),--save)

bench-user-context: install ## measure how many later questions find their evidence in GetUserContext (LOCOMO=folder BEAM=folder)
	@$(RUN) -m bench.quality.user_context $(if $(LOCOMO),--locomo $(LOCOMO)) $(if $(BEAM),--beam $(BEAM))

bench-window: install ## measure what a model sees of 10,000 steps, and the cost (STEPS=600 BUDGET=24000 SEED=2 SAVE=1)
	@$(RUN) -m bench.long_run $(if $(STEPS),--steps $(STEPS)) $(if $(BUDGET),--budget $(BUDGET)) $(if $(SEED),--seed $(SEED)) $(if $(SAVE),--save)

bench-statements: install ## read labelled sentences of strangers, and count what the state has right, wrong or not at all (SAVE=1)
	@$(RUN) -m bench.statements $(if $(SAVE),--save)

bench-handover: install ## ask packs of three long runs what an agent that takes over must know (STORY=coding SHARE=40 SEED=2)
	@$(RUN) -m bench.handover $(if $(STORY),--story $(STORY)) $(if $(SHARE),--share $(SHARE)) $(if $(SEED),--seed $(SEED))

bench-console: install ## measure pages of the console with 100,000 nodes, 10,000 records and 1,000 contexts (SHARE=0.1)
	@$(RUN) -m bench.console_pages $(SHARE)

bench-query: install ## measure whether one question to every source finds the right one (SEEDS=3 CUSTOMERS=30 SAVE=1)
	@$(RUN) -m bench.company $(if $(SEEDS),--seeds $(SEEDS)) $(if $(CUSTOMERS),--customers $(CUSTOMERS)) $(if $(SAVE),--save)

frameworks: install
	@$(RUN) -m tests.frameworks.environment

test-adapters: install ## run each framework's own suite, and the framework, on its adapter (ONLY=langgraph OLDEST=1)
	@$(RUN) -m tests.adapters $(ONLY) $(if $(OLDEST),--oldest)

bench-adapters: install ## measure each adapter next to the framework's own Postgres store (SIZES="100 1000" ONLY=langgraph SAVE=1: into docs/benchmarks.md)
	@$(RUN) -m bench.adapters $(if $(SIZES),--sizes $(SIZES)) $(if $(ONLY),--only $(ONLY)) $(if $(SAVE),--save)

bench-peers: install ## measure conversations next to LangGraph, Google ADK, OpenAI Agents (SAVE=1: into docs/benchmarks.md)
	@$(RUN) -m bench.peers $(if $(SAVE),--save)

clean: ## remove what the build made, but not the data of `make run` (DATA=1: that, too)
ifeq ($(DATA),1)
	@runs=$$(cat .contextkeep/lock 2> /dev/null || true); if [ -n "$$runs" ] && kill -0 "$$runs" 2> /dev/null; then \
		echo "process $$runs runs on the data: stop it first"; exit 1; fi
	@# As root the database is outside of the checkout; a file says where.
	@cat .contextkeep/postgres-*.at 2> /dev/null | while read -r folder; do \
		case "$$folder" in /var/lib/contextkeep/data/?*) echo "rm -rf $$folder"; rm -rf -- "$$folder";; esac; done
	rm -rf .contextkeep
endif
	rm -rf .venv .frameworks* node_modules clients/typescript/node_modules clients/typescript/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
