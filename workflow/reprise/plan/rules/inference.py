"""Serve inference.smk: weights, server environments, and answers from one job, several jobs or imported files."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from reprise.config.model import Model
from reprise.core.names import any_of_pattern
from reprise.core.paths import TIMINGS, Run, ScoredRun
from reprise.core.settings import Settings
from reprise.models.inference.partitions import list_partitions
from reprise.models.remote.serving.environment import pins_file
from reprise.plan.answers import FailedAnswers, find_failed_answers
from reprise.plan.retries import retry_param, weights_retry_reason
from reprise.plan.rules import RuleInputs
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.site import SlurmSite, count_copies, count_threads


def run_from_wildcards(wildcards: Any) -> Run:
    """Return the run that wildcards name."""
    return Run(wildcards.benchmark, wildcards.protocol, wildcards.sampling, wildcards.model)


class InferenceRules(RuleInputs):
    """Settings and input functions of inference.smk, and the resources of all jobs that query a model."""

    def __init__(self, plan: Plan, site: SlurmSite | None = None) -> None:
        super().__init__(plan)
        self._site = site
        queried = plan.config.models.keys() - plan.imports.models
        partitioned = {slug for slug in queried if plan.config.models[slug].partitions > 1}
        # Wildcard patterns of imported models, of models with one job for each run, and of models with several.
        self.imported_models = any_of_pattern(plan.imports.models)
        self.unpartitioned_models = any_of_pattern(queried - partitioned)
        self.partitioned_models = any_of_pattern(partitioned)

    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Settings]]:
        """Yield the keys of all runs by name."""
        yield from ((run.name, runs.run_key(run)) for run in self._plan.runs())

    def pins(self, wildcards: Any) -> Path:
        """Return the file of pinned versions of a server's environment."""
        return pins_file(wildcards.environment)

    def model(self, wildcards: Any) -> Model:
        """Return the model that a job queries: that of a run, its judge, or the writer of a benchmark."""
        return self._plan.config.models[getattr(wildcards, "judge", wildcards.model)]

    def threads(self, wildcards: Any) -> int:
        """Return the CPUs for all copies of the model, limited to those of the site's nodes."""
        model = self.model(wildcards)
        needed, limit = count_threads(model, count_copies(model)), self._site_limit("max_threads", model.gpus)
        return needed if limit is None else min(needed, max(limit, count_threads(model)))

    def gpus(self, wildcards: Any) -> int:
        """Return the number of GPUs of a job."""
        return self.model(wildcards).gpus

    def priority(self, wildcards: Any) -> int:
        """Return a priority that runs the jobs of one model after each other, because the model stays loaded.

        Jobs on GPUs precede all other jobs, so that no GPU is idle. Models on the CPU follow the other jobs, which
        prepare their clips.
        """
        position = self._positions[getattr(wildcards, "judge", wildcards.model)]
        return position if self.model(wildcards).gpus else -position

    def memory_mb(self, wildcards: Any, attempt: int) -> int:
        """Return the memory of a job, which grows with each attempt up to the limit of the site's nodes.

        The attempt before may have run out of memory. The number of copies is only known before the job if the model's
        file sets the number of GPUs per copy.
        """
        model = self.model(wildcards)
        copies = count_copies(model) if model.gpus_per_copy else 1
        needed, limit = model.memory_mb * copies * attempt, self._site_limit("max_mem_mb", model.gpus)
        return needed if limit is None else min(needed, max(limit, model.memory_mb))

    def minutes(self, wildcards: Any, attempt: int) -> int:
        """Return the time of a job, which grows with each attempt up to the limit; an interrupted job resumes."""
        model = self.model(wildcards)
        is_shared = not hasattr(wildcards, "partition") and not hasattr(wildcards, "round")
        return self._within_site(round(model.hours * 60) * attempt, model.gpus, is_shared=is_shared)

    def stage_minutes(self, wildcards: Any, attempt: int) -> int:
        """Return the time of a job without a model."""
        return self._within_site(240 * attempt, gpus=0)

    def _within_site(self, minutes: int, gpus: int, *, is_shared: bool = False) -> int:
        longest = self._site.max_minutes(gpus, is_shared=is_shared) if self._site else None
        return minutes if longest is None else min(minutes, longest)

    def _site_limit(self, limit: Literal["max_runtime", "max_mem_mb", "max_threads"], gpus: int) -> int | None:
        return self._site.max_limit(limit, gpus) if self._site else None

    def prerequisites(self, wildcards: Any) -> list[Path]:
        """Return the records of fetched weights and of the server's environment, if the job needs them."""
        model, slug = self.model(wildcards), getattr(wildcards, "judge", "")
        weights = [self._results.weights(slug or wildcards.model)] if model.repo else []
        environment = [self._results.environment(model.served_by.environment)] if model.served_by else []
        return [*weights, *environment]

    def retry_weights(self, wildcards: Any) -> str:
        """Return a param that changes if the weights must be fetched again."""
        return retry_param(self._results.weights(wildcards.model), weights_retry_reason(self._plan, wildcards.model))

    def retry_answers(self, wildcards: Any) -> str:
        """Return a param that changes if requests failed and should be repeated."""
        run, judge = run_from_wildcards(wildcards), getattr(wildcards, "judge", "")
        answers = self._failed_answers.get(ScoredRun(run, judge))
        result = self._results.responses(run)
        if judge:
            result = self._results.judge_responses(run, judge)
        elif hasattr(wildcards, "partition"):
            result = self._results.partition(run, wildcards.partition)
        return retry_param(result, "failed" if answers is not None and answers.retry_counts else "")

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {slug: position for position, slug in enumerate(sorted(self._plan.config.models), 1)}

    @cached_property
    def _failed_answers(self) -> dict[ScoredRun, FailedAnswers]:
        return {answers.job.scored_run: answers for answers in find_failed_answers(self._plan)}

    def equivalent_answers(self, wildcards: Any) -> list[Path]:
        """Return the answers of a run that sends the same requests for the same items, if the suite has one.

        If both ran at the same time, this run would only wait for those answers.
        """
        run, protocols = run_from_wildcards(wildcards), self._plan.config.benchmarks[wildcards.benchmark].protocols
        protocol, broader = protocols[run.protocol], protocols[run.protocol].answers_of
        fields = ("items", "detail", "image_size")
        if broader is None or any(getattr(protocols[broader], name) != getattr(protocol, name) for name in fields):
            return []
        broader_run = replace(run, protocol=broader)
        return [self._results.responses(broader_run)] if broader_run in self._plan.runs() else []

    def partitions(self, wildcards: Any) -> list[Path]:
        """Return the partitions of a run."""
        run = run_from_wildcards(wildcards)
        return [
            self._results.partition(run, partition.name)
            for partition in list_partitions(self._plan.config.models[run.model].partitions)
        ]

    def partition_timings(self, wildcards: Any) -> list[Path]:
        """Return the timings of the partitions of a run."""
        return [path.with_suffix(TIMINGS) for path in self.partitions(wildcards)]

    def answer_files(self, wildcards: Any) -> list[Path]:
        """Return the prediction files of an imported run."""
        return self._plan.imports.answer_files(run_from_wildcards(wildcards))
