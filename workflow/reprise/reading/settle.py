"""Claims, and the option that they leave standing.

Rule of thumb: where two people who see only the options and the answer could disagree, there is no reading. A later
claim replaces an earlier one only if it is stronger or if the answer says that it changes its mind; any other
disagreement leaves the answer unread.
"""

from collections.abc import Sequence
from typing import NamedTuple

from reprise.reading import words as w
from reprise.reading.clauses import Clause, has

BUTS = frozenset(("but", "yet", "however", "still", "nevertheless"))
CONCLUDING = frozenset(("so", "therefore", "hence", "thus", "→", "consequently"))
FINAL, EXPLICIT, STATED, HINTED = 4, 3, 2, 1  # how strong a claim is


class Claim(NamedTuple):
    """An option that a clause chooses or rejects; an empty option stands for several at once."""

    option: str
    level: int
    place: int  # of its clause
    sentence: int
    rejects: bool = False


def settle(claims: Sequence[Claim], clauses: Sequence[Clause], options: Sequence[str]) -> str:
    """The option that the claims leave standing, if they agree or the answer says where it changes its mind."""
    said, torn, broken, flips = Claim("", 0, -1, -1), Claim("", 0, -1, -1), False, 0
    hints, out = dict[str, Claim](), dict[str, Claim]()
    for claim in claims:
        turned = said.option and changes_mind(clauses, said, claim)
        if not claim.option:
            torn = claim
        elif claim.rejects:
            out[claim.option] = claim
            if said.option == claim.option and turned:
                said, broken = Claim("", 0, -1, -1), False
                flips += 1
            else:
                broken |= said.option == claim.option
            hints.pop(claim.option, None)
        elif claim.level == HINTED:
            hints[claim.option] = claim
            if said.option not in ("", claim.option):
                if turned:
                    said, broken, flips = claim, False, flips + 1
                else:
                    broken = True
            out.pop(claim.option, None)
        else:
            ruled_out = out.pop(claim.option, None)
            if said.option not in ("", claim.option):
                broken = not (turned or claim.level > said.level)
                flips += bool(turned)
            elif ruled_out and not changes_mind(clauses, ruled_out, claim) and claim.level < EXPLICIT:
                broken = True
            if flips > 1:
                return ""
            if claim.level > torn.level or claim.sentence > torn.sentence or claim.place > torn.place:
                torn = Claim("", 0, -1, -1)
            said = claim._replace(level=max(claim.level, said.level))
    if broken or torn.level:
        return ""
    if said.option:
        return said.option
    left = set(hints) - set(out)
    if left:
        return left.pop() if len(left) == 1 else ""
    remaining = [option for option in options if option not in out]
    return remaining[0] if out and len(remaining) == 1 else ""


def changes_mind(clauses: Sequence[Clause], before: Claim, claim: Claim) -> bool:
    """Does the text say between two claims that the second takes the first back?"""
    own = clauses[before.place].tokens
    if has(own[1:], w.TURNS) and own[0][0] == "«":
        return True
    own_sentence = (clause for clause in clauses[max(before.place, claim.place - 3) : claim.place + 1] if clause.sentence == claim.sentence)
    concludes = claim.level >= EXPLICIT or any(clause.opener in CONCLUDING for clause in own_sentence)
    near = (before.sentence, claim.sentence) if concludes else (claim.sentence,)
    for clause in clauses[before.place + 1 : claim.place + 1]:
        if has(clause.tokens, w.TURNS) or clause.opener in ("however", "→") or clause.tokens == ("no",):
            return True
        if clause.opener in BUTS and clause.sentence in near:
            return True
    return False
