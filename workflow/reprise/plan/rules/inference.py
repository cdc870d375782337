"""For inference.smk: weights, environments of servers, and answers, asked by one job, by several, or made elsewhere."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from reprise.config.model import Model
from reprise.core.names import one_of
from reprise.core.paths import TIMINGS, Run, Scored
from reprise.core.settings import Settings
from reprise.models.asking.pieces import pieces_of
from reprise.models.remote.serving.environment import pins_file
from reprise.plan.answers import FailedAnswers, failed_answers
from reprise.plan.retries import retry_param, weights_reason
from reprise.plan.rules import Asked
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.site import Site, copies_of, threads_of


def run_of(wildcards: Any) -> Run:
    return Run(wildcards.benchmark, wildcards.protocol, wildcards.sampling, wildcards.model)


class Inference(Asked):
    """What the rules of answers ask, and the resources of all jobs."""

    def __init__(self, plan: Plan, site: Site | None = None) -> None:
        super().__init__(plan)
        self._site = site
        asked = plan.config.models.keys() - plan.imports.models
        split = {slug for slug in asked if plan.config.models[slug].pieces > 1}
        # Wildcards' patterns: models whose answers were made elsewhere, whose runs one job asks for, or several.
        self.imported_models = one_of(plan.imports.models)
        self.whole_models, self.split_models = one_of(asked - split), one_of(split)

    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Settings]]:
        yield from ((run.name, runs.of(run)) for run in self._plan.runs())

    def pins(self, wildcards: Any) -> Path:
        return pins_file(wildcards.environment)

    def model(self, wildcards: Any) -> Model:
        """The model that a job asks: a run's, the judge of its answers, or the writer of a benchmark."""
        return self._plan.config.models[getattr(wildcards, "judge", wildcards.model)]

    def threads(self, wildcards: Any) -> int:
        """As many as all copies of the model need, as far as the site has nodes with them."""
        model = self.model(wildcards)
        wanted, most = threads_of(model, copies_of(model)), self._most("max_threads", model.gpus)
        return wanted if most is None else min(wanted, max(most, threads_of(model)))

    def gpus(self, wildcards: Any) -> int:
        return self.model(wildcards).gpus

    def priority(self, wildcards: Any) -> int:
        """Have the jobs of one model follow each other, as it stays loaded for the next one.

        A GPU is not kept waiting by other jobs; models on the processor wait for these, which have their clips made.
        """
        place = self._places[getattr(wildcards, "judge", wildcards.model)]
        return place if self.model(wildcards).gpus else -place

    def memory_mb(self, wildcards: Any, attempt: int) -> int:
        """More with each attempt, as far as the site has nodes with it: the one before may have run out of it.

        How many copies there are is known before the job only where the model's file says how many GPUs one takes.
        """
        model = self.model(wildcards)
        copies = copies_of(model) if model.gpus_per_copy else 1
        wanted, most = model.memory_mb * copies * attempt, self._most("max_mem_mb", model.gpus)
        return wanted if most is None else min(wanted, max(most, model.memory_mb))

    def minutes(self, wildcards: Any, attempt: int) -> int:
        """More with each attempt, as far as the site permits; a job that is cut off goes on where it was."""
        model = self.model(wildcards)
        is_shared = not hasattr(wildcards, "piece") and not hasattr(wildcards, "round")
        return self._within_site(round(model.hours * 60) * attempt, model.gpus, is_shared=is_shared)

    def stage_minutes(self, wildcards: Any, attempt: int) -> int:
        return self._within_site(240 * attempt, gpus=0)

    def _within_site(self, minutes: int, gpus: int, *, is_shared: bool = False) -> int:
        longest = self._site.longest(gpus, is_shared=is_shared) if self._site else None
        return minutes if longest is None else min(minutes, longest)

    def _most(self, limit: Literal["max_runtime", "max_mem_mb", "max_threads"], gpus: int) -> int | None:
        return self._site.most(limit, gpus) if self._site else None

    def notes(self, wildcards: Any) -> list[Path]:
        """Of what a job needs besides: the weights that are fetched, and the environment of the server that it starts;
        nothing of what it does not need."""
        model, slug = self.model(wildcards), getattr(wildcards, "judge", "")
        weights = [self._results.weights(slug or wildcards.model)] if model.repo else []
        environment = [self._results.environment(model.served_by.environment)] if model.served_by else []
        return [*weights, *environment]

    def retry_weights(self, wildcards: Any) -> str:
        return retry_param(self._results.weights(wildcards.model), weights_reason(self._plan, wildcards.model))

    def retry_answers(self, wildcards: Any) -> str:
        """Another value where questions failed and are worth another try."""
        run, judge = run_of(wildcards), getattr(wildcards, "judge", "")
        failed = self._failed.get(Scored(run, judge))
        result = self._results.responses(run)
        if judge:
            result = self._results.judge_responses(run, judge)
        elif hasattr(wildcards, "piece"):
            result = self._results.piece(run, wildcards.piece)
        return retry_param(result, "failed" if failed is not None and failed.due else "")

    @cached_property
    def _places(self) -> dict[str, int]:
        return {slug: place for place, slug in enumerate(sorted(self._plan.config.models), 1)}

    @cached_property
    def _failed(self) -> dict[Scored, FailedAnswers]:
        return {answers.job.scored: answers for answers in failed_answers(self._plan)}

    def asked_alike(self, wildcards: Any) -> list[Path]:
        """The answers of a run that asks the same of the same items, if the suite has one: at the same time this one
        would only wait for them."""
        run, protocols = run_of(wildcards), self._plan.config.benchmarks[wildcards.benchmark].protocols
        protocol, other = protocols[run.protocol], protocols[run.protocol].answers_of
        alike = ("items", "detail", "image_size")
        if other is None or any(getattr(protocols[other], name) != getattr(protocol, name) for name in alike):
            return []
        first = replace(run, protocol=other)
        return [self._results.responses(first)] if first in self._plan.runs() else []

    def pieces(self, wildcards: Any) -> list[Path]:
        run = run_of(wildcards)
        return [self._results.piece(run, one.name) for one in pieces_of(self._plan.config.models[run.model].pieces)]

    def piece_timings(self, wildcards: Any) -> list[Path]:
        return [path.with_suffix(TIMINGS) for path in self.pieces(wildcards)]

    def answer_files(self, wildcards: Any) -> list[Path]:
        return self._plan.imports.answer_files(run_of(wildcards))
