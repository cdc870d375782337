"""Keys and input functions for scores.smk: answer extraction, judging and metrics."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.benchmarks.keys import JudgeRequestsKey, MetricsKey
from reprise.core.files import value_digest
from reprise.core.names import any_of_pattern
from reprise.core.paths import judge_settings_name, settings_name
from reprise.core.settings import Settings
from reprise.extraction.keys import VerdictsKey
from reprise.models.local.embeddings import DISTRIBUTION as EMBEDDER
from reprise.plan.rules import RuleInputs
from reprise.plan.rules.inference import run_from_wildcards
from reprise.plan.run_keys import RunKeys, read_installed_version
from reprise.plan.runs import Plan


class ScoreRules(RuleInputs):
    """Settings and input functions of scores.smk."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        # Wildcard patterns of judges that are queried here, and of judges with imported ratings.
        self.queried_judges = any_of_pattern(plan.judges() - plan.imports.models)
        self.imported_judges = any_of_pattern(plan.judges() & plan.imports.models)

    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Settings]]:
        """Yield the key of each stage of scores.smk, with its name."""
        config = self._plan.config
        for benchmark, settings in config.benchmarks.items():
            for name, protocol in settings.protocols.items():
                embedder = None if protocol.compare_with is None else read_installed_version(EMBEDDER)
                patterns = tuple(protocol.patterns)
                verdicts = VerdictsKey(extraction=protocol.extraction, patterns=patterns, embedder=embedder)
                metrics = MetricsKey(
                    benchmark=benchmark,
                    form=protocol.form,
                    items=protocol.items,
                    level=config.main.confidence,
                    is_sample=config.limit is not None,
                    ratings_sha256=self._ratings_digest(benchmark, name),
                    max_rating=protocol.max_rating,
                )
                yield settings_name("verdicts", benchmark, name), run_keys.add_versions("verdicts", verdicts)
                yield settings_name("metrics", benchmark, name), run_keys.add_versions("metrics", metrics, benchmark)
                if protocol.judge is None:
                    continue
                judge_requests = JudgeRequestsKey(
                    benchmark=benchmark,
                    form=protocol.form,
                    max_rating=protocol.max_rating,
                    max_tokens=protocol.judge_tokens,
                    prompt=run_keys.prompts[benchmark][protocol.judge],
                    is_unparsed_only=protocol.judge_scope == "unparsed",
                    extraction=protocol.extraction,
                    patterns=patterns,
                )
                judge_requests = run_keys.add_versions("judge_requests", judge_requests, benchmark)
                yield settings_name("judge_requests", benchmark, name), judge_requests
                for judge in self._plan.benchmark_judges(benchmark):
                    yield judge_settings_name(benchmark, name, judge), run_keys.judge_key(benchmark, name, judge)

    def all_metrics(self, wildcards: Any) -> list[Path]:
        """Return the metrics of all runs of selected models."""
        return [
            self._results.metrics(scored)
            for scored in self._plan.scored_runs()
            if scored.run.model in self._plan.selected_models
        ]

    def _ratings_digest(self, benchmark: str, protocol: str) -> str:
        """Return a digest of the human ratings of a protocol's answers, or an empty text if there are none."""
        if not self._plan.is_judged(benchmark, protocol):
            return ""
        if files := self._suite_ratings(benchmark):
            return self._plan.store.digest(files[0])
        runs = [run for run in self._plan.runs() if (run.benchmark, run.protocol) == (benchmark, protocol)]
        contents = [settings for package in self._plan.packages.values() for settings in package.rating_settings(runs)]
        return value_digest(contents) if contents else ""

    def _suite_ratings(self, benchmark: str) -> list[Path]:
        """Return the file of human ratings that the suite names; empty if there is none."""
        name = self._plan.config.suite.benchmarks[benchmark].ratings
        return [Path(name)] if name and Path(name).is_file() else []

    def clip_metadata(self, wildcards: Any) -> list[Path]:
        """Return the clip metadata if analyses need it."""
        return (
            [self._results.clip_metadata(wildcards.benchmark)]
            if self._plan.needs_clip_metadata(wildcards.benchmark)
            else []
        )

    def rating_files(self, wildcards: Any) -> list[Path]:
        """Return the files with a judge's imported ratings of a run."""
        return self._plan.imports.rating_files(run_from_wildcards(wildcards), wildcards.judge)

    def ratings(self, wildcards: Any) -> list[Path]:
        """Return the files with human ratings of a run: those of side packages, or else the suite's file."""
        run = run_from_wildcards(wildcards)
        files = [path for package in self._plan.packages.values() for path in package.rating_files(run)]
        return files or self._suite_ratings(wildcards.benchmark)
