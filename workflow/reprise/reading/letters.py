"""What an answer to a multiple-choice question claims: which option each clause chooses, praises or rejects."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from reprise.reading import words as w
from reprise.reading.choices import LATE_OPENERS, OPENERS, bare_level, is_bare, is_picked, label_level
from reprise.reading.clauses import STUTTER, Clause, Sentence, clauses, has, is_mark, named, sentences
from reprise.reading.mentions import mark_letters
from reprise.reading.normalise import KEPT
from reprise.reading.polarity import negated, said_of, sign, stands_out
from reprise.reading.scope import Scope
from reprise.reading.settle import EXPLICIT, HINTED, STATED, Claim, settle

LABELLED_TICK = re.compile(r"\b([A-F])\s?[.)]\s*(?=[✓✔✅☑✗✘❌✖])")
ELLIPSES = frozenset((verb, *no) for verb in ("does", "is", "did", "has", "can") for no in ((), ("not",)))
PREFERS = w.words("prefer, preferred, preferable, superior, closer")
BEFORE_LOSER = w.words("to, with, the, in, of, that, what, either")
NEXT_BEST = w.words("second, third, runner-up, runner")
POINTS_BACK = w.words("as, just, like, exactly")
LIKEWISE = w.words("is, does")
POSSIBLE = w.words("possible, viable")
AGAINST = w.words("contrary to, unlike, in contrast to")
ALSO = w.words("also, too, either, be, equally")
REPORTS = w.SAYS - w.PICKS - w.ANSWERS - w.FILLERS
LABEL_OPENERS = frozenset(("", ")", ",", "(", "-"))
LINKS = frozenset().union(
    w.LEADING_VERBS, w.NEGATIONS, w.GOOD, w.BAD, w.HEDGES, ("it", "this", "that", "these")
)  # what links a clause to the option of the one before


TURN_STARTS = frozenset(phrase.split("_")[0] for phrase in w.TURNS) - {"i", "on"}


class Span(NamedTuple):
    """An option that a clause is about, the words before and after it, and the options that it is compared with."""

    mark: str
    head: tuple[str, ...]
    tail: tuple[str, ...]
    losers: tuple[str, ...]


@dataclass
class Context:
    """The option that the clauses so far are about, and what the last claim said."""

    scope: Scope = field(default_factory=Scope)
    subject: str = ""
    supposed: tuple[int, str] = (-1, "")  # the sentence that supposes an option to be right, and the option
    sentence: int = -1
    line: int = -1
    reported: bool = False  # whether its content was reported last
    claimed: Claim | None = None
    predicate: int = 0  # what the last claim's verb says before it is denied: "does not match" is 1, "is wrong" is -1


@lru_cache(KEPT)
def read_letters(text: str, options: tuple[str, ...], segments: bool) -> tuple[str, bool]:
    """The option that a text chooses, and whether it mentions any."""
    marked = sentences(LABELLED_TICK.sub(r"\1: ", text), mark_letters(options, segments))
    if not any(is_mark(word) for sentence in marked for word in sentence.tokens):
        return "", False
    found = clauses(list(without_idle(marked)))
    return settle(list(claims_of(found, segments)), found, options), True


def without_idle(marked: Sequence[Sentence]) -> Iterator[Sentence]:
    """Sentences, emptied where they neither mention an option, nor follow one that does, nor may change the mind."""
    follows = True
    for sentence in marked:
        mentions = any(map(is_mark, sentence.tokens))
        idle = not (mentions or follows) and TURN_STARTS.isdisjoint(sentence.tokens)
        yield sentence._replace(tokens=[]) if idle else sentence
        follows = mentions


def claims_of(found: Sequence[Clause], segments: bool) -> Iterator[Claim]:
    """The claims of all clauses in their order."""
    context, labels = Context(), enumerated(found)
    for clause in found:
        marks = [word for word in clause.tokens if is_mark(word)]
        is_listed_text = clause.place - 1 in labels and len(clause.tokens) == 1 and clause.tokens[0].endswith("++»")
        if not clause.tokens or is_listed_text:
            continue
        if clause.sentence == context.supposed[0] and clause.opener in w.BUTS and not marks:
            yield Claim(context.supposed[1], HINTED, clause.place, clause.sentence, rejects=True)
        if context.scope.is_void(clause, found):
            context.subject = ""
            if len(marks) == 1 and "|" not in marks[0] and "would" in clause.tokens and sign(clause.tokens) > 0:
                context.supposed = (clause.sentence, named(marks[0])[0])  # "B would be right if the car stopped"
            yield from torn_claims(clause, marks)
        elif not clause.asked or (marks and guesses(clause, found)):
            yield from torn_claims(clause, marks)
            if marks:
                yield from marked_claims(clause, found, context, labels, segments)
            elif context.subject:
                yield from inherited_claims(clause, context, segments)


def guesses(clause: Clause, found: Sequence[Clause]) -> bool:
    """Is this the last word of an answer that only dares to ask it: "Maybe A?"?"""
    return clause.place == len(found) - 1 and all(is_mark(word) or word in w.HEDGES for word in clause.tokens)


def enumerated(found: Sequence[Clause]) -> frozenset[int]:
    """The places of clauses that are only labels, as in "A: ... B: ...", where two options or more are listed."""
    labels: dict[int, str] = {}
    for clause, following in pairwise(found):
        if len(clause.tokens) == 1 and is_mark(clause.tokens[0]) and clause.opener in LABEL_OPENERS:
            stands_out = clause.is_first and clause.is_last and not clause.fills_line
            if stands_out or following.opener in (":", ")", "-"):
                labels[clause.place] = clause.tokens[0].strip("«»+")
    return frozenset(labels) if len(set(labels.values())) > 1 else frozenset()


def torn_claims(clause: Clause, marks: Sequence[str]) -> Iterator[Claim]:
    """A clause that says of several options the same, or that it is undecided."""
    tokens = clause.tokens
    if tokens[:1] == ("so",) and has(tokens[1:2], LIKEWISE):
        yield Claim("", EXPLICIT, clause.place, clause.sentence)  # "A is possible, and so is B"
    if not marks or (len(marks) > 1 and w.OPEN_QUESTIONS.isdisjoint(tokens)):
        if len(set(marks)) > 1 and "or" in tokens and has(tokens, w.MIGHT):
            yield Claim("", EXPLICIT, clause.place, clause.sentence)
        return
    if has(tokens, w.OPEN_QUESTIONS):
        yield Claim("", STATED, clause.place, clause.sentence)
    elif clause.opener not in w.CONCEDES:
        might = has(tokens, w.MIGHT) and not has(tokens, w.NEGATIONS) and "only" not in tokens
        rest = [word for word in tokens if not is_mark(word)]
        of_all = "|" in marks[0] and "than" not in tokens and not is_bare(rest)
        if (might and has(tokens, ALSO)) or (of_all and (sign(rest) > 0 or has(rest, w.MIGHT))):
            yield Claim("", HINTED, clause.place, clause.sentence)


def marked_claims(
    clause: Clause, found: Sequence[Clause], context: Context, labels: frozenset[int], segments: bool
) -> Iterator[Claim]:
    """The claims of a clause that mentions options."""
    for span in spans(clause.tokens):
        context.subject, context.sentence, context.line, context.reported = (
            span.mark, clause.sentence, clause.line, False,
        )  # fmt: skip
        for claim in claims_about(span, clause, found, context, labels, segments):
            context.predicate = 1 if claim.rejects == has(span.tail, w.NEGATIONS) else -1
            context.claimed = claim
            yield claim


def spans(tokens: Sequence[str]) -> Iterator[Span]:
    """Each option that a clause is about; where there is none, those that others are set against."""
    places = [at for at, word in enumerate(tokens) if is_mark(word)]
    if len(places) > STUTTER:
        return
    if len(places) > 1 and "|" in tokens[places[0]] and tokens[places[0] + 1] == ":":
        tokens = tokens[places[0] + 2 :]  # "A or B: B": what was asked goes
        places = [at for at, word in enumerate(tokens) if is_mark(word)]
    losers = [at for at in places if len(tokens) > 1 and _loses(tokens, at)]
    winners = [at for at in places if at not in losers]
    if not winners:
        yield from (Span("", tuple(tokens[:at]), tuple(tokens[at + 1 :]), (tokens[at],)) for at in losers)
    for number, at in enumerate(winners):
        start = winners[number - 1] + 1 if number else 0
        stop = winners[number + 1] if number + 1 < len(winners) else len(tokens)
        head = tuple(word for word in tokens[start:at] if not is_mark(word)) if not number else ()
        own = [place for place in losers if start <= place < stop]
        end = next((place for place in own if place > at), stop)
        yield Span(tokens[at], head, tuple(tokens[at + 1 : end]), tuple(tokens[place] for place in own))


def _loses(tokens: Sequence[str], at: int) -> bool:
    """Is this the option that another is compared with: "than A", "rather than caption A", "not A"?"""
    for place in range(at - 1, max(at - 4, -1), -1):
        word = tokens[place]
        if word == "to" and has(tokens[:place], PREFERS):
            return True
        if word in w.COMPARES:
            return not (word == "over" and place == 0)
        beside = place == at - 1 and any(map(is_mark, tokens[:place]))
        if beside and (word == "not" or (word == "as" and "not" in tokens[:place])):
            return True
        if is_mark(word) or word not in BEFORE_LOSER:
            return False
    return False


def claims_about(
    span: Span, clause: Clause, found: Sequence[Clause], context: Context, labels: frozenset[int], segments: bool
) -> Iterator[Claim]:
    """What a clause claims of the option that it is about."""
    mark, head, tail, losers = span
    if not mark:
        if has(head, AGAINST) and "|" not in losers[0]:
            yield Claim(named(losers[0])[0], HINTED, clause.place, clause.sentence, rejects=True)
        return
    if is_elliptic(span, clause, context):
        rejects = (context.predicate > 0) == ("not" in tail)
        yield Claim(named(mark)[0], HINTED, clause.place, clause.sentence, rejects)
    elif has(head[:1], NEXT_BEST):
        return
    elif mark.endswith("++»"):
        yield from restated_claims(span, clause)
    else:
        yield from stated_claims(span, clause, found, context, clause.place in labels, segments)


def is_elliptic(span: Span, clause: Clause, context: Context) -> bool:
    """Is this "B does not", after something was said of another option?"""
    last = context.claimed
    near = last is not None and clause.sentence <= last.sentence + 1 and last.option != named(span.mark)[0]
    return near and context.predicate != 0 and not span.head and span.tail in ELLIPSES


def restated_claims(span: Span, clause: Clause) -> Iterator[Claim]:
    """An option whose text is stated is chosen, unless it is only reported or denied."""
    before = clause.tokens[: clause.tokens.index(span.mark)]
    reported = has(before, w.SAYS - w.FILLERS) and (has(before, w.CAPTIONS) or any(map(is_mark, before)))
    if not reported and not (before and is_mark(before[-1])):
        rejects = sign((*span.head, *span.tail)) < 0 or negated(span.head)
        explicit = has(span.head, w.ANSWERS) or not (span.head or span.tail)
        yield from _claims(span, EXPLICIT if explicit else STATED, rejects, clause)


def stated_claims(
    span: Span, clause: Clause, found: Sequence[Clause], context: Context, is_label: bool, segments: bool
) -> Iterator[Claim]:
    """What the words around an option claim of it."""
    mark, head, tail, _ = span
    if "see" in head and has(head, w.CAN):
        return
    words = head + tail
    said = said_of(mark, head, tail, segments)
    if is_bare(words) and not has(tail[:1], w.SAYS) and (said or not has(words, REPORTS)):
        level = 0 if is_label else bare_level(clause, found, head, words, mark)
        if not level and said <= 0 and clause.opener in OPENERS and not has(words, w.COMPARES) and head[:1] == ("not",):
            level = HINTED
        if level:
            yield from bare_claims(span, said, max(level, label_level(head, tail)), clause)
            return
    level = label_level(head, tail)
    if level:
        yield from _claims(span._replace(losers=()), level, negated(head), clause)
    elif is_picked(head):
        yield from _claims(span, STATED, negated(head), clause)
    elif said < 0:
        yield from _claims(span, HINTED, True, clause)
    elif said and not is_conceded(clause) and not (has(tail[:3], w.CAN) and "only" not in words):
        strong = clause.opener in LATE_OPENERS or has(head, w.CONCLUDES) or span.losers or stands_out(words)
        yield from _claims(span, STATED if strong else HINTED, False, clause)
    else:
        context.reported = has(tail[:3], w.SAYS)


def bare_claims(span: Span, said: int, level: int, clause: Clause) -> Iterator[Claim]:
    """A choice in words that add nothing; what is only possible is none."""
    words = span.head + span.tail
    plain = tuple(word for word in words if word not in ("no", "wait")) if words[:1] == ("no",) else words
    rejects = said < 0 or (not said and negated(plain))
    surely = "only" in words
    if (has(words, POSSIBLE) and not surely) or (has(words, w.PARTLY) and not rejects):
        return
    if rejects or surely or not has(words, w.CAN) or (said and has(words, w.BAD)):
        yield from _claims(span, level, rejects, clause)


def is_conceded(clause: Clause) -> bool:
    """Is a clause only granted: "although A is right about the door"?"""
    return clause.opener in w.CONCEDES and (clause.is_first or clause.opener not in ("while", "whilst"))


def _claims(span: Span, level: int, rejects: bool, clause: Clause) -> Iterator[Claim]:
    """A claim on one option, of several only a rejection; and of those that it is compared with the opposite."""
    options = named(span.mark)
    for option in options if len(options) == 1 or rejects else ("",):
        yield Claim(option, level, clause.place, clause.sentence, rejects)
    for loser in span.losers:
        if "|" not in loser:
            yield Claim(named(loser)[0], STATED, clause.place, clause.sentence, rejects=not rejects)


def inherited_claims(clause: Clause, context: Context, segments: bool) -> Iterator[Claim]:
    """What a clause that mentions no option says of the one before it: "..., which is wrong", "it is correct"."""
    tokens, same = clause.tokens, clause.sentence == context.sentence
    if clause.opener == "even_if":
        return
    near = same or (clause.is_first and clause.sentence == context.sentence + 1)
    if "|" in context.subject or clause.line != context.line or not near:
        return
    linked = tokens[0] in LINKS or has(tokens, w.AGREES)
    topical = same and not context.reported and clause.opener in (",", ":", "", "-", ")")
    contrasted = clause.opener in ("but", "and") and tokens[-1] in ("right", "wrong", "backwards") and tokens[0] != "it"
    if context.reported and same and clause.opener == "but" and not has(tokens, w.ADDS) and sign(tokens) <= 0:
        yield Claim(named(context.subject)[0], HINTED, clause.place, clause.sentence, rejects=True)
        return  # "A says he sighs, but he laughs"
    found = sign(tokens)
    points_back = clause.opener == "which" or tokens[0] in POINTS_BACK
    if segments and (has(tokens, w.AGREES) or (points_back and has(tokens, w.CAPTIONS))):
        found = found or (-1 if negated(tokens) else 1)
    if found and (linked or topical or contrasted):
        option = named(context.subject)[0]
        yield Claim(option, HINTED, clause.place, clause.sentence, rejects=found < 0)
