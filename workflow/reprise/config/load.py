"""Read the configuration of a suite and report the problems of all files at once.

A file is looked up in the working directory, then in the workflow's own folder. The main settings are merged:
`config/config.yaml` of the working directory overrides the workflow's own one, and `overrides` override both.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reprise.config.benchmark import Benchmark
from reprise.config.checks import check
from reprise.config.configuration import EXTERNAL, Configuration, split_name
from reprise.config.figures import Figures
from reprise.config.main import Main
from reprise.config.model import External, Model
from reprise.config.name_checks import NameChecks
from reprise.config.problems import ProblemCollector, ProblemNotes, find_unknown_name
from reprise.config.side_packages import list_packages, load_module
from reprise.config.single_frame_probe import add_probe_transforms, probe_problems
from reprise.config.suite import Suite
from reprise.config.tables import Tables
from reprise.config.temporal import temporal_problems
from reprise.config.variants import describe_limit, distinguish_labels, replace_models_by_baseline, select_benchmarks
from reprise.core.errors import UserError, utf8_or_escaped
from reprise.core.log import log
from reprise.core.names import SLUG, SLUG_DESCRIPTION
from reprise.core.paths import WORKFLOW, locate, working_folders
from reprise.core.settings import Location, describe_errors, format_location
from reprise.core.yaml_files import find_line, load_yaml

T = TypeVar("T", bound=BaseModel)

MAIN = "config/config.yaml"
YAML_HINT = "Look at this line and the one before it: indentation (spaces only), `key: value`, quotes, brackets."


class _ConfigFiles:
    """Reader of configuration files that collects the problems of all files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.problems = ProblemCollector()

    def read_file(self, kind: type[T], file: str) -> T | None:
        """Return the content of a file; if it is invalid, note its problems and return None."""
        path, content = locate(file, self.root), None
        try:
            content = self._load_content(path)
            return kind.model_validate(content)
        except UserError:
            return None
        except ValidationError as error:
            for location, message in describe_errors(error, content):
                self._add_problem(file, path, location, message)
            return None

    def _load_content(self, path: Path) -> Any:
        """Return the content of a YAML file; if it cannot be parsed, note the problem and raise the error again."""
        try:
            return load_yaml(path)
        except UserError as error:
            message = str(error).replace(f"{self.root}/", "")
            is_syntax = ": not valid YAML: " in message and "duplicate key" not in message
            # The message already names the file, the line and the reason.
            self.problems.add(f"{message} {YAML_HINT}" if is_syntax else message, "", "")
            raise

    def _add_problem(self, file: str, path: Path | None, location: Location, message: str) -> None:
        """Add a problem at a location of a file, or of settings without a file."""
        line = f"line {find_line(path, location)}: " if path is not None else ""
        self.problems.add(file, f"{line}{format_location(location)}" if location else "", message)

    def read_main(self, overrides: Mapping[str, Any], source: str) -> Main | None:
        """Return the main settings, merged from the workflow's file, the working directory's file and the overrides.

        If they are invalid, note the problems and return None. `source` names the overrides.
        """
        paths = [path for folder in working_folders(self.root) if (path := folder / MAIN).is_file()]
        try:
            # Name in messages, path and settings of each layer; a later layer overrides an earlier one.
            layers: list[tuple[str, Path | None, Any]] = [(MAIN, path, self._load_content(path)) for path in paths]
        except UserError:
            return None
        layers.append((source, None, overrides))
        merged_content: Any = {}
        for file, _, settings in layers:
            if not isinstance(settings, Mapping):
                self.problems.add(file, "", "should be a group of keys.")
                return None
            merged_content |= {key: _merge_setting(merged_content.get(key), value) for key, value in settings.items()}
        try:
            return Main.model_validate(merged_content)
        except ValidationError as error:
            for location, message in describe_errors(error, merged_content):
                # The last layer that has the key set it. A missing key is reported for the first layer.
                origins = [layer for layer in layers if location and location[0] in layer[2]]
                file, origin, _ = origins[-1] if origins else layers[0]
                self._add_problem(file, origin, location, message)
            return None

    def list_names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, and note invalid names."""
        paths = (path for base in working_folders(self.root) for path in (base / folder).glob("*.yaml"))
        stems = sorted({path.stem for path in paths})
        for stem in stems:
            if not re.fullmatch(SLUG, stem):
                self.problems.add(
                    f"{folder}/{stem}.yaml", "", f"'{stem}' cannot be a name. Allowed: {SLUG_DESCRIPTION}."
                )
        return [stem for stem in stems if re.fullmatch(SLUG, stem)]

    def read_external_models(self) -> dict[str, Model | None]:
        """Return slug -> model of `config/external.yaml`; None stands for a model whose entry cannot be read."""
        path = locate(EXTERNAL, self.root)
        external = self.read_file(External, EXTERNAL) if path.is_file() else External({})
        if external is None:  # Names in an unreadable file count as defined.
            text = path.read_text(encoding="utf-8", errors="replace")
            return dict.fromkeys(re.findall(rf"^({SLUG}) *:", text, re.MULTILINE))
        return dict(external.models())

    def read_benchmarks(self, suite: Suite, suite_file: str) -> dict[str, Benchmark | None]:
        """Return name -> settings of the suite's benchmarks; None stands for a missing or invalid file."""
        names = self.list_names("config/benchmarks")
        for name in sorted(suite.benchmarks):
            for reason in find_unknown_name("benchmark", name, names):
                self.problems.add(suite_file, "benchmarks", f"{reason} These are the files in config/benchmarks/.")
        return {
            name: self.read_file(Benchmark, f"config/benchmarks/{name}.yaml") if name in names else None
            for name in suite.benchmarks
        }

    def read_listed_files(self, kind: type[T], key: str, suite: Suite, suite_file: str) -> dict[str, T]:
        """Return benchmark -> content of the file that the suite names under its `key`, such as `tables`."""
        contents = {}
        for name, settings in suite.benchmarks.items():
            file, notes = getattr(settings, key), ProblemNotes(self.problems, suite_file, f"benchmarks.{name}.{key}")
            has_file = file is not None and notes.check_file(file, self.root, f"config/{key}")
            if has_file and (content := self.read_file(kind, file)) is not None:
                contents[name] = content
        return contents


def load(root: Path, overrides: Mapping[str, Any] | None = None, source: str = "--config") -> Configuration:
    """Read and check the whole configuration of the selected suite.

    Args:
        root: Working directory.
        overrides: Main settings that override those of files.
        source: Name of the source of `overrides` in messages.

    Raises:
        UserError: The message lists every problem.
    """
    folder = utf8_or_escaped(str(root.absolute()))
    if folder != str(root.absolute()):
        raise UserError(
            f"{folder}: the path of the working directory is not UTF-8, but results contain it. Rename the directory, "
            "or work in another one."
        )
    if not locate(MAIN, root).is_file():
        raise UserError(
            f"{MAIN}: no such file in {root.absolute()} or in {WORKFLOW}, where the library is. Install Reprise again."
        )
    files = _ConfigFiles(root)
    problems, main = files.problems, files.read_main(overrides or {}, source)
    # Problems of a model's file stop only suites and commands that need the model, so each file has its own reader.
    model_folder = _ConfigFiles(root)
    readers = {name: _ConfigFiles(root) for name in model_folder.list_names("config/models")}
    models_by_file = {name: reader.read_file(Model, f"config/models/{name}.yaml") for name, reader in readers.items()}
    external = files.read_external_models()
    for slug in sorted(set(models_by_file) & set(external)):
        problems.add(EXTERNAL, slug, f"config/models/{slug}.yaml defines this model too. Remove one of the two.")
    models = external | models_by_file
    suites = files.list_names("config/suites")
    if main is None:
        raise problems.error()
    name, limit = (main.suite, None) if main.suite in suites else split_name(main.suite)
    for reason in find_unknown_name("suite", name, suites):
        file = source if "suite" in (overrides or {}) else MAIN
        problems.add(file, "suite", f"{reason} These are the files in config/suites/.")
    suite_file = f"config/suites/{name}.yaml"
    suite = files.read_file(Suite, suite_file) if name in suites else None
    if suite is None:
        raise problems.error()
    benchmarks = files.read_benchmarks(suite, suite_file)
    config = Configuration(
        name=main.suite,
        limit=limit,
        main=main,
        suite=suite,
        benchmarks={name: benchmark for name, benchmark in benchmarks.items() if benchmark},
        tables=files.read_listed_files(Tables, "tables", suite, suite_file),
        figures=files.read_listed_files(Figures, "figures", suite, suite_file),
        models={slug: model for slug, model in models.items() if model},
        external_models=frozenset(external),
        invalid_models={},
    )
    config = add_probe_transforms(config)
    unreadable = {name for name, settings in {**models, **benchmarks}.items() if settings is None}
    name_checks = NameChecks(config, unreadable, root, set())
    check(name_checks, ProblemNotes(problems, suite_file))
    for slug, reader in readers.items():
        if reader.problems and slug in name_checks.checked_models:
            problems.extend(reader.problems)
        elif reader.problems:
            config.invalid_models[slug] = str(reader.problems.error())
    if not problems:  # This check requires a valid overview.
        ProblemNotes(problems, suite_file, "temporal").add(*temporal_problems(config))
        ProblemNotes(problems, suite_file, "single_frame_probe").add(*probe_problems(config))
    if problems:
        raise problems.error()
    for reader in (model_folder, *(readers[slug] for slug in config.invalid_models)):
        if problem_lines := reader.problems.lines():
            more = f" ({len(problem_lines) - 1} more)" if len(problem_lines) > 1 else ""
            _warn_once(f"Warning: this model is left out: {problem_lines[0]}{more}")
    config = replace_models_by_baseline(distinguish_labels(config, name_checks.checked_models))
    if main.benchmarks is not None:
        file = source if "benchmarks" in (overrides or {}) else MAIN
        config = select_benchmarks(config, main.benchmarks, f"{file}: benchmarks")
    for package in list_packages(config.suite.benchmarks.values()):
        config = load_module(package, "configuration").complete(config)
    return describe_limit(config)


@cache
def _warn_once(message: str) -> None:
    """Log a warning once per process; commands load the configuration several times."""
    log.warning(message)


def _merge_setting(base: Any, value: Any) -> Any:
    """Return a setting after an override; a mapping, such as `samplings:`, is merged with its override."""
    return {**base, **value} if isinstance(base, Mapping) and isinstance(value, Mapping) else value
