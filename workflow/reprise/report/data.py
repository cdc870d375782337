"""Write the data of the item browser: a catalog, and for each benchmark its items, clips, runs and answers.

Files are scripts that call `reprise.put(name, value)`. Long lists are in chunks, and the page loads only the chunks
that it shows: items with the answers of all runs, their labels in the list, clips, and the frames of each clip.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice, permutations
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.comparison import MetricComparison, compare_headline
from reprise.benchmarks.registry import load_scores
from reprise.core.errors import UserError
from reprise.core.paths import Results
from reprise.core.schemas import (
    CLIP_MANIFEST,
    CLIP_METADATA,
    FRAME_PLAN,
    ITEMS,
    REQUESTS,
    RESPONSES,
    VERDICTS,
    read_table,
)
from reprise.core.settings import Settings
from reprise.report.first_page import (
    BrowserState,
    Highlight,
    choose_initial_state,
    find_highlights,
    mark_time_dependent,
    select_best_two,
)
from reprise.report.folder import ENCODE, Folder, display_text, flatten_settings, to_text
from reprise.report.inputs import extractors_of
from reprise.report.items import Clips, Items, Media, Requests, encode_answers, group_requests
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportKey
from reprise.report.names import read_table_names
from reprise.report.runs import RunSummary, RunTables, compute_columns, compute_outcomes, list_metrics, summarize
from reprise.stats.paired import PairedComparison

CHUNK = 10


class WrittenData(NamedTuple):
    """Data that the pages of the report show too."""

    summaries: dict[str, RunSummary]  # run -> summary of its items
    highlights: dict[str, list[Highlight]]  # benchmark -> its highlights
    leads: dict[tuple[str, str], PairedComparison]  # two runs -> the first minus the second


def write_data(
    key: ReportKey, results: Results, folder: Folder, media: Media, settings: Mapping[str, Settings]
) -> WrittenData:
    written = WrittenData({}, {}, {})
    writers = [BenchmarkWriter(entry, key, results, folder, settings) for entry in key.browsable_benchmarks()]
    catalog = {
        "suite": key.suite,
        "title": display_text(key.suite_title),
        "notice": display_text(key.notice),
        "chunk": CHUNK,
        "benchmarks": [writer.write(media, written) for writer in writers],
    }
    folder.put("catalog", catalog)
    return written


class BenchmarkWriter:
    """Write the data of one benchmark."""

    def __init__(
        self,
        entry: ReportedBenchmark,
        key: ReportKey,
        results: Results,
        folder: Folder,
        run_settings: Mapping[str, Settings],
    ) -> None:
        name, has_clips = entry.name, entry.has_clips
        self._run_settings = run_settings
        self._name, self._entry, self._results, self._folder = name, entry, results, folder
        items = read_table(results.items(name), ITEMS)
        clip_metadata = (
            read_table(results.clip_metadata(name), CLIP_METADATA) if has_clips else pl.DataFrame(schema=CLIP_METADATA)
        )
        manifest_paths = [results.manifest("clips", name, shard) for shard in range(key.shards)] if has_clips else []
        manifest = pl.concat(
            [pl.DataFrame(schema=CLIP_MANIFEST), *(read_table(path, CLIP_MANIFEST) for path in manifest_paths)]
        )
        self._items = Items(name, items, clip_metadata if has_clips else None)
        self._clips = Clips(items, manifest, clip_metadata)
        self._samplings = sorted({run.scored.run.sampling for run in entry.runs if has_clips and not run.imported})
        self._level = key.level

    def write(self, media: Media, written: WrittenData) -> dict[str, Any]:
        """Write items, clips, answers and the columns of each run; return the entry of the catalog."""
        entry, name, has_media = self._entry, self._name, self._write_items(media)
        requests: dict[str, pl.DataFrame] = {}
        answers: list[dict[int, str]] = []
        outcomes: list[dict[str, pl.DataFrame]] = []
        all_columns: dict[str, dict[str, Any]] = {}
        numbers = {item: number for number, item in enumerate(self._items.ids)}
        for run in entry.runs:
            protocol = run.scored.run.protocol
            if protocol not in requests:
                requests[protocol] = read_table(self._results.requests(name, protocol), REQUESTS)
            tables = self._read(run, numbers)
            run_requests = requests[protocol].head(0) if run.imported else requests[protocol]
            form, max_rating = entry.forms[protocol], entry.rated_to.get(protocol)
            run_columns = compute_columns(name, form, self._items.grouped, run_requests, tables, max_rating)
            outcomes.append(compute_outcomes(name, form, self._items.grouped, tables))
            all_columns[run.scored.name] = run_columns
            groups = [*self._items.tasks, *self._items.groups]
            written.summaries[run.scored.name] = summarize(run_columns, tables.responses, groups)
            answers.append(encode_answers(numbers, tables, run.judge))
        mark_time_dependent(entry, all_columns)
        for index, run in enumerate(entry.runs):
            self._folder.put(f"{name}/runs/{index}", all_columns[run.scored.name])
        comparisons = self._compare_runs(outcomes)
        for index, by_other in comparisons.items():
            encoded = {
                str(other_index): {
                    "metric": comparison.metric,
                    "test": display_text(comparison.test),
                    "level": self._level,
                    **asdict(comparison.comparison),
                }
                for other_index, comparison in by_other.items()
            }
            self._folder.put(f"{name}/comparisons/{index}", encoded)
            for other_index, comparison in by_other.items():
                if entry.headline and comparison.metric == entry.headline.metric:
                    written.leads[entry.runs[index].scored.name, entry.runs[other_index].scored.name] = (
                        comparison.comparison
                    )
        main_group = entry.headline.group if entry.headline else ""
        is_member = (
            self._items.groups[main_group].to_list() if main_group in self._items.groups else [True] * len(numbers)
        )
        best = select_best_two(entry, all_columns, is_member)
        written.highlights[name] = [
            highlight for highlight in find_highlights(entry, best, main_group, is_member) if highlight.items
        ]
        self._folder.put(f"{name}/settings", [self._settings(run) for run in entry.runs])
        requests_by_protocol = {protocol: group_requests(table) for protocol, table in requests.items()}
        self._write_list("items", self._encode_items(requests_by_protocol, answers))
        initial_state = choose_initial_state(name, written.highlights[name], self._items.ids, has_media)
        return self._catalog_entry(all_columns, comparisons, initial_state)

    def _write_items(self, media: Media) -> list[bool]:
        """Write items, clips, search texts and frames; return for each item whether its clip has a file."""
        clips = self._clips.objects(media)
        missing = "".join("0" if clip["status"] == "ok" else "1" for clip in clips)
        index = self._items.index(self._clips.positions) | {"missing": missing}
        self._folder.put(f"{self._name}/index", index)
        self._write_list("labels", map(ENCODE, self._items.labels()))
        self._write_list("clips", map(ENCODE, clips))
        self._folder.put(f"{self._name}/texts", self._items.search_texts())
        for sampling in self._samplings:
            plan = read_table(self._results.frames(self._name, sampling), FRAME_PLAN)
            frames = list(self._clips.frames(plan))
            self._folder.put(f"{self._name}/indices/{sampling}", [clip_frames.pop("indices") for clip_frames in frames])
            self._write_list(f"frames/{sampling}", map(ENCODE, frames))
        return [bool(clips[position]["media"]) for position in index["clip"]]

    def _read(self, run: ReportedRun, numbers: Mapping[str, int]) -> RunTables:
        """Return the tables of a run, by its extractors or its judge; reject answers about unknown items."""
        results, scored = self._results, run.scored
        responses = read_table(results.responses(scored.run), RESPONSES, without=("prompt_sha256", "key"))
        unknown = next((item for item in responses["item_id"].unique(maintain_order=True) if item not in numbers), "")
        if unknown:
            raise UserError(
                f"{results.responses(scored.run)}: an answer is about item '{display_text(unknown)}', which is not in "
                f"{results.items(self._name)}. Delete the file and run snakemake again."
            )
        robust, authors = (
            read_table(results.verdicts(scored.run, extractor), VERDICTS) for extractor in extractors_of(run)
        )
        replies = read_table(results.judge_responses(scored.run, run.judge), RESPONSES) if run.judge else None
        return RunTables(responses, robust, authors, replies)

    def _compare_runs(self, outcomes: Sequence[Mapping[str, pl.DataFrame]]) -> dict[int, dict[int, MetricComparison]]:
        """Compare runs with the same protocol and sampling by the headline metric; return results by both indices."""
        settings = [(run.scored.run.protocol, run.scored.run.sampling) for run in self._entry.runs]
        comparisons: dict[int, dict[int, MetricComparison]] = {}
        for first, second in permutations(range(len(settings)), 2):
            if settings[first] == settings[second]:
                scores = load_scores(self._name).SCORES[self._entry.forms[settings[first][0]]]
                comparison = compare_headline(scores, outcomes[first], outcomes[second], self._level)
                if comparison is not None:
                    comparisons.setdefault(first, {})[second] = comparison
        return comparisons

    def _settings(self, run: ReportedRun) -> dict[str, str]:
        """Return the settings of a run's answers by dotted names, for the comparison of two runs."""
        content = self._run_settings[run.run].model_dump(mode="json")
        answers = flatten_settings(content.get("answers", {}))
        texts = {display_text(name): display_text(to_text(value)) for name, value in answers if name != "benchmark"}
        return texts | {"extractor": display_text(run.judge or "robust")}

    def _encode_items(self, requests: Requests, answers: Sequence[Mapping[int, str]]) -> Iterator[str]:
        """Yield each item as JSON, and insert its answers, which are already JSON."""
        for number, item in enumerate(self._items.objects(requests)):
            runs = ",".join(
                f'"{index}":{by_number[number]}' for index, by_number in enumerate(answers) if number in by_number
            )
            yield f'{ENCODE(item)[:-1]}{"," if item else ""}"answers":{{{runs}}}}}'

    def _write_list(self, kind: str, entries: Iterable[str]) -> None:
        """Write a list of JSON values in chunks."""
        remaining, index = iter(entries), 0
        while chunk := ",".join(islice(remaining, CHUNK)):
            self._folder.put_encoded(f"{self._name}/{kind}/{index}", f"[{chunk}]")
            index += 1

    def _catalog_entry(
        self,
        all_columns: Mapping[str, dict[str, Any]],
        comparisons: Mapping[int, Mapping[int, MetricComparison]],
        initial_state: BrowserState,
    ) -> dict[str, Any]:
        runs = [
            {
                "index": index,
                "name": run.scored.name,
                "model": run.scored.run.model,
                "label": display_text(run.label),
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
                "comparable": list(comparisons.get(index, ())),
            }
            for index, run in enumerate(self._entry.runs)
        ]
        return {
            "name": self._name,
            "title": display_text(self._entry.title),
            "items": len(self._items.ids),
            "tasks": self._items.tasks,
            "groups": list(self._items.groups),
            "group_names": {
                group: display_text(name)
                for group, name in read_table_names(self._entry, self._run_settings).groups.items()
            },
            "samplings": self._samplings,
            "redistribution": display_text(self._entry.redistribution),
            "runs": runs,
            "metric": self._entry.headline.metric if self._entry.headline else "",
            "initial_state": {name: display_text(text) for name, text in initial_state.items()},
            "protocols": {name: {"form": form} for name, form in self._entry.forms.items()},
        }
