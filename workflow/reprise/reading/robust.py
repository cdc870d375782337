"""The `robust` reader: the option that a careful person would read in a model's answer, or nothing.

An answer is normalised, put into English words, and cut into clauses. Mentions of options become marks; each clause is
asked what it claims of them (`letters`, `yesno`), and the claims are settled (`settle`). Options that are texts may
also be restated, paraphrased, or named in passing where they are short. Each step is a module of its own.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from reprise.reading.clauses import SENTENCE_END
from reprise.reading.languages import in_english
from reprise.reading.letters import read_letters
from reprise.reading.normalise import KEPT, normalise
from reprise.reading.paraphrase import paraphrased
from reprise.reading.restated import mark_restated, words_of
from reprise.reading.scores import by_scores
from reprise.reading.short_options import named_option
from reprise.reading.yesno import YES_NO, read_yes_no

MARK = re.compile("«[^»]*»")
WHOLE_MARK = re.compile(r"\W*«([^»+])\++»\W*")
TEXTS, SEGMENTS, WORDS = "texts", "segments", "words"  # what the options stand for
PIECES = re.compile(r"[,.:;]|\b(?:because|since|so|as|which says that|that says|in which|where)\b")
LONGEST = 300  # characters of an answer whose parts are compared with the options
SHORT_LABEL = 4  # characters of a first word that is only a letter with its punctuation


def read_robust(text: str, options: Sequence[str], captions: Mapping[str, str] | None = None) -> str:
    """The option that a careful person would read in the answer; empty where such a person would hesitate."""
    plain = normalise(text)
    if {option.lower() for option in options} == {"yes", "no"}:
        reading = _read_word(plain)
        return next((option for option in options if option.lower() == reading.lower()), "")
    if any(len(option) > 1 or option not in "ABCDEF" for option in options):
        return next((option for option in options if words_of(option) == words_of(plain)), "")
    reading = _read_choice(plain, options, captions or {})
    return reading if reading in options else ""


def _read_word(plain: str) -> str:
    """Yes, No or nothing."""
    scored = by_scores(plain, YES_NO)
    return read_yes_no(in_english(plain)) if scored is None else scored


@lru_cache(KEPT)
def stand_for(texts: tuple[str, ...]) -> str:
    """What options stand for: two segments of a video, the words yes and no, or any texts."""
    if texts and all("segment" in text.lower() for text in texts):
        return SEGMENTS
    return WORDS if {text.strip(" .").lower() for text in texts} == {"yes", "no"} else TEXTS


def _read_choice(plain: str, options: Sequence[str], captions: Mapping[str, str]) -> str:
    """A letter, or nothing."""
    scored = by_scores(plain, options)
    if scored is not None:
        return scored
    marked = mark_restated(plain, captions) if captions else plain
    whole = WHOLE_MARK.fullmatch(marked)
    if whole:
        return whole[1]
    kind = stand_for(tuple(captions.values()))
    reading, mentions = read_letters(in_english(marked), tuple(options), kind == SEGMENTS)
    if kind == WORDS:
        return _with_word(plain, captions, reading, mentions)
    if not captions or kind == SEGMENTS:
        return reading
    if not mentions:
        return named_option(plain, captions) or paraphrased(plain, captions)
    return "" if reading and _contradicted(plain, marked, captions, reading) else reading


def _with_word(plain: str, captions: Mapping[str, str], reading: str, mentions: bool) -> str:
    """A letter whose option is the word yes or no: the letter and the word must agree."""
    said = _read_word(plain) if not mentions or plain.lower().startswith(("yes", "no")) else ""
    chosen = next((option for option, word in captions.items() if word.strip(" .").lower() == said.lower()), "")
    if not mentions:
        return chosen
    return reading if chosen in ("", reading) else ""


def _sentence_of(plain: str, letter: str) -> str:
    """The sentence of an answer that names the letter."""
    return next((part for part in SENTENCE_END.split(plain) if re.search(rf"\b{letter}\b", part)), "")


def _contradicted(plain: str, marked: str, captions: Mapping[str, str], reading: str) -> bool:
    """Does an answer give a letter together with the text of another option?"""
    if len(plain) < LONGEST and not any(re.search(rf"\b{other}\b", plain) for other in captions if other != reading):
        told = {paraphrased(piece, captions, near=True) for piece in PIECES.split(_sentence_of(plain, reading))} - {""}
        if told and reading not in told:
            return True
    if "++»" in marked:
        rest = MARK.sub(" ", marked)
    else:
        letter, _, rest = plain.partition(" ")
        if len(letter) >= SHORT_LABEL:
            return False
    return paraphrased(rest, captions, near="++»" not in marked) not in ("", reading)
