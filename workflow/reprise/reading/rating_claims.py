"""Which numbers of a judge's reply are ratings.

To a person a number is a rating only where it stands as one: alone, after a label, after a verb that gives it, at the
end of an argument, or over 3. A count of dogs, a year, a step, a bound, a range and a rating that is denied are none.
"""

import re
from collections.abc import Iterator, Sequence

from reprise.reading import words as w
from reprise.reading.clauses import COPULAS, STUTTER, Clause, has, is_mark
from reprise.reading.mentions import without_brackets
from reprise.reading.scope import Scope
from reprise.reading.settle import EXPLICIT, FINAL, HINTED, STATED, Claim

Scale = tuple[str, ...]
RATINGS: Scale = ("0", "1", "2", "3")
OTHER = " ⟂ "  # stands for a number on another scale, or a range
NO_RATING = "x"  # the mark of a number that is not on the scale
NUMBERS = ("zero", "one", "two", "three", "four", "five")
NUMBER, WHOLE = re.compile(r"\d+(?:\.\d+)?"), re.compile(r"\d{1,3}(?:\.0+)?")
POINTS = w.words("point, points, marks")
JOINS = frozenset(("or", "and", ",", "/", "to", "vs"))
JOINED = frozenset((join,) for join in JOINS)
WITHIN_GROUP = JOINS | POINTS | {"a", "maybe", "perhaps", "even"}
LABELS = w.words("""
    rating, score, grade, mark, assessment, response, similarity, evaluation, verdict, result, answer, judgment,
    judgement, points, conclusion, final, overall, output, correctness, value, ratings, scores, decision, final
    answer, accuracy, revised
""")
GIVES = w.words("""
    rate, rates, rated, rating, give, gives, gave, given, giving, assign, assigned, assigning, award, awarded,
    awarding, deserve, deserves, earn, earns, earned, get, gets, receive, receives, grade, graded, score, scores,
    scored, merit, merits, mark, evaluate, evaluated, judge, judged, say, go with, going with, settle on, choose,
    pick, lean towards, leaning towards, lean toward, call, warrants, warrant, worth, assess, assessed, stick with,
    select, make, makes, opt for, go for, vote, put, place, consider, deem, justifies, allocate, leaning, lean,
    settle, leave, leaves, equals, stays, remains, keep, use, at
""")
UNSURE = w.NEEDS | w.words("need, might, could, may")
BEFORE_WORD = (
    GIVES
    | w.words("""
        answer, candidate, response, a, is, :, =, of, -, as, rating, score, with, on, give, it, award, say, rate
    """)
    | {""}
)
BOUNDS = w.words("""
    least, most, up to, up, less, more, below, above, under, minus, step, question, maximum, max, highest, lowest,
    minimum, plus, number, frame, part, item, point, event, scene, shot, exceed, exceeding, higher, lower, beyond,
    than, version, criterion, initial, first, initially, almost, nearly, criteria, second, seconds, minute, page,
    option
""")
PRIOR = w.words("old, previous, earlier, provisional, draft")
UNBOUND = w.words("on, final, :")
MEANS = w.words("""
    indicates, means, mean, would, represents, requires, stands, denotes, corresponds, seems, might, could, needs,
    can, should, may, applies, implies, refers, too, if, out of the question, being, reserved, demands, calls, feels,
    was, or
""")
JUDGES, FAIR = (
    w.words("seems, is, would, appears, feels"),
    w.words("""
        fair, appropriate, right, justified, reasonable, warranted, best, suitable, fitting, correct, adequate,
        deserved, apt, fairer, fairest, better
    """),
)
NOT_FAIR = w.NEGATIONS | {"if", "mean"}
NAMING = w.words("answer, candidate, option, version")
UNFAIR = w.BAD | w.words("too, reserved, only")
ADJECTIVE = ("a",)  # before "solid 2"
COMPARED = w.words(
    """
    confidence, certainty, length, candidate, groundtruth, truth, reference, expected, candidates, prediction,
    question
"""
)
AFTERS = (
    w.HEDGES
    | w.CONCLUDES
    | w.words("""
        than, points, point, marks, mark, stars, for, because, since, as, on, to, here, overall, given, out, in, by,
        at, this, it, not, and, but, so, from, with, of, max, pts, instead, due, based, rather than, now, then, is,
        there, final, that, although, though, today, thus, again, instead of, after all, i, only, score, rating
    """)
)
BARE = frozenset().union(
    w.COMPARES, w.words("closer, nearer, roughly, about, around, changed, corrected"),
    w.FILLERS, w.HEDGES, w.CONCLUDES, w.TURNS, w.PICKS, LABELS, GIVES, AFTERS,
    (":", "=", "→", "-", "#", ">", "candidate", "out_of", "stands", "somewhere", "approximately"),
)  # fmt: skip
CONCLUDING = w.words("so, therefore, hence, thus, →, but, then, =, consequently")
LATE = frozenset((":", "-", ",", ";", "("))
EXPLAINED = w.words("as, because, since, for, due, given, with, but, though, although")
NEAR = 9  # words between a label or a verb and its number


def canonical(number: str, scale: Scale = RATINGS) -> str:
    """The rating that a number is."""
    if number in NUMBERS:
        number = str(NUMBERS.index(number))
    if WHOLE.fullmatch(number):
        number = str(int(float(number)))
    return number if number in scale else NO_RATING


def mark_numbers(raw: list[str], scale: Scale = RATINGS) -> list[str]:
    """The words in lower case with numbers marked, those in letters only where they are nothing else."""
    said, marked, numbers = [word.lower() for word in raw], list[str](), NUMBERS[: len(scale)]
    for at, word in enumerate(said):
        before, after = said[at - 1] if at else "", said[at + 1] if at + 1 < len(said) else ""
        if NUMBER.fullmatch(word):
            negative = before == "-" and (at == 1 or not said[at - 2][0].isalnum())
            bracketed = before == "[" and after == "]"
            marked.append(f"«{NO_RATING if negative else canonical(word, scale)}{'+' if bracketed else ''}»")
        elif (
            word in numbers
            and (not after[:1].isalnum() or after in POINTS or after in EXPLAINED)
            and (before in BEFORE_WORD or (word != "one" and said[max(0, at - 2) : at - 1] == ["a"]))
        ):
            marked.append(f"«{canonical(word, scale)}»")
        else:
            marked.append(word)
    return _grouped(without_brackets(marked))


def _grouped(words: Sequence[str]) -> list[str]:
    """Several numbers in one breath ("2 or 3", "between 1 and 2") as one mark; of the same number one."""
    found = list[str]()
    for word in words:
        last = next((at for at in range(len(found) - 1, -1, -1) if found[at] not in WITHIN_GROUP), -1)
        between = found[last + 1 :]
        if (
            is_mark(word)
            and last >= 0
            and is_mark(found[last])
            and not (between == [","] and has(found[:last], w.NEGATIONS))
            and (not between or tuple(between) in JOINED or "or" in between)
        ):
            names = [*found[last].strip("«»+").split("|"), word.strip("«»+")]
            found[last:] = [f"«{'|'.join(dict.fromkeys(names))}»"]
        else:
            found.append(word)
    return found


def rating_claims(found: Sequence[Clause]) -> Iterator[Claim]:
    """What the clauses of a reply rate."""
    scope = Scope()
    for clause in found:
        if not clause.tokens or clause.asked or scope.is_void(clause, found):
            continue
        start = 0
        for at, mark in enumerate(clause.tokens if sum(map(is_mark, clause.tokens)) <= STUTTER else ()):
            if not is_mark(mark):
                continue
            head, tail, alone = clause.tokens[start:at], clause.tokens[at + 1 :], start == 0
            start = at + 1
            level = rating_level(clause, head, tail, mark, alone, found)
            ratings = mark.strip("«»+").split("|")
            near = head[len(head) - head[::-1].index(":") :] if ":" in head and not has(head, LABELS) else head
            if level and (has(near, w.NEGATIONS) or clause.tokens[0] == "not"):
                yield from (Claim(rating, HINTED, clause.place, clause.sentence, rejects=True) for rating in ratings)
            elif level:
                yield Claim(ratings[0] if len(ratings) == 1 else "", level, clause.place, clause.sentence)


def rating_level(
    clause: Clause, head: Sequence[str], tail: Sequence[str], mark: str, alone: bool, found: Sequence[Clause]
) -> int:
    """How strongly a number stands as the rating; 0 where it is none."""
    end = next((at for at, word in enumerate(tail) if word in w.COMPARES or word == ":"), len(tail))
    own = () if len(head) == 2 and head[:1] == ADJECTIVE else head
    bare_behind = all(map(adds_nothing, tail[:end]))
    bare = bare_behind and all(map(adds_nothing, own))
    if "between" in head or (has(head[-3:], BOUNDS) and not has(head[-3:], UNBOUND)):
        return STATED if "|" in mark and bare else 0
    if has(head, w.COMPARES) and alone is False:
        return 0
    if has(head[-1:], w.COMPARES):
        return 0
    if has(tail[:1], JUDGES) and has(tail, FAIR) and not has(tail, NOT_FAIR):
        return STATED
    if is_spoken_of(head, tail) or compared_with(clause, head, found) in COMPARED:
        return 0
    level = 0 if has(head[-4:], PRIOR) else label_level(head)
    if level or (mark == f"«{NO_RATING}»" and len(found) > 1):
        return level
    if (mark.endswith("+»") and not has(head[-2:], w.SAYS)) or (is_given(head) and not has(head, UNSURE)):
        return STATED
    if head[-1:] == (":",) and clause.is_last and bare_behind and not has(head, w.SAYS):
        return STATED  # "the similarity is high: 2"
    if not bare or not (alone or not head):
        return 0
    if clause.is_first and (clause.is_last or clause.place == 0):
        return EXPLICIT
    return STATED if clause.opener in CONCLUDING or (clause.is_last and clause.opener in LATE) else 0


def adds_nothing(word: str) -> bool:
    """Is a word only one of those that stand around a rating?"""
    return word in BARE or word.endswith("ly")


def is_spoken_of(head: Sequence[str], tail: Sequence[str]) -> bool:
    """Is a number only spoken of ("a 3 would mean", "3 is too much"), or does it count what follows ("3 dogs")?"""
    if has(head[-1:], NAMING) and not has(head, GIVES):
        return True
    if not tail:
        return False
    counts = tail[0] not in AFTERS and tail[0][0].isalnum()
    unfair = tail[0] == "is" and (has(tail, UNFAIR) or has(tail, w.NEGATIONS) or tail[1:2] == ("out_of_the_question",))
    return tail[0] in MEANS or counts or unfair


def compared_with(clause: Clause, head: Sequence[str], found: Sequence[Clause]) -> str:
    """The word before the colon that a number follows, as in "groundtruth: 3"."""
    if head and head[-1] == ":":
        return head[-2] if len(head) > 1 else ""
    before = found[clause.place - 1].tokens if clause.opener == ":" else ()
    return before[-1] if before else ""


def label_level(head: Sequence[str]) -> int:
    """How strongly a label before a number makes it the rating: "score: 2", "the rating is 2"."""
    at = next((at for at in range(len(head) - 1, -1, -1) if head[at] in LABELS), -1)
    behind = head[at:] if at >= 0 else ()
    if not behind or len(behind) >= NEAR - 1 or (behind[0] == "answer" and not has(behind, COPULAS)):
        return 0
    if not all(word in BARE or word in COPULAS for word in behind):
        return 0
    return FINAL if has(head, w.FINALS) else EXPLICIT


def is_given(head: Sequence[str]) -> bool:
    """Does a verb before a number give it: "I would rate this answer 2"?"""
    at = next((at for at in range(len(head) - 1, -1, -1) if head[at] in GIVES), -1)
    return at >= 0 and len(head) - at < NEAR and not has(head[at:], BOUNDS) and "says" not in head
