"""Serve media.smk: source videos, clips, clip metadata, and the frames that a sampling selects."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.core.paths import STAGES, ManifestKind, settings_name
from reprise.core.settings import Key
from reprise.fetch.keys import BenchmarkManifests, MissingClipsKey, SourcesKey
from reprise.fetch.settings import NetworkRoute
from reprise.media.keys import ClipMetadataKey, ClipsKey, FramesKey
from reprise.plan.retries import manifest_retry_reason, retry_param
from reprise.plan.rules import RuleInputs
from reprise.plan.run_keys import RunKeys


class MediaRules(RuleInputs):
    """Settings and input functions of media.smk."""

    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Key]]:
        """Yield the settings of the stages of media.smk by name."""
        suite, key = self._plan.config.suite, settings_name
        for benchmark, entry in suite.benchmarks.items():
            sources = SourcesKey(shards=suite.shards, route=entry.route, limits=suite.limits)
            clips = ClipsKey(shards=suite.shards, **dict(suite.clip_settings))
            yield key("sources", benchmark), runs.add_versions("sources", sources, world=entry.route.kind)
            yield key("clips", benchmark), runs.add_versions("clips", clips)
            yield (
                key("clip_metadata", benchmark),
                runs.add_versions("clip_metadata", ClipMetadataKey(**dict(suite.clip_metadata_settings))),
            )
            for name in self._plan.planned_samplings(benchmark):
                frames = FramesKey(rule=self._plan.config.main.samplings[name])
                yield key("frames", benchmark, name), runs.add_versions("frames", frames)
        manifests = {
            name: BenchmarkManifests(
                title=self._plan.config.benchmarks[name].title,
                sources=tuple(self._plan.manifests("sources", name)),
                clips=tuple(self._plan.manifests("clips", name)),
                tables=tuple(self._plan.config.tables[name].tables),
            )
            for name in self._plan.data_benchmarks
        }
        yield key("missing"), runs.add_versions("missing", MissingClipsKey(benchmarks=manifests))

    def clip_manifests(self, wildcards: Any) -> list[Path]:
        """Return the manifests of a benchmark's clips."""
        return self._plan.manifests("clips", wildcards.benchmark)

    def retry_sources(self, wildcards: Any) -> str:
        """Return a param that changes if sources must be fetched again."""
        return self._retry("sources", wildcards)

    def retry_clips(self, wildcards: Any) -> str:
        """Return a param that changes if clips must be cut again."""
        return self._retry("clips", wildcards)

    def _retry(self, stage: ManifestKind, wildcards: Any) -> str:
        path = self._results.manifest(stage, wildcards.benchmark, wildcards.shard)
        return retry_param(path, manifest_retry_reason(self._plan, stage, wildcards.benchmark, path))

    def all_manifests(self, wildcards: Any) -> list[Path]:
        """Return the manifests of the sources and clips of all benchmarks with videos."""
        benchmarks = self._plan.data_benchmarks
        return [path for stage in STAGES for name in benchmarks for path in self._plan.manifests(stage, name)]

    def downloads(self, wildcards: Any) -> int:
        """Return 1 if a benchmark's videos are downloaded, else 0."""
        return int(isinstance(self._plan.config.suite.benchmarks[wildcards.benchmark].route, NetworkRoute))
