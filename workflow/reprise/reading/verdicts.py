"""Clauses that judge a caption without the words yes and no: "it is accurate", "the video contradicts it"."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from reprise.reading import words as w
from reprise.reading.choices import BARE
from reprise.reading.clauses import Clause, has, is_mark
from reprise.reading.polarity import FINE, POOR, denies_content, negated, shows_the_world, sign
from reprise.reading.scope import Scope
from reprise.reading.settle import Claim, Turns

OPPOSITES = w.words("""
    opposite, other way round, the other way round, the other way around, reverse, something else, something
    different, vice versa
""")
FLAWS = w.words("""
    error, errors, mismatch, mismatches, contradiction, contradictions, discrepancy, discrepancies, inconsistency,
    inconsistencies, inaccuracy, inaccuracies, mistake, mistakes, problem, problems, issue, issues, conflict,
    conflicts, difference, differences, deviation, deviations, flaw, flaws, fault, faults, disagreement, wrong, off,
    differs, differ, corrections, corrected
""")
ALL_FLAWS = FLAWS | w.FLAWS
NO_FLAWS = (("error",), ("problem",), ("issue",))  # alone they may be a machine's message
FINDS = w.words("""
    there, see, find, found, notice, spot, detect, spotted, detected, noticed, seen, contains, has, have, needed,
    necessary, required
""")
# What a clause may hold that speaks of nothing but a caption, a video and how they go together.
KNOWN = frozenset().union(
    BARE, w.VIDEOS, w.WORLD, w.PARTS, w.CAPTIONS, w.PRONOUNS, w.RELATES, w.DEPICTS, w.WHOLES, w.ASPECTS, w.DEPICTED,
    w.LEADING_VERBS, OPPOSITES, FINE, POOR, FLAWS,
    w.words("needs, need, needed, necessary, required, found, speaks, off, out, full, anything, something, changes"),
    w.words("elements"),
)  # fmt: skip
STARTS = frozenset().union(
    w.PRONOUNS, w.LEADING_VERBS, w.NEGATIONS, w.GOOD, w.BAD, w.words("something, they, both, two, anything, what")
)
SHOWN = w.words("""
    shown, seen, visible, present, depicted, observed, happening, occurs, happens, occur, happen, takes place, take
    place
""")
DIRECT = w.words("show, shows, depict, depicts, display, displays, contain, contains, support, supports")
IMPLIES = w.words("implies, imply, implied")
SUGGESTS = w.words("suggests, suggest, indicates, indicate, shows that, evidence that")
MENTIONS = w.words("mention, mentions, say, include, includes, cover, note, specify")
AGAINST = w.words("contrary to, unlike, in contrast to, opposed to")
CONTRASTS = w.words("but, however, yet, whereas, while, though, although")
FOLLOWS = frozenset(("and", "but", ",", "because", "nor", "which"))
RIGHT = w.words("right, correct, accurate, true, correctly")
PARTIAL_AFTER = w.words("""
    about, on, only, until, when, regarding, concerning, order, colour, color, person, place, agent
""")
SPEAKERS, INSTEAD = w.words("i, we"), w.words("instead of, rather than")
WHOLE_NOUNS = w.NEGATIONS | w.words("""
    details, events, actions, elements, claims, everything, what, match, description, one, representation, summary,
    evidence
""")
MISNAMED = w.words("wrong, different, incorrect, opposite, something else, something different, false, another video")
ALL_BUT = w.words("all but, everything but, everything except, all except")
SEES = w.words("see, notice, observe, find, spot")
NOTHING_SEEN = (
    w.VIDEOS
    | w.CAPTIONS
    | w.words("""
    why, how, what, where, image, images, attachment, picture, reason, way, anything, nothing, much, well, options,
    question
""")
)
DENYING = w.words("not, never, nowhere, evidence, sign")  # "there are no people in the video" may only describe
UNCLEAR = w.words("clear, clearly, enough, sufficient, full, fully, sure, end, more")
OF_IT_ALL = w.CAPTIONS | w.WHOLES | w.PRONOUNS
POINTING = w.words("this, that, it")
OBJECTS = POINTING | w.CAPTIONS
JUDGED = w.GOOD | w.BAD
EITHER, WISHES, WITHIN = frozenset(("or", "/")), w.words("would, should"), w.words("in, of, from")
GONE = w.words("missing, absent, omitted")
DENIALS = (("does", "not"), ("is", "not"), ("did", "not"))
NO_REPORTS = w.words("has, have, gets, needs, presents, contains")
SEEMS = w.words("appear, appears, seem, seems, look, looks")
AUXILIARIES, SUBJECTS = w.words("does, do, did, is, are, was"), w.PRONOUNS | w.VIDEOS | w.CAPTIONS
AFTER_AUXILIARY = w.words("not, so, exactly, that, just, this, indeed")
STANCES = w.words("""
    sadly, unfortunately, regrettably, i, we, am, are, of course, surely, apparently, it, seems, looks, like, appears,
    guess, suppose, think, believe, afraid, can, say, with, i guess, i think, i believe, i suppose, confidence,
    confident, certain, sure, that, would, quite, pretty, fairly, very, must, have, have to, clearly, indeed, do, the,
    presumably, evidently, in, my, opinion
""")
REPORTS = w.words("says, states, claims, mentions, said, describes, suggests")
SKIPPED = w.words("also, does, do, only")


class Verdict(NamedTuple):
    """What a clause says of the caption, and whether it speaks of flaws."""

    value: str
    clause: Clause
    of_flaws: bool


class Around(NamedTuple):
    """What stands around a clause."""

    about: bool  # a caption was spoken of before
    report: Clause | None  # the clause before it that tells what the caption says
    behind_mark: bool  # it follows a yes or a no
    at_end: bool  # it is in the last sentence


def verdicts_of(found: Sequence[Clause]) -> Iterator[Verdict]:
    """The clauses that judge the caption, in their order."""
    scope, about, report, supposed = Scope(), False, None, -1
    for clause in found:
        tokens = clause.tokens
        void = clause.asked or scope.is_void(clause, found)
        if (void and "would" in tokens and sign(tokens) > 0) or is_nearly_right(tokens):
            supposed = clause.sentence
        if void or any(map(is_mark, tokens)):
            continue
        if clause.sentence == supposed and clause.opener in w.BUTS and not (omits(tokens) or has(tokens, w.SEEING)):
            yield Verdict("No", clause, False)  # "it would be right if he knelt, but he stands"
        behind = found[clause.place - 1].tokens if clause.place else ()
        behind_mark = len(behind) == 1 and is_mark(behind[0])
        judged = judge(clause, Around(about, report, behind_mark, clause.sentence == found[-1].sentence))
        beside = [found[clause.place - 1]] if not clause.is_first else []
        if judged > 0 and any(map(excepts, beside if clause.is_last else [*beside, found[clause.place + 1]])):
            judged = -1
        if has(tokens, w.CAPTIONS) or "described" in tokens or is_report(tokens):
            about, report = True, clause if is_report(tokens) else None
        elif clause.is_first and tokens[0] not in w.PRONOUNS:
            about = False
        if judged:
            yield Verdict("Yes" if judged > 0 else "No", clause, has(tokens, ALL_FLAWS))


def ellipsis(tokens: Sequence[str]) -> int:
    """What "it does", "I do not think that he did", "no doubt it is" amounts to, as a sign."""
    verbs = AUXILIARIES | SEEMS if tokens[-1] == "so" else AUXILIARIES
    at = next((at for at in range(len(tokens) - 1, 0, -1) if tokens[at] in verbs), 0)
    head = [word for word in tokens[:at] if not word.endswith("ly") and word not in w.HEDGES]
    spoken_of = [word for word in head if word not in w.NEGATIONS and word not in AUXILIARIES]
    if not spoken_of or spoken_of[-1] not in SUBJECTS or not all(word in AFTER_AUXILIARY for word in tokens[at + 1 :]):
        return 0
    known = STANCES | w.NEGATIONS | AUXILIARIES | SUBJECTS | {"doubt"}
    if not known.issuperset(head):
        return 0
    return -1 if sum(word in w.NEGATIONS or word == "doubt" for word in tokens) % 2 else 1


def judge(clause: Clause, around: Around) -> int:
    """What a clause says of the caption: 1 for right, -1 for wrong, 0 for nothing."""
    tokens = clause.tokens
    left_out = ellipsis(tokens) if around.report is not None else 0
    if left_out:
        return left_out  # "the caption says that he bows, and he does"
    against = has(tokens, AGAINST) and has(tokens, w.CAPTIONS)
    against |= tokens[0] == "wrong" and clause.is_first and clause.is_last and len(tokens) <= 3  # "wrong dog"
    against |= tokens[0] in w.NEGATIONS and has(tokens, w.VIDEOS) and has(tokens, SUGGESTS)  # "nothing suggests that"
    gone = has(tokens, GONE) and (has(tokens, w.ASPECTS) or tokens[-1] in GONE) and not negated(tokens)
    halved = clause.opener in CONTRASTS and has(tokens, w.PARTS) and tokens[-2:] in DENIALS
    if against or gone or halved or contrasts(clause, around.report):
        return -1
    if agrees(tokens):
        return -1 if negated(tokens) else int(around.at_end)
    if is_shown(tokens):
        return -1 if negated(tokens) else 1
    if has(tokens, EITHER) and has(tokens, w.GOOD) and has(tokens, w.BAD):
        return 0  # "true or false"
    framed = frame(tokens)
    if framed and not is_known(tokens):
        return 0 if framed > 0 and clause.opener in CONTRASTS else framed
    judged = -sign(tokens) if clause.opener == "nor" else sign(tokens) or related(tokens)
    uncertain = has(tokens, w.MIGHT) and not has(tokens, w.NEGATIONS) and "plausible" not in tokens
    uncertain |= has(tokens, EITHER) and has(tokens, w.MIGHT)
    if (
        not judged
        or uncertain
        or (omits(tokens) and not (has(tokens, JUDGED) or related(tokens)))
        or tokens in NO_FLAWS
        or ("no", "video") in pairwise(tokens)
    ):
        return 0
    if judged > 0 and has(tokens, w.EXCEPTS):
        return -1 if has(tokens, OF_IT_ALL) else 0
    if not speaks_of_it(clause, around):
        return 0
    if judged > 0 and has(tokens, w.PARTLY):
        return -1 if "only" in tokens else 0
    partial = is_partial(tokens) or (clause.opener == "which" and around.report is not None)
    return (-1 if "only" in tokens[:2] else 0) if judged > 0 and partial else judged


def is_known(tokens: Sequence[str]) -> bool:
    return all(word in KNOWN for word in tokens)


def related(tokens: Sequence[str]) -> int:
    """The verdict of a verb that judges by its object: "the caption does not describe the video"."""
    implies = has(tokens, w.VIDEOS) and has(tokens, IMPLIES)
    depicts = has(tokens, w.CAPTIONS) and not is_report(tokens)
    if implies or (
        depicts and any(word in w.DEPICTS and shows_the_world(tokens, at) for at, word in enumerate(tokens))
    ):
        return -1 if negated(tokens) else 1
    return 0


def frame(tokens: Sequence[str]) -> int:
    """The verdict of "it is true that ...", "it is wrong to say that ...", whatever follows."""
    at = next((at for at, word in enumerate(tokens[:7]) if word in ("that", "to") and at > 1), 0)
    framed = at and tokens[0] in ("it", "is") and "is" in tokens[:2] and is_known(tokens[:at])
    told = sign(tokens[at:]) if has(tokens[at:], w.CAPTIONS) else 0
    return sign(tokens[:at]) * (told or 1) if framed else 0


def speaks_of_it(clause: Clause, around: Around) -> bool:
    """Is it the caption, or how it goes with the video, that a clause judges?"""
    tokens, starts = clause.tokens, clause.tokens[0] in STARTS
    wished = has(tokens, WISHES) and any(word in JUDGED and after in w.CAPTIONS for word, after in pairwise(tokens))
    of_caption = has(tokens, w.CAPTIONS) and not is_report(tokens) and not wished  # "a correct caption would ..."
    if of_caption or (has(tokens, FLAWS) and has(tokens, FINDS)):
        return True
    if around.about and starts and not clause.is_first and clause.opener in FOLLOWS:
        return True
    if tokens[0] == "to" or wished:
        return False
    if not is_known(tokens):
        of_what = tokens[0] == "what" and (has(tokens, w.CAPTIONS) or has(tokens, w.DEPICTED))
        return of_what or has(tokens[:1], ALL_BUT)
    of_both = has(tokens, w.VIDEOS) and has(tokens, w.RELATES)
    if of_both or has(tokens, OPPOSITES) or (around.behind_mark and has(tokens, FLAWS)):
        return True
    if starts or (tokens[0] in ("i", "we") and has(tokens, OBJECTS)):
        return around.about or clause.is_first or around.behind_mark or clause.opener == "which"
    whole = clause.is_first and clause.is_last
    of_all = has(tokens, w.WHOLES) or (has(tokens, w.ASPECTS) and sign(tokens) < 0)
    return of_all or (whole and (tokens[0] in w.HEDGES or has(tokens, w.CAPTIONS) or "two" in tokens))


def contrasts(clause: Clause, report: Clause | None) -> bool:
    """Is what the caption says set against something else: "the caption says blue, but the dress is red"?"""
    tokens = clause.tokens
    if is_report(tokens):
        return denies_content(tokens) or (clause.opener in CONTRASTS and not clause.is_first)
    if report is None:
        return False
    beside = clause.place == report.place + 1 and clause.sentence == report.sentence and clause.opener in CONTRASTS
    return beside and not has(tokens, w.SEEING) and (negated(tokens) or not has(tokens, w.ADDS)) and sign(tokens) <= 0


def agrees(tokens: Sequence[str]) -> bool:
    """Does a clause say "just as the caption says", "as described"?"""
    if has(tokens, w.AGREES):
        return not has(tokens, w.EXCEPTS)
    at = next((at for at, word in enumerate(tokens) if word in ("as", "like", "what")), -1)
    if at < 0 or (tokens[at] == "what" and "is" not in tokens[:at] and not has(tokens[:at], w.VIDEOS)):
        return False
    rest = tokens[at + 1 :]
    told = has(rest, w.SAYS) or has(rest, w.DEPICTED)
    return told and (has(rest, w.CAPTIONS) or (tokens[at] == "as" and len(rest) <= 2))


def is_shown(tokens: Sequence[str]) -> bool:
    """Is it said whether the video shows what is described?"""
    whole = has(tokens[:1], w.WHOLES) and has(tokens, w.CAPTIONS)  # "everything the caption says"
    aspect = has(tokens, w.ASPECTS) and has(tokens, w.CAPTIONS) and not is_report(tokens)
    this = has(tokens[:1], POINTING) and (has(tokens, w.VIDEOS) or negated(tokens))  # "this never happens"
    described = "described" in tokens or tokens[:2] == ("no", "such") or whole or aspect or this
    if described and has(tokens, SHOWN):
        return True
    direct = has(tokens, w.VIDEOS) and has(tokens, DIRECT) and tokens[-1] in POINTING  # "the video shows this"
    return direct and is_known(tokens)


def omits(tokens: Sequence[str]) -> bool:
    """Does the caption only leave something out?"""
    unmentioned = has(tokens, w.NEGATIONS) and has(tokens, MENTIONS) and ("it" in tokens or has(tokens, w.CAPTIONS))
    return unmentioned or has(tokens, w.OMITS)


def excepts(clause: Clause) -> bool:
    """Does a clause take something out of what was called right?"""
    return (clause.opener == "except" or clause.tokens[0] in w.EXCEPTS) and not has(clause.tokens, w.SEEING)


def is_nearly_right(tokens: Sequence[str]) -> bool:
    """Is the caption called right in part: "mostly right", "nearly"?"""
    return has(tokens, w.PARTLY) and (sign(tokens) > 0 or len(tokens) == 1)


def is_report(tokens: Sequence[str]) -> bool:
    """Does a clause only tell what the caption says?"""
    pronoun = tokens[0] == "it" and has(tokens[1:2], REPORTS)
    at = max((at for at, word in enumerate(tokens) if word in w.CAPTIONS), default=0 if pronoun else len(tokens)) + 1
    while at < len(tokens) and (tokens[at].endswith("ly") or tokens[at] in SKIPPED):
        if tokens[at] in JUDGED:
            return False
        at += 1
    if at >= len(tokens) or tokens[at] not in w.SAYS or tokens[at] in NO_REPORTS or tokens[0] == "what":
        return False
    judges = tokens[at] in w.DEPICTS and (shows_the_world(tokens, at) or sign(tokens[at + 1 :]))
    return not judges and not has(tokens[at + 1 : at + 3], MISNAMED)


def is_partial(tokens: Sequence[str]) -> bool:
    """Is only a part of the caption called right?"""
    if has(tokens, w.WHOLES):
        return False
    of_part = has(tokens, w.PARTS) and not has(tokens, w.NEGATIONS)
    if of_part or any(word in RIGHT and after in PARTIAL_AFTER for word, after in pairwise(tokens)):
        return True
    within = any(word in WITHIN and has(tokens[at + 1 : at + 4], w.CAPTIONS) for at, word in enumerate(tokens))
    return within and not has(tokens, WHOLE_NOUNS)


def denies_event(found: Sequence[Clause]) -> bool:
    """Does an answer only say that something is not in the video: "he walks instead of running"?"""
    scope = Scope()
    for clause in found if found[-1:] and found[-1].sentence == 0 else ():
        tokens = clause.tokens
        if clause.asked or scope.is_void(clause, found) or has(tokens, UNCLEAR) or has(tokens, ALL_FLAWS):
            return False
        in_video = any(word in w.VIDEOS and has(tokens[max(0, at - 2) : at], WITHIN) for at, word in enumerate(tokens))
        in_video = in_video and has(tokens, DENYING) and not has(tokens, w.CAPTIONS)
        unseen = in_video or (has(tokens[:3], w.VIDEOS) and has(tokens, DIRECT))
        unseen |= has(tokens[:1], SPEAKERS) and has(tokens, SEES) and not has(tokens, NOTHING_SEEN)
        unseen |= tokens[0] in w.PRONOUNS and "one" in tokens and "who" in tokens  # "he is not the one who honks"
        elsewhere = tokens[:3] == ("at", "no", "point") or ("else" in tokens and "who" in tokens)
        if (unseen and negated(tokens)) or elsewhere or has(tokens, INSTEAD):
            return True
        if clause.opener == "," and tokens[0] == "not" and len(tokens) > 1:
            return True  # "it is a man, not a woman"
    return False


def last_verdict(verdicts: Sequence[Verdict], found: Sequence[Clause]) -> str:
    """What the verdicts come to: one flaw makes a caption wrong, unless the answer changes its mind."""
    values = [verdict.value for verdict in verdicts]
    if not values or values[-1] == "No" or "No" not in values:
        return values[-1] if values else ""
    last, flaw = verdicts[-1].clause, verdicts[len(values) - 1 - values[::-1].index("No")].clause
    before, claim = Claim("No", 1, flaw.place, flaw.sentence), Claim("Yes", 1, last.place, last.sentence)
    return "Yes" if last.opener in w.SO or Turns(found).between(before, claim) else ""
