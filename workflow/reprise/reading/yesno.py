"""What an answer to "does the video entail the caption?" says: the words yes and no, and verdicts on the caption.

The two are read apart. Words are claims as letters are. A verdict is a clause that judges the caption ("it is accurate",
"the video contradicts it"). Where they differ, a careful reader looks at how: a leading yes may be qualified until it is
a no ("Yes, except that it is the man"), and a leading no may deny flaws ("No, I see no error").
"""

import re
from collections.abc import Iterator, Sequence

from reprise.reading import words as w
from reprise.reading.clauses import Clause, clauses, has, is_mark, sentences
from reprise.reading.letters import BARE, Context, bare_level, conditional, is_void, label_level, picked
from reprise.reading.mentions import merge_groups, without_brackets
from reprise.reading.polarity import TICKS, negated, sign
from reprise.reading.settle import EXPLICIT, STATED, Claim, settle
from reprise.reading.verdicts import FLAWS, Verdict, last_verdict, omits, verdicts_of

YES_NO = ("Yes", "No")
# After these a "no" is an answer; before another word it is a determiner, as in "no one".
AFTER_NO = frozenset(
    """because since as it the this that he she they there i from would is and or nor yes no nope wait sorry actually but in his
    her you we its these those although though however so at on based not a an what does was ... if which when""".split()
)
NEW_CLAUSE = frozenset("it the this that he she they there i in his her you we its these those on a an".split())
BEFORE_NO = frozenset(("say", "answer", "saying"))
LABELLED_WORD = re.compile(r"(?:^|(?<=\s))\(?[A-F](?:\)|[.:])\s{0,3}(?=(?:yes|no)\b)", re.I)
SPEAKS = frozenset("says said saying shouts shouting replies replied answers whispers yells nods screams".split())
OPENERS = frozenset(("", "so", "but", "therefore", "hence", "thus", "then", "→", ";", "yet", ",", "however", "consequently"))
STRONG_OPENERS = OPENERS - {",", ""}
ASKS = frozenset("caption entail entails entailed match matches description describe describes statement correct accurate true".split())
INSTEADS = frozenset(("instead", "instead_of", "rather_than", "not", "never", "nobody", "nothing", "none", "rather", "nor", "neither", "no_one", "no", "without", "hardly", "opposite"))
STANCES = w.words("i, we, am, are, of course, surely, apparently, it, seems, appears, guess, suppose, think, believe, afraid, can, say, with, "
                  "i guess, i think, i believe, i suppose, confidence, confident, certain, sure, that, would, quite, pretty, fairly, very, must, have to, clearly, indeed, presumably, evidently")
SPEAKERS = frozenset(("i", "we", "would", "must", "to", "me", "i_would"))
FIRM = frozenset(("correct", "true", "exactly", "indeed", "accurate"))
SHOWERS = w.VIDEOS | w.CAPTIONS | frozenset("i we camera audio wording phrasing quality angle".split())
DEGREES = frozenset("immediately directly fully entirely completely clearly exactly perfectly necessarily explicitly really".split())
REFUSED = frozenset("view watch access open play process analyze analyse assist help answer provide identify load".split())


def read_yes_no(text: str) -> str:
    """Yes, No, or nothing."""
    found = clauses(sentences(_unlabelled(text), mark_yes_no))
    words = list(word_claims(found))
    verdicts = list(verdicts_of(found))
    judged = last_verdict(verdicts, found)
    if any(not claim.option for claim in words) and settle(words, found, ()) == "":
        return ""
    said = settle(words, found, ())
    if not said and words and any(not claim.rejects for claim in words):
        return ""
    if not said:
        return judged or from_rejections(words) or sole_mention(found)
    return weigh(said, words, judged, verdicts, found)


def _unlabelled(text: str) -> str:
    """The text without letters that label a yes or a no, and without a list of both."""
    if len({match[0] for match in LABELLED_WORD.finditer(text)}) > 1:
        text = re.sub(r"^\(?[A-F][).:]\s?(?:yes|no)\W*$", "", text, flags=re.I | re.M)
    return re.sub(r"^[✅✔✓☑❌✗✘✖]\s?(?=\w)", "", LABELLED_WORD.sub("", text), flags=re.M)


def mark_yes_no(tokens: list[str]) -> list[str]:
    """Mark yes and no and their like, but not the "no" of "no one"."""
    marked = list[str]()
    for at, token in enumerate(tokens):
        low = token.lower()
        after = tokens[at + 1].lower() if at + 1 < len(tokens) else ""
        before = tokens[at - 1].lower() if at else ""
        spoken = at > 0 and tokens[at - 1].lower() in SPEAKS and not {"i", "would", "we"} & {t.lower() for t in tokens[max(0, at - 4) : at]}
        is_no = low in w.NO or (low == "no" and (not after or not after[0].isalnum() or after in AFTER_NO or before in BEFORE_NO))
        if spoken:
            marked.append(token)
        elif low in w.YES or (low == "y" and len(tokens) <= 3):
            marked += ["«Yes»", ","] if after in NEW_CLAUSE else ["«Yes»"]
        elif (is_no and not (after == "." and at + 2 < len(tokens) and tokens[at + 2].isdigit())) or (low == "n" and len(tokens) <= 3):
            marked += ["«No»", ","] if after in NEW_CLAUSE else ["«No»"]
        else:
            marked.append(token)
    return merge_groups(without_brackets(marked), YES_NO)


# --- the words yes and no --------------------------------------------------------------------------------------------


def word_claims(found: Sequence[Clause]) -> Iterator[Claim]:
    """What the words yes and no claim, in their order."""
    context, asked = Context(), None
    for clause in found:
        aside = asked is not None and clause.sentence == asked.sentence + 1 and not has(asked.tokens, ASKS) and not all(map(is_mark, asked.tokens))
        if clause.asked:
            asked = clause
            continue
        marks = [token for token in clause.tokens if is_mark(token)]
        if is_void(clause, context, found) or aside or not clause.tokens:
            continue
        if not marks:
            yield from plain_claims(clause, found)
        if len(marks) == 2 and "|" in marks[0] and "|" not in marks[1]:
            marks = marks[1:]
        if len(marks) == 2 and has(clause.tokens, w.COMPARES):
            marks = marks[:1] if not is_compared(clause.tokens) else marks[1:]
        for mark in marks[:1] if len(set(marks)) == 1 else marks:
            yield from claim_of_word(clause, mark, found, context)


def is_compared(tokens: Sequence[str]) -> bool:
    """Does a comparison open the clause, as in "rather than yes, no"?"""
    return tokens[0] in w.COMPARES


def claim_of_word(clause: Clause, mark: str, found: Sequence[Clause], context: Context) -> Iterator[Claim]:
    """What a clause says with one yes or no."""
    at = clause.tokens.index(mark)
    head, tail = list(clause.tokens[:at]), [token for token in clause.tokens[at + 1 :] if not is_mark(token)]
    options = mark.strip("«»+").split("|")
    rest = [token for token in head + tail if not is_mark(token)]
    following = found[clause.place + 1] if clause.place + 1 < len(found) and not clause.is_last else None
    level, bare = 0, all(token in BARE for token in rest)
    if bare and not is_partly(head):
        level = word_level(clause, found, context, head, tail, mark, following)
    level = level or label_level(head, tail) or (STATED if picked(head, tail) else 0)
    if not level and at == 0 and clause.is_first and clause.opener == "":
        level = EXPLICIT if not any(earlier.tokens for earlier in found[: clause.place]) else STATED
    if "say" in head and not has(head, SPEAKERS):
        return
    if is_partly(head) or is_polite(clause, following, found):
        if is_partly(head):
            yield Claim("", EXPLICIT, clause.place, clause.sentence)
        return
    if not level:
        return
    if len(options) > 1:
        yield Claim("", level, clause.place, clause.sentence)
        return
    rest = [token for token in rest if token not in TICKS]
    judged = sign(rest)
    rejects = judged < 0 or (judged == 0 and negated(rest)) if at or bare else False
    yield Claim(options[0], level, clause.place, clause.sentence, rejects)


def word_level(clause: Clause, found: Sequence[Clause], context: Context, head: list[str], tail: list[str], mark: str, following: Clause | None) -> int:
    """How strongly a clause answers that is nothing but yes or no and words that add nothing."""
    corrects = clause.opener == ":" and has(found[clause.place - 1].tokens, w.TURNS)
    if clause.is_first or clause.opener in STRONG_OPENERS or corrects:
        if clause.is_first and following is not None and clause.opener in ("", ","):
            first = not any(earlier.tokens for earlier in found[: clause.place])
            return EXPLICIT if first else STATED
        return bare_level(clause, found, context, frozenset(), head, tail, mark) or STATED
    if clause.opener in OPENERS and (has(head, w.PICKS | w.ANSWERS | w.CONCLUDES) or (clause.is_last and clause.opener == ",")):
        return STATED
    return 0


def is_partly(head: Sequence[str]) -> bool:
    return bool(head) and head[-1] in w.PARTLY


def is_polite(clause: Clause, following: Clause | None, found: Sequence[Clause]) -> bool:
    """Is a leading yes or no only politeness before an offer or a refusal?"""
    ahead = [later for later in found[clause.place : clause.place + 4] if later.sentence == clause.sentence]
    return any(is_refusal(later.tokens) for later in ahead)


def is_refusal(tokens: Sequence[str]) -> bool:
    """An offer to help, or a regret that a video cannot be seen."""
    offers = has(tokens, frozenset(("can", "will", "happy", "glad", "would"))) and has(tokens, frozenset(("help", "assist")))
    views = has(tokens, REFUSED) or ("see" in tokens and has(tokens, w.VIDEOS | {"image", "images"}))
    speaker = has(tokens, frozenset(("i", "we", "unable", "me")))
    return offers or (views and speaker and has(tokens, w.NEGATIONS)) or has(tokens, frozenset(("upload", "thank")))


def plain_claims(clause: Clause, found: Sequence[Clause]) -> Iterator[Claim]:
    """"It does.", "Not at all": answers without the words yes and no."""
    copula = next((at for at, token in enumerate(clause.tokens) if token in (":", "is", "=")), 0)
    if copula and has(clause.tokens[:copula], w.LABELS) and (clause.tokens[copula] != "is" or "answer" in clause.tokens[:copula]):
        labelled = "_".join(clause.tokens[copula + 1 :])
        if labelled in w.AFFIRMS | w.DENIES | {"not"}:
            yield Claim("Yes" if labelled in w.AFFIRMS else "No", EXPLICIT, clause.place, clause.sentence)
    leads = clause.is_first and clause.opener in ("", "so")
    if not leads:
        return
    said = "_".join(clause.tokens)
    whole = clause.is_first and clause.is_last
    sole = whole and len({other.sentence for other in found}) == 1
    if clause.tokens in (("✅",), ("✓",), ("✔",), ("👍",), ("☑",)) and sole:
        yield Claim("Yes", STATED, clause.place, clause.sentence)
    elif clause.tokens in (("❌",), ("✗",), ("✘",), ("👎",), ("✖",)) and sole:
        yield Claim("No", STATED, clause.place, clause.sentence)
    if clause.place and any(other.tokens for other in found[: clause.place]) and not whole:
        return
    loose = said in ("right", "sure", "certainly", "of_course", "correct", "exactly", "true", "it_is", "is", "accurate", "positive", "indeed")
    if not loose and said not in w.AFFIRMS | w.DENIES | {"is", "not", "is_not"}:
        said = "_".join(without_stance(clause.tokens))
    if said in w.AFFIRMS | {"is"} and (not loose or sole or (clause.place == 0 and said in FIRM)):
        yield Claim("Yes", STATED, clause.place, clause.sentence)
    elif said in w.DENIES | {"not", "is_not"}:
        yield Claim("No", STATED, clause.place, clause.sentence)


def without_stance(tokens: Sequence[str]) -> Sequence[str]:
    """The tokens without how sure somebody is of them: "I am sure it does not"."""
    at = 0
    while at < len(tokens) - 1 and tokens[at] in STANCES and tokens[at : at + 2] not in (("it", "is"), ("it", "does"), ("that", "is")):
        at += 1
    return tokens[at:] if at else ()


def from_rejections(words: Sequence[Claim]) -> str:
    """"I can't say no to that": what is left when one of the two is denied."""
    denied = {claim.option for claim in words if claim.rejects}
    return next(option for option in YES_NO if option not in denied) if len(denied) == 1 else ""


def sole_mention(found: Sequence[Clause]) -> str:
    """The one yes or no of an answer, where it stands at its very end."""
    mentions = [(clause, token) for clause in found for token in clause.tokens if is_mark(token)]
    if len(mentions) != 1 or not found:
        return ""
    clause, mark = mentions[0]
    if any(conditional(other.tokens) or has(other.tokens, w.DRAFTS) for other in found if other.sentence == clause.sentence):
        return ""
    at_end = clause.place == len(found) - 1 and clause.tokens[-1] == mark
    return mark.strip("«»") if at_end and len(clause.tokens) == 1 and clause.opener in (":", "-", ",") and "|" not in mark else ""


# --- words and verdicts together -------------------------------------------------------------------------------------


def weigh(said: str, words: Sequence[Claim], judged: str, verdicts: Sequence[Verdict], found: Sequence[Clause]) -> str:
    """A yes or no in the light of the verdicts and of what qualifies it."""
    claim = [claim for claim in words if claim.option == said and not claim.rejects][-1]
    leads = claim == words[0] and found[claim.place].is_first
    later = [verdict for verdict in verdicts if verdict.clause.place > claim.place]
    if said == "Yes":
        if leads and in_part(claim, found):
            return ""
        if any(verdict.value == "No" for verdict in later) and last_verdict(later, found) == "No":
            flaws = any(has(verdict.clause.tokens, FLAWS) and verdict.value == "No" for verdict in later if verdict.clause.sentence <= claim.sentence + 1)
            conceded = any(qualifies(clause, claim) for clause in found if clause.place > claim.place)
            return "No" if leads and (flaws or conceded) else ""
        return qualified(claim, found) if leads else "Yes"
    if any(verdict.value == "Yes" for verdict in later) and last_verdict(later, found) == "Yes":
        denies = any(verdict.of_flaws and verdict.value == "Yes" for verdict in later if verdict.clause.sentence <= claim.sentence + 1)
        return "Yes" if leads and denies else "" if not any(qualifies(v.clause, claim) for v in later) else "No"
    return "No"


def in_part(claim: Claim, found: Sequence[Clause]) -> bool:
    """Is a leading yes only for a part: "Yes, partially", "Yes, the first half is right"?"""
    near = [clause for clause in found[claim.place + 1 : claim.place + 2] if clause.sentence == claim.sentence]
    for clause in near:
        part = has(clause.tokens, w.PARTS) and sign(clause.tokens) > 0 and not has(clause.tokens, w.WHOLES)
        if part or (has(clause.tokens, w.PARTLY) and (len(clause.tokens) < 3 or clause.tokens[0] in w.PARTLY)):
            return clause.opener not in w.BUTS
    return False


def qualifies(clause: Clause, claim: Claim) -> bool:
    """Does a clause concede something after a leading yes or no?"""
    near = clause.sentence == claim.sentence or (clause.sentence == claim.sentence + 1 and clause.is_first)
    return near and (clause.opener in w.BUTS or has(clause.tokens[:1], w.EXCEPTS | w.BUTS | {"only"}))


def qualified(claim: Claim, found: Sequence[Clause]) -> str:
    """A leading yes, or what its qualification leaves of it."""
    at = next((clause.place for clause in found if clause.place > claim.place and qualifies(clause, claim)), None)
    if at is None:
        return "Yes"
    clause = found[at]
    tokens = [token for later in found[at:] if later.sentence == clause.sentence for token in later.tokens]
    bad = sign(tokens) < 0
    if omits(tokens) or ((has(tokens, w.SEEING) or has(tokens, w.ADDS)) and not (bad and has(tokens, w.CAPTIONS))):
        return "Yes"
    if clause.opener in w.EXCEPTS or has(clause.tokens[:2], w.EXCEPTS):
        return "No"
    if has(tokens, w.PARTLY):
        return ""
    cleft = tokens[:2] == ["it", "is"] and has(tokens, frozenset(("who", "that", "which")))
    if cleft or bad:
        return "No"
    if has(tokens[:3], SHOWERS):
        return "Yes"
    if tokens[:1] == ["not"] and tokens[-1].endswith("ly") and tokens[-1] not in DEGREES:
        return "No"
    if has(tokens[:3], frozenset(("you", "not"))) and "no" not in tokens and not has(tokens, w.PRONOUNS):
        return "No" if has(tokens, frozenset(("order", "in", "with"))) else ""
    return "No" if has(tokens, INSTEADS) else "Yes" if "there" in tokens else ""
