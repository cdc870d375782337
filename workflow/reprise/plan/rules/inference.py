"""Keys, input functions and resources for inference.smk: weights, server environments, and the answers of runs."""

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
from reprise.models.remote.serving.environment import get_pins_path
from reprise.plan.answers import FailedAnswers, find_failed_answers
from reprise.plan.retries import compute_retry_param, find_weights_retry_reason
from reprise.plan.rules import RuleInputs
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.site import SlurmSite, count_copies, count_threads


def run_from_wildcards(wildcards: Any) -> Run:
    """Return the run that the wildcards name."""
    return Run(wildcards.benchmark, wildcards.protocol, wildcards.sampling, wildcards.model)


class InferenceRules(RuleInputs):
    """Settings and input functions of inference.smk, and the resources of all jobs that query a model."""

    def __init__(self, plan: Plan, site: SlurmSite | None = None) -> None:
        super().__init__(plan)
        self._site = site
        queried_models = plan.config.models.keys() - plan.imports.models
        partitioned_models = {slug for slug in queried_models if plan.config.models[slug].partitions > 1}
        # Wildcard patterns of models with imported predictions, with one job per run, and with several jobs per run.
        self.imported_models = any_of_pattern(plan.imports.models)
        self.unpartitioned_models = any_of_pattern(queried_models - partitioned_models)
        self.partitioned_models = any_of_pattern(partitioned_models)

    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Settings]]:
        """Yield the key of each run, with its name."""
        yield from ((run.name, run_keys.run_key(run)) for run in self._plan.runs())

    def pins(self, wildcards: Any) -> Path:
        """Return the file with the pinned packages of a server's environment."""
        return get_pins_path(wildcards.environment)

    def model(self, wildcards: Any) -> Model:
        """Return the model that a job queries: the model of a run, its judge, or the writer of a construction."""
        return self._plan.config.models[getattr(wildcards, "judge", wildcards.model)]

    def threads(self, wildcards: Any) -> int:
        """Return the number of CPUs for all copies of the model, up to the number of CPUs of the site's nodes.

        The number is never below that for one copy; `check_model_resources` reports a model that fits no node.
        """
        model = self.model(wildcards)
        needed, limit = count_threads(model, count_copies(model)), self._site_limit("max_threads", model.gpus)
        return needed if limit is None else min(needed, max(limit, count_threads(model)))

    def gpus(self, wildcards: Any) -> int:
        """Return the number of GPUs of a job."""
        return self.model(wildcards).gpus

    def priority(self, wildcards: Any) -> int:
        """Return the priority of a job. Jobs of one model have the same priority, because the model stays loaded.

        Jobs with GPUs run before all other jobs, so that no GPU is idle. Models on the CPU run after all other jobs,
        because those prepare the clips.
        """
        position = self._position_by_model[getattr(wildcards, "judge", wildcards.model)]
        return position if self.model(wildcards).gpus else -position

    def memory_mb(self, wildcards: Any, attempt: int) -> int:
        """Return the memory of a job. It grows with each attempt, because the previous one may have run out of memory.

        The limit is the memory of the site's nodes, but at least the memory of one copy. If the model's file does not
        set the number of GPUs per copy, the job itself determines the number of copies, so only one copy counts here.
        """
        model = self.model(wildcards)
        copies = count_copies(model) if model.gpus_per_copy else 1
        needed, limit = model.memory_mb * copies * attempt, self._site_limit("max_mem_mb", model.gpus)
        return needed if limit is None else min(needed, max(limit, model.memory_mb))

    def minutes(self, wildcards: Any, attempt: int) -> int:
        """Return the time of a job in minutes, which grows with each attempt up to the site's limit.

        An interrupted job resumes, because its answers are in the response cache.
        """
        model = self.model(wildcards)
        # Only jobs that answer or judge whole runs share an allocation (`group:` in the rules).
        is_shared = not hasattr(wildcards, "partition") and not hasattr(wildcards, "round")
        return self._limit_minutes(round(model.hours * 60) * attempt, model.gpus, is_shared=is_shared)

    def stage_minutes(self, wildcards: Any, attempt: int) -> int:
        """Return the time, in minutes, of a job that queries no model."""
        return self._limit_minutes(240 * attempt, gpus=0)

    def _limit_minutes(self, minutes: int, gpus: int, *, is_shared: bool = False) -> int:
        limit = self._site.get_max_minutes(gpus, is_shared=is_shared) if self._site else None
        return minutes if limit is None else min(minutes, limit)

    def _site_limit(self, limit: Literal["max_runtime", "max_mem_mb", "max_threads"], gpus: int) -> int | None:
        return self._site.get_max_limit(limit, gpus) if self._site else None

    def prerequisites(self, wildcards: Any) -> list[Path]:
        """Return the files that record the fetched weights and the server's environment, if the job needs them."""
        model, slug = self.model(wildcards), getattr(wildcards, "judge", wildcards.model)
        weights = [self._results.weights(slug)] if model.repo else []
        environment = [self._results.environment(model.served_by.environment)] if model.served_by else []
        return [*weights, *environment]

    def retry_weights(self, wildcards: Any) -> str:
        """Return the param `retry`, which changes if the weights must be fetched again."""
        return compute_retry_param(
            self._results.weights(wildcards.model), find_weights_retry_reason(self._plan, wildcards.model)
        )

    def retry_answers(self, wildcards: Any) -> str:
        """Return the param `retry`, which changes if failed requests must be sent again."""
        run, judge = run_from_wildcards(wildcards), getattr(wildcards, "judge", "")
        answers = self._failed_answers.get(ScoredRun(run, judge))
        result = self._results.responses(run)
        if judge:
            result = self._results.judge_responses(run, judge)
        elif hasattr(wildcards, "partition"):
            result = self._results.partition(run, wildcards.partition)
        return compute_retry_param(result, "failed" if answers is not None and answers.retry_count_by_reason else "")

    @cached_property
    def _position_by_model(self) -> dict[str, int]:
        """Return the position of each model. They start at 1, so a negated position is below the default priority 0."""
        return {slug: position for position, slug in enumerate(sorted(self._plan.config.models), 1)}

    @cached_property
    def _failed_answers(self) -> dict[ScoredRun, FailedAnswers]:
        return {answers.job.scored_run: answers for answers in find_failed_answers(self._plan)}

    def equivalent_answers(self, wildcards: Any) -> list[Path]:
        """Return the answers of another run with the same requests about the same items, if the suite has one.

        As these answers are an input, the other run is computed first, and the run of the wildcards takes its answers
        from the response cache. If both jobs ran at the same time, one would only wait for the other.
        """
        run, protocols = run_from_wildcards(wildcards), self._plan.config.benchmarks[wildcards.benchmark].protocols
        protocol, other_name = protocols[run.protocol], protocols[run.protocol].responses_from
        fields = ("items", "detail", "image_size")
        if other_name is None or any(
            getattr(protocols[other_name], name) != getattr(protocol, name) for name in fields
        ):
            return []
        other_run = replace(run, protocol=other_name)
        return [self._results.responses(other_run)] if other_run in self._plan.runs() else []

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
