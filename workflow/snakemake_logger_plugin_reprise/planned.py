"""Summary of a dry run that fits on one screen: planned jobs by rule, with their subjects and reasons."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.plain import summarize_list

MOST_NAMES, MOST_MODELS, MOST_CAUSES = 4, 8, 5
NEW = "not computed yet"
CHANGED = "changed settings"
REASONS = {  # prefixes of Snakemake's reasons, the strongest first
    "Forced execution": "requested by --force, --forcerun or --forceall",
    "Incomplete output files": "incomplete output of a killed job",
    "Missing output files": NEW,
    "Updated input files": "changed input",
    "Params have changed": CHANGED,
    "Set of input files has changed": "other input files than before",
    "Code has changed": "changed rule",
    "Software environment": "changed software environment",
    "Input files updated by another job": "depends on another job",
}


def count_jobs(stats: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of jobs by rule, without rules that only collect others."""
    return {rule: count for rule, count in stats.items() if rule not in ("all", "total")}


def format_wildcards(wildcards: Mapping[str, str]) -> str:
    return "/".join(wildcards.values())


class PlannedJob(NamedTuple):
    rule: str
    wildcards: Mapping[str, str]
    reason: str
    changed_inputs: Sequence[str]
    outputs: Sequence[str]
    settings: Sequence[str]
    queries_model: bool


class DryRunSummary:
    """The jobs of Snakemake's graph that would run, each after its dependencies."""

    def __init__(self, graph: Any) -> None:
        jobs = [
            job
            for level in graph.toposorted()
            for job in sorted(level, key=lambda job: (job.rule.name, *job.wildcards))
            if graph.needrun(job)
        ]
        # Evaluate what Snakemake would format for each rule, so that an error in resources or command ends a dry run.
        _ = [(job.resources, job.shellcmd) for job in {job.rule.name: job for job in jobs}.values()]
        self._jobs = [_planned_job(job, graph.reason(job)) for job in jobs if count_jobs({job.rule.name: 1})]

    def text(self, width: int) -> str:
        if not self._jobs:
            return ""
        reasons = {job.reason for job in self._jobs}
        common = reasons.pop() if len(reasons) == 1 else ""
        lines = [
            f"{len(self._jobs)} job{'s' if self._jobs[1:] else ''} would run{f' ({common})' if common else ''}:",
            *self._rules(is_explained=bool(common)),
            *self._models(),
            *self._causes(),
        ]
        footer = "Nothing was run (--dry-run). Add --logger-reprise-full for every job with its files and reason."
        return "\n".join([*(line if len(line) <= width else f"{line[: width - 3]}..." for line in lines), footer])

    def _rules(self, *, is_explained: bool) -> Iterator[str]:
        """Yield one line per rule, in the order in which the last jobs of the rules would run."""
        last_positions = {job.rule: position for position, job in enumerate(self._jobs)}
        for rule in sorted(last_positions, key=lambda rule: last_positions[rule]):
            jobs = [job for job in self._jobs if job.rule == rule]
            reasons = {} if is_explained else Counter(job.reason for job in jobs)
            reason_text = ", ".join(
                f"{words} {count}" if count < len(jobs) else words for words, count in reasons.items()
            )
            kind = next((kind for kind in ("benchmark", "table", "model") if kind in jobs[0].wildcards), None)
            names = {job.wildcards[kind] for job in jobs} if kind else ()
            name_text = ", ".join(summarize_list(sorted(names), MOST_NAMES, "{} more"))
            yield (
                f"{len(jobs):>6}  {rule:<{max(map(len, last_positions))}}  "
                f"{'; '.join(filter(None, [reason_text, name_text]))}"
            ).rstrip()

    def _models(self) -> Iterator[str]:
        counts_by_model: dict[str, Counter[str]] = defaultdict(Counter)
        for job in self._jobs:
            if job.queries_model:
                counts_by_model[job.wildcards.get("judge", job.wildcards["model"])][job.wildcards["benchmark"]] += 1
        lines = ["Models that would be queried (jobs):"] if counts_by_model else []
        for model, counts in sorted(counts_by_model.items(), key=lambda entry: -entry[1].total()):
            benchmark_counts = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
            lines.append(f"{counts.total():>6}  {model}: {benchmark_counts}")
        yield from summarize_list(lines, MOST_MODELS + 1, "        and {} more")

    def _causes(self) -> Iterator[str]:
        causes: dict[str, list[str]] = defaultdict(list)
        for job in self._jobs:
            for words in _changes(job) if job.reason != NEW else ():
                causes[words].append(f"{job.rule} {format_wildcards(job.wildcards)}".rstrip())
        entries = [f"  {words}\n    affects: {', '.join(summarize_list(jobs, 1))}" for words, jobs in causes.items()]
        head = ["What changed:"] if causes else []
        yield from "\n".join([*head, *summarize_list(entries, MOST_CAUSES, "  and {} more")]).splitlines()


def _planned_job(job: Any, reason: Any) -> PlannedJob:
    reason_text, files = str(reason), sorted(map(str, reason.updated_input))
    category = next((label for prefix, label in REASONS.items() if prefix in reason_text), reason_text)
    settings = [value for value in job.params if isinstance(value, str) and value.startswith("{")]
    asks_model = "loaded_model" in job.rule.resources  # true for `infer` and the rules derived from it
    return PlannedJob(job.rule.name, job.wildcards_dict, category, files, job.output, settings, asks_model)


def _changes(job: PlannedJob) -> Iterator[str]:
    """Yield the changes since the outputs of a job were made: newer inputs, and changed settings by name."""
    yield from (f"{name} is newer" for name in job.changed_inputs)
    if job.reason == CHANGED:
        from reprise.core.files import read_provenance
        from reprise.core.provenance import Provenance
        from reprise.core.settings_text import parse_content, parse_name, settings_text
        from reprise.plan.changes import changes_between

        provenances = [
            read_provenance(Path(output)) or Provenance() for output in job.outputs if Path(output).is_file()
        ]
        changes = [
            change.text
            for text in job.settings
            for provenance in provenances
            if (old_settings := provenance.settings.get(parse_name(text))) is not None
            for change in changes_between(
                parse_content(settings_text(parse_name(text), old_settings)), parse_content(text)
            )
        ]
        yield from dict.fromkeys(changes) or [CHANGED]
