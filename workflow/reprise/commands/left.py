"""What runs have still to ask, and what those that were asked took, by the tables and journals that are there."""

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import polars as pl

from reprise.commands.shared import works_of
from reprise.core.errors import UserError
from reprise.core.paths import Scored
from reprise.core.schemas import CLIPS, REQUESTS, RESPONSES, TIMINGS, read_table
from reprise.core.settings import Settings
from reprise.media.sampling import pictures_shown
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.journal import Failures, Journal, Work, failures_path, journal_path
from reprise.models.keys import RunKey
from reprise.plan.answers import Job, all_jobs
from reprise.plan.costs import Estimate, Load, Measured, Sure, estimate, measured, tokens_by
from reprise.plan.runs import Plan
from reprise.plan.states import Asking
from reprise.stages.infer import timing
from reprise.stages.works import gather_text_work

SHORT = 32  # tokens of an answer that names an option


class Planned(NamedTuple):
    asking: Asking
    load: Load | None  # the questions to ask; None where nobody knows yet how many
    answered: int = 0
    is_most: bool = False  # whether some may not be asked, because their clips turn out to be missing
    tokens: float | None = None  # of its prompts
    time: Estimate | None = None

    @property
    def scored(self) -> Scored:
        return self.asking.job.scored

    @property
    def questions(self) -> int | None:
        return None if self.load is None else self.load.questions

    @property
    def frames(self) -> float | None:
        return None if self.load is None else self.load.frames


class Questions:
    """The questions of a suite's jobs under the settings that they have now; every table and journal is read once."""

    def __init__(self, plan: Plan, settings: Mapping[str, Settings]) -> None:
        self._plan, self._settings = plan, settings
        self._works: dict[tuple[Path, str, bool], list[Work] | None] = {}
        self._journals: dict[str, Journal] = {}
        self._jobs = list(all_jobs(plan))
        self._took = {job.scored: took for job in self._jobs if (took := self._by_table(job)) is not None}

    def planned(self, asking: Asking) -> Planned:
        left = self._left(asking)
        if left.load is None:
            return left
        took = self.took(asking.job)
        tokens = tokens_by(left.load, took["itself"] or [*took["benchmark"], *took["model"]])
        return left._replace(tokens=tokens, time=estimate(left.load, took))

    # What is left

    def _left(self, asking: Asking) -> Planned:
        job = asking.job
        journal, works = self._journal(job), self._works_of(job)
        if works is None:  # it is not known yet which clips there are, and which frames they show
            requests = _table(job.requests, REQUESTS)
            if requests is None:
                return Planned(asking, None, len(journal))
            clips = requests["clip_id"].unique()
            by_rule = self._frames_by_rule(job, clips) if self._is_shown(job) else 0.0
            load = Load(max(0, requests.height - len(journal)), len(clips), by_rule)
            return Planned(asking, load, len(journal), is_most=True)
        failures = Failures(failures_path(self._plan.store, self._key(job)), self._plan.config.suite.answer_attempts)
        answered, asked = 0, Load(0, 0, 0.0)
        for work in works:
            unanswered = [entry for entry in work.entries if journal.get(entry) is None]
            answered += len(work.entries) - len(unanswered)
            if due := sum(map(failures.is_due, unanswered)):
                pictures = work.clip.pictures if self._is_shown(job) else 0
                asked = Load(asked.questions + due, asked.clips + 1, (asked.frames or 0.0) + pictures)
        return Planned(asking, asked, answered)

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
        found: dict[Sure, list[Measured]] = {"itself": [own] if own else [], "benchmark": [], "model": []}
        ask, length = self._ask(job)
        for other in self._jobs:
            how, as_long = self._ask(other)
            is_told = other.scored in self._took and other.scored != job.scored
            if is_told and as_long == length and _slug(other) == _slug(job):
                is_alike = other.scored.run.benchmark == job.scored.run.benchmark and how == ask
                found["benchmark" if is_alike else "model"].append(self._took[other.scored])
        return found

    def _ask(self, job: Job) -> tuple[str, str]:
        """How a job asks, and how long an answer may be: most of what makes one question take longer than another."""
        run = job.scored.run
        if job.title:
            return run.protocol, run.protocol
        protocol = self._plan.config.benchmarks[run.benchmark].protocols[run.protocol]
        if job.scored.judge:
            return protocol.ask, "judge"
        if protocol.ask == "similarity":
            return protocol.ask, protocol.ask
        is_short = protocol.ask == "score" or protocol.max_tokens <= SHORT
        return protocol.ask, "short" if is_short else f"{protocol.max_tokens} tokens"

    def _by_table(self, job: Job) -> Measured | None:
        timings = _table(job.responses.with_suffix(".timings.parquet"), TIMINGS)
        answers = _table(job.responses, RESPONSES)
        if timings is None or answers is None:
            return None
        return self._measured(job, timings, answers.filter(error="")["tokens_in"].to_list())

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
        return self._measured(job, pl.DataFrame(rows, schema=TIMINGS), tokens)

    def _measured(self, job: Job, timings: pl.DataFrame, tokens: list[int]) -> Measured | None:
        """By times of clips and by tokens of prompts; an adapter that loads weights and counts none says nothing."""
        model, works, counted = self._plan.config.models[_slug(job)], self._works_of(job), list(filter(None, tokens))
        mean = fmean(counted) if counted else None
        frames = dict.fromkeys(timings["clip_id"], 0)
        if self._is_shown(job) and works is not None:
            frames = {work.clip.clip_id: work.clip.pictures for work in works}
        elif self._is_shown(job):
            count = pictures_shown(self._plan.config.main.samplings[job.scored.run.sampling])
            frames = {} if count is None else dict.fromkeys(frames, count)
        return measured(timings, frames, mean if model.has_weights or model.is_remote else 0.0)

    # Tables and journals

    def _is_shown(self, job: Job) -> bool:
        """Whether the model looks at frames; a judge does not, nor does a baseline."""
        return not job.is_of_text and self._plan.config.models[_slug(job)].has_weights

    def _key(self, job: Job) -> str:
        key = self._settings[job.name]
        assert isinstance(key, RunKey)
        return key.key

    def _journal(self, job: Job) -> Journal:
        key = self._key(job)
        if key not in self._journals:
            self._journals[key] = Journal(journal_path(self._plan.store, key))
        return self._journals[key]

    def _works_of(self, job: Job) -> list[Work] | None:
        """Return the questions of each clip, the same for every model without labels; None before they are made."""
        with_labels = ADAPTERS[self._plan.config.models[_slug(job)].adapter].reads_labels
        known = job.requests, "" if job.scored.judge else job.scored.run.sampling, with_labels
        if known not in self._works:
            self._works[known] = self._gathered(job, with_labels)
        return self._works[known]

    def _gathered(self, job: Job, with_labels: bool) -> list[Work] | None:
        if job.is_of_text:
            requests = _table(job.requests, REQUESTS)
            return None if requests is None else gather_text_work(requests, with_labels=with_labels)
        try:
            return works_of(self._plan, job.scored.run)
        except UserError:  # questions, frames or clips are not there yet, or the frames are older than the clips
            return None


def _slug(job: Job) -> str:
    return job.scored.judge or job.scored.run.model


def _table(path: Path, schema: pl.Schema) -> pl.DataFrame | None:
    """A table, if it is there, whole, and of this version: what it would say is unknown otherwise."""
    try:
        return read_table(path, schema) if path.is_file() else None
    except UserError:
        return None
