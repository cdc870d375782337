"""What runs have still to ask, and what those that were asked took, by the tables and journals that are there."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import polars as pl

from reprise.core.errors import UserError
from reprise.core.schemas import CLIP_LEDGER, CLIPS, FRAME_PLAN, REQUESTS, RESPONSES, TIMINGS, read_table
from reprise.core.settings import Settings
from reprise.media.sampling import pictures_shown
from reprise.models.asking.failures import Failures, failures_path
from reprise.models.asking.journal import Journal, journal_path
from reprise.models.asking.work import Work
from reprise.models.keys import RunKey
from reprise.plan.answers import Job, asked_jobs, writer_jobs
from reprise.plan.construction import WRITING
from reprise.plan.costs import Load, Measured, Sure, measured
from reprise.plan.runs import Plan
from reprise.plan.sizes import weights_of
from reprise.stages.infer import timing
from reprise.stages.works import gather_text_work, gather_work

SHORT = 32  # tokens of an answer that names an option
LARGEST_RATIO = 2  # between the weights of two models of about the same size


class Left(NamedTuple):
    """A job's questions."""

    load: Load | None
    """those to ask; None where nobody knows yet how many"""
    answered: int = 0
    is_most: bool = False
    """whether some may not be asked, because their clips turn out to be missing"""


class Questions:
    """The questions of a suite's jobs; every table and journal is read once."""

    def __init__(self, plan: Plan, keys: Mapping[Path, Settings]) -> None:
        """`keys` are the suite's, as `collect_keys` finds them now."""
        self._plan, self._keys = plan, keys
        self._works: dict[tuple[Path, str], list[Work] | None] = {}
        self._journals: dict[str, Journal] = {}
        self._jobs = [*asked_jobs(plan), *writer_jobs(plan)]
        self._took = {job.scored: took for job in self._jobs if (took := self._by_table(job)) is not None}
        self._loaded = {
            slug: found.loaded if (found := weights_of(model, plan.store)) else None
            for slug, model in plan.config.models.items()
        }

    # What is left

    def left(self, job: Job) -> Left:
        """What a job has to ask if it is made now."""
        journal, works = self._journal(job), self._works_of(job)
        if works is None:
            return self._before_clips(job, len(journal))
        failures = Failures(failures_path(self._plan.store, self._key(job)), self._plan.config.suite.answer_attempts)
        if not len(journal) and not failures.path.is_file():
            return Left(_load(works, [len(work.requests) for work in works], self._is_shown(job)))
        answered, due = 0, []
        for work in works:
            unanswered = {entry for entry in work.entries if journal.get(entry) is None}
            answered += sum(entry not in unanswered for entry in work.entries)
            due.append(sum(map(failures.is_due, unanswered)))
        return Left(_load(works, due, self._is_shown(job)), answered)

    def _before_clips(self, job: Job, answered: int) -> Left:
        """By the requests alone, as long as it is not known which clips there are, and which frames they show."""
        requests = _table(self._requests(job), REQUESTS)
        if requests is None:
            return Left(None, answered)
        clips = requests["clip_id"].unique()
        frames = self._frames_by_rule(job, clips) if self._is_shown(job) else 0.0
        questions = max(0, requests.height - answered)
        return Left(Load(questions, len(clips), frames), answered, is_most=True)

    def _frames_by_rule(self, job: Job, clips: pl.Series) -> float | None:
        """What a sampling says without looking at the clips; by frames a second, of clips whose length is released."""
        run = job.scored.run
        rule = self._plan.config.main.samplings[run.sampling]
        count = pictures_shown(rule)
        if count is not None:
            return float(count * len(clips))
        spans = _table(self._plan.results.items(run.benchmark).with_name("clips.parquet"), CLIPS)
        if "fps" not in rule or spans is None:
            return None
        asked = spans.filter(pl.col("clip_id").is_in(clips.implode()))
        lengths = (asked["end_s"] - asked["start_s"]).to_list()
        return None if None in lengths else float(rule["fps"] * sum(lengths))

    # What others took

    def took(self, job: Job) -> dict[Sure, list[Measured]]:
        """The runs that say how long a job may take, by how sure that is."""
        own = self._by_journal(job) or self._took.get(job.scored)
        found: dict[Sure, list[Measured]] = {"itself": [own] if own else [], "benchmark": [], "model": [], "size": []}
        for other in self._jobs:
            if other.scored != job.scored and other.scored in self._took and self._length(other) == self._length(job):
                one = self._took[other.scored]
                if slug_of(other) == slug_of(job):
                    found["benchmark" if self._is_alike(other, job) else "model"].append(one)
                elif (factor := self._factor(slug_of(other), slug_of(job))) is not None:
                    found["size"].append(one.times(factor))
        return found

    def _factor(self, one: str, other: str) -> float | None:
        """How many times more the other model computes; None where nothing says that they are of about one size."""
        mine, its = self._plan.config.models[one], self._plan.config.models[other]
        if mine.adapter != its.adapter or not mine.has_weights:
            return None
        sizes = self._loaded[one], self._loaded[other]
        if sizes[0] and sizes[1]:
            ratio = sizes[1] / sizes[0]
            return ratio if 1 / LARGEST_RATIO <= ratio <= LARGEST_RATIO else None
        return 1.0 if (mine.gpus, mine.memory_mb) == (its.gpus, its.memory_mb) else None

    def _is_alike(self, one: Job, other: Job) -> bool:
        """Whether two runs ask of the same videos in the same way."""
        return one.scored.run.benchmark == other.scored.run.benchmark and self._ask(one) == self._ask(other)

    def _ask(self, job: Job) -> str:
        run = job.scored.run
        if _is_writing(job):
            return WRITING
        return self._plan.config.benchmarks[run.benchmark].protocols[run.protocol].ask

    def _length(self, job: Job) -> str:
        """How long an answer may be, which is most of what makes one question take longer than another."""
        if job.scored.judge:
            return "judge"
        if _is_writing(job):
            return WRITING
        run, ask = job.scored.run, self._ask(job)
        tokens = self._plan.config.benchmarks[run.benchmark].protocols[run.protocol].max_tokens
        return ask if ask == "similarity" else "short" if ask == "score" or tokens <= SHORT else f"{tokens} tokens"

    def _by_table(self, job: Job) -> Measured | None:
        """What a finished run took."""
        timings = _table(job.responses.with_suffix(".timings.parquet"), TIMINGS)
        answers = _table(job.responses, RESPONSES)
        if timings is None or answers is None:
            return None
        tokens = answers.filter(pl.col("error") == "")["tokens_in"].to_list()
        return measured(timings, self._frames_a_clip(job, timings["clip_id"].to_list()), self._tokens(job, tokens))

    def _by_journal(self, job: Job) -> Measured | None:
        """What the first questions took of a run that was cut short."""
        journal, works = self._journal(job), self._works_of(job)
        if not len(journal) or works is None:
            return None
        rows, tokens = [], []
        for work in works:
            answers = [answer for entry in work.entries if (answer := journal.get(entry)) is not None]
            rows.append(timing(work, 0, journal) | {"requests": len(answers)})
            tokens += [answer.tokens_in for answer in answers]
        timings = pl.DataFrame(rows, schema=TIMINGS)
        return measured(timings, self._frames_a_clip(job, timings["clip_id"].to_list()), self._tokens(job, tokens))

    def _tokens(self, job: Job, counts: Sequence[int]) -> float | None:
        """Of a prompt, in the mean; an adapter that loads weights and counts none does not say how many it reads."""
        model = self._plan.config.models[slug_of(job)]
        if not (model.has_weights or model.is_remote):
            return 0.0
        counted = [count for count in counts if count]
        return fmean(counted) if counted else None

    def _frames_a_clip(self, job: Job, clips: Sequence[str]) -> dict[str, int]:
        works = self._works_of(job)
        if not self._is_shown(job):
            return dict.fromkeys(clips, 0)
        if works is not None:
            return {work.clip.clip_id: work.clip.pictures for work in works}
        count = pictures_shown(self._plan.config.main.samplings[job.scored.run.sampling])
        return {} if count is None else dict.fromkeys(clips, count)

    # Tables and journals

    def _is_shown(self, job: Job) -> bool:
        """Whether the model looks at frames; a judge does not, nor does a baseline."""
        return not _is_of_text(job) and self._plan.config.models[slug_of(job)].has_weights

    def _key(self, job: Job) -> str:
        key = self._keys[job.key]
        assert isinstance(key, RunKey)
        return key.key

    def _journal(self, job: Job) -> Journal:
        key = self._key(job)
        if key not in self._journals:
            self._journals[key] = Journal(journal_path(self._plan.store, key))
        return self._journals[key]

    def _requests(self, job: Job) -> Path:
        results, run = self._plan.results, job.scored.run
        if _is_writing(job):
            return results.construction(run.benchmark, "requests") / job.responses.name
        return results.judge_requests(run) if job.scored.judge else results.requests(run.benchmark, run.protocol)

    def _works_of(self, job: Job) -> list[Work] | None:
        """The questions of each clip, the same for every model; None before their tables are made."""
        run = job.scored.run
        known = self._requests(job), "" if job.scored.judge else run.sampling
        if known not in self._works:
            self._works[known] = self._gathered(job)
        return self._works[known]

    def _gathered(self, job: Job) -> list[Work] | None:
        plan, run = self._plan, job.scored.run
        requests = _table(self._requests(job), REQUESTS)
        if requests is None or _is_of_text(job):
            return None if requests is None else gather_text_work(requests)
        frames = _table(plan.results.frames(run.benchmark, run.sampling), FRAME_PLAN)
        shards = range(plan.config.suite.shards)
        ledgers = [_table(plan.results.ledger("clips", run.benchmark, shard), CLIP_LEDGER) for shard in shards]
        there = [one for one in ledgers if one is not None]
        if frames is None or len(there) < len(ledgers):
            return None
        try:
            return gather_work(requests, frames, pl.concat(there), plan.store)
        except UserError:  # the plan of frames is older than the clips
            return None


def _is_writing(job: Job) -> bool:
    """Whether a job writes what a benchmark is made of."""
    return job.scored.run.protocol == WRITING


def _is_of_text(job: Job) -> bool:
    """Whether a job is shown no clip."""
    return bool(job.scored.judge) or _is_writing(job)


def slug_of(job: Job) -> str:
    """The model that a job asks."""
    return job.scored.judge or job.scored.run.model


def _load(works: Sequence[Work], due: Sequence[int], is_shown: bool) -> Load:
    asked = [work for work, count in zip(works, due, strict=True) if count]
    frames = sum(work.clip.pictures for work in asked) if is_shown else 0
    return Load(sum(due), len(asked), float(frames))


def _table(path: Path, schema: pl.Schema) -> pl.DataFrame | None:
    """A table, if it is there, whole, and of this version: what it would say is unknown otherwise."""
    try:
        return read_table(path, schema) if path.is_file() else None
    except UserError:
        return None
