"""Options that an answer names by their place: "the second one", "caption 2", "the part after the black frame"."""

from collections.abc import Sequence

from reprise.reading import words as w
from reprise.reading.clauses import has, is_mark

FIRST, LAST = 0, -1
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")
ORDINALS = {word: place for place, word in enumerate(PLACES)} | {
    "1st": 0, "2nd": 1, "3rd": 2, "4th": 3, "former": FIRST, "latter": LAST, "last": LAST,
}  # fmt: skip
# Which of two segments a word names; of two captions nobody says "the opening one".
SEGMENT_ORDINALS = {
    **ORDINALS,
    **dict.fromkeys(
        w.words("opening, initial, earlier, starting, beginning, front, preceding, earliest, introductory"), FIRST
    ),
    **dict.fromkeys(w.words("later, closing, ending, concluding, subsequent, following, latest, final"), LAST),
}
NUMBERS = {str(number): number - 1 for number in range(1, 7)} | {
    "one": 0, "two": 1, "three": 2, "four": 3, "ii": 1, "iii": 2, "iv": 3,
}  # fmt: skip
PAIRED = w.words("second, 2nd, last, latter, two, 2")
ALONE = {"1": 0, "2": 1, "ii": 1, "before": 0, "after": 1}  # a whole answer about segments
ENDS = {"beginning": FIRST, "start": FIRST, "end": LAST}
CAPTION_NOUNS, SEGMENT_NOUNS = w.NOUNS | {"one"}, w.SEGMENTS | w.NOUNS
ARTICLES = w.words("the, very, both")
CAPTION_HEADS = frozenset().union(ORDINALS, NUMBERS, CAPTION_NOUNS, ARTICLES)
SEGMENT_HEADS = frozenset().union(SEGMENT_ORDINALS, NUMBERS, SEGMENT_NOUNS, ARTICLES)
BETWEEN = w.words("video, of, the, two, them, long, clip, shown, caption")
AFTER_PLACE = w.words("""
    has, contains, is, matches, fits, describes, better, does, shows, that, ., ?, !, but, than, over, rather
""") | {",", ""}
NUMBERING = w.words("number, no, #, (")
NO_NUMBERED = w.words("one, letter")
PREPOSITIONS = w.words("at, in, from, near")
WHOLE_VIDEO = w.words("video, clip, footage")
COMES = {"first": FIRST, "second": LAST, "last": LAST}
STARTING = w.words("starting, beginning, starts, begins, segment, clip, part")
STARTS = (("0",), ("0:00",), ("00:00",), ("0.0",), ("second", "0"), ("the", "start"), ("the", "beginning"))
BLACK = w.words("black, dark, blank, blackout, gap, pause, break, separator, divider, interruption")
BLACK_NOUNS = w.words("""
    frame, frames, screen, segment, gap, part, transition, cut, pause, out, break, section, separator, divider,
    appears, comes, starts, begins, ends, -
""")
BEFORES = w.words("before, preceding, precedes, until, till, prior, pre, ahead")
AFTERS = w.words("after, succeeding, subsequent, following, follows, post, past, since, once")
RELATIVES = w.words("""
    that, which, comes, starts, begins, is, appears, plays, shown, just, right, immediately, coming, starting,
    located, found, seen, directly, occurring, presented, displayed
""")
OVER_BLACK = w.words("""
    the, a, an, two, -, second, seconds, to, of, screen, video, frame, it, image, goes, turns, turn, turned, becomes,
    fades, cuts, is, gets, clip, went, faded, long, short, cut, fade, up
""")
PLACING = frozenset().union(SEGMENT_ORDINALS, NUMBERS, BEFORES, AFTERS, ENDS, STARTING)


def mark_places(tokens: list[str], options: Sequence[str], segments: bool) -> list[str]:
    """Mark what names an option by its place; of a video's two segments also by the black frame between them."""
    if PLACING.isdisjoint(tokens):
        return tokens
    alone = _alone(tokens, segments)
    if alone is not None and alone < len(options):
        return [_mark(alone, options)]
    return _mark_ordinals(_mark_segments(tokens, options) if segments else tokens, options, segments)


def _mark(place: int, options: Sequence[str]) -> str:
    return f"«{options[place]}+»"


def _alone(tokens: Sequence[str], segments: bool) -> int | None:
    """The place that a sentence is nothing but: "second", "the first", "at the end"."""
    said = [word for word in tokens if word.isalnum() and word not in ("the", "number")]
    if segments and len(said) == 2 and said[0] in ("at", "in") and "the" in tokens:
        return ENDS.get(said[1])
    if len(said) != 1:
        return None
    return ORDINALS.get(said[0], ALONE.get(said[0]) if segments else None)


# --- ordinals and numbers --------------------------------------------------------------------------------------------


def _mark_ordinals(tokens: Sequence[str], options: Sequence[str], segments: bool) -> list[str]:
    """Mark "the second one", "caption 2", "the former"."""
    found, at, heads = list[str](), 0, SEGMENT_HEADS if segments else CAPTION_HEADS
    while at < len(tokens):
        end, place = _ordinal_at(tokens, at, segments) if tokens[at] in heads else (0, 0)
        if end and -len(options) <= place < len(options):
            found.append(_mark(place, options))
            at = (
                end + 3
                if tokens[end : end + 2] == ["of", "the"] and has(tokens[end + 2 : end + 3], WHOLE_VIDEO)
                else end
            )
        else:
            found.append(tokens[at])
            at += 1
    return found


def _ordinal_at(tokens: Sequence[str], at: int, segments: bool) -> tuple[int, int]:
    """Where the tokens end that name an option by its place from here, and the place; 0 if none do."""
    start = at
    while at + 1 < len(tokens) and at < start + 2 and tokens[at] in ARTICLES:
        at += 1
    word, after = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else ""
    ordinals = SEGMENT_ORDINALS if segments else ORDINALS
    nouns = SEGMENT_NOUNS if segments else CAPTION_NOUNS
    if word in nouns and word not in NO_NUMBERED:
        number = at + 1
        while number < len(tokens) and tokens[number] in NUMBERING | {"."} and number < at + 3:
            number += 1
        if number < len(tokens) and tokens[number] in NUMBERS and after != ".":
            return number + 1, NUMBERS[tokens[number]]
    if at == start and at and _ends_as_place(tokens, at, segments):
        return at + 1, (ordinals | NUMBERS)[word]
    if word not in ordinals:
        return 0, 0
    place = ordinals[word]
    if segments and word in ("first", "last") and tokens[at + 2 : at + 3] == ["seconds"]:
        return at + 3, place
    if after in ("and", "or", "&") and has(tokens[at + 2 : at + 3], PAIRED) and has(tokens[at + 3 : at + 4], nouns):
        return at + 1, place  # "the first and second segments"
    noun = _noun_after(tokens, at + 1, nouns)
    following = tokens[noun] if noun < len(tokens) else ""
    is_rank = following == "choice" and tokens[noun + 1 : noun + 2] in (["is"], [":"])
    if following in nouns and not is_rank:
        return noun + 1, place
    if noun > at + 2 and tokens[noun - 1] in ("two", "them") and not following[:1].isalpha():
        return noun, place  # "the first of the two"
    alone = (word in PLACES and after in AFTER_PLACE) or word in ("former", "latter")
    if (alone and at > start) or (segments and after == ":" and word in PLACES):
        return at + 1, place
    return 0, 0


def _noun_after(tokens: Sequence[str], at: int, nouns: frozenset[str]) -> int:
    """Where the noun of an ordinal stands: behind "video", "of the two" and the like, if they are not it themselves."""
    end = min(len(tokens), at + 7)
    while at < end and tokens[at] in BETWEEN:
        if tokens[at] in nouns and (at + 1 == len(tokens) or tokens[at + 1] not in nouns):
            break
        at += 1
    return at


def _ends_as_place(tokens: Sequence[str], at: int, segments: bool) -> bool:
    """Is this the "second" of "the matching one is the second", or the 2 of "matching segment: 2"?"""
    word, before = tokens[at], tokens[max(0, at - 2) : at]
    is_place = word in PLACES[:2] and (before[-1] == ":" or tuple(before) in (("is", "the"), (":", "the")))
    is_place |= segments and word in PLACES[:2] and tuple(before) in (("it", "is"), ("would", "say"))
    is_number = segments and word in ("1", "2") and before[-1] in (":", "is")
    return (is_place or is_number) and not any(other.isalnum() for other in tokens[at + 1 :])


# --- segments --------------------------------------------------------------------------------------------------------


def _mark_segments(tokens: Sequence[str], options: Sequence[str]) -> list[str]:
    """Mark what stands for a segment by its side of the black frame or by its part of the video."""
    found, at = list[str](), 0
    while at < len(tokens):
        end = _end_of_black(tokens, at)
        if end:
            _drop_relative(found)
            found.append(_mark(FIRST if tokens[at] in BEFORES else LAST, options))
            at = end
            continue
        found.append(tokens[at])
        at += 1
        end, place, replaced = _part_of_video(tokens, at)
        if end:
            del found[len(found) - replaced :]
            found.append(_mark(place, options))
            at = end
    return found


def _part_of_video(tokens: Sequence[str], at: int) -> tuple[int, int, int]:
    """Where a phrase behind a word ends that makes it a segment, its place, and how many words it replaces."""
    word, ahead = tokens[at - 1], tuple(tokens[at : at + 4])
    if word in STARTING and ahead[:1] in (("at",), ("from",)):
        for start in STARTS:
            if ahead[1 : 1 + len(start)] == start:
                return at + 1 + len(start), FIRST, 2 if at > 1 and tokens[at - 2] in w.SEGMENTS else 0
    if (
        word in ENDS
        and ahead[:2] == ("of", "the")
        and ahead[2:3]
        and ahead[2] in WHOLE_VIDEO
        and ahead[3:] not in (("segment",), ("clip",))
    ):
        return at + 3, ENDS[word], 1
    if word in w.SEGMENTS:
        if ahead[:1] and ahead[0] in PREPOSITIONS and ahead[1:2] == ("the",) and ahead[2:3] and ahead[2] in ENDS:
            return at + 3, ENDS[ahead[2]], 1
        end = next((end for end in range(at, len(tokens)) if tokens[end] not in RELATIVES), at)
        if end > at and end < len(tokens) and tokens[end] in COMES:
            return end + 1, COMES[tokens[end]], 1  # "the segment that comes first"
    return 0, 0, 0


def _drop_relative(found: list[str]) -> None:
    """Drop "the clip that starts" before "after the black frame": the whole names one segment."""
    place = len(found)
    while place and found[place - 1] in RELATIVES:
        place -= 1
    if place and found[place - 1] in w.SEGMENTS:
        del found[place - 1 :]


def _end_of_black(tokens: Sequence[str], at: int) -> int:
    """Where a phrase such as "after the 2-second black frame" ends that begins here; 0 if none does."""
    if tokens[at] not in BEFORES and tokens[at] not in AFTERS:
        return 0
    place = at + 1
    while place < min(len(tokens), at + 10) and (tokens[place] in OVER_BLACK or tokens[place][0].isdigit()):
        place += 1
    if place == len(tokens) or is_mark(tokens[place]) or tokens[place] not in BLACK:
        return 0
    place += 1
    while place < len(tokens) and tokens[place] in BLACK_NOUNS:
        place += 1
    return place
