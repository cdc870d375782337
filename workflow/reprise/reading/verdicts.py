"""Clauses that judge a caption without the words yes and no: "it is accurate", "the video contradicts it"."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reprise.reading import words as w
from reprise.reading.clauses import Clause, has, is_mark
from reprise.reading.letters import BARE, Context, is_void
from reprise.reading.polarity import FINE, POOR, negated, shows_the_world, sign
from reprise.reading.settle import Claim, changes_mind

OPPOSITES = w.words("opposite, other way round, the other way round, the other way around, reverse, something else, "
                    "something different, vice versa")  # fmt: skip
FLAWS = w.words("""error, errors, mismatch, mismatches, contradiction, contradictions, discrepancy, discrepancies,
    inconsistency, inconsistencies, inaccuracy, inaccuracies, mistake, mistakes, problem, problems, issue, issues, conflict,
    conflicts, difference, differences, deviation, deviations, flaw, flaws, fault, faults, disagreement, wrong, off, differs, differ,
    corrections, corrected""")
# What a clause may hold that speaks of nothing but a caption, a video and how they go together.
KNOWN = BARE | w.VIDEOS | w.WORLD | w.CAPTIONS | w.PRONOUNS | w.RELATES | w.DEPICTS | w.WHOLES | w.ASPECTS | w.DEPICTED | w.LEADING_VERBS | OPPOSITES | FINE | POOR | FLAWS | w.words("needs, need, needed, necessary, required, found, off, out, full, anything, something, changes, elements")  # fmt: skip
FINDS = w.words("there, see, find, found, notice, spot, detect, spotted, detected, noticed, seen, contains, has, have, needed, necessary, required")
SHOWN = w.words("shown, seen, visible, present, depicted, observed, happening, occurs, happens, occur, happen, takes place, take place")
DIRECT = w.words("show, shows, depict, depicts, display, displays, contain, contains, support, supports")
MENTIONS = w.words("mention, mentions, say, include, includes, cover, note, specify")
AGAINST = w.words("contrary to, unlike, in contrast to, opposed to")
STARTS = w.PRONOUNS | w.LEADING_VERBS | w.NEGATIONS | w.GOOD | w.BAD | w.words("something, they, both, two, anything, what")
CONTRASTS = w.words("but, however, yet, whereas, while, though, although")
PARTIAL_AFTER = w.words("about, on, only, until, when, regarding, concerning")
RIGHT = w.words("right, correct, accurate, true, correctly")
WHOLE_NOUNS = w.words("details, events, actions, elements, claims, everything, what, match, description, one, representation, summary, evidence")
MISNAMED = w.words("wrong, different, incorrect, opposite, something else, something different, false, another video")
OBJECTS = frozenset(("this", "that", "it")) | w.CAPTIONS
EITHER = frozenset(("or", "/"))
GONE = w.words("missing, absent, omitted")


class Verdict(NamedTuple):
    """What a clause says of the caption, and whether it speaks of flaws."""

    value: str
    clause: Clause
    of_flaws: bool


def verdicts_of(found: Sequence[Clause]) -> Iterator[Verdict]:
    """The clauses that judge the caption, in their order."""
    context, about, report = Context(), False, None
    last = found[-1].sentence if found else 0
    for clause in found:
        tokens = clause.tokens
        if clause.asked or is_void(clause, context, found) or not tokens or any(map(is_mark, tokens)):
            continue
        behind = found[clause.place - 1].tokens if clause.place else ()
        judged = judge(clause, about, report, len(behind) == 1 and is_mark(behind[0]), clause.sentence == last)
        following = found[clause.place + 1 : clause.place + 2]
        if judged > 0 and following and following[0].sentence == clause.sentence and excepts(following[0]):
            judged = -1
        if has(tokens, w.CAPTIONS) or "described" in tokens:
            about, report = True, clause if is_report(tokens) else None
        elif clause.is_first and tokens[0] not in w.PRONOUNS:
            about = False
        if judged:
            yield Verdict("Yes" if judged > 0 else "No", clause, has(tokens, FLAWS | w.FLAWS))


def judge(clause: Clause, about: bool, report: Clause | None, behind_mark: bool, at_end: bool) -> int:
    """What a clause says of the caption: 1 for right, -1 for wrong, 0 for nothing."""
    tokens = clause.tokens
    if has(tokens, AGAINST) and has(tokens, w.CAPTIONS):
        return -1
    if contrasts(clause, report):
        return -1
    if agrees(tokens):
        return -1 if negated(tokens) else int(at_end)
    if is_shown(tokens):
        return -1 if negated(tokens) else 1
    if has(tokens, GONE) and has(tokens, w.ASPECTS) and not negated(tokens):
        return -1
    if has(tokens, EITHER) and has(tokens, w.GOOD) and has(tokens, w.BAD):
        return 0
    framed = frame(tokens)
    if framed and not all(token in KNOWN for token in tokens):
        return framed
    judged = sign(tokens)
    if clause.opener == "nor":
        judged = -judged
    if not judged and has(tokens, w.VIDEOS) and has(tokens, w.words("implies, imply, implied")):
        judged = -1 if negated(tokens) else 1
    if not judged and has(tokens, w.CAPTIONS) and not is_report(tokens):
        judged = depicts(tokens)
    uncertain = has(tokens, w.MIGHT) and not has(tokens, w.NEGATIONS) and "plausible" not in tokens
    if not judged or uncertain or (omits(tokens) and not has(tokens, w.GOOD)) or tokens in (("error",), ("problem",), ("issue",)):
        return 0
    if judged > 0 and has(tokens, w.EXCEPTS):
        return -1 if has(tokens, w.CAPTIONS | w.WHOLES | w.PRONOUNS) else 0
    if not speaks_of_it(clause, about, behind_mark):
        return 0
    if judged > 0 and has(tokens, w.PARTLY):
        return -1 if "only" in tokens else 0
    partial = judged > 0 and (is_partial(tokens) or (clause.opener == "which" and report is not None))
    return 0 if partial else judged


def frame(tokens: Sequence[str]) -> int:
    """The verdict of "it is true that ...", "it is wrong to say that ...", whatever follows."""
    at = next((at for at, token in enumerate(tokens[:7]) if token in ("that", "to") and at > 1), 0)
    if not at or tokens[0] not in ("it", "is") or "is" not in tokens[:2]:
        return 0
    head = tokens[:at]
    return sign(head) if all(token in KNOWN for token in head) else 0


def speaks_of_it(clause: Clause, about: bool, behind_mark: bool) -> bool:
    """Is it the caption, or how it goes with the video, that a clause judges?"""
    tokens = clause.tokens
    wished = has(tokens, w.words("would, should")) and attributes(tokens)
    if (has(tokens, w.CAPTIONS) and not is_report(tokens) and not wished) or (has(tokens, FLAWS) and has(tokens, FINDS)):
        return True
    starts = tokens[0] in STARTS
    if about and starts and not clause.is_first and clause.opener in ("and", "but", ",", "because", "nor", "which"):
        return True
    known = all(token in KNOWN for token in tokens)
    if tokens[0] == "to" or (has(tokens, w.words("would, should")) and attributes(tokens)):
        return False
    if not known:
        return tokens[0] == "what" and has(tokens, w.CAPTIONS | w.DEPICTED)
    if has(tokens, w.VIDEOS) and has(tokens, w.RELATES):
        return True
    if has(tokens, OPPOSITES) or (behind_mark and has(tokens, FLAWS)):
        return True
    if starts or (tokens[0] in ("i", "we") and has(tokens, OBJECTS)):
        return about or clause.is_first or behind_mark or clause.opener == "which"
    if tokens[0] in w.HEDGES and clause.is_first and clause.is_last:
        return True
    of_all = has(tokens, w.WHOLES) or (has(tokens, w.ASPECTS) and sign(tokens) < 0)
    return of_all or (clause.is_first and clause.is_last and (has(tokens, w.CAPTIONS) or "two" in tokens))


def attributes(tokens: Sequence[str]) -> bool:
    """"A correct caption": an adjective before the noun, which judges no caption at hand."""
    return any(token in w.GOOD | w.BAD and after in w.CAPTIONS for token, after in zip(tokens, tokens[1:], strict=False))


def contrasts(clause: Clause, report: Clause | None) -> bool:
    """"The caption says blue, but the dress is red": is what the caption says set against something else?"""
    if is_report(clause.tokens):
        return clause.opener in CONTRASTS and not clause.is_first
    if report is None or clause.place != report.place + 1 or has(clause.tokens, w.SEEING | w.ADDS):
        own_verdict = clause.opener == "which" and clause.tokens[-2:] in (("does", "not"), ("is", "not"), ("did", "not"))
        return report is not None and own_verdict
    near = clause.sentence == report.sentence and clause.opener in CONTRASTS
    denies = clause.opener == "which" and clause.tokens[-1:] == ("not",)
    return denies or (near and not sign(clause.tokens) > 0)


def agrees(tokens: Sequence[str]) -> bool:
    """"Just as the caption says", "as described"."""
    if has(tokens, w.AGREES):
        return not has(tokens, w.EXCEPTS)
    at = next((at for at, token in enumerate(tokens) if token in ("as", "like", "what")), -1)
    if at < 0 or (tokens[at] == "what" and "is" not in tokens[:at]):
        return False
    rest = tokens[at + 1 :]
    return has(rest, w.SAYS | w.DEPICTED) and (has(rest, w.CAPTIONS) or (tokens[at] == "as" and len(rest) <= 2))


def is_shown(tokens: Sequence[str]) -> bool:
    """Is it said whether the video shows what is described?"""
    described = "described" in tokens or (has(tokens, w.ASPECTS) and has(tokens, w.CAPTIONS) and not is_report(tokens))
    if described and has(tokens, SHOWN):
        return True
    pronoun = tokens[-1] if tokens[-1] not in ("happening", "happen") else tokens[-2:-1]
    direct = has(tokens, w.VIDEOS) and has(tokens, DIRECT) and pronoun in ("this", "that", "it")
    return direct and all(token in KNOWN for token in tokens)


def depicts(tokens: Sequence[str]) -> int:
    """"The caption does not describe the video": a verb that judges by its object."""
    if any(token in w.DEPICTS and shows_the_world(tokens, at) for at, token in enumerate(tokens)):
        return -1 if negated(tokens) else 1
    return 0


def omits(tokens: Sequence[str]) -> bool:
    """Does the caption only leave something out?"""
    return has(tokens, w.OMITS) or (has(tokens, w.NEGATIONS) and has(tokens, MENTIONS) and has(tokens, w.CAPTIONS | {"it"}))


def excepts(clause: Clause) -> bool:
    """Does a clause take something out of what was called right?"""
    return (clause.opener == "except" or has(clause.tokens[:1], w.EXCEPTS)) and not has(clause.tokens, w.SEEING)


def is_report(tokens: Sequence[str]) -> bool:
    """Does a clause only tell what the caption says?"""
    place = max((at for at, token in enumerate(tokens) if token in w.CAPTIONS), default=-1)
    at = place + 1
    while at < len(tokens) and (tokens[at].endswith("ly") or tokens[at] in ("also", "does", "do", "only")):
        if tokens[at] in w.GOOD | w.BAD:
            return False
        at += 1
    if place < 0 or at >= len(tokens) or tokens[at] not in w.SAYS or tokens[at] in ("has", "have", "gets", "needs", "presents", "contains"):
        return False
    if tokens[0] == "what" or has(tokens[at + 1 : at + 3], MISNAMED):
        return False
    return not (tokens[at] in w.DEPICTS and (shows_the_world(tokens, at) or sign(tokens[at + 1 :])))


def is_partial(tokens: Sequence[str]) -> bool:
    """Is only a part of the caption called right?"""
    if has(tokens, w.WHOLES):
        return False
    if has(tokens, w.PARTS) and not has(tokens, w.NEGATIONS):
        return True
    for token, after in zip(tokens, tokens[1:], strict=False):
        if token in RIGHT and (after in PARTIAL_AFTER or after in ("order", "colour", "color", "person", "place", "agent")):
            return True
    within = any(token in ("in", "of", "from") and has(tokens[at + 1 : at + 4], w.CAPTIONS) for at, token in enumerate(tokens))
    return within and not has(tokens, w.NEGATIONS | WHOLE_NOUNS)


def last_verdict(verdicts: Sequence[Verdict], found: Sequence[Clause]) -> str:
    """What the verdicts come to: one flaw makes a caption wrong, unless the answer changes its mind."""
    values = [verdict.value for verdict in verdicts]
    if not values or values.count(values[-1]) == len(values) or values[-1] == "No":
        return values[-1] if values else ""
    last, flaw = verdicts[-1].clause, next(v.clause for v in reversed(verdicts) if v.value == "No")
    turned = changes_mind(found, Claim("No", 1, flaw.place, flaw.sentence), Claim("Yes", 1, last.place, last.sentence))
    return "Yes" if turned or last.opener in ("so", "therefore", "hence", "thus") else ""
