"""A yes or no in the light of what an answer says of the caption besides.

A leading yes may be qualified until it is a no: to be entailed, a caption must be right in everything that it says
("Yes, except that it is the man"). What a caption leaves out, or what is hard to see, qualifies nothing. A leading no
may deny that there are flaws ("No, I see no error"). An answer that contradicts itself without such a reason is unread.
"""

from collections.abc import Sequence

from reprise.reading import words as w
from reprise.reading.clauses import Clause, has
from reprise.reading.polarity import negated, sign
from reprise.reading.settle import HINTED, Claim, Turns
from reprise.reading.verdicts import ALL_BUT, FLAWS, SHOWN, Verdict, ellipsis, last_verdict, omits

INSTEADS = w.words("""
    instead, instead of, rather than, not, never, nobody, nothing, none, rather, nor, neither, no one, no, without,
    hardly, opposite
""")
SHOWERS = w.VIDEOS | w.CAPTIONS | w.words("i, we, camera, audio, wording, phrasing, quality, angle")
CLEFTS = w.words("who, that, which")
QUALIFIERS = w.EXCEPTS | w.BUTS | {"only"}
CONCERNED = w.CAPTIONS | w.PARTS | w.words("action, actions, event, events")
CIRCUMSTANCES = w.words("order, in, with")


def weigh(said: str, words: Sequence[Claim], verdicts: Sequence[Verdict], found: Sequence[Clause]) -> str:
    """What a yes or no amounts to."""
    claim = [claim for claim in words if claim.option == said and not claim.rejects][-1]
    leads = claim == words[0] and found[claim.place].is_first
    later = [verdict for verdict in verdicts if verdict.clause.place > claim.place]
    near = [verdict for verdict in later if verdict.clause.sentence <= claim.sentence + 1]
    near_end = max(clause.place for clause in found if clause.sentence <= claim.sentence + 1)
    judged = last_verdict(later, found)
    if echo(claim, found) not in ("", said) or is_overruled(claim, verdicts, found):
        return ""
    if said == "No":
        if judged != "Yes":
            return "No"
        denies_flaws = any(verdict.of_flaws and verdict.value == "Yes" for verdict in near)
        granted = any(clause.opener in w.BUTS for clause in found if claim.place < clause.place <= near_end)
        return "Yes" if leads and denies_flaws else "No" if granted else ""
    if leads and is_partial(claim, found):
        return "No" if judged == "No" else ""
    if judged == "No":
        finds_flaws = any(has(verdict.clause.tokens, FLAWS | ALL_BUT) and verdict.value == "No" for verdict in near)
        taken_back = any(qualifies(clause, claim) for clause in found[claim.place + 1 :])
        return "No" if leads and (finds_flaws or taken_back) else ""
    return qualified(claim, found) if leads else "Yes"


def echo(claim: Claim, found: Sequence[Clause]) -> str:
    """The yes or no that the clause behind one amounts to: "Yes, it does not"."""
    following = found[claim.place + 1 : claim.place + 2]
    near = following and following[0].sentence == claim.sentence and following[0].opener not in w.BUTS
    if not near:
        return ""
    phrase, left_out = "_".join(following[0].tokens), ellipsis(following[0].tokens)
    if left_out or phrase in w.AFFIRMS | w.DENIES:
        return "Yes" if left_out > 0 or phrase in w.AFFIRMS else "No"
    return ""


def is_overruled(claim: Claim, verdicts: Sequence[Verdict], found: Sequence[Clause]) -> bool:
    """Does a yes or no contradict without a word the verdict that it should conclude?"""
    earlier = [verdict for verdict in verdicts if verdict.clause.place < claim.place]
    judged = last_verdict(earlier, found)
    if judged in ("", claim.option):
        return False
    clause = earlier[-1].clause
    return not Turns(found).between(Claim(judged, HINTED, clause.place, clause.sentence), claim)


def is_partial(claim: Claim, found: Sequence[Clause]) -> bool:
    """Is a leading yes only for a part: "Yes, partially", "Yes, the first half is right"?"""
    clause = found[claim.place + 1] if claim.place + 1 < len(found) else None
    if clause is None or clause.sentence != claim.sentence or clause.opener in w.BUTS:
        return False
    tokens = clause.tokens
    part = has(tokens, w.PARTS) and sign(tokens) > 0 and not has(tokens, w.WHOLES)
    return part or (has(tokens, w.PARTLY) and (len(tokens) < 3 or tokens[0] in w.PARTLY))


def qualifies(clause: Clause, claim: Claim) -> bool:
    """Does a clause concede something after a leading yes or no?"""
    near = clause.sentence == claim.sentence or (clause.sentence == claim.sentence + 1 and clause.is_first)
    return near and (clause.opener in w.BUTS or has(clause.tokens[:1], QUALIFIERS))


def qualified(claim: Claim, found: Sequence[Clause]) -> str:
    """A leading yes, or what its qualification leaves of it."""
    clause = next((clause for clause in found[claim.place + 1 :] if qualifies(clause, claim)), None)
    if clause is None:
        return "Yes"
    tokens = tuple(
        word for later in found[clause.place :] if later.sentence == clause.sentence for word in later.tokens
    )
    bad = sign(tokens) < 0 or (negated(tokens) and has(tokens, SHOWN))
    beside_the_point = (has(tokens, w.SEEING) or has(tokens, w.ADDS)) and not (bad and has(tokens, CONCERNED))
    if omits(tokens) or beside_the_point:
        return "Yes"
    if clause.opener in w.EXCEPTS or has(clause.tokens[:2], w.EXCEPTS):
        return "No"
    if bad or (tokens[:2] == ("it", "is") and has(tokens, CLEFTS)):
        return "No"
    if has(tokens[:3], SHOWERS):
        return "Yes"
    return _denied_event(tokens)


def _denied_event(tokens: Sequence[str]) -> str:
    """What a concession leaves that tells what happens: a no where it denies something, else nothing sure."""
    vague = has(tokens[:3], frozenset(("you", "not"))) and "no" not in tokens and not has(tokens, w.PRONOUNS)
    if vague:
        return "No" if has(tokens, CIRCUMSTANCES) else ""
    return "No" if has(tokens, INSTEADS) else "Yes" if "there" in tokens else ""
