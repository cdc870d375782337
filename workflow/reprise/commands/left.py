"""Pending requests of runs, and times of earlier inference, from existing tables and response caches (`Journal`)."""

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
    """The pending requests of an inference job with their estimated time."""

    asking: Asking
    load: Load | None  # pending requests; None while their number is unknown
    answered: int = 0
    is_most: bool = False  # whether the load is an upper bound, because clips may turn out to be missing
    tokens: float | None = None  # of the prompts
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
    """The requests of a suite's jobs under the current settings; every table and response cache is read once."""

    def __init__(self, plan: Plan, settings: Mapping[str, Settings]) -> None:
        self._plan, self._settings = plan, settings
        self._works: dict[tuple[Path, str, bool], list[Work] | None] = {}
        self._journals: dict[str, Journal] = {}
        self._jobs = list(all_jobs(plan))
        self._measures = {job.scored: measure for job in self._jobs if (measure := self._by_table(job)) is not None}

    def planned(self, asking: Asking) -> Planned:
        pending = self._pending(asking)
        if pending.load is None:
            return pending
        measures = self.measures_for(asking.job)
        tokens = tokens_by(pending.load, measures["itself"] or [*measures["benchmark"], *measures["model"]])
        return pending._replace(tokens=tokens, time=estimate(pending.load, measures))

    # Pending requests

    def _pending(self, asking: Asking) -> Planned:
        job = asking.job
        journal, works = self._journal(job), self._works_of(job)
        if works is None:  # The clips and their frames are not known yet.
            requests = _table(job.requests, REQUESTS)
            if requests is None:
                return Planned(asking, None, len(journal))
            clips = requests["clip_id"].unique()
            frames = self._frames_by_rule(job, clips) if self._is_shown(job) else 0.0
            load = Load(max(0, requests.height - len(journal)), len(clips), frames)
            return Planned(asking, load, len(journal), is_most=True)
        failures = Failures(failures_path(self._plan.store, self._key(job)), self._plan.config.suite.answer_attempts)
        n_answered, pending = 0, Load(0, 0, 0.0)
        for work in works:
            unanswered = [entry for entry in work.entries if journal.get(entry) is None]
            n_answered += len(work.entries) - len(unanswered)
            if count := sum(map(failures.is_due, unanswered)):
                pictures = work.clip.pictures if self._is_shown(job) else 0
                pending = Load(pending.questions + count, pending.clips + 1, (pending.frames or 0.0) + pictures)
        return Planned(asking, pending, n_answered)

    def _frames_by_rule(self, job: Job, clips: pl.Series) -> float | None:
        """Return the total number of frames that a sampling selects; None if it depends on unknown clip lengths."""
        run = job.scored.run
        rule = self._plan.config.main.samplings[run.sampling]
        count = pictures_shown(rule)
        if count is not None:
            return float(count * len(clips))
        spans = _table(self._plan.results.items(run.benchmark).with_name("clips.parquet"), CLIPS)
        if "fps" not in rule or spans is None:
            return None
        requested_spans = spans.filter(pl.col("clip_id").is_in(clips.implode()))
        lengths = (requested_spans["end_s"] - requested_spans["start_s"]).to_list()
        return None if None in lengths else float(rule["fps"] * sum(lengths))

    # Times of earlier inference

    def measures_for(self, job: Job) -> dict[Sure, list[Measured]]:
        """Return the measured runs from which the time of a job can be estimated, grouped by how similar they are."""
        measure = self._by_journal(job) or self._measures.get(job.scored)
        measures: dict[Sure, list[Measured]] = {"itself": [measure] if measure else [], "benchmark": [], "model": []}
        ask, length = self._ask(job)
        for candidate in self._jobs:
            candidate_ask, candidate_length = self._ask(candidate)
            is_measured = candidate.scored in self._measures and candidate.scored != job.scored
            if is_measured and candidate_length == length and _slug(candidate) == _slug(job):
                is_similar = candidate.scored.run.benchmark == job.scored.run.benchmark and candidate_ask == ask
                measures["benchmark" if is_similar else "model"].append(self._measures[candidate.scored])
        return measures

    def _ask(self, job: Job) -> tuple[str, str]:
        """Return the `ask` of a job and the class of its answer length, which dominate the time per request."""
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
        """Return the times of the cached responses of an interrupted run."""
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
        """Return the measure of a job from its clip times and prompt tokens.

        Without token counts, the mean is unknown for a model with weights or a remote model, and zero for others.
        """
        model, works, token_counts = (
            self._plan.config.models[_slug(job)],
            self._works_of(job),
            list(filter(None, tokens)),
        )
        mean = fmean(token_counts) if token_counts else None
        frames = dict.fromkeys(timings["clip_id"], 0)
        if self._is_shown(job) and works is not None:
            frames = {work.clip.clip_id: work.clip.pictures for work in works}
        elif self._is_shown(job):
            count = pictures_shown(self._plan.config.main.samplings[job.scored.run.sampling])
            frames = {} if count is None else dict.fromkeys(frames, count)
        return measured(timings, frames, mean if model.has_weights or model.is_remote else 0.0)

    # Tables and response caches

    def _is_shown(self, job: Job) -> bool:
        """Return whether the model processes frames, unlike a judge or a baseline."""
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
        """Return the requests of each clip, or None before they are made; all models without labels share them."""
        with_labels = ADAPTERS[self._plan.config.models[_slug(job)].adapter].reads_labels
        key = job.requests, "" if job.scored.judge else job.scored.run.sampling, with_labels
        if key not in self._works:
            self._works[key] = self._gathered(job, with_labels)
        return self._works[key]

    def _gathered(self, job: Job, with_labels: bool) -> list[Work] | None:
        if job.is_of_text:
            requests = _table(job.requests, REQUESTS)
            return None if requests is None else gather_text_work(requests, with_labels=with_labels)
        try:
            return works_of(self._plan, job.scored.run)
        except UserError:  # Requests, frames or clips do not exist yet, or the frames are outdated.
            return None


def _slug(job: Job) -> str:
    return job.scored.judge or job.scored.run.model


def _table(path: Path, schema: pl.Schema) -> pl.DataFrame | None:
    """Return a table, or None if it is missing, damaged or from another version."""
    try:
        return read_table(path, schema) if path.is_file() else None
    except UserError:
        return None
