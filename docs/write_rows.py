"""Write docs/reference/rows.md: which rows of the papers' tables run here, and which need imported predictions."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from reprise.config.configuration import Configuration
from reprise.config.load import load
from reprise.config.model import Model
from reprise.config.tables import Row, TableSpec

PAGE = "docs/reference/rows.md"
HEAD = """# Rows that can run here

The tables of the four papers have rows of many models. This page says which of these models Reprise can run itself.
`make reference` writes it from the tables of the suite `paper`. Rows of the other models need
[imported predictions](../howto/import-answers.md); without them, they show published values. You can also query a model
on [a server](../howto/servers.md) or [at a vendor](../howto/vendors.md).

**No row has been run with real weights.** Four families ran with random weights [on a GPU](gpu-results.md). The tests
use tiny checkpoints with random weights:

- Models of the adapter `transformers` are compared with a direct use of transformers ([which
  classes](inference.md#classes-that-were-tried)).
- [Model runners](../howto/servers.md#a-model-runner-that-the-job-starts) are compared with the demonstrations of their
  authors' code.
- vLLM was tested with a toy checkpoint of a class that is not in these tables.

The first table counts the rows by what they need:
"""


MODEL_COUNTS = (
    "The number after a model's name is the number of rows that show it. The column GPUs gives `gpus:` of the model's\n"
    "file, which is the largest number that a job uses ([placement](models.md#gpus)).\n"
)
CLOSED = (
    *("claude-3-opus", "claude-3.5-sonnet", "gemini-1.0-pro", "gemini-1.5-flash", "gemini-1.5-pro", "gemini-2.5-flash"),
    *("gemini-2.5-pro", "gpt-4.1", "gpt-4o", "gpt-4v", "o3", "o4-mini"),
)
NO_CODE = "the model's code is only on the Hugging Face hub, beside its weights, and we did not have it"
# The reason why a model needs imported predictions.
REASONS = {
    **dict.fromkeys(CLOSED, "closed model"),
    **dict.fromkeys(("apollo-7b", "internlm-xc-2.5", "internvideo2.5-8b"), NO_CODE),
    "humans": "human annotators",
    "m3": "Vinoground's authors do not say how it received six frames, and with how many tokens",
    "qwen-vl-chat": NO_CODE,
    "videostreaming": "we found no repository with the model's code",
    "vifi-clip": "its checkpoint is not a complete model ([details](../benchmarks/velociti.md))",
}


class Kind(NamedTuple):
    """How the numbers of a row are produced."""

    title: str
    gpus: int = 0


DATA, CHANCE = Kind("no model: counts of the data"), Kind("no model: random guessing")
FILES, SOME_FILES = Kind("imported predictions"), Kind("imported predictions in some columns")


def rows_of(spec: TableSpec) -> Iterator[tuple[Row, set[str]]]:
    """Yield the rows of a table, each with the models that its columns show."""
    for row in spec.rows():
        slugs = {row.for_column(column).model for column in spec.columns}
        yield row, {model for model in slugs if model is not None}


def kind_of(row: Row, models: set[str], config: Configuration) -> Kind:
    """Return how Reprise can produce a row whose columns show these models."""
    if row.chance:
        return CHANCE
    if row.dataset:
        return DATA
    imported = {slug for slug in models if config.models[slug].adapter == "import"}
    if imported:
        return FILES if imported == models else SOME_FILES
    gpus = max(config.models[slug].gpus for slug in models)
    return Kind(f"a model that runs here on {gpus} GPU{'s' * (gpus != 1)}", gpus)


def kinds(config: Configuration) -> dict[Kind, Counter[str]]:
    """Return kind -> benchmark -> number of rows; models that run here come first, by their number of GPUs."""
    counts: dict[Kind, Counter[str]] = defaultdict(Counter)
    for benchmark, tables in config.tables.items():
        for spec in tables.tables.values():
            for row, models in rows_of(spec):
                counts[kind_of(row, models, config)][benchmark] += 1
    order = sorted(counts, key=lambda kind: (kind in (DATA, CHANCE), not kind.gpus, kind.gpus))
    return {kind: counts[kind] for kind in order}


def count_table(counts_by_kind: Mapping[Kind, Counter[str]], config: Configuration) -> Iterator[str]:
    """Yield the table of kinds."""
    names = list(config.tables)
    yield f"| what the rows need | {' | '.join(config.benchmarks[name].title for name in names)} | all |"
    yield "|---|" + " --: |" * (len(names) + 1)
    for kind, counts in counts_by_kind.items():
        yield f"| {kind.title} | {' | '.join(str(counts[name]) for name in names)} | {counts.total()} |"
    totals = sum(counts_by_kind.values(), Counter())
    yield f"| all | {' | '.join(str(totals[name]) for name in names)} | {totals.total()} |"


def model_rows(config: Configuration, imported: bool) -> Iterator[str]:
    """Yield the lines of a table of models, each model with the number of its rows.

    A line has the models with the same adapter and GPUs or, with `imported`, those that need imports for one reason.
    """
    counts: Counter[str] = Counter()  # model -> number of rows that show it
    for tables in config.tables.values():
        for spec in tables.tables.values():
            for row, row_models in rows_of(spec):
                counts.update(() if row.chance or row.dataset else row_models)
    models_by_group: dict[str, list[str]] = defaultdict(list)
    for slug in sorted(counts, key=lambda slug: (-counts[slug], slug)):
        model = config.models[slug]
        if (model.adapter == "import") == imported:
            group = REASONS[slug] if imported else f"{adapter_of(model)} | {model.gpus}"
            models_by_group[group].append(f"`{slug}` {counts[slug]}")
    for group, models in models_by_group.items() if imported else sorted(models_by_group.items()):
        yield f"| {group} | {', '.join(models)} |"


def adapter_of(model: Model) -> str:
    """Return the adapter, with the server that runs the model if there is one."""
    return f"{model.adapter}, {model.served_by.engine}" if model.served_by else model.adapter


def page(root: Path) -> str:
    """Return the page."""
    config = load(root, {"suite": "paper"})
    local_models = [
        "| adapter (and engine of the server that the job starts) | GPUs | models |",
        "|---|---|---|",
        *model_rows(config, False),
    ]
    imported_models = ["| reason why they cannot run here | models |", "|---|---|", *model_rows(config, True)]
    parts = [HEAD, *count_table(kinds(config), config), "\n## Models that run here\n", MODEL_COUNTS, *local_models]
    return "\n".join([*parts, "\n## Models with imported predictions\n", *imported_models]) + "\n"
