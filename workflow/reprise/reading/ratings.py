"""A judge's reply as a rating from 0 to 3: `authors` as the reference harness reads it, `robust` as a person would.

To a person a number is a rating only where it stands as one: alone, after a label, after a verb that gives it, as the end
of an argument, or over 3. A count of dogs, a year, a step, a bound, a range and a rating that is denied are none.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from reprise.reading import words as w
from reprise.reading.clauses import COPULAS, Clause, clauses, has, is_mark, sentences
from reprise.reading.languages import in_english
from reprise.reading.letters import Context, is_void
from reprise.reading.mentions import without_brackets
from reprise.reading.normalise import normalise
from reprise.reading.settle import EXPLICIT, FINAL, HINTED, STATED, Claim, settle

RATINGS = ("0", "1", "2", "3")
ALONE = {form: int(rating) for rating in RATINGS for form in (rating, f"{rating}.", f" {rating}", f"{rating}\n", f"**{rating}**")}
# What both Python's grammar and int() take for a whole number; the harness evaluates the reply before it converts it.
WHOLE = re.compile(r"[+-]?(?:0+(?:_?0)*|[1-9](?:_?[0-9])*)")
NUMBERS = {"zero": "0", "one": "1", "two": "2", "three": "3", "0": "0", "1": "1", "2": "2", "3": "3"}
NUMBER = r"(\d+(?:\.\d+)?|zero|one|two|three)"
UNITS = r"(?:points?|marks?|stars?|pts?)"
# "2 of 3 points" is a rating, "2 of 3 dogs" is none.
OVER_THREE = re.compile(rf"(?<![\w.,-]){NUMBER}\s*{UNITS}?\s*(?:/|\bout of\b|\bof\b)\s*(?:the )?(?:possible )?(?:3(?:\.0+)?|three)\b(?!\s*\.\d)(\s*{UNITS})?", re.I)
OTHER_SCALE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?\s*(?:/|\bout of\b|\bof\b)\s*\d+(?:\.\d+)?", re.I)
SCALE = re.compile(
    r"\(?(?:\b(?:on|in|from|of|using|with|the|a|scale|range|ranging|rated|rating)\b[ :]{0,2}){0,5}\b0\s?(?:-+|to|through|and|until|\.\.+)\s?3\b\)?"
    r"|\(?(?:from |of )?0, ?1, ?2,? ?(?:or|and|to|/)? ?3\b\)?|\b0/1/2/3\b|\b(?:out of|of a possible) (?:a maximum of )?(?:3|three)\b"
    r"|\b(?:max(?:imum)?|highest|top|best possible|full)(?: possible)?(?: (?:score|rating|mark|value|points?|one))?\s?(?:is|being|of|:|=|,)\s?(?:a )?3\b",
    re.I,
)
RANGE = re.compile(r"(?<![\w.,-])[0-9]\s?(?:-|to|~|/)\s?[0-9](?![\w.,]*\d)(?!\s?=)")
SUM = re.compile(r"\d\s?(?:[-+*]|minus|plus)\s?\d")
RESULT = re.compile(r"(?:\d|\w)\s?=\s?(\d)(?![\w.]*\d)\W*$")
GLOSSES = (
    ("3", "entirely|completely|fully|totally|perfectly|wholly|absolutely|100%|100 %", "correct|right|accurate"),
    ("2", "largely|mostly|mainly", "correct|right|accurate"),
    ("1", "largely|mostly|mainly", "incorrect|wrong|inaccurate|false"),
    ("0", "entirely|completely|fully|totally|wholly|absolutely|100%|100 %", "incorrect|wrong|inaccurate|false"),
)
GLOSS = tuple((rating, re.compile(rf"(?<!not )(?<!n't )\b(?:{how}) (?:{what})\b", re.I)) for rating, how, what in GLOSSES)
FULL = re.compile(r"\b(?:full|top|maximum|highest|perfect) (?:marks?|points?|scores?|ratings?|credit)\b(?! (?:is|are|would|requires?|means?))", re.I)
NONE = re.compile(r"\b(?:no|zero) (?:marks?|points?|credit)\b", re.I)

LABELS = w.words("rating, score, grade, mark, assessment, response, similarity, evaluation, verdict, result, answer, judgment, judgement, points, "
                 "conclusion, final, overall, output, correctness, value, ratings, scores, decision, final_answer, similarity_score, accuracy, revised")  # fmt: skip
GIVES = w.words("""rate, rated, rating, give, gives, gave, given, giving, assign, assigned, assigning, award, awarded, awarding, deserve, deserves,
    earn, earns, earned, get, gets, receive, receives, grade, graded, score, scores, scored, merit, merits, mark, evaluate, evaluated, judge,
    judged, say, go with, going with, settle on, choose, pick, lean towards, leaning towards, lean toward, call, warrants, warrant, worth, assess, assessed, stick with,
    select, make, makes, opt for, go for, vote, put, place, lands on, falls under, consider, deem, justifies, allocate, leaning, lean, settle, leave, leaves, qualifies for, equals, stays, remains, keep, use, at""")
BOUNDS = w.words("least, most, up_to, up, less, more, below, above, under, minus, step, question, maximum, max, highest, lowest, minimum, plus, number, frame, part, item, "
                 "point, event, scene, shot, exceed, exceeding, higher, lower, beyond, than, version, criterion, initial, first, initially, almost, nearly, criteria, second, seconds, minute, page, option")  # fmt: skip
MEANS = w.words("""indicates, means, mean, would, represents, requires, stands, denotes, corresponds, seems, might, could, needs, can, should, may, applies, implies, refers,
    too, if, is out of the question, out of the question, being, reserved, demands, calls, feels, was, or""")
COMPARED = frozenset("candidate groundtruth truth reference expected candidates prediction question".split())
FAIR = frozenset("fair appropriate right justified reasonable warranted best suitable fitting correct adequate deserved apt".split())
AFTERS = w.words("points, point, marks, mark, stars, for, because, since, as, on, to, here, overall, given, out, in, by, at, this, it, not, and, but, so, from, with, of, max, max., pts, instead, due, based, rather_than, now, then, since, is, there, final, that, although, though, today, thus, again, instead_of, after_all, i, only, score, rating")
BARE = w.FILLERS | w.HEDGES | w.CONCLUDES | w.TURNS | LABELS | GIVES | w.PICKS | AFTERS | frozenset((":", "=", "→", "-", "#", "candidate", "out_of", "stands", "points", "award", ">", "mark", "marks", "not", "similarity", "somewhere", "approximately"))


def read_rating_authors(reply: str) -> int | None:
    """A bare whole number, of any size; a negative one counts as failed, "3." and "Score: 3" as well.

    On a reply that evaluates to a whole number and is none, such as "2+1" or "True", the harness itself stops.
    """
    text = reply.strip(" \t\n\r\f")
    if not WHOLE.fullmatch(text):
        return None
    return int(text) if int(text) >= 0 else None


def read_rating(reply: str) -> int | None:
    """The one rating that a person would read; none where there is no rating or there are two."""
    if reply in ALONE:
        return ALONE[reply]
    text = in_english(normalise(reply))
    text = _listed(OVER_THREE.sub(_over_three, text))
    text = RANGE.sub(" ⟂ ", SCALE.sub(" ", OTHER_SCALE.sub(" ⟂ ", text)))
    result = RESULT.search(text)
    if result and SUM.search(text):
        return int(result[1]) if result[1] in RATINGS else None
    if SUM.search(text):
        return None
    found = clauses(sentences(text, mark_numbers, bullets=False))
    reading = settle(list(rating_claims(found)), found, ())
    glossed = {rating for rating, pattern in GLOSS if pattern.search(text)}
    glossed |= {"3"} if FULL.search(text) else set()
    glossed |= {"0"} if NONE.search(text) else set()
    if not reading and not any(True for _ in rating_claims(found)) and len(glossed) == 1 and "?" not in text:
        reading = glossed.pop()
    return int(reading) if reading in RATINGS else None


def _over_three(match: re.Match[str]) -> str:
    """A number over 3 as a rating, unless it counts things."""
    number, rest = match[1].lower(), match.string[match.end() :]
    counts = not match[2] and re.match(r"\s+(?!or|points|marks|because|since|as|for|on|in|and|but|so|here|overall|due|given|is|with|not|would|from|at|to|if|the|i)[a-z]+", rest)
    return " ⟂ " if counts else f" «{_canonical(number)}+» "


def _canonical(number: str) -> str:
    """The rating that a number is, or "x" for one that is no rating."""
    number = NUMBERS.get(number, number)
    if re.fullmatch(r"\d{1,3}(?:\.0+)?", number):
        number = str(int(float(number)))
    return number if number in RATINGS else "x"


def _listed(text: str) -> str:
    """The text without the numbers of a numbered list."""
    numbered = re.findall(r"^[ \t]*(\d)[.)]\s+\S", text, re.M)
    return re.sub(r"^[ \t]*\d[.)]\s+(?=\S)", "", text, flags=re.M) if len(set(numbered)) > 1 else text


def mark_numbers(tokens: list[str]) -> list[str]:
    """Mark the numbers, those in words only where they cannot be anything else; join those in one breath."""
    marked = list[str]()
    for at, token in enumerate(tokens):
        low, after = token.lower(), tokens[at + 1].lower() if at + 1 < len(tokens) else ""
        before = tokens[at - 1].lower() if at else ""
        if token[0].isdigit() and re.fullmatch(r"\d+(?:\.\d+)?", token):
            negative = before == "-" and (at == 1 or not tokens[at - 2][0].isalnum())
            joined = after == "-" and at + 2 < len(tokens) and tokens[at + 2][0].isalpha()
            marked.append("«x»" if negative else token if joined else f"«{_canonical(token)}»")
        elif low in NUMBERS and (not after or not after[0].isalnum() or after in ("point", "points", "marks")) and (before in ("a", "is", ":", "=", "of", "-", "as", "rating", "score", "", "with", "on", "give", "it", "award", "say", "rate") or before in GIVES):
            marked.append(f"«{_canonical(low)}»")
        else:
            marked.append(token)
    return _grouped(without_brackets(marked))


def _grouped(tokens: Sequence[str]) -> list[str]:
    """Several numbers in one breath ("2 or 3", "between 1 and 2") as one mark; of the same number one."""
    found = list[str]()
    for token in tokens:
        if is_mark(token) and len(found) > 1 and is_mark(found[-2]) and found[-1].lower() in ("or", "and", ",", "/", "to", "vs"):
            names = [*found[-2].strip("«»+").split("|"), token.strip("«»+")]
            found[-2:] = [f"«{'|'.join(dict.fromkeys(names))}»"]
        elif is_mark(token) and found and is_mark(found[-1]):
            names = [*found[-1].strip("«»+").split("|"), token.strip("«»+")]
            found[-1] = f"«{'|'.join(dict.fromkeys(names))}»"
        else:
            found.append(token)
    return found


def rating_claims(found: Sequence[Clause]) -> Iterator[Claim]:
    """What the clauses of a reply rate."""
    context = Context()
    for clause in found:
        if not clause.tokens or clause.asked or is_void(clause, context, found):
            continue
        places = [at for at, token in enumerate(clause.tokens) if is_mark(token)]
        for number, at in enumerate(places):
            start = places[number - 1] + 1 if number else 0
            head, tail = clause.tokens[start:at], clause.tokens[at + 1 :]
            level = rating_level(clause, head, tail, clause.tokens[at], found)
            if not level:
                continue
            ratings = clause.tokens[at].strip("«»+").split("|")
            denied = has(head, w.NEGATIONS) or clause.tokens[:1] == ("not",)
            if denied or has(head, w.DRAFTS):
                yield from (Claim(rating, HINTED, clause.place, clause.sentence, rejects=True) for rating in ratings if denied)
            else:
                yield Claim(ratings[0] if len(ratings) == 1 else "", level, clause.place, clause.sentence)


def rating_level(clause: Clause, head: Sequence[str], tail: Sequence[str], mark: str, found: Sequence[Clause]) -> int:
    """How strongly a number stands as the rating; 0 where it is none."""
    if has(head[-3:], BOUNDS) and not has(head[-3:], frozenset(("on", "final", ":"))) or "between" in head:
        return STATED if "|" in mark and all(token in BARE for token in (*head, *tail)) else 0
    if head and head[-1] in w.COMPARES:
        return 0
    if tail and tail[0] in ("seems", "is", "would", "appears", "feels") and has(tail, FAIR) and not has(tail, w.NEGATIONS) and "if" not in tail:
        return STATED
    if tail and (tail[0] in MEANS or (tail[0] not in AFTERS and tail[0][0].isalnum() and tail[0] not in w.HEDGES | w.CONCLUDES)):
        return 0
    if tail[:2] == ("is", "out_of_the_question") or (tail[:1] == ("is",) and has(tail, w.BAD | frozenset(("too", "reserved", "only")))):
        return 0
    compared = next((at for at, token in enumerate(tail) if token in w.COMPARES), len(tail))
    words = (*head, *tail[:compared])
    named = head[-2] if len(head) > 1 and head[-1] == ":" else before_colon(clause, found)
    if named in COMPARED:
        return 0
    bare = all(token in BARE for token in words) and not (head and any(is_mark(token) for token in clause.tokens[: len(clause.tokens) - len(tail) - 1]))
    if head[-1:] == ("answer",) and tail:
        return 0
    label = next((at for at in range(len(head) - 1, -1, -1) if head[at] in LABELS), -1)
    if label >= 0 and head[label] == "answer" and not has(head[label:], COPULAS):
        label = -1
    if label >= 0 and all(token in BARE or token in COPULAS for token in head[label:]) and (len(head) - label) < 8:
        return FINAL if has(head, w.FINALS) else EXPLICIT
    if mark == "«x»" and len(found) > 1:
        return 0
    if has(head, GIVES) and not has(head, frozenset(("says", "candidate_says"))):
        verb = max(at for at, token in enumerate(head) if token in GIVES)
        if len(head) - verb < 9 and not has(head[verb:], BOUNDS):
            return STATED
    if mark.endswith("+»"):
        return STATED
    if bare and clause.is_first and (clause.is_last or clause.place == 0):
        return EXPLICIT if clause.place == 0 or clause.fills_line or clause.is_last else STATED
    if bare and (clause.opener in ("so", "therefore", "hence", "thus", "→", "but", "then", "=", "consequently") or (clause.is_last and clause.opener in (":", "-", ",", ";"))):
        return STATED
    return 0


def before_colon(clause: Clause, found: Sequence[Clause]) -> str:
    """The last word of the clause before a colon that opens this one."""
    return found[clause.place - 1].tokens[-1] if clause.opener == ":" and found[clause.place - 1].tokens else ""


RATING_READERS: dict[str, Callable[[str], int | None]] = {"authors": read_rating_authors, "robust": read_rating}
