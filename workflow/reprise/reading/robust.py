"""The `robust` reader: the option that a careful person would read in a model's answer, or nothing.

Rule of thumb: where two people who see only the options and the answer could disagree, there is no reading. An option
counts where the answer claims it; a mention is no claim. A later claim replaces an earlier one only if it is stronger
or if the answer says that it changes its mind; any other disagreement leaves the answer unread.

The answer is normalised (a container such as `\\boxed{}` becomes a line "Answer: ..."), each mention of an option
becomes a mark such as `«B»`, sentences are searched for claims around the marks, and the claims are settled in order.
The words stand in `robust_lexicon`.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from reprise.reading import lexicon
from reprise.reading.lexicon import EXPLICIT, HINTED, MARKED, RULED_OUT, STATED

KEPT = 1 << 13  # texts whose working is kept: short answers and captions come again and again
REACH = 300  # characters within which a limitation counts
STUTTER = 30  # mentions in one sentence that make it no sentence
TOO_FAR = re.compile(r"\W{6}")  # between two words of a phrase
# What stands between words; quicker than a pattern.
NO_WORD = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
SMALL_WORDS = frozenset(("a", "an", "the", "then", "and", "is", "are", "was", "he", "she", "they", "it", "that", "s"))


class Claim(NamedTuple):
    """What the text says of an option and how strongly; an empty option stands for several at once."""

    option: str
    level: int
    at: int
    sentence: int


class Sentence(NamedTuple):
    """A sentence, where it starts, whether it fills its line and whether that line is a list item."""

    text: str
    start: int
    fills_line: bool
    in_list: bool


def without_thoughts(text: str) -> str:
    """Drop what stands in thinking tags, up to a closing tag that was never opened, and after one never closed."""
    kept, inside = [""], False
    for part in lexicon.THOUGHT.split(text):
        if not lexicon.THOUGHT.fullmatch(part):
            kept += [] if inside else [part]
        elif part[1] == "/":
            kept, inside = (kept if inside else [""]), False
        else:
            inside = True
    return "".join(kept)


def unpack(text: str) -> str:
    """Turn answer tags, output blocks, JSON fields and boxes into lines "Answer: ..."."""

    def tag(match: re.Match[str]) -> str:
        name = match[2]
        if len(name) == 1 and name.isupper() and f"</{name}>" not in text[match.end() : match.end() + 99]:
            return f"({name})"
        return " " if not lexicon.ANSWER_KEY.search(name) else "\n" if match[1] else "\nAnswer: "

    def field(match: re.Match[str]) -> str:
        return f"\nAnswer: {match[2]}\n" if lexicon.ANSWER_KEY.search(match[1]) else "\n"

    text = lexicon.TAG.sub(tag, text)
    text = lexicon.FIELD.sub(field, text) if "{" in text else text
    return text.replace("\\boxed", "\nAnswer: ")


def before_next_turn(text: str) -> str:
    """Cut where the model goes on to ask itself another question."""
    for match in lexicon.RUN_ON.finditer(text):
        if re.search(r"\w", text[: match.start()]):
            return text[: match.start()]
    return re.sub(r"^\s*Q:([^\n?]{0,300}\?)\s*A:", r"\1 Answer:", text)


@lru_cache(KEPT)
def normalise(text: str) -> str:
    """Plain lines of text: one width of letters, one kind of quotes and dashes, no markup and no containers."""
    if lexicon.PLAIN.fullmatch(text) and "a.i." not in text.lower():
        return " ".join(text.split())  # nothing for the rest to do
    text = lexicon.INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).strip()
    text = before_next_turn(unpack(without_thoughts(text)))
    text = lexicon.MARKUP.sub(" ", lexicon.UNCHECKED.sub("", text)).translate(lexicon.TYPOGRAPHY)
    text = re.sub(r"[^\S\n]+", " ", re.sub(r"(?<!\w)'|'(?!\w)", "", text)).replace("\n ", "\n").strip()
    text = lexicon.NEGATED.sub(" not ", lexicon.NOT_THE_WORD.sub("other", text))
    return lexicon.HEADING.sub(r"\1: ", text)


def words_of(text: str) -> tuple[str, ...]:
    """The lower-case words of a text."""
    text = text.lower()
    return tuple(text.translate(NO_WORD).split() if text.isascii() else re.findall(r"\w+", text))


@lru_cache(KEPT)
def spoken(text: str) -> str:
    """The words of a text between single blanks, to look for one text in another."""
    return f" {' '.join(words_of(text))} "


def mark_captions(text: str, captions: Mapping[str, str]) -> str:
    """Replace captions that are restated word for word; one of few words only where it ends a statement."""
    shown = [(option, normalise(caption)) for option, caption in captions.items()]
    shown += [(option, re.sub(r"\([^)]*\)", "", caption)) for option, caption in shown if "(" in caption]
    for option, caption in sorted(shown, key=lambda item: -len(item[1])):
        words = words_of(caption)
        if not words or spoken(caption) not in spoken(text):
            continue
        if any(words == words_of(other) for key, other in shown if key != option):
            continue
        text = mark_phrase(text, words, option) if len(words) > 3 else mark_few_words(text, words, option)
    return text


def mark_phrase(text: str, words: Sequence[str], option: str) -> str:
    """Mark the words wherever they follow each other with one to five other characters between them."""
    if not text.isascii():
        phrase = r"\W{1,5}".join(map(re.escape, words))
        return re.sub(rf"(?<!\w){phrase}(?!\w)", f"«{option}++»", text, flags=re.I)
    # The same without a pattern of the whole caption, which takes longer to compile than to apply.
    line, wanted = spoken(text), f" {' '.join(words)} "
    spans = [match.span() for match in re.finditer(r"\w+", text)]
    kept, end, place = list[str](), 0, line.find(wanted)
    while place >= 0:
        at = line.count(" ", 0, place)
        first, last = spans[at][0], spans[at + len(words) - 1][1]
        if TOO_FAR.search(text, first, last):
            place = line.find(wanted, place + 1)
        else:
            kept, end = [*kept, text[end:first], f"«{option}++»"], last
            place = line.find(wanted, place + len(wanted) - 1)
    return "".join(kept) + text[end:]


def mark_few_words(text: str, words: Sequence[str], option: str) -> str:
    """Mark a few words where they end a statement."""
    phrase = r"\W{1,5}".join(map(re.escape, words))
    before = r"((?:^|\bis|[:=]|(?:^|\W)[A-F](?:\b|[).,]))[ ).:,(-]{0,6})"
    return re.sub(rf"{before}(?:the )?{phrase}(?=[^\w\n]*$)", rf"\1«{option}++»", text, flags=re.I | re.M)


def mark_letters(text: str, options: Sequence[str]) -> str:
    """Mark letters that stand for an option, also those that nobody offered, and ordinals such as "the first one"."""

    def ordinal(match: re.Match[str]) -> str:
        word = (match[1] or match[2]).lower()
        ends = {"former": 0, "last": len(options) - 1, "latter": len(options) - 1}
        place = ends[word] if word in ends else lexicon.PLACES.index(word)
        return f"«{options[place]}+»" if place < len(options) else match[0]

    text = lexicon.ORDINAL.sub(ordinal, text)
    text = lexicon.NAMED.sub(lambda match: f"«{(match[1] or match[2]).upper()}+»", text)
    text = lexicon.BRACKETED.sub(lambda match: f"«{match[1].upper()}»)", text)
    text = lexicon.LOWER.sub(lambda match: f"{match[1]}«{match[2].upper()}»", text)
    text = lexicon.UPPER.sub(lambda match: f"«{match[0]}»", text)
    text = lexicon.ENUMERATED.sub(lambda match: match[0] if lexicon.TURN.search(match[1]) else "", text)
    labels = {match[2] for match in lexicon.LABEL.finditer(text)}
    return lexicon.LABEL.sub(r"\1", text) if len(labels) > 1 else text


def mark_words(text: str) -> str:
    """Mark yes and no and their like, but not the "no" of "no one"; a letter that labels them goes."""
    if len({match[0] for match in lexicon.LABELLED_WORD.finditer(text)}) > 1:
        text = re.sub(r"^\(?[A-F][).:]\s?(?:yes|no)\W*$", "", text, flags=re.I | re.M)
    text = re.sub(r"^[✅✔✓☑❌✗✘✖]\s?", "", lexicon.LABELLED_WORD.sub("", text), flags=re.M)
    return lexicon.YES_NO.sub(lambda match: "«Yes»" if match[1] else "«No»", text)


def merge_groups(text: str, options: Sequence[str]) -> str:
    """One mark for several options in one breath: "A or B" becomes `«A|B»`, unless it asks: "A or B: A"."""

    def best(match: re.Match[str]) -> str:
        return f"Answer: «{match[1]}»" if set(MARKED.findall(match[0])) == set(options) else match[0]

    text = lexicon.RANKING.sub(best, text)
    text = lexicon.GROUP.sub(lambda match: f"«{'|'.join(dict.fromkeys(MARKED.findall(match[0])))}»", text)
    return lexicon.ASKED_GROUP.sub("Answer: ", text)


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of each line."""
    for line in re.finditer(r"[^\n]+", text):
        bullet = lexicon.BULLET.match(line[0])
        first = bullet.end() if bullet else 0
        parts = list(re.finditer(r"\S(?:[^.!?]+|[.!?](?!\s))*[.!?]*", line[0][first:]))
        for part in parts:
            yield Sentence(part[0].strip(), line.start() + first + part.start(), len(parts) == 1, bullet is not None)


def bare_claim(sentence: Sentence, is_first: bool) -> Claim | None:
    """The claim of a sentence that is nothing but options."""
    found = MARKED.findall(sentence.text)
    closed = sentence.text[-1] in ".!)" or not re.search(r"[^+]\+»", sentence.text)
    if not (is_first or sentence.fills_line or (closed and not sentence.in_list)):
        return None
    level = EXPLICIT if is_first or sentence.fills_line else STATED
    return Claim(found[0] if len(set(found)) == 1 and "|" not in found[0] else "", level, 0, sentence.start)


def sentence_claims(sentence: Sentence, is_first: bool, yes_no: bool) -> Iterator[Claim]:
    """What one sentence claims; a question claims nothing."""
    text = sentence.text
    if lexicon.PARTLY.search(text):
        yield Claim("", EXPLICIT, 0, sentence.start)
    if text.endswith("?"):
        return
    if MARKED.search(text) and not re.search(r"\w" if yes_no else r"[\w❌✗✘✖✅✔✓☑]", MARKED.sub("", text)):
        claim = bare_claim(sentence, is_first)
        yield from [claim] if claim else []
        return
    leading = lexicon.LEADING.match(text) if is_first else None
    if leading:
        rival = re.match(r"[^\w«]{0,5}«([^»+]+)", text[leading.end() :])
        alone = "|" not in leading[1] and (not rival or rival[1] == leading[1])
        level = HINTED if "|" in leading[1] else EXPLICIT
        yield Claim(leading[1] if alone else "", level, leading.start(1), sentence.start)
    for match in lexicon.RIVAL.finditer(text):
        yield Claim("", HINTED, match.start(), sentence.start)
    if 0 < text.count("«") <= STUTTER:
        yield from marked_claims(sentence)
    if yes_no and "ption" in text.lower():
        yield from entailment_claims(sentence)


def clause_before(text: str, start: int) -> str:
    """What stands between the start of a claim and the start of its clause."""
    return "" if lexicon.CLAUSE.match(text, start) else lexicon.CLAUSE.split(text[max(0, start - 80) : start])[-1]


def is_within(before: str, named: bool) -> bool:
    """Is the mark that follows no subject but part of one: "team B", "the order in caption B"?"""
    return bool(lexicon.WITHIN.search(before)) or not (named or lexicon.BEFORE_SUBJECT.search(before))


def marked_claims(sentence: Sentence) -> Iterator[Claim]:
    """The claims around the marks of a sentence; a condition makes a claim void, a doubt takes it away."""
    text, void = sentence.text, lexicon.CONDITION.search(sentence.text) is not None
    for level, pattern in lexicon.CLAIMS:
        for match in pattern.finditer(text):
            group = next(i for i, value in enumerate(match.groups(), 1) if value)
            start, mark, named = match.start(), match.start(group), match[group].split("|")
            own = text[match.end(group) : match.end()] if mark == start + 1 else text[start:mark].partition("»")[0]
            doubted = lexicon.DOUBT.search(clause_before(text, start) + (own if level else ""))
            other_subject = mark == start + 1 and is_within(
                text[max(0, start - 20) : start], text[match.end(group)] == "+"
            )
            if (
                doubted
                or other_subject
                or (level == HINTED and lexicon.LIMIT.search(text, match.end(), match.end() + REACH))
            ):
                continue
            if level == RULED_OUT:
                yield from (Claim(option, level, mark, sentence.start) for option in named)
            elif level >= STATED or len(named) == 1:
                yield Claim("" if void or len(named) > 1 else named[0], level, mark, sentence.start)


def entailment_claims(sentence: Sentence) -> Iterator[Claim]:
    """Yes or No in other words: the caption is right, the video does not entail it."""
    text = sentence.text
    for match in lexicon.ENTAILED.finditer(text):
        before = clause_before(text, match.start())
        unsure = (
            lexicon.DOUBT.search(before)
            or lexicon.UNSURE.search(before)
            or lexicon.LIMIT.search(text, match.end(), match.end() + REACH)
        )
        denied, bad = bool(match["no1"] or match["no2"]), bool(match["bad1"] or match["bad2"])
        if lexicon.WITHIN.search(text[max(0, match.start() - 20) : match.start()]):
            continue
        if not unsure and not (denied and bad) and not lexicon.CONDITION.search(text):
            yield Claim("No" if denied or bad else "Yes", HINTED, match.end(), sentence.start)


def all_claims(text: str, yes_no: bool) -> list[Claim]:
    """The claims of a text in their order; a yes or no before a refusal to answer is only politeness."""
    claims, is_first, asked = list[Claim](), True, ""
    for sentence in sentences(text):
        aside = yes_no and asked and sentence.text.startswith("«") and not lexicon.THE_QUESTION.match(asked)
        asked = sentence.text if sentence.text.endswith("?") else ""
        if not aside and ("«" in sentence.text or yes_no):
            found = sorted(sentence_claims(sentence, is_first, yes_no), key=lambda claim: (claim.at, -claim.level))
            claims += [claim._replace(at=sentence.start + claim.at) for claim in found]
        is_first = is_first and not re.search(r"\w", sentence.text)
    refusal = lexicon.REFUSAL.search(text) if yes_no else None
    return [claim for claim in claims if not refusal or claim.at >= refusal.end()]


def settle(claims: Sequence[Claim], text: str) -> str:
    """The option that the claims leave standing, if they agree or the answer says where it changes its mind."""
    said, broken, torn, flips = Claim("", -1, 0, 0), False, Claim("", -1, 0, 0), 0
    hints, out = dict[str, Claim](), dict[str, Claim]()
    for claim in claims:
        if not claim.option:
            torn = claim
        elif claim.level == RULED_OUT:
            out[claim.option] = claim
            broken |= said.option == claim.option
        elif claim.level == HINTED:
            hints[claim.option] = claim
            broken |= said.option not in ("", claim.option)
        else:
            before = out.pop(claim.option, said)
            if before is not said or said.option not in ("", claim.option):
                turned = changes_mind(text, before, claim)
                broken, flips = not (turned or claim.level > said.level), flips + turned
            contrary = hints.get({"Yes": "No", "No": "Yes"}.get(claim.option, ""))
            broken |= contrary is not None and not changes_mind(text, contrary, claim)
            if flips > 1:
                return ""
            if claim.level > torn.level or claim.sentence > torn.sentence:
                torn = Claim("", -1, 0, 0)
            said = claim._replace(level=max(claim.level, said.level))
    left = hints.keys() - out.keys()
    return "" if broken or torn.level >= 0 else said.option or (left.pop() if len(left) == 1 else "")


def changes_mind(text: str, before: Claim, claim: Claim) -> bool:
    """Does the text say between two claims that the second takes the first back?"""
    near, reach = max(before.sentence, claim.at - 10 * REACH), before.at + REACH
    ends = [at for at in (text.find(". ", before.at, reach), text.find("\n", before.at, reach)) if at >= 0]
    return bool(
        lexicon.TURN.search(text, near, claim.at)
        or lexicon.BUT.search(text, max(near, claim.sentence), claim.at)
        or (claim.level == EXPLICIT and ends and lexicon.BUT.search(text, before.at, min(ends)))
    )


def only_caption(text: str, captions: Mapping[str, str]) -> str:
    """The one caption that a short answer without any claim repeats, as it stands or in words that differ little."""
    if "?" in text or re.search(r"\b(?:or|not|neither|nor|no|if)\b|n't\b|^\W*\w+ of\b", text, re.I):
        return ""
    words = words_of(MARKED.sub(lambda match: captions.get(match[1], ""), text))
    stated = {option: words_of(normalise(caption)) for option, caption in captions.items()}
    line = f" {' '.join(words[:300])} "
    found = {o for o, own in stated.items() if own and f" {' '.join(own)} " in line and len(words) <= len(own) + 6}
    if not found and len(words) < 100:
        found = {o for o, own in stated.items() if same_content(content(words), content(own))}
    return found.pop() if len(found) == 1 else ""


def content(words: Sequence[str]) -> list[str]:
    """The words that carry meaning, in their order."""
    return [word for word in words if word not in SMALL_WORDS]


@lru_cache(KEPT)
def stem(word: str) -> str:
    """A word without its ending."""
    return re.sub(r"([^aeiou])\1$", r"\1", re.sub(r"(?:ing|ed|es|s|e)$", "", word))


def same_content(one: Sequence[str], other: Sequence[str]) -> bool:
    """Do two lists hold the same stems in the same order, give or take a misspelling?"""
    return len(one) == len(other) > 2 and all(
        a == b or (min(len(a), len(b)) > 4 and SequenceMatcher(None, a, b).ratio() > 0.85)
        for a, b in zip(map(stem, one), map(stem, other), strict=True)
    )


class Settled(NamedTuple):
    """What a text says once its mentions are marked: the option, and whether there was any claim at all."""

    marked: str
    reading: str
    has_claims: bool


@lru_cache(KEPT)
def settled(text: str, options: tuple[str, ...], yes_no: bool) -> Settled:
    """Mark a normalised text whose restated captions are marked already, and settle its claims."""
    marked = merge_groups(mark_words(text) if yes_no else mark_letters(text, options), options)
    claims = all_claims(marked, yes_no)
    return Settled(marked, settle(claims, marked), bool(claims))


def read_robust(text: str, options: Sequence[str], captions: Mapping[str, str] | None = None) -> str:
    """The option that a careful person would read in the answer; empty where such a person would hesitate."""
    plain, captions = normalise(text), captions or {}
    yes_no = {option.lower() for option in options} == {"yes", "no"}
    if not yes_no and any(not re.fullmatch("[A-F]", option) for option in options):
        return next((option for option in options if words_of(option) == words_of(plain)), "")
    found = settled(plain if yes_no else mark_captions(plain, captions), tuple(options), yes_no)
    reading = found.reading
    if not found.has_claims and captions and found.marked.count("«") == found.marked.count("++»"):
        reading = only_caption(found.marked, captions)
    return next((option for option in options if option.lower() == reading.lower()), "")
