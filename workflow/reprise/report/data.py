"""The data of the item browser: a catalog, and for each benchmark its items, clips, runs and answers.

Files are scripts that call `reprise.put(name, value)`. A benchmark's answers are in chunks of a few items, each with
the answers of all runs, so that opening an item loads one small file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import permutations
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.comparing import headline
from reprise.benchmarks.registry import load_scores
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
from reprise.report.runs import RunTables, Summary, columns, metrics_of, outcomes_of, summary
from reprise.report.scripts import ENCODE, in_words, leaves, script, shown
from reprise.report.telling import State, Telling, best_two, opened, telling, with_time
from reprise.stats.paired import PairedComparison

CHUNK = 10
IDLE_COLUMNS = ("prompt_sha256", "key")


class Lead(NamedTuple):
    """The best run, and by how much it is above the next model's."""

    first: str
    second: str
    found: PairedComparison
    """on a scale from 0 to 1"""


class Written(NamedTuple):
    """What pages say of the data."""

    summaries: dict[str, Summary]
    """run -> what became of it"""
    telling: dict[str, list[Telling]]
    """benchmark -> its items that tell most"""
    leads: dict[str, Lead]


def write_data(key: ReportKey, results: Results, folder: Folder, media: Media) -> Written:
    """Write everything that the item browser reads."""
    benchmarks: list[dict[str, Any]] = []
    written = Written({}, {}, {})
    for entry in key.browsed():
        writer = BenchmarkWriter(entry, key, results, folder)
        writer.write_items(media)
        written.summaries.update(writer.write_runs())
        written.telling[entry.name] = [one for one, _ in writer.telling]
        if writer.lead:
            written.leads[entry.name] = writer.lead
        benchmarks.append(writer.of_catalog())
    catalog = {
        "suite": key.suite,
        "title": shown(key.suite_title),
        "notice": shown(key.notice),
        "chunk": CHUNK,
        "benchmarks": benchmarks,
    }
    folder.put("catalog", catalog)
    return written


class BenchmarkWriter:
    """Writes the data of one benchmark."""

    def __init__(self, entry: ReportedBenchmark, key: ReportKey, results: Results, folder: Folder) -> None:
        name, has_clips = entry.name, entry.has_clips
        self._name, self._entry, self._results, self._folder = name, entry, results, folder
        items = read_table(results.items(name), ITEMS)
        facts = read_table(results.facts(name), FACTS) if has_clips else pl.DataFrame(schema=FACTS)
        ledgers = [results.ledger("clips", name, shard) for shard in range(key.shards)] if has_clips else []
        ledger = pl.concat([pl.DataFrame(schema=CLIP_LEDGER), *(read_table(path, CLIP_LEDGER) for path in ledgers)])
        self._items = Items(name, items, facts if has_clips else None)
        self._clips = Clips(items, ledger, facts)
        shown_here = {run.scored.run.sampling for run in entry.runs if has_clips and not run.imported}
        self._samplings = sorted(shown_here)
        self._level = key.level
        self._metrics: list[list[str]] = []
        """of each run"""
        self._outcomes: list[dict[str, pl.DataFrame]] = []
        self._compared: dict[int, dict[int, dict[str, Any]]] = {}
        """run -> other run -> the difference of the number that the tables lead with"""
        self._opened: State = {}
        self.telling: list[tuple[Telling, Sequence[int]]] = []
        """the items that tell most, once the runs are written"""
        self.lead: Lead | None = None

    def write_items(self, media: Media) -> None:
        """The list of items and clips, the text that is searched, and the frames of each sampling."""
        clips = self._clips.objects(media)
        index = self._items.index(self._clips.places) | {"clips": clips}
        self._plays = [bool(clips[place]["media"]) for place in index["clip"]]
        self._folder.put(f"{self._name}/index", index)
        self._folder.put(f"{self._name}/texts", self._items.searched())
        for sampling in self._samplings:
            plan = read_table(self._results.frames(self._name, sampling), FRAME_PLAN)
            self._folder.put(f"{self._name}/frames/{sampling}", self._clips.frames(plan))

    def write_runs(self) -> dict[str, Summary]:
        """Each run at a glance, then all answers in chunks; returns what became of each run."""
        asked: dict[str, pl.DataFrame] = {}
        answers: list[dict[int, str]] = []
        summaries: dict[str, Summary] = {}
        all_columns: dict[str, dict[str, Any]] = {}
        numbers = {item: number for number, item in enumerate(self._items.ids)}
        for run in self._entry.runs:
            protocol = run.scored.run.protocol
            if protocol not in asked:
                asked[protocol] = read_table(self._results.requests(self._name, protocol), REQUESTS)
            tables = self._read(run, numbers)
            requests = asked[protocol].head(0) if run.imported else asked[protocol]
            form, highest = self._entry.forms[protocol], self._entry.rated_to.get(protocol)
            found = columns(self._name, form, self._items.grouped, requests, tables, highest)
            self._metrics.append(metrics_of(found))
            self._outcomes.append(outcomes_of(self._name, form, self._items.grouped, tables))
            all_columns[run.scored.name] = found
            summaries[run.scored.name] = summary(found, tables.responses, [*self._items.tasks, *self._items.groups])
            answers.append(encoded_answers(numbers, tables, run.judge))
        with_time(self._entry, all_columns)
        for place, run in enumerate(self._entry.runs):
            self._folder.put(f"{self._name}/runs/{place}", all_columns[run.scored.name])
        best = best_two(self._entry, all_columns)
        self.lead = self._lead(*(one.run for one in best)) if best[1:] else None
        self.telling = telling(self._entry, best)
        self._opened = opened(self.telling, self._items.ids, self._plays.__getitem__)
        self._folder.put(f"{self._name}/settings", [self._settings(run) for run in self._entry.runs])
        self._write_compared()
        self._write_chunks({protocol: questions(found) for protocol, found in asked.items()}, answers)
        return summaries

    def _lead(self, first: ReportedRun, second: ReportedRun) -> Lead | None:
        """The best run against the next by the number that the benchmark leads with, on the items of both."""
        scores = load_scores(self._name).SCORES[self._entry.forms[first.scored.run.protocol]]
        main = self._entry.headline
        if main is None or scores.headline != main.metric:
            return None
        ours, theirs = (self._outcomes[self._entry.runs.index(run)] for run in (first, second))
        leading = headline(scores, ours, theirs, self._level)
        return Lead(first.scored.name, second.scored.name, leading.found) if leading else None

    def _read(self, run: ReportedRun, numbers: Mapping[str, int]) -> RunTables:
        """The tables of a run, by its readers or by its judge; answers to items that there are not are refused."""
        results, scored = self._results, run.scored
        responses = read_table(results.responses(scored.run), RESPONSES, without=IDLE_COLUMNS)
        other = next((item for item in responses["item_id"].unique(maintain_order=True) if item not in numbers), "")
        if other:
            raise UserError(
                f"{results.responses(scored.run)}: an answer is about item '{shown(other)}', which "
                f"{results.items(self._name)} does not have. Delete the file and run snakemake again."
            )
        robust, authors = (read_table(results.verdicts(scored.run, one), VERDICTS) for one in readers_of(run))
        replies = read_table(results.judge_responses(scored.run, run.judge), RESPONSES) if run.judge else None
        return RunTables(responses, robust, authors, replies)

    def _write_compared(self) -> None:
        """Of each two runs that were asked alike, by how much one is ahead."""
        asked = [(run.scored.run.protocol, run.scored.run.sampling) for run in self._entry.runs]
        for one, other in permutations(range(len(asked)), 2):
            if asked[one] == asked[other]:
                scores = load_scores(self._name).SCORES[self._entry.forms[asked[one][0]]]
                leading = headline(scores, self._outcomes[one], self._outcomes[other], self._level)
                if leading is not None:
                    what = {"metric": leading.metric, "of": shown(leading.test), "level": self._level}
                    self._compared.setdefault(one, {})[other] = what | asdict(leading.found)
        for one, others in self._compared.items():
            self._folder.put(f"{self._name}/compared/{one}", others)

    def _settings(self, run: ReportedRun) -> dict[str, str]:
        """What shaped a run's answers, by dotted names, so that two runs can be compared."""
        answers = leaves(read_json(self._results.run_key(run.scored.run)).get("answers", {}))
        made = {shown(name): shown(in_words(value)) for name, value in answers if name != "benchmark"}
        return made | {"reader": shown(run.judge or "robust")}

    def _write_chunks(self, requests: Requests, answers: Sequence[Mapping[int, str]]) -> None:
        """The items, each with its answers, which are encoded already."""
        for first in range(0, len(self._items.ids), CHUNK):
            items = []
            for number, item in enumerate(self._items.objects(first, CHUNK, requests), start=first):
                runs = ",".join(f'"{place}":{of[number]}' for place, of in enumerate(answers) if number in of)
                items.append(f'{ENCODE(item)[:-1]}{"," if item else ""}"answers":{{{runs}}}}}')
            name = f"{self._name}/items/{first // CHUNK}"
            self._folder.write(f"data/{name}.js", script(name, f"[{','.join(items)}]"))

    def of_catalog(self) -> dict[str, Any]:
        """What the catalog says of the benchmark."""
        runs = [
            {
                "n": place,
                "name": entry.scored.name,
                "model": entry.scored.run.model,
                "label": shown(entry.label),
                "protocol": entry.scored.run.protocol,
                "sampling": entry.scored.run.sampling,
                "judge": entry.judge,
                "metrics": metrics,
                "page": entry.page,
                "imported": entry.imported,
                "reference": entry.reference,
                "made": entry.made,
                "views": entry.views,
                "reader": entry.judge or "robust",
                "compared": list(self._compared.get(place, ())),
            }
            for place, (entry, metrics) in enumerate(zip(self._entry.runs, self._metrics, strict=True))
        ]
        return {
            "name": self._name,
            "title": shown(self._entry.title),
            "items": len(self._items.ids),
            "tasks": self._items.tasks,
            "groups": list(self._items.groups),
            "samplings": self._samplings,
            "passing_on": shown(self._entry.passing_on),
            "runs": runs,
            "metric": self._entry.headline.metric if self._entry.headline else "",
            "opened": {name: shown(text) for name, text in self._opened.items()},
            "protocols": {name: {"form": form} for name, form in self._entry.forms.items()},
        }
