"""Does a run of words judge, and which way? Each negation and each bad word turns the sign: "isn't wrong" is good."""

from collections.abc import Sequence

from reprise.reading import words as w

AHEAD = 5  # words in which the object of a verb such as "describes" must come
BESIDES = frozenset(("the", "a", "this", "that", "given", "actual", "whole", "entire", "of", "in", "to", "exactly", "all", "shown"))
INTENSIFIED = frozenset(("only", "just", "merely", "simply"))
NEGATING = frozenset(("not_quite", "not_really", "not_exactly", "not_entirely", "not_fully", "not_completely"))
TICKS = frozenset("✓✔✅☑👍✗✘❌✖👎🚫❎")
FINE = frozenset(("good", "great", "excellent", "decent", "solid", "strong", "fine", "holds", "hold", "stands", "works", "work"))
POOR = frozenset(("bad", "poor", "weak", "terrible", "reverse"))
RATED = frozenset("match description fit summary representation account reflection caption description, order is to".split())
BE = frozenset(("is", "are", "was", "were", "be", "slightly", "completely", "totally", "way", "clearly", "bit", "seems", "looks", "sounds", "appears", "feels"))


def sign(tokens: Sequence[str]) -> int:
    """1 for a good judgement, -1 for a bad one, 0 for none."""
    if not TICKS.isdisjoint(tokens):
        return 1 if next(token for token in tokens if token in TICKS) in w.GOOD else -1
    turned, judged, joint = 1, False, False
    for at, token in enumerate(tokens):
        if token in w.NEGATIONS:
            if not _denies_nothing(tokens, at) and not (joint and token in ("nor", "neither")):
                turned = -turned
            joint = joint or token in ("neither", "nor", "not", "no")
        elif token in w.BAD or _is_bad_here(tokens, at):
            if not (judged and tokens[at - 1] in ("or", "nor", "and")):  # "neither wrong nor misleading"
                turned = -turned
            judged = True
        elif token in FINE and _rates(tokens, at):
            judged = True
        elif token in w.GOOD or (token in w.DEPICTS and shows_the_world(tokens, at)):
            judged = True
    return turned if judged else 0


def negated(tokens: Sequence[str]) -> bool:
    """Do the negations and bad words among the tokens turn what they say?"""
    bad = sum(
        (token in w.NEGATIONS and not _denies_nothing(tokens, at)) or token in w.BAD or _is_bad_here(tokens, at)
        for at, token in enumerate(tokens)
    )
    return bad % 2 == 1


def shows_the_world(tokens: Sequence[str], at: int) -> bool:
    """Is the object of a verb what happens, as in "describes the video", so that the verb judges?"""
    for token in tokens[at + 1 : at + 1 + AHEAD]:
        if token in w.WORLD:
            return True
        if token not in BESIDES and token not in w.GOOD:
            return False
    return False


def _rates(tokens: Sequence[str], at: int) -> bool:
    """Does an adjective rate a description, as in "a good match", or end what is said, as in "looks good"?"""
    return at + 1 == len(tokens) or tokens[at + 1] in RATED


def _denies_nothing(tokens: Sequence[str], at: int) -> bool:
    return tokens[at] == "not" and at + 1 < len(tokens) and tokens[at + 1] in INTENSIFIED


def _is_bad_here(tokens: Sequence[str], at: int) -> bool:
    """Is this the "off" or "out" of "is off"?"""
    is_end = at + 1 == len(tokens) or tokens[at + 1] in ("in", "on", "about")
    if tokens[at] in POOR:
        return _rates(tokens, at)
    return tokens[at] in ("off", "out", "backwards") and at > 0 and tokens[at - 1] in BE and is_end
