"""Where an answer mentions an option: its letter, its name ("caption B", "the second one"), a segment of a video."""

from collections.abc import Callable, Sequence

from reprise.reading import words as w
from reprise.reading.clauses import is_mark, named

LETTERS = frozenset("ABCDEF")
OPEN_BRACKETS, CLOSED_BRACKETS = frozenset("([{"), frozenset(")]}")
STOPS = frozenset(".,;:!?)]}-–—/=>→&+")
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")
ORDINALS = {word: place for place, word in enumerate(PLACES)} | {
    "1st": 0, "2nd": 1, "3rd": 2, "4th": 3, "former": 0, "latter": -1, "last": -1,
}  # fmt: skip
# Which of two segments a word names; of two captions nobody says "the opening one".
SEGMENT_ORDINALS = ORDINALS | {
    "opening": 0, "initial": 0, "earlier": 0, "starting": 0, "beginning": 0, "later": -1, "closing": -1, "ending": -1,
    "concluding": -1, "front": 0, "preceding": 0, "subsequent": -1, "following": -1, "earliest": 0, "latest": -1, "introductory": 0, "final": -1,
}  # fmt: skip
NUMBERS = {str(number): number - 1 for number in range(1, 7)} | {
    "one": 0, "two": 1, "three": 2, "four": 3, "i": 0, "ii": 1, "iii": 2, "iv": 3,
}  # fmt: skip
# What may follow a lone capital A that is an option and not an article.
AFTER_A = (
    frozenset(
        """is was has does did says seems looks appears seemed looked appeared matched fit sounded sounds fits matches describes claims states shows because since as and
        or nor not but if would could should cannot can than over wins rather that which who while whereas although
        though however therefore so more_accurately gets got captures reflects depicts contradicts corresponds aligns
        agrees mentions needs wants requires will must may might alone too fails misses reverses swaps instead
        until""".split()
    )
    | CLOSED_BRACKETS
    | {"vs", "versus", "beats", "gets", "makes", "«no»", "✓", "✗", "❌", "✅", "✔", "✘", "yes"}
)
JUDGING_VERBS = frozenset(
    word.split("_")[0] for word in w.GOOD | w.BAD | w.SAYS | w.DEPICTS | w.OMITS if word.split("_")[0].endswith("s")
)
ADVERBS_AFTER_A = frozenset("best better more accurately correctly clearly most closely actually only also perfectly".split())
VERBS_AFTER_ADVERB = frozenset(
    """describes matches fits captures reflects identifies states depicts represents shows aligns corresponds
    accurately closely precisely correctly faithfully describe match summarizes portrays is has than""".split()
)
CHOOSING = frozenset(
    "find consider deem like judge call is choose pick select with say answer prefer caption option be makes make leaves leaving choosing picking only".split()
)
PREPOSITIONS = frozenset("more most less better best correct right preferable as the my in for on from with by after given based of to here there instead rather again".split())
BEFORE_LOWER = frozenset("is be choose pick select with say answer hence therefore so : = > - → it's".split())
# What may stand before a letter that is an option; after another noun it is part of a name ("player B", "vitamin B").
BEFORE_LETTER = frozenset().union(
    w.GOOD, w.BAD, w.NEGATIONS, w.DEPICTS, w.DEPICTED, w.ANSWERS, w.PICKS, w.CONCLUDES, w.HEDGES, w.FILLERS, w.TURNS,
    w.COMPARES, w.BUTS, w.SPLITS, w.MIGHT, w.SAYS, w.CONDITIONS, w.NOUNS, w.SEGMENTS, w.CAPTIONS,
    "neither either both nor than unlike whether against according per under what that when where how why only even "
    "if than versus vs say claims picking option go rank ranked first second number than thus not's ist es est e é "
    "could might may can scene inspection viewing look consideration reflection balance comparison review analysis video "
    "footage a b c d e f".split(),
)  # fmt: skip
BEFORE_BRACKET = w.NOUNS | w.SEGMENTS | w.ANSWERS | w.PICKS | w.FILLERS | w.CONCLUDES | w.HEDGES | w.GOOD | w.BAD | w.NEGATIONS
Mark = Callable[[list[str]], list[str]]


def mark_letters(options: Sequence[str], segments: bool) -> Mark:
    """A function that turns the mentions among the tokens of a sentence into marks, and joins those in one breath."""

    def mark(tokens: list[str]) -> list[str]:
        marked = mark_segments(tokens, options) if segments else tokens
        marked = _mark_alone(marked, options, segments) or mark_places(marked, options, segments)
        return merge_groups(without_brackets(label_glosses(_mark_single_letters(marked, segments))), options)

    return mark


ALONE = {"1": 0, "2": 1, "before": 0, "after": 1}


def _mark_alone(tokens: list[str], options: Sequence[str], segments: bool) -> list[str]:
    """The mark of a sentence that is nothing but "second" or "the first"."""
    if segments and [token.lower() for token in tokens[:2]] in (["at", "the"], ["in", "the"]) and len([t for t in tokens if t.isalnum()]) == 3:
        place = {"beginning": 0, "start": 0, "end": 1}.get(tokens[2].lower(), len(options))
        return [_mark(place, options)] if place < len(options) else []
    said = [token.lower() for token in tokens if token.isalnum() and token.lower() != "the"]
    place = (ORDINALS | ALONE if segments else ORDINALS).get(said[0], len(options)) if len(said) == 1 else len(options)
    return [_mark(place, options)] if place < len(options) else []


def label_glosses(tokens: list[str]) -> list[str]:
    """Turn a verdict in brackets behind an option into its label: "A (wrong), B (right)"."""
    for at in range(len(tokens) - 3):
        closes = next((end for end in (at + 3, at + 4) if tokens[end : end + 1] == [")"]), 0)
        words = [token.lower() for token in tokens[at + 2 : closes]]
        if closes and tokens[at][0] == "«" and tokens[at + 1] == "(" and not (w.GOOD | w.BAD).isdisjoint(words):
            tokens[at + 1], tokens[closes] = ":", ","
    return tokens


def without_brackets(tokens: Sequence[str]) -> list[str]:
    """The tokens without square and curly brackets, and without round ones around a mark."""
    kept = list[str]()
    for at, token in enumerate(tokens):
        before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
        plain = at == 0 or not before[0].isalnum() or is_mark(before) or before.lower() in BEFORE_BRACKET
        opens = token == "(" and plain and after[:1] == "«" and (tokens[at + 2 : at + 3] or [""])[0] in (")", "/", "or", ",")
        closes = token == ")" and before[:1] == "«" and (len(kept) < 2 or kept[-2] != "(")
        if closes and len(kept) == 1 and "(" in tokens[:at] and after:
            kept.append(":")
        elif token not in "[]{}" and not opens and not (closes and "(" in tokens[max(0, at - 8) : at]):
            kept.append(token)
    return kept


def _mark(place: int, options: Sequence[str]) -> str:
    return f"«{options[place]}+»"


def mark_places(tokens: list[str], options: Sequence[str], segments: bool) -> list[str]:
    """Mark "the second one", "caption 2", "segment B", "the former"."""
    ordinals, nouns = (SEGMENT_ORDINALS, w.SEGMENTS | w.NOUNS) if segments else (ORDINALS, w.NOUNS | {"one"})
    found, at = list[str](), 0
    while at < len(tokens):
        if _ends_as_place(tokens, at, segments):
            found.append(_mark({**ordinals, **NUMBERS}[tokens[at].lower()], options))
            at += 1
            continue
        end, place = _place_at([token.lower() for token in tokens[at : at + 9]], ordinals, nouns, segments)
        if end and -len(options) <= place < len(options):
            found.append(_mark(place, options))
            at += end
        else:
            found.append(tokens[at])
            at += 1
    return found


def _ends_as_place(tokens: Sequence[str], at: int, segments: bool) -> bool:
    """Is this the "second" of "the matching one is the second", or the 2 of "matching segment: 2"?"""
    word, rest = tokens[at].lower(), tokens[at + 1 :]
    if at == 0 or any(token.isalnum() for token in rest):
        return False
    before = [token.lower() for token in tokens[max(0, at - 2) : at]]
    named = word in PLACES[:2] and (before[-1] == ":" or before in (["is", "the"], [":", "the"]))
    return named or (segments and word in ("1", "2") and before[-1] in (":", "is"))


def _place_at(ahead: Sequence[str], ordinals: dict[str, int], nouns: frozenset[str], segments: bool) -> tuple[int, int]:
    """How many of the tokens ahead name an option by its place, and the place."""
    at = 1 if ahead[0] in ("the", "very", "both") and len(ahead) > 1 else 0
    at += ahead[at] == "very" and len(ahead) > at + 1
    word = ahead[at]
    if segments and word in ("first", "last") and ahead[at + 2 : at + 3] == ["seconds"]:
        return at + 3, ordinals[word]
    if word in ordinals:
        noun = at + 1
        while noun < len(ahead) and ahead[noun] in ("video", "of", "the", "two", "long", "clip", "shown", "caption"):
            if ahead[noun] in nouns and (noun + 1 == len(ahead) or ahead[noun + 1] not in nouns):
                break
            noun += 1
        following = ahead[noun] if noun < len(ahead) else ""
        is_rank = following == "choice" and ahead[noun + 1 : noun + 2] in (["is"], [":"])
        if following in nouns and not is_rank:
            return noun + 1, ordinals[word]
        alone = ahead[at + 1] if at + 1 < len(ahead) else ""
        if word in ("former", "latter") and at:
            return at + 1, ordinals[word]
        if noun > at + 2 and ahead[noun - 1] == "two" and not following[:1].isalpha():
            return noun, ordinals[word]
        if segments and alone == ":" and word in PLACES:
            return at + 1, ordinals[word]
        if at and word in PLACES and alone in ("is", "matches", "fits", "describes", "better", "does", "shows", ",", ".", "", "?", "!", "but"):
            return at + 1, ordinals[word]
    elif word in nouns and len(ahead) > at + 1 and word not in ("one", "letter"):
        skip = at + 1 + (ahead[at + 1] in ("number", "no", "#", "(", "no."))
        skip += skip > at + 1 and ahead[skip : skip + 1] == ["."]
        if skip < len(ahead) and ahead[skip] in NUMBERS and not (ahead[skip] == "i"):
            return skip + 1, NUMBERS[ahead[skip]]
    return 0, 0


STARTING = frozenset(("starting", "beginning", "starts", "begins", "segment", "clip", "part"))
STARTS = (["0"], ["0:00"], ["second", "0"], ["the", "start"], ["the", "beginning"], ["0:00:00"], ["00:00"], ["0.0"])
BLACK = frozenset("black dark blank blackout gap pause break separator divider interruption".split())
BLACK_NOUNS = frozenset("frame frames screen segment gap part transition cut pause out break section separator divider".split())
BEFORES = frozenset("before preceding precedes until till prior pre ahead".split())
AFTERS = frozenset("after following follows post past since once".split())
RELATIVES = frozenset(
    """that which comes starts begins is appears plays shown just right immediately coming starting located found seen
    directly occurring presented displayed""".split()
)
OVER_BLACK = frozenset(
    """the a an 2 two - second seconds to of screen video frame it image goes turns turn turned becomes fades cuts is gets clip went turned
    faded long short cut fade of up""".split()
)


def mark_segments(tokens: list[str], options: Sequence[str]) -> list[str]:
    """Mark what stands for a segment by its side of the black frame or by its place in the video."""
    found, at = list[str](), 0
    while at < len(tokens):
        end = _beside_black(tokens, at)
        if end:
            _drop_relative(found)
            found.append(_mark(0 if tokens[at].lower() in BEFORES else -1, options))
            at = end
            continue
        found.append(tokens[at])
        at += 1
        if found[-1].lower() in STARTING and tokens[at : at + 1] in (["at"], ["from"]):
            ahead = [token.lower() for token in tokens[at + 1 : at + 3]]
            if any(ahead[: len(start)] == start for start in STARTS):
                found = [*found[:-2], _mark(0, options)] if found[-2:-1] and found[-2].lower() in w.SEGMENTS else [*found, _mark(0, options)]
                at += 2 if ahead[:1] in STARTS else 3
                continue
        if found[-1].lower() in ("beginning", "start", "end") and [token.lower() for token in tokens[at : at + 2]] == ["of", "the"]:
            whole = [token.lower() for token in tokens[at + 2 : at + 4]]
            if whole[:1] in (["video"], ["clip"], ["footage"]) and whole[1:] not in (["segment"], ["clip"]):
                found[-1] = _mark(-1 if found[-1].lower() == "end" else 0, options)
                at += 3
                continue
        comes = [token.lower() for token in tokens[at : at + 4]]
        if found[-1].lower() in w.SEGMENTS and comes[:1] in (["at"], ["in"], ["from"], ["near"]) and comes[1:2] == ["the"] and comes[2:3] in (["beginning"], ["start"], ["end"]):
            found, at = [*found[:-1], _mark(-1 if comes[2] == "end" else 0, options)], at + 3
            continue
        if comes[:3] in (["that", "comes", "first"], ["which", "comes", "first"], ["shown", "first"]):
            found, at = [*found[:-1], _mark(0, options)], at + 3
        elif comes[:3] in (["that", "comes", "last"], ["that", "comes", "second"], ["which", "comes", "second"]):
            found, at = [*found[:-1], _mark(-1, options)], at + 3
    return found


def _drop_relative(found: list[str]) -> None:
    """Drop "the clip that starts" before "after the black frame": the whole names one segment."""
    place = len(found)
    while place and found[place - 1].lower() in RELATIVES:
        place -= 1
    if place and found[place - 1].lower() in w.SEGMENTS:
        del found[place - 1 :]


def _beside_black(tokens: Sequence[str], at: int) -> int:
    """Where a phrase such as "after the 2-second black frame" ends that begins here; 0 if none does."""
    if tokens[at].lower() not in BEFORES and tokens[at].lower() not in AFTERS:
        return 0
    place = at + 1
    while place < len(tokens) and place < at + 10 and (tokens[place].lower() in OVER_BLACK or tokens[place][0].isdigit()):
        place += 1
    if place == len(tokens) or tokens[place].lower() not in BLACK:
        return 0
    place += 1
    while place < len(tokens) and tokens[place].lower() in BLACK_NOUNS | {"appears", "comes", "starts", "begins", "ends", "-"}:
        place += 1
    return place


def _mark_single_letters(tokens: Sequence[str], segments: bool) -> list[str]:
    found = list[str]()
    nouns = w.NOUNS | w.SEGMENTS if segments else w.NOUNS
    for at, token in enumerate(tokens):
        if len(token) > 2 and token[0] in LETTERS and set(token) == {token[0]}:
            found.append(f"«{token[0]}»")
            continue
        if len(token) != 1 or token.upper() not in LETTERS:
            found.append(token)
            continue
        before = tokens[at - 1] if at else ""
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        later = tokens[at + 2] if at + 2 < len(tokens) else ""
        bracketed = before in OPEN_BRACKETS and after in CLOSED_BRACKETS and before != ""
        noun = before if not bracketed else (tokens[at - 2] if at > 1 else "")
        if noun.lower() in nouns and noun and (token not in "aA" or _is_no_article(after.lower(), later.lower(), before)):
            if found[-1].lower() in nouns:
                found.pop()
            found.append(f"«{token.upper()}+»")
        elif bracketed or (token.isupper() and _is_letter(token, before, after, later)):
            found.append(f"«{token.upper()}»")
        elif token.islower() and (not before or before.lower() in BEFORE_LOWER) and (not after or after in STOPS) and after != "-":
            found.append(f"«{token.upper()}»")
        else:
            found.append(token)
    return found


def _is_letter(token: str, before: str, after: str, later: str) -> bool:
    """Is this capital letter an option?"""
    low = before.lower()
    if before and before[0].isalpha() and low not in BEFORE_LETTER:
        return False
    if token == "A" and low == "an":
        return False
    return token != "A" or _is_no_article(after.lower(), later.lower(), low)


def _is_no_article(after: str, later: str, before: str) -> bool:
    if not after or not after[0].isalpha() or after in AFTER_A or after in ("b", "c", "d"):
        return True
    if (after == "it" and later == "is") or (after == "to" and later in ("b", "c", "d")):
        return True
    if after in JUDGING_VERBS or (after == "for" and later == "sure") or (after == "then" and not later.isalpha()):
        return True
    if after in ADVERBS_AFTER_A and before.lower() not in CHOOSING:
        return later in VERBS_AFTER_ADVERB
    return after in PREPOSITIONS and before.lower() in CHOOSING


PREFERS = frozenset(("prefer", "preferred", "preferable", "superior", "closer", "similar", "comes", "leads", "points", "corresponds"))
RANKING = (["best", "to", "worst", ":"], ["most", "to", "least", ":"])
JOINS = frozenset("/ \\ & and or nor then vs versus > → =".split())


def merge_groups(tokens: Sequence[str], options: Sequence[str]) -> list[str]:
    """One mark for several options in one breath: "A or B" becomes `«A|B»`; "B > A" is its first, "both" is all."""
    everything = "«" + "|".join(options) + "»"
    found, at = list[str](), 0
    while at < len(tokens):
        token = tokens[at]
        if not is_mark(token):
            both = token.lower() in ("both", "either", "neither") and len(options) == 2
            following = tokens[at + 1].lower() if at + 1 < len(tokens) else ""
            if both and (following in w.NOUNS or following in w.SEGMENTS or following in ("of", "is", "are", "", "fit", "match", "seem", "could", "can", "one", "do", "does") or following in STOPS):
                found += [*(["neither"] if token.lower() == "neither" else []), everything]
                at += 1 + (following in w.NOUNS or following in w.SEGMENTS)
            else:
                found.append(token)
                at += 1
            continue
        members, end, ranked = [token], at + 1, False
        while True:
            step = _next_member(tokens, end, len(members) == 1 and len(options) == 2, len(members) == 1 or len(options) == 2)
            if not step or (step == end and len(members) > 1 and end - at > len(members)):
                break
            ranked |= ">" in tokens[end:step]
            members.append(tokens[step])
            end = step + 1
        ranked |= [token.lower() for token in tokens[max(0, at - 4) : at]] in RANKING
        names = list(dict.fromkeys(name for member in members for name in named(member)))
        if len(members) > 1 and len(names) > 1:
            found.append(f"«{names[0]}»" if ranked else f"«{'|'.join(names)}»")
        elif len(members) > 1 and set(members) != {token}:
            found.append(max(members, key=len))
        else:
            found += members[:1]
        at = end
    return found


def _next_member(tokens: Sequence[str], at: int, pairs: bool, pairs_only: bool) -> int:
    """Where the next mark of a group stands, if one follows; 0 if none does. Of a pair no comma stands before "and"."""
    place, joined, commas = at, False, 0
    while place < len(tokens) and place < at + 6:
        token = tokens[place].lower()
        if is_mark(token):
            if joined:
                return 0 if pairs and commas else place
            following = tokens[place + 1] if place + 1 < len(tokens) else ""
            is_list = following in ("", ",", ".", "and", "or", "nor", "/", "!", ")", "&") or is_mark(following)
            return place if (commas or place == at) and (is_list or not pairs_only) else 0
        if token in JOINS or (token == "to" and PREFERS.isdisjoint(tokens)):
            joined = True
        elif token == ",":
            commas += 1
        elif token not in OPEN_BRACKETS | CLOSED_BRACKETS | {"the", "a", "maybe", "perhaps", "with"}:
            return 0
        place += 1
    return 0
