"""The configuration: what each file may say, and one reading that reports every problem of every file at once."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reprise.adapters import ADAPTERS
from reprise.errors import UserError, suggestion
from reprise.fetch.settings import Route
from reprise.media.settings import ClipSettings, FactSettings
from reprise.sampling import RULES

T = TypeVar("T", bound=BaseModel)
SLUG = r"^[a-z0-9][a-z0-9._-]*$"
Slug = Annotated[str, Field(pattern=SLUG)]


class Strict(BaseModel):
    """A part of the configuration; a key it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Bootstrap(Strict):
    draws: int = Field(2000, ge=100)
    level: float = Field(0.95, gt=0.5, lt=1)
    seed: int = 0


class Main(Strict):
    """config/config.yaml: which suite, and what all suites share."""

    suite: Slug
    store: str = "resources/store"
    bootstrap: Bootstrap = Bootstrap()
    samplings: dict[Slug, dict[str, Any]]


class ReleaseToy(Strict):
    kind: Literal["toyworld"]


class ReleaseFolder(Strict):
    """A folder on this machine in the authors' layout."""

    kind: Literal["folder"]
    path: str


class ReleaseHub(Strict):
    """A Hugging Face data set at a pinned revision."""

    kind: Literal["huggingface"]
    repo: str
    revision: str


Release = Annotated[ReleaseToy | ReleaseFolder | ReleaseHub, Field(discriminator="kind")]


class SubsetFile(Strict):
    """A list of rows that somebody published."""

    file: str


class SubsetDraw(Strict):
    """A seeded draw of this many rows a test."""

    per_test: int = Field(ge=1)
    seed: int = 0


class SuiteBenchmark(Strict):
    tables: str
    release: Release
    clips: Literal["ids", "release"]
    route: Route
    subset: SubsetFile | SubsetDraw | None = None


class Suite(Strict):
    """config/suites/<suite>.yaml: read alone, never merged with another."""

    title: str
    notice: str = ""
    show_published: bool = True
    run: list[Slug | dict[Literal["gpus"], int]]
    budget_usd: float = Field(0, ge=0)
    shards: int = Field(ge=1, le=4096)
    missing_share_max: float = Field(ge=0, le=1)
    encode: ClipSettings = ClipSettings()
    facts: FactSettings = FactSettings()
    benchmarks: dict[Slug, SuiteBenchmark]


class Model(Strict):
    """config/models/<slug>.yaml: one model and all that shapes its answers."""

    label: str
    adapter: str
    checkpoint: str | None = None
    repo: str | None = None
    revision: str | None = None
    gpus: int = Field(0, ge=0)
    memory_mb: int = Field(2000, ge=100)
    threads: int = Field(1, ge=1)
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    attention: Literal["sdpa", "eager", "flash_attention_2"] = "sdpa"
    trust_remote_code: bool = False
    settings: dict[str, Any] = {}


class Protocol(Strict):
    """What a benchmark asks: a form of question, its prompt, and how long the answer may be."""

    form: str
    prompt: str
    ask: Literal["score", "choose", "write"]
    max_tokens: int = Field(1, ge=1)
    reading: Literal["plain", "output_block"] = "plain"
    items: Slug | None = None


class Benchmark(Strict):
    """config/benchmarks/<benchmark>.yaml."""

    title: str
    paper: str
    license: str
    prompts: str
    published: str
    release_files: list[str]
    options: dict[str, str] = {}
    protocols: dict[Slug, Protocol]


class Column(Strict):
    """One column: one metric, or several joined in a cell, of one group of items."""

    title: str
    metrics: list[str] | None = None
    group: str | None = None
    decimals: int = Field(1, ge=0, le=4)
    signed: bool = False
    span: str | None = None
    lower_is_better: bool = False


class Row(Strict):
    """One row: a run, a random guesser (`chance`), the data themselves (`dataset`), or published numbers only."""

    label: str
    model: Slug | None = None
    protocol: Slug | None = None
    sampling: Slug | None = None
    chance: bool = False
    dataset: bool = False
    group: str | None = None
    published: str | None = None
    frames: str | None = None


class Section(Strict):
    """Rows under a title; what it says of protocol, sampling and published labels holds for its rows."""

    title: str | None = None
    protocol: Slug | None = None
    sampling: Slug | None = None
    published_suffix: str = ""
    rows: list[Row] = Field(min_length=1)

    def resolved(self) -> list[Row]:
        return [
            row.model_copy(
                update={
                    "protocol": row.protocol or self.protocol,
                    "sampling": row.sampling or self.sampling,
                    "published": row.published or f"{row.label}{self.published_suffix}",
                }
            )
            for row in self.rows
        ]


class TableSpec(Strict):
    title: str
    caption: str
    metrics: list[str] = []
    columns: list[Column] = Field(min_length=1)
    sections: list[Section] = Field(min_length=1)
    notes: list[str] = []
    best: bool = True

    def rows(self) -> list[Row]:
        """All rows with their sections' settings."""
        return [row for section in self.sections for row in section.resolved()]

    def metrics_of(self, column: Column) -> list[str]:
        return column.metrics or self.metrics


class Tables(Strict):
    """config/tables/<benchmark>.yaml: the rows (runs) and columns (metrics) of every table of a paper."""

    benchmark: Slug
    tables: dict[Annotated[str, Field(pattern=r"^table[0-9]+$")], TableSpec]


class Configuration(BaseModel):
    """Everything that one suite needs, read and checked."""

    model_config = ConfigDict(frozen=True)
    name: str
    main: Main
    suite: Suite
    benchmarks: dict[str, Benchmark]
    tables: dict[str, Tables]
    models: dict[str, Model]


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


def _problem(kind: type[BaseModel], detail: Any) -> str:
    """One pydantic finding as: dotted key, what was found, what is allowed."""
    key = ".".join(str(part) for part in detail["loc"]) or "(whole file)"
    if detail["type"] == "extra_forbidden":
        allowed = _fields_at(kind, detail["loc"][:-1])
        return (
            f"{key}: unknown key.{suggestion(str(detail['loc'][-1]), allowed)} Allowed: {', '.join(sorted(allowed))}."
        )
    if detail["type"] == "missing":
        return f"{key}: missing."
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
    if main is None:
        raise _all_problems(reader.problems)
    main = _override(main, overrides or {})
    suites = sorted(path.stem for path in (root / "config/suites").glob("*.yaml"))
    if main.suite not in suites:
        raise UserError(
            f"config/config.yaml: suite: unknown suite '{main.suite}'.{suggestion(main.suite, suites)} "
            f"Allowed: {', '.join(suites)} (the files in config/suites/)."
        )
    suite_file = f"config/suites/{main.suite}.yaml"
    suite = reader.model(Suite, suite_file)
    if suite is None:
        raise _all_problems(reader.problems)
    benchmarks = {name: reader.model(Benchmark, f"config/benchmarks/{name}.yaml") for name in suite.benchmarks}
    tables = {name: reader.model(Tables, entry.tables) for name, entry in suite.benchmarks.items()}
    models = {
        path.stem: reader.model(Model, f"config/models/{path.name}")
        for path in sorted((root / "config/models").glob("*.yaml"))
    }
    found = Configuration.model_construct(
        name=main.suite,
        main=main,
        suite=suite,
        benchmarks={name: value for name, value in benchmarks.items() if value},
        tables={name: value for name, value in tables.items() if value},
        models={name: value for name, value in models.items() if value},
    )
    problems = reader.problems + _cross_checks(found, suite_file)
    if problems:
        raise _all_problems(problems)
    return found


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


def _cross_checks(found: Configuration, suite_file: str) -> list[str]:
    """What no file can know alone: names that other files define."""
    problems = [
        f"config/config.yaml: samplings.{name}: {reason}"
        for name, rule in found.main.samplings.items()
        for reason in _rule_problems(rule)
    ]
    for slug, model in found.models.items():
        problems += [f"config/models/{slug}.yaml: {reason}" for reason in _model_problems(model)]
    for term in found.suite.run:
        if isinstance(term, str) and term not in {"local", "none", "all", *found.models}:
            allowed = ["local", "none", "all", *sorted(found.models)]
            problems.append(f"{suite_file}: run: unknown model '{term}'.{suggestion(term, allowed)}")
    for name, tables in found.tables.items():
        file = found.suite.benchmarks[name].tables
        if tables.benchmark != name:
            problems.append(f"{file}: benchmark: found '{tables.benchmark}', expected '{name}' as in {suite_file}.")
        for number, spec in tables.tables.items():
            for row in spec.rows():
                problems += [
                    f"{file}: tables.{number}: row '{row.label}': {p}" for p in _row_problems(row, name, found)
                ]
    return problems


def _rule_problems(rule: dict[str, Any]) -> list[str]:
    name = str(rule.get("rule"))
    if name not in RULES:
        return [f"unknown rule '{name}'.{suggestion(name, RULES)} Allowed: {', '.join(sorted(RULES))}."]
    unknown = sorted(set(rule) - RULES[name] - {"rule"})
    missing = sorted(RULES[name] - set(rule) - {"seed"})
    problems = [f"{key}: unknown key.{suggestion(key, RULES[name])}" for key in unknown]
    problems += [f"{key}: missing; rule '{name}' needs it." for key in missing]
    return problems + (_rule_problems(rule["of"]) if isinstance(rule.get("of"), dict) else [])


def _model_problems(model: Model) -> list[str]:
    if model.adapter not in ADAPTERS:
        hint = suggestion(model.adapter, ADAPTERS)
        return [f"adapter: unknown adapter '{model.adapter}'.{hint} Allowed: {', '.join(sorted(ADAPTERS))}."]
    if not ADAPTERS[model.adapter].needs_weights:
        return []
    if (model.checkpoint is None) == (model.repo is None):
        return ["say either checkpoint (a local folder) or repo (a hub id), and not both."]
    if model.repo is not None and model.revision is None:
        return ["revision: missing; write `unpinned` and run `python -m reprise pin` to resolve it."]
    return []


def _row_problems(row: Row, benchmark: str, found: Configuration) -> list[str]:
    if row.model is None:
        return []
    if row.protocol is None or row.sampling is None:
        return ["names a model, so it (or its section) must name a protocol and a sampling too."]
    spec = found.benchmarks.get(benchmark)
    checks = [
        ("model", row.model, list(found.models)),
        ("protocol", row.protocol, list(spec.protocols) if spec else [row.protocol]),
        ("sampling", row.sampling, list(found.main.samplings)),
    ]
    return [
        f"unknown {what} '{value}'.{suggestion(value, allowed)} Allowed: {', '.join(sorted(allowed))}."
        for what, value, allowed in checks
        if value not in allowed
    ]
