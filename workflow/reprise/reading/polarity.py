"""Does a run of words judge, and which way? Each negation and each bad word turns the sign: "isn't wrong" is good."""

from collections.abc import Sequence
from itertools import pairwise

from reprise.reading import words as w
from reprise.reading.clauses import has

AHEAD = 5  # words in which the object of a verb such as "describes" must come
BESIDES = w.words("the, a, this, that, given, actual, whole, entire, of, in, to, exactly, all, shown")
HARD, HARD_TO = (
    w.words("hard, difficult, lacks, lack, lacking"),
    w.words("agree, accept, support, accuracy, correctness, evidence"),
)
INTENSIFIED = w.words("only, just, merely, simply")
TICKS = frozenset("✓✔✅☑👍✗✘❌✖👎🚫❎")
FINE = w.words("good, great, excellent, decent, solid, strong, fine, holds, hold, works, work")
POOR = w.words("bad, poor, weak, terrible, reverse")
RATED = w.words("""
    match, description, fit, summary, representation, account, reflection, caption, order, is, to, as
""") | {","}
BE = w.words("""
    is, are, was, were, be, slightly, completely, totally, way, clearly, bit, seems, looks, sounds, appears, feels
""")
OFFS = w.words("off, out, backwards")
JOINING = w.words("or, nor, and")
JUDGING = frozenset().union(w.GOOD, w.BAD, w.DEPICTS, FINE, POOR, OFFS, TICKS)

# --- of an option ---
ADVERBS = w.words("""
    also, does, do, did, still, only, more, most, better, best, is, was, not, really, clearly, would, will, can,
    could, never
""")
# Words that judge behind any verb: "captures the spill correctly", "has it right".
BEHIND = w.words("""
    correctly, accurately, precisely, perfectly, faithfully, incorrectly, wrongly, inaccurately, falsely, better,
    best, right, wrong
""")
HAVING = w.words("contains, contain, has, have, gets, got, had, gives, puts")
EVENTS = w.words("""
    matching, it, this, event, events, action, actions, caption, match, description, described, sequence
""")
BEGINS = w.words("starts, begins, comes, appears, starting, found, located")
CAPTION_OR_IT = w.CAPTIONS | {"it", "this"}
SPEAKS_OF = w.DEPICTS | w.words("refers, refer, belongs, applies, about, relates, goes, pertains")
WHAT_A_CAPTION_SAYS = w.CAPTIONS | w.words("this, order, described, sequence, that")
DIFFERS = w.words("differ, differs, different, same, identical, similar")
COMPARED = w.words("""
    better, best, closer, closest, superior, preferable, only, more, most, more likely, strongest, worse, likelier,
    makes more sense, makes the most sense, wins
""")
NOUNS = w.words("""
    one, answer, option, caption, choice, match, description, pick, winner, selection, segment, part, clip, fit,
    candidate, way
""")


def sign(tokens: Sequence[str]) -> int:
    """1 for a good judgement, -1 for a bad one, 0 for none."""
    if JUDGING.isdisjoint(tokens):
        return 0
    if not TICKS.isdisjoint(tokens):
        return 1 if next(word for word in tokens if word in TICKS) in w.GOOD else -1
    turned, judged, joint = 1, False, False
    for at, word in enumerate(tokens):
        if word in w.NEGATIONS or (word in HARD and has(tokens[at + 1 : at + 3], HARD_TO)):
            if not _denies_nothing(tokens, at) and not (joint and word in ("nor", "neither")):
                turned = -turned
            joint = joint or word in ("neither", "nor", "not", "no")
        elif judged and word == "that" and JUDGING.isdisjoint(tokens[at + 1 :]):
            break  # "the problem is that he does not jump"
        elif word in w.BAD or _is_bad_here(tokens, at):
            if not (judged and tokens[at - 1] in JOINING):  # "neither wrong nor misleading"
                turned = -turned
            judged = True
        elif (
            word in w.GOOD
            or (word in FINE and _rates(tokens, at))
            or (word in w.DEPICTS and shows_the_world(tokens, at))
        ):
            judged = True
    return turned if judged else 0


def negated(tokens: Sequence[str]) -> bool:
    """Do the negations and bad words among the tokens turn what they say?"""
    bad = sum(
        (word in w.NEGATIONS and not _denies_nothing(tokens, at)) or word in w.BAD or _is_bad_here(tokens, at)
        for at, word in enumerate(tokens)
    )
    return bad % 2 == 1


def shows_the_world(tokens: Sequence[str], at: int) -> bool:
    """Is the object of a verb what happens, as in "describes the video", so that the verb judges?"""
    for word in tokens[at + 1 : at + 1 + AHEAD]:
        if word in w.WORLD or word.startswith("what_"):
            return True
        if word not in BESIDES and word not in w.GOOD and word not in w.BAD:
            return False
    return False


def _rates(tokens: Sequence[str], at: int) -> bool:
    """Does an adjective rate a description, as in "a good match", or end what is said, as in "looks good"?"""
    return at + 1 == len(tokens) or tokens[at + 1] in RATED


def _denies_nothing(tokens: Sequence[str], at: int) -> bool:
    return tokens[at] == "not" and at + 1 < len(tokens) and tokens[at + 1] in INTENSIFIED


def _is_bad_here(tokens: Sequence[str], at: int) -> bool:
    """Is this the "off" or "out" of "is off", or the "poor" of "a poor match"?"""
    if tokens[at] in POOR:
        return _rates(tokens, at)
    is_end = at + 1 == len(tokens) or tokens[at + 1] in ("in", "on", "about")
    return tokens[at] in OFFS and at > 0 and tokens[at - 1] in BE and is_end


# --- of an option ----------------------------------------------------------------------------------------------------


def said_of(mark: str, head: Sequence[str], tail: Sequence[str], segments: bool) -> int:
    """What the words around an option say of it: 1 for good, -1 for bad, 0 for nothing."""
    labelled = tail[:1] == (":",)
    tail = tail[1:] if labelled else tail
    if tail[:1] in (("yes",), ("no",)) and (labelled or len(head) + len(tail) == 1):
        return 1 if tail[0] == "yes" else -1
    if not head and not tail:
        return 0
    words = (*head, *tail)
    at = next((at for at, word in enumerate(tail) if not (word.endswith("ly") or word in ADVERBS)), len(tail))
    verb = tail[at] if at < len(tail) else ""
    if segments and head[-1:] == ("only",) and verb in w.SAYS:
        return 1  # "only the first segment shows the boy"
    if verb in w.SAYS and verb not in HAVING:
        told = _told(head, tail, at, segments)
        if told is not None:
            return told
    if (segments and _segment_is_meant(head, tail)) or (has(words, w.AGREES) and "|" not in mark):
        return -1 if negated(words) else 1
    if "|" in mark and has(tail, DIFFERS):
        return 0
    found = sign(words)
    if found > 0 and has(tail, w.PARTLY):
        return 0
    if found or verb in w.OMITS:
        return found or (1 if negated(tail) else -1)
    pointed = has(head[:1], POINTERS) and "is" in head and head[-1] in ("in", "of")
    says_what = len(head) > 1 and head[-1] == "what" and "is" in head
    return (-1 if negated(head) else 1) if pointed or says_what else 0


REAL = w.words("there, exist, occur, happen, occurs, happens, shown, seen, present, video, clip, appear, visible")
POINTERS = w.words("this, that, which")


def _told(head: Sequence[str], tail: Sequence[str], at: int, segments: bool) -> int | None:
    """What a clause judges whose verb may only report what an option says; None where its words decide."""
    verb = tail[at]
    if denies_content(tail):
        return -1
    judged = has(tail[at + 1 :], BEHIND) and (verb in w.DEPICTS or tail[-1] in BEHIND)
    object_judges = shows_the_world(tail, at) or (segments and has(tail[at + 1 : at + 6], WHAT_A_CAPTION_SAYS))
    if judged or (verb in w.DEPICTS and object_judges):
        return None if sign(tail) else -1 if negated((*head, *tail)) else 1
    if segments and verb in w.DEPICTS and negated(tail[:at]):
        return -1  # "the first segment does not show the dog"
    if head == ("what",) or (len(head) == 1 and head[0] in w.WHOLES):
        return sign(tail[at + 1 :])  # "what B says is what happens"
    if ("what" in head and "is" in head) or (head and head[-1] == "as") or (len(head) > 1 and head[-1] == "what"):
        return -1 if negated(head) else 1  # "that is what B says"
    return sign(tail) if segments and has(tail[at:], w.CAPTIONS) else 0


def denies_content(tokens: Sequence[str]) -> bool:
    """Is it said that what is told does not happen: "mentions a dog that is not there"?"""
    at = next((at for at, word in enumerate(tokens) if word in ("that", "which")), len(tokens))
    return has(tokens[at + 1 : at + 4], w.NEGATIONS) and has(tokens[at + 1 :], REAL)


def _segment_is_meant(head: Sequence[str], tail: Sequence[str]) -> bool:
    """Is a segment said to hold the caption: "it is in", "the caption refers to", "is the one described"?"""
    if (
        head
        and tail[:1] in ((), ("that",))
        and has(head, EVENTS)
        and (has(head, BEGINS) or ("in" in head[-2:] and "is" in head))
    ):
        return True
    alone = tuple(head[-2:]) == ("only", "in") or (head[-1:] == ("in",) and tail == ("only",))
    if alone or (has(head, CAPTION_OR_IT) and has(head, SPEAKS_OF)):
        return True
    described = "one" in tail or has(tail, w.CAPTIONS) or tuple(tail) == ("is", "described")
    return described and has(tail, w.DEPICTED)


def stands_out(words: Sequence[str]) -> bool:
    """Is an option the better one, or "the right one"?"""
    return has(words, COMPARED) or any(word in w.GOOD and following in NOUNS for word, following in pairwise(words))
