"""For scores.smk: how answers are read, put to judges, and counted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.benchmarks.keys import JudgeRequestsKey, MetricsKey
from reprise.core.files import value_digest
from reprise.core.names import one_of
from reprise.core.paths import judge_settings_name, settings_name
from reprise.core.settings import Settings
from reprise.models.local.embeddings import DISTRIBUTION as EMBEDDER
from reprise.plan.rules import Asked
from reprise.plan.rules.inference import run_of
from reprise.plan.run_keys import RunKeys, version_of
from reprise.plan.runs import Plan
from reprise.reading.keys import VerdictsKey


class Scores(Asked):
    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        # Wildcards' patterns: judges that are asked, and those whose ratings were made elsewhere.
        self.asked_judges = one_of(plan.judges() - plan.imports.models)
        self.imported_judges = one_of(plan.judges() & plan.imports.models)

    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Settings]]:
        config = self._plan.config
        for benchmark, settings in config.benchmarks.items():
            for name, protocol in settings.protocols.items():
                embedder = None if protocol.compare_with is None else version_of(EMBEDDER)
                patterns = tuple(protocol.patterns)
                verdicts = VerdictsKey(reading=protocol.reading, patterns=patterns, embedder=embedder)
                metrics = MetricsKey(
                    benchmark=benchmark,
                    form=protocol.form,
                    items=protocol.items,
                    level=config.main.confidence,
                    is_part=config.limit is not None,
                    ratings_sha256=self._ratings_digest(benchmark, name),
                    rated_to=protocol.rated_to,
                )
                yield settings_name("verdicts", benchmark, name), runs.versioned("verdicts", verdicts)
                yield settings_name("metrics", benchmark, name), runs.versioned("metrics", metrics, benchmark)
                if protocol.judge is None:
                    continue
                asked = JudgeRequestsKey(
                    benchmark=benchmark,
                    form=protocol.form,
                    rated_to=protocol.rated_to,
                    max_tokens=protocol.judge_tokens,
                    prompt=runs.prompts[benchmark][protocol.judge],
                    unread_only=protocol.judge_reads == "unread",
                    reading=protocol.reading,
                    patterns=patterns,
                )
                asked = runs.versioned("judge_requests", asked, benchmark)
                yield settings_name("judge_requests", benchmark, name), asked
                for judge in self._plan.judges_of(benchmark):
                    yield judge_settings_name(benchmark, name, judge), runs.of_judge(benchmark, name, judge)

    def every(self, wildcards: Any) -> list[Path]:
        return [self._results.metrics(one) for one in self._plan.numbers() if one.run.model in self._plan.models]

    def _ratings_digest(self, benchmark: str, protocol: str) -> str:
        """The digest of people's ratings of a protocol's answers; empty where no judge rates them, or nobody has."""
        if not self._plan.is_judged(benchmark, protocol):
            return ""
        if files := self._suite_ratings(benchmark):
            return self._plan.store.digest(files[0])
        runs = [run for run in self._plan.runs() if (run.benchmark, run.protocol) == (benchmark, protocol)]
        said = [settings for package in self._plan.packages.values() for settings in package.rating_settings(runs)]
        return value_digest(said) if said else ""

    def _suite_ratings(self, benchmark: str) -> list[Path]:
        name = self._plan.config.suite.benchmarks[benchmark].ratings
        return [Path(name)] if name and Path(name).is_file() else []

    def facts(self, wildcards: Any) -> list[Path]:
        return [self._results.facts(wildcards.benchmark)] if self._plan.counts_facts(wildcards.benchmark) else []

    def rating_files(self, wildcards: Any) -> list[Path]:
        return self._plan.imports.rating_files(run_of(wildcards), wildcards.judge)

    def ratings(self, wildcards: Any) -> list[Path]:
        """The file of people's ratings of a run: the suite's, or that of a side package that has some."""
        run = run_of(wildcards)
        files = [path for package in self._plan.packages.values() for path in package.rating_files(run)]
        return files or self._suite_ratings(wildcards.benchmark)
