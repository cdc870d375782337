"""Reading the configuration of a suite: every problem of every file, reported at once.

A file is looked up in the working directory, then in the workflow's own place. The main settings are put together:
those of the workflow's own file, over them those of the working directory's, over them what a call or a module says.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reprise.config.benchmark import Benchmark
from reprise.config.checks import check
from reprise.config.configuration import EXTERNAL, Configuration, split_name
from reprise.config.figures import Figures
from reprise.config.known import Known
from reprise.config.main import Main
from reprise.config.model import External, Model
from reprise.config.problems import Notes, Problems, unknown_name
from reprise.config.side_packages import module_of, packages_of
from reprise.config.suite import Suite
from reprise.config.tables import Tables
from reprise.config.time import time_problems
from reprise.config.variants import with_limit, with_stand_in
from reprise.core.errors import UserError, utf8_or_escaped
from reprise.core.names import SLUG, SLUG_IN_WORDS
from reprise.core.paths import WORKFLOW, located, places
from reprise.core.settings import Place, dotted, mistakes
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
        path, content = located(file, self.root), None
        try:
            content = self._content(path)
            return kind.model_validate(content)
        except UserError:
            return None
        except ValidationError as error:
            for place, words in mistakes(error, content):
                self._add(file, path, place, words)
            return None

    def _content(self, path: Path) -> Any:
        try:
            return load_yaml(path)
        except UserError as error:
            words = str(error).replace(f"{self.root}/", "")
            is_syntax = ": not valid YAML: " in words and "duplicate key" not in words
            self.problems.add(f"{words} {LOOK_AT_YAML}" if is_syntax else words, "", "")
            raise

    def _add(self, file: str, path: Path | None, place: Place, words: str) -> None:
        """Note what is wrong at a place of a file, or of what is no file."""
        line = f"line {line_of(path, place)}: " if path is not None else ""
        self.problems.add(file, f"{line}{dotted(place)}" if place else "", words)

    def main(self, told: Mapping[str, Any], told_by: str) -> Main | None:
        paths = [path for place in places(self.root) if (path := place / MAIN).is_file()]
        try:
            layers: list[tuple[str, Path | None, Any]] = [(MAIN, path, self._content(path)) for path in paths]
        except UserError:
            return None
        layers.append((told_by, None, told))
        content: Any = {}
        for file, _, said in layers:
            if not isinstance(said, Mapping):
                self.problems.add(file, "", "should be a group of keys.")
                return None
            content |= {key: _over(content.get(key), value) for key, value in said.items()}
        try:
            return Main.model_validate(content)
        except ValidationError as error:
            for place, words in mistakes(error, content):
                saying = [one for one in layers if place and place[0] in one[2]]
                self._add(*(saying or layers[:1])[-1][:2], place, words)
            return None

    def names(self, folder: str) -> list[str]:
        """The names that the files of a folder define; an invalid name is a problem."""
        stems = sorted({path.stem for place in places(self.root) for path in (place / folder).glob("*.yaml")})
        for stem in stems:
            if not re.fullmatch(SLUG, stem):
                self.problems.add(f"{folder}/{stem}.yaml", "", f"'{stem}' cannot be a name. Allowed: {SLUG_IN_WORDS}.")
        return [stem for stem in stems if re.fullmatch(SLUG, stem)]

    def external(self) -> dict[str, Model | None]:
        """The models that one file lists, because their answers were made elsewhere."""
        path = located(EXTERNAL, self.root)
        listed = self.read(External, EXTERNAL) if path.is_file() else External({})
        if listed is None:  # what it would define
            text = path.read_text(encoding="utf-8", errors="replace")
            return dict.fromkeys(re.findall(rf"^({SLUG}) *:", text, re.MULTILINE))
        return dict(listed.models())

    def benchmarks(self, suite: Suite, suite_file: str) -> dict[str, Benchmark | None]:
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
            is_there = file is not None and notes.check_file(file, self.root, f"config/{key}")
            if is_there and (value := self.read(kind, file)) is not None:
                found[name] = value
        return found


def load(root: Path, told: Mapping[str, Any] | None = None, told_by: str = "--config") -> Configuration:
    """Read the whole configuration of the chosen suite, or end with one error that lists every problem.

    `told` are main settings that are in no file, by whom they are told.
    """
    folder = utf8_or_escaped(str(root.absolute()))
    if folder != str(root.absolute()):
        raise UserError(
            f"{folder}: the name of the working directory is not UTF-8, and results name it. Rename it, or work in "
            "another folder."
        )
    if not located(MAIN, root).is_file():
        raise UserError(
            f"{MAIN}: no such file in {root.absolute()}, and none in {WORKFLOW}, where the library is. "
            "Set the environment up in a clone of the project, by `make setup`."
        )
    files = _ConfigFiles(root)
    problems, main = files.problems, files.main(told or {}, told_by)
    own = {name: files.read(Model, f"config/models/{name}.yaml") for name in files.names("config/models")}
    external = files.external()
    for slug in sorted(set(own) & set(external)):
        problems.add(EXTERNAL, slug, f"config/models/{slug}.yaml defines this model too. Remove one of the two.")
    models = external | own
    suites = files.names("config/suites")
    if main is None:
        raise problems.error()
    name, limit = (main.suite, None) if main.suite in suites else split_name(main.suite)
    for reason in unknown_name("suite", name, suites):
        file = told_by if "suite" in (told or {}) else MAIN
        problems.add(file, "suite", f"{reason} These are the files in config/suites/.")
    suite_file = f"config/suites/{name}.yaml"
    suite = files.read(Suite, suite_file) if name in suites else None
    if suite is None:
        raise problems.error()
    benchmarks = files.benchmarks(suite, suite_file)
    found = Configuration(
        name=main.suite,
        limit=limit,
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
    if not problems:  # it asks what the overview says, which must be right
        Notes(problems, suite_file, "time").say(*time_problems(found))
    if problems:
        raise problems.error()
    found = with_stand_in(found)
    for package in packages_of(suite.benchmarks.values()):
        found = module_of(package, "configuration").completed(found)
    return with_limit(found)


def _over(below: Any, value: Any) -> Any:
    """A setting over one below it; of two groups of names, such as samplings, all names."""
    return {**below, **value} if isinstance(below, Mapping) and isinstance(value, Mapping) else value
