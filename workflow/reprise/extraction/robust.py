"""Extract answers by `robust`: clean an answer and try the rules of `rules.py`; an ambiguous answer is unparsed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

from rapidfuzz import fuzz

from reprise.extraction import rules as extraction_rules
from reprise.extraction.rules import UNPARSED, Extraction, Rule

YES_NO = {"yes", "no"}
OPTION_LETTERS = frozenset("ABCDEF")  # The patterns in `rules.py` know these letters.
# A longer answer is reduced to this many characters of its beginning and its end.
HEAD_CHARS, TAIL_CHARS = 1_000, 4_000
MIN_WORD_SIMILARITY = 88.0  # Two words count as the same from this similarity, in percent.

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
WORD_ENDING, DOUBLED_CONSONANT = re.compile(r"(?<=\w\w)(?:ing|ed|es|e|s)$"), re.compile(r"([bdgmnprt])\1$")


def clean_answer(text: str | None) -> str:
    """Return an answer without chain of thought, markup, invented dialogue and the middle of a long text."""
    text_after_thought = THOUGHT_ENDS.split(text or "")[-1]
    # Without an end tag, the thought was truncated, and only text before its start tag can be the answer.
    answer = THOUGHT_STARTS.split(text_after_thought)[0] if text_after_thought == text else text_after_thought
    answer = INVENTED_DIALOGUE.split(answer, maxsplit=1)[0]
    if len(answer) > HEAD_CHARS + TAIL_CHARS:
        answer = f"{answer[:HEAD_CHARS]}\n{answer[-TAIL_CHARS:]}"
    answer = answer.translate(TYPOGRAPHY)
    if "<" in answer:
        answer = TAG.sub("\n", ANSWER_TAG.sub("Answer: ", answer))
    return LINE_SIGNS.sub("", TEX.sub(r"\1", answer)).strip(" \n_")


def extract_robust(
    text: str | None, options: Sequence[str], option_texts: Sequence[str] = (), extra_rules: Sequence[Rule] = ()
) -> Extraction:
    """Return the option that an answer chooses and the rule that matched.

    Args:
        text: The answer; `None` is treated as an empty one.
        options: Names of the options, such as `A` and `B`, or `Yes` and `No`.
        option_texts: Text of each option, if the options have texts.
        extra_rules: Rules of the protocol or the model, which are tried before those of `rules.py`.
    """
    answer = clean_answer(text)
    options_by_name = {option.lower(): option for option in options}
    extraction = resolve_hits(find_hits(answer, extra_rules)) if extra_rules else None
    if extraction is None and options_by_name.keys() == YES_NO:
        extraction = extract_yes_no(answer)
    elif extraction is None and not OPTION_LETTERS.issuperset(options):
        # Options with other names have no rules: the whole answer must be the name of one.
        extraction = Extraction(answer.strip(" ."), "option's text")
    elif extraction is None and {_normalise(text) for text in option_texts} == YES_NO:
        extraction = _extract_yes_no_choice(answer, options, option_texts)
    elif extraction is None:
        extraction = extract_choice(answer, options, option_texts)
    option = options_by_name.get(extraction.value.lower())
    return Extraction(option, extraction.rule) if option else UNPARSED


def extract_yes_no(answer: str) -> Extraction:
    """Return yes or no from a cleaned answer."""
    if compile_pattern(extraction_rules.QUALIFIED_YES_NO).search(answer):
        return UNPARSED
    certain_text = remove_sentences(answer, extraction_rules.DOUBTFUL_SENTENCE)
    # Rules about judgements, such as "the caption is correct", ignore sentences that express a doubt.
    rules_with_texts = [
        (rule, certain_text if rule.name.startswith("judgement") else answer) for rule in extraction_rules.YES_NO_RULES
    ]
    return resolve_hits(hit for rule, text in rules_with_texts for hit in find_hits(text, (rule,))) or UNPARSED


def _extract_yes_no_choice(answer: str, options: Sequence[str], option_texts: Sequence[str]) -> Extraction:
    """Return the option of a choice between the texts Yes and No; the answer's letter and word must agree."""
    letter, word = extract_choice(answer, options, ()), extract_yes_no(answer)
    texts = zip(options, option_texts, strict=True)
    word_option = next((option for option, text in texts if _normalise(text) == word.value), None)
    if word_option is None or letter.value == word_option:
        return letter
    return UNPARSED if letter.value else Extraction(word_option, word.rule)


def extract_choice(answer: str, options: Sequence[str], option_texts: Sequence[str]) -> Extraction:
    """Return the option that a cleaned answer chooses by its letter or its text."""
    extraction = resolve_hits(find_hits(mark_options(answer, options, option_texts), extraction_rules.CHOICE_RULES))
    if extraction is None and option_texts:
        first_line = _remove_option_list(answer, options).split("\n", 1)[0]
        answer_words = _find_content_words(first_line)
        matches = [
            option
            for option, text in zip(options, option_texts, strict=True)
            if _have_same_words(answer_words, _find_content_words(text))
        ]
        extraction = Extraction(matches[0], extraction_rules.NEAR_MATCH) if len(matches) == 1 else UNPARSED
    return extraction or UNPARSED


def _normalise(text: str) -> str:
    return text.lower().strip(" .")


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern that ignores case; if it begins with `^`, it matches at the beginning of every line."""
    return re.compile(pattern, re.I | re.M if pattern.startswith("^") else re.I)


class Hit(NamedTuple):
    """A match of an extraction rule, with the option that it extracts and its position in the text."""

    rule: Rule
    value: str
    position: int


def find_hits(text: str, rules: Iterable[Rule]) -> Iterator[Hit]:
    """Yield the hits of rules in a text. A value of one letter is in upper case, a longer one in lower case."""
    for rule in rules:
        for match in compile_pattern(rule.pattern).finditer(text):
            groups = match.groupdict()
            # A pattern without the group `option` names its groups after the values, such as `yes` and `no`.
            value = groups.get("option") or next((name for name, group in groups.items() if group), "")
            yield Hit(rule, value.upper() if len(value) == 1 else value.lower(), match.start())


def resolve_hits(hits: Iterable[Hit]) -> Extraction | None:
    """Return the extraction that the hits of all rules decide.

    The last hit of a rule with the policy `last` decides. Without such hits, all hits of rules with the policy
    `agreeing` decide, else all hits of the rules with the name of the first rule that has hits. The result is None
    without hits, and `UNPARSED` if the deciding hits disagree.
    """
    all_hits = list(hits)
    final_hits = [hit for hit in all_hits if hit.rule.match_policy == "last"]
    if final_hits:
        last_hit = max(final_hits, key=lambda hit: hit.position)
        return Extraction(last_hit.value, last_hit.rule.name)
    decisive_hits = [hit for hit in all_hits if hit.rule.match_policy == "agreeing"]
    decisive_hits = decisive_hits or [hit for hit in all_hits if hit.rule.name == all_hits[0].rule.name]
    if not decisive_hits:
        return None
    if len({hit.value for hit in decisive_hits}) > 1:
        return UNPARSED
    return Extraction(decisive_hits[0].value, decisive_hits[0].rule.name)


# A list of options repeats the question or weighs the options, so it is removed. An answer that names several options
# together chooses none of them.
LIST_LINE = re.compile(
    r"^\W{0,3}(?:(?:Option|Caption|Sentence|Segment) )?\(?([A-F])(?:\)?[.:)]| [-–] |\W*$)[^\n]*$", re.M
)
# A line break between "The answer is:" and the last line, which has the answer.
LAST_LINE = re.compile(r"\b(answer|choice|is) ?:?\n+(?=[^\n]+\Z)", re.I)
# A label with the text of its option; a label or text with a weight or a verdict, as in "A: 80 %" or "B ✓".
LISTED_OPTION = re.compile(r"«([A-F])»[.:)]? ?‹~?\1›")
WEIGHED_OPTION = re.compile(r"[«‹]~?([A-F])[»›][.)]? ?(?:[:=<>✗✓❌✅✘✔]|[-–] )[^«‹\n]{0,80}")
# Adjacent marks of the same option; a label with the text of another option; options that are named together.
REPEATED_MARKS = re.compile(r"([«‹])~?([A-F*])([»›])(?:[\s:.,\"'()-]{0,4}[«‹]~?\2[»›])+")
CONFLICTING_MARKS = re.compile(
    r"«([A-F])»[\s:.,\"'()-]{0,4}[‹«]~?(?!\1)[A-F][»›]"
    r"|\A\W{0,2}«([A-F])»[.:)] [^.!?\n«‹]{1,80}‹(?!\2)[A-F]›(?=\W{0,3}\Z)"
)
JOINED_MARKS = re.compile(
    r"[«‹]~?[A-F][»›](?: ?(?:,|/|&|\+|,? ?\b(?:and|or|nor|versus|vs\.?)\b(?: also| the)?) ?[«‹]~?[A-F][»›]){1,5}"
)
ARTICLE = re.compile(r"\b(?:an?|the) $", re.I)
# Characters before or after a number that is not an option's text, such as a part of a date or a list item's number.
NUMBER_PREFIX, NUMBER_SUFFIX = re.compile(r"\d[.,/:-]$|-$"), re.compile(r"[.,/:-]\d|[.)] \w")
CERTAIN_MARK = re.compile("‹([A-F])›")  # of an option's text
MARKS = re.compile(r"[«‹](~?[A-F*])[»›]")
SEGMENT_NOUNS = "(?:video )?(?:segment|clip|video|part|half|one)(?: of the (?:video|clip))?"
SENTENCE_ENDS = frozenset(("", *'.,;!\n")]'))


def mark_options(answer: str, options: Sequence[str], option_texts: Sequence[str]) -> str:
    """Replace the labels and texts of options in a cleaned answer by the marks that `rules.py` describes."""
    marked_answer = _remove_option_list(LAST_LINE.sub(r"\1: ", answer), options)
    normalised_texts = [text.translate(TYPOGRAPHY).strip().rstrip(".").lower() for text in option_texts]
    # Longer texts come first, because they may contain shorter ones. Equal texts do not tell which option is meant, so
    # their mark is `*`.
    for option, text in sorted(zip(options, normalised_texts, strict=False), key=lambda pair: -len(pair[1])):
        marked_answer = _mark_text(marked_answer, option if normalised_texts.count(text) == 1 else "*", text)
    are_segments = bool(option_texts) and all("segment" in text.lower() for text in option_texts)
    marked_answer = _mark_ordinals(marked_answer, are_segments)
    if are_segments and len(set(CERTAIN_MARK.findall(marked_answer))) > 1:
        # An answer such as "A man sits in the first segment. He stands in the second." only describes the segments.
        marked_answer = CERTAIN_MARK.sub(r"‹~\1›", marked_answer)
    marked_answer = compile_pattern(extraction_rules.LETTERED_NAMES).sub(r"\1", marked_answer)
    for label_pattern in extraction_rules.NAMES:
        marked_answer = re.sub(label_pattern, lambda match: f"«{match['o'].upper()}»", marked_answer)
    for list_pattern in (LISTED_OPTION, WEIGHED_OPTION):
        if len(set(list_pattern.findall(marked_answer))) > 1:
            marked_answer = list_pattern.sub(" ", marked_answer)
    marked_answer = REPEATED_MARKS.sub(r"\1\2\3", marked_answer)
    marked_answer = JOINED_MARKS.sub(
        lambda match: match[0] if len(set(MARKS.findall(match[0]))) == 1 else "«*»", marked_answer
    )
    marked_answer = remove_sentences(marked_answer, extraction_rules.UNDECIDED_SENTENCE)
    marked_answer = compile_pattern(extraction_rules.DESCRIPTION_ONLY).sub(
        lambda match: MARKS.sub("", match[0]), marked_answer
    )
    for denial in extraction_rules.DENIALS:
        # The last but one character of a mark is the option's letter.
        marked_answer = compile_pattern(denial).sub(
            lambda match: match[0].replace(match["mark"], f"«-{match['mark'][-2]}»"), marked_answer
        )
    marked_answer = CONFLICTING_MARKS.sub("«*»", marked_answer)
    denied_options = set(re.findall("«-(.)»", marked_answer))
    if len(options) == 2 and len(denied_options) == 1:
        # Who denies one of two options chooses the other one, so the denial becomes a mark of that option.
        remaining_option = next((option for option in options if option not in denied_options), "")
        return re.sub("«-.»", f"«-{remaining_option}»", marked_answer)
    return re.sub("«-.»", " ", marked_answer)


def remove_sentences(text: str, pattern: str) -> str:
    """Return a text without the sentences that a pattern matches."""
    regex = compile_pattern(pattern)
    if not regex.search(text):
        return text
    return "".join(sentence[0] for sentence in SENTENCES.finditer(text) if not regex.search(sentence[0].rstrip("\n")))


def _remove_option_list(answer: str, options: Sequence[str]) -> str:
    """Return an answer without the lines that begin with an option's label, if the labels are of several options."""
    labels = {option for option in LIST_LINE.findall(answer) if option in options}
    return LIST_LINE.sub("", answer) if len(labels) > 1 else answer


def _mark_text(answer: str, option: str, option_text: str) -> str:
    """Replace an option's text in an answer by marks; a single word is a certain mark only at the end of a sentence."""
    lowercase_answer = answer.lower()
    # If lower case changes the length of the answer, positions in both spellings differ, so nothing is marked.
    if (len(option_text) < 2 and not option_text.isdigit()) or len(lowercase_answer) != len(answer):
        return answer
    fragments, copied_until, start = list[str](), 0, lowercase_answer.find(option_text)
    while start >= 0:
        end = start + len(option_text)
        if _is_separate(lowercase_answer, start, end):
            is_certain = " " in option_text or lowercase_answer[end : end + 1] in SENTENCE_ENDS
            preceding_text = answer[copied_until:start]
            fragments += [ARTICLE.sub("", preceding_text) if answer[start].islower() else preceding_text]
            fragments += [f"‹{option}›" if is_certain else f"‹~{option}›"]
            copied_until = end
        start = lowercase_answer.find(option_text, end)
    return "".join(fragments) + answer[copied_until:]


def _is_separate(text: str, start: int, end: int) -> bool:
    """Return whether text[start:end] is not part of a word or number, and not the number of a list item ("1. A")."""
    if (start and text[start - 1].isalnum()) or text[end : end + 1].isalnum():
        return False
    if not text[start].isdigit():
        return True
    return not (NUMBER_PREFIX.search(text[max(start - 2, 0) : start]) or NUMBER_SUFFIX.match(text, end))


def _mark_ordinals(marked_answer: str, are_segments: bool) -> str:
    """Mark options that an answer names by position: "the second caption", or "the second clip" for segments."""
    nouns = SEGMENT_NOUNS if are_segments else "option|caption|sentence|choice|statement|description|answer"
    for option, words in extraction_rules.ORDINALS.items():
        number = words[-1]  # The words end with the option's number, as in "second|2nd|latter|2".
        pattern = rf"\b(?:the )?(?:{words}) (?:{nouns})\b|\b(?:{nouns}) {number}\b"
        if are_segments:
            pattern += rf"|\bthe (?:{words})(?=[.,;!]|$| and| or)"
        marked_answer = compile_pattern(pattern).sub(
            partial(_segment_mark, option) if are_segments else f"«{option}»", marked_answer
        )
    return marked_answer


def _segment_mark(option: str, match: re.Match[str]) -> str:
    """Return the mark of a named segment: certain if it ends the sentence; elsewhere it may be only the subject."""
    next_character = match.string[match.end() : match.end() + 1]
    return f"‹{option}›" if next_character in SENTENCE_ENDS and next_character != "," else f"«~{option}»"


def _find_content_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without stop words."""
    return [word for word in WORDS.findall(text.lower()) if word not in extraction_rules.STOP_WORDS]


def _have_same_words(answer_words: Sequence[str], text_words: Sequence[str]) -> bool:
    """Return whether an answer has nearly the same content words as an option's text, in the same order.

    Words match if they have the same stem, such as "stops" and "stopped", or if they are similar.
    """
    if not answer_words or len(answer_words) != len(text_words):
        return False
    for answer_word, text_word in zip(answer_words, text_words, strict=True):
        stems = {DOUBLED_CONSONANT.sub(r"\1", WORD_ENDING.sub("", word)) for word in (answer_word, text_word)}
        if len(stems) > 1 and not (
            answer_word[0] == text_word[0] and fuzz.ratio(answer_word, text_word) >= MIN_WORD_SIMILARITY
        ):
            return False
    return True
