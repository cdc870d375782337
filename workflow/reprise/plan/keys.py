"""Collects the keys that the rooms state: each filled in from the configuration, with the digest of its code."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from reprise.benchmarks.keys import JudgeRequestsKey, MetricsKey, RequestsKey, StatisticsKey
from reprise.benchmarks.prompts import Prompt, load_prompts
from reprise.config.figures import Figure
from reprise.config.model import Model
from reprise.config.tables import TableSpec
from reprise.construction.keys import SubsetKey
from reprise.core.code_digest import CodeDigests
from reprise.core.errors import UserError
from reprise.core.files import canonical_json, is_other, write_text
from reprise.core.keyfile import Key
from reprise.core.paths import JUDGES, OVERVIEW, Run
from reprise.core.settings import Settings
from reprise.core.store import append_line, read_lines
from reprise.external import FOLDER
from reprise.external.keys import ImportedRatingsKey, ImportedRunKey, RatingFiles, RunFiles
from reprise.fetch.keys import BenchmarkLedgers, MissingKey, SourcesKey
from reprise.figures.keys import FigureKey
from reprise.media.keys import ClipsKey, FactsKey, FramesKey
from reprise.media.sampling import frames_shown
from reprise.models.adapters import ADAPTERS
from reprise.models.keys import ModelAnswers, ModelRunKey, RunKey
from reprise.models.local.embeddings import DISTRIBUTION as EMBEDDER
from reprise.models.same_answers import known_code
from reprise.people.keys import PeopleFiles, PeopleRunKey
from reprise.plan.agreement import agreement_key
from reprise.plan.changes import remember
from reprise.plan.construction import step_keys, writing, written
from reprise.plan.identity import server_of, weights_identity
from reprise.plan.released import annotations_key, digest_of, release_key
from reprise.plan.reported import report_key
from reprise.plan.reproduction import reproduction_key
from reprise.plan.runs import Plan
from reprise.plan.surveyed import group_keys, ratings_digest
from reprise.reading.keys import JudgementsKey, VerdictsKey
from reprise.tables.keys import OverviewKey, TableKey
from reprise.tables.published import published_file

NO_FRAMES = {"rule": "none"}
K = TypeVar("K", bound=Key)


def write_keys(plan: Plan) -> None:
    """Write every key file whose content has changed."""
    code = CodeDigests(record=plan.results.folder / "keys" / "code.jsonl")
    for path, key in collect_keys(plan, code).items():
        text = _text(key)
        if not is_other(path, text):
            continue
        remember(plan.results, path)
        write_text(path, text)
        if isinstance(key, RunKey):
            # What a key stood for, for `adopt` to compare and for people who trace old answers.
            append_line(plan.store.root / "keys.jsonl", canonical_json([key.key, key.answers.model_dump(mode="json")]))
    code.keep()


def changed_keys(plan: Plan) -> list[Path]:
    """The key files that `write_keys` would write."""
    return [path for path, text in key_texts(collect_keys(plan)).items() if is_other(path, text)]


def key_texts(keys: Mapping[Path, Settings]) -> dict[Path, str]:
    """The content that every key file has once it is written."""
    return {path: _text(key) for path, key in keys.items()}


def _text(key: Settings) -> str:
    return json.dumps(key.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def collect_keys(plan: Plan, code: CodeDigests | None = None) -> dict[Path, Settings]:
    """Every key file of a suite and its content; `code` is this library's."""
    return dict(_Keys(plan, code or CodeDigests()).all())


class _Keys:
    """The keys of one suite."""

    def __init__(self, plan: Plan, code: CodeDigests) -> None:
        self._plan = plan
        self._config = plan.config
        self._code = code
        self._prompts = {name: load_prompts(Path(spec.prompts)) for name, spec in self._config.benchmarks.items()}
        self._runs = plan.runs()
        self._weights: dict[str, dict[str, str]] = {}

    def all(self) -> Iterator[tuple[Path, Settings]]:
        key = self._plan.results.key
        for benchmark in self._config.benchmarks:
            yield from self._of_data(benchmark)
            for protocol in self._config.benchmarks[benchmark].protocols:
                yield from self._of_protocol(benchmark, protocol)
        yield key("missing"), self._coded(self._missing())
        yield key("judgements"), self._coded(JudgementsKey())
        runs = {run: self._run(run) for run in self._runs}
        for run, run_key in runs.items():
            yield self._plan.results.run_key(run), run_key
        adopted = self._adopted()
        for benchmark, table, spec in self._plan.tables():
            table_key = self._table(benchmark, table, spec, runs, adopted)
            yield key("tables", benchmark, table), self._coded(table_key)
        for benchmark, figure, figure_spec in self._plan.figures():
            figure_key = self._figure(benchmark, figure, figure_spec, runs, adopted)
            yield key("figures", benchmark, figure), self._coded(figure_key)
        if self._plan.overview:
            yield key("tables", OVERVIEW), self._coded(self._overview(runs, adopted))
        if (agreement := agreement_key(self._plan)).pairs:
            yield key("tables", JUDGES), self._coded(agreement)
        yield key("report"), self._coded(report_key(self._plan))
        if self._config.suite.show_published:
            yield key("reproduction"), self._coded(reproduction_key(self._plan))

    def _coded(self, key: K) -> K:
        """A key with the digest of the code that shapes what it is the key of."""
        return key.model_copy(update={"code": self._code.closure(key.modules(), key.CARRIERS)})

    def _digests(self, files: Sequence[Path]) -> dict[str, str]:
        return {str(path): self._plan.store.digest(path) for path in files}

    # Data

    def _of_data(self, benchmark: str) -> Iterator[tuple[Path, Settings]]:
        suite, key = self._config.suite, self._plan.results.key
        entry = suite.benchmarks[benchmark]
        if entry.construction is not None:
            yield from ((path, self._coded(one)) for path, one in step_keys(self._plan, benchmark))
        elif entry.release.kind != "constructed":
            yield key("release", benchmark), self._coded(release_key(self._plan, benchmark))
        if benchmark in written(self._plan):
            own = writing(self._plan, benchmark, NO_FRAMES)
            yield own.path, self._model_run(*own[1:])
        if entry.subset_search is not None:
            path = self._plan.results.construction_key(benchmark, "subset")
            yield path, self._coded(SubsetKey(settings=entry.subset_search))
        stages: dict[str, Key] = {
            "annotations": annotations_key(self._plan, benchmark),
            "sources": SourcesKey(shards=suite.shards, route=entry.route, limits=suite.limits),
            "clips": ClipsKey(shards=suite.shards, **dict(suite.clip_settings)),
            "facts": FactsKey(**dict(suite.fact_settings)),
            "statistics": StatisticsKey(benchmark=benchmark),
        }
        for stage, found in stages.items():
            yield key(stage, benchmark), self._coded(found)
        for group in self._plan.imports.people.of(benchmark):
            yield from ((path, self._coded(one)) for path, one in group_keys(self._plan, group))
        for name, rule in self._config.main.samplings.items():
            yield key("frames", benchmark, name), self._coded(FramesKey(rule=rule))

    def _missing(self) -> MissingKey:
        shards, ledger = range(self._config.suite.shards), self._plan.results.ledger
        return MissingKey(
            benchmarks={
                name: BenchmarkLedgers(
                    title=self._config.benchmarks[name].title,
                    sources=tuple(ledger("sources", name, shard) for shard in shards),
                    clips=tuple(ledger("clips", name, shard) for shard in shards),
                    tables=tuple(self._config.tables[name].tables),
                )
                for name in self._plan.data_benchmarks()
            }
        )

    # Protocols

    def _of_protocol(self, benchmark: str, name: str) -> Iterator[tuple[Path, Settings]]:
        protocol, key = self._config.benchmarks[benchmark].protocols[name], self._plan.results.key
        prompts = self._prompts[benchmark]
        requests = RequestsKey(
            benchmark=benchmark,
            form=protocol.form,
            ask=protocol.ask,
            max_tokens=protocol.max_tokens,
            items=protocol.items,
            prompt=prompts[protocol.prompt],
            text_chars_max=self._config.suite.text_chars_max,
        )
        verdicts = VerdictsKey(
            reading=protocol.reading,
            patterns=tuple(protocol.patterns),
            embedder=None if protocol.compare_with is None else _version(EMBEDDER),
        )
        metrics = MetricsKey(
            benchmark=benchmark,
            form=protocol.form,
            items=protocol.items,
            level=self._config.main.confidence,
            ratings_sha256=ratings_digest(self._plan, benchmark, name),
            rated_to=protocol.rated_to,
        )
        yield key("requests", benchmark, name), self._coded(requests)
        yield key("verdicts", benchmark, name), self._coded(verdicts)
        yield key("metrics", benchmark, name), self._coded(metrics)
        if protocol.judge is not None:
            prompt, tokens = prompts[protocol.judge], protocol.judge_tokens
            asked = JudgeRequestsKey(
                benchmark=benchmark,
                form=protocol.form,
                rated_to=protocol.rated_to,
                max_tokens=tokens,
                prompt=prompt,
                unread_only=protocol.judge_reads == "unread",
                reading=protocol.reading,
                patterns=tuple(protocol.patterns),
            )
            yield key("judge_requests", benchmark, name), self._coded(asked)
            for judge in self._plan.judges_of(benchmark):
                path = self._plan.results.judge_key(benchmark, name, judge)
                yield path, self._judge(benchmark, name, judge, prompt, tokens)

    # Answers

    def _run(self, run: Run) -> RunKey:
        protocol = self._config.benchmarks[run.benchmark].protocols[run.protocol]
        sampling = self._config.main.samplings[run.sampling]
        if self._plan.imports.of_people(run):
            return self._run_of_people(run, sampling)
        if run.model in self._plan.imports.models:
            return self._imported_run(run, protocol.form, sampling)
        asked = {"form": protocol.form, "ask": protocol.ask, "max_tokens": protocol.max_tokens, "sampling": sampling}
        return self._model_run(run.name, run.model, asdict(self._prompts[run.benchmark][protocol.prompt]), asked)

    def _judge(self, benchmark: str, protocol: str, judge: str, prompt: Prompt, tokens: int) -> RunKey:
        name = f"{judge} as judge of {benchmark}/{protocol}"
        if judge in self._plan.imports.models:
            return self._imported_ratings(name, benchmark, protocol, judge)
        asked = {"form": "judge", "ask": "write", "max_tokens": tokens, "sampling": NO_FRAMES}
        return self._model_run(name, judge, asdict(prompt), asked)

    def _model_run(self, name: str, slug: str, prompt: dict[str, str], asked: dict[str, Any]) -> ModelRunKey:
        """The key of a model that is asked by this prompt, be it for answers, as a judge of answers or as a writer."""
        model = self._config.models[slug]
        beside = ADAPTERS[model.adapter].beside_answers & model.settings.keys()
        identity, versions = self._identity(slug, model), ADAPTERS[model.adapter].versioned(model.settings)
        server = server_of(model, identity, self._plan.store)
        answers = self._coded(
            ModelAnswers(
                adapter=model.adapter,
                model=identity,
                settings={key: value for key, value in model.settings.items() if key not in beside} | server.settings,
                dtype=model.dtype,
                attention=model.attention,
                trust_remote_code=model.trust_remote_code,
                prompt=prompt,
                versions={name: _version(name) for name in versions} | server.versions,
                serving=server.serving,
                **asked,
            )
        )
        answers = answers.model_copy(update={"code": known_code(answers.code, model.checkpoint)})
        return ModelRunKey(
            run=name,
            key=answers.digest(),
            answers=answers,
            patterns=tuple(model.patterns),
            checkpoint=model.checkpoint,
            gpus=model.gpus,
            serving={key: model.settings[key] for key in sorted(beside)},
            hosting=server.hosting,
            price=model.price,
        )

    def _identity(self, slug: str, model: Model) -> dict[str, str]:
        """What the weights are: a hub revision, or the digest of a local folder's files."""
        if slug not in self._weights:
            self._weights[slug] = weights_identity(slug, model, self._plan.store)
        return self._weights[slug]

    def _imported_run(self, run: Run, form: str, sampling: dict[str, Any]) -> ImportedRunKey:
        files = self._plan.imports.answer_files(run)
        if not files:
            raise UserError(
                f"{run.name}: no answers found. Put the files into "
                f"{FOLDER / run.benchmark / run.model / run.protocol / run.sampling}/, or remove the run."
            )
        answers = self._coded(
            RunFiles(
                adapter=self._config.models[run.model].adapter,
                benchmark=run.benchmark,
                form=form,
                sampling=sampling,
                files=self._digests(files),
            )
        )
        patterns = tuple(self._config.models[run.model].patterns)
        return ImportedRunKey(run=run.name, key=answers.digest(), answers=answers, patterns=patterns)

    def _run_of_people(self, run: Run, sampling: dict[str, Any]) -> PeopleRunKey:
        people = self._plan.imports.people
        group = people.answering[run]
        adapter = self._config.models[run.model].adapter
        answers = self._coded(
            PeopleFiles(
                adapter=adapter, sampling=sampling, scope=group.scope, design=group.design, files=people.inputs(group)
            )
        )
        return PeopleRunKey(run=run.name, key=answers.digest(), answers=answers)

    def _imported_ratings(self, name: str, benchmark: str, protocol: str, judge: str) -> ImportedRatingsKey:
        runs = [run for run in self._runs if (run.benchmark, run.protocol) == (benchmark, protocol)]
        files = {run.name: self._plan.imports.rating_files(run, judge) for run in runs}
        answers = self._coded(
            RatingFiles(
                adapter=self._config.models[judge].adapter,
                benchmark=benchmark,
                sampling=NO_FRAMES,
                files={run: self._digests(found) for run, found in files.items() if found},
            )
        )
        return ImportedRatingsKey(run=name, key=answers.digest(), answers=answers)

    # Tables

    def _table(
        self, benchmark: str, table: str, spec: TableSpec, runs: dict[Run, RunKey], adopted: dict[str, str]
    ) -> TableKey:
        plan, suite, settings = self._plan, self._config.suite, self._config.benchmarks[benchmark]
        scored = plan.scored_of(benchmark, spec)
        judged = tuple(name for name in settings.protocols if plan.is_judged(benchmark, name))
        keys = sorted({runs[one.run].key for one in scored} & adopted.keys())
        shown = {cell.model for cell in spec.cells() if cell.model is not None}
        return TableKey(
            suite=self._config.name,
            suite_title=suite.title,
            notice=suite.notice,
            benchmark=benchmark,
            benchmark_title=settings.title,
            paper=settings.paper,
            table=table,
            show_published=suite.show_published,
            published_sha256=digest_of(self._plan, published_file(benchmark) if suite.show_published else None),
            spec=spec,
            forms={name: protocol.form for name, protocol in settings.protocols.items()},
            frames_min={name: one.frames_min for name, one in settings.protocols.items() if one.frames_min},
            frames=self._frames(spec),
            runs=tuple(one.name for one in scored),
            imported=tuple(one.name for one in scored if plan.is_imported(one)),
            judge_order=tuple(plan.judges_of(benchmark)) if judged else (),
            unjudged=tuple(run.name for run in plan.unjudged(benchmark, spec)),
            judged=judged,
            judges={one: self._config.models[one].label for one in plan.judges_of(benchmark)} if judged else {},
            abbreviations=self._config.tables[benchmark].abbreviations,
            references=tuple(sorted(one for one in shown if self._config.models[one].reference)),
            quantised=self._quantised({*shown, *(plan.judges_of(benchmark) if judged else ())}),
            adopted={key: adopted[key] for key in keys},
            missing_share_max=suite.missing_share_max,
            failed_share_max=suite.failed_share_max,
        )

    def _frames(self, spec: TableSpec) -> dict[str, int]:
        """Sampling -> its number of frames, of a table's rows, where that is the same for every clip."""
        shown = sorted({row.sampling for row in spec.cells() if row.sampling})
        counts = {name: frames_shown(self._config.main.samplings[name]) for name in shown}
        return {name: count for name, count in counts.items() if count is not None}

    def _figure(
        self, benchmark: str, figure: str, spec: Figure, runs: dict[Run, RunKey], adopted: dict[str, str]
    ) -> FigureKey:
        suite, settings = self._config.suite, self._config.benchmarks[benchmark]
        return FigureKey(
            suite=self._config.name,
            notice=suite.notice,
            benchmark=benchmark,
            benchmark_title=settings.title,
            figure=figure,
            spec=spec,
            parts=tuple(
                self._table(benchmark, table, part, runs, adopted)
                for table, part in self._plan.figure_parts(benchmark, figure)
            ),
            show_published=suite.show_published,
            published_sha256=digest_of(self._plan, published_file(benchmark) if suite.show_published else None),
        )

    def _overview(self, runs: dict[Run, RunKey], adopted: dict[str, str]) -> OverviewKey:
        parts = self._plan.overview
        return OverviewKey(
            suite=self._config.name,
            confidence=self._config.main.confidence,
            parts=tuple(self._table(name, OVERVIEW, spec, runs, adopted) for name, spec in parts.items()),
            of_all={name: main for name in parts if (main := self._config.tables[name].overview)},
            gpus={line.model: self._config.models[line.model].gpus for line in self._config.suite.overview_lines()},
        )

    def _quantised(self, shown: set[str]) -> dict[str, str]:
        """Model -> how its weights are quantised, of those models whose are."""
        found = {slug: self._config.models[slug].quantised for slug in sorted(shown)}
        return {slug: how for slug, how in found.items() if how}

    def _adopted(self) -> dict[str, str]:
        """Key -> why its answers were carried over from another key."""
        notes = read_lines(self._plan.store.root / "adopted.jsonl")
        return {str(to): f"answers carried over from key {str(old)[:12]}: {why}" for _, old, to, why, *_ in notes}


@cache
def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
