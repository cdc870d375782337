"""The data of the item browser: a catalog, and for each benchmark its items, clips, runs and answers.

Files are scripts that call `reprise.put(name, value)`. Long lists are in pieces, of which the page loads what it shows:
items, each with the answers of all runs, the lines that tell them apart, clips, and the frames of each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice, permutations
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.comparing import Part, headline
from reprise.benchmarks.registry import load_scores
from reprise.core.errors import UserError
from reprise.core.paths import Results
from reprise.core.schemas import CLIP_LEDGER, FACTS, FRAME_PLAN, ITEMS, REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.core.settings import Settings
from reprise.report.first_page import State, Telling, best_two, opened, telling, with_time
from reprise.report.folder import ENCODE, Folder, in_words, leaves, shown
from reprise.report.inputs import readers_of
from reprise.report.items import Clips, Items, Media, Requests, encoded_answers, questions
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportKey
from reprise.report.names import names_of
from reprise.report.runs import RunTables, Summary, columns, metrics_of, outcomes_of, summary
from reprise.stats.paired import PairedComparison

CHUNK = 10


class Written(NamedTuple):
    summaries: dict[str, Summary]  # run -> what became of it
    telling: dict[str, list[Telling]]  # benchmark -> its items that tell most
    leads: dict[tuple[str, str], PairedComparison]  # two runs -> by how much the first is above the second


def write_data(
    key: ReportKey, results: Results, folder: Folder, media: Media, settings: Mapping[str, Settings]
) -> Written:
    written = Written({}, {}, {})
    writers = [BenchmarkWriter(entry, key, results, folder, settings) for entry in key.browsed()]
    catalog = {
        "suite": key.suite,
        "title": shown(key.suite_title),
        "notice": shown(key.notice),
        "chunk": CHUNK,
        "benchmarks": [writer.write(media, written) for writer in writers],
    }
    folder.put("catalog", catalog)
    return written


class BenchmarkWriter:
    def __init__(
        self,
        entry: ReportedBenchmark,
        key: ReportKey,
        results: Results,
        folder: Folder,
        made_with: Mapping[str, Settings],
    ) -> None:
        name, has_clips = entry.name, entry.has_clips
        self._made_with = made_with
        self._name, self._entry, self._results, self._folder = name, entry, results, folder
        items = read_table(results.items(name), ITEMS)
        facts = read_table(results.facts(name), FACTS) if has_clips else pl.DataFrame(schema=FACTS)
        ledgers = [results.ledger("clips", name, shard) for shard in range(key.shards)] if has_clips else []
        ledger = pl.concat([pl.DataFrame(schema=CLIP_LEDGER), *(read_table(path, CLIP_LEDGER) for path in ledgers)])
        self._items = Items(name, items, facts if has_clips else None)
        self._clips = Clips(items, ledger, facts)
        self._samplings = sorted({run.scored.run.sampling for run in entry.runs if has_clips and not run.imported})
        self._level = key.level

    def write(self, media: Media, written: Written) -> dict[str, Any]:
        """Items, clips, each run at a glance and all answers in chunks; returns what the catalog says of them."""
        entry, name, plays = self._entry, self._name, self._write_items(media)
        asked: dict[str, pl.DataFrame] = {}
        answers: list[dict[int, str]] = []
        outcomes: list[dict[str, pl.DataFrame]] = []
        all_columns: dict[str, dict[str, Any]] = {}
        numbers = {item: number for number, item in enumerate(self._items.ids)}
        for run in entry.runs:
            protocol = run.scored.run.protocol
            if protocol not in asked:
                asked[protocol] = read_table(self._results.requests(name, protocol), REQUESTS)
            tables = self._read(run, numbers)
            requests = asked[protocol].head(0) if run.imported else asked[protocol]
            form, highest = entry.forms[protocol], entry.rated_to.get(protocol)
            found = columns(name, form, self._items.grouped, requests, tables, highest)
            outcomes.append(outcomes_of(name, form, self._items.grouped, tables))
            all_columns[run.scored.name] = found
            groups = [*self._items.tasks, *self._items.groups]
            written.summaries[run.scored.name] = summary(found, tables.responses, groups)
            answers.append(encoded_answers(numbers, tables, run.judge))
        with_time(entry, all_columns)
        for place, run in enumerate(entry.runs):
            self._folder.put(f"{name}/runs/{place}", all_columns[run.scored.name])
        compared = self._compared(outcomes)
        for place, others in compared.items():
            found = {
                str(other): {"metric": of.metric, "of": shown(of.test), "level": self._level, **asdict(of.found)}
                for other, of in others.items()
            }
            self._folder.put(f"{name}/compared/{place}", found)
            for other, of in others.items():
                if entry.headline and of.metric == entry.headline.metric:
                    written.leads[entry.runs[place].scored.name, entry.runs[other].scored.name] = of.found
        led_by = entry.headline.group if entry.headline else ""
        inside = self._items.groups[led_by].to_list() if led_by in self._items.groups else [True] * len(numbers)
        best = best_two(entry, all_columns, inside)
        written.telling[name] = [one for one in telling(entry, best, led_by, inside) if one.items]
        self._folder.put(f"{name}/settings", [self._settings(run) for run in entry.runs])
        self._write_list("items", self._answered({one: questions(found) for one, found in asked.items()}, answers))
        opens_on = opened(name, written.telling[name], self._items.ids, plays)
        return self._of_catalog(all_columns, compared, opens_on)

    def _write_items(self, media: Media) -> list[bool]:
        """The list of items and clips, what is searched, and frames; returns whether each item's clip plays."""
        clips = self._clips.objects(media)
        gone = "".join("0" if clip["status"] == "ok" else "1" for clip in clips)
        index = self._items.index(self._clips.places) | {"gone": gone}
        self._folder.put(f"{self._name}/index", index)
        self._write_list("short", map(ENCODE, self._items.short()))
        self._write_list("clips", map(ENCODE, clips))
        self._folder.put(f"{self._name}/texts", self._items.searched())
        for sampling in self._samplings:
            plan = read_table(self._results.frames(self._name, sampling), FRAME_PLAN)
            frames = list(self._clips.frames(plan))
            self._folder.put(f"{self._name}/indices/{sampling}", [one.pop("indices") for one in frames])
            self._write_list(f"frames/{sampling}", map(ENCODE, frames))
        return [bool(clips[place]["media"]) for place in index["clip"]]

    def _read(self, run: ReportedRun, numbers: Mapping[str, int]) -> RunTables:
        """The tables of a run, by its readers or by its judge; answers to items that there are not are refused."""
        results, scored = self._results, run.scored
        responses = read_table(results.responses(scored.run), RESPONSES, without=("prompt_sha256", "key"))
        other = next((item for item in responses["item_id"].unique(maintain_order=True) if item not in numbers), "")
        if other:
            raise UserError(
                f"{results.responses(scored.run)}: an answer is about item '{shown(other)}', which "
                f"{results.items(self._name)} does not have. Delete the file and run snakemake again."
            )
        robust, authors = (read_table(results.verdicts(scored.run, one), VERDICTS) for one in readers_of(run))
        replies = read_table(results.judge_responses(scored.run, run.judge), RESPONSES) if run.judge else None
        return RunTables(responses, robust, authors, replies)

    def _compared(self, outcomes: Sequence[Mapping[str, pl.DataFrame]]) -> dict[int, dict[int, Part]]:
        """Run -> other run that was asked alike -> the difference of the number that the tables lead with."""
        asked = [(run.scored.run.protocol, run.scored.run.sampling) for run in self._entry.runs]
        found: dict[int, dict[int, Part]] = {}
        for one, other in permutations(range(len(asked)), 2):
            if asked[one] == asked[other]:
                scores = load_scores(self._name).SCORES[self._entry.forms[asked[one][0]]]
                leading = headline(scores, outcomes[one], outcomes[other], self._level)
                if leading is not None:
                    found.setdefault(one, {})[other] = leading
        return found

    def _settings(self, run: ReportedRun) -> dict[str, str]:
        """What shaped a run's answers, by dotted names, so that two runs can be compared."""
        content = self._made_with[run.run].model_dump(mode="json")
        answers = leaves(content.get("answers", {}))
        made = {shown(name): shown(in_words(value)) for name, value in answers if name != "benchmark"}
        return made | {"reader": shown(run.judge or "robust")}

    def _answered(self, requests: Requests, answers: Sequence[Mapping[int, str]]) -> Iterator[str]:
        """The items as JSON, each with its answers, which are encoded already."""
        for number, item in enumerate(self._items.objects(requests)):
            runs = ",".join(f'"{place}":{of[number]}' for place, of in enumerate(answers) if number in of)
            yield f'{ENCODE(item)[:-1]}{"," if item else ""}"answers":{{{runs}}}}}'

    def _write_list(self, kind: str, entries: Iterable[str]) -> None:
        """A list of JSON in pieces."""
        rest, place = iter(entries), 0
        while piece := ",".join(islice(rest, CHUNK)):
            self._folder.put_encoded(f"{self._name}/{kind}/{place}", f"[{piece}]")
            place += 1

    def _of_catalog(
        self, all_columns: Mapping[str, dict[str, Any]], compared: Mapping[int, Mapping[int, Part]], opens_on: State
    ) -> dict[str, Any]:
        runs = [
            {
                "n": place,
                "name": run.scored.name,
                "model": run.scored.run.model,
                "label": shown(run.label),
                "protocol": run.scored.run.protocol,
                "sampling": run.scored.run.sampling,
                "judge": run.judge,
                "metrics": metrics_of(all_columns[run.scored.name]),
                "page": run.page,
                "imported": run.imported,
                "reference": run.reference,
                "made": run.made,
                "views": run.views,
                "reader": run.judge or "robust",
                "compared": list(compared.get(place, ())),
            }
            for place, run in enumerate(self._entry.runs)
        ]
        return {
            "name": self._name,
            "title": shown(self._entry.title),
            "items": len(self._items.ids),
            "tasks": self._items.tasks,
            "groups": list(self._items.groups),
            "called": {one: shown(name) for one, name in names_of(self._entry, self._made_with).groups.items()},
            "samplings": self._samplings,
            "passing_on": shown(self._entry.passing_on),
            "runs": runs,
            "metric": self._entry.headline.metric if self._entry.headline else "",
            "opened": {name: shown(text) for name, text in opens_on.items()},
            "protocols": {name: {"form": form} for name, form in self._entry.forms.items()},
        }
