"""The `robust` reader: the option that a careful person would read in a model's answer, or nothing."""

import re
from collections.abc import Mapping, Sequence

from reprise.reading.languages import in_english
from reprise.reading.letters import read_letters
from reprise.reading.normalise import normalise
from reprise.reading.paraphrase import paraphrased
from reprise.reading.restated import mark_restated, words_of
from reprise.reading.scores import by_scores
from reprise.reading.short_options import named_option
from reprise.reading.yesno import read_yes_no


MARK = re.compile("«[^»]*»")


def read_robust(text: str, options: Sequence[str], captions: Mapping[str, str] | None = None) -> str:
    """The option that a careful person would read in the answer; empty where such a person would hesitate."""
    plain, captions = normalise(text), captions or {}
    if {option.lower() for option in options} == {"yes", "no"}:
        reading = by_scores(plain, ("Yes", "No"))
        reading = read_yes_no(in_english(plain)) if reading is None else reading
        return next((option for option in options if option.lower() == reading.lower()), "")
    if any(len(option) > 1 or option not in "ABCDEF" for option in options):
        return next((option for option in options if words_of(option) == words_of(plain)), "")
    return _read_choice(plain, options, captions)


def _read_choice(plain: str, options: Sequence[str], captions: Mapping[str, str]) -> str:
    scored = by_scores(plain, options)
    if scored is not None:
        return scored
    segments = bool(captions) and all("segment" in caption.lower() for caption in captions.values())
    marked = mark_restated(plain, captions) if captions else plain
    reading, mentions = read_letters(in_english(marked), tuple(options), segments)
    if captions and {caption.strip(" .").lower() for caption in captions.values()} == {"yes", "no"}:
        said = read_yes_no(in_english(plain)) if not mentions or plain.lower().startswith(("yes", "no")) else ""
        if mentions:
            return reading if reading in options and said.lower() in ("", captions[reading].strip(" .").lower()) else ""
        return next((option for option, caption in captions.items() if caption.strip(" .").lower() == said.lower()), "")
    if captions and not segments and not mentions:
        reading = named_option(plain, captions) or paraphrased(plain, captions)
    elif reading and "++»" in marked:
        other = paraphrased(MARK.sub(" ", marked), captions)
        return reading if reading in options and other in ("", reading) else ""
    elif captions and not segments and reading in captions:
        letter, _, rest = plain.partition(" ")
        if len(letter) < 4:
            other = paraphrased(rest, captions, near=True)
            if other and other != reading:
                return ""
    return reading if reading in options else ""
