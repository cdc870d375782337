"""Snakemake's messages: which of them say nothing to a person, and what a mistake's message says."""

import re
import sys
from collections.abc import Sequence
from itertools import dropwhile, islice, takewhile
from textwrap import dedent

STOPPING = "Terminating processes on user request"
LOG_FILE = "Complete log(s): "
TRIED_AGAIN = re.compile(r"Trying to restart job (\d+)")
# What Snakemake says of itself at every start, end and job.
NOISE = (
    *("Building DAG of jobs", "Using shell:", "Workflow has started", "Shutting down, this might take some time"),
    *("Assuming unrestricted shared filesystem", "Select jobs to execute", "Provided remote nodes", "Group jobs:"),
    *("Conda environments:", "Singularity containers:", "Elapsed time:", "This was a dry-run", "Reasons:"),
    *("Some jobs were triggered by provenance", "Rules with provenance", "Exiting because a job"),
    *("Auto-selected partition", "No SLURM account given", "No account was given", "Guessed SLURM account"),
    *("Unable to guess SLURM account", "SLURM run ID:", "SLURM workflow log", "Cleaning up SLURM log files"),
    *(
        "Removing output files of failed job",
        "Storing output in storage",
        "At least one job did not complete",
        LOG_FILE,
    ),
)
NOISE_OF_A_JOB = re.compile(r"Job \S+ has been submitted|\d+ jobs have (?:missing|outdated) provenance|Job rate limit")
FAILED_JOBS = "At least one job did not complete successfully."
# `WorkflowError in file "...", line 12:`, and the lines of the traceback after the message.
HEADER = re.compile(r"^(?:Workflow|InputFunction|Rule)(?:Error|Exception)(?: in (?:rule|file) .*)?:\n", re.MULTILINE)
FRAME = re.compile(r'^  File "[^"]*", line \d+, in .*\n?', re.MULTILINE)
# How an error of an input function is shown: its kind and message, then the wildcards and a traceback.
IN_FUNCTION = re.compile(r"^Error:\n  (\w+):\n?(.*?)\nWildcards:\n", re.MULTILINE | re.DOTALL)
NO_CONFIG = "Invalid config definition"
NO_RULE = re.compile(r"^MissingRuleException:\nNo rule to produce (.+?) \(if you use input functions", re.MULTILINE)
ADVICE = (
    "no rule makes it. A target is a file, such as results/tables/table2.html, or a rule without wildcards "
    "(`snakemake --list-target-rules`)."
)
USER_MISTAKES = {"WorkflowError", "InputFunctionException", "MissingRuleException"}
MISTAKES_IN_FUNCTIONS = {"WorkflowError", "UserError"}


def is_noise(text: str) -> bool:
    return text.startswith(NOISE) or text in ("", "None") or NOISE_OF_A_JOB.match(text) is not None


def mistake(text: str, exception: str, arguments: Sequence[str] = sys.argv) -> str:
    """A mistake's message alone; a bug keeps all that Snakemake says. Empty for what is said elsewhere."""
    if text.rstrip().endswith(FAILED_JOBS) or exception == "KeyboardInterrupt":
        return ""
    if exception == "RuleException" and "CalledProcessError in file" in text:
        return ""  # the job's own failure is shown
    if NO_CONFIG in text:
        return _swallowed(arguments)
    if no_rule := NO_RULE.search(text):
        return f"Error: {no_rule[1]}: {ADVICE}"
    if exception not in USER_MISTAKES:
        return text
    if in_function := IN_FUNCTION.search(text):
        return f"Error: {dedent(in_function[2]).strip()}" if in_function[1] in MISTAKES_IN_FUNCTIONS else text
    return f"Error: {FRAME.sub('', HEADER.sub('', text)).strip()}"


def _swallowed(arguments: Sequence[str]) -> str:
    """`--config` takes all words after it up to the next option, targets too."""
    rest = dropwhile(lambda word: word not in ("--config", "-C"), arguments)
    taken = list(takewhile(lambda word: not word.startswith("-"), islice(rest, 1, None)))
    targets = [one for one in taken if "=" not in one]
    settings = [one for one in taken if "=" in one]
    if not targets:
        return f"Error: --config: {' '.join(taken)} is no setting. Write name=value, such as --config suite=paper."
    shown = " ".join(["snakemake", *targets, "--config", *(settings or ["suite=<name>"])])
    return (
        f"Error: --config: '{targets[0]}' is no setting (name=value). Snakemake takes every word after --config for "
        f"one, so name the targets before it: {shown}"
    )
