"""`plan`: what a run of snakemake would ask of which models, why, and what that takes; nothing is made."""

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
    found = askings(plan, states, numbers)
    benchmarks = set(plan.config.benchmarks)  # of named targets those that they are about
    if targets:
        parts = {part for target in targets for part in target.split("/")}
        benchmarks &= parts | {one.run.benchmark for one in numbers}
    others = [asking for package in plan.packages.values() for asking in package.askings(states, benchmarks)]
    found = found._replace(asked=[*others, *found.asked])
    questions = Questions(plan, settings)
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


def lines(
    plan: Plan, found: Askings, planned: Sequence[Planned], suite: str | None, width: int, *, every: bool
) -> Iterator[str]:
    count = len(found.asked)
    head = f"Suite '{plan.config.name}': {count} {'run asks' if count == 1 else 'runs ask'} a model"
    if not (found.asked or found.done or found.counted):
        head += ": its `run:` selects no model of these tables, so that they show published values only"
    for words, others in (("done", found.done), ("read and counted anew, without a question", found.counted)):
        head += f"; {words}: {others}" if others else ""
    yield from wrapped(f"{head}.", width)
    if not planned:
        return
    yield f"\n{NUMBERS.format('to ask', 'answered', 'frames', 'tokens', 'rate', 'time')}  run"
    yield from _runs(plan, planned, width, every=every)
    yield ""
    for line in (*_sums(plan, planned), *money(plan, planned), *ended(plan, [one.scored for one in planned]),
                 *_disk(plan, planned), *_legend(plan, planned, suite)):  # fmt: skip
        yield from wrapped(line, width)


# --- runs ------------------------------------------------------------------------------------------------------------


def _runs(plan: Plan, planned: Sequence[Planned], width: int, *, every: bool) -> Iterator[str]:
    """As many runs as there is room for: first models with weights, and of these the one that is asked most.

    A model and the reason why it is asked stand above the first run that shares them.
    """
    ordered = sorted(planned, key=lambda one: (-(one.questions or 0), one.scored))
    groups = grouped(ordered, lambda one: (one.asking.slug, one.asking.why))
    needed = {slug: _needed(plan, slug) for slug, _ in groups}
    asked = {group: sum(one.questions or 0 for one in members) for group, members in groups.items()}
    entries = []
    for slug, why in sorted(groups, key=lambda group: (needed[group[0]] is None, -asked[group], group)):
        above = wrapped(f"{slug}: {'; '.join(why)}. {needed[slug] or 'It has no weights.'}", width)
        first, *others = (_run(one, width) for one in groups[slug, why])
        entries += [[*above, *first], *others]
    printed = 0
    for number, entry in enumerate(entries):
        printed += len(entry)
        if number and printed > MOST_LINES and not every:
            yield f"and {len(entries) - number} more: --all lists them"
            return
        yield from entry


def _needed(plan: Plan, slug: str) -> str | None:
    model = plan.config.models[slug]
    weights = weights_of(model, plan.store)
    if weights is None:
        return None
    size = "unknown" if weights.loaded is None else _bytes(weights.loaded)
    if not model.gpus:
        return f"No GPU; weights: {size}."
    room = f", and room for clips, by rule of thumb {_bytes(allowance(weights.loaded))}" if weights.loaded else ""
    return f"{model.gpus} GPU{'s' * (model.gpus > 1)}; memory: weights {size}{room}."


def _run(one: Planned, width: int) -> list[str]:
    """A run without its model, which stands above; of a judge the run whose answers it judges."""
    asked = UNKNOWN if one.questions is None else f"{'≤' if one.is_most else ''}{one.questions:,}"
    numbers = NUMBERS.format(
        f"{'*' if one.asking.is_remade else ''}{asked}",
        f"{one.answered:,}",
        short(one.frames),
        short(one.tokens),
        _rate(one.questions / one.time.seconds) if one.questions and one.time and one.time.seconds else UNKNOWN,
        UNKNOWN if one.time is None else f"{SOURCES[one.time.sure][0]}{in_words(one.time.seconds)}",
    )
    name = f"of {one.scored.run.name}" if one.scored.judge else one.scored.run.name.rpartition("/")[0]
    return [f"{numbers}  {name}"] if len(numbers) + 2 + len(name) <= width else [numbers, f"{name:>{width}}"]


# --- sums ------------------------------------------------------------------------------------------------------------


def _sums(plan: Plan, planned: Sequence[Planned]) -> Iterator[str]:
    gpus = [plan.config.models[one.asking.slug].gpus for one in planned]
    parts = []
    for what, counts in (
        ("questions", [one.questions for one in planned]),
        ("frames", [one.frames for one in planned]),
        ("tokens", [one.tokens for one in planned]),
    ):
        known = [count for count in counts if count is not None]
        text = f"{sum(known):,}" if what == "questions" else short(sum(known))
        parts.append(f"{what} {of_known(text, len(known), len(counts))}")
    yield f"In all: {'; '.join(parts)}."
    for title, is_on_gpus in (("GPU time", True), ("Time without a GPU", False)):
        some = [
            (one.time, max(1, count)) for one, count in zip(planned, gpus, strict=True) if bool(count) == is_on_gpus
        ]
        timed = [(time.seconds, count) for time, count in some if time]
        total = sum(seconds * count for seconds, count in timed)
        if some:
            yield f"{title}: {of_known(in_words(total), len(timed), len(some))}."
    if any(one.time is None for one in planned):
        yield (
            "Nothing like the runs of unknown time was timed here. Let one begin, stop it with Ctrl-C, and plan again: "
            "its first questions tell, and are not asked again."
        )


def of_known(text: str, known: int, among: int) -> str:
    """A sum, and how many runs it leaves out."""
    if known == among:
        return text
    return f"at least {text} (unknown of {among - known} of {among} runs)" if known else UNKNOWN


def money(plan: Plan, planned: Sequence[Planned]) -> Iterator[str]:
    """What was spent, and what the questions to vendors may cost: models whose price is known, and the others."""
    models = [(one, plan.config.models[one.asking.slug]) for one in planned]
    paid = [(one, model) for one, model in models if ADAPTERS[model.adapter].is_paid(model.settings)]
    spent = Ledger(plan.store.root).spent()
    for is_priced in (True, False):
        some = [(one, model) for one, model in paid if (model.price is not None) == is_priced]
        used = [(model.price, _used(plan, one)) for one, model in some]
        costs = [price.usd(most) if price else float(most.total) for price, most in used if most is not None]
        text = of_known(("${:.2f}" if is_priced else "{:,.0f} tokens").format(sum(costs)), len(costs), len(some))
        if some and is_priced:
            dates = {
                f"{one.asking.slug} {model.price.date}, {model.price.source}" for one, model in some if model.price
            }
            yield (
                f"Money: ${spent.usd:.2f} of `budget_usd` {plan.budget.usd:g} are spent; left to ask, with answers as "
                f"long as they may be: {text} (prices of {', '.join(sorted(dates))})."
            )
        elif some:
            yield (
                f"Price unknown: {', '.join(sorted({one.asking.slug for one, _ in some}))}. {spent.tokens:,} of "
                f"`budget_tokens` {plan.budget.tokens:,} are used; left to ask, with answers as long as they may be: "
                f"{text}."
            )


def _used(plan: Plan, one: Planned) -> Used | None:
    """The tokens of the prompts, and of answers that are as long as they may be; None where nobody knows."""
    if one.questions is None or one.tokens is None:
        return None
    most = plan.config.models[one.asking.slug].settings.get("max_tokens")
    if not isinstance(most, int):
        most = one.asking.job.max_tokens
    return Used(round(one.tokens), one.questions * most)


def _disk(plan: Plan, planned: Sequence[Planned]) -> Iterator[str]:
    parts: list[str] = []
    for slug in sorted({one.asking.slug for one in planned}):
        weights = weights_of(plan.config.models[slug], plan.store)
        if weights is not None and weights.to_fetch != 0:
            parts.append(f"weights of {slug} {UNKNOWN if weights.to_fetch is None else _bytes(weights.to_fetch)}")
    for benchmark in sorted({one.scored.run.benchmark for one in planned}):
        data = data_left(plan, benchmark)
        if data is None:
            parts.append(f"videos of {benchmark} {UNKNOWN}")
        for what, (count, size) in (data or {}).items():
            if count:
                about = UNKNOWN if size is None else f"about {_bytes(size)}"
                parts.append(f"{count:,} {what} of {benchmark} {about}")
    yield f"Disk, at most: {', '.join(parts)}." if parts else "Disk: nothing to fetch, no clip to make."


def _legend(plan: Plan, planned: Sequence[Planned], suite: str | None) -> Iterator[str]:
    used = {one.time.sure for one in planned if one.time}
    if used:
        yield f"Time: {'; '.join(words for sure, (_, words) in SOURCES.items() if sure in used)}."
    if any(one.is_most for one in planned):
        yield "≤ questions about clips that turn out to be missing are not asked."
    if any(one.asking.is_remade for one in planned):
        yield "* counted in tables that are made again first."
    unknown = [one.asking.job for one in planned if one.questions is None]
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


def _rate(a_second: float) -> str:
    return f"{a_second:.0f}/s" if a_second >= 10 else f"{a_second:.2f}/s"
