"""The data of the item browser: a catalog, and for each benchmark its items, clips, runs and answers.

Files are scripts that call `reprise.put(name, value)`. A benchmark's answers are in chunks of a few items, each with
the answers of all runs, so that opening an item loads one small file.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from reprise.core.errors import UserError
from reprise.core.files import read_json
from reprise.core.paths import Results
from reprise.core.schemas import (
    CLIP_LEDGER,
    FACTS,
    FRAME_PLAN,
    ITEMS,
    REQUESTS,
    RESPONSES,
    VERDICTS,
    read_table,
)
from reprise.report.answers import encoded_answers
from reprise.report.clips import Clips, Media
from reprise.report.folder import Folder
from reprise.report.inputs import readers_of
from reprise.report.items import Items, Requests, questions
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportKey
from reprise.report.runs import RunTables, columns, metrics_of
from reprise.report.scripts import ENCODE, script, shown
from reprise.report.settings import in_words, leaves
from reprise.report.summary import Summary, summary

CHUNK = 20
IDLE_COLUMNS = ("prompt_sha256", "key")
ROBUST = "robust"


def write_data(key: ReportKey, results: Results, folder: Folder, media: Media) -> dict[str, Summary]:
    """Write everything that the item browser reads; returns what became of each run."""
    benchmarks: list[dict[str, Any]] = []
    summaries: dict[str, Summary] = {}
    for entry in key.browsed():
        writer = BenchmarkWriter(entry, key.shards, results, folder)
        writer.write_items(media)
        writer.write_runs()
        benchmarks.append(writer.of_catalog())
        summaries |= writer.summaries
    catalog = {
        "suite": key.suite,
        "title": shown(key.suite_title),
        "notice": shown(key.notice),
        "chunk": CHUNK,
        "benchmarks": benchmarks,
    }
    folder.put("catalog", catalog)
    return summaries


class BenchmarkWriter:
    """Writes the data of one benchmark."""

    def __init__(self, entry: ReportedBenchmark, shards: int, results: Results, folder: Folder) -> None:
        name = entry.name
        self._name, self._entry, self._results, self._folder = name, entry, results, folder
        items = read_table(results.items(name), ITEMS)
        facts = read_table(results.facts(name), FACTS) if entry.has_clips else pl.DataFrame(schema=FACTS)
        ledgers = [results.ledger("clips", name, shard) for shard in range(shards)] if entry.has_clips else []
        ledger = pl.concat([pl.DataFrame(schema=CLIP_LEDGER), *(read_table(path, CLIP_LEDGER) for path in ledgers)])
        self._items = Items(name, items, facts if entry.has_clips else None)
        self._clips = Clips(items, ledger, facts)
        self._metrics: dict[int, list[str]] = {}
        self.summaries: dict[str, Summary] = {}
        """run -> what became of it"""

    # Items

    def write_items(self, media: Media) -> None:
        """The list of items and clips, the text that is searched, and the frames of each sampling."""
        self._put("index", self._items.index(self._clips.places) | {"clips": self._clips.objects(media)})
        self._put("texts", self._items.searched())
        for sampling in sorted(self._samplings()):
            plan = read_table(self._results.frames(self._name, sampling), FRAME_PLAN)
            self._put(f"frames/{sampling}", self._clips.frames(plan))

    def _samplings(self) -> set[str]:
        """The samplings by which clips were shown here."""
        if not self._entry.has_clips:
            return set()
        return {run.scored.run.sampling for run in self._entry.runs if not run.imported}

    # Runs

    def write_runs(self) -> None:
        """Each run at a glance, then all answers in chunks."""
        asked: dict[str, pl.DataFrame] = {}
        answers: list[dict[int, str]] = []
        numbers = {item: number for number, item in enumerate(self._items.ids)}
        for place, run in enumerate(self._entry.runs):
            protocol = run.scored.run.protocol
            if protocol not in asked:
                asked[protocol] = read_table(self._results.requests(self._name, protocol), REQUESTS)
            tables = self._read(run)
            self._check(run, tables, numbers)
            requests = asked[protocol].head(0) if run.imported else asked[protocol]
            form, highest = self._entry.forms[protocol], self._entry.rated_to.get(protocol)
            found = columns(self._name, form, self._items.grouped, requests, tables, highest)
            self._put(f"runs/{place}", found)
            self._metrics[place] = metrics_of(found)
            self.summaries[run.scored.name] = summary(found, tables.responses, self._items.names)
            answers.append(encoded_answers(numbers, tables, run.judge))
        self._put("settings", [self._settings(run) for run in self._entry.runs])
        self._write_chunks({protocol: questions(found) for protocol, found in asked.items()}, answers)

    def _read(self, run: ReportedRun) -> RunTables:
        """The tables of a run: by its readers, or by its judge."""
        results, scored = self._results, run.scored
        robust, authors = (read_table(results.verdicts(scored.run, one), VERDICTS) for one in readers_of(run))
        replies = read_table(results.judge_responses(scored.run, run.judge), RESPONSES) if run.judge else None
        return RunTables(
            read_table(results.responses(scored.run), RESPONSES, without=IDLE_COLUMNS), robust, authors, replies
        )

    def _settings(self, run: ReportedRun) -> dict[str, str]:
        """What shaped a run's answers, by dotted names, so that two runs can be compared."""
        made = read_json(self._results.run_key(run.scored.run))
        found = [
            *((name, value) for name, value in leaves(made.get("answers", {})) if name != "benchmark"),
            ("reader", run.judge or ROBUST),
        ]
        return {shown(name): shown(in_words(value)) for name, value in found}

    def _check(self, run: ReportedRun, tables: RunTables, numbers: Mapping[str, int]) -> None:
        """Refuse answers to items that the annotations do not have."""
        other = next(
            (item for item in tables.responses["item_id"].unique(maintain_order=True) if item not in numbers), ""
        )
        if other:
            raise UserError(
                f"{self._results.responses(run.scored.run)}: an answer is about item '{shown(other)}', which "
                f"{self._results.items(self._name)} does not have. Delete the file and run snakemake again."
            )

    def _write_chunks(self, requests: Requests, answers: list[dict[int, str]]) -> None:
        for first in range(0, len(self._items.ids), CHUNK):
            texts = self._items.objects(first, CHUNK, requests)
            items = (
                _with_answers(ENCODE(item), dict(_of_item(first + place, answers))) for place, item in enumerate(texts)
            )
            name = f"{self._name}/items/{first // CHUNK}"
            self._folder.write(f"data/{name}.js", script(name, f"[{','.join(items)}]"))

    # Catalog

    def of_catalog(self) -> dict[str, Any]:
        """What the catalog says of the benchmark."""
        runs = [self._catalogued(place, run) for place, run in enumerate(self._entry.runs)]
        return {
            "name": self._name,
            "title": shown(self._entry.title),
            **self._items.of_catalog(),
            "samplings": sorted(self._samplings()),
            "passing_on": shown(self._entry.passing_on),
            "runs": runs,
            "protocols": {name: {"form": form} for name, form in self._entry.forms.items()},
        }

    def _catalogued(self, place: int, entry: ReportedRun) -> dict[str, Any]:
        run = entry.scored.run
        return {
            "n": place,
            "name": entry.scored.name,
            "model": run.model,
            "label": shown(entry.label),
            "protocol": run.protocol,
            "sampling": run.sampling,
            "judge": entry.judge,
            "metrics": self._metrics[place],
            "page": entry.page,
            "imported": entry.imported,
            "made": entry.made,
            "reader": entry.judge or ROBUST,
        }

    def _put(self, name: str, value: Any) -> None:
        self._folder.put(f"{self._name}/{name}", value)


def _of_item(number: int, answers: Iterable[Mapping[int, str]]) -> Iterator[tuple[int, str]]:
    """Run and its answers, of the runs that answered about an item."""
    yield from ((place, found[number]) for place, found in enumerate(answers) if number in found)


def _with_answers(item: str, answers: Mapping[int, str]) -> str:
    """An encoded item with its encoded answers."""
    runs = ",".join(f'"{place}":{found}' for place, found in answers.items())
    return f'{item[:-1]}{"," if len(item) > 2 else ""}"answers":{{{runs}}}}}'
