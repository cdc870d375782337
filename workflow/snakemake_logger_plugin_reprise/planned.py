"""Summary of a dry run that fits on one screen: planned jobs by rule, with their subjects and reasons."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.plain import summarize_list

# The rule `all`, the rule of the same files in the Snakefile of `reprise init`, and Snakemake's total.
UNCOUNTED_RULES = ("all", "default", "total")
# Limits of the lists in the summary, so that it fits on one screen.
MAX_LISTED_NAMES, MAX_LISTED_MODELS, MAX_LISTED_CAUSES = 4, 8, 5
MAX_CHARACTERS = 120  # of a line
NOT_COMPUTED = "not computed yet"
CHANGED_SETTINGS = "changed settings"
REASONS = {  # text in Snakemake's reason -> reason in the summary; the first match counts
    "Forced execution": "requested by --force, --forcerun or --forceall",
    "Incomplete output files": "incomplete output of a killed job",
    "Missing output files": NOT_COMPUTED,
    "Updated input files": "changed input",
    "Params have changed": CHANGED_SETTINGS,
    "Set of input files has changed": "other input files than before",
    "Code has changed": "changed rule",
    "Software environment": "changed software environment",
    "Input files updated by another job": "depends on another job",
}


def count_jobs(stats: Mapping[str, int]) -> dict[str, int]:
    """Return the number of jobs by rule, without `all` and Snakemake's total."""
    return {rule: count for rule, count in stats.items() if rule not in UNCOUNTED_RULES}


def format_wildcards(wildcards: Mapping[str, str]) -> str:
    """Return the values of a job's wildcards, such as `velociti/entail/fps1/toy-llava-ov`."""
    return "/".join(wildcards.values())


class PlannedJob(NamedTuple):
    """A job that would run."""

    rule: str
    wildcards: Mapping[str, str]
    reason: str  # a reason of REASONS, or Snakemake's own text
    changed_inputs: Sequence[str]
    outputs: Sequence[str]
    settings: Sequence[str]  # params with settings, each as a line of JSON
    queries_model: bool


class DryRunSummary:
    """Summarise the jobs of Snakemake's graph that would run."""

    def __init__(self, graph: Any) -> None:
        jobs = [
            job
            for level in graph.toposorted()
            for job in sorted(level, key=lambda job: (job.rule.name, *job.wildcards))
            if graph.needrun(job)
        ]
        # Evaluate the resources and the command of one job per rule, because an error in them must end the dry run.
        job_by_rule = {job.rule.name: job for job in jobs}
        _ = [(job.resources, job.shellcmd) for job in job_by_rule.values()]
        self._jobs = [_planned_job(job, graph.reason(job)) for job in jobs if job.rule.name not in UNCOUNTED_RULES]

    def format_text(self, *, has_details: bool) -> str:
        """Return the summary in lines of at most `MAX_CHARACTERS`; empty if no job would run.

        Details are the changes for which existing results are recomputed, and a hint.
        """
        if not self._jobs:
            return ""
        reasons = {job.reason for job in self._jobs}
        common_reason = reasons.pop() if len(reasons) == 1 else ""
        reason_text = f" ({common_reason})" if common_reason else ""
        lines = [
            f"{len(self._jobs)} job{'s' if self._jobs[1:] else ''} would run{reason_text}:",
            *self._rule_lines(has_common_reason=bool(common_reason)),
            *self._model_lines(),
        ]
        if has_details:
            lines += [
                *self._cause_lines(),
                "Nothing was run (--dry-run). Add --logger-reprise-full for every job with its files and reason.",
            ]
        return "\n".join(line if len(line) <= MAX_CHARACTERS else f"{line[: MAX_CHARACTERS - 3]}..." for line in lines)

    def _rule_lines(self, *, has_common_reason: bool) -> Iterator[str]:
        """Yield one line per rule, in the order of the rules' last jobs."""
        last_positions = {job.rule: position for position, job in enumerate(self._jobs)}
        for rule in sorted(last_positions, key=lambda rule: last_positions[rule]):
            jobs = [job for job in self._jobs if job.rule == rule]
            reasons = {} if has_common_reason else Counter(job.reason for job in jobs)
            reason_text = ", ".join(
                f"{reason} {count}" if count < len(jobs) else reason for reason, count in reasons.items()
            )
            wildcards = (name for name in ("benchmark", "table", "model") if name in jobs[0].wildcards)
            wildcard = next(wildcards, None)
            names = {job.wildcards[wildcard] for job in jobs} if wildcard else ()
            name_text = ", ".join(summarize_list(sorted(names), MAX_LISTED_NAMES, "{} more"))
            yield (
                f"{len(jobs):>6}  {rule:<{max(map(len, last_positions))}}  "
                f"{'; '.join(filter(None, [reason_text, name_text]))}"
            ).rstrip()

    def _model_lines(self) -> Iterator[str]:
        """Yield one line per model or judge that would be queried, with its jobs by benchmark."""
        counts_by_model: dict[str, Counter[str]] = defaultdict(Counter)
        for job in self._jobs:
            if job.queries_model:
                counts_by_model[job.wildcards.get("judge", job.wildcards["model"])][job.wildcards["benchmark"]] += 1
        lines = ["Models that would be queried (jobs):"] if counts_by_model else []
        for model, counts in sorted(counts_by_model.items(), key=lambda model_and_counts: -model_and_counts[1].total()):
            benchmark_counts = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
            lines.append(f"{counts.total():>6}  {model}: {benchmark_counts}")
        yield from summarize_list(lines, MAX_LISTED_MODELS + 1, "        and {} more")

    def _cause_lines(self) -> Iterator[str]:
        """Yield the changes for which existing results are recomputed, each with the jobs that it affects."""
        jobs_by_change: dict[str, list[str]] = defaultdict(list)
        recomputed_jobs = [job for job in self._jobs if job.reason != NOT_COMPUTED]
        for job in recomputed_jobs:
            for change in _describe_changes(job):
                jobs_by_change[change].append(f"{job.rule} {format_wildcards(job.wildcards)}".rstrip())
        entries = [
            f"  {change}\n    affects: {', '.join(summarize_list(jobs, 1))}" for change, jobs in jobs_by_change.items()
        ]
        head = ["What changed:"] if jobs_by_change else []
        yield from "\n".join([*head, *summarize_list(entries, MAX_LISTED_CAUSES, "  and {} more")]).splitlines()


def _planned_job(job: Any, reason: Any) -> PlannedJob:
    """Convert a job of Snakemake's graph, with Snakemake's reason to run it."""
    reason_text, files = str(reason), sorted(map(str, reason.updated_input))
    category = next((label for text, label in REASONS.items() if text in reason_text), reason_text)
    settings = [value for value in job.params if isinstance(value, str) and value.startswith("{")]
    queries_model = "loaded_model" in job.rule.resources  # true for `infer` and the rules derived from it
    return PlannedJob(job.rule.name, job.wildcards_dict, category, files, job.output, settings, queries_model)


def _describe_changes(job: PlannedJob) -> Iterator[str]:
    """Yield the changes since the outputs of a job were produced: newer inputs and changed settings."""
    yield from (f"{name} is newer" for name in job.changed_inputs)
    if job.reason == CHANGED_SETTINGS:
        from reprise.core.files import read_provenance
        from reprise.core.provenance import Provenance
        from reprise.core.settings_text import format_settings_line, parse_settings_line, parse_settings_name
        from reprise.plan.changes import find_changes

        provenances = [
            read_provenance(Path(output)) or Provenance() for output in job.outputs if Path(output).is_file()
        ]
        changes: list[str] = []
        for text in job.settings:
            name = parse_settings_name(text)
            for provenance in provenances:
                if (old_settings := provenance.settings.get(name)) is not None:
                    # The line shortens long values to digests, as in the rule's params.
                    old_content = parse_settings_line(format_settings_line(name, old_settings))
                    changes += [change.text for change in find_changes(old_content, parse_settings_line(text))]
        yield from dict.fromkeys(changes) or [CHANGED_SETTINGS]
