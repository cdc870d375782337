"""What an answer to a multiple-choice question claims: clause by clause, which option it chooses, praises or rejects."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reprise.reading import words as w
from reprise.reading.clauses import COPULAS, Clause, clauses, has, is_mark, named, sentences
from reprise.reading.mentions import mark_letters
from reprise.reading.polarity import negated, shows_the_world, sign
from reprise.reading.settle import EXPLICIT, FINAL, HINTED, STATED, Claim, settle

ABOUT = frozenset("in for with about of under regarding per by to from at concerning according_to as like".split())
BARE = w.FILLERS | w.PICKS | w.ANSWERS | w.HEDGES | w.CONCLUDES | w.NOUNS | w.SEGMENTS | w.TURNS | w.GOOD | w.BAD | w.NEGATIONS | w.COMPARES | frozenset(("can", "could", "may", "might")) | {":", "=", ">", "→", "/", "👉", "+", "-", "#", "&", "neither"}
MARKED_NOUNS = frozenset("one answer option caption choice match description pick winner selection segment part clip fit candidate way".split())
OPENERS = frozenset(("which", "", ",", "so", "but", "therefore", "hence", "thus", "then", "→", "-", ":", ";", "(", "yet", "and", "consequently", "however", "meaning"))
LATE_OPENERS = frozenset(("which", "so", "therefore", "hence", "thus", "then", "→", "but", "consequently"))
EVENT = frozenset("matching it this event events action actions caption match description described sequence".split())
BEGINS = frozenset("starts begins comes appears starting found located".split())
CAPTION_OR_IT = w.CAPTIONS | frozenset(("it", "this"))
ABOUT_VERBS = frozenset("refers refer belongs applies about relates goes pertains".split())
ELLIPSES = frozenset((verb, *denied) for verb in ("does", "is", "did", "has", "can") for denied in ((), ("not",)))
PREFERS = frozenset(("prefer", "preferred", "preferable", "superior", "closer"))
NEXT_BEST = frozenset(("second", "third", "runner-up", "runner"))
POSSIBLE = frozenset(("possible", "viable"))
AGAINST = frozenset(("contrary_to", "unlike", "in_contrast_to"))
RESETS = frozenset(("but", "so", "however", "therefore", "hence", "thus", "yet"))
IGNORES = frozenset("ignore ignores disregard exclude excludes overlook accept count discount forget neglect".split())
DIFFERS = frozenset(("differ", "differs", "different", "same", "identical", "similar"))
CAN = frozenset(("can", "could", "may", "might"))
ABLE = frozenset("can could able possible unable way impossible difficult hard do_not_know difficult not_possible".split())
HARD = frozenset(("impossible", "difficult", "hard"))
EXPLAINS = frozenset(("because", "since", ":", "-", "(", "as", "where", "given_that", "while", "although", "though", "considering", ")", "even_though"))
ADVERBS = frozenset("also does do did still only more most better best is was not really not clearly is has_been be would will can could never".split())
NO_LABEL = frozenset(("is", "has", "does", "was", "or", "can", "could", "would"))
# Adverbs and the like that judge behind any verb: "captures the spill correctly", "has it right".
BEHIND = frozenset("correctly accurately precisely perfectly faithfully incorrectly wrongly inaccurately falsely better best right wrong".split())
HAVING = frozenset(("contains", "contain", "has", "have", "gets", "got", "had", "gives", "puts"))


@dataclass
class Context:
    """The option that the clauses so far are about."""

    subject: str = ""
    sentence: int = -1
    line: int = -1
    reported: bool = False  # whose content was reported last
    void_sentence: int = -1  # where a condition or a draft makes what follows void
    unknown: bool = False  # whether it is void because something cannot be told
    predicate: int = 0  # what the last claim's verb says before it is denied: "does not match" is 1, "is wrong" is -1
    claimed: str = ""  # the option of the last claim
    claim_sentence: int = -1


LABELLED_TICK = re.compile(r"\b([A-F])\s?[.)]\s*(?=[✓✔✅☑✗✘❌✖])")


def read_letters(text: str, options: Sequence[str], segments: bool) -> tuple[str, bool]:
    """The option that a text chooses, and whether it mentions any."""
    text = LABELLED_TICK.sub(r"\1: ", text)
    found = clauses(sentences(text, mark_letters(options, segments)))
    mentions = any(is_mark(token) for clause in found for token in clause.tokens)
    claims = list(claims_of(found, segments)) if mentions else []
    return settle(claims, found, options), mentions


def claims_of(found: Sequence[Clause], segments: bool) -> Iterator[Claim]:
    """The claims of all clauses in their order."""
    context, labels = Context(), enumerated(found)
    for clause in found:
        if not clause.tokens:
            continue
        if is_void(clause, context, found):
            context.subject = ""
            yield from torn_claims(clause)
            continue
        marks = [token for token in clause.tokens if is_mark(token)]
        if clause.asked and not (marks and guesses(clause, found)):
            continue
        yield from torn_claims(clause)
        if marks:
            yield from marked_claims(clause, found, context, labels, segments)
        else:
            yield from inherited_claims(clause, context, segments)


def guesses(clause: Clause, found: Sequence[Clause]) -> bool:
    """Is this the last word of an answer that only dares to ask it: "Maybe A?"?"""
    return clause.place == len(found) - 1 and all(is_mark(token) or token in w.HEDGES for token in clause.tokens)


def enumerated(found: Sequence[Clause]) -> frozenset[int]:
    """The places of clauses that are only labels, as in "A: ... B: ...", where two options or more are listed."""
    labels: dict[int, str] = {}
    for clause, following in zip(found, found[1:], strict=False):
        is_label = len(clause.tokens) == 1 and is_mark(clause.tokens[0]) and clause.opener in ("", ")", ",", "(", "-")
        if is_label and following.opener in (":", ")", "-") or is_label and clause.is_first and clause.is_last and not clause.fills_line:
            labels[clause.place] = clause.tokens[0].strip("«»+")
    return frozenset(labels) if len(set(labels.values())) > 1 else frozenset()


def is_void(clause: Clause, context: Context, found: Sequence[Clause]) -> bool:
    """Does a condition, a draft, or a question that is left open make void what the clause claims?"""
    tokens = clause.tokens
    turns = clause.opener in RESETS or has(tokens, w.TURNS)
    turns = turns or (context.unknown and clause.opener in (";", ":", "-"))
    if turns and clause.sentence == context.void_sentence:
        context.void_sentence = -1
    if conditional(tokens):
        context.void_sentence = clause.sentence
        return True
    if clause.is_first and clause.sentence != context.void_sentence:
        ahead = [later for later in found[clause.place : clause.place + 12] if later.sentence == clause.sentence]
        if len(ahead) > 1 and ahead[1].opener not in RESETS and ahead[1].tokens[:1] and ahead[1].tokens[0] in w.CONDITIONS and conditional(ahead[1].tokens):
            context.void_sentence = clause.sentence
    if has(tokens, w.DRAFTS):
        context.void_sentence = clause.sentence
        return True
    if not_known(tokens):
        context.void_sentence, context.unknown = clause.sentence, True
        return True
    return clause.sentence == context.void_sentence


def conditional(tokens: Sequence[str]) -> bool:
    """Is this a condition? "If I had to choose" is none."""
    for at, token in enumerate(tokens):
        if token in w.CONDITIONS:
            following = tokens[at + 1 : at + 3]
            polite = token == "if" and following[:1] and following[0] in ("i", "we", "so") or following[-1:] in (["ask"], ["look"], ["watch"])
            if not polite or not IGNORES.isdisjoint(tokens[at + 1 : at + 5]):
                return True
    return False


def not_known(tokens: Sequence[str]) -> bool:
    """Does a clause say that something cannot be told, or ask which?"""
    if "whether" in tokens:
        return True
    able = next((at for at, token in enumerate(tokens) if token in ABLE), len(tokens))
    for at, token in enumerate(tokens[able:], able):
        if token in w.KNOWS and not (token == "say" and is_mark((*tokens, " ")[at + 1])):
            return has(tokens[:at], w.NEGATIONS) or has(tokens[:at], HARD)
    return False


def torn_claims(clause: Clause) -> Iterator[Claim]:
    """A clause that says of several options the same, or that it is undecided."""
    marks = [token for token in clause.tokens if is_mark(token)]
    groups = [token for token in marks if "|" in token]
    undecided = has(clause.tokens, w.OPEN_QUESTIONS)
    if undecided and marks:
        yield Claim("", STATED, clause.place, clause.sentence)
    elif clause.opener in w.CONCEDES:
        return
    elif has(clause.tokens, w.MIGHT) and len(marks) == 1 and not has(clause.tokens, w.NEGATIONS | {"only"}) and "more_plausible" not in clause.tokens:
        if has(clause.tokens, frozenset(("also", "too", "either", "be", "equally"))):
            yield Claim("", HINTED, clause.place, clause.sentence)
    elif groups and len(marks) == 1 and not has(clause.tokens, frozenset(("than",))):
        rest = [token for token in clause.tokens if not is_mark(token)]
        if not all(token in BARE for token in rest):
            if sign(rest) > 0 or has(rest, w.MIGHT):
                yield Claim("", HINTED, clause.place, clause.sentence)


def marked_claims(clause: Clause, found: Sequence[Clause], context: Context, labels: frozenset[int], segments: bool) -> Iterator[Claim]:
    """The claims of a clause that mentions options."""
    for winner, head, tail, losers in spans(clause.tokens):
        context.subject, context.sentence, context.line, context.reported = winner, clause.sentence, clause.line, False
        for claim in claims_about(clause, winner, head, tail, losers, found, context, labels, segments):
            denied = has(tail, w.NEGATIONS)
            context.predicate = 1 if claim.rejects == denied else -1
            context.claimed, context.claim_sentence = claim.option, claim.sentence
            yield claim


def spans(tokens: Sequence[str]) -> Iterator[tuple[str, list[str], list[str], list[str]]]:
    """Each option that a clause is about, the words before and after it, and the options that it is compared with."""
    places = [at for at, token in enumerate(tokens) if is_mark(token)]
    # "A or B: B": what was asked goes.
    if len(places) > 1 and "|" in tokens[places[0]] and tokens[places[0] + 1] == ":":
        tokens, places = tokens[places[0] + 2 :], [at - places[0] - 2 for at in places[1:]]
    losers = [at for at in places if _loses(tokens, at)]
    winners = [at for at in places if at not in losers]
    if not winners:
        for at in losers:
            yield "", list(tokens[:at]), list(tokens[at + 1 :]), [tokens[at]]
        return
    for number, at in enumerate(winners):
        start = 0 if number == 0 else winners[number - 1] + 1
        stop = winners[number + 1] if number + 1 < len(winners) else len(tokens)
        head = [token for token in tokens[start:at] if not is_mark(token)] if number == 0 else []
        tail = list(tokens[at + 1 : stop])
        own = [tokens[place] for place in losers if start <= place < stop]
        for place in losers:
            if at < place < stop:
                tail = list(tokens[at + 1 : place])
                break
        yield tokens[at], head, tail, own


def _loses(tokens: Sequence[str], at: int) -> bool:
    """Is this the option that another is compared with: "than A", "rather than caption A", "not A"?"""
    for place in range(at - 1, max(at - 4, -1), -1):
        token = tokens[place]
        if token == "to" and not PREFERS.isdisjoint(tokens[:place]):
            return True
        if token in w.COMPARES:
            return not (token == "over" and place == 0)
        if token == "not" and place == at - 1 and place > 0 and any(is_mark(other) for other in tokens[:place]):
            return True
        if token == "as" and place == at - 1 and "not" in tokens[:place] and any(is_mark(other) for other in tokens[:place]):
            return True
        if is_mark(token) or token not in ("to", "with", "the", "in", "of", "that", "what", "either"):
            return False
    return False


def claims_about(
    clause: Clause, winner: str, head: list[str], tail: list[str], losers: list[str], found: Sequence[Clause],
    context: Context, labels: frozenset[int], segments: bool,
) -> Iterator[Claim]:  # fmt: skip
    """What a clause claims of the option that it is about."""
    place, sentence = clause.place, clause.sentence
    options = named(winner) if winner else ()
    words = head + tail
    rest = [token for token in words if not token[0].isdigit()]
    concluding = clause.opener in LATE_OPENERS or has(head, w.CONCLUDES)
    if not winner:
        if has(head, AGAINST) and "|" not in losers[0]:
            yield Claim(named(losers[0])[0], HINTED, place, sentence, rejects=True)
        return
    if context.predicate and tuple(tail) in ELLIPSES and not head and sentence <= context.claim_sentence + 1 and context.claimed != options[0]:
        yield Claim(options[0], HINTED, place, sentence, rejects=(context.predicate > 0) == ("not" in tail))
        return
    if head and head[0] in NEXT_BEST:
        return
    if winner.endswith("++»"):
        yield from restated_claims(clause, winner, head, tail)
        return
    said = said_of(winner, head, tail, segments)
    bare = all(token in BARE for token in rest) and not (tail and tail[0] in w.SAYS)
    level = 0
    if bare and (said or not has(words, w.SAYS - w.PICKS - w.ANSWERS - w.FILLERS)):
        level = bare_level(clause, found, context, labels, head, tail, winner)
        if not level and said <= 0 and clause.opener in OPENERS and not has(words, w.COMPARES) and head[:1] == ["not"]:
            level = HINTED
        if level:
            if has(words, POSSIBLE) and "only" not in words:
                return
            rejects = said < 0 or (not said and negated(_without_labels(words)))
            if has(words, CAN) and not rejects and "only" not in words and not (said and has(words, w.BAD)):
                return
            yield from _claims(options, level, rejects, place, sentence)
            yield from _lost(losers, rejects, place, sentence)
            return
    label = label_level(head, tail)
    if label:
        yield from _claims(options, label, negated(head), place, sentence)
        return
    if picked(head, tail):
        rejects = negated(head)
        yield from _claims(options, STATED, rejects, place, sentence)
        yield from _lost(losers, rejects, place, sentence)
        return
    conceded = clause.opener in w.CONCEDES and (clause.is_first or clause.opener not in ("while", "whilst"))
    unsure = said > 0 and has(tail[:3], CAN) and "only" not in words
    if said and not (conceded and said > 0) and not unsure:
        strong = concluding or bool(losers) or stands_out(words)
        yield from _claims(options, STATED if strong and said > 0 else HINTED, said < 0, place, sentence)
        yield from _lost(losers, said < 0, place, sentence)
    elif _reports(tail):
        context.reported = True


def restated_claims(clause: Clause, winner: str, head: list[str], tail: list[str]) -> Iterator[Claim]:
    """An option whose text is stated is chosen, unless it is only reported or denied."""
    before = clause.tokens[: clause.tokens.index(winner)]
    reported = has(before, w.SAYS - w.FILLERS) and (has(before, w.CAPTIONS) or any(map(is_mark, before)))
    if reported or (before and is_mark(before[-1])):
        return
    judged = sign([*head, *tail])
    level = EXPLICIT if has(head, w.ANSWERS) or not (head or tail) else STATED
    yield from _claims(named(winner), level, judged < 0 or negated(head), clause.place, clause.sentence)


def _without_labels(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in ("no", "wait")] if words[:1] == ["no"] else list(words)


def _claims(options: Sequence[str], level: int, rejects: bool, place: int, sentence: int) -> Iterator[Claim]:
    """A claim on one option; of several only a rejection says something of each."""
    if len(options) == 1 or rejects:
        yield from (Claim(option, level, place, sentence, rejects) for option in options)
    else:
        yield Claim("", level, place, sentence)


def _lost(losers: Sequence[str], rejects: bool, place: int, sentence: int) -> Iterator[Claim]:
    """What a comparison says of the others: the opposite."""
    for loser in losers:
        if "|" not in loser:
            yield Claim(named(loser)[0], STATED, place, sentence, rejects=not rejects)


def bare_level(
    clause: Clause, found: Sequence[Clause], context: Context, labels: frozenset[int], head: list[str], tail: list[str], winner: str
) -> int:
    """How strongly a clause chooses that is nothing but an option and words that add nothing."""
    if clause.place in labels:
        return 0
    following = found[clause.place + 1] if clause.place + 1 < len(found) and not clause.is_last else None
    whole = clause.is_first and clause.is_last
    topical = bool(head) and head[0] in ABOUT
    has_claim = has(head + tail, w.PICKS | w.ANSWERS | w.GOOD | w.BAD | w.CONCLUDES | {"is", "be"})
    if topical and not whole and not has(head, w.PICKS | {"is"}):
        return 0
    if clause.opener not in OPENERS:
        return 0
    is_first_said = not any(earlier.tokens for earlier in found[: clause.place])
    if has(head, w.FINALS) and has_claim:
        return FINAL
    if whole:
        if is_first_said or clause.fills_line:
            return EXPLICIT
        return 0 if "+" in winner and not has_claim and not clause.ended else STATED
    if is_first_said and following is not None:
        goes_on = following.opener in (",", "(", ")") and following.tokens and (following.tokens[0] in w.SAYS | w.DEPICTS or following.tokens[0] in ("is", "was", "does", "has"))
        return 0 if goes_on and not has_claim else EXPLICIT
    if has_claim or clause.is_last or clause.opener in LATE_OPENERS or (following is not None and following.opener in EXPLAINS):
        if clause.is_first and not has_claim and following is not None and following.opener in (",", "while", "although", "though"):
            return 0
        return STATED
    return 0


def label_level(head: Sequence[str], tail: Sequence[str]) -> int:
    """How strongly an option is named as the answer, as in "the caption that best describes this video is B"."""
    if not head or head[-1] not in COPULAS and not (len(head) > 1 and head[-2] in COPULAS) and not (len(head) > 2 and head[-3] in COPULAS):
        return 0
    if tail and (tail[0] in NO_LABEL or tail[0] in w.SAYS):
        return 0
    last = max(at for at, token in enumerate(head) if token in COPULAS)
    if any(token not in BARE for token in head[last + 1 :]):
        return 0
    subject = head[:last]
    if not has(subject, w.ANSWERS) or (len(subject) > 9 and not has(subject[:6], w.ANSWERS)):
        return 0
    return FINAL if has(subject, w.FINALS) else EXPLICIT


def picked(head: Sequence[str], tail: Sequence[str]) -> bool:
    """Does somebody choose: "I would go with B", or has the video it: "... makes A the right one"?"""
    for at in range(len(head) - 1, max(len(head) - 5, -1), -1):
        if head[at] in w.PICKS:
            speaker = head[max(0, at - 5) : at]
            other = has(speaker, frozenset(("he", "she", "they", "man", "woman", "one", "people", "you", "someone", "caption")))
            return not other and (has(speaker, frozenset(("i", "we", "would", "must", "me"))) or at == 0 or head[at] in ("leaves", "leaving", "leaves_us_with"))
        if head[at] not in BARE:
            return False
    return False


def said_of(winner: str, head: Sequence[str], tail: Sequence[str], segments: bool) -> int:
    """What the words around an option say of it: 1 for good, -1 for bad, 0 for nothing."""
    tail = list(tail)
    if tail[:1] == [":"]:
        if tail[1:2] in (["yes"], ["no"]) :
            return 1 if tail[1] == "yes" else -1
        tail = tail[1:]
    at = 0
    while at < len(tail) and (tail[at].endswith("ly") or tail[at] in ADVERBS):
        at += 1
    verb = tail[at] if at < len(tail) else ""
    if verb in w.SAYS and verb not in HAVING:
        judged = has(tail[at + 1 :], BEHIND) and (verb in w.DEPICTS or tail[-1] in BEHIND)
        world = judged or verb in w.DEPICTS and (shows_the_world(tail, at) or (segments and _shows_the_caption(tail, at)))
        if not world and not has(tail[:at], w.GOOD | w.BAD):
            if "what" in head and "is" in head or (head[-1:] in (["what"], ["as"]) and len(head) > 1):
                return -1 if negated(head) else 1
            if segments and has(tail[at:], w.CAPTIONS) and sign(tail):
                return sign(tail)
            return 0
        if world and not sign(tail):
            return -1 if negated(list(head) + tail) else 1
    if segments and not tail and has(head, EVENT) and (has(head, BEGINS) or ("in" in head[-2:] and "is" in head)):
        return -1 if negated(head) else 1
    if segments and head[-2:-1] == ["only"] and head[-1] == "in":
        return -1 if negated(head) else 1
    if segments and has(head, CAPTION_OR_IT) and (has(head, w.DEPICTS) or has(head, ABOUT_VERBS)):
        return -1 if negated(head) else 1
    if segments and has(tail, w.DEPICTED) and ("one" in tail or has(tail, w.CAPTIONS) or tail == ["is", "described"]):
        return -1 if negated([*head, *tail]) else 1
    if "|" in winner and has(tail, DIFFERS):
        return 0
    if has([*head, *tail], w.AGREES):
        return -1 if negated([*head, *tail]) else 1
    found = sign([*head, *tail])
    if found > 0 and has(tail, w.PARTLY):
        return 0
    if found or verb in w.OMITS:
        return found or (1 if negated(tail) else -1)
    if head[:1] and head[0] in ("this", "that", "which") and "is" in head and head[-1] in ("in", "of"):
        return -1 if negated(head) else 1
    if head[-3:] == ["is", "what"] or (len(head) > 1 and head[-1] == "what" and "is" in head):
        return -1 if negated(head) else 1
    return 0


def _shows_the_caption(tail: Sequence[str], at: int) -> bool:
    return has(tail[at + 1 : at + 6], w.CAPTIONS | {"this", "order", "described", "sequence", "that"})


def _reports(tail: Sequence[str]) -> bool:
    return any(token in w.SAYS for token in tail[:3])


def stands_out(words: Sequence[str]) -> bool:
    """Is the option the better one, or "the right one"?"""
    if has(words, frozenset(("better", "best", "closer", "closest", "superior", "preferable", "only", "more", "most", "more_likely", "strongest", "worse", "likelier", "makes_more_sense", "makes_the_most_sense", "wins"))):
        return True
    return any(word in w.GOOD and following in MARKED_NOUNS for word, following in zip(words, words[1:], strict=False))


def inherited_claims(clause: Clause, context: Context, segments: bool) -> Iterator[Claim]:
    """What a clause that mentions no option says of the one before it: "..., which is wrong", "it is correct"."""
    tokens = list(clause.tokens)
    if not context.subject or "|" in context.subject or clause.line != context.line or clause.sentence > context.sentence + 1:
        return
    first = tokens[0]
    linked = has(tokens, w.AGREES) or first in w.LEADING_VERBS or first in ("it", "this", "that", "these") or first in w.NEGATIONS or first in w.GOOD or first in w.BAD or first in w.HEDGES
    topical = clause.sentence == context.sentence and not context.reported and (clause.opener in (",", ":", "", "-", ")"))
    same = clause.sentence == context.sentence or clause.is_first
    found = sign(tokens)
    topical = topical or (clause.opener in ("but", "and") and tokens[-1] in ("right", "wrong", "backwards") and not first in ("it", "the_answer"))
    if segments and (has(tokens, w.AGREES) or (first == "as" and has(tokens, w.CAPTIONS))):
        found = found or 1
    if found and same and (linked or topical):
        yield Claim(named(context.subject)[0], HINTED, clause.place, clause.sentence, rejects=found < 0)
