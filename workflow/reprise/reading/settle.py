"""Claims, and the option that they leave standing.

Rule of thumb: where two people who see only the options and the answer could disagree, there is no reading. A later
claim replaces an earlier one only if it is stronger or if the answer says that it changes its mind; any other
disagreement leaves the answer unread.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from reprise.reading import words as w
from reprise.reading.clauses import Clause, has, is_mark

FINAL, EXPLICIT, STATED, HINTED = 4, 3, 2, 1  # how strong a claim is
BUTS = w.words("but, yet, however, still, nevertheless")
TURNING_OPENERS = w.words("however, →")
CONCLUDING = w.words("so, therefore, hence, thus, →, consequently")
NEAR = 3  # clauses before a claim in which its sentence may conclude


class Claim(NamedTuple):
    """An option that a clause chooses or rejects; an empty option stands for several at once."""

    option: str
    level: int
    place: int  # of its clause
    sentence: int
    rejects: bool = False


NOTHING = Claim("", 0, -1, -1)


class Turns:
    """Where a text changes its mind: at "wait", and at a "but" near a claim."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self._clauses = clauses
        self._turns = [
            clause.place
            for clause in clauses
            if clause.opener in TURNING_OPENERS or has(clause.tokens, w.TURNS) or is_no(clause.tokens)
        ]
        self._buts = [clause.place for clause in clauses if clause.opener in BUTS]

    def between(self, before: Claim, claim: Claim) -> bool:
        """Does the text say between two claims that the second takes the first back?"""
        own = self._clauses[before.place].tokens
        if is_mark(own[0]) and has(own[1:], w.TURNS):
            return True
        if _any_between(self._turns, before.place, claim.place):
            return True
        near = self._clauses[max(before.place, claim.place - NEAR) : claim.place + 1]
        concludes = claim.level >= EXPLICIT or any(
            clause.opener in CONCLUDING for clause in near if clause.sentence == claim.sentence
        )
        at = bisect_right(self._buts, before.place)
        buts = (self._clauses[place].sentence for place in self._buts[at:] if place <= claim.place)
        return any(sentence == claim.sentence or (concludes and sentence == before.sentence) for sentence in buts)


def is_no(tokens: Sequence[str]) -> bool:
    """Does a clause say no to what came before: "A, no B"?"""
    return tokens[:1] == ("no",) and all(map(is_mark, tokens[1:]))


def _any_between(places: Sequence[int], before: int, last: int) -> bool:
    at = bisect_right(places, before)
    return at < len(places) and places[at] <= last


def settle(claims: Sequence[Claim], clauses: Sequence[Clause], options: Sequence[str]) -> str:
    """The option that the claims leave standing, if they agree or the answer says where it changes its mind."""
    said, torn, broken, flips, turns = NOTHING, NOTHING, False, 0, Turns(clauses) if len(claims) > 1 else None
    hints, out = dict[str, Claim](), dict[str, Claim]()
    for claim in claims:
        other = said.option not in ("", claim.option)
        turned = turns is not None and bool(said.option) and turns.between(said, claim)
        if not claim.option:
            torn = claim if claim.level >= said.level - 1 else torn
        elif claim.rejects:
            out[claim.option] = claim
            hints.pop(claim.option, None)
            if said.option == claim.option:
                said, broken, flips = (NOTHING, False, flips + 1) if turned else (said, True, flips)
        elif claim.level == HINTED:
            hints[claim.option] = claim
            out.pop(claim.option, None)
            if other:
                said, broken, flips = (claim, False, flips + 1) if turned else (said, True, flips)
        else:
            ruled_out = out.pop(claim.option, None)
            if other:
                broken, flips = not (turned or claim.level > said.level), flips + turned
            elif ruled_out and claim.level < EXPLICIT and not (turns and turns.between(ruled_out, claim)):
                broken = True
            if flips > 1:
                return ""
            if claim.level > torn.level or claim.place > torn.place:
                torn = NOTHING
            said = claim._replace(level=max(claim.level, said.level))
    if broken or torn.level or said.option:
        return "" if broken or torn.level else said.option
    left = set(hints) - set(out)
    if left:
        return left.pop() if len(left) == 1 else ""
    remaining = [option for option in options if option not in out]
    return remaining[0] if out and len(remaining) == 1 else ""
