"""Keys and input functions for annotations.smk: releases, annotations, statistics and requests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.benchmarks.keys import AnnotationsKey, BenchmarkKey, RequestsKey
from reprise.benchmarks.registry import load_statistics
from reprise.config.suite import SubsetFile
from reprise.core.names import any_of_pattern
from reprise.core.paths import settings_name
from reprise.core.settings import Key
from reprise.fetch.keys import Extras, ReleaseKey
from reprise.fetch.settings import ReleaseFolder
from reprise.plan.rules import RuleInputs
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan


class AnnotationRules(RuleInputs):
    """Settings and input functions of annotations.smk."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        entries = plan.config.suite.benchmarks.items()
        # Wildcard pattern of the benchmarks whose release is fetched or is in a folder. Other releases are constructed.
        self.released_benchmarks = any_of_pattern(
            name for name, entry in entries if entry.release.kind != "constructed"
        )

    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Key]]:
        """Yield the key of each stage of annotations.smk, with its name."""
        config, compute_digests = self._plan.config, self._plan.compute_folder_digests
        for benchmark, entry in config.suite.benchmarks.items():
            if entry.release.kind != "constructed":
                files, extras, source = config.benchmarks[benchmark].release_files, entry.extras, entry.release
                release = ReleaseKey(
                    benchmark=benchmark,
                    release=source,
                    files=tuple(files),
                    extras=None if extras is None else Extras(folder=extras, files=compute_digests(extras, files)),
                    folder_files=compute_digests(source.path, files) if isinstance(source, ReleaseFolder) else {},
                )
                yield settings_name("release", benchmark), run_keys.add_versions("release", release, world=source.kind)
            subset = entry.subset
            annotations = AnnotationsKey(
                benchmark=benchmark,
                clips=entry.clips,
                options=config.benchmarks[benchmark].options | {"subset": subset.model_dump() if subset else None},
                subset_sha256=self._plan.compute_optional_digest(subset.file) if isinstance(subset, SubsetFile) else "",
                text_chars_max=config.suite.text_chars_max,
                limit=config.limit,
            )
            yield settings_name("annotations", benchmark), run_keys.add_versions("annotations", annotations, benchmark)
            statistics = run_keys.add_versions("data_statistics", BenchmarkKey(benchmark=benchmark), benchmark)
            yield settings_name("statistics", benchmark), statistics
            for name, protocol in config.benchmarks[benchmark].protocols.items():
                requests = RequestsKey(
                    benchmark=benchmark,
                    form=protocol.form,
                    request_type=protocol.request_type,
                    max_tokens=protocol.max_tokens,
                    items=protocol.items,
                    prompt=run_keys.prompts[benchmark][protocol.prompt],
                    text_chars_max=config.suite.text_chars_max,
                )
                yield settings_name("requests", benchmark, name), run_keys.add_versions("requests", requests, benchmark)

    def clip_metadata(self, wildcards: Any) -> list[Path]:
        """Return the clip metadata if the data statistics need it and a run of the suite needs the videos."""
        is_needed = load_statistics(wildcards.benchmark).compute_from_metadata is not None
        has_videos = wildcards.benchmark in self._plan.data_benchmarks
        return [self._results.clip_metadata(wildcards.benchmark)] if is_needed and has_videos else []
