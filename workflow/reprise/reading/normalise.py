"""Answers as plain lines of text: one width of letters, one kind of quotes and dashes, no markup and no containers.

What a container holds as its answer (a box, an answer tag, a JSON field, an output block) becomes a line "Answer: ...".
Of a chain of thought only what follows its last closed block is left; a block that never closes leaves nothing.
Patterns bound each repetition that may fail, so that an answer of any length is read in linear time.
"""

import re
import unicodedata
from functools import lru_cache

KEPT = 1 << 13  # texts whose working is kept: short answers and captions come again and again
LONGEST = 16_000  # characters; a longer answer has run away, and only its ends can hold a verdict

PLAIN = re.compile(r"[A-Za-z0-9 ,.()]*")  # no markup, containers, quotes or dashes
NO_PLAIN = re.compile(r"a\.i\.|i\.e\.|cannot|\( \)", re.I)
TYPOGRAPHY = str.maketrans(
    {c: "" for c in '“”„«»「」『』"*$'} | {c: "'" for c in "‘’`´"} | {c: " - " for c in "—–"}
    | {c: "(" for c in "【〔〈《"} | {c: ")" for c in "】〕〉》"} | {c: " → " for c in "⇒➡⟶"}
    | {"。": ". ", "、": ", ", "،": ", ", "।": ". ", "؟": "? ", "¿": " ", "¡": " ", "…": "... ", "|": " : ", "_": " "}
)  # fmt: skip
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\ufe0f\u20e3]|<\\|[^|>\n]{0,40}\\|>|</?s>|\\[/?INST\\]")
THOUGHTS = r"(?:think|thinking|thoughts?|reasoning|reason|analysis|scratchpad|reflection|explanation)"
THOUGHT = re.compile(
    rf"(<{{1,3}}/?{THOUGHTS}>{{1,3}}|◁/?{THOUGHTS}▷|\[/?{THOUGHTS}\]|<\|/?(?:begin|end)_of_{THOUGHTS}\|>)", re.I
)
ANSWER_TAG = re.compile(r"<{1,3}\s?(?:final_?)?(?:answer|output|score|rating)\s?>{1,3}", re.I)
TAG = re.compile(r"<{1,3}(/?)\s?([a-z]\w{0,20})\s?>{1,3}", re.I)
FIELD = re.compile(r"[\"']([\w ]{1,40})[\"']\s{0,9}:\s{0,9}(\"(?:[^\"\\]|\\.)*\"?|'[^'\n]*'?|\[[^\]\n]*\]?|[^,}\n]*),?")
ANSWER_KEY = re.compile(
    r"answer|choice|option|best|letter|caption|select|pick|winner|correct|segment|accurate|match|support|entail|verdict|predict|output|response|result|label|decision|final|rating|score",
    re.I,
)
OPTION_KEY = re.compile("[A-F]|yes|no", re.I)
NO_ANSWER_KEY = re.compile(r"confiden|probab|reason|max", re.I)
RUN_ON = re.compile(r"\n\s{0,9}#{0,6}\s{0,3}(?:human|user|question|q|instruction|input)\s?\d{0,2}\s?:", re.I)
UNCHECKED_INLINE = re.compile(r"(?:\[ \]|\( \)|☐)[ \t]*\(?\w+\)?")
UNCHECKED = re.compile(r"^(?![^\n]*\[x\])[ \t]*[-+*•]?[ \t]?\[ \][^\n]*$", re.M)
MARKUP = re.compile(
    r"~~[^~\n]*~~|```[a-z]*(?=\s|$)|\[x\]|\(x\)|☑|\\[()\[\]]|\\(?:text|math)(?:rm|bf|tt|sf|it)?\b|^[ \t>]*#+",
    re.I | re.M,
)
ARROW = re.compile(r"[-=]{1,2}>")
HEADING = re.compile(
    r"^([^\w\n]{0,6}(?:(?:the|my|final|correct) ){0,3}"
    r"(?:answer|conclusion|verdict|output|response|result|decision|rating|score)[^\w\n]{0,6})\n\s*",
    re.I | re.M,
)
NOT_THE_WORD = re.compile(r"\bN/A\b|\bb/c\b|\bw/(?=[o\s])|\bA\.I\.", re.I)
THAT_IS = re.compile(r"\bi\.\s?e\.,?", re.I)
TAG_QUESTION = re.compile(r",\s?(?:is|does|did|was) not (?:it|that|he|she)\s?\?", re.I)
NEGATED = re.compile(r"~|¬|≠|!=")
# "isn't" is two words to every later step, and so is "I'd"; the "'s" of a possessive goes.
NOT = re.compile(r"\bca(n)(?:'t|t|not)\b|\b(wo)n't\b|(?<=[a-z])(n)'t\b|\b(?:(does|is|was|did|are|do)nt)\b", re.I)
LETTER_IS = re.compile(r"\b([A-F])'s(?= (?:the|my|a|not|right|correct|wrong|better|best|more|closer)\b)")
SHORTENED = tuple(
    (re.compile(pattern, re.I), words)
    for pattern, words in (
        (r"\b(it|that|this|he|she|there|what|here|who|which|answer|caption|video|one)'s\b", r"\1 is"),
        (r"(?<=[a-z])'d\b", " would"),
        (r"(?<=[a-z])'ll\b", " will"),
        (r"(?<=[a-z])'m\b", " am"),
        (r"(?<=[a-z])'re\b", " are"),
        (r"(?<=[a-z])'ve\b", " have"),
        (r"(?<=\w)'s\b|(?<!\w)'|'(?!\w)", ""),
    )
)
FINAL_CHANNEL = "<|channel|>final<|message|>"


@lru_cache(KEPT)
def normalise(text: str) -> str:
    """The plain lines of an answer, in its own case and language."""
    if PLAIN.fullmatch(text) and not NO_PLAIN.search(text):
        return _shortened(" ".join(text.split()))  # nothing for the rest to do
    if FINAL_CHANNEL in text:
        text = text.rpartition(FINAL_CHANNEL)[2]
    text = INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).strip()
    text = _shortened(before_next_turn(unpack(without_thoughts(text))))
    text = ARROW.sub(" → ", MARKUP.sub(" ", UNCHECKED_INLINE.sub(" ", UNCHECKED.sub("", text)))).translate(TYPOGRAPHY)
    text = TAG_QUESTION.sub(".", _uncontracted(text))
    text = re.sub(r"[^\S\n]+", " ", text).replace("\n ", "\n").strip()
    text = NEGATED.sub(" not ", NOT_THE_WORD.sub("other", THAT_IS.sub("that is", text)))
    return HEADING.sub(r"\1: ", text).replace(": :", ":")


def _uncontracted(text: str) -> str:
    """The text with its contractions in full."""
    text = NOT.sub(lambda match: "can not" if match[1] else "will not" if match[2] else f"{match[4] or ''} not", text)
    text = LETTER_IS.sub(r"\1 is", text)
    for pattern, words in SHORTENED if "'" in text else ():
        text = pattern.sub(words, text)
    return text


def without_thoughts(text: str) -> str:
    """Drop what stands in thinking tags, up to a closing tag that was never opened, and after one never closed.

    An answer tag ends a block that was left open.
    """
    kept, inside = [""], False
    for part in THOUGHT.split(text):
        if not THOUGHT.fullmatch(part):
            answer = ANSWER_TAG.search(part) if inside else None
            kept += [part[answer.start() :]] if answer else [] if inside else [part]
        elif "/" in part or "end_of" in part.lower():
            kept, inside = (kept if inside else [""]), False
        else:
            inside = True
    return "".join(kept)


def unpack(text: str) -> str:
    """Turn answer tags, output blocks, JSON fields and boxes into lines "Answer: ..."."""

    def tag(match: re.Match[str]) -> str:
        name = match[2]
        if name.lower() in ("yes", "no"):
            return f" {name} "
        if len(name) == 1 and name.isupper() and f"</{name}>" not in text[match.end() : match.end() + 99]:
            return f"({name})"
        return " " if not ANSWER_KEY.search(name) else "\n" if match[1] else "\nAnswer: "

    def field(match: re.Match[str]) -> str:
        if OPTION_KEY.fullmatch(match[1]):
            return f"\n{match[1]}: {match[2]}\n"
        is_answer = ANSWER_KEY.search(match[1]) and not NO_ANSWER_KEY.search(match[1])
        return f"\nAnswer: {match[2]}\n" if is_answer else "\n"

    text = TAG.sub(tag, text) if "<" in text else text
    text = FIELD.sub(field, text) if "{" in text else text
    return text.replace("\\boxed", "\nAnswer: ")


def before_next_turn(text: str) -> str:
    """Cut where the model goes on to ask itself another question."""
    for match in RUN_ON.finditer(text):
        if re.search(r"\w", text[: match.start()]):
            return text[: match.start()]
    return re.sub(r"^\s*Q:([^\n?]{0,300}\?)\s*A:", r"\1 Answer:", text)


def _shortened(text: str) -> str:
    """The two ends of a text that has run away."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 4]}\n...\n{text[-3 * LONGEST // 4 :]}"
