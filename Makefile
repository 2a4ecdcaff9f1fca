# Works with Python >= 3.11 and make alone. Every path is relative, so that the checkout may lie in a path with spaces.
PYTHON ?= python3
PREPARE = command -v "$(PYTHON)" >/dev/null || { echo "$(PYTHON) was not found; name another: make up PYTHON=python3.12" >&2; exit 1; }; "$(PYTHON)" scripts/venv.py
RUN = .venv/bin/python
# Without bytecode files each of the many processes that tests start would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help up demo test soak mutate check format lock screenshots clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

up: ## Run Headwater on this machine; Ctrl-C stops it
	@$(PREPARE)
	@exec $(RUN) -m headwater up

demo: ## Run Headwater against a small synthetic web; needs no internet
	@$(PREPARE)
	@exec $(RUN) -m headwater demo

# Tests run side by side; more threads for each only wait for one another.
test soak: export OPENBLAS_NUM_THREADS = 1
test: ## Run the tests; a few minutes
	@$(PREPARE) --dev
	@$(RUN) scripts/browser.py
	$(RUN) -m pytest -n 4 -m "not soak"

soak: export SOAK = 1
soak: ## Run all tests again with what is long by nature, the database ones on PostgreSQL 15, and show the coverage
	@$(PREPARE) --dev
	@$(RUN) scripts/browser.py
	@$(RUN) scripts/prometheus.py
	@$(RUN) scripts/opensearch.py
	@$(RUN) scripts/brokers.py
	@$(RUN) -m coverage erase
	$(RUN) -m coverage run -m pytest -n 3 -m "soak or not database"
	$(RUN) scripts/server_tests.py
	@$(RUN) -m coverage combine --quiet
	$(RUN) -m coverage report

mutate: ## Mutation testing of the decision files; FILES="net/guard.py" for some, ALL=1 for every mutant
	@$(PREPARE) --dev
	nice $(RUN) scripts/mutate.py $(if $(ALL),--most 0) $(FILES)

check: ## Lint, formatting, types and import contracts
	@$(PREPARE) --dev
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m basedpyright
	.venv/bin/lint-imports

format: ## Mend what lint and formatting can mend
	@$(PREPARE) --dev
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

lock: ## Renew the locks after a change in pyproject.toml; UPGRADE=1 takes the newest of everything; needs uv
	@"$(PYTHON)" scripts/lock.py $(if $(UPGRADE),--upgrade)

screenshots: ## Photograph every page, light and dark, wide and narrow, into screenshots/
	@$(PREPARE) --dev
	@$(RUN) scripts/browser.py
	@exec $(RUN) -m scripts.screenshots

bench-%: ## Run one benchmark: benchmarks/%.py
	@$(PREPARE) --dev
	@exec $(RUN) benchmarks/$*.py

clean: ## Remove .venv and caches; the data of Headwater stays
	rm -rf .venv .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage* build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
