"""What a suite asks for: its runs, read off the tables, and a key file for every stage of every one of them."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from reprise.benchmarks import benchmark_module, load_benchmark
from reprise.benchmarks.prompts import Prompt, load_prompts
from reprise.config import Configuration, Model, OnGpus, ReleaseHub, Row, TableSpec, load
from reprise.core.code_digest import closure_digest, function_digest, modules_digest
from reprise.core.errors import UserError
from reprise.core.files import canonical_json, matching_files, value_digest, write_if_changed, write_text
from reprise.core.store import Store, append_line, read_lines
from reprise.fetch.records import wants_another_try
from reprise.fetch.settings import Remote
from reprise.models.adapters import ADAPTERS
from reprise.models.embeddings import DISTRIBUTION as EMBEDDER
from reprise.plan.imported import Imports

UNPINNED = "unpinned"
# The stages that a suite's data pass through before any model is asked.
DATA_STAGES = ("release", "annotations", "sources", "clips", "facts")


@dataclass(frozen=True, order=True)
class Run:
    """One model asked one benchmark's questions by one protocol on frames of one sampling."""

    benchmark: str
    protocol: str
    sampling: str
    model: str

    @property
    def name(self) -> str:
        return f"{self.benchmark}/{self.protocol}/{self.sampling}/{self.model}"


@dataclass(frozen=True, order=True)
class Scored:
    """A run's numbers: by its readers, or by a judge."""

    run: Run
    judge: str = ""

    @property
    def name(self) -> str:
        return f"{self.run.name}/{self.judge}" if self.judge else self.run.name


def run_of(benchmark: str, row: Row) -> Run | None:
    """The run behind a row as a column shows it; none for chance, the data, or published numbers only."""
    if row.model is None or row.protocol is None or row.sampling is None or row.chance or row.dataset:
        return None
    return Run(benchmark, row.protocol, row.sampling, row.model)


class Plan:
    """The checked configuration of one suite, seen as runs, tables and keys."""

    def __init__(self, config: Configuration) -> None:
        self.config = config
        self.store = Store(Path(config.main.store))
        self.imports = Imports(config, self.store)
        self.results = Path("results") / config.name
        self.models = frozenset(slug for slug, model in config.models.items() if self._runs_here(slug, model))

    def _runs_here(self, slug: str, model: Model) -> bool:
        """Whether the suite's `run:` selects a model; a remote one also needs a budget."""
        is_remote = ADAPTERS[model.adapter].is_remote
        if is_remote and self.config.suite.budget_usd <= 0:
            return False
        for term in self.config.suite.run:
            if isinstance(term, OnGpus):
                if not is_remote and model.gpus <= term.gpus:
                    return True
            elif term in (slug, "all") or (
                term == "local" and not is_remote and model.gpus == 0 and model.repo is None
            ):
                return True
        return False

    def tables(self) -> Iterator[tuple[str, str, TableSpec]]:
        """Every (benchmark, table, specification) of the suite."""
        for benchmark, tables in self.config.tables.items():
            for number, spec in tables.tables.items():
                yield benchmark, number, spec

    def judges_named(self, benchmark: str) -> list[str]:
        """The judges of a benchmark's answers: its own, or those of the suite."""
        own = self.config.suite.benchmarks[benchmark].judges
        return self.config.suite.judges if own is None else own

    def judges_of(self, benchmark: str) -> list[str]:
        """Those of them that run here."""
        return [slug for slug in self.judges_named(benchmark) if slug in self.models]

    def first_judge(self, benchmark: str) -> str:
        """The first of them, for a command that names none."""
        for judge in self.judges_of(benchmark):
            return judge
        raise UserError(
            f"suite '{self.config.name}': no judge of {benchmark} runs here. Name one in `judges:` and in `run:`."
        )

    def is_judged(self, benchmark: str, protocol: str) -> bool:
        """Whether the answers of a protocol are put to a judge."""
        return self.config.benchmarks[benchmark].protocols[protocol].judge is not None

    def scored(self, benchmark: str, row: Row) -> Scored | None:
        """Whose numbers a cell shows, if this site can make them: a run's, by the row's or the first judge."""
        run = run_of(benchmark, row)
        if run is None or run.model not in self.models or not self.has_answers(run):
            return None
        if not self.is_judged(benchmark, run.protocol):
            return Scored(run)
        judge = row.judge or next(iter(self.judges_named(benchmark)), None)
        return Scored(run, judge) if judge in self.judges_of(benchmark) and self.has_ratings(run, judge) else None

    def has_answers(self, run: Run) -> bool:
        """Whether a run's model can be asked, or its answers are there."""
        return run.model not in self.imports.models or bool(self.imports.answer_files(run.name))

    def has_ratings(self, run: Run, judge: str) -> bool:
        """Whether a judge can be asked about a run, or its ratings are there."""
        return judge not in self.imports.models or bool(self.imports.rating_files(run.name, judge))

    def is_imported(self, scored: Scored) -> bool:
        """Whether a number comes of answers, or of ratings, that were made elsewhere."""
        return scored.run.model in self.imports.models or scored.judge in self.imports.models

    def table_scored(self, benchmark: str, table: str) -> list[Scored]:
        """The numbers of runs that one table needs and that this site can make."""
        spec = self.config.tables[benchmark].tables[table]
        return sorted({found for row in spec.cells() if (found := self.scored(benchmark, row))})

    def table_runs(self, benchmark: str, table: str) -> list[Run]:
        """The runs that one table needs and that this site can make."""
        return sorted({scored.run for scored in self.table_scored(benchmark, table)})

    def runs(self) -> list[Run]:
        """All runs of the suite: those of its tables, and those that it names beside them."""
        found = {run for benchmark, table, _ in self.tables() for run in self.table_runs(benchmark, table)}
        named = [
            (benchmark, name) for benchmark, entry in self.config.suite.benchmarks.items() for name in entry.extra_runs
        ]
        return sorted(found | {Run(benchmark, *name.split("/")) for benchmark, name in named})

    def needs_data(self, benchmark: str, table: str) -> bool:
        """Whether a table shows numbers of the data itself, and the data can be had."""
        release = self.config.suite.benchmarks[benchmark].release
        if isinstance(release, ReleaseHub) and release.revision == UNPINNED:
            return False
        spec = self.config.tables[benchmark].tables[table]
        chance = load_benchmark(benchmark).CHANCE
        is_counted = any(chance.get(metric, 0.0) is None for c in spec.columns for metric in spec.metrics_of(c))
        return any(row.dataset or (row.chance and is_counted) for row in spec.rows())

    def numbers(self) -> dict[str, list[str]]:
        """Table number -> the benchmarks that have it."""
        found: dict[str, list[str]] = {}
        for benchmark, table, _ in self.tables():
            found.setdefault(table, []).append(benchmark)
        return dict(sorted(found.items(), key=lambda entry: int(entry[0].removeprefix("table"))))

    def benchmarks_with(self, table: str) -> list[str]:
        """The benchmarks that have this table; asking for one that none has is the user's mistake."""
        numbers = self.numbers()
        if table not in numbers:
            listed = ", ".join(f"{name} ({', '.join(having)})" for name, having in numbers.items())
            raise UserError(
                f"results/tables/{table}: no paper of suite '{self.config.name}' has it. There are: {listed}."
            )
        return numbers[table]

    def write_keys(self) -> None:
        """Write every key file whose content differs from what is there, and the stamp of the suite."""
        for name, value in self._keys():
            path = self.results / "keys" / f"{name}.json"
            if write_if_changed(path, json.dumps(value, indent=1, sort_keys=True) + "\n") and "answers" in value:
                # What a key stood for, for `adopt` to compare and for a reader of old answers.
                append_line(self.store.root / "keys.jsonl", canonical_json([value["key"], value["answers"]]))
        self._write_retries()
        write_if_changed(Path("results/suite.json"), canonical_json({"suite": self.config.name}) + "\n")

    def _write_retries(self) -> None:
        """Touch off another try of the shards whose ledger holds transient failures: their retry file changes.

        It is an input of the shard, and says how often was tried; when the tries are used up it stays as it is.
        """
        for benchmark, entry in self.config.suite.benchmarks.items():
            attempts = getattr(entry.route, "attempts", 1)
            for shard in range(self.config.suite.shards):
                ledger = self.results / "sources" / benchmark / f"{shard}.parquet"
                path = self.results / "keys" / "retries" / benchmark / f"{shard}.json"
                if not path.is_file():
                    write_text(path, "{}\n")
                if attempts > 1 and wants_another_try([ledger], attempts):
                    write_if_changed(path, canonical_json({"after": self.store.digest(ledger)}) + "\n")

    def data_benchmarks(self) -> list[str]:
        """The benchmarks whose videos this site works on: those with a run that looks at them."""
        return sorted({run.benchmark for run in self.runs() if run.model not in self.imports.models})

    def is_remote(self, benchmark: str) -> bool:
        """Whether a benchmark's videos come over a network."""
        return isinstance(self.config.suite.benchmarks[benchmark].route, Remote)

    def _missing_key(self) -> dict[str, Any]:
        shards = range(self.config.suite.shards)
        return {
            "benchmarks": {
                name: {
                    "title": self.config.benchmarks[name].title,
                    "sources": [str(self.results / f"sources/{name}/{shard}.parquet") for shard in shards],
                    "clips": [str(self.results / f"clips/{name}/{shard}.parquet") for shard in shards],
                    "tables": [number for benchmark, number, _ in self.tables() if benchmark == name],
                }
                for name in self.data_benchmarks()
            },
            "code": closure_digest("reprise.stages.missing"),
        }

    def _keys(self) -> Iterator[tuple[str, dict[str, Any]]]:
        prompts = {name: load_prompts(Path(spec.prompts)) for name, spec in self.config.benchmarks.items()}
        for benchmark in self.config.benchmarks:
            yield from self._data_keys(benchmark)
            for protocol in self.config.benchmarks[benchmark].protocols:
                yield f"requests/{benchmark}/{protocol}", self._request_key(benchmark, protocol, prompts[benchmark])
            for name, rule in self.config.main.samplings.items():
                yield f"frames/{benchmark}/{name}", {"rule": rule, "code": closure_digest("reprise.stages.frames")}
            yield f"verdicts/{benchmark}", self._verdict_key(benchmark)
            yield f"judgements/{benchmark}", {"code": closure_digest("reprise.stages.judgements")}
            yield from self._judge_keys(benchmark, prompts[benchmark])
            yield f"metrics/{benchmark}", self._metric_key(benchmark)
            yield (
                f"statistics/{benchmark}",
                {
                    "benchmark": benchmark,
                    "numbers": function_digest(benchmark_module(benchmark), "statistics"),
                    "of_videos": function_digest(benchmark_module(benchmark), "video_statistics"),
                    "code": closure_digest("reprise.stages.data_statistics"),
                },
            )
        yield "missing", self._missing_key()
        for run in self.runs():
            yield run.name, self._run_key(run, prompts[run.benchmark])
        for benchmark, table, spec in self.tables():
            yield f"tables/{benchmark}/{table}", self._table_key(benchmark, table, spec)

    def _data_keys(self, benchmark: str) -> Iterator[tuple[str, dict[str, Any]]]:
        suite, spec = self.config.suite, self.config.benchmarks[benchmark]
        entry = suite.benchmarks[benchmark]
        settings: dict[str, dict[str, Any]] = {
            "release": {
                "benchmark": benchmark,
                "release": entry.release.model_dump(),
                "files": spec.release_files,
                "extras": self._extras(entry.extras, spec.release_files),
            },
            "annotations": {
                "benchmark": benchmark,
                "clips": entry.clips,
                "options": spec.options | {"subset": entry.subset.model_dump() if entry.subset else None},
            },
            "sources": {"shards": suite.shards, "route": entry.route.model_dump()},
            "clips": {"shards": suite.shards, **suite.clip_settings.model_dump()},
            "facts": suite.fact_settings.model_dump(),
        }
        settings["annotations"]["reader"] = function_digest(benchmark_module(benchmark), "annotations")
        for stage in DATA_STAGES:
            yield f"{stage}/{benchmark}", settings[stage] | {"code": closure_digest(f"reprise.stages.{stage}")}

    def _extras(self, folder: str | None, patterns: list[str]) -> dict[str, Any] | None:
        """The files that a user laid beside a release, by their content: laying another one there is a change."""
        if folder is None:
            return None
        files = matching_files(Path(folder), patterns)
        return {"folder": folder, "files": {name: self.store.digest(path) for name, path in files.items()}}

    def _request_key(self, benchmark: str, protocol: str, prompts: dict[str, Prompt]) -> dict[str, Any]:
        spec = self.config.benchmarks[benchmark].protocols[protocol]
        prompt = prompts[spec.prompt]
        return {
            "benchmark": benchmark,
            "protocol": spec.model_dump(),
            "prompt": {"name": prompt.name, "source": prompt.source, "system": prompt.system, "user": prompt.user},
            "form": function_digest(benchmark_module(benchmark), "requests"),
            "code": modules_digest(("reprise.stages.requests", "reprise.benchmarks.prompts")),
        }

    def _verdict_key(self, benchmark: str) -> dict[str, Any]:
        protocols = self.config.benchmarks[benchmark].protocols
        return {
            "readings": {name: protocol.reading for name, protocol in protocols.items()},
            "embedders": {
                name: _version(EMBEDDER) for name, protocol in protocols.items() if protocol.compare_with is not None
            },
            "code": closure_digest("reprise.stages.verdicts"),
        }

    def _judge_keys(self, benchmark: str, prompts: dict[str, Prompt]) -> Iterator[tuple[str, dict[str, Any]]]:
        """What a judge is asked about each protocol's answers, and who the judges are."""
        for name, protocol in self.config.benchmarks[benchmark].protocols.items():
            if protocol.judge is None:
                continue
            prompt = prompts[protocol.judge]
            yield (
                f"judge_requests/{benchmark}/{name}",
                {
                    "benchmark": benchmark,
                    "form": protocol.form,
                    "max_tokens": protocol.judge_tokens,
                    "prompt": asdict(prompt),
                    "reader": function_digest(benchmark_module(benchmark), "answers"),
                    "code": closure_digest("reprise.stages.judge_requests"),
                },
            )
            asked = {"form": "judge", "ask": "write", "max_tokens": protocol.judge_tokens, "sampling": {"rule": "none"}}
            for judge in self.judges_of(benchmark):
                yield (
                    f"judges/{benchmark}/{name}/{judge}",
                    self.imports.rating_key(benchmark, name, judge)
                    if judge in self.imports.models
                    else self._model_key(f"{judge} as judge of {benchmark}/{name}", judge, prompt, asked),
                )

    def judge_labels(self, benchmark: str) -> dict[str, str]:
        """Judge -> what a table calls it."""
        protocols = self.config.benchmarks[benchmark].protocols.values()
        is_judged = any(protocol.judge for protocol in protocols)
        return {judge: self.config.models[judge].label for judge in self.judges_of(benchmark)} if is_judged else {}

    def ratings_file(self, benchmark: str) -> list[str]:
        """The file of people's ratings, where the suite names one that is there."""
        name = self.config.suite.benchmarks[benchmark].ratings
        return [name] if name and Path(name).is_file() else []

    def measures_videos(self, benchmark: str) -> bool:
        """Whether numbers of the data need the videos themselves; a site that runs nothing on them brings none."""
        return benchmark in self.data_benchmarks() and hasattr(load_benchmark(benchmark), "video_statistics")

    def _metric_key(self, benchmark: str) -> dict[str, Any]:
        protocols = self.config.benchmarks[benchmark].protocols
        return {
            "benchmark": benchmark,
            "bootstrap": self.config.main.bootstrap.model_dump(),
            "protocols": {
                name: {"form": protocol.form, "items": protocol.items, "frames_min": protocol.frames_min}
                for name, protocol in protocols.items()
            },
            "measures": function_digest(benchmark_module(benchmark), "measures"),
            "code": closure_digest("reprise.stages.metrics"),
        }

    def adoptions(self) -> dict[str, str]:
        """Key -> why its answers were carried over from another key."""
        notes = read_lines(self.store.root / "adopted.jsonl")
        return {str(to): f"answers carried over from key {str(old)[:12]}: {why}" for _, old, to, why, *_ in notes}

    def _table_key(self, benchmark: str, table: str, spec: TableSpec) -> dict[str, Any]:
        return {
            "suite": self.config.name,
            "suite_title": self.config.suite.title,
            "notice": self.config.suite.notice,
            "benchmark": benchmark,
            "benchmark_title": self.config.benchmarks[benchmark].title,
            "paper": self.config.benchmarks[benchmark].paper,
            "table": table,
            "file": self.config.suite.benchmarks[benchmark].tables,
            "show_published": self.config.suite.show_published,
            "spec": spec.model_dump(),
            "forms": {name: protocol.form for name, protocol in self.config.benchmarks[benchmark].protocols.items()},
            "runs": [scored.name for scored in self.table_scored(benchmark, table)],
            "imported": [scored.name for scored in self.table_scored(benchmark, table) if self.is_imported(scored)],
            "first_judge": next(iter(self.judges_named(benchmark)), ""),
            "judged": [name for name in self.config.benchmarks[benchmark].protocols if self.is_judged(benchmark, name)],
            "judges": self.judge_labels(benchmark),
            "adopted": self.adoptions(),
            "missing_share_max": self.config.suite.missing_share_max,
            "code": closure_digest("reprise.stages.table"),
        }

    def _run_key(self, run: Run, prompts: dict[str, Prompt]) -> dict[str, Any]:
        """`answers` is what shapes the answers; its digest is the run's key. The rest says whose answers they are."""
        protocol = self.config.benchmarks[run.benchmark].protocols[run.protocol]
        asked = {
            "form": protocol.form,
            "ask": protocol.ask,
            "max_tokens": protocol.max_tokens,
            "sampling": self.config.main.samplings[run.sampling],
        }
        if run.model in self.imports.models:
            return self.imports.run_key(run.name, asked)
        return self._model_key(run.name, run.model, prompts[protocol.prompt], asked)

    def _model_key(self, name: str, slug: str, prompt: Prompt, asked: dict[str, Any]) -> dict[str, Any]:
        """The key of a model that is asked by this prompt, be it for answers or as a judge of answers."""
        model = self.config.models[slug]
        adapter = ADAPTERS[model.adapter]
        answers = {
            "adapter": model.adapter,
            "model": self._model_identity(slug, model),
            "settings": model.settings,
            "dtype": model.dtype,
            "attention": model.attention,
            "trust_remote_code": model.trust_remote_code,
            "prompt": {"system": prompt.system, "user": prompt.user},
            **asked,
            "versions": {name: _version(name) for name in adapter.packages},
            "code": modules_digest((adapter.module, *adapter.modules)),
        }
        return {
            "run": name,
            "label": model.label,
            "checkpoint": model.checkpoint,
            "repo": model.repo,
            "gpus": model.gpus,
            "answers": answers,
            "key": value_digest(answers),
            "adopted": self.adoptions().get(value_digest(answers), ""),
        }

    def _model_identity(self, slug: str, model: Model) -> dict[str, str]:
        """What the weights are: a hub revision, or the digest of a local folder's files."""
        if model.repo is not None:
            return {"repo": model.repo, "revision": model.revision or UNPINNED}
        if model.checkpoint is None:
            return {}
        folder = Path(model.checkpoint)
        if not folder.is_dir():
            raise UserError(f"config/models/{slug}.yaml: checkpoint: no folder '{folder}'.")
        if not any(folder.glob("*.safetensors")):
            raise UserError(
                f"config/models/{slug}.yaml: checkpoint: '{folder}' holds no weights (*.safetensors). "
                f"Found: {', '.join(sorted(path.name for path in folder.iterdir())) or 'nothing'}."
            )
        return {"checkpoint": self.store.folder_digest(folder)}


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def load_plan(overrides: dict[str, Any] | None = None) -> Plan:
    """Read the configuration in the working directory and bring the key files up to date."""
    plan = Plan(load(Path(), overrides))
    plan.write_keys()
    return plan
