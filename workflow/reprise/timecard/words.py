"""What a card says in words, by fixed rules (docs/reference/time.md): one sentence a benchmark, one line a model."""

from collections.abc import Sequence

from reprise.tables.render.table import format_value
from reprise.timecard.card import (
    ANOTHER,
    FIRST,
    MIDDLE,
    NONE,
    REVERSED,
    SHUFFLED,
    VERDICT_TITLES,
    Card,
    CardBenchmark,
    Change,
    Verdict,
)

# What is done to the frames, as the subject of "loses 12.4 points".
DONE = {
    SHUFFLED: "shuffling the frames",
    REVERSED: "reversing them",
    FIRST: "the first frame repeated",
    MIDDLE: "the middle frame alone",
    NONE: "showing no video",
    ANOTHER: "showing another clip",
}
ORDERS, SINGLES = (SHUFFLED, REVERSED), (MIDDLE, FIRST)


def is_shown(change: Change, level: float) -> bool:
    """Whether a difference is shown: both by the interval and by the test."""
    if change.low is None or change.high is None:
        return False
    return not change.low <= 0 <= change.high and change.p < 1 - level


def loses(found: CardBenchmark, view: str, level: float) -> bool | None:
    """Whether a view is shown to lose; None where it was not asked."""
    one = found.view(view)
    change = one.change if one else None
    return None if change is None else change.value < 0 and is_shown(change, level)


def _asked(found: CardBenchmark, views: Sequence[str], level: float) -> list[bool]:
    return [answer for view in views if (answer := loses(found, view, level)) is not None]


def verdict_of(found: CardBenchmark, level: float) -> Verdict:
    """What the model is shown to use: the most that every control for less allows."""
    order, single = _asked(found, ORDERS, level), _asked(found, SINGLES, level)
    sees = loses(found, NONE if found.view(NONE) else ANOTHER, level)
    if sees is False:
        return "words"
    if any(order) and all(single):
        return "order"
    if single and all(single):
        return "frames"
    return "frame" if sees and single else "open"


def sentence_of(found: CardBenchmark, level: float) -> str:
    title = found.title
    if not found.samples:
        return f"Nothing is known on {title}: it was not asked."
    singles, orders = said(found, SINGLES, level), said(found, ORDERS, level)
    video = said(found, (NONE,), level) or said(found, (ANOTHER,), level)
    untold = "" if orders else "; whether their order does was not asked"
    contrary = [view for view in ORDERS if loses(found, view, level)]
    though = f"; yet {_joined(said(found, contrary, level))}" if contrary else ""
    match found.verdict:
        case "order":
            return f"Order matters on {title}: {_joined(orders)}."
        case "frames":
            shown = _joined([*singles, *orders])
            return f"Several frames matter on {title}, no use of their order is shown: {shown}{untold}."
        case "frame":
            shown = _joined([*video, *singles])
            return f"The video matters on {title}, no use of more than one frame is shown: {shown}{though}."
        case "words":
            return f"No use of the video is shown on {title}: {_joined(video)}{though}."
        case _:
            known = _joined([*video, *singles, *orders]) or "no control was asked"
            return f"What is used on {title} is not told: {known}."


def said(found: CardBenchmark, views: Sequence[str], level: float) -> list[str]:
    """What views do: each `loses 12.4 points [8.1, 16.9]`, or `changes the score by -0.4 points [-2.0, 1.1]`."""
    lines, unit = [], " points" if found.best == 100 else ""
    for view in views:
        one = found.view(view)
        if one is None or one.change is None:
            continue
        value, is_told = one.change.value, is_shown(one.change, level)
        sign = -1 if is_told and value < 0 else 1
        ends = sorted(sign * end for end in (one.change.low, one.change.high) if end is not None)
        interval = f" [{', '.join(format_value(end, found.decimals) for end in ends)}]" if ends else ""
        number = format_value(sign * value, found.decimals) if is_told else signed(value, found.decimals)
        verb = "changes the score by" if not is_told else "loses" if value < 0 else "gains"
        lines.append(f"{DONE[view]} {verb} {number}{unit}{interval}")
    return lines


def signed(value: float, decimals: int) -> str:
    """A difference with its sign; what is printed as 0 has none."""
    return format_value(value, decimals, signed=round(value, decimals) != 0)


def _joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}" if texts else ""


def headline(card: Card) -> str:
    """What the model is shown to use, benchmark by benchmark, on one line."""
    found: dict[str, list[str]] = {title: [] for title in VERDICT_TITLES.values()}
    for one in card.benchmarks:
        found[VERDICT_TITLES[one.verdict]].append(one.title)
    line = "; ".join(f"{title}: {', '.join(names)}" for title, names in found.items() if names)
    return line[:1].upper() + line[1:]
