"""What an answer to "does the video entail the caption?" says: the words yes and no, and verdicts on the caption.

The two are read apart. Words are claims as letters are. A verdict is a clause that judges the caption ("it is
accurate", "the video contradicts it"). `qualified` weighs one against the other.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from reprise.reading import words as w
from reprise.reading.choices import ABOUT, BARE, bare_level, is_bare, is_picked, label_level
from reprise.reading.clauses import Clause, clauses, has, is_mark, sentences
from reprise.reading.mentions import merge_groups, without_brackets
from reprise.reading.normalise import KEPT
from reprise.reading.polarity import TICKS, negated, sign
from reprise.reading.qualified import weigh
from reprise.reading.scope import Scope, conditional
from reprise.reading.settle import EXPLICIT, STATED, Claim, settle
from reprise.reading.verdicts import STANCES, denies_event, ellipsis, last_verdict, verdicts_of

YES_NO = ("Yes", "No")
# After these a "no" is an answer; before another word it is a determiner, as in "no one".
AFTER_NO = w.words("""
    because, since, as, it, the, this, that, he, she, they, there, i, from, would, is, and, or, nor, yes, no, nope,
    wait, sorry, actually, but, in, his, her, you, we, its, these, those, although, though, however, so, at, for, to,
    on, based, not, a, an, what, does, was, if, which, when, sir, madam
""")
NEW_CLAUSE = w.words("""
    it, the, this, that, he, she, they, there, i, in, his, her, you, we, its, these, those, on, a, an
""")
AFTER_YES = BARE | w.PRONOUNS | w.VIDEOS | w.CAPTIONS | w.BUTS | w.WHOLES
BEFORE_NO = w.words("say, answer, saying")
SPEAKS = w.words("says, said, saying, shouts, shouting, replies, replied, answers, whispers, yells, nods, screams")
ALSO = w.words("also, maybe, perhaps, possibly")
SELF = frozenset(("i", "would", "we"))
LABELLED_WORD = re.compile(r"(?:^|(?<=\s))\(?[A-F](?:\)|[.:])\s{0,3}(?=(?:yes|no)\b)", re.I)
LISTED_WORD = re.compile(r"^\(?[A-F][).:]\s?(?:yes|no)\W*$", re.I | re.M)
LEADING_TICK = re.compile(r"^[✅✔✓☑❌✗✘✖]\s?(?=\w)", re.M)
STRONG_OPENERS = w.words("so, but, therefore, hence, thus, then, →, ;, yet, however, consequently")
CHOOSING = w.PICKS | w.ANSWERS | w.CONCLUDES
ASKS = w.words("""
    caption, entail, entails, entailed, match, matches, description, describe, describes, statement, correct,
    accurate, true
""")
OFFERS, HELPS = w.words("can, will, happy, glad, would"), w.words("help, assist")
REFUSED = w.words("view, watch, access, open, play, process, analyze, analyse, assist, help, answer, provide, load")
SHOWN = w.VIDEOS | {"image", "images"}
REFUSERS = w.words("i, we, unable, me")
REQUESTS = w.words("upload, thank")
INSISTING = w.words("i, we, would, must, to, me")
NAMED = w.words("answer, relation, relationship, label, verdict, conclusion")
SUPPOSED = w.words("would, could, requires, might")
AFFIRMS, DENIES = w.AFFIRMS | {"is"}, w.DENIES | {"not", "is_not"}
# Affirmations that may also be something else at the head of a longer answer: "Sure, I can help", "Right after ...".
LOOSE = w.words("right, sure, certainly, of course, correct, exactly, true, it is, is, accurate, positive, indeed")
FIRM = w.words("correct, true, exactly, indeed, accurate")
GOOD_TICK, BAD_TICK = frozenset("✅✓✔👍☑"), frozenset("❌✗✘👎✖")


@lru_cache(KEPT)
def read_yes_no(text: str) -> str:
    """Yes, No, or nothing."""
    found = clauses(sentences(_unlabelled(text), mark_yes_no))
    words, verdicts = list(word_claims(found)), list(verdicts_of(found))
    said = settle(words, found, ())
    if said:
        return weigh(said, words, verdicts, found)
    if any(not claim.rejects for claim in words):
        return ""  # the words are at odds with each other
    read = last_verdict(verdicts, found) or _left_over(words) or _sole_mention(found)
    return read or ("No" if not (words or verdicts) and denies_event(found) else "")


def _unlabelled(text: str) -> str:
    """The text without letters that label a yes or a no, and without a list of both."""
    if len({match[0] for match in LABELLED_WORD.finditer(text)}) > 1:
        text = LISTED_WORD.sub("", text)
    return LEADING_TICK.sub("", LABELLED_WORD.sub("", text))


def mark_yes_no(raw: list[str]) -> list[str]:
    """The tokens in lower case with yes, no and their like marked, but not the "no" of "no one"."""
    tokens, marked = [word.lower() for word in raw], list[str]()
    for at, word in enumerate(tokens):
        mark = _word(tokens, at)
        marked.append(mark or word)
        if mark and at + 1 < len(tokens) and tokens[at + 1] in NEW_CLAUSE:
            marked.append(",")
    return merge_groups(without_brackets(marked), YES_NO)


def _word(tokens: Sequence[str], at: int) -> str:
    """The mark of a word that answers, empty for any other."""
    word, is_short = tokens[at], len(tokens) <= 3
    if word in w.YES or (is_short and word == "y"):
        mark = "«Yes»"
    elif word in w.NO or (is_short and word == "n") or (word == "no" and _no_is_an_answer(tokens, at)):
        mark = "«No»"
    else:
        return ""
    spoken = at > 0 and tokens[at - 1] in SPEAKS and SELF.isdisjoint(tokens[max(0, at - 4) : at])
    return "" if spoken else mark


def _no_is_an_answer(tokens: Sequence[str], at: int) -> bool:
    after = tokens[at + 1] if at + 1 < len(tokens) else "."
    numbered = after == "." and at + 2 < len(tokens) and tokens[at + 2].isdigit()
    answers = not after[0].isalnum() or after in AFTER_NO or (at > 0 and tokens[at - 1] in BEFORE_NO)
    return answers and not numbered


# --- what they claim -------------------------------------------------------------------------------------------------


def word_claims(found: Sequence[Clause]) -> Iterator[Claim]:
    """What the words yes and no claim, in their order."""
    scope, asked = Scope(), Clause((), "", 0, -2, 0, True, True, False, True, False, True)
    for clause in found:
        tokens = clause.tokens
        if clause.asked:
            asked = clause
            continue
        aside = clause.sentence == asked.sentence + 1 and not has(asked.tokens, ASKS)
        if not tokens or scope.is_void(clause, found) or (aside and not all(map(is_mark, asked.tokens))):
            continue
        marks = [word for word in tokens if is_mark(word)]
        if not marks:
            yield from plain_claims(clause, found)
        elif len(marks) == 2 and "|" in marks[0]:
            marks = marks[1:]  # "Yes or no: yes"
        elif len(marks) == 2 and has(tokens, w.COMPARES):
            marks = marks[1:] if tokens[0] in w.COMPARES else marks[:1]  # "rather than yes, no", "yes rather than no"
        for mark in dict.fromkeys(marks):
            yield from claim_of_word(clause, mark, found)


def claim_of_word(clause: Clause, mark: str, found: Sequence[Clause]) -> Iterator[Claim]:
    """What a clause says with one yes or no."""
    at = clause.tokens.index(mark)
    head, tail = clause.tokens[:at], tuple(word for word in clause.tokens[at + 1 :] if not is_mark(word))
    rest = tuple(word for word in (*head, *tail) if not is_mark(word))
    if (has(head, w.CAN) and not has(rest, w.NEGATIONS)) or has(tail[:1], SUPPOSED):
        return  # "the answer could be yes", "yes would require that he jumps"
    if ("say" in head and not has(head, INSISTING)) or (is_polite(clause, found) and not has(head[-1:], w.PARTLY)):
        return
    if has(head[-1:], w.PARTLY):
        yield Claim("", EXPLICIT, clause.place, clause.sentence)
        return
    level, bare = word_level(clause, mark, head, rest, tail, found), is_bare(rest)
    if not level:
        if (
            clause.opener == "and" or has(rest, ALSO) or has(tail[:1], ABOUT)
        ):  # "Yes and no", "yes for the door, no for the bed"
            yield Claim("", EXPLICIT, clause.place, clause.sentence)
        return
    words = [word for word in rest if word not in TICKS]
    judged = sign(words)
    labels = not at and clause.tokens[1:2] == (":",)  # "No: contradiction"
    rejects = (bool(at) or bare) and not labels and (judged < 0 or (not judged and negated(words)))
    option = mark.strip("«»+")
    yield Claim("" if "|" in option else option, level, clause.place, clause.sentence, rejects and "|" not in option)


def word_level(
    clause: Clause,
    mark: str,
    head: tuple[str, ...],
    rest: tuple[str, ...],
    tail: tuple[str, ...],
    found: Sequence[Clause],
) -> int:
    """How strongly a clause answers with a yes or no."""
    level = 0
    if is_bare(rest):
        corrects = clause.opener == ":" and has(found[clause.place - 1].tokens, w.TURNS)
        if clause.is_first and not clause.is_last and clause.opener in ("", ","):
            level = EXPLICIT if clause.leads else STATED
        elif clause.is_first or clause.opener in STRONG_OPENERS or corrects:
            level = bare_level(clause, found, head, rest, mark) or STATED
        elif clause.opener == "," and (clause.is_last or has(head, CHOOSING)):
            level = STATED
    level = level or label_level(head, tail) or (STATED if is_picked(head) else 0)
    runs_on = bool(tail) and tail[0].isalpha() and tail[0] not in AFTER_YES  # "Yes star floats" says nothing
    if not (level or head or runs_on or clause.opener) and clause.is_first:
        level = EXPLICIT if clause.leads else STATED
    return level


def is_polite(clause: Clause, found: Sequence[Clause]) -> bool:
    """Is a leading yes or no only politeness before an offer or a refusal?"""
    ahead = (later for later in found[clause.place : clause.place + 4] if later.sentence == clause.sentence)
    return any(is_refusal(later.tokens) for later in ahead)


def is_refusal(tokens: Sequence[str]) -> bool:
    """An offer to help, or a regret that a video cannot be seen."""
    offers = has(tokens, OFFERS) and has(tokens, HELPS)
    views = has(tokens, REFUSED) or ("see" in tokens and has(tokens, SHOWN))
    return offers or (views and has(tokens, REFUSERS) and has(tokens, w.NEGATIONS)) or has(tokens, REQUESTS)


def plain_claims(clause: Clause, found: Sequence[Clause]) -> Iterator[Claim]:
    """Answers without the words yes and no: "It does.", "Not at all", "Answer: true"."""
    tokens, whole = clause.tokens, clause.is_first and clause.is_last
    labelled = _labelled(tokens)
    if labelled:
        yield Claim(labelled, EXPLICIT, clause.place, clause.sentence)
    takes_back = clause.opener == "but" and clause.is_last and "_".join(tokens) in DENIES
    if not takes_back and (not clause.is_first or clause.opener not in ("", "so") or not (clause.leads or whole)):
        return
    sole = whole and clause.leads and clause.sentence == found[-1].sentence
    said = "_".join(tokens)
    if said not in LOOSE | AFFIRMS | DENIES:
        said = "_".join(without_stance(tokens))
    left_out = ellipsis(tokens)
    if left_out:
        said = "it_does" if left_out > 0 else "it_does_not"
    affirms = said in AFFIRMS and (said not in LOOSE or sole or (clause.place == 0 and said in FIRM))
    if affirms or (sole and said in GOOD_TICK):
        yield Claim("Yes", STATED, clause.place, clause.sentence)
    elif said in DENIES or (sole and said in BAD_TICK):
        yield Claim("No", STATED, clause.place, clause.sentence)


def _labelled(tokens: Sequence[str]) -> str:
    """Yes or No where a label is followed by an affirmation or a denial."""
    at = next((at for at, word in enumerate(tokens) if word in (":", "is", "=")), 0)
    if not at or not has(tokens[:at], w.LABELS) or (tokens[at] == "is" and not has(tokens[:at], NAMED)):
        return ""
    said = "_".join(tokens[at + 1 :])
    return "Yes" if said in w.AFFIRMS else "No" if said in w.DENIES or said == "not" else ""


def without_stance(tokens: Sequence[str]) -> Sequence[str]:
    """The tokens without how sure somebody is of them: "I am sure it does not"."""
    at = 0
    while at < len(tokens) - 1 and tokens[at] in STANCES and "_".join(tokens[at : at + 2]) not in w.SENTENCES:
        at += 1
    return tokens[at:] if at else ()


def _left_over(words: Sequence[Claim]) -> str:
    """What is left when one of the two is denied: "I can't say no to that"."""
    denied = {claim.option for claim in words}
    return next(option for option in YES_NO if option not in denied) if len(denied) == 1 else ""


def _sole_mention(found: Sequence[Clause]) -> str:
    """The one yes or no of an answer, where it stands alone at the very end."""
    mentions = [(clause, word) for clause in found for word in clause.tokens if is_mark(word)]
    if len(mentions) != 1 or mentions[0][0] is not found[-1]:
        return ""
    clause, mark = mentions[0]
    around = [other.tokens for other in found if other.sentence == clause.sentence]
    void = any(conditional(tokens) or has(tokens, w.DRAFTS) for tokens in around)
    alone = len(clause.tokens) == 1 and clause.opener in (":", "-", ",") and "|" not in mark
    return mark.strip("«»") if alone and not void else ""
