"""Sentences and clauses of a normalised answer.

A clause is a row of tokens: lower-case words, phrases joined by "_", signs, and marks such as `«B»`, a mention of an
option. `«B+»` is a named option ("caption B"), `«B++»` an option's text restated, `«A|B»` several in one breath.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from reprise.reading import words as w

LATIN = "A-Za-z\u00c0-\u024f"
TOKEN = re.compile(
    r"«[^»\n]*»|\d+(?:st|nd|rd|th)\b|\d+-[A-Za-z]+\b|\d+(?:[.,:]\d+)*%?"
    rf"|[{LATIN}]+(?:['-][{LATIN}]+)*|[^\W\d_{LATIN}]+|[^\w\s]"
)
SENTENCE_END = re.compile(r"(?<=[.!?])(?!(?<=\b[Nn]o\.)\s+\d)(?<!\b[Vv]s\.)(?<!e\.g\.)(?<!i\.e\.)[)\]]{0,3}\s+")
BULLET = re.compile(r"[ \t>]*(?:[-+•▪*]|\d{1,2}[.)])[ \t]+(?=\S)")
COPULAS = w.words("is, are, was, be, :, =, →, remains, being")
HYPHENED = w.words("black, first, second, post, pre")
STOPS = frozenset(".!?")
LABEL_SIGNS = frozenset((":", "-", "→"))
LABELLED = frozenset().union(w.GOOD, w.BAD, w.NEGATIONS, ("yes", "does", "matches", "is"))
JUDGING = frozenset().union(w.GOOD, w.BAD, w.NEGATIONS)
LONGEST_LABEL = 7  # words
STUTTER = 30  # mentions in one clause that make it none
# What "right" is when it judges nothing: a side, or "right after".
BEFORE_SIDES = w.words("""
    hand, side, arm, leg, foot, corner, turn, after, before, away, now, there, then, when, until, into, behind, next,
    in, shoulder, edge, half, lane, direction, ear, eye
""")
AFTER_MOVES = w.words("""
    turn, turns, turning, turned, left, his, her, to, from, moves, goes, towards, toward, right, slides, their, you,
    far, top, bottom, upper, lower, swipes, leans, steps, all
""")
TOWARDS = w.words("to, on, from, towards, toward")
Mark = Callable[[list[str]], list[str]]


class Sentence(NamedTuple):
    """The tokens of a sentence, and what is known of its line."""

    tokens: list[str]
    line: int
    asked: bool  # it ends in a question mark
    fills_line: bool
    ended: bool  # it ends as a sentence does


class Clause(NamedTuple):
    """The tokens of a clause, what opened it (a connective or a sign) and where it stands."""

    tokens: tuple[str, ...]
    opener: str
    place: int
    sentence: int
    line: int
    is_first: bool  # of its sentence
    is_last: bool  # of its sentence
    leads: bool  # it is the first of all
    asked: bool
    fills_line: bool
    ended: bool


def is_mark(word: str) -> bool:
    return word[0] == "«"


def named(mark: str) -> tuple[str, ...]:
    """The options of a mark."""
    return tuple(mark.strip("«»+").split("|"))


def has(tokens: Sequence[str], kind: frozenset[str]) -> bool:
    """Is any of the tokens of a kind?"""
    return not kind.isdisjoint(tokens)


# --- tokens ----------------------------------------------------------------------------------------------------------


def phrase_table(phrases: frozenset[str]) -> dict[str, dict[str, list[list[str]]]]:
    """What follows the first two words of phrases, longest first."""
    table: dict[str, dict[str, list[list[str]]]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        first, second, *rest = phrase.split("_")
        table.setdefault(first, {}).setdefault(second, []).append(rest)
    return table


PHRASES = phrase_table(w.ALL_PHRASES)


def tokenise(text: str) -> list[str]:
    """The tokens of a text in their own case; a hyphenated word is one unless its parts name a segment."""
    tokens = list[str]()
    for word in TOKEN.findall(text):
        if "-" in word and word[0].isalpha() and has(word.lower().split("-"), HYPHENED):
            tokens += word.split("-")
        else:
            tokens.append(word)
    return tokens


def join_phrases(tokens: list[str]) -> list[str]:
    """Join the words of each known phrase into one token."""
    joined, at, last = list[str](), 0, len(tokens) - 1
    while at <= last:
        word = tokens[at]
        seconds = PHRASES.get(word) if at < last else None
        for rest in seconds.get(tokens[at + 1], ()) if seconds else ():
            if tokens[at + 2 : at + 2 + len(rest)] == rest:
                joined.append("_".join((word, tokens[at + 1], *rest)))
                at += 1 + len(rest)
                break
        else:
            joined.append("right_side" if word == "right" and _is_side(tokens, at) else word)
        at += 1
    return joined


def _is_side(tokens: Sequence[str], at: int) -> bool:
    """Is this "right" the other side of left, or that of "right after"?"""
    before_the = tokens[at - 2 : at - 1] if at > 1 and tokens[at - 1] == "the" else ()
    return (
        has(tokens[at + 1 : at + 2], BEFORE_SIDES)
        or has(tokens[max(0, at - 1) : at], AFTER_MOVES)
        or has(before_the, TOWARDS)
    )


# --- sentences and clauses -------------------------------------------------------------------------------------------


def sentences(text: str, mark: Mark, bullets: bool = True) -> list[Sentence]:
    """The sentences of a text, their mentions marked; bullets of lists go."""
    found = list[Sentence]()
    for number, line in enumerate(text.split("\n")):
        if not line or line.isspace():
            continue
        bullet = BULLET.match(line) if bullets else None
        parts = [part for part in SENTENCE_END.split(line[bullet.end() :] if bullet else line) if part.strip()]
        for part in parts:
            asked, ended = part.rstrip(" )\"'").endswith("?"), part.rstrip()[-1] in ".!)?"
            found.append(Sentence(mark(tokenise(part)), number, asked, len(parts) == 1, ended))
    return found


def clauses(found: Sequence[Sentence]) -> list[Clause]:
    """The clauses of sentences, their phrases joined, split at connectives and signs; a label keeps what it labels."""
    split = list[Clause]()
    for number, sentence in enumerate(found):
        pieces = [(opener, piece) for opener, piece in _pieces(join_phrases(sentence.tokens)) if piece]
        for index, (opener, piece) in enumerate(pieces):
            place = len(split)
            split.append(
                Clause(
                    tuple(piece), opener, place, number, sentence.line, index == 0, index == len(pieces) - 1,
                    place == 0, sentence.asked, sentence.fills_line, sentence.ended,
                )
            )  # fmt: skip
    return split


def _pieces(tokens: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    opener, piece = "", list[str]()
    for at, word in enumerate(tokens):
        if word in STOPS:
            continue
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        if word in LABEL_SIGNS and _is_label(piece, word, after):
            piece.append(":")
        elif word in w.SPLITS and not (word == "so" and after in ("", ".", "much", "is", "does")):
            yield opener, piece
            opener, piece = word if word not in ",()" or not opener or piece else opener, []
        else:
            piece.append(word)
    yield opener, piece


def _is_label(piece: Sequence[str], sign: str, after: str) -> bool:
    """Does a sign after this stand for "is"? After a label of the answer, or between an option and its verdict."""
    if not piece or len(piece) > LONGEST_LABEL or ":" in piece or has(piece, w.NEEDS):
        return False
    before_mark = after[:1] == "«"
    if is_mark(piece[-1]):
        return (before_mark and sign == ":" and "|" in piece[-1]) or after in LABELLED
    if (before_mark or after in ("yes", "no")) and all(word in JUDGING for word in piece):
        return True
    return not has(piece, w.NEGATIONS) and (has(piece, w.LABELS) or has(piece[-2:], w.ANSWERS))
