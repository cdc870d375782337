"""The key of the verdicts on reproduced numbers: how tables are called, who judges, and what each run was made with."""

from collections.abc import Iterator

from reprise.core.paths import Run
from reprise.models.adapters import ADAPTERS
from reprise.plan.runs import Plan
from reprise.tables.keys import ReproductionKey, Title


def reproduction_key(plan: Plan) -> ReproductionKey:
    """The key, without the digest of its code."""
    config, suite = plan.config, plan.config.suite
    tables = {f"{benchmark}/{table}": (benchmark, table, spec) for benchmark, table, spec in plan.tables()}
    judges = {judge for benchmark in config.benchmarks for judge in plan.judges_of(benchmark)}
    return ReproductionKey(
        suite=config.name,
        suite_title=suite.title,
        notice=suite.notice,
        confidence=config.main.confidence,
        titles=tuple(
            Title(
                table=name,
                paper=config.benchmarks[benchmark].title,
                number=f"Table {table.removeprefix('table')}",
                title=spec.title,
            )
            for name, (benchmark, table, spec) in tables.items()
        ),
        judges_of_paper={name: spec.judge for name, (*_, spec) in tables.items() if spec.judge},
        judges={judge: config.models[judge].label for judge in sorted(judges)},
        conditions={run.name: tuple(_conditions(plan, run)) for run in plan.runs()},
    )


def _conditions(plan: Plan, run: Run) -> Iterator[str]:
    """What a run was made with, as far as papers may differ in it."""
    yield f"protocol {run.protocol}"
    yield f"frames {run.sampling}"
    model = plan.config.models[run.model]
    if run.model in plan.imports.models:
        return
    if model.repo:
        yield f"revision {str(model.revision)[:12]}"
    if ADAPTERS[model.adapter].needs_weights:
        yield f"weights in {model.dtype if model.dtype != 'checkpoint' else 'the type of the checkpoint'}"
    if how := model.settings.get("quantised"):
        yield f"quantised: {how}"
