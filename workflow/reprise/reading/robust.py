"""The extractor `robust`: it cleans an answer and tries the rules of `table`; where in doubt, it extracts nothing."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

from rapidfuzz import fuzz

from reprise.reading import table
from reprise.reading.table import UNREAD, Reading, Row

YES_NO = {"yes", "no"}
HEAD, TAIL = 1_000, 4_000  # A longer answer is reduced to this many characters of its beginning and its end.
ALIKE = 88.0  # Two words count as the same from this similarity, in percent.

THOUGHT_ENDS = re.compile(r"</think(?:ing)?>", re.I)
THOUGHT_STARTS = re.compile(r"<think(?:ing)?>", re.I)
TYPOGRAPHY = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "«": '"', "»": '"', "‹": '"', "›": '"', "。": ".", "，": ",", "：": ":"}
    | {"\u00a0": " ", "\t": " ", "\r": None, "*": None, "`": None}
)
TEX = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]{0,200})\}")
ANSWER_TAG = re.compile(r"<answer>", re.I)
TAG = re.compile(r"</?\w{1,12}>")
INVENTED_DIALOGUE = re.compile(r"(?<=\S)\s*\n\s*(?:Question|Q|User|Human) ?:", re.I)
LINE_SIGNS = re.compile(r"^ *(?:#+|>+(?! ?\d)|[-•]) +", re.M)
SENTENCES = re.compile(r"[^.!?\n]+(?:[.!?]+|\n|$)|[.!?\n]+")
WORDS = re.compile(r"-?\d+%?|[\w']+")
ENDING, DOUBLED_CONSONANT = re.compile(r"(?<=\w\w)(?:ing|ed|es|e|s)$"), re.compile(r"([bdgmnprt])\1$")


def clean(text: str | None) -> str:
    """Return an answer without its chain of thought, markup, an invented dialogue or the middle of a long text."""
    remainder = THOUGHT_ENDS.split(text or "")[-1]
    answer = THOUGHT_STARTS.split(remainder)[0] if remainder == text else remainder
    answer = INVENTED_DIALOGUE.split(answer, maxsplit=1)[0]
    if len(answer) > HEAD + TAIL:
        answer = f"{answer[:HEAD]}\n{answer[-TAIL:]}"
    answer = answer.translate(TYPOGRAPHY)
    if "<" in answer:
        answer = TAG.sub("\n", ANSWER_TAG.sub("Answer: ", answer))
    return LINE_SIGNS.sub("", TEX.sub(r"\1", answer)).strip(" \n_")


def read_robust(
    text: str | None, options: Sequence[str], texts: Sequence[str] = (), extra_rows: Sequence[Row] = ()
) -> Reading:
    """Return the option that an answer chooses and the rule that matched.

    Args:
        text: The answer; `None` is read as an empty one.
        options: Names of the options, such as `A` and `B`, or `Yes` and `No`.
        texts: Text of each option, if the options have texts.
        extra_rows: Rules of the protocol or the model, which are tried before those of the table.
    """
    answer = clean(text)
    options_by_name = {option.lower(): option for option in options}
    extracted = decide(find_hits(answer, extra_rows)) if extra_rows else None
    if extracted is None and options_by_name.keys() == YES_NO:
        extracted = read_word(answer)
    elif extracted is None and any(option not in table.ORDINALS and option not in "EF" for option in options):
        extracted = Reading(answer.strip(" ."), "option's text")
    elif extracted is None and {_normalise(text) for text in texts} == YES_NO:
        letter, word = read_choice(answer, options, ()), read_word(answer)  # The two must agree.
        matches = [
            option for option, text in zip(options, texts, strict=True) if word.value and _normalise(text) == word.value
        ]
        extracted = letter
        if matches and letter.value != matches[0]:
            extracted = UNREAD if letter.value else Reading(matches[0], word.by)
    elif extracted is None:
        extracted = read_choice(answer, options, texts)
    option = options_by_name.get(extracted.value.lower())
    return Reading(option, extracted.by) if option else UNREAD


def read_word(answer: str) -> Reading:
    """Return yes or no from a cleaned answer."""
    if compile_pattern(table.UNDECIDED).search(answer):
        return UNREAD
    without_doubt = without_sentences(answer, table.DOUBT)
    rows = [(row, without_doubt if row.name.startswith("judgement") else answer) for row in table.WORD]
    return decide(hit for row, text in rows for hit in find_hits(text, (row,))) or UNREAD


def read_choice(answer: str, options: Sequence[str], texts: Sequence[str]) -> Reading:
    """Return the option that a cleaned answer chooses by its letter or its text."""
    reading = decide(find_hits(mark(answer, options, texts), table.CHOICE))
    if reading is None and texts:
        answer_words = _content_words(_without_list(answer, options).split("\n", 1)[0])
        matches = [
            option
            for option, text in zip(options, texts, strict=True)
            if _has_same_words(answer_words, _content_words(text))
        ]
        reading = Reading(matches[0], table.NEARLY) if len(matches) == 1 else UNREAD
    return reading or UNREAD


def _normalise(text: str) -> str:
    return text.lower().strip(" .")


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I | re.M if pattern.startswith("^") else re.I)


class Hit(NamedTuple):
    """A match of an extraction rule: the option that it extracts and its position in the text."""

    row: Row
    value: str
    at: int


def find_hits(text: str, rows: Iterable[Row]) -> Iterator[Hit]:
    """Yield the hits of rules in a text; a rule without a group `option` extracts the name of its matching group."""
    for row in rows:
        for match in compile_pattern(row.pattern).finditer(text):
            groups = match.groupdict()
            value = groups.get("option") or next((name for name, group in groups.items() if group), "")
            yield Hit(row, value.upper() if len(value) == 1 else value.lower(), match.start())


def decide(hits: Iterable[Hit]) -> Reading | None:
    """Return the option of the last final statement, else of all other statements, else of the first rule with a hit.

    The result is None without hits, and `UNREAD` if the hits that count disagree.
    """
    all_hits = list(hits)
    final = [hit for hit in all_hits if hit.row.takes == "last"]
    if final:
        last = max(final, key=lambda hit: hit.at)
        return Reading(last.value, last.row.name)
    statements = [hit for hit in all_hits if hit.row.takes == "agreeing"]
    statements = statements or [hit for hit in all_hits if hit.row.name == all_hits[0].row.name]
    if not statements:
        return None
    return (
        Reading(statements[0].value, statements[0].row.name) if len({hit.value for hit in statements}) == 1 else UNREAD
    )


# A list of options repeats the question or weighs the options. Several options named together choose none of them.
LIST_LINE = re.compile(
    r"^\W{0,3}(?:(?:Option|Caption|Sentence|Segment) )?\(?([A-F])(?:\)?[.:)]| [-–] |\W*$)[^\n]*$", re.M
)
LAST_LINE = re.compile(r"\b(answer|choice|is) ?:?\n+(?=[^\n]+\Z)", re.I)
ITEM = re.compile(r"«([A-F])»[.:)]? ?‹~?\1›")
WEIGHED = re.compile(r"[«‹]~?([A-F])[»›][.)]? ?(?:[:=<>✗✓❌✅✘✔]|[-–] )[^«‹\n]{0,80}")
REPEATED_MARKS = re.compile(r"([«‹])~?([A-F*])([»›])(?:[\s:.,\"'()-]{0,4}[«‹]~?\2[»›])+")
CONFLICTING_MARKS = re.compile(
    r"«([A-F])»[\s:.,\"'()-]{0,4}[‹«]~?(?!\1)[A-F][»›]"
    r"|\A\W{0,2}«([A-F])»[.:)] [^.!?\n«‹]{1,80}‹(?!\2)[A-F]›(?=\W{0,3}\Z)"
)
JOINED_MARKS = re.compile(
    r"[«‹]~?[A-F][»›](?: ?(?:,|/|&|\+|,? ?\b(?:and|or|nor|versus|vs\.?)\b(?: also| the)?) ?[«‹]~?[A-F][»›]){1,5}"
)
ARTICLE = re.compile(r"\b(?:an?|the) $", re.I)
NUMBER_BEGINS, NUMBER_CONTINUES = re.compile(r"\d[.,/:-]$|-$"), re.compile(r"[.,/:-]\d|[.)] \w")
SURE_MARK = re.compile("‹([A-F])›")
MARKS = re.compile(r"[«‹](~?[A-F*])[»›]")
SEGMENT_NOUNS = "(?:video )?(?:segment|clip|video|part|half|one)(?: of the (?:video|clip))?"
ENDS_SENTENCE = frozenset(("", *'.,;!\n")]'))


def mark(answer: str, options: Sequence[str], texts: Sequence[str]) -> str:
    """Return a cleaned answer with marks instead of the labels and the texts of options, as `table` describes them."""
    marked_answer = _without_list(LAST_LINE.sub(r"\1: ", answer), options)
    normalised = [text.translate(TYPOGRAPHY).strip().rstrip(".").lower() for text in texts]
    for option, text in sorted(zip(options, normalised, strict=False), key=lambda pair: -len(pair[1])):
        marked_answer = _mark_text(marked_answer, option if normalised.count(text) == 1 else "*", text)
    are_segments = bool(texts) and all("segment" in text.lower() for text in texts)
    marked_answer = _mark_ordinals(marked_answer, are_segments)
    if are_segments and len(set(SURE_MARK.findall(marked_answer))) > 1:
        # An answer such as "A man sits in the first segment. He stands in the second." only describes the segments.
        marked_answer = SURE_MARK.sub(r"‹~\1›", marked_answer)
    marked_answer = compile_pattern(table.LETTERED_NAMES).sub(r"\1", marked_answer)
    for name in table.NAMES:
        marked_answer = re.sub(name, lambda match: f"«{match['o'].upper()}»", marked_answer)
    for list_pattern in (ITEM, WEIGHED):
        if len(set(list_pattern.findall(marked_answer))) > 1:
            marked_answer = list_pattern.sub(" ", marked_answer)
    marked_answer = REPEATED_MARKS.sub(r"\1\2\3", marked_answer)
    marked_answer = JOINED_MARKS.sub(
        lambda match: match[0] if len(set(MARKS.findall(match[0]))) == 1 else "«*»", marked_answer
    )
    marked_answer = without_sentences(marked_answer, table.NO_CHOICE)
    marked_answer = compile_pattern(table.ONLY_SAYS).sub(lambda match: MARKS.sub("", match[0]), marked_answer)
    for denial in table.DENIALS:
        marked_answer = compile_pattern(denial).sub(
            lambda match: match[0].replace(match["mark"], f"«-{match['mark'][-2]}»"), marked_answer
        )
    marked_answer = CONFLICTING_MARKS.sub("«*»", marked_answer)
    denied_options = set(re.findall("«-(.)»", marked_answer))
    if len(options) == 2 and len(denied_options) == 1:
        remaining = next((option for option in options if option not in denied_options), "")
        return re.sub("«-.»", f"«-{remaining}»", marked_answer)
    return re.sub("«-.»", " ", marked_answer)


def without_sentences(text: str, pattern: str) -> str:
    """Return a text without the sentences that a pattern matches."""
    regex = compile_pattern(pattern)
    if not regex.search(text):
        return text
    return "".join(sentence[0] for sentence in SENTENCES.finditer(text) if not regex.search(sentence[0].rstrip("\n")))


def _without_list(answer: str, options: Sequence[str]) -> str:
    """Return a text without the lines that begin with labels, if they begin with those of several options."""
    labels = {option for option in LIST_LINE.findall(answer) if option in options}
    return LIST_LINE.sub("", answer) if len(labels) > 1 else answer


def _mark_text(answer: str, option: str, text: str) -> str:
    """Replace an option's text in an answer by marks; a single word is only a sure mark at the end of a sentence."""
    lower = answer.lower()
    if (len(text) < 2 and not text.isdigit()) or len(lower) != len(answer):
        return answer
    parts, copied, start = list[str](), 0, lower.find(text)
    while start >= 0:
        end = start + len(text)
        # A number may be a part of another one, or of a list ("1. The man").
        in_number = lower[start].isdigit() and (
            NUMBER_BEGINS.search(lower[max(start - 2, 0) : start]) or NUMBER_CONTINUES.match(lower, end)
        )
        if not (start and lower[start - 1].isalnum()) and not lower[end : end + 1].isalnum() and not in_number:
            is_sure = " " in text or lower[end : end + 1] in ENDS_SENTENCE
            preceding_text = answer[copied:start]
            parts += [ARTICLE.sub("", preceding_text) if answer[start].islower() else preceding_text]
            parts += [f"‹{option}›" if is_sure else f"‹~{option}›"]
            copied = end
        start = lower.find(text, end)
    return "".join(parts) + answer[copied:]


def _mark_ordinals(marked_answer: str, are_segments: bool) -> str:
    """Mark options that are named by their position: "the second caption", or "the second clip" for segments."""
    nouns = SEGMENT_NOUNS if are_segments else "option|caption|sentence|choice|statement|description|answer"
    for option, words in table.ORDINALS.items():
        pattern = rf"\b(?:the )?(?:{words}) (?:{nouns})\b|\b(?:{nouns}) {words[-1]}\b"
        if are_segments:
            pattern += rf"|\bthe (?:{words})(?=[.,;!]|$| and| or)"
        marked_answer = compile_pattern(pattern).sub(
            partial(_segment_mark, option) if are_segments else f"«{option}»", marked_answer
        )
    return marked_answer


def _segment_mark(option: str, match: re.Match[str]) -> str:
    """Return the mark of a segment; one that does not end its sentence may only be the subject of the sentence."""
    next_character = match.string[match.end() : match.end() + 1]
    return f"‹{option}›" if next_character in ENDS_SENTENCE and next_character != "," else f"«~{option}»"


def _content_words(text: str) -> list[str]:
    return [word for word in WORDS.findall(text.lower()) if word not in table.EMPTY_WORDS]


def _has_same_words(answer: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether an answer has nearly the same content words as an option's text, in the same order.

    "slides" and "sliding", or "stops" and "stopped", have the same stem.
    """
    if not answer or len(answer) != len(text):
        return False
    for answer_word, text_word in zip(answer, text, strict=True):
        stems = {DOUBLED_CONSONANT.sub(r"\1", ENDING.sub("", word)) for word in (answer_word, text_word)}
        if len(stems) > 1 and not (answer_word[0] == text_word[0] and fuzz.ratio(answer_word, text_word) >= ALIKE):
            return False
    return True
