"""The lines of `plan`: the runs that ask, by model and reason, what they take, and the sums."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reprise.commands.left import Left, slug_of
from reprise.commands.plan_money import Bill, money
from reprise.commands.plans import call_for
from reprise.config.model import Model
from reprise.core.paths import Scored
from reprise.models.local.placement import allowance
from reprise.plan.asking import Asking, Askings
from reprise.plan.construction import WRITING
from reprise.plan.costs import Estimate, Range, Sure
from reprise.plan.runs import Plan
from reprise.plan.sizes import Weights, data_left, weights_of
from reprise.plan.targets import ended
from reprise.tables.render.terminal import wrapped

UNKNOWN = "?"
MOST_LINES = 12
GB, MB, MINUTE_S, HOUR_S = 1e9, 1e6, 60, 3600
THOUSANDS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
SOURCES: Mapping[Sure, tuple[str, str]] = {
    "itself": ("", "no sign: from questions that the run itself was asked"),
    "benchmark": ("~", "~ from a run of its model on this benchmark"),
    "model": ("~~", "~~ from another run of its model"),
    "size": ("~~~", "~~~ roughly, from another model of its size"),
}
WIDTHS = (8, 9, 7, 7, 13)
HEADER = "".join(
    f"{name:>{width}}" for name, width in zip(("to ask", "answered", "frames", "tokens", "time"), WIDTHS, strict=True)
)


class Planned(NamedTuple):
    """A job that asks, and what it takes."""

    asking: Asking
    left: Left
    tokens: float | None
    time: Estimate | None

    @property
    def slug(self) -> str:
        return slug_of(self.asking.job)

    @property
    def questions(self) -> int | None:
        return None if self.left.load is None else self.left.load.questions

    @property
    def frames(self) -> float | None:
        return None if self.left.load is None else self.left.load.frames


def lines(
    plan: Plan, found: Askings, planned: Sequence[Planned], suite: str | None, width: int, *, every: bool
) -> Iterator[str]:
    """All of it; of many runs those of the models that are asked most."""
    yield from wrapped(_summary(plan, found), width)
    if not planned:
        return
    yield f"\n{HEADER}  run"
    yield from _runs(plan, planned, width, every=every)
    yield ""
    ends = ended(plan, [one.asking.job.scored for one in planned])
    for line in (*_sums(plan, planned), *money(plan, _bills(planned)), *ends, *_disk(plan, planned),
                 *_legend(plan, planned, suite)):  # fmt: skip
        yield from wrapped(line, width)


def _summary(plan: Plan, found: Askings) -> str:
    count = len(found.asked)
    text = f"Suite '{plan.config.name}': {count} {'run asks' if count == 1 else 'runs ask'} a model"
    if not (found.asked or found.done or found.counted):
        return f"{text}: its `run:` selects no model of these tables, so that they show published values only."
    others = [("done", found.done), ("read and counted anew, without a question", found.counted)]
    return f"{text}{''.join(f'; {words}: {count}' for words, count in others if count)}."


# --- runs ------------------------------------------------------------------------------------------------------------


def _runs(plan: Plan, planned: Sequence[Planned], width: int, *, every: bool) -> Iterator[str]:
    """As many as there is room for: first models with weights, and of these the one that is asked most."""
    entries = list(_entries(plan, planned, width))
    printed = 0
    for number, entry in enumerate(entries):
        printed += len(entry)
        if number and printed > MOST_LINES and not every:
            yield f"and {len(entries) - number} more: --all lists them"
            return
        yield from entry


def _entries(plan: Plan, planned: Sequence[Planned], width: int) -> Iterator[list[str]]:
    """The lines of each run; the model's and the reason stand above the first that shares them."""
    groups: dict[tuple[str, tuple[str, ...]], list[Planned]] = defaultdict(list)
    for one in planned:
        groups[one.slug, one.asking.why].append(one)
    needed = {one.slug: weights_of(plan.config.models[one.slug], plan.store) for one in planned}
    ordered = sorted(groups.items(), key=lambda entry: (needed[entry[0][0]] is None, -_asked(entry[1]), entry[0]))
    for (slug, why), members in ordered:
        above = wrapped(f"{slug}: {'; '.join(why)}. {_needs(plan.config.models[slug], needed[slug])}", width)
        for one in sorted(members, key=lambda one: (-_asked([one]), one.asking.job.scored)):
            yield [*above, *_line(one, width)]
            above = []


def _asked(planned: Sequence[Planned]) -> int:
    return sum(one.questions or 0 for one in planned)


def _needs(model: Model, weights: Weights | None) -> str:
    """What a model needs of the machine."""
    if weights is None:
        return "It has no weights."
    size = "unknown" if weights.loaded is None else _bytes(weights.loaded)
    if not model.gpus:
        return f"No GPU; weights: {size}."
    device = "1 GPU" if model.gpus == 1 else f"{model.gpus} GPUs"
    room = (
        "" if weights.loaded is None else f", and room for clips, by rule of thumb {_bytes(allowance(weights.loaded))}"
    )
    return f"{device}; memory: weights {size}{room}."


def _line(one: Planned, width: int) -> list[str]:
    asked = UNKNOWN if one.questions is None else f"{'≤' if one.left.is_most else ''}{one.questions:,}"
    cells = (
        f"{'*' if one.asking.is_remade else ''}{asked}",
        f"{one.left.answered:,}",
        short(one.frames),
        short(one.tokens),
        UNKNOWN if one.time is None else f"{SOURCES[one.time.sure][0]}{in_words(one.time.seconds)}",
    )
    numbers = "".join(f"{cell:>{room}}" for cell, room in zip(cells, WIDTHS, strict=True))
    name = _name(one.asking.job.scored)
    return [f"{numbers}  {name}"] if len(numbers) + 2 + len(name) <= width else [numbers, f"{name:>{width}}"]


def _name(scored: Scored) -> str:
    """A run without its model, which stands above; of a judge the run whose answers it judges."""
    return f"of {scored.run.name}" if scored.judge else scored.run.name.rpartition("/")[0]


# --- sums ------------------------------------------------------------------------------------------------------------


def _sums(plan: Plan, planned: Sequence[Planned]) -> Iterator[str]:
    """What all of it takes, and of how many runs that is not known."""
    parts = [
        _sum([one.questions for one in planned], "questions", lambda count: f"{count:,.0f}"),
        _sum([one.frames for one in planned], "frames", short),
        _sum([one.tokens for one in planned], "tokens", short),
    ]
    yield f"In all: {'; '.join(parts)}."
    for title, is_on_gpus in (("GPU time", True), ("Time without a GPU", False)):
        some = [one for one in planned if bool(_gpus(plan, one)) == is_on_gpus]
        known = [(one.time.seconds, max(1, _gpus(plan, one))) for one in some if one.time]
        total = Range(sum(time.low for time, _ in known), sum(time.high * count for time, count in known))
        if some:
            yield f"{title}: {of_known(in_words(total), len(known), len(some))}."
    if any(_gpus(plan, one) > 1 for one in planned):
        yield (
            "Of a model that names several GPUs the time is of one copy, which copies side by side divide; its GPU "
            "time is from one device a copy to all devices."
        )
    if any(one.time is None for one in planned):
        yield (
            "Nothing like the runs of unknown time was timed here. Let one begin, stop it with Ctrl-C, and plan again: "
            "its first questions tell, and are not asked again."
        )


def _gpus(plan: Plan, one: Planned) -> int:
    return plan.config.models[one.slug].gpus


def _sum(counts: Sequence[float | None], what: str, spelled: Callable[[float], str]) -> str:
    known = [count for count in counts if count is not None]
    return f"{what} {of_known(spelled(sum(known)), len(known), len(counts))}"


def of_known(text: str, known: int, among: int) -> str:
    """A sum, and how many runs it leaves out."""
    if known == among:
        return text
    return f"at least {text} (unknown of {among - known} of {among} runs)" if known else UNKNOWN


def _bills(planned: Sequence[Planned]) -> Iterator[Bill]:
    for one in planned:
        yield Bill(one.asking.job, one.slug, one.questions, one.tokens)


def _disk(plan: Plan, planned: Sequence[Planned]) -> Iterator[str]:
    """What is fetched and made before anybody is asked."""
    parts: list[str] = []
    for slug in sorted({one.slug for one in planned}):
        weights = weights_of(plan.config.models[slug], plan.store)
        if weights is not None and weights.to_fetch != 0:
            parts.append(f"weights of {slug} {UNKNOWN if weights.to_fetch is None else _bytes(weights.to_fetch)}")
    for benchmark in sorted({one.asking.job.scored.run.benchmark for one in planned}):
        data = data_left(plan, benchmark)
        if data is None:
            parts.append(f"videos of {benchmark} {UNKNOWN}")
            continue
        parts += [f"{data.sources:,} videos of {benchmark} {_about(data.sources_bytes)}"] if data.sources else []
        parts += [f"{data.clips:,} clips of {benchmark} {_about(data.clips_bytes)}"] if data.clips else []
    yield f"Disk, at most: {', '.join(parts)}." if parts else "Disk: nothing to fetch, no clip to make."


def _about(size: float | None) -> str:
    return UNKNOWN if size is None else f"about {_bytes(size)}"


def _legend(plan: Plan, planned: Sequence[Planned], suite: str | None) -> Iterator[str]:
    """The signs that were used."""
    used = {one.time.sure for one in planned if one.time}
    if used:
        yield f"Time: {'; '.join(words for sure, (_, words) in SOURCES.items() if sure in used)}."
    if any(one.left.is_most for one in planned):
        yield "≤ questions about clips that turn out to be missing are not asked."
    if any(one.asking.is_remade for one in planned):
        yield "* counted in tables that are made again first."
    unread = sorted({one.asking.job.scored for one in planned if one.questions is None})
    files = sorted({_questions(plan, one) for one in unread if not one.judge})
    if files:
        more = f" (and {len(files) - 1} more such files)" if len(files) > 1 else ""
        yield f"{UNKNOWN} to ask: `{call_for(files[0], suite)}`{more} reads the release and counts the questions."
    if any(one.judge for one in unread):
        yield f"{UNKNOWN} to ask a judge: known when there are answers to judge."


def _questions(plan: Plan, one: Scored) -> Path:
    """The table of what a run, or a round of writing, asks."""
    benchmark, protocol, sampling = one.run.benchmark, one.run.protocol, one.run.sampling
    if protocol == WRITING:
        return plan.results.construction(benchmark, "requests") / f"{sampling.removeprefix('round')}.parquet"
    return plan.results.requests(benchmark, protocol)


# --- numbers ---------------------------------------------------------------------------------------------------------


def in_words(seconds: Range) -> str:
    """A range of time in the unit that fits its end."""
    for unit_s, name in ((HOUR_S, "h"), (MINUTE_S, "min")):
        if seconds.high >= 1.5 * unit_s:
            return _span(seconds.low / unit_s, seconds.high / unit_s, name)
    return _span(seconds.low, seconds.high, "s") if seconds.high >= 1 else "0 s" if seconds.high == 0 else "<1 s"


def _span(low: float, high: float, unit: str) -> str:
    texts = [f"{value:.1f}" if value < 10 and unit != "s" else f"{value:,.0f}" for value in (low, high)]
    return f"{'-'.join(dict.fromkeys(texts))} {unit}"


def short(count: float | None) -> str:
    if count is None:
        return UNKNOWN
    for size, sign in THOUSANDS:
        if count >= size:
            return f"{count / size:.{1 if count < 100 * size else 0}f}{sign}"
    return f"{count:.0f}"


def _bytes(size: float) -> str:
    return f"{size / GB:,.1f} GB" if size >= GB / 10 else f"{size / MB:,.1f} MB"
