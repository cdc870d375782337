"""Reading the configuration of a suite: every problem of every file, reported at once."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reprise.config.benchmark import Benchmark
from reprise.config.checks import check
from reprise.config.configuration import EXTERNAL, Configuration
from reprise.config.figures import Figures
from reprise.config.known import Known
from reprise.config.main import Main
from reprise.config.model import External, Model
from reprise.config.problems import Notes, Problems, unknown_name
from reprise.config.stand_in import with_stand_in
from reprise.config.suite import Suite
from reprise.config.tables import Tables
from reprise.config.unfiltered import with_unfiltered
from reprise.core.errors import UserError
from reprise.core.names import SLUG, SLUG_IN_WORDS
from reprise.core.settings import dotted, mistakes
from reprise.core.yaml_files import line_of, load_yaml

T = TypeVar("T", bound=BaseModel)

MAIN = "config/config.yaml"
LOOK_AT_YAML = "Look at this line and the one before it: indentation (spaces only), `key: value`, quotes, brackets."


class _ConfigFiles:
    """Reads files into their types, and notes the problems instead of stopping at the first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.problems = Problems()

    def read(self, kind: type[T], file: str) -> T | None:
        """One file; None if it has problems."""
        try:
            content = load_yaml(self.root / file)
        except UserError as error:
            words = str(error).replace(f"{self.root}/", "")
            is_syntax = ": not valid YAML: " in words and "duplicate key" not in words
            self.problems.add(f"{words} {LOOK_AT_YAML}" if is_syntax else words, "", "")
            return None
        try:
            return kind.model_validate(content)
        except ValidationError as error:
            for place, words in mistakes(error, content):
                line = f"line {line_of(self.root / file, place)}"
                self.problems.add(file, f"{line}: {dotted(place)}" if place else "", words)
            return None

    def names(self, folder: str) -> list[str]:
        """The names that the files of a folder define; an invalid name is a problem."""
        stems = sorted(path.stem for path in (self.root / folder).glob("*.yaml"))
        for stem in stems:
            if not re.fullmatch(SLUG, stem):
                self.problems.add(f"{folder}/{stem}.yaml", "", f"'{stem}' cannot be a name. Allowed: {SLUG_IN_WORDS}.")
        return [stem for stem in stems if re.fullmatch(SLUG, stem)]

    def external(self) -> dict[str, Model | None]:
        """The models that one file lists, because their answers were made elsewhere."""
        path = self.root / EXTERNAL
        if not path.is_file():
            return {}
        listed = self.read(External, EXTERNAL)
        if listed is None:
            return dict.fromkeys(
                re.findall(rf"^({SLUG}) *:", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
            )
        return dict(listed.models())

    def benchmarks(self, suite: Suite, suite_file: str) -> dict[str, Benchmark | None]:
        """The benchmarks of a suite."""
        known = self.names("config/benchmarks")
        for name in sorted(suite.benchmarks):
            for reason in unknown_name("benchmark", name, known):
                self.problems.add(suite_file, "benchmarks", f"{reason} These are the files in config/benchmarks/.")
        return {
            name: self.read(Benchmark, f"config/benchmarks/{name}.yaml") if name in known else None
            for name in suite.benchmarks
        }

    def listed(self, kind: type[T], key: str, suite: Suite, suite_file: str) -> dict[str, T]:
        """The files that the suite's benchmarks name under a key: their tables, or their figures."""
        found = {}
        for name, entry in suite.benchmarks.items():
            file, notes = getattr(entry, key), Notes(self.problems, suite_file, f"benchmarks.{name}.{key}")
            if file is not None and notes.check_file(file, self.root, f"config/{key}"):
                found[name] = self.read(kind, file)
        return {name: value for name, value in found.items() if value is not None}


def load(root: Path, overrides: Mapping[str, Any] | None = None) -> Configuration:
    """Read the whole configuration of the chosen suite, or end with one error that lists every problem."""
    if not (root / MAIN).is_file():
        raise UserError(
            f"{MAIN}: no such file in {root.absolute()}. Run in the project's folder, where the Snakefile is."
        )
    files = _ConfigFiles(root)
    problems = files.problems
    main = files.read(Main, MAIN)
    own = {name: files.read(Model, f"config/models/{name}.yaml") for name in files.names("config/models")}
    external = files.external()
    for slug in sorted(set(own) & set(external)):
        problems.add(EXTERNAL, slug, f"config/models/{slug}.yaml defines this model too. Remove one of the two.")
    models = external | own
    suites = files.names("config/suites")
    if main is not None:
        main = _override(main, overrides or {}, problems)
    for reason in unknown_name("suite", main.suite, suites) if main else ():
        file = "--config" if "suite" in (overrides or {}) else MAIN
        problems.add(file, "suite", f"{reason} These are the files in config/suites/.")
    suite_file = f"config/suites/{main.suite}.yaml" if main else ""
    suite = files.read(Suite, suite_file) if main and main.suite in suites else None
    if main is None or suite is None:
        raise problems.error()
    benchmarks = files.benchmarks(suite, suite_file)
    found = Configuration.model_construct(
        name=main.suite,
        main=main,
        suite=suite,
        benchmarks={name: value for name, value in benchmarks.items() if value},
        tables=files.listed(Tables, "tables", suite, suite_file),
        figures=files.listed(Figures, "figures", suite, suite_file),
        models={name: value for name, value in models.items() if value},
        external=frozenset(external),
    )
    unreadable = {name for name, value in {**models, **benchmarks}.items() if value is None}
    check(Known(found, unreadable, root), Notes(problems, suite_file))
    if problems:
        raise problems.error()
    return with_unfiltered(with_stand_in(found))


def _override(main: Main, overrides: Mapping[str, Any], problems: Problems) -> Main | None:
    """Apply the overrides of Snakemake's `--config key=value`."""
    try:
        return Main.model_validate({**main.model_dump(), **overrides})
    except ValidationError as error:
        for place, words in mistakes(error, overrides):
            problems.add("--config", dotted(place), words)
        return None
