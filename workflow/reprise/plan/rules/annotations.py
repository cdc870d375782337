"""Serve annotations.smk: a release in its authors' layout, its clips and items, and the filled prompts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.benchmarks.keys import AnnotationsKey, BenchmarkKey, RequestsKey
from reprise.benchmarks.registry import load_statistics
from reprise.config.suite import SubsetFile
from reprise.core.names import one_of
from reprise.core.paths import settings_name
from reprise.core.settings import Key
from reprise.fetch.keys import Extras, ReleaseKey
from reprise.fetch.settings import ReleaseFolder
from reprise.plan.rules import Asked
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan


class Annotations(Asked):
    """Settings and input functions of annotations.smk."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        entries = plan.config.suite.benchmarks.items()
        # Wildcard pattern of the benchmarks whose release is fetched or found.
        self.released = one_of(name for name, entry in entries if entry.release.kind != "constructed")

    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Key]]:
        """Yield the settings of the stages of annotations.smk by name."""
        config, key, digests_in = self._plan.config, settings_name, self._plan.digests_in
        for benchmark, entry in config.suite.benchmarks.items():
            if entry.release.kind != "constructed":
                files, extras, source = config.benchmarks[benchmark].release_files, entry.extras, entry.release
                release = ReleaseKey(
                    benchmark=benchmark,
                    release=source,
                    files=tuple(files),
                    extras=None if extras is None else Extras(folder=extras, files=digests_in(extras, files)),
                    found=digests_in(source.path, files) if isinstance(source, ReleaseFolder) else {},
                )
                yield key("release", benchmark), runs.versioned("release", release, world=source.kind)
            subset = entry.subset
            annotations = AnnotationsKey(
                benchmark=benchmark,
                clips=entry.clips,
                options=config.benchmarks[benchmark].options | {"subset": subset.model_dump() if subset else None},
                subset_sha256=self._plan.digest_of(subset.file) if isinstance(subset, SubsetFile) else "",
                text_chars_max=config.suite.text_chars_max,
                limit=config.limit,
            )
            yield key("annotations", benchmark), runs.versioned("annotations", annotations, benchmark)
            statistics = runs.versioned("data_statistics", BenchmarkKey(benchmark=benchmark), benchmark)
            yield key("statistics", benchmark), statistics
            for name, protocol in config.benchmarks[benchmark].protocols.items():
                requests = RequestsKey(
                    benchmark=benchmark,
                    form=protocol.form,
                    ask=protocol.ask,
                    max_tokens=protocol.max_tokens,
                    items=protocol.items,
                    prompt=runs.prompts[benchmark][protocol.prompt],
                    text_chars_max=config.suite.text_chars_max,
                )
                yield key("requests", benchmark, name), runs.versioned("requests", requests, benchmark)

    def facts(self, wildcards: Any) -> list[Path]:
        """Return the clip metadata if statistics of the data need it.

        A site that queries no model about videos fetches none.
        """
        is_needed = load_statistics(wildcards.benchmark).of_videos is not None
        has_videos = wildcards.benchmark in self._plan.data_benchmarks
        return [self._results.facts(wildcards.benchmark)] if is_needed and has_videos else []
