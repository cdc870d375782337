"""Keys and input functions for media.smk: source videos, clips, clip metadata and frame plans."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.core.paths import MANIFEST_KINDS, ManifestKind, settings_name
from reprise.core.settings import Key
from reprise.fetch.keys import BenchmarkManifests, MissingClipsKey, SourcesKey
from reprise.fetch.settings import NetworkRoute
from reprise.media.keys import ClipMetadataKey, ClipsKey, FramesKey
from reprise.plan.retries import compute_retry_param, find_manifest_retry_reason
from reprise.plan.rules import RuleInputs
from reprise.plan.run_keys import RunKeys


class MediaRules(RuleInputs):
    """Settings and input functions of media.smk."""

    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Key]]:
        """Yield the key of each stage of media.smk, with its name."""
        suite = self._plan.config.suite
        for benchmark, benchmark_settings in suite.benchmarks.items():
            route = benchmark_settings.route
            sources = SourcesKey(shards=suite.shards, route=route, limits=suite.limits)
            clips = ClipsKey(shards=suite.shards, **dict(suite.clip_settings))
            yield settings_name("sources", benchmark), run_keys.add_versions("sources", sources, world=route.kind)
            yield settings_name("clips", benchmark), run_keys.add_versions("clips", clips)
            yield (
                settings_name("clip_metadata", benchmark),
                run_keys.add_versions("clip_metadata", ClipMetadataKey(**dict(suite.clip_metadata_settings))),
            )
            for name in self._plan.planned_samplings(benchmark):
                frames = FramesKey(rule=self._plan.config.main.samplings[name])
                yield settings_name("frames", benchmark, name), run_keys.add_versions("frames", frames)
        manifests = {
            name: BenchmarkManifests(
                title=self._plan.config.benchmarks[name].title,
                sources=tuple(self._plan.list_manifests("sources", name)),
                clips=tuple(self._plan.list_manifests("clips", name)),
                tables=tuple(self._plan.config.tables[name].tables),
            )
            for name in self._plan.data_benchmarks
        }
        yield settings_name("missing"), run_keys.add_versions("missing", MissingClipsKey(benchmarks=manifests))

    def clip_manifests(self, wildcards: Any) -> list[Path]:
        """Return the manifests of a benchmark's clips."""
        return self._plan.list_manifests("clips", wildcards.benchmark)

    def retry_sources(self, wildcards: Any) -> str:
        """Return the param `retry`, which changes if sources must be fetched again."""
        return self._retry("sources", wildcards)

    def retry_clips(self, wildcards: Any) -> str:
        """Return the param `retry`, which changes if clips must be cut again."""
        return self._retry("clips", wildcards)

    def _retry(self, stage: ManifestKind, wildcards: Any) -> str:
        """Return the param `retry` of a shard's manifest."""
        path = self._results.manifest(stage, wildcards.benchmark, wildcards.shard)
        return compute_retry_param(path, find_manifest_retry_reason(self._plan, stage, wildcards.benchmark, path))

    def all_manifests(self, wildcards: Any) -> list[Path]:
        """Return the manifests of sources and clips of all benchmarks whose videos this site processes."""
        benchmarks = self._plan.data_benchmarks
        return [
            path for stage in MANIFEST_KINDS for name in benchmarks for path in self._plan.list_manifests(stage, name)
        ]

    def downloads(self, wildcards: Any) -> int:
        """Return the job's number of downloads, a resource of Snakemake: 1 if the route uses the network, else 0."""
        return int(isinstance(self._plan.config.suite.benchmarks[wildcards.benchmark].route, NetworkRoute))
