"""Sentences and clauses of a normalised answer, and the sign of what a clause says.

A token is a lower-case word, a phrase joined by "_", a sign of punctuation, or a mark such as `«B»`: a mention of an
option. `«B+»` is a named option ("caption B"), `«B++»` an option's text restated, `«A|B»` several in one breath.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from reprise.reading import words as w

TOKEN = re.compile(
    r"«[^»\n]*»|\d+(?:st|nd|rd|th)\b|\d+-[A-Za-z]+\b|\d+(?:[.,:]\d+)*%?|[A-Za-z\u00c0-\u024f]+(?:['-][A-Za-z\u00c0-\u024f]+)*|[^\W\d_A-Za-z\u00c0-\u024f]+|[^\w\s]"
)
SENTENCE_END = re.compile(r"(?<=[.!?])(?!(?<=\b[Nn]o\.)\s+\d)(?<!\b[Vv]s\.)(?<!e\.g\.)(?<!i\.e\.)[)\]]{0,3}\s+")
BULLET = re.compile(r"[ \t>]*(?:[-+•▪*]|\d{1,2}[.)])[ \t]+(?=\S)")
DASHES = frozenset("-–—→")
COPULAS = frozenset(("is", "are", "was", "be", ":", "=", "→", "remains", "being"))
HYPHENED = frozenset(("black", "first", "second", "post", "pre"))


class Clause(NamedTuple):
    """The tokens of a clause, what opened it (a connective or a sign) and where it stands."""

    tokens: tuple[str, ...]
    opener: str
    place: int
    sentence: int
    line: int
    is_first: bool  # of its sentence
    is_last: bool  # of its sentence
    asked: bool  # its sentence is a question
    listed: bool  # its line is a list item
    fills_line: bool  # its sentence does
    ended: bool  # its sentence ends as a sentence does


class Sentence(NamedTuple):
    """The tokens of a sentence, and what is known of its line."""

    tokens: list[str]
    line: int
    asked: bool
    listed: bool
    fills_line: bool
    ended: bool


def phrase_table(phrases: frozenset[str]) -> dict[str, list[tuple[str, ...]]]:
    """Phrases by their first word, longest first."""
    table: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        first, *rest = phrase.split("_")
        table.setdefault(first, []).append(tuple(rest))
    return table


PHRASES = phrase_table(w.ALL_PHRASES)


def tokenise(text: str) -> list[str]:
    """The tokens of a text in their own case; a hyphenated word is one unless its parts name a segment."""
    tokens: list[str] = []
    for token in TOKEN.findall(text):
        if "-" in token and token[0].isalpha() and not HYPHENED.isdisjoint(token.lower().split("-")):
            tokens += token.split("-")
        else:
            tokens.append(token)
    return tokens


def lines_of(text: str, bullets: bool) -> Iterator[tuple[str, bool]]:
    """The lines with something on them, without their bullets, and whether they had one."""
    for line in text.split("\n"):
        if line and not line.isspace():
            bullet = BULLET.match(line) if bullets else None
            yield (line[bullet.end() :], True) if bullet else (line, False)


def sentences(text: str, mark: Callable[[list[str]], list[str]], bullets: bool = True) -> list[Sentence]:
    """The sentences of a text, their mentions marked and their phrases joined."""
    found: list[Sentence] = []
    for number, (line, listed) in enumerate(lines_of(text, bullets)):
        parts = [part for part in SENTENCE_END.split(line) if part.strip()]
        for part in parts:
            tokens = join_phrases([_lowered(token) for token in mark(tokenise(part))])
            asked = part.rstrip(" )\"'").endswith("?")
            ended = part.rstrip()[-1] in ".!)?"
            found.append(Sentence(tokens, number, asked, listed, len(parts) == 1, ended))
    return found


def _lowered(token: str) -> str:
    return token if token[0] == "«" else token.lower()


def join_phrases(tokens: Sequence[str]) -> list[str]:
    """Join the words of each known phrase into one token."""
    joined, at = list[str](), 0
    while at < len(tokens):
        token = tokens[at]
        for rest in PHRASES.get(token, ()):
            if tuple(tokens[at + 1 : at + 1 + len(rest)]) == rest:
                joined.append("_".join((token, *rest)))
                at += len(rest)
                break
        else:
            joined.append(_right(tokens, at) if token == "right" else token)
        at += 1
    return joined


# What "right" is when it judges nothing: a side, or "right after".
SIDES = frozenset(("hand", "side", "arm", "leg", "foot", "corner", "turn", "after", "before", "away", "now", "there", "then",
                   "when", "until", "into", "behind", "next", "in", "shoulder", "edge", "half", "lane", "direction", "ear", "eye"))  # fmt: skip
TO_A_SIDE = frozenset(("turn", "turns", "turning", "turned", "left", "his", "her", "to", "from", "moves", "goes", "towards", "toward", "right", "slides", "their", "you", "far", "top", "bottom", "upper", "lower", "swipes", "leans", "steps"))  # fmt: skip


def _right(tokens: Sequence[str], at: int) -> str:
    following = tokens[at + 1] if at + 1 < len(tokens) else ""
    before = tokens[at - 1] if at else ""
    before_the = tokens[at - 2] if at > 1 and before in ("the", "all") else ""
    is_side = following in SIDES or before in TO_A_SIDE or before_the in ("to", "on", "from", "towards", "toward")
    return "right_side" if is_side or before == "all" else "right"


def clauses(found: Sequence[Sentence]) -> list[Clause]:
    """The clauses of sentences, split at connectives and signs; a label keeps what it labels."""
    all_clauses: list[Clause] = []
    for number, sentence in enumerate(found):
        pieces = [(opener, piece) for opener, piece in _pieces(sentence.tokens) if piece]
        for index, (opener, piece) in enumerate(pieces):
            all_clauses.append(
                Clause(
                    tuple(piece), opener, len(all_clauses), number, sentence.line, index == 0, index == len(pieces) - 1,
                    sentence.asked, sentence.listed, sentence.fills_line, sentence.ended,
                )
            )  # fmt: skip
    return all_clauses


def _pieces(tokens: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    opener, piece = "", list[str]()
    for at, token in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else ""
        if token in ".!?":
            continue
        changes = token == "→" and following[:1] == "«" and piece and is_mark(piece[-1])
        if token in (":", "-", "→") and _is_label(piece, following) and not changes:
            piece.append(":")
        elif token in w.SPLITS and not (token == "so" and following in ("", ".", "much")):
            yield opener, piece
            opener, piece = token if token not in ",()" or not opener or piece else opener, []
        else:
            piece.append(token)
    yield opener, piece


def _is_label(piece: Sequence[str], following: str) -> bool:
    """Does a colon after this stand for "is"? After a label of the answer, or between an option and its verdict."""
    if not piece or len(piece) > 7 or ":" in piece or not w.NEEDS.isdisjoint(piece):
        return False
    if piece[-1][0] == "«":
        return following in w.GOOD or following in w.BAD or following in w.NEGATIONS or following[:1] == "«" or following in ("yes", "does", "matches", "is")
    if (following[:1] == "«" or following in ("yes", "no")) and all(token in w.GOOD or token in w.BAD or token in w.NEGATIONS for token in piece):
        return True
    return not w.LABELS.isdisjoint(piece) or not w.ANSWERS.isdisjoint(piece[-2:])


def is_mark(token: str) -> bool:
    return token[0] == "«"


def named(mark: str) -> tuple[str, ...]:
    """The options of a mark."""
    return tuple(mark.strip("«»+").split("|"))


def has(tokens: Sequence[str], kind: frozenset[str]) -> bool:
    return not kind.isdisjoint(tokens)
