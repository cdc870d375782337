"""Answers that give each option a number, a share, a rank or a tick, such as "A: 0.3, B: 0.7"."""

import re
from collections.abc import Mapping, Sequence

LONGEST = 600  # characters; a longer answer argues, and its numbers are those of what it argues about
GOOD_TICKS, BAD_TICKS = "✓✔✅☑", "✗✘❌✖"
TICKED = re.compile(rf"(?<![A-Za-z])(yes|no|[A-F])\W{{0,4}}([{GOOD_TICKS}{BAD_TICKS}])", re.I)
NUMBERED = re.compile(r"\d")
MEASURES = r"(?:confidence|probability|probabilities|score|likelihood|prob)"
GIVEN = re.compile(
    r"(?<![A-Za-z])(?:p|prob|probability|score|confidence)?\s?[(\[]?\s?(?:option |caption |segment )?"
    r"(yes|no|[A-F])\s?[)\]]?\s{0,3}[-:=(]{0,2}\s{0,3}"
    rf"(?:is |with |at |a |an |\(?{MEASURES}\s?[:=]?\s{{0,2}}|about |around |approximately )*"
    r"(\d{1,3}(?:\.\d{1,6})?)\s?(%|/\s?10{1,2}\b)?\)?(?![\w%]|\.\d)",
    re.I,
)
SHARE_FIRST = re.compile(r"(\d{1,3}(?:\.\d{1,6})?\s?%) (?:for |of )?\(?(yes|no|[A-F])\b\)?", re.I)
LABELS = re.compile(rf"{MEASURES}|option|caption|chance|would|give", re.I)
RANKED = re.compile(
    r"((?:rank|place|choice)?\s?(?:#|no\.?\s?)?)(\d|1st|2nd|3rd|4th)\s?[:.)]\s{0,3}(?:option |caption )?\(?([A-F])\)?"
    r"(?=\s*(?:[,;.\n]|$|\d))",
    re.I,
)
SAYS_RANK = re.compile(r"rank|place|choice|[1-4](?:st|nd|rd|th)\b", re.I)


def by_scores(text: str, options: Sequence[str]) -> str | None:
    """The option with the highest number where two or more have one, empty for a tie; None where there are none."""
    if len(text) > LONGEST:
        return None
    known = {option.lower(): option for option in options}
    ticked = _ticked(text, known)
    if ticked or not NUMBERED.search(text):
        return ticked
    text = SHARE_FIRST.sub(r"\2: \1", text)
    scores, shares = dict[str, float](), "score" in text.lower()
    for match in GIVEN.finditer(text):
        option, number = known.get(match[1].lower()), float(match[2])
        if option is None:
            continue
        if scores.setdefault(option, number) != number:
            return None
        shares |= bool(match[3]) or "." in match[2] or number > len(options)
    if len(scores) < 2 or not shares or re.search(r"\w{4,}", GIVEN.sub("", LABELS.sub("", text))):
        return _first_ranked(text, known) if SAYS_RANK.search(text) else None
    best = max(scores, key=scores.__getitem__)
    return "" if list(scores.values()).count(scores[best]) > 1 else best


def _ticked(text: str, known: Mapping[str, str]) -> str | None:
    """The one option with a good tick where two or more have one behind them."""
    ticks = [tick for tick in GOOD_TICKS + BAD_TICKS if tick in text]
    if not ticks or text.lstrip()[0] in ticks:
        return None
    ticked = {known[option.lower()]: tick for option, tick in TICKED.findall(text) if option.lower() in known}
    good = [option for option, tick in ticked.items() if tick in GOOD_TICKS]
    return good[0] if len(ticked) > 1 and len(good) == 1 else None


def _first_ranked(text: str, known: Mapping[str, str]) -> str | None:
    """The option of rank 1 in a list of ranks."""
    headed = re.match(r"\W*rank", text, re.I)
    ranks = {
        match[2][0]: known.get(match[3].lower())
        for match in RANKED.finditer(text)
        if headed or match[1].strip(" #") or len(match[2]) > 1
    }
    return ranks.get("1") if len(ranks) > 1 else None
