"""`plan`: what a run of snakemake would ask of which models, why, and what that takes; nothing is made."""

import shutil
from collections.abc import Iterable, Sequence
from itertools import chain

from reprise.commands.left import Planned, Questions
from reprise.commands.plan_lines import lines
from reprise.commands.shared import plan_of
from reprise.commands.show import tables_named
from reprise.core.errors import UserError
from reprise.core.paths import RESULTS, Scored
from reprise.core.plain import safe
from reprise.plan.agreement import compared
from reprise.plan.asking import Askings, askings, writings
from reprise.plan.changes import KeyChanges
from reprise.plan.construction import constructed
from reprise.plan.keys import collect_keys, key_texts
from reprise.plan.naming import fitting, listed, nearest
from reprise.plan.runs import Plan
from reprise.plan.states import States
from reprise.plan.targets import asked_by, check_targets


def show_plan(targets: Sequence[str], every: bool, suite: str | None) -> None:
    """Print the runs that ask, those with the most questions first, and the sums."""
    plan = plan_of(suite)
    found, planned = plans(plan, targets)
    width = shutil.get_terminal_size().columns
    print(safe("\n".join(lines(plan, found, planned, suite, width, every=every))))


def plans(plan: Plan, targets: Sequence[str]) -> tuple[Askings, list[Planned]]:
    """What making these targets, or everything, asks, and what that takes."""
    keys = collect_keys(plan)
    numbers = chosen(plan, targets)
    found, changes = askings(plan, States(plan, keys), numbers), KeyChanges(plan.results, key_texts(keys))
    made = set(constructed(plan))  # benchmarks; of named targets those that they are about
    if targets:
        made &= {part for target in targets for part in target.split("/")} | {one.run.benchmark for one in numbers}
    found = found._replace(asked=[*writings(plan, changes, made), *found.asked])
    questions = Questions(plan, keys)
    return found, [questions.planned(asking) for asking in found.asked]


def chosen(plan: Plan, targets: Sequence[str]) -> list[Scored]:
    """The numbers that are meant: of tables, of files that snakemake makes, of runs; all where nothing is named."""
    if not targets:
        return plan.numbers()
    return sorted(set(chain.from_iterable(_meant(plan, target) for target in targets)))


def _meant(plan: Plan, target: str) -> Iterable[Scored]:
    if target.startswith(f"{RESULTS}/"):
        check_targets(plan, [target])
        asked = asked_by(plan, [target])
        shown = [one for one in plan.numbers() if one in asked or Scored(one.run) in asked]
        return [*shown, *(one for one in compared(plan) if one in asked)]
    tables = tables_named(plan, target)
    if tables:
        return chain.from_iterable(plan.table_scored(*table) for table in tables)
    runs = [run.name for run in plan.runs()]
    found = fitting(target, runs)
    if not found:
        known = [f"{benchmark}/{table}" for benchmark, table, _ in plan.tables()]
        raise UserError(
            f"no table and no run '{target}' in suite '{plan.config.name}'.{nearest(target, [*known, *runs])} "
            f"Its tables: {listed(known)}; `python -m reprise runs` lists its runs."
        )
    return [one for one in plan.numbers() if one.run.name in found]
