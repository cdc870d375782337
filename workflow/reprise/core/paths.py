"""Names of runs, lookup of files, and all paths under `results/`, which the rules repeat as patterns."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import has_magic
from itertools import pairwise
from pathlib import Path
from typing import Literal

from reprise.core.errors import UserError
from reprise.core.files import LONGEST_NAME

WORKFLOW = Path(__file__).resolve().parents[3]  # The folder of the Snakefile.
RESULTS = Path("results")
TABLES = RESULTS / "tables"
FIGURES = RESULTS / "figures"
PDFS = TABLES / "tables.pdf", RESULTS / "suite.pdf"
RUN_NAME = "<benchmark>/<protocol>/<sampling>/<model>"
PROBLEMS = ".problems.csv"
TIMINGS = ".timings.parquet"
REPORT = RESULTS / "report"
TIME = RESULTS / "time"
ALL = "all"
LONGEST = 60
OVERVIEW = "overview"
JUDGES = "judges"
REPRODUCTION = "reproduction"
READ_AS = ("tex", "md", "html")  # The formats in which people read tables.
Ledger = Literal["sources", "clips"]


def places(root: Path = Path()) -> list[Path]:
    """Return the folders in which files are looked up, each once; a later folder takes precedence."""
    return [WORKFLOW] if root.resolve() == WORKFLOW else [WORKFLOW, root]


URL = re.compile(r"[A-Za-z][A-Za-z0-9+.@-]+:/")
VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[^}]*\})")
LONGEST_PATH = 4000  # The limit of common file systems, in bytes.


def path_problem(path: str) -> str | None:
    """Return why a user's text cannot be a path on this machine; None if it can."""
    if not path.strip():
        return "should be a path, found an empty text."
    if URL.match(path):
        return f"'{path}' is an address. Name a file or a folder on this machine; mount what is elsewhere first."
    if "\0" in path:
        return f"{path!r}: a path cannot have a NUL character. Remove it."
    name = path.encode("utf-8", errors="surrogatepass")
    if name != path.encode("utf-8", errors="replace"):
        return f"{path!r}: should be a path in UTF-8. Rename what it names."
    if len(name) > LONGEST_PATH or any(len(part) > LONGEST_NAME for part in name.split(b"/")):
        return f"'{path[:LONGEST]}...' is longer than a path can be."
    if any("**" in part and part != "**" for part in path.split("/")):
        return f"'{path}' is not a pattern: `**` stands alone between slashes. Write `*` within a name."
    return None


def pattern_problem(pattern: str) -> str | None:
    """Return why a user's text cannot be a glob pattern of files inside a folder; None if it can."""
    parts = Path(pattern).parts
    if not parts or Path(pattern).is_absolute() or ".." in parts:
        return f"'{pattern}' should be a pattern of files inside the folder, such as '*.csv'."
    return path_problem(pattern)


def expanded(path: str) -> str:
    """Return a path with `~` and variables replaced.

    Raises:
        UserError: A variable is not set, or a home folder is not known.
    """
    replaced = os.path.expandvars(path)
    if variable := VARIABLE.search(replaced):
        raise UserError(f"'{path}': the variable {variable[0]} is not set. Set it, or write the path out.")
    if not replaced.startswith("~"):
        return replaced
    try:
        return str(Path(replaced).expanduser())
    except RuntimeError as error:
        raise UserError(
            f"'{path}': the home folder of {replaced.partition('/')[0]} is not known here. Write the path out, or "
            f"./{path} for a folder of this name."
        ) from error


def located(path: str | Path, root: Path = Path()) -> Path:
    """Return the path of a file, folder or pattern in the working directory, or else in the folder of the workflow."""
    is_only_in_workflow = not Path(path).is_absolute() and not _is_in(root, path) and _is_in(WORKFLOW, path)
    return WORKFLOW / path if is_only_in_workflow else root / path


def _is_in(folder: Path, path: str | Path) -> bool:
    return (folder / path).exists() or (has_magic(str(path)) and any(True for _ in folder.glob(str(path))))


@dataclass(frozen=True, order=True)
class Run:
    """One run: a benchmark's questions put to a model with one protocol, on frames of one sampling."""

    benchmark: str
    protocol: str
    sampling: str
    model: str

    @classmethod
    def parse(cls, name: str) -> "Run":
        parts = name.split("/")
        if len(parts) != 4 or not all(parts):
            raise UserError(f"'{name}' does not name a run. A run is named {RUN_NAME}.")
        return cls(*parts)

    @property
    def name(self) -> str:
        return f"{self.benchmark}/{self.protocol}/{self.sampling}/{self.model}"


@dataclass(frozen=True, order=True)
class Scored:
    """The scores of a run, by its answer extraction or by a judge."""

    run: Run
    judge: str = ""

    @property
    def name(self) -> str:
        return f"{self.run.name}/{self.judge}" if self.judge else self.run.name


def table_file(benchmark: str, table: str, kind: str) -> Path:
    """Return the file of a table of one paper; `table` is `table<N>`."""
    return TABLES / benchmark / f"{table}.{kind}"


def figure_file(benchmark: str, figure: str, kind: str) -> Path:
    """Return the file of a figure of one paper; `figure` is `fig<N>` or `own_<name>`."""
    return FIGURES / benchmark / f"{figure}.{kind}"


def report_files() -> tuple[Path, Path]:
    return REPORT / "index.html", REPORT / "manifest.json"


def reproduction_file(kind: str) -> Path:
    return RESULTS / f"{REPRODUCTION}.{kind}"


def collected_table_file(table: str, kind: str) -> Path:
    return TABLES / f"{table}.{kind}"


def overview_file(kind: str) -> Path:
    return TABLES / f"{OVERVIEW}.{kind}"


def agreement_file(kind: str) -> Path:
    return TABLES / f"{JUDGES}.{kind}"


def time_file(model: str, kind: str) -> Path:
    """Return the file of the temporal profile of a model, or of `all` models side by side."""
    return TIME / f"{model}.{kind}"


def settings_name(*parts: str) -> str:
    """Return the name of a job's settings: the parts of its result's name, joined by slashes."""
    return "/".join(parts)


def judge_settings_name(benchmark: str, protocol: str, judge: str) -> str:
    return settings_name("judges", benchmark, protocol, judge)


@dataclass(frozen=True)
class Results:
    suite: str
    root: Path = RESULTS

    @classmethod
    def of_all_suites(cls, root: Path = RESULTS) -> "list[Results]":
        """Return the results of all suites that have fetched videos."""
        folders = [*root.glob("*/sources"), *root.glob("*/construction/*/sources")]
        return [cls(name, root) for name in sorted({path.relative_to(root).parts[0] for path in folders})]

    @property
    def folder(self) -> Path:
        return self.root / self.suite

    def log(self, *names: str) -> Path:
        return self.folder.joinpath("logs", *names[:-1], f"{names[-1]}.log")

    def logs(self) -> Iterator[Path]:
        return (path for path in sorted((self.folder / "logs").rglob("*.log")) if not path.name.endswith(".server.log"))

    # Data

    def release(self, benchmark: str) -> Path:
        return self.folder / "release" / benchmark / "files.json"

    def items(self, benchmark: str) -> Path:
        return self.folder / "annotations" / benchmark / "items.parquet"

    def statistics(self, benchmark: str) -> Path:
        return self.folder / "statistics" / f"{benchmark}.parquet"

    def requests(self, benchmark: str, protocol: str) -> Path:
        return self.folder / "requests" / benchmark / f"{protocol}.parquet"

    def ledger(self, stage: Ledger, benchmark: str, shard: int | str) -> Path:
        return self.folder / stage / benchmark / f"{shard}.parquet"

    def found_ledgers(self, stage: Ledger) -> Iterator[tuple[str, int, Path]]:
        """Yield benchmark, shard and file of each manifest that exists.

        A benchmark that is constructed from measured clips has two manifests for each shard.
        """
        for pattern, depth in ((f"{stage}/*/*.parquet", 0), (f"construction/*/{stage}/*.parquet", 1)):
            for path in sorted(self.folder.glob(pattern)):
                # The temporary file of a running job has a name of another form.
                if path.stem.isdecimal() and path.stem.isascii():
                    yield path.parents[depth].name, int(path.stem), path

    def facts(self, benchmark: str) -> Path:
        return self.folder / "facts" / f"{benchmark}.parquet"

    def frames(self, benchmark: str, sampling: str) -> Path:
        return self.folder / "frames" / benchmark / f"{sampling}.parquet"

    # Construction

    def construction(self, benchmark: str, name: str) -> Path:
        return self.folder / "construction" / benchmark / name

    # Answers

    def weights(self, model: str) -> Path:
        return self.folder / "weights" / f"{model}.json"

    def environment(self, name: str) -> Path:
        return self.folder / "environments" / f"{name}.json"

    def responses(self, run: Run) -> Path:
        return self.folder / "responses" / f"{run.name}.parquet"

    def piece(self, run: Run, piece: str) -> Path:
        return self.folder / "pieces" / run.name / f"{piece}.parquet"

    def timings(self, run: Run) -> Path:
        return self.folder / "responses" / f"{run.name}{TIMINGS}"

    def judge_requests(self, run: Run) -> Path:
        return self.folder / "judge_requests" / f"{run.name}.parquet"

    def judge_responses(self, run: Run, judge: str) -> Path:
        return self.folder / "judge_responses" / run.name / f"{judge}.parquet"

    def import_problems(self, scored: Scored) -> Path:
        """Return the file of problems of a run's imported predictions, or of a judge's imported ratings of it."""
        return self.folder / ("judge_responses" if scored.judge else "responses") / f"{scored.name}{PROBLEMS}"

    def verdicts(self, run: Run, reader: str) -> Path:
        """Return the file of a reader's verdicts on a run's answers; `reader` may be a judge."""
        return self.folder / "verdicts" / run.name / f"{reader}.parquet"

    def name_of(self, path: Path) -> str:
        """Return the run, or the run and its judge, that a file of timings, problems or verdicts belongs to."""
        name = path.relative_to(self.folder).as_posix().partition("/")[2]
        for suffix in (PROBLEMS, TIMINGS, ".parquet"):
            name = name.removesuffix(suffix)
        return name.removesuffix("/robust")

    def metrics(self, scored: Scored) -> Path:
        return self.folder / "metrics" / f"{scored.name}.parquet"


PROFILE, PROFILES, DEFAULT = "--workflow-profile", Path("profiles"), "default"
FILES = ("profile.yaml", "config.yaml")


def options_of(arguments: Sequence[str]) -> dict[str, str]:
    """Return the argument that follows each argument of a call; `--name=value` counts as two."""
    words = [
        word for argument in arguments for word in (argument.split("=", 1) if argument.startswith("--") else [argument])
    ]
    return dict(pairwise(words))


def profile_file(arguments: Sequence[str]) -> Path | None:
    profile = options_of(arguments).get(PROFILE, DEFAULT)
    candidates = [located(profile), located(PROFILES / profile)]
    files = [*candidates, *(folder / name for folder in candidates for name in FILES)]
    return next((path for path in files if path.is_file()), None)


STAGES: tuple[Ledger, ...] = ("sources", "clips")
