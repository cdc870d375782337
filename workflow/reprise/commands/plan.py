"""Command `plan`: list pending inference by model, with reasons and estimated cost, without running anything."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from reprise.benchmarks.rows import grouped
from reprise.commands.left import Planned, Questions
from reprise.commands.shared import call_for, plan_of
from reprise.commands.show import tables_named
from reprise.core.errors import UserError
from reprise.core.paths import RESULTS, Scored
from reprise.core.plain import safe
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.money.prices import Ledger, Used
from reprise.models.local.devices import allowance
from reprise.plan.costs import Sure, data_left, weights_of
from reprise.plan.naming import fitting, listed, nearest
from reprise.plan.runs import Plan
from reprise.plan.states import Askings, States, askings
from reprise.plan.suite import all_settings
from reprise.plan.targets import asked_by, check_targets, compared, ended
from reprise.tables.render.terminal import wrapped

UNKNOWN = "?"
MOST_LINES = 12
GB, MB = 1e9, 1e6
SOURCES: Mapping[Sure, tuple[str, str]] = {
    "itself": ("", "no sign: from questions that the run itself was asked"),
    "benchmark": ("~", "~ from a run of its model on this benchmark"),
    "model": ("~~", "~~ from another run of its model"),
}
UNITS = ((3600, "h"), (60, "min"), (1, "s"))
NUMBERS = "{:>8}{:>9}{:>7}{:>7}{:>9}{:>10}"


def show_plan(targets: Sequence[str], every: bool, suite: str | None) -> None:
    plan = plan_of(suite)
    width = shutil.get_terminal_size().columns
    print(safe("\n".join(lines(plan, *plans(plan, targets), suite, width, every=every))))


def plans(plan: Plan, targets: Sequence[str]) -> tuple[Askings, list[Planned]]:
    settings = all_settings(plan)
    numbers = chosen(plan, targets)
    states = States(plan, settings)
    inference = askings(plan, states, numbers)
    benchmarks = set(plan.config.benchmarks)  # For named targets, only their benchmarks count.
    if targets:
        parts = {part for target in targets for part in target.split("/")}
        benchmarks &= parts | {scored.run.benchmark for scored in numbers}
    package_jobs = [asking for package in plan.packages.values() for asking in package.askings(states, benchmarks)]
    inference = inference._replace(asked=[*package_jobs, *inference.asked])
    questions = Questions(plan, settings)
    return inference, [questions.planned(asking) for asking in inference.asked]


def chosen(plan: Plan, targets: Sequence[str]) -> list[Scored]:
    """Return the scored runs that the targets name (tables, result files or runs); all of them without targets."""
    if not targets:
        return plan.numbers()
    return sorted(set(chain.from_iterable(_matches(plan, target) for target in targets)))


def _matches(plan: Plan, target: str) -> Iterable[Scored]:
    if target.startswith(f"{RESULTS}/"):
        check_targets(plan, [target])
        requested = asked_by(plan, [target])
        matches = [scored for scored in plan.numbers() if scored in requested or Scored(scored.run) in requested]
        return [*matches, *(scored for scored in compared(plan) if scored in requested)]
    tables = tables_named(plan, target)
    if tables:
        return chain.from_iterable(plan.table_scored(*table) for table in tables)
    runs = [run.name for run in plan.runs()]
    matching_runs = fitting(target, runs)
    if not matching_runs:
        table_names = [f"{benchmark}/{table}" for benchmark, table, _ in plan.tables()]
        raise UserError(
            f"no table and no run '{target}' in suite '{plan.config.name}'.{nearest(target, [*table_names, *runs])} "
            f"Its tables: {listed(table_names)}; `python -m reprise runs` lists its runs."
        )
    return [scored for scored in plan.numbers() if scored.run.name in matching_runs]


def lines(
    plan: Plan, inference: Askings, planned: Sequence[Planned], suite: str | None, width: int, *, every: bool
) -> Iterator[str]:
    n_jobs = len(inference.asked)
    summary = f"Suite '{plan.config.name}': {n_jobs} {'run asks' if n_jobs == 1 else 'runs ask'} a model"
    if not (inference.asked or inference.done or inference.counted):
        summary += ": its `run:` selects no model of these tables, so that they show published values only"
    for status, count in (("done", inference.done), ("read and counted anew, without a question", inference.counted)):
        summary += f"; {status}: {count}" if count else ""
    yield from wrapped(f"{summary}.", width)
    if not planned:
        return
    yield f"\n{NUMBERS.format('to ask', 'answered', 'frames', 'tokens', 'rate', 'time')}  run"
    yield from _runs(plan, planned, width, every=every)
    yield ""
    for line in (*_sums(plan, planned), *money(plan, planned), *ended(plan, [run.scored for run in planned]),
                 *_disk(plan, planned), *_legend(plan, planned, suite)):  # fmt: skip
        yield from wrapped(line, width)


# --- runs ------------------------------------------------------------------------------------------------------------


def _runs(plan: Plan, planned: Sequence[Planned], width: int, *, every: bool) -> Iterator[str]:
    """Yield as many runs as the screen holds: models with weights first, sorted by their number of pending requests.

    A heading with the model and the reason for its inference precedes the runs that share them.
    """
    ordered = sorted(planned, key=lambda run: (-(run.questions or 0), run.scored))
    groups = grouped(ordered, lambda run: (run.asking.slug, run.asking.why))
    needs = {slug: _needs(plan, slug) for slug, _ in groups}
    pending = {group: sum(run.questions or 0 for run in members) for group, members in groups.items()}
    entries = []
    for slug, causes in sorted(groups, key=lambda group: (needs[group[0]] is None, -pending[group], group)):
        heading = wrapped(f"{slug}: {'; '.join(causes)}. {needs[slug] or 'It has no weights.'}", width)
        first, *rest = (_run(run, width) for run in groups[slug, causes])
        entries += [[*heading, *first], *rest]
    printed = 0
    for number, entry in enumerate(entries):
        printed += len(entry)
        if number and printed > MOST_LINES and not every:
            yield f"and {len(entries) - number} more: --all lists them"
            return
        yield from entry


def _needs(plan: Plan, slug: str) -> str | None:
    model = plan.config.models[slug]
    weights = weights_of(model, plan.store)
    if weights is None:
        return None
    size = "unknown" if weights.loaded is None else _bytes(weights.loaded)
    if not model.gpus:
        return f"No GPU; weights: {size}."
    room = f", and room for clips, by rule of thumb {_bytes(allowance(weights.loaded))}" if weights.loaded else ""
    return f"{model.gpus} GPU{'s' * (model.gpus > 1)}; memory: weights {size}{room}."


def _run(run: Planned, width: int) -> list[str]:
    """Return the lines of a run without its model, which the heading names; a judge shows the run that it judges."""
    pending = UNKNOWN if run.questions is None else f"{'≤' if run.is_most else ''}{run.questions:,}"
    numbers = NUMBERS.format(
        f"{'*' if run.asking.is_remade else ''}{pending}",
        f"{run.answered:,}",
        short(run.frames),
        short(run.tokens),
        _rate(run.questions / run.time.seconds) if run.questions and run.time and run.time.seconds else UNKNOWN,
        UNKNOWN if run.time is None else f"{SOURCES[run.time.sure][0]}{in_words(run.time.seconds)}",
    )
    name = f"of {run.scored.run.name}" if run.scored.judge else run.scored.run.name.rpartition("/")[0]
    return [f"{numbers}  {name}"] if len(numbers) + 2 + len(name) <= width else [numbers, f"{name:>{width}}"]


# --- sums ------------------------------------------------------------------------------------------------------------


def _sums(plan: Plan, planned: Sequence[Planned]) -> Iterator[str]:
    gpus = [plan.config.models[run.asking.slug].gpus for run in planned]
    parts = []
    for noun, counts in (
        ("questions", [run.questions for run in planned]),
        ("frames", [run.frames for run in planned]),
        ("tokens", [run.tokens for run in planned]),
    ):
        known_counts = [count for count in counts if count is not None]
        text = f"{sum(known_counts):,}" if noun == "questions" else short(sum(known_counts))
        parts.append(f"{noun} {of_known(text, len(known_counts), len(counts))}")
    yield f"In all: {'; '.join(parts)}."
    for title, is_on_gpus in (("GPU time", True), ("Time without a GPU", False)):
        group = [
            (run.time, max(1, count)) for run, count in zip(planned, gpus, strict=True) if bool(count) == is_on_gpus
        ]
        timed = [(time.seconds, count) for time, count in group if time]
        total = sum(seconds * count for seconds, count in timed)
        if group:
            yield f"{title}: {of_known(in_words(total), len(timed), len(group))}."
    if any(run.time is None for run in planned):
        yield (
            "Nothing like the runs of unknown time was timed here. Let one begin, stop it with Ctrl-C, and plan again: "
            "its first questions tell, and are not asked again."
        )


def of_known(text: str, n_known: int, total: int) -> str:
    """Return a sum with the number of runs that it leaves out."""
    if n_known == total:
        return text
    return f"at least {text} (unknown of {total - n_known} of {total} runs)" if n_known else UNKNOWN


def money(plan: Plan, planned: Sequence[Planned]) -> Iterator[str]:
    """Yield the money spent and the maximal cost of pending paid requests, for models with and without a price."""
    models = [(run, plan.config.models[run.asking.slug]) for run in planned]
    paid = [(run, model) for run, model in models if ADAPTERS[model.adapter].is_paid(model.settings)]
    spent = Ledger(plan.store.root).spent()
    for is_priced in (True, False):
        group = [(run, model) for run, model in paid if (model.price is not None) == is_priced]
        usages = [(model.price, _used(plan, run)) for run, model in group]
        costs = [price.usd(usage) if price else float(usage.total) for price, usage in usages if usage is not None]
        text = of_known(("${:.2f}" if is_priced else "{:,.0f} tokens").format(sum(costs)), len(costs), len(group))
        if group and is_priced:
            dates = {
                f"{run.asking.slug} {model.price.date}, {model.price.source}" for run, model in group if model.price
            }
            yield (
                f"Money: ${spent.usd:.2f} of `budget_usd` {plan.budget.usd:g} are spent; left to ask, with answers as "
                f"long as they may be: {text} (prices of {', '.join(sorted(dates))})."
            )
        elif group:
            yield (
                f"Price unknown: {', '.join(sorted({run.asking.slug for run, _ in group}))}. {spent.tokens:,} of "
                f"`budget_tokens` {plan.budget.tokens:,} are used; left to ask, with answers as long as they may be: "
                f"{text}."
            )


def _used(plan: Plan, run: Planned) -> Used | None:
    """Return the prompt tokens and the maximal answer tokens of a run; None if they are unknown."""
    if run.questions is None or run.tokens is None:
        return None
    max_tokens = plan.config.models[run.asking.slug].settings.get("max_tokens")
    if not isinstance(max_tokens, int):
        max_tokens = run.asking.job.max_tokens
    return Used(round(run.tokens), run.questions * max_tokens)


def _disk(plan: Plan, planned: Sequence[Planned]) -> Iterator[str]:
    parts: list[str] = []
    for slug in sorted({run.asking.slug for run in planned}):
        weights = weights_of(plan.config.models[slug], plan.store)
        if weights is not None and weights.to_fetch != 0:
            parts.append(f"weights of {slug} {UNKNOWN if weights.to_fetch is None else _bytes(weights.to_fetch)}")
    for benchmark in sorted({run.scored.run.benchmark for run in planned}):
        data = data_left(plan, benchmark)
        if data is None:
            parts.append(f"videos of {benchmark} {UNKNOWN}")
        for noun, (count, size) in (data or {}).items():
            if count:
                size_text = UNKNOWN if size is None else f"about {_bytes(size)}"
                parts.append(f"{count:,} {noun} of {benchmark} {size_text}")
    yield f"Disk, at most: {', '.join(parts)}." if parts else "Disk: nothing to fetch, no clip to make."


def _legend(plan: Plan, planned: Sequence[Planned], suite: str | None) -> Iterator[str]:
    sources = {run.time.sure for run in planned if run.time}
    if sources:
        yield f"Time: {'; '.join(words for sure, (_, words) in SOURCES.items() if sure in sources)}."
    if any(run.is_most for run in planned):
        yield "≤ questions about clips that turn out to be missing are not asked."
    if any(run.asking.is_remade for run in planned):
        yield "* counted in tables that are made again first."
    unknown = [run.asking.job for run in planned if run.questions is None]
    files = {job.requests for job in unknown if not job.scored.judge}
    if files:
        yield f"{UNKNOWN} to ask: `{call_for(min(files), suite)}` reads the release and counts the questions."
    if any(job.scored.judge for job in unknown):
        yield f"{UNKNOWN} to ask a judge: known when there are answers to judge."


# --- numbers ---------------------------------------------------------------------------------------------------------


def in_words(seconds: float) -> str:
    if 0 < seconds < 1:
        return "<1 s"
    size, unit = next((size, unit) for size, unit in UNITS if size == 1 or seconds >= 1.5 * size)
    count = seconds / size
    return f"{count:.1f} {unit}" if count < 10 and size > 1 else f"{count:,.0f} {unit}"


def short(count: float | None) -> str:
    if count is None:
        return UNKNOWN
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.{1 if count < 100 * size else 0}f}{sign}"
    return f"{count:.0f}"


def _bytes(size: float) -> str:
    return f"{size / GB:,.1f} GB" if size >= GB / 10 else f"{size / MB:,.1f} MB"


def _rate(per_second: float) -> str:
    return f"{per_second:.0f}/s" if per_second >= 10 else f"{per_second:.2f}/s"
