"""Write the data of the item browser: a catalog, and for each benchmark its items, clips, runs and answers.

The files are scripts that call `reprise.put(name, value)`. Long lists are split into chunks, and the page loads only
the chunks that it shows. These lists are the items with the answers of all runs, their labels, the clips, and the
frames of the clips.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice, permutations
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.comparison import MetricComparison, compare_headline
from reprise.benchmarks.health import find_problems
from reprise.benchmarks.registry import load_scores
from reprise.core.errors import UserError
from reprise.core.paths import Results, temporal_file
from reprise.core.schemas import (
    CLIP_MANIFEST,
    CLIP_METADATA,
    FRAME_PLAN,
    ITEMS,
    METRICS,
    REQUESTS,
    RESPONSES,
    VERDICTS,
    read_table,
)
from reprise.core.settings import Settings
from reprise.report.agreement import count_right_models
from reprise.report.filmstrips import Filmstrip, FilmstripBuilder
from reprise.report.first_page import (
    BrowserState,
    Highlight,
    choose_initial_state,
    find_highlights,
    mark_ordered_only,
    select_best_two,
)
from reprise.report.folder import ReportFolder, display_text, encode_json, flatten_settings, to_text
from reprise.report.inputs import get_extractor_names
from reprise.report.items import ClipAddress, Clips, Items, RequestsByProtocol, encode_answers, group_requests
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportKey
from reprise.report.names import read_table_names
from reprise.report.redaction import redact_paths
from reprise.report.runs import RunSummary, RunTables, compute_columns, compute_outcomes, list_metrics, summarize
from reprise.stats.paired import PairedComparison
from reprise.temporal.findings import describe_run_difference
from reprise.temporal.profile import read_profile

CHUNK_SIZE = 10  # entries in each file of a long list


class BrowserData(NamedTuple):
    """Data of the item browser that the pages of the report show too."""

    summaries: dict[str, RunSummary]  # run -> summary of its items
    highlights: dict[str, list[Highlight]]  # benchmark -> its highlights
    paired_comparisons: dict[tuple[str, str], PairedComparison]
    """two runs -> the difference of the first and the second"""
    filmstrips: dict[str, list[Filmstrip]]  # benchmark -> filmstrips of its highlighted items


def write_data(
    key: ReportKey,
    results: Results,
    folder: ReportFolder,
    get_clip_address: ClipAddress,
    store: Path,
    settings: Mapping[str, Settings],
    withheld: Container[str] = (),
) -> BrowserData:
    """Write all data of the item browser; return those that the pages of the report show too.

    Items of the benchmarks in `withheld` have no texts, prompts and expected answers.
    """
    browser_data = BrowserData({}, {}, {}, {})
    writers = [
        BenchmarkWriter(benchmark, key, results, folder, settings, is_withheld=benchmark.name in withheld)
        for benchmark in key.browsable_benchmarks()
    ]
    catalog = {
        "suite": key.suite,
        "title": display_text(key.suite_title),
        "notice": display_text(key.notice),
        "chunk": CHUNK_SIZE,
        "benchmarks": [writer.write(get_clip_address, store, browser_data) for writer in writers],
    }
    folder.put("catalog", catalog)
    return browser_data


class BenchmarkWriter:
    """Write the data of one benchmark."""

    def __init__(
        self,
        benchmark: ReportedBenchmark,
        key: ReportKey,
        results: Results,
        folder: ReportFolder,
        run_settings: Mapping[str, Settings],
        *,
        is_withheld: bool = False,
    ) -> None:
        name, has_clips = benchmark.name, benchmark.has_clips
        self._run_settings = run_settings
        self._name, self._benchmark, self._results, self._folder = name, benchmark, results, folder
        items = read_table(results.items(name), ITEMS)
        clip_metadata = (
            read_table(results.clip_metadata(name), CLIP_METADATA) if has_clips else pl.DataFrame(schema=CLIP_METADATA)
        )
        manifest_paths = [results.manifest("clips", name, shard) for shard in range(key.shards)] if has_clips else []
        manifest = pl.concat(
            [pl.DataFrame(schema=CLIP_MANIFEST), *(read_table(path, CLIP_MANIFEST) for path in manifest_paths)]
        )
        self._is_withheld = is_withheld
        self._items = Items(name, items, clip_metadata if has_clips else None, is_withheld=is_withheld)
        self._clips = Clips(items, manifest, clip_metadata)
        self._samplings = sorted({run.scored.run.sampling for run in benchmark.runs if has_clips and not run.imported})
        self._level = key.level
        self._profiles = {model: read_profile(temporal_file(model, "json")) for model in key.temporal}

    def write(self, get_clip_address: ClipAddress, store: Path, browser_data: BrowserData) -> dict[str, Any]:
        """Write items, clips, answers and the columns of each run; return the entry of the catalog."""
        benchmark, name = self._benchmark, self._name
        has_media = self._write_items(get_clip_address)
        requests: dict[str, pl.DataFrame] = {}  # protocol -> requests
        answers_by_run: list[dict[int, str]] = []
        outcomes_by_run: list[dict[str, pl.DataFrame]] = []
        all_columns: dict[str, dict[str, Any]] = {}  # run -> its columns
        index_by_item = {item: index for index, item in enumerate(self._items.ids)}
        for run in benchmark.runs:
            protocol = run.scored.run.protocol
            if protocol not in requests:
                requests[protocol] = read_table(self._results.requests(name, protocol), REQUESTS)
            tables = self._read_run(run, index_by_item)
            # Without requests, no item counts as missing: imported predictions do not need the clips of this site.
            run_requests = requests[protocol].head(0) if run.imported else requests[protocol]
            form, max_rating = benchmark.forms[protocol], benchmark.max_rating.get(protocol)
            run_columns = compute_columns(name, form, self._items.grouped, run_requests, tables, max_rating)
            outcomes_by_run.append(compute_outcomes(name, form, self._items.grouped, tables))
            all_columns[run.scored.name] = run_columns
            groups = [*self._items.tasks, *self._items.groups]
            browser_data.summaries[run.scored.name] = summarize(run_columns, tables.responses, groups)
            answers_by_run.append(encode_answers(index_by_item, tables, run.judge))
        # Answers of a run that looks broken show nothing about other runs or about the order of frames.
        healthy_benchmark = benchmark.without_runs({run.scored.name for run in benchmark.runs if self._is_broken(run)})
        mark_ordered_only(healthy_benchmark, all_columns)
        for index, run in enumerate(benchmark.runs):
            self._folder.put(f"{name}/runs/{index}", all_columns[run.scored.name])
        right_models = count_right_models(benchmark.runs, all_columns)
        for setting, counts in right_models.items():
            self._folder.put(f"{name}/models/{setting}", counts)
        comparisons = self._compare_runs(outcomes_by_run)
        comparable_runs = self._write_comparisons(comparisons, browser_data)
        headline_group = benchmark.headline.group if benchmark.headline else ""
        if headline_group in self._items.groups:
            is_member = self._items.groups[headline_group].to_list()
        else:
            is_member = [True] * len(index_by_item)
        best_runs = select_best_two(healthy_benchmark, all_columns, is_member)
        highlights = find_highlights(healthy_benchmark, best_runs, headline_group, is_member)
        browser_data.highlights[name] = [highlight for highlight in highlights if highlight.items]
        self._write_filmstrips(answers_by_run, all_columns, has_media, store, browser_data)
        self._folder.put(f"{name}/settings", [self._flatten_answer_settings(run) for run in benchmark.runs])
        requests_by_protocol = (
            {} if self._is_withheld else {protocol: group_requests(table) for protocol, table in requests.items()}
        )
        self._write_list("items", self._encode_items(requests_by_protocol, answers_by_run))
        initial_state = choose_initial_state(name, browser_data.highlights[name])
        entry = self._make_catalog_entry(all_columns, comparable_runs, initial_state)
        entry["settings_with_models"] = list(right_models)
        return entry | {"strips": [filmstrip.clip for filmstrip in browser_data.filmstrips[name]]}

    def _write_filmstrips(
        self,
        answers_by_run: Sequence[Mapping[int, str]],
        all_columns: Mapping[str, dict[str, Any]],
        has_media: Sequence[bool],
        store: Path,
        browser_data: BrowserData,
    ) -> None:
        """Write the pictures of the frames of highlighted items, which a page on disk may not read from the clips."""
        builder = FilmstripBuilder(self._benchmark, self._results, self._items, self._clips, store)
        filmstrips = list(
            builder.build(browser_data.highlights[self._name], list(all_columns.values()), answers_by_run, has_media)
        )
        browser_data.filmstrips[self._name] = filmstrips
        for filmstrip in filmstrips:
            strip = {
                "sampling": filmstrip.sampling,
                "width": filmstrip.strip.width,
                "height": filmstrip.strip.height,
                "picture": filmstrip.strip.address,
            }
            self._folder.put(f"{self._name}/strips/{filmstrip.clip}", strip)

    def _write_comparisons(
        self, comparisons: Mapping[int, Mapping[int, MetricComparison]], browser_data: BrowserData
    ) -> dict[int, list[int]]:
        """Write the sentences on each pair of runs, and add comparisons by the headline metric to the browser data.

        Two runs have a sentence if they have the same protocol and sampling, or if a temporal profile compares them.
        Return index of the first run -> indices of the second runs.
        """
        runs, headline = self._benchmark.runs, self._benchmark.headline
        comparable_runs: dict[int, list[int]] = {}
        for index, run in enumerate(runs):
            sentences: dict[int, str] = {}
            for other_index, other in enumerate(runs):
                comparison = comparisons.get(index, {}).get(other_index)
                if comparison is not None:
                    sentences[other_index] = comparison.describe(self._level)
                    if headline and comparison.metric == headline.metric:
                        run_names = (run.scored.name, other.scored.name)
                        browser_data.paired_comparisons[run_names] = comparison.comparison
                elif profile := self._profiles.get(run.scored.run.model):
                    sentences[other_index] = describe_run_difference(profile, run.run, other.run)
            sentences = {other_index: display_text(sentence) for other_index, sentence in sentences.items() if sentence}
            comparable_runs[index] = list(sentences)
            if sentences:
                self._folder.put(f"{self._name}/comparisons/{index}", sentences)
        return comparable_runs

    def _write_items(self, get_clip_address: ClipAddress) -> list[bool]:
        """Write items, clips, search texts and frames; return for each item whether its clip has a file."""
        clips = self._clips.build_objects(get_clip_address)
        missing = "".join("0" if clip["status"] == "ok" else "1" for clip in clips)
        index = self._items.build_index(self._clips.positions) | {"missing": missing}
        self._folder.put(f"{self._name}/index", index)
        self._write_list("labels", map(encode_json, self._items.labels()))
        self._write_list("clips", map(encode_json, clips))
        self._folder.put(f"{self._name}/texts", self._items.search_texts())
        for sampling in self._samplings:
            plan = read_table(self._results.frames(self._name, sampling), FRAME_PLAN)
            frames = list(self._clips.build_frames(plan))
            # The indices are removed from the frames, because they have their own file.
            self._folder.put(f"{self._name}/indices/{sampling}", [clip_frames.pop("indices") for clip_frames in frames])
            self._write_list(f"frames/{sampling}", map(encode_json, frames))
        return [bool(clips[position]["media"]) for position in index["clip"]]

    def _read_run(self, run: ReportedRun, index_by_item: Mapping[str, int]) -> RunTables:
        """Return the tables of a run; raise a UserError if an answer is about an unknown item."""
        results, scored = self._results, run.scored
        responses = read_table(results.responses(scored.run), RESPONSES, skipped_columns=("prompt_sha256", "key"))
        unknown_item = next(
            (item for item in responses["item_id"].unique(maintain_order=True) if item not in index_by_item), ""
        )
        if unknown_item:
            raise UserError(
                f"{results.responses(scored.run)}: an answer is about item '{display_text(unknown_item)}', which is "
                f"not in {results.items(self._name)}. Delete the file and run snakemake again."
            )
        robust, authors = (
            read_table(results.verdicts(scored.run, extractor), VERDICTS) for extractor in get_extractor_names(run)
        )
        replies = read_table(results.judge_responses(scored.run, run.judge), RESPONSES) if run.judge else None
        return RunTables(responses, robust, authors, replies)

    def _is_broken(self, run: ReportedRun) -> bool:
        """Return whether a run looks broken; the health of baselines is not checked."""
        metrics = read_table(self._results.metrics(run.scored), METRICS)
        return not run.reference and bool(find_problems(metrics.filter(convention="fixed").iter_rows(named=True)))

    def _compare_runs(self, outcomes: Sequence[Mapping[str, pl.DataFrame]]) -> dict[int, dict[int, MetricComparison]]:
        """Compare runs with the same protocol and sampling by the headline metric.

        Return index of the first run -> index of the second run -> comparison.
        """
        settings = [(run.scored.run.protocol, run.scored.run.sampling) for run in self._benchmark.runs]
        comparisons: dict[int, dict[int, MetricComparison]] = {}
        for first, second in permutations(range(len(settings)), 2):
            if settings[first] == settings[second]:
                scores = load_scores(self._name).SCORES[self._benchmark.forms[settings[first][0]]]
                comparison = compare_headline(scores, outcomes[first], outcomes[second], self._level)
                if comparison is not None:
                    comparisons.setdefault(first, {})[second] = comparison
        return comparisons

    def _flatten_answer_settings(self, run: ReportedRun) -> dict[str, str]:
        """Return the settings of a run's answers by dotted names. The browser compares those of two runs."""
        content = self._run_settings[run.run].model_dump(mode="json")
        answers = flatten_settings(content.get("answers", {}))
        texts = {
            display_text(name): redact_paths(display_text(to_text(value)))
            for name, value in answers
            if name != "benchmark"
        }
        return texts | {"extractor": display_text(run.judge or "robust")}

    def _encode_items(self, requests: RequestsByProtocol, answers_by_run: Sequence[Mapping[int, str]]) -> Iterator[str]:
        """Yield each item as JSON, with the answers of all runs, which are already encoded."""
        for item_index, item in enumerate(self._items.build_objects(requests)):
            encoded_answers = ",".join(
                f'"{run_index}":{answers_by_item[item_index]}'
                for run_index, answers_by_item in enumerate(answers_by_run)
                if item_index in answers_by_item
            )
            item_start = encode_json(item)[:-1]  # without the closing brace
            yield f'{item_start}{"," if item else ""}"answers":{{{encoded_answers}}}}}'

    def _write_list(self, kind: str, entries: Iterable[str]) -> None:
        """Write a list of JSON values in chunks."""
        entry_iterator, index = iter(entries), 0
        while chunk := ",".join(islice(entry_iterator, CHUNK_SIZE)):
            self._folder.put_encoded(f"{self._name}/{kind}/{index}", f"[{chunk}]")
            index += 1

    def _make_catalog_entry(
        self,
        all_columns: Mapping[str, dict[str, Any]],
        comparable_runs: Mapping[int, Sequence[int]],
        initial_state: BrowserState,
    ) -> dict[str, Any]:
        """Return the benchmark's entry in the catalog, which the page loads first."""
        runs = [
            {
                "index": index,
                "name": run.scored.name,
                "model": run.scored.run.model,
                "label": display_text(run.label),
                "title": display_text(run.title),
                "frames": display_text(run.sampling_title or run.scored.run.sampling),
                "protocol": run.scored.run.protocol,
                "sampling": run.scored.run.sampling,
                "judge": run.judge,
                "metrics": list_metrics(all_columns[run.scored.name]),
                "page": run.page,
                "imported": run.imported,
                "reference": run.reference,
                "provenance": run.provenance,
                "ablations": run.ablations,
                "extractor": run.judge or "robust",
                "comparable": comparable_runs[index],
            }
            for index, run in enumerate(self._benchmark.runs)
        ]
        return {
            "name": self._name,
            "title": display_text(self._benchmark.title),
            "items": len(self._items.ids),
            "tasks": self._items.tasks,
            "groups": list(self._items.groups),
            "group_names": {
                group: display_text(name)
                for group, name in read_table_names(self._benchmark, self._run_settings).groups.items()
            },
            "samplings": self._samplings,
            "redistribution": display_text(self._benchmark.redistribution),
            "runs": runs,
            "metric": self._benchmark.headline.metric if self._benchmark.headline else "",
            "initial_state": {name: display_text(text) for name, text in initial_state.items()},
            "protocols": {name: {"form": form} for name, form in self._benchmark.forms.items()},
        }
