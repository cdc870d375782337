"""The key of the report: what is in it, and how it is called."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from reprise.core.paths import STAGES, Results, Run, Scored
from reprise.core.settings import KeyPart
from reprise.tables.keys import SuiteKey


def model_page(model: str) -> str:
    return f"models/{model}.html"


class Step(NamedTuple):
    name: str
    path: Path
    log: Path
    key: Path | None = None  # a key file that it was made from and does not name itself


class Origin(KeyPart):
    """What is behind the numbers of a run, or of a judge's ratings of it."""

    run: str
    judge: str = ""
    shards: int = 1
    imported: bool = False  # whether its answers were made elsewhere
    facts: bool = True  # whether facts of the videos are needed
    imported_ratings: bool = False  # whether its judge's ratings were
    weights: tuple[str, ...] = ()  # the models asked, its own or its judge's, whose weights are fetched
    environments: dict[str, str] = Field({})  # model -> of the server that it runs at, where a job starts one
    pieces: tuple[str, ...] = ()  # names of the jobs that asked for a share of its answers each, where several did

    @property
    def scored(self) -> Scored:
        return Scored(Run.parse(self.run), self.judge)

    def steps(self, results: Results) -> Iterator[Step]:
        """The files, first the first that is made."""
        one, run, log = self.scored, self.scored.run, results.log
        benchmark, names = run.benchmark, (run.benchmark, run.protocol, run.sampling, run.model)
        yield Step("release", results.release(benchmark), log("release", benchmark), results.key("release", benchmark))
        yield Step("annotations", results.items(benchmark), log("annotations", benchmark))
        if self.facts:
            for stage in STAGES:
                for shard in range(self.shards):
                    retry = results.retry_key(benchmark, shard) if stage == "sources" else None
                    yield Step(stage, results.ledger(stage, benchmark, shard), log(stage, benchmark, str(shard)), retry)
            yield Step("facts", results.facts(benchmark), log("facts", benchmark))
        if not self.imported:
            frames = results.frames(benchmark, run.sampling)
            yield Step("frame plan", frames, log("frames", benchmark, run.sampling))
        yield Step("requests", results.requests(benchmark, run.protocol), log("requests", benchmark, run.protocol))
        yield from self._of_model(run.model, results)
        for piece in self.pieces:
            yield Step(f"piece {piece}", results.piece(run, piece), log("infer_piece", *names, piece))
        rule = "import_answers" if self.imported else "join_pieces" if self.pieces else "infer"
        yield Step("answers", results.responses(run), log(rule, *names))
        if one.judge:
            yield Step("questions to the judge", results.judge_requests(run), log("judge_requests", *names))
            yield from self._of_model(one.judge, results)
            rule = "import_ratings" if self.imported_ratings else "judge"
            yield Step("replies of the judge", results.judge_responses(run, one.judge), log(rule, *names, one.judge))
        log_of_scores = log("score", *names, *filter(None, [one.judge]))
        yield Step("verdicts", results.verdicts(run, one.judge or "robust"), log_of_scores)
        yield Step("metrics", results.metrics(one), log_of_scores)

    def _of_model(self, model: str, results: Results) -> Iterator[Step]:
        if model in self.weights:
            yield Step("weights", results.weights(model), results.log("weights", model))
        if name := self.environments.get(model):
            yield Step("environment", results.environment(name), results.log("environments", name))


class ReportedRun(Origin):
    """A run whose answers the report shows, as its readers or one judge have read them."""

    label: str
    reference: bool = False  # whether its model is a baseline, which looks as it does on purpose
    views: dict[str, str] = Field({})  # view of time -> the run that is shown its frames so, whose numbers are here too

    @property
    def page(self) -> str:
        return f"runs/{self.scored.name.replace('/', '.')}.html"

    @property
    def model_page(self) -> str:
        return model_page(self.scored.run.model)

    @property
    def made(self) -> str:
        """The name of the data that say where its numbers come from."""
        return f"{self.scored.run.benchmark}/made/{self.scored.name.replace('/', '.')}"


class ReportedTable(KeyPart):
    name: str
    statistics: bool = False  # whether it shows numbers of the data


class Headline(KeyPart):
    """The number that a benchmark leads with, and of which runs it is."""

    metric: str
    group: str
    title: str
    decimals: int
    table: str | None  # where the benchmark's chance stands
    protocol: str
    sampling: str


class ReportedBenchmark(KeyPart):
    name: str
    title: str
    passing_on: str = ""  # what the licence of its videos says about passing clips on
    has_clips: bool  # whether this site works on its videos
    forms: dict[str, str] = Field({})  # protocol -> form of question
    rated_to: dict[str, int] = Field({})  # protocol whose answers a judge rates -> the best rating
    headline: Headline | None = None
    runs: tuple[ReportedRun, ...] = ()
    tables: tuple[ReportedTable, ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def scale(self) -> float:
        """The largest value of its headline."""
        return float(self.rated_to.get(self.headline.protocol, 100)) if self.headline else 100.0


class ReportKey(SuiteKey):
    clips: Literal["link", "copy"]
    level: float = 0.95  # of intervals
    shards: int = Field(ge=1)
    show_published: bool
    overview: bool
    time: tuple[str, ...] = ()
    site: dict[str, str] = Field({})  # digests of the fixed files and of the templates of pages, which are no code
    benchmarks: tuple[ReportedBenchmark, ...] = ()

    def browsed(self) -> list[ReportedBenchmark]:
        """The benchmarks with items to browse."""
        return [benchmark for benchmark in self.benchmarks if benchmark.runs]

    def runs(self) -> list[ReportedRun]:
        return [run for benchmark in self.benchmarks for run in benchmark.runs]

    def references(self) -> frozenset[str]:
        return frozenset(run.scored.run.model for run in self.runs() if run.reference)
