"""Names of runs, where files are looked up, and all paths under `results/`, which the rules have as patterns."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from glob import has_magic
from pathlib import Path
from typing import Literal

from reprise.core.errors import UserError

WORKFLOW = Path(__file__).resolve().parents[3]
"""the workflow's own place: the folder of its Snakefile"""
RESULTS = Path("results")
STAMP = RESULTS / "suite.json"
TABLES = RESULTS / "tables"
FIGURES = RESULTS / "figures"
RUN_NAME = "<benchmark>/<protocol>/<sampling>/<model>"
PROBLEMS = ".problems.csv"
TIMINGS = ".timings.parquet"
REPORT = RESULTS / "report"
TIME = RESULTS / "time"
ALL = "all"
OVERVIEW = "overview"
JUDGES = "judges"
REPRODUCTION = "reproduction"
READ_AS = ("tex", "md", "html")
"""formats in which people read tables"""
Ledger = Literal["sources", "clips"]


def places(root: Path = Path()) -> list[Path]:
    """The folders in which files are looked up, each once; what stands in a later one counts."""
    return [WORKFLOW] if root.resolve() == WORKFLOW else [WORKFLOW, root]


def located(path: str | Path, root: Path = Path()) -> Path:
    """Where a file, a folder or what fits a pattern is: in the working directory, or in the workflow's own place."""
    is_only_there = not Path(path).is_absolute() and not _is_in(root, path) and _is_in(WORKFLOW, path)
    return WORKFLOW / path if is_only_there else root / path


def _is_in(place: Path, path: str | Path) -> bool:
    return (place / path).exists() or (has_magic(str(path)) and any(True for _ in place.glob(str(path))))


@dataclass(frozen=True, order=True)
class Run:
    """One model asked one benchmark's questions by one protocol on frames of one sampling."""

    benchmark: str
    protocol: str
    sampling: str
    model: str

    @classmethod
    def parse(cls, name: str) -> "Run":
        """The run of a name, or the error that says how runs are named."""
        parts = name.split("/")
        if len(parts) != 4 or not all(parts):
            raise UserError(f"'{name}' does not name a run. A run is named {RUN_NAME}.")
        return cls(*parts)

    @property
    def name(self) -> str:
        return "/".join(astuple(self))


@dataclass(frozen=True, order=True)
class Scored:
    """A run's numbers: by its readers, or by a judge."""

    run: Run
    judge: str = ""

    @property
    def name(self) -> str:
        return f"{self.run.name}/{self.judge}" if self.judge else self.run.name


def table_file(benchmark: str, table: str, kind: str) -> Path:
    """A table of one paper; `table` is `table<N>`."""
    return TABLES / benchmark / f"{table}.{kind}"


def figure_file(benchmark: str, figure: str, kind: str) -> Path:
    """A figure of one paper; `figure` is `fig<N>` or `own_<name>`."""
    return FIGURES / benchmark / f"{figure}.{kind}"


def report_files() -> tuple[Path, Path]:
    """The first page of the report, and the list of all its files."""
    return REPORT / "index.html", REPORT / "manifest.json"


def reproduction_file(kind: str) -> Path:
    """The verdicts on all numbers that a paper prints too."""
    return RESULTS / f"{REPRODUCTION}.{kind}"


def collected_table_file(table: str, kind: str) -> Path:
    """Table N of every paper that has one."""
    return TABLES / f"{table}.{kind}"


def overview_file(kind: str) -> Path:
    """The overview of models."""
    return TABLES / f"{OVERVIEW}.{kind}"


def agreement_file(kind: str) -> Path:
    """How far the judges agree."""
    return TABLES / f"{JUDGES}.{kind}"


def time_file(model: str, kind: str) -> Path:
    """The card of time of a model, or that of `all` side by side."""
    return TIME / f"{model}.{kind}"


def tables_pdf_file() -> Path:
    """Every table of the suite, printed."""
    return TABLES / "tables.pdf"


def suite_pdf_file() -> Path:
    """Every table and figure of the suite, printed."""
    return RESULTS / "suite.pdf"


@dataclass(frozen=True)
class Results:
    """The working files of one suite."""

    suite: str
    root: Path = RESULTS

    @classmethod
    def of_all_suites(cls, root: Path = RESULTS) -> "list[Results]":
        """The suites that have fetched videos."""
        found = [*root.glob("*/sources"), *root.glob("*/construction/*/sources")]
        return [cls(name, root) for name in sorted({path.relative_to(root).parts[0] for path in found})]

    @property
    def folder(self) -> Path:
        return self.root / self.suite

    # Keys

    def key(self, *names: str) -> Path:
        """A key file, by its stage and its subject."""
        return self.folder.joinpath("keys", *names[:-1], f"{names[-1]}.json")

    def run_key(self, run: Run) -> Path:
        """The key file of a run's answers."""
        return self.key(*astuple(run))

    def judge_key(self, benchmark: str, protocol: str, judge: str) -> Path:
        """The key file of a judge's replies to the answers of a protocol."""
        return self.key("judges", benchmark, protocol, judge)

    def retry_key(self, benchmark: str, shard: int) -> Path:
        """An input of a shard of sources that changes when failures are to be tried again."""
        return self.key("retries", benchmark, str(shard))

    def answer_retry_key(self, scored: Scored) -> Path:
        """An input of a job that asks that changes when failures are to be tried again; written only where some are."""
        return self.key("retries", *scored.name.split("/"))

    def log(self, *names: str) -> Path:
        """The log of a job, by its rule and its subject."""
        return self.folder.joinpath("logs", *names[:-1], f"{names[-1]}.log")

    # Data

    def release(self, benchmark: str) -> Path:
        """The list of its released files."""
        return self.folder / "release" / benchmark / "files.json"

    def items(self, benchmark: str) -> Path:
        return self.folder / "annotations" / benchmark / "items.parquet"

    def statistics(self, benchmark: str) -> Path:
        return self.folder / "statistics" / f"{benchmark}.parquet"

    def requests(self, benchmark: str, protocol: str) -> Path:
        return self.folder / "requests" / benchmark / f"{protocol}.parquet"

    def ledger(self, stage: Ledger, benchmark: str, shard: int) -> Path:
        return self.folder / stage / benchmark / f"{shard}.parquet"

    def found_ledgers(self, stage: Ledger) -> Iterator[tuple[str, int, Path]]:
        """Benchmark, shard and file of each ledger that exists; a benchmark that is made of measured clips has two."""
        for pattern, benchmark_at in ((f"{stage}/*/*.parquet", 0), (f"construction/*/{stage}/*.parquet", 1)):
            for path in sorted(self.folder.glob(pattern)):
                if path.stem.isdecimal() and path.stem.isascii():  # not what a job writes at this moment
                    yield path.parents[benchmark_at].name, int(path.stem), path

    def facts(self, benchmark: str) -> Path:
        return self.folder / "facts" / f"{benchmark}.parquet"

    def frames(self, benchmark: str, sampling: str) -> Path:
        return self.folder / "frames" / benchmark / f"{sampling}.parquet"

    # Construction

    def construction(self, benchmark: str, name: str) -> Path:
        """A file, or a folder, of the making of a benchmark."""
        return self.folder / "construction" / benchmark / name

    # Answers

    def weights(self, model: str) -> Path:
        """The note of a snapshot that was fetched."""
        return self.folder / "weights" / f"{model}.json"

    def environment(self, name: str) -> Path:
        """The note of an environment of a server that was made."""
        return self.folder / "environments" / f"{name}.json"

    def responses(self, run: Run) -> Path:
        return self.folder / "responses" / f"{run.name}.parquet"

    def piece(self, run: Run, piece: str) -> Path:
        """The answers of one piece of a run that several jobs ask for."""
        return self.folder / "pieces" / run.name / f"{piece}.parquet"

    def timings(self, run: Run) -> Path:
        """How long its answers took."""
        return self.folder / "responses" / f"{run.name}{TIMINGS}"

    def run_of_timings(self, path: Path) -> str:
        """The name of the run that a file of timings is of."""
        return path.relative_to(self.folder / "responses").as_posix().removesuffix(TIMINGS)

    def judge_requests(self, run: Run) -> Path:
        return self.folder / "judge_requests" / f"{run.name}.parquet"

    def judge_responses(self, run: Run, judge: str) -> Path:
        return self.folder / "judge_responses" / run.name / f"{judge}.parquet"

    def import_problems(self, scored: Scored) -> Path:
        """Problems of a run's imported answers, or of a judge's imported ratings of it."""
        return self.folder / ("judge_responses" if scored.judge else "responses") / f"{scored.name}{PROBLEMS}"

    def verdicts(self, run: Run, reader: str) -> Path:
        """A reader's verdicts on a run's answers; `reader` may be a judge."""
        return self.folder / "verdicts" / run.name / f"{reader}.parquet"

    def name_of_verdicts(self, path: Path) -> str:
        """The name of the run, or of the run and judge, that shown verdicts are of."""
        name = path.relative_to(self.folder / "verdicts").with_suffix("").as_posix()
        return name.removesuffix("/robust")

    def scored_of_verdicts(self, path: Path) -> tuple[str, str]:
        """The names of the run and of the judge that a file of a judge's verdicts is of."""
        run, _, judge = path.relative_to(self.folder / "verdicts").as_posix().removesuffix(".parquet").rpartition("/")
        return run, judge

    def metrics(self, scored: Scored) -> Path:
        return self.folder / "metrics" / f"{scored.name}.parquet"

    def name_of_problems(self, path: Path) -> str:
        """The name of the run, or of the run and judge, that a file of problems is about."""
        return path.relative_to(self.folder).as_posix().partition("/")[2].removesuffix(PROBLEMS)
