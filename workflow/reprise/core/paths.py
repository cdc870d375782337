"""Names of runs, lookup of files, and all paths under `results/`, which the rules contain as patterns."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import has_magic
from itertools import pairwise
from pathlib import Path
from typing import Literal

from reprise.core.errors import UserError
from reprise.core.files import MAX_NAME_BYTES

_LIBRARY = Path(__file__).resolve().parents[1]
_PACKAGED = _LIBRARY / "project"  # An installed package has this folder (setup.py), a clone has not.
WORKFLOW = _PACKAGED if _PACKAGED.is_dir() else _LIBRARY.parents[1]  # The folder of the Snakefile.
RESULTS = Path("results")
TABLES = RESULTS / "tables"
FIGURES = RESULTS / "figures"
PDFS = TABLES / "tables.pdf", RESULTS / "suite.pdf"  # Copies of all tables in one document.
RUN_NAME = "<benchmark>/<protocol>/<sampling>/<model>"
# Suffixes of the files with the problems of imported predictions and with the timings of a run.
PROBLEMS = ".problems.csv"
TIMINGS = ".timings.parquet"
REPORT = RESULTS / "report"
TEMPORAL = RESULTS / "temporal"
ALL = "all"  # Name of the temporal profile of all models.
MAX_QUOTED_CHARS = 60
OVERVIEW = "overview"
JUDGES = "judges"  # Name of the table of the agreement of judges.
REPRODUCTION = "reproduction"
READABLE_FORMATS = ("tex", "md", "html")  # Formats of tables for humans.
ManifestKind = Literal["sources", "clips"]
MANIFEST_KINDS: tuple[ManifestKind, ...] = ("sources", "clips")


def working_folders(root: Path = Path()) -> list[Path]:
    """Return the folders in which files are looked up, each once; a later folder takes precedence."""
    return [WORKFLOW] if root.resolve() == WORKFLOW else [WORKFLOW, root]


URL = re.compile(r"[A-Za-z][A-Za-z0-9+.@-]+:/")
VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[^}]*\})")
MAX_PATH_BYTES = 4000  # The limit of common file systems, in bytes.


def find_path_problem(path: str) -> str | None:
    """Return why a text cannot be a path on this machine; None if it can."""
    if not path.strip():
        return "should be a path, found an empty text."
    if URL.match(path):
        return f"'{path}' is a URL. Use a path on this machine; mount remote files first."
    if "\0" in path:
        return f"{path!r}: a path cannot contain a NUL character. Remove it."
    name = path.encode("utf-8", errors="surrogatepass")
    if name != path.encode("utf-8", errors="replace"):
        return f"{path!r}: should be a path in UTF-8. Rename the file or folder."
    if len(name) > MAX_PATH_BYTES or any(len(part) > MAX_NAME_BYTES for part in name.split(b"/")):
        return f"'{path[:MAX_QUOTED_CHARS]}...' is longer than a path can be."
    if any("**" in part and part != "**" for part in path.split("/")):
        return f"'{path}' is not a pattern: `**` stands alone between slashes. Write `*` within a name."
    return None


def find_pattern_problem(pattern: str) -> str | None:
    """Return why a text cannot be a glob pattern of files inside a folder; None if it can."""
    parts = Path(pattern).parts
    if not parts or Path(pattern).is_absolute() or ".." in parts:
        return f"'{pattern}' should be a pattern of files inside the folder, such as '*.csv'."
    return find_path_problem(pattern)


def expand_path(path: str) -> str:
    """Return a path with `~` and variables replaced.

    Raises:
        UserError: A variable is not set, or a home folder is unknown.
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


def locate(path: str | Path, root: Path = Path()) -> Path:
    """Return the path of a file, folder or pattern: in the workflow if it exists only there, else in `root`."""
    is_only_in_workflow = not Path(path).is_absolute() and not _has_match(root, path) and _has_match(WORKFLOW, path)
    return WORKFLOW / path if is_only_in_workflow else root / path


def name_input(path: Path) -> str:
    """Return the name of an input in a provenance: its path, without the folder of the workflow."""
    return str(path.relative_to(WORKFLOW) if path.is_relative_to(WORKFLOW) else path)


def find_input(name: str) -> Path:
    """Return the path of the input with this name in a provenance; results are only in the working directory."""
    path = Path(name)
    return path if path.parts[:1] == RESULTS.parts else locate(path)


def _has_match(folder: Path, path: str | Path) -> bool:
    return (folder / path).exists() or (has_magic(str(path)) and any(True for _ in folder.glob(str(path))))


@dataclass(frozen=True, order=True)
class Run:
    """One run: the responses of a model to a benchmark under one protocol and one sampling."""

    benchmark: str
    protocol: str
    sampling: str
    model: str

    @classmethod
    def parse(cls, name: str) -> "Run":
        """Return the run with this name; raise a UserError for a text that is not the name of a run."""
        parts = name.split("/")
        if len(parts) != 4 or not all(parts):
            raise UserError(f"'{name}' is not the name of a run. Runs are named {RUN_NAME}.")
        return cls(*parts)

    @property
    def name(self) -> str:
        return f"{self.benchmark}/{self.protocol}/{self.sampling}/{self.model}"


@dataclass(frozen=True, order=True)
class ScoredRun:
    """A run with the judge whose verdicts are scored; without a judge, those of the answer extraction are scored."""

    run: Run
    judge: str = ""

    @property
    def name(self) -> str:
        return f"{self.run.name}/{self.judge}" if self.judge else self.run.name


def table_file(benchmark: str, table: str, file_format: str) -> Path:
    """Return the file of a table of one paper; `table` is `table<N>`."""
    return TABLES / benchmark / f"{table}.{file_format}"


def figure_file(benchmark: str, figure: str, file_format: str) -> Path:
    """Return the file of a figure of one paper; `figure` is `fig<N>` or `own_<name>`."""
    return FIGURES / benchmark / f"{figure}.{file_format}"


def report_files() -> tuple[Path, Path]:
    return REPORT / "index.html", REPORT / "manifest.json"


def reproduction_file(file_format: str) -> Path:
    return RESULTS / f"{REPRODUCTION}.{file_format}"


def collected_table_file(table: str, file_format: str) -> Path:
    """Return the file that collects the tables of all papers with this number; `table` is `table<N>`."""
    return TABLES / f"{table}.{file_format}"


def overview_file(file_format: str) -> Path:
    return TABLES / f"{OVERVIEW}.{file_format}"


def agreement_file(file_format: str) -> Path:
    """Return the file of the table of the agreement of judges."""
    return TABLES / f"{JUDGES}.{file_format}"


def temporal_file(model: str, file_format: str) -> Path:
    """Return the file of the temporal profile of a model, or of `all` models side by side."""
    return TEMPORAL / f"{model}.{file_format}"


def settings_name(*parts: str) -> str:
    """Return the name of a job's settings: the parts of the result's name, joined by slashes."""
    return "/".join(parts)


def judge_settings_name(benchmark: str, protocol: str, judge: str) -> str:
    return settings_name("judges", benchmark, protocol, judge)


@dataclass(frozen=True)
class Results:
    """Paths of the results of one suite."""

    suite: str
    root: Path = RESULTS

    @classmethod
    def list_all(cls, root: Path = RESULTS) -> "list[Results]":
        """Return the results of all suites with fetched videos."""
        folders = [*root.glob("*/sources"), *root.glob("*/construction/*/sources")]
        return [cls(name, root) for name in sorted({path.relative_to(root).parts[0] for path in folders})]

    @property
    def folder(self) -> Path:
        return self.root / self.suite

    def log(self, *parts: str) -> Path:
        """Return the log of a job; `parts` are the parts of its path in the folder of logs."""
        return self.folder.joinpath("logs", *parts[:-1], f"{parts[-1]}.log")

    def logs(self) -> Iterator[Path]:
        """Yield the logs of the jobs, without those of the servers that jobs start."""
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

    def manifest(self, kind: ManifestKind, benchmark: str, shard: int | str) -> Path:
        return self.folder / kind / benchmark / f"{shard}.parquet"

    def existing_manifests(self, kind: ManifestKind) -> Iterator[tuple[str, int, Path]]:
        """Yield benchmark, shard and file of each manifest that exists.

        A benchmark that is constructed from measured clips has two manifests for each shard.
        """
        # The depth is the index in `path.parents` of the folder that has the name of the benchmark.
        for pattern, depth in ((f"{kind}/*/*.parquet", 0), (f"construction/*/{kind}/*.parquet", 1)):
            for path in sorted(self.folder.glob(pattern)):
                # Temporary files of running jobs have other names.
                if path.stem.isdecimal() and path.stem.isascii():
                    yield path.parents[depth].name, int(path.stem), path

    def clip_metadata(self, benchmark: str) -> Path:
        return self.folder / "clip_metadata" / f"{benchmark}.parquet"

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

    def partition(self, run: Run, partition: str) -> Path:
        return self.folder / "partitions" / run.name / f"{partition}.parquet"

    def timings(self, run: Run) -> Path:
        return self.folder / "responses" / f"{run.name}{TIMINGS}"

    def judge_requests(self, run: Run) -> Path:
        return self.folder / "judge_requests" / f"{run.name}.parquet"

    def judge_responses(self, run: Run, judge: str) -> Path:
        return self.folder / "judge_responses" / run.name / f"{judge}.parquet"

    def import_problems(self, scored: ScoredRun) -> Path:
        """Return the file of problems of a run's imported predictions, or of a judge's imported ratings of it."""
        return self.folder / ("judge_responses" if scored.judge else "responses") / f"{scored.name}{PROBLEMS}"

    def verdicts(self, run: Run, extractor: str) -> Path:
        """Return the file of an extractor's verdicts on a run's responses; `extractor` may be a judge."""
        return self.folder / "verdicts" / run.name / f"{extractor}.parquet"

    def get_run_name(self, path: Path) -> str:
        """Return the name of the run, or scored run, of a file of timings, problems or verdicts.

        Verdicts without a judge are those of extractor `robust`.
        """
        name = path.relative_to(self.folder).as_posix().partition("/")[2]
        for suffix in (PROBLEMS, TIMINGS, ".parquet"):
            name = name.removesuffix(suffix)
        return name.removesuffix("/robust")

    def metrics(self, scored: ScoredRun) -> Path:
        return self.folder / "metrics" / f"{scored.name}.parquet"


PROFILE_OPTION, PROFILES_FOLDER, DEFAULT_PROFILE = "--workflow-profile", Path("profiles"), "default"
PROFILE_FILES = ("profile.yaml", "config.yaml")


def parse_option_values(arguments: Sequence[str]) -> dict[str, str]:
    """Map each argument of a call to the argument after it, so that an option has its value.

    `--name=value` counts as two arguments. Arguments that are no options are mapped too, and callers ignore them.
    """
    words: list[str] = []
    for argument in arguments:
        words += argument.split("=", 1) if argument.startswith("--") else [argument]
    return dict(pairwise(words))


def find_profile_file(arguments: Sequence[str]) -> Path | None:
    """Return the file of the workflow profile that a call of Snakemake selects, or of the default one; None if missing.

    As in Snakemake, a profile is a file, a folder, or the name of either in `profiles/`.
    """
    profile = parse_option_values(arguments).get(PROFILE_OPTION, DEFAULT_PROFILE)
    candidates = [locate(profile), locate(PROFILES_FOLDER / profile)]
    files = [*candidates, *(folder / name for folder in candidates for name in PROFILE_FILES)]
    return next((path for path in files if path.is_file()), None)
