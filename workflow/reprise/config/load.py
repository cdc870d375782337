"""Reading the configuration: every problem of every file, reported at once."""

import re
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from reprise.config.checks import benchmark_problems, cross_checks
from reprise.config.schema import SLUG, SLUG_IN_WORDS, Benchmark, Configuration, Main, Model, Suite, Tables
from reprise.config.stand_in import stand_in_problems, with_stand_in
from reprise.core.errors import UserError, suggestion

T = TypeVar("T", bound=BaseModel)


class _UniqueKeys(yaml.SafeLoader):
    """A loader that refuses a key said twice, which YAML would let the second one win."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict[Any, Any]:
    seen = set()
    for key, _ in node.value:
        if key.value in seen:
            raise yaml.constructor.ConstructorError(None, None, f"key '{key.value}' is there twice", key.start_mark)
        seen.add(key.value)
    loader.flatten_mapping(node)
    return dict(loader.construct_pairs(node, deep=True))


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load_yaml(path: Path) -> Any:
    """Read one YAML file; a missing or broken one is the user's to mend."""
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=_UniqueKeys)  # a SafeLoader
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file.") from error
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error


class _Reader:
    """Reads files into models and gathers the problems instead of stopping at the first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.problems: list[str] = []

    def model(self, kind: type[T], name: str) -> T | None:
        try:
            return kind.model_validate(load_yaml(self.root / name))
        except UserError as error:
            self.problems.append(str(error).replace(f"{self.root}/", ""))
        except ValidationError as error:
            self.problems += [f"{name}: {_problem(kind, detail)}" for detail in error.errors()]
        return None

    def names(self, folder: str) -> list[str]:
        """The files of a folder by the names that they give; what cannot be a name is a problem."""
        stems = sorted(path.stem for path in (self.root / folder).glob("*.yaml"))
        fitting = [stem for stem in stems if re.fullmatch(SLUG, stem)]
        self.problems += [
            f"{folder}/{stem}.yaml: the file's name is a name, found '{stem}'. Allowed: {SLUG_IN_WORDS}."
            for stem in stems
            if stem not in fitting
        ]
        return fitting


def _problem(kind: type[BaseModel], detail: Any) -> str:
    """One pydantic finding as: dotted key, what was found, what is allowed."""
    parts = [str(part) for part in detail["loc"] if part != "[key]"]
    key = ".".join(part if part.isprintable() else repr(part) for part in parts) or "(whole file)"
    if detail["type"] == "extra_forbidden":
        allowed = _fields_at(kind, detail["loc"][:-1])
        return (
            f"{key}: unknown key.{suggestion(str(detail['loc'][-1]), allowed)} Allowed: {', '.join(sorted(allowed))}."
        )
    if detail["type"] == "missing":
        return f"{key}: missing."
    if detail["type"] == "string_pattern_mismatch" and SLUG in detail["ctx"]["pattern"]:
        shape = detail["ctx"]["pattern"].strip("^$").replace(SLUG, "<name>")
        return f"{key}: should be {shape}, found {detail['input']!r}. Allowed in a name: {SLUG_IN_WORDS}."
    message = detail["msg"].replace("Input should", "should").replace("String should", "should")
    return f"{key}: {message}, found {detail['input']!r}."


def _fields_at(kind: type[BaseModel], place: tuple[Any, ...]) -> list[str]:
    """The keys that may stand at a dotted place of a model."""
    current: Any = kind
    for part in place:
        current = _step(current, part)
    return sorted(current.model_fields) if isinstance(current, type) and issubclass(current, BaseModel) else []


def _step(current: Any, part: Any) -> Any:
    """The annotation one step down: into a field, a container's values, or the member of a union that fits."""
    if isinstance(current, type) and issubclass(current, BaseModel):
        field = current.model_fields.get(str(part))
        return _unwrap(field.annotation, field.discriminator) if field else None
    arguments = getattr(current, "__args__", ())
    models = [a for a in arguments if isinstance(a, type) and issubclass(a, BaseModel)]
    for model in models:
        kind = model.model_fields.get("kind")
        if model.__name__ == part or (kind is not None and part in getattr(kind.annotation, "__args__", ())):
            return model
    return _unwrap(arguments[-1], None) if arguments else None


def _unwrap(annotation: Any, discriminator: Any) -> Any:
    """Strip `Annotated` and `| None`, so that the next step meets a model, a container or a union of models."""
    if hasattr(annotation, "__metadata__"):
        return _unwrap(annotation.__origin__, discriminator)
    arguments = [a for a in getattr(annotation, "__args__", ()) if a is not type(None)]
    is_optional = len(arguments) == 1 and len(getattr(annotation, "__args__", ())) == 2
    return _unwrap(arguments[0], discriminator) if is_optional else annotation


def load(root: Path, overrides: dict[str, Any] | None = None) -> Configuration:
    """Read the whole configuration of the chosen suite, or raise one error that lists every problem."""
    reader = _Reader(root)
    main = reader.model(Main, "config/config.yaml")
    suites = reader.names("config/suites")
    models = {name: reader.model(Model, f"config/models/{name}.yaml") for name in reader.names("config/models")}
    if main is None:
        raise _all_problems(reader.problems)
    main = _override(main, overrides or {})
    if main.suite not in suites:
        reader.problems.append(
            f"config/config.yaml: suite: unknown suite '{main.suite}'.{suggestion(main.suite, suites)} "
            f"Allowed: {', '.join(suites)} (the files in config/suites/)."
        )
        raise _all_problems(reader.problems)
    suite_file = f"config/suites/{main.suite}.yaml"
    suite = reader.model(Suite, suite_file)
    if suite is None:
        raise _all_problems(reader.problems)
    benchmarks = {name: reader.model(Benchmark, f"config/benchmarks/{name}.yaml") for name in suite.benchmarks}
    tables = {name: reader.model(Tables, entry.tables) for name, entry in suite.benchmarks.items()}
    found = Configuration.model_construct(
        name=main.suite,
        main=main,
        suite=suite,
        benchmarks={name: value for name, value in benchmarks.items() if value},
        tables={name: value for name, value in tables.items() if value},
        models={name: value for name, value in models.items() if value},
    )
    problems = reader.problems + cross_checks(found, suite_file) + benchmark_problems(found, root)
    problems += stand_in_problems(found, suite_file)
    if problems:
        raise _all_problems(problems)
    return with_stand_in(found)


def _override(main: Main, overrides: dict[str, Any]) -> Main:
    """Apply what Snakemake's `--config key=value` said."""
    unknown = sorted(set(overrides) - set(Main.model_fields))
    if unknown:
        raise UserError(
            f"--config {unknown[0]}: unknown key.{suggestion(unknown[0], Main.model_fields)} "
            f"Allowed: {', '.join(sorted(Main.model_fields))}."
        )
    try:
        return Main.model_validate(main.model_dump() | overrides)
    except ValidationError as error:
        raise _all_problems([f"--config: {_problem(Main, detail)}" for detail in error.errors()]) from error


def _all_problems(problems: list[str]) -> UserError:
    if len(problems) == 1:
        return UserError(problems[0])
    return UserError(f"{len(problems)} problems in the configuration:\n" + "\n".join(f"  - {p}" for p in problems))
