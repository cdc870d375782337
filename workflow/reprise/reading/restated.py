"""Options whose text an answer restates word for word: each becomes a mark `«B++»`."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from reprise.reading.normalise import KEPT, normalise

TOO_FAR = re.compile(r"\W{6}")  # between two words of a phrase
# What stands between words; quicker than a pattern.
NO_WORD = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
FEW = 3  # words; so short a text is restated only where it ends a statement


def words_of(text: str) -> tuple[str, ...]:
    """The lower-case words of a text."""
    text = text.lower()
    return tuple(text.translate(NO_WORD).split() if text.isascii() else re.findall(r"\w+", text))


@lru_cache(KEPT)
def spoken(text: str) -> str:
    """The words of a text between single blanks, to look for one text in another."""
    return f" {' '.join(words_of(text))} "


def mark_restated(text: str, captions: Mapping[str, str]) -> str:
    """Replace captions that are restated word for word; one of few words only where it ends a statement."""
    shown = [(option, normalise(caption)) for option, caption in captions.items()]
    shown += [(option, re.sub(r"\([^)]*\)", "", caption)) for option, caption in shown if "(" in caption]
    for option, caption in sorted(shown, key=lambda item: -len(item[1])):
        words = words_of(caption)
        if not words or spoken(caption) not in spoken(text):
            continue
        if any(words == words_of(other) for key, other in shown if key != option):
            continue
        text = mark_phrase(text, words, option) if len(words) > FEW else mark_few_words(text, words, option)
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
    before = r"((?:^|(?<!that )(?<!it )(?<!this )\bis|[:=]|(?:^|\W)(?-i:[A-F])(?:\b|[).,]))[ ).:,(-]{0,6})"
    return re.sub(rf"{before}(?:the )?{phrase}(?=[^\w\n]*$)", rf"\1«{option}++»", text, flags=re.I | re.M)
