"""`compare`: what two runs were made with, how they did on the samples that both were asked, and where they differ."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.comparing import Part, headline, parts
from reprise.benchmarks.registry import load_scores
from reprise.commands.shared import copy_one, ledger_of, outcomes_of, plan_of, reader_of
from reprise.core.errors import UserError
from reprise.core.files import read_json, recorded, sealed_text
from reprise.core.paths import RESULTS, Run
from reprise.core.plain import first_of, plain
from reprise.core.provenance import Provenance
from reprise.core.schemas import FRAME_PLAN, ITEMS, RESPONSES, read_table
from reprise.models.keys import ModelAnswers
from reprise.plan.changes import ABSENT, changes_between, leaves
from reprise.plan.naming import fitting
from reprise.plan.runs import Plan
from reprise.stats.paired import holm

MOST_LISTED, MOST_INDICES = 8, 16
LEAST_P = 0.0001

HEADER = (
    "| metric | test | samples | videos | difference | {percent:g} % interval | {p} |\n"
    "| :-- | :-- | --: | --: | --: | --: | --: |"
)
NOT_KNOWN = "not known"
WORDS = re.compile(r"\w+|\s+|[^\w\s]")


class Conditions(NamedTuple):
    """What a run's answers were made with; empty where nobody knows, as of answers that were made elsewhere."""

    settings: Mapping[str, Any]  # what its key says of the answers, how they were read, and the released files
    frames: Mapping[str, tuple[int, ...]]  # clip -> the frames of its plan
    clips: Mapping[str, str]  # clip -> digest of its file
    prompts: Mapping[str, str]  # question -> digest of the prompt as it was sent
    answered: frozenset[str]  # clips of the items that were asked about
    unknown: frozenset[str] = frozenset()  # settings that nobody knows, frames and clips among them

    @classmethod
    def of(cls, plan: Plan, run: Run) -> "Conditions":
        results, reader = plan.results, reader_of(plan, run)
        answered = recorded(results.responses(run)) or Provenance()
        found_settings = (content["answers"] for content in answered.settings.values() if "answers" in content)
        key: Mapping[str, Any] = next(found_settings, {})
        answers = read_table(results.responses(run), RESPONSES)
        clip_of = dict(read_table(results.items(run.benchmark), ITEMS).select("item_id", "clip_id").iter_rows())
        verdicts = recorded(results.verdicts(run, reader)) or Provenance()
        read_with = [content for name, content in verdicts.settings.items() if name.startswith("verdicts/")]
        release, frames = results.release(run.benchmark), results.frames(run.benchmark, run.sampling)
        files = read_json(sealed_text(release)) if release.is_file() else []
        plans = read_table(frames, FRAME_PLAN) if frames.is_file() else pl.DataFrame(schema=FRAME_PLAN)
        made = ledger_of(plan, "clips", run.benchmark).filter(status="ok")
        found = cls(
            settings={
                **{name: value for name, value in key.items() if name != "benchmark"},
                "reader": {"name": reader, **{name: one[name] for one in read_with for name in one}},
                "released": {one["name"]: one["sha256"] for one in files},
            },
            frames={clip: tuple(shown) for clip, shown in plans.select("clip_id", "indices").iter_rows()},
            clips=dict(made.select("clip_id", "sha256").iter_rows()),
            prompts={name: sent for name, sent in answers.select("request_id", "prompt_sha256").iter_rows() if sent},
            answered=frozenset(clip_of[item] for item in answers["item_id"].unique() if item in clip_of),
        )
        return found.made_elsewhere() if run.model in plan.imports.models else found

    def made_elsewhere(self) -> "Conditions":
        """Of imported answers nobody knows frames, clips, and what the key of a model that is asked would say."""
        unknown = {"frames", "clips", *(ModelAnswers.model_fields.keys() - self.settings.keys())}
        return self._replace(frames={}, clips={}, unknown=frozenset(unknown))


class Compared(NamedTuple):
    name: str
    benchmark: str
    form: str
    conditions: Conditions
    outcomes: Mapping[str, pl.DataFrame]
    level: float

    @classmethod
    def of(cls, words: str, suite: str | None) -> "Compared":
        """The run that words name, `<folder>:<run>` for one of another clone, whose own words begin with its folder."""
        folder, _, name = words.rpartition(":")
        if folder and not (Path(folder) / RESULTS).is_dir():
            raise UserError(
                f"compare: '{folder}' holds no results of Reprise: it has no {RESULTS}/. A run of another "
                "folder is named <folder>:<run>."
            )
        try:
            with chdir(folder or "."):
                plan = plan_of(suite)
                run = plan.find_run(name)
                return cls(
                    name=f"{folder}:{run.name}" if folder else run.name,
                    benchmark=run.benchmark,
                    form=plan.config.benchmarks[run.benchmark].protocols[run.protocol].form,
                    outcomes=outcomes_of(plan, run, "compare"),
                    conditions=Conditions.of(plan, run),
                    level=plan.config.main.confidence,
                )
        except UserError as error:
            if not folder:
                raise
            raise UserError(f"in {folder}: {error}") from None


def pair_of(first: str, second: str, names: Sequence[str]) -> tuple[str, str]:
    """The two runs that are meant: words that fit several runs mean the one that is asked as the other run is."""
    ours, theirs = (fitting(words, names) for words in (first, second))
    if not ours or not theirs:
        return first, second
    pairs = [(one, other) for one in ours for other in theirs if one != other or len(ours) == len(theirs) == 1]
    # Asked the same, or else by variants of a protocol; of any other pair it is said that it cannot be compared.
    kinds = (lambda run: run.rpartition("/")[0], lambda run: re.split("[./]", run)[:2])
    alike = ([(one, other) for one, other in pairs if kind(one) == kind(other)] for kind in kinds)
    several = next(filter(None, alike), pairs[:1])
    if len(several) == 1:
        return several[0]
    calls = [f"reprise compare {one} {other}" for one, other in several]
    raise UserError(f"compare: '{first}' and '{second}' fit several pairs of runs. {copy_one(calls)}")


def compare_runs(first: str, second: str, suite: str | None = None) -> None:
    if ":" not in first + second:  # of this clone
        first, second = pair_of(first, second, [run.name for run in plan_of(suite).runs()])
    one, other = (Compared.of(words, suite) for words in (first, second))
    if (one.benchmark, one.form) != (other.benchmark, other.form):
        raise UserError(
            f"compare: '{one.name}' asks {one.benchmark} {one.form}, '{other.name}' {other.benchmark} {other.form}."
        )
    differing = list(differences((one.name, other.name), one.conditions, other.conditions))
    print("\n".join([f"What differs in the conditions: {one.name} | {other.name}", *(differing or ["- nothing"])]))
    print(f"\n{one.name} minus {other.name}, percentage points, on the samples both were asked\n")
    metrics = sorted(one.outcomes.keys() & other.outcomes.keys())
    leading = headline(load_scores(one.benchmark).SCORES[one.form], one.outcomes, other.outcomes, one.level)
    if leading is not None:
        print(HEADER.format(percent=100 * one.level, p="p (sign flips over videos)"))
        print("\n".join(table_lines([leading], [leading.found.p])))
    of_all = [part for name in metrics for part in parts(name, one.outcomes[name], other.outcomes[name], one.level)]
    found = [part for part in of_all if leading is None or part.subject != leading.subject]
    if found:
        print(f"\nThe parts; their p are adjusted for their number, {len(found)}, by Holm's method\n")
        print(HEADER.format(percent=100 * one.level, p="p (sign flips over videos, Holm)"))
        print("\n".join(table_lines(found, holm([part.found.p for part in found]))))
    for metric in metrics:
        print()
        for line in items_between(metric, (one.name, one.outcomes[metric]), (other.name, other.outcomes[metric])):
            print(line)
    print("\nWhat a model saw and said: python -m reprise item <run> <sample>, in the clone of the run")


# --- numbers ---------------------------------------------------------------------------------------------------------


def table_lines(found: Sequence[Part], ps: Sequence[float]) -> Iterator[str]:
    """A row each; a p-value has four decimals and is never 0, which no test can show."""
    for (metric, test, one), p in zip(found, ps, strict=True):
        ends = (one.low, one.high)
        interval = "–" if None in ends else " to ".join(f"{100 * end:+.1f}" for end in ends if end is not None)
        counts = f"{one.n_items} | {one.n_clusters} | {100 * one.difference:+.1f}"
        yield f"| {metric} | {plain(test)} | {counts} | {interval} | {f'{p:.4f}' if p >= LEAST_P else f'<{LEAST_P}'} |"


def items_between(metric: str, one: tuple[str, pl.DataFrame], other: tuple[str, pl.DataFrame]) -> Iterator[str]:
    """The samples on which one of two runs does better than the other, and those that only one of them has."""
    (first, ours), (second, theirs) = one, other
    if set(ours["item_id"]) != set(theirs["item_id"]):
        yield f"{metric}: {ours.height} samples of {first}, {theirs.height} of {second}"
    both = ours.join(theirs.select("item_id", other=pl.col("right")), on="item_id", how="inner")
    for name, wins in ((first, pl.col("right") > pl.col("other")), (second, pl.col("right") < pl.col("other"))):
        found = [plain(item) for item in both.filter(wins)["item_id"]]
        listed = f": {', '.join(first_of(found, MOST_LISTED))}" if found else ""
        yield f"{metric}: better by {name}: {len(found)} of {both.height}{listed}"


# --- conditions ------------------------------------------------------------------------------------------------------


def differences(names: tuple[str, str], one: Conditions, other: Conditions) -> Iterator[str]:
    """A line or more for each condition that differs: frames and prompt, other settings, clips."""
    for name in ("frames", "prompt", "clips"):  # which have no short value
        ours, theirs = (NOT_KNOWN if name in found.unknown else "known" for found in (one, other))
        if ours != theirs:
            yield f"- {name}: {ours} | {theirs}"
    both = [clip for clip in one.frames if clip in other.frames]
    differing = [clip for clip in both if one.frames[clip] != other.frames[clip]]
    if differing:
        shown = [[str(index) for index in found.frames[differing[0]]] for found in (one, other)]
        listed = " | ".join(f"{', '.join(first_of(n, MOST_INDICES)) or 'none'} ({len(n)})" for n in shown)
        yield f"- frames: others on {len(differing)} of {len(both)} clips; of {plain(differing[0])}: {listed}"
    if "prompt" not in one.unknown | other.unknown:
        before, after = (dict(leaves({"prompt": found.settings.get("prompt", {})})) for found in (one, other))
        for name in sorted(before.keys() | after.keys()):
            if before.get(name, "") != after.get(name, ""):
                yield f"- {name}: {word_diff(before.get(name, ''), after.get(name, ''))}"
        sent = [(one.prompts[name], other.prompts[name]) for name in one.prompts if name in other.prompts]
        others = sum(ours != theirs for ours, theirs in sent)
        if others:
            yield f"- prompts as they were sent: others in {others} of {len(sent)} questions"
    without = [{kind: found.settings[kind] for kind in found.settings if kind != "prompt"} for found in (one, other)]
    for change in changes_between(*without):
        kind = change.name.partition(".")[0]
        ours = NOT_KNOWN if kind in one.unknown else change.before
        yield f"- {change.name}: {ours} | {NOT_KNOWN if kind in other.unknown else change.after}"
    for name, clips in ((names[1], one.answered - other.answered), (names[0], other.answered - one.answered)):
        if clips:
            listed = ", ".join(first_of([plain(clip) for clip in sorted(clips)], MOST_LISTED))
            yield f"- clips missing for {name} alone: {len(clips)}: {listed}"
    both = [clip for clip in one.clips if clip in other.clips]
    differing = [clip for clip in both if one.clips[clip] != other.clips[clip]]
    if differing:
        yield f"- clips: other bytes in {len(differing)} of {len(both)}, the first is {plain(differing[0])}"


def word_diff(before: str, after: str) -> str:
    """Both texts in one, on one line: [-what only the first has-], {+what only the second has+}."""
    one, other = WORDS.findall(before), WORDS.findall(after)
    pieces = []
    for tag, first, last, start, end in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        gone, new = "".join(one[first:last]), "".join(other[start:end])
        if tag == "equal":
            pieces.append(gone)
        else:
            pieces += [f"[-{gone}-]"] * bool(gone) + [f"{{+{new}+}}"] * bool(new)
    lines = "".join(pieces).splitlines()
    return " \N{DOWNWARDS ARROW WITH CORNER LEFTWARDS} ".join(map(plain, lines)) or ABSENT
