"""Answers that give each option a number, a share or a rank, such as "A: 0.3, B: 0.7"."""

import re
from collections.abc import Sequence

GIVEN = re.compile(
    r"(?<![A-Za-z])(?:p|prob|probability|score|confidence)?\s?[(\[]?\s?(?:option |caption |segment )?(yes|no|[A-F])\s?[)\]]?\s{0,3}[-:=(]{0,2}\s{0,3}"
    r"(?:is |with |at |\(?(?:confidence|probability|score|likelihood|prob)\s?[:=]?\s{0,2}|about |around |approximately )*"
    r"(\d{1,3}(?:\.\d{1,6})?)\s?(%|/\s?10{1,2}\b)?\)?(?![\w%]|\.\d)",
    re.I,
)
RANKED = re.compile(r"(?:rank|place|choice)?\s?(?:#|no\.?\s?)?(\d|1st|2nd|3rd|4th)\s?[:.)]\s{0,3}(?:option |caption )?\(?([A-F])\)?(?=\s*(?:[,;.\n]|$|\d))", re.I)
GOOD_TICKS, BAD_TICKS = "✓✔✅☑", "✗✘❌✖"
TICKED = re.compile(rf"(?<![A-Za-z])(yes|no|[A-F])\W{{0,4}}([{GOOD_TICKS}{BAD_TICKS}])", re.I)


def by_scores(text: str, options: Sequence[str]) -> str | None:
    """The option with the highest number where two or more have one, empty for a tie; None where there are no numbers."""
    if len(text) > 600:
        return None
    known = {option.lower(): option for option in options}
    ticked = {known.get(option.lower()): tick for option, tick in TICKED.findall(text)}
    if len(ticked) > 1 and not text.lstrip()[0] in GOOD_TICKS + BAD_TICKS:
        good = [option for option, tick in ticked.items() if tick in GOOD_TICKS]
        return (good[0] or "") if len(good) == 1 else None
    if not any(map(str.isdigit, text)):
        return None
    scores: dict[str, float] = {}
    shares = "score" in text.lower()
    for match in GIVEN.finditer(text):
        option, number, unit = known.get(match[1].lower()), float(match[2]), match[3]
        if option is None:
            continue
        if option in scores and scores[option] != number:
            return None
        scores[option] = number
        shares |= bool(unit) or "." in match[2] or number > 10
    rest = re.search(r"\w{4,}", GIVEN.sub("", re.sub(r"confidence|probability|score|likelihood|probabilities|option|caption", "", text, flags=re.I)))
    alone = re.fullmatch(r"\W*(?:p|probability|prob)\s?\(?(?:of )?.{1,5}?\)?\s?[=:]\s?[\d.%]+\W*", text, re.I)
    if len(scores) == 1 and alone:
        option, score = scores.popitem()
        return option if score > 50 or (0.5 < score <= 1) else None
    if len(scores) < 2 or not shares or rest:
        return _first_ranked(text, known)
    best = max(scores, key=scores.__getitem__)
    return "" if list(scores.values()).count(scores[best]) > 1 else best


def _first_ranked(text: str, known: dict[str, str]) -> str | None:
    """The option of rank 1 in a list of ranks."""
    ranks = {match[1][0]: known.get(match[2].lower()) for match in RANKED.finditer(text) if re.search("rank|place|choice|st|nd|rd|th", match[0], re.I) or re.match(r"\W*rank", text, re.I)}
    return ranks.get("1") if len(ranks) > 1 else None
