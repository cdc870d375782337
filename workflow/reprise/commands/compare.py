"""Command `compare`: conditions, scores on common samples, and differing samples of two runs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.comparison import MetricComparison, compare_by_task, compare_headline
from reprise.benchmarks.registry import load_scores
from reprise.commands.output import OutputColumn, write_heading, write_lines, write_rows
from reprise.commands.shared import compute_outcomes, format_choices, get_extractor_name, load_plan, read_manifests
from reprise.core.errors import UserError
from reprise.core.files import read_json, read_provenance, verify_sealed_text
from reprise.core.notation import EN_DASH, format_difference, format_interval, format_p
from reprise.core.paths import RESULTS, Run, temporal_file
from reprise.core.plain import sanitize_line, summarize_list
from reprise.core.provenance import Provenance
from reprise.core.schemas import FRAME_PLAN, ITEMS, REQUESTS, RESPONSES, read_table
from reprise.models.keys import ModelAnswersKey
from reprise.plan.changes import NO_VALUE, find_changes, flatten
from reprise.plan.name_matching import match_names
from reprise.plan.runs import Plan
from reprise.stats.paired import adjust_holm
from reprise.temporal.findings import describe_run_difference
from reprise.temporal.profile import read_profile

MAX_LISTED, MAX_INDICES = 8, 16  # Numbers of listed samples or clips, and of listed frames of a clip.

UNKNOWN = "unknown"
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


class Conditions(NamedTuple):
    """Conditions under which a run's answers were produced; unknown conditions of imported answers are empty."""

    settings: Mapping[str, Any]  # settings of the run key and the answer extraction, and the released files
    frames: Mapping[str, tuple[int, ...]]  # clip -> planned frame indices
    clips: Mapping[str, str]  # clip -> digest of its file
    prompts: Mapping[str, str]  # request -> digest of the prompt that was sent
    answered_clips: frozenset[str]  # clips of the items with an answer
    missing_clips: frozenset[str]  # clips of the items with a request that was not sent, because the clip is missing
    unknown_settings: frozenset[str] = frozenset()  # names of unknown settings, and of unknown `frames` and `clips`

    @classmethod
    def from_run(cls, plan: Plan, run: Run) -> "Conditions":
        """Return the conditions of a run, from its results and their provenance."""
        results, extractor = plan.results, get_extractor_name(plan, run)
        response_provenance = read_provenance(results.responses(run)) or Provenance()
        answers_settings = (
            settings["answers"] for settings in response_provenance.settings.values() if "answers" in settings
        )
        run_settings: Mapping[str, Any] = next(answers_settings, {})
        answers = read_table(results.responses(run), RESPONSES)
        requests = results.requests(run.benchmark, run.protocol)
        request_rows = read_table(requests, REQUESTS) if requests.is_file() else pl.DataFrame(schema=REQUESTS)
        clip_by_item = dict(read_table(results.items(run.benchmark), ITEMS).select("item_id", "clip_id").iter_rows())
        verdict_provenance = read_provenance(results.verdicts(run, extractor)) or Provenance()
        extractor_settings: dict[str, Any] = {"name": extractor}
        for name, settings in verdict_provenance.settings.items():
            if name.startswith("verdicts/"):
                extractor_settings |= settings
        release, frames = results.release(run.benchmark), results.frames(run.benchmark, run.sampling)
        files = read_json(verify_sealed_text(release)) if release.is_file() else []
        frame_plans = read_table(frames, FRAME_PLAN) if frames.is_file() else pl.DataFrame(schema=FRAME_PLAN)
        clip_rows = read_manifests(plan, "clips", run.benchmark).filter(status="ok")
        requested_clips, answered_clips = (
            frozenset(clip_by_item[item] for item in table["item_id"].unique() if item in clip_by_item)
            for table in (request_rows, answers)
        )
        conditions = cls(
            settings={
                **{name: value for name, value in run_settings.items() if name != "benchmark"},
                "extractor": extractor_settings,
                "released": {file["name"]: file["sha256"] for file in files},
            },
            frames={clip: tuple(indices) for clip, indices in frame_plans.select("clip_id", "indices").iter_rows()},
            clips=dict(clip_rows.select("clip_id", "sha256").iter_rows()),
            prompts={
                name: digest for name, digest in answers.select("request_id", "prompt_sha256").iter_rows() if digest
            },
            answered_clips=answered_clips,
            missing_clips=requested_clips - answered_clips,
        )
        return conditions.as_imported() if run.model in plan.imports.models else conditions

    def as_imported(self) -> "Conditions":
        """Return these conditions for imported answers, of which frames, clips and the model's settings are unknown.

        They need no clips, so none is missing.
        """
        unknown_settings = {"frames", "clips", *(ModelAnswersKey.model_fields.keys() - self.settings.keys())}
        return self._replace(
            frames={}, clips={}, missing_clips=frozenset(), unknown_settings=frozenset(unknown_settings)
        )


class ComparedRun(NamedTuple):
    """Run with its conditions and outcomes."""

    name: str
    benchmark: str
    form: str
    conditions: Conditions
    outcomes: Mapping[str, pl.DataFrame]  # metric -> a row for each item with the share that counts as right
    level: float  # confidence level of intervals

    @classmethod
    def load(cls, query: str, suite: str | None) -> "ComparedRun":
        """Return the run that a query matches; `<folder>:<run>` names a run of another clone."""
        folder, _, name = query.rpartition(":")
        if folder and not (Path(folder) / RESULTS).is_dir():
            raise UserError(
                f"compare: '{folder}' has no results of Reprise: it has no folder {RESULTS}/. Name a run of another "
                "folder as <folder>:<run>."
            )
        try:
            with chdir(folder or "."):
                plan = load_plan(suite)
                run = plan.find_run(name)
                return cls(
                    name=f"{folder}:{run.name}" if folder else run.name,
                    benchmark=run.benchmark,
                    form=plan.config.benchmarks[run.benchmark].protocols[run.protocol].form,
                    outcomes=compute_outcomes(plan, run, "compare"),
                    conditions=Conditions.from_run(plan, run),
                    level=plan.config.main.confidence,
                )
        except UserError as error:
            if not folder:
                raise
            raise UserError(f"in {folder}: {error}") from None


def match_pair(first: str, second: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the names of the two runs to compare; among several matches, prefer equal protocols and samplings.

    Args:
        first: Name of the first run, or some parts of it.
        second: Name of the second run, or some parts of it.
        names: Names of all runs.

    Raises:
        UserError: Several pairs of runs match.
    """
    first_runs, second_runs = (match_names(query, names) for query in (first, second))
    if not first_runs or not second_runs:
        return first, second  # The caller reports the name that matches no run.
    is_unambiguous = len(first_runs) == len(second_runs) == 1
    pairs = [
        (first_run, second_run)
        for first_run in first_runs
        for second_run in second_runs
        if first_run != second_run or is_unambiguous
    ]
    # Prefer pairs with equal protocol and sampling (all but the last part of the names), then variants of one protocol
    # (`mmbench` and `mmbench.letter` of one benchmark). The caller rejects other pairs if they are not comparable.
    criteria = (lambda run: run.rpartition("/")[0], lambda run: re.split("[./]", run)[:2])
    similar_pairs = (
        [(first_run, second_run) for first_run, second_run in pairs if get_key(first_run) == get_key(second_run)]
        for get_key in criteria
    )
    matches = next(filter(None, similar_pairs), pairs[:1])
    if len(matches) == 1:
        return matches[0]
    calls = [f"reprise compare {first_run} {second_run}" for first_run, second_run in matches]
    raise UserError(f"compare: '{first}' and '{second}' match several pairs of runs. {format_choices(calls)}")


def compare_runs(first: str, second: str, suite: str | None = None) -> None:
    """Print the differences between two runs: conditions, scores on common samples, and differing samples."""
    if ":" not in first + second:  # Both runs belong to the current folder.
        first, second = match_pair(first, second, [run.name for run in load_plan(suite).runs()])
    first_run, second_run = (ComparedRun.load(query, suite) for query in (first, second))
    if (first_run.benchmark, first_run.form) != (second_run.benchmark, second_run.form):
        raise UserError(
            f"compare: the runs have different benchmarks or forms: '{first_run.name}' has {first_run.benchmark} "
            f"{first_run.form}, '{second_run.name}' has {second_run.benchmark} {second_run.form}."
        )
    differences = list(list_differences((first_run.name, second_run.name), first_run.conditions, second_run.conditions))
    write_heading(f"Differences of the conditions: {first_run.name} | {second_run.name}")
    write_lines(differences or ["- none"])
    print()
    write_heading(f"{first_run.name} minus {second_run.name}, in points of the metric, on the samples of both runs")
    metrics = sorted(first_run.outcomes.keys() & second_run.outcomes.keys())
    scoring = load_scores(first_run.benchmark).SCORES[first_run.form]
    headline = compare_headline(scoring, first_run.outcomes, second_run.outcomes, first_run.level)
    if headline is not None:
        print()
        write_comparisons([headline], [headline.comparison.p], first_run.level)
    if profile_difference := find_profile_difference(first_run, second_run):
        write_lines(["", f"In the temporal profile: {profile_difference}"])
    comparisons = [
        comparison
        for name in metrics
        for comparison in compare_by_task(
            scoring, name, first_run.outcomes[name], second_run.outcomes[name], first_run.level
        )
    ]
    parts = [comparison for comparison in comparisons if headline is None or comparison.subject != headline.subject]
    if parts:
        print()
        write_heading(f"The {len(parts)} parts, with p-values adjusted by Holm's method")
        print()
        write_comparisons(parts, adjust_holm([part.comparison.p for part in parts]), first_run.level)
    for metric in metrics:
        print()
        write_lines(
            list_item_differences(
                metric, (first_run.name, first_run.outcomes[metric]), (second_run.name, second_run.outcomes[metric])
            )
        )
    write_lines(["", "p: sign flips over videos. A sample: reprise item <run> <sample>, in the clone of the run"])


# --- numbers ---------------------------------------------------------------------------------------------------------


def write_comparisons(comparisons: Sequence[MetricComparison], p_values: Sequence[float], level: float) -> None:
    """Print one row per comparison, with its p-value."""
    columns = [
        *map(OutputColumn, ("A − B", f"{100 * level:g} % interval", "p", "samples", "videos")),
        OutputColumn("metric, test", "left"),
    ]
    rows = []
    for (metric, test, estimate, decimals), p in zip(comparisons, p_values, strict=True):
        interval = format_interval(estimate.low, estimate.high, decimals) or EN_DASH
        counts = [str(estimate.n_items), str(estimate.n_clusters)]
        difference = format_difference(estimate.difference, decimals)
        rows.append([difference, interval, format_p(p), *counts, f"{metric}, {sanitize_line(test)}"])
    write_rows(columns, rows)


def find_profile_difference(first_run: ComparedRun, second_run: ComparedRun) -> str:
    """Return the sentence of a temporal profile about two runs of its model; empty if it does not compare them."""
    path = temporal_file(first_run.name.rpartition("/")[2], "json")
    if ":" in first_run.name + second_run.name or not path.is_file():
        return ""
    profile = read_profile(path)
    return describe_run_difference(profile, first_run.name, second_run.name)


def list_item_differences(
    metric: str, first: tuple[str, pl.DataFrame], second: tuple[str, pl.DataFrame]
) -> Iterator[str]:
    """Yield the samples on which each run is better by a metric, and first their numbers if the runs' samples differ.

    Each run is given as its name and its outcomes.
    """
    (first_name, first_outcomes), (second_name, second_outcomes) = first, second
    if set(first_outcomes["item_id"]) != set(second_outcomes["item_id"]):
        yield f"{metric}: {first_outcomes.height} samples of {first_name}, {second_outcomes.height} of {second_name}"
    common_items = first_outcomes.join(
        second_outcomes.select("item_id", other=pl.col("right")), on="item_id", how="inner"
    )
    for name, is_better in (
        (first_name, pl.col("right") > pl.col("other")),
        (second_name, pl.col("right") < pl.col("other")),
    ):
        items = [sanitize_line(item) for item in common_items.filter(is_better)["item_id"]]
        listing = f": {', '.join(summarize_list(items, MAX_LISTED))}" if items else ""
        yield f"{metric}: {name} is better on {len(items)} of {common_items.height}{listing}"


# --- conditions ------------------------------------------------------------------------------------------------------


def list_differences(names: tuple[str, str], first: Conditions, second: Conditions) -> Iterator[str]:
    """Yield at least one line per condition that differs: frames and prompt, other settings, clips.

    `names` are the names of the two runs.
    """
    for name in ("frames", "prompt", "clips"):  # conditions without a short value
        first_value, second_value = (
            UNKNOWN if name in conditions.unknown_settings else "known" for conditions in (first, second)
        )
        if first_value != second_value:
            yield f"- {name}: {first_value} | {second_value}"
    shared_clips = [clip for clip in first.frames if clip in second.frames]
    differing_clips = [clip for clip in shared_clips if first.frames[clip] != second.frames[clip]]
    if differing_clips:
        indices_by_run = [list(map(str, conditions.frames[differing_clips[0]])) for conditions in (first, second)]
        listing = " | ".join(
            f"{', '.join(summarize_list(indices, MAX_INDICES)) or 'none'} ({len(indices)})"
            for indices in indices_by_run
        )
        count = f"{len(differing_clips)} of {len(shared_clips)}"
        yield f"- frames: {count} clips differ, such as {sanitize_line(differing_clips[0])}: {listing}"
    if "prompt" not in first.unknown_settings | second.unknown_settings:
        first_prompt, second_prompt = (
            dict(flatten({"prompt": conditions.settings.get("prompt", {})})) for conditions in (first, second)
        )
        for name in sorted(first_prompt.keys() | second_prompt.keys()):
            if first_prompt.get(name, "") != second_prompt.get(name, ""):
                yield f"- {name}: {word_diff(first_prompt.get(name, ''), second_prompt.get(name, ''))}"
        digests = [(first.prompts[name], second.prompts[name]) for name in first.prompts if name in second.prompts]
        n_differing = sum(first_value != second_value for first_value, second_value in digests)
        if n_differing:
            yield f"- prompts as sent: {n_differing} of {len(digests)} requests differ"
    settings = [
        {kind: conditions.settings[kind] for kind in conditions.settings if kind != "prompt"}
        for conditions in (first, second)
    ]
    for change in find_changes(*settings):
        kind = change.name.partition(".")[0]
        first_value = UNKNOWN if kind in first.unknown_settings else change.before
        yield f"- {change.name}: {first_value} | {UNKNOWN if kind in second.unknown_settings else change.after}"
    # A clip with answers in only one of the runs is missing in the other one, or the other one does not ask about it.
    first_clips, second_clips = (
        conditions.answered_clips - other.answered_clips for conditions, other in ((first, second), (second, first))
    )
    for description, clips in (
        (f"missing only in {names[1]}", first_clips & second.missing_clips),
        (f"missing only in {names[0]}", second_clips & first.missing_clips),
        (f"asked about only in {names[0]}", first_clips - second.missing_clips),
        (f"asked about only in {names[1]}", second_clips - first.missing_clips),
    ):
        if clips:
            listing = ", ".join(summarize_list([sanitize_line(clip) for clip in sorted(clips)], MAX_LISTED))
            yield f"- clips {description}: {len(clips)}: {listing}"
    shared_clips = [clip for clip in first.clips if clip in second.clips]
    differing_clips = [clip for clip in shared_clips if first.clips[clip] != second.clips[clip]]
    if differing_clips:
        example = sanitize_line(differing_clips[0])
        yield f"- clips: {len(differing_clips)} of {len(shared_clips)} files differ, such as {example}"


def word_diff(old_text: str, new_text: str) -> str:
    """Return a word diff on one line: [-removed words-], {+added words+}."""
    old_words, new_words = TOKEN.findall(old_text), TOKEN.findall(new_text)
    chunks = []
    for tag, first, last, start, end in SequenceMatcher(None, old_words, new_words, autojunk=False).get_opcodes():
        removed, added = "".join(old_words[first:last]), "".join(new_words[start:end])
        if tag == "equal":
            chunks.append(removed)
            continue
        if removed:
            chunks.append(f"[-{removed}-]")
        if added:
            chunks.append(f"{{+{added}+}}")
    lines = "".join(chunks).splitlines()
    return " \N{DOWNWARDS ARROW WITH CORNER LEFTWARDS} ".join(map(sanitize_line, lines)) or NO_VALUE
