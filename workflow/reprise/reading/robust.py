"""The `robust` reader: cleans an answer and tries the rows of `table` on it. Where in doubt, it reads nothing."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

from rapidfuzz import fuzz

from reprise.reading import table
from reprise.reading.table import UNREAD, Reading, Row

YES_NO = {"yes", "no"}
HEAD, TAIL = 1_000, 4_000  # characters of a longer answer that are read
ALIKE = 88.0  # how like two words are that count as one

THOUGHT_ENDS = re.compile(r"</think(?:ing)?>", re.I)
THOUGHT = re.compile(r"<think(?:ing)?>", re.I)
TYPOGRAPHY = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "«": '"', "»": '"', "‹": '"', "›": '"', "。": ".", "，": ",", "：": ":"}
    | {"\u00a0": " ", "\t": " ", "\r": None, "*": None, "`": None}
)
TEX = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]{0,200})\}")
ANSWER_TAG = re.compile(r"<answer>", re.I)
TAG = re.compile(r"</?\w{1,12}>")
GOES_ON = re.compile(r"(?<=\S)\s*\n\s*(?:Question|Q|User|Human) ?:", re.I)
LINE_SIGNS = re.compile(r"^ *(?:#+|>+(?! ?\d)|[-•]) +", re.M)
SENTENCES = re.compile(r"[^.!?\n]+(?:[.!?]+|\n|$)|[.!?\n]+")
WORDS = re.compile(r"-?\d+%?|[\w']+")
ENDING, DOUBLED = re.compile(r"(?<=\w\w)(?:ing|ed|es|e|s)$"), re.compile(r"([bdgmnprt])\1$")


def clean(text: str | None) -> str:
    """What is said: a thought before it, a dialogue invented after it, markup and the middle of a long text go."""
    said = THOUGHT_ENDS.split(text or "")[-1]
    plain = THOUGHT.split(said)[0] if said == text else said
    plain = GOES_ON.split(plain, maxsplit=1)[0]
    if len(plain) > HEAD + TAIL:
        plain = f"{plain[:HEAD]}\n{plain[-TAIL:]}"
    plain = plain.translate(TYPOGRAPHY)
    if "<" in plain:
        plain = TAG.sub("\n", ANSWER_TAG.sub("Answer: ", plain))
    return LINE_SIGNS.sub("", TEX.sub(r"\1", plain)).strip(" \n_")


def read_robust(
    text: str | None, options: Sequence[str], texts: Sequence[str] = (), own: Sequence[Row] = ()
) -> Reading:
    """The option that an answer chooses, and the row that says so; `own` rows are those of a protocol or a model."""
    plain = clean(text)
    by_name = {option.lower(): option for option in options}
    found = decided(hits(plain, own)) if own else None
    if found is None and by_name.keys() == YES_NO:
        found = read_word(plain)
    elif found is None and any(option not in table.ORDINALS and option not in "EF" for option in options):
        found = Reading(plain.strip(" ."), "option's text")
    elif found is None and {_bare(one) for one in texts} == YES_NO:
        letter, word = read_choice(plain, options, ()), read_word(plain)  # which must agree
        named = [option for option, one in zip(options, texts, strict=True) if word.value and _bare(one) == word.value]
        found = letter
        if named and letter.value != named[0]:
            found = UNREAD if letter.value else Reading(named[0], word.by)
    elif found is None:
        found = read_choice(plain, options, texts)
    option = by_name.get(found.value.lower())
    return Reading(option, found.by) if option else UNREAD


def read_word(plain: str) -> Reading:
    if compiled(table.UNDECIDED).search(plain):
        return UNREAD
    judging = without_sentences(plain, table.DOUBT)
    rows = [(row, judging if row.name.startswith("judgement") else plain) for row in table.WORD]
    return decided(hit for row, text in rows for hit in hits(text, (row,))) or UNREAD


def read_choice(plain: str, options: Sequence[str], texts: Sequence[str]) -> Reading:
    reading = decided(hits(mark(plain, options, texts), table.CHOICE))
    if reading is None and texts:
        said = _content(_without_list(plain, options).split("\n", 1)[0])
        alike = [option for option, text in zip(options, texts, strict=True) if _same_words(said, _content(text))]
        reading = Reading(alike[0], table.NEARLY) if len(alike) == 1 else UNREAD
    return reading or UNREAD


def _bare(text: str) -> str:
    return text.lower().strip(" .")


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I | re.M if pattern.startswith("^") else re.I)


class Hit(NamedTuple):
    """A place where a row says something."""

    row: Row
    value: str
    at: int


def hits(text: str, rows: Iterable[Row]) -> Iterator[Hit]:
    """What rows say of a text; of a row without the group `option`, the name of the group that it found."""
    for row in rows:
        for match in compiled(row.pattern).finditer(text):
            groups = match.groupdict()
            value = groups.get("option") or next((name for name, found in groups.items() if found), "")
            yield Hit(row, value.upper() if len(value) == 1 else value.lower(), match.start())


def decided(found: Iterable[Hit]) -> Reading | None:
    """What hits come to: the last final statement, else what all statements agree on, else the first row alone."""
    known = list(found)
    final = [hit for hit in known if hit.row.takes == "last"]
    if final:
        last = max(final, key=lambda hit: hit.at)
        return Reading(last.value, last.row.name)
    said = [hit for hit in known if hit.row.takes == "agreeing"]
    said = said or [hit for hit in known if hit.row.name == known[0].row.name]
    if not said:
        return None
    return Reading(said[0].value, said[0].row.name) if len({hit.value for hit in said}) == 1 else UNREAD


# A list of options, line by line or in a row, is the question again, or weighs them; several named at once choose none.
LISTED = re.compile(r"^\W{0,3}(?:(?:Option|Caption|Sentence|Segment) )?\(?([A-F])(?:\)?[.:)]| [-–] |\W*$)[^\n]*$", re.M)
LAST_LINE = re.compile(r"\b(answer|choice|is) ?:?\n+(?=[^\n]+\Z)", re.I)
ITEM = re.compile(r"«([A-F])»[.:)]? ?‹~?\1›")
WEIGHED = re.compile(r"[«‹]~?([A-F])[»›][.)]? ?(?:[:=<>✗✓❌✅✘✔]|[-–] )[^«‹\n]{0,80}")
PAIR = re.compile(r"([«‹])~?([A-F*])([»›])(?:[\s:.,\"'()-]{0,4}[«‹]~?\2[»›])+")
CLASH = re.compile(
    r"«([A-F])»[\s:.,\"'()-]{0,4}[‹«]~?(?!\1)[A-F][»›]"
    r"|\A\W{0,2}«([A-F])»[.:)] [^.!?\n«‹]{1,80}‹(?!\2)[A-F]›(?=\W{0,3}\Z)"
)
SEVERAL = re.compile(
    r"[«‹]~?[A-F][»›](?: ?(?:,|/|&|\+|,? ?\b(?:and|or|nor|versus|vs\.?)\b(?: also| the)?) ?[«‹]~?[A-F][»›]){1,5}"
)
ARTICLE = re.compile(r"\b(?:an?|the) $", re.I)
IN_NUMBER, GOES_ON_AS = re.compile(r"\d[.,/:-]$|-$"), re.compile(r"[.,/:-]\d|[.)] \w")
SURE = re.compile("‹([A-F])›")
MARKS = re.compile(r"[«‹](~?[A-F*])[»›]")
SEGMENT_NOUNS = "(?:video )?(?:segment|clip|video|part|half|one)(?: of the (?:video|clip))?"
ENDS_SENTENCE = frozenset(("", *'.,;!\n")]'))


def mark(plain: str, options: Sequence[str], texts: Sequence[str]) -> str:
    marked = _without_list(LAST_LINE.sub(r"\1: ", plain), options)
    shown = [text.translate(TYPOGRAPHY).strip().rstrip(".").lower() for text in texts]
    for option, text in sorted(zip(options, shown, strict=False), key=lambda pair: -len(pair[1])):
        marked = _marked_text(marked, option if shown.count(text) == 1 else "*", text)
    are_segments = bool(texts) and all("segment" in text.lower() for text in texts)
    marked = _with_ordinals(marked, are_segments)
    if are_segments and len(set(SURE.findall(marked))) > 1:
        marked = SURE.sub(r"‹~\1›", marked)  # "a man sits in the first segment. He stands in the second."
    marked = compiled(table.OTHERS).sub(r"\1", marked)
    for name in table.NAMES:
        marked = re.sub(name, lambda match: f"«{match['o'].upper()}»", marked)
    for list_of in (ITEM, WEIGHED):
        if len(set(list_of.findall(marked))) > 1:
            marked = list_of.sub(" ", marked)
    marked = PAIR.sub(r"\1\2\3", marked)
    marked = SEVERAL.sub(lambda match: match[0] if len(set(MARKS.findall(match[0]))) == 1 else "«*»", marked)
    marked = without_sentences(marked, table.NO_CHOICE)
    marked = compiled(table.ONLY_SAYS).sub(lambda match: MARKS.sub("", match[0]), marked)
    for denial in table.DENIALS:
        marked = compiled(denial).sub(lambda match: match[0].replace(match["mark"], f"«-{match['mark'][-2]}»"), marked)
    marked = CLASH.sub("«*»", marked)
    denied = set(re.findall("«-(.)»", marked))
    if len(options) == 2 and len(denied) == 1:
        other = next((option for option in options if option not in denied), "")
        return re.sub("«-.»", f"«-{other}»", marked)
    return re.sub("«-.»", " ", marked)


def without_sentences(text: str, pattern: str) -> str:
    """A text without the sentences that a pattern finds."""
    found = compiled(pattern)
    if not found.search(text):
        return text
    return "".join(one[0] for one in SENTENCES.finditer(text) if not found.search(one[0].rstrip("\n")))


def _without_list(plain: str, options: Sequence[str]) -> str:
    """A text without the lines that begin with labels, where several do."""
    led = {option for option in LISTED.findall(plain) if option in options}
    return LISTED.sub("", plain) if len(led) > 1 else plain


def _marked_text(plain: str, option: str, known: str) -> str:
    """An answer with an option's text as marks; a lone word may be any word of a sentence but its last one."""
    low = plain.lower()
    if (len(known) < 2 and not known.isdigit()) or len(low) != len(plain):
        return plain
    parts, done, at = list[str](), 0, low.find(known)
    while at >= 0:
        end = at + len(known)
        # A number may be a part of another one, or of a list ("1. The man").
        in_number = low[at].isdigit() and (IN_NUMBER.search(low[max(at - 2, 0) : at]) or GOES_ON_AS.match(low, end))
        if not (at and low[at - 1].isalnum()) and not low[end : end + 1].isalnum() and not in_number:
            is_sure = " " in known or low[end : end + 1] in ENDS_SENTENCE
            before = plain[done:at]
            parts += [ARTICLE.sub("", before) if plain[at].islower() else before]
            parts += [f"‹{option}›" if is_sure else f"‹~{option}›"]
            done = end
        at = low.find(known, end)
    return "".join(parts) + plain[done:]


def _with_ordinals(marked: str, are_segments: bool) -> str:
    """Marks of options by their place: "the second caption", and where the options are segments "the second clip"."""
    nouns = SEGMENT_NOUNS if are_segments else "option|caption|sentence|choice|statement|description|answer"
    for option, words in table.ORDINALS.items():
        pattern = rf"\b(?:the )?(?:{words}) (?:{nouns})\b|\b(?:{nouns}) {words[-1]}\b"
        if are_segments:
            pattern += rf"|\bthe (?:{words})(?=[.,;!]|$| and| or)"
        marked = compiled(pattern).sub(partial(_segment_mark, option) if are_segments else f"«{option}»", marked)
    return marked


def _segment_mark(option: str, match: re.Match[str]) -> str:
    """A segment may be what a sentence is about, if it does not end it."""
    after = match.string[match.end() : match.end() + 1]
    return f"‹{option}›" if after in ENDS_SENTENCE and after != "," else f"«~{option}»"


def _content(text: str) -> list[str]:
    return [word for word in WORDS.findall(text.lower()) if word not in table.EMPTY_WORDS]


def _same_words(said: Sequence[str], known: Sequence[str]) -> bool:
    """Whether two texts are nearly the same: every word but the empty ones, in the same order.

    "slides" and "sliding", "stops" and "stopped" have one stem.
    """
    if not said or len(said) != len(known):
        return False
    for one, other in zip(said, known, strict=True):
        stems = {DOUBLED.sub(r"\1", ENDING.sub("", word)) for word in (one, other)}
        if len(stems) > 1 and not (one[0] == other[0] and fuzz.ratio(one, other) >= ALIKE):
            return False
    return True
