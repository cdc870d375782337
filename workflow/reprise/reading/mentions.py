"""Where an answer mentions options by their letters, and which mentions go together."""

import re
from collections.abc import Callable, Sequence

from reprise.reading import words as w
from reprise.reading.clauses import is_mark, named
from reprise.reading.places import mark_places

ANY_LETTER = frozenset("ABCDEFabcdef")
REPEATED = re.compile(r"([A-F])\1{2,}")  # "BBBB"
OTHER_LETTERS = frozenset("bcd")
OPEN_BRACKETS, CLOSED_BRACKETS = frozenset("([{"), frozenset(")]}")
STOPS = frozenset(".,;:!?)]}-–—/=>→&+")
# What may follow a lone capital A that is an option and not an article.
AFTER_A = w.words("""
    is, are, were, was, has, does, did, says, seems, looks, appears, works, seemed, looked, appeared, matched, fit,
    sounded, sounds, fits, matches, describes, claims, states, shows, because, since, as, and, or, nor, not, but, if,
    would, could, should, cannot, can, than, over, wins, rather, that, which, who, while, whereas, although, though,
    however, therefore, so, gets, got, captures, reflects, depicts, contradicts, corresponds, aligns, agrees,
    mentions, needs, wants, requires, will, must, may, might, alone, too, comes, stands, remains, goes, gives, tells,
    reads, puts, fails, misses, reverses, swaps, instead, until, vs, versus, beats, makes, yes, no, i, maybe, perhaps
""")
JUDGING_VERBS = frozenset(
    word.split("_")[0] for word in w.GOOD | w.BAD | w.SAYS | w.DEPICTS | w.OMITS if word.split("_")[0].endswith("s")
)
ADVERBS_AFTER_A = w.words("""
    best, better, more, accurately, correctly, clearly, most, closely, actually, only, also, perfectly
""")
VERBS_AFTER_ADVERB = w.words("""
    describes, matches, fits, captures, reflects, identifies, states, depicts, represents, shows, aligns, corresponds,
    accurately, closely, precisely, correctly, faithfully, describe, match, summarizes, portrays, is, has, than, likely
""")
CHOOSING = w.words("""
    find, consider, deem, like, judge, call, is, choose, pick, select, with, say, answer, prefer, caption, option, be,
    makes, make, leaves, leaving, choosing, picking, only
""")
AFTER_CHOICE = w.words("""
    more, most, less, better, best, correct, right, preferable, as, the, my, in, for, on, from, with, by, after,
    given, based, of, to, here, there, instead, rather, again
""")
BEFORE_LOWER = w.words("is, be, choose, pick, select, with, say, answer, hence, therefore, so, :, =, >, -, →")
# What may stand before a letter that is an option; after another noun it is part of a name ("player B", "vitamin B").
BEFORE_LETTER = frozenset().union(
    w.GOOD, w.BAD, w.NEGATIONS, w.DEPICTS, w.DEPICTED, w.ANSWERS, w.PICKS, w.CONCLUDES, w.HEDGES, w.FILLERS, w.TURNS,
    w.COMPARES, w.BUTS, w.SPLITS, w.MIGHT, w.SAYS, w.CONDITIONS, w.NOUNS, w.SEGMENTS, w.CAPTIONS,
    w.words("""
        neither, either, both, nor, than, unlike, whether, against, according, per, under, what, that, when, where,
        how, why, only, even, if, versus, vs, say, claims, picking, option, go, rank, ranked, first, second, number,
        thus, ist, es, est, e, é, could, might, may, can, scene, inspection, viewing, look, consideration, reflection,
        balance, comparison, review, analysis, way, video, footage, means, mean, suggests, a, b, c, d, f
    """),
)  # fmt: skip
BEFORE_BRACKET = frozenset().union(
    w.NOUNS, w.SEGMENTS, w.ANSWERS, w.PICKS, w.FILLERS, w.CONCLUDES, w.HEDGES, w.GOOD, w.BAD, w.NEGATIONS, w.COMPARES
)
IN_BRACKETS = frozenset((")", "/", "or", ","))
CAPTION_NOUNS, SEGMENT_NOUNS = w.NOUNS, w.NOUNS | w.SEGMENTS
JUDGED = w.GOOD | w.BAD
JOINS = w.words("well, /, \\, &, and, or, nor, then, vs, versus, >, →, =")
BETWEEN = OPEN_BRACKETS | CLOSED_BRACKETS | {"the", "a", "as", "maybe", "perhaps", "possibly", "with"}
LIST_ENDS = frozenset(("", ",", ".", "and", "or", "nor", "/", "!", ")", "&"))
NO_JOIN_TO = w.words("prefer, preferred, preferable, superior, closer, similar, comes, leads, points, corresponds")
RANKINGS = ("to worst :", "to least :", "ranking :")
QUANTIFIERS = frozenset(("both", "either", "neither"))
AFTER_QUANTIFIER = (
    w.SEGMENTS | w.NOUNS | w.words("of, is, are, fit, match, seem, could, can, one, do, does") | STOPS | {""}
)
Mark = Callable[[list[str]], list[str]]


def mark_letters(options: Sequence[str], segments: bool) -> Mark:
    """A function that turns the mentions among the tokens of a sentence into marks, and joins those in one breath.

    Its tokens are in lower case.
    """
    nouns = SEGMENT_NOUNS if segments else CAPTION_NOUNS

    def mark(raw: list[str]) -> list[str]:
        tokens = [word if is_mark(word) else word.lower() for word in raw]
        tokens = mark_places(_mark_single_letters(raw, tokens, nouns), options, segments)
        if not any(map(is_mark, tokens)) and QUANTIFIERS.isdisjoint(tokens):
            return tokens
        if not OPEN_BRACKETS.isdisjoint(tokens) or not CLOSED_BRACKETS.isdisjoint(tokens):
            tokens = without_brackets(_label_glosses(tokens))
        return merge_groups(tokens, options)

    return mark


# --- letters ---------------------------------------------------------------------------------------------------------


def _mark_single_letters(raw: Sequence[str], tokens: list[str], nouns: frozenset[str]) -> list[str]:
    """Mark the letters that stand for an option; a noun before one goes: "caption B" is `«B+»`."""
    if ANY_LETTER.isdisjoint(raw) and len(raw) > 3:
        return tokens
    if ANY_LETTER.isdisjoint(raw):
        return [f"«{word[0]}»" if REPEATED.fullmatch(word) else low for word, low in zip(raw, tokens, strict=True)]
    found = list[str]()
    for at, word in enumerate(raw):
        if word not in ANY_LETTER:
            found.append(tokens[at])
            continue
        before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(raw) else ""
        later = tokens[at + 2] if at + 2 < len(raw) else ""
        bracketed = before in OPEN_BRACKETS and after in CLOSED_BRACKETS
        noun = before if not bracketed else tokens[at - 2] if at > 1 else ""
        if noun in nouns and (word not in "aA" or bracketed or _is_no_article(before, after, later)):
            if found[-1] in nouns:
                found.pop()
            found.append(f"«{word.upper()}+»")
        elif bracketed or (word.isupper() and _is_option(word, before, after, later)) or _is_low(word, before, after):
            found.append(f"«{word.upper()}»")
        else:
            found.append(tokens[at])
    return found


def _is_option(word: str, before: str, after: str, later: str) -> bool:
    """Is this capital letter an option?"""
    paired = after in JOINS and later in ANY_LETTER
    if before[:1].isalpha() and before not in BEFORE_LETTER and not paired:
        return False
    return word != "A" or (before != "an" and _is_no_article(before, after, later))


def _is_low(word: str, before: str, after: str) -> bool:
    """Is this small letter an option: "the answer is b."?"""
    if after == "is" and not before:
        return word.islower()  # "b is correct"
    stops = not after or (after in STOPS and after != "-")
    return word.islower() and stops and (not before or before in BEFORE_LOWER)


def _is_no_article(before: str, after: str, later: str) -> bool:
    """Is an A before these words no article?"""
    if not after[:1].isalpha() or after in AFTER_A or after in OTHER_LETTERS or after in JUDGING_VERBS:
        return True
    pairs = (after == "it" and later == "is") or (after == "to" and later in OTHER_LETTERS)
    if pairs or (after == "for" and later == "sure") or (after == "then" and not later.isalpha()):
        return True
    if (after in ADVERBS_AFTER_A or after.endswith("ly")) and before not in CHOOSING:
        return later in VERBS_AFTER_ADVERB or later in w.SAYS or not later.isalpha()
    return after in AFTER_CHOICE and before in CHOOSING


# --- brackets --------------------------------------------------------------------------------------------------------


def _label_glosses(tokens: list[str]) -> list[str]:
    """Turn a verdict in brackets behind an option into its label: "A (wrong), B (right)"."""
    for at in range(len(tokens) - 3):
        if is_mark(tokens[at]) and tokens[at + 1] == "(":
            closes = next((end for end in (at + 3, at + 4) if tokens[end : end + 1] == [")"]), 0)
            if closes and not JUDGED.isdisjoint(tokens[at + 2 : closes]):
                tokens[at + 1], tokens[closes] = ":", ","
    return tokens


def without_brackets(tokens: Sequence[str]) -> list[str]:
    """The tokens without square and curly brackets, and without round ones around a mark."""
    kept = list[str]()
    for at, word in enumerate(tokens):
        before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
        if word in "[]{}":
            continue
        if word == "(" and is_mark(after or " "):
            plain = not before or not before[0].isalnum() or before in BEFORE_BRACKET
            if plain and (tokens[at + 2 : at + 3] or [""])[0] in IN_BRACKETS:
                continue
        if (
            word == ")"
            and is_mark(before or " ")
            and (len(kept) < 2 or kept[-2] != "(")
            and "(" in tokens[max(0, at - 8) : at]
        ):
            kept += [":"] if len(kept) == 1 and after and not _is_no_article("", after, "") else []
            continue
        kept.append(word)
    return kept


# --- groups ----------------------------------------------------------------------------------------------------------


def merge_groups(tokens: Sequence[str], options: Sequence[str]) -> list[str]:
    """One mark for several options in one breath: "A or B" becomes `«A|B»`; "B > A" is its first, "both" is all."""
    everything = f"«{'|'.join(options)}»"
    found, at = list[str](), 0
    while at < len(tokens):
        word, following = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else ""
        if is_mark(word):
            mark, at = _group(tokens, at, len(options) == 2)
            found.append(mark)
        elif word in QUANTIFIERS and len(options) == 2 and following in AFTER_QUANTIFIER:
            found += ["neither", everything] if word == "neither" else [everything]
            at += 2 if following in w.NOUNS or following in w.SEGMENTS else 1
        else:
            found.append(word)
            at += 1
    return found


def _group(tokens: Sequence[str], at: int, is_pair: bool) -> tuple[str, int]:
    """The mark of a group that begins here, and where it ends."""
    members, end, ranked = [tokens[at]], at + 1, " ".join(tokens[:at]).endswith(RANKINGS)
    while True:
        step = _next_member(tokens, end, is_pair, len(members) == 1)
        if not step or (step == end and 1 < len(members) < end - at) or (tokens[step] in members[1:]):
            break
        ranked |= ">" in tokens[end:step]
        members.append(tokens[step])
        end = step + 1
    names = list(dict.fromkeys(name for member in members for name in named(member)))
    if len(members) == 1:
        return members[0], end
    if len(names) > 1:
        return f"«{names[0] if ranked else '|'.join(names)}»", end
    return max(members, key=len), end


def _next_member(tokens: Sequence[str], at: int, is_pair: bool, is_first: bool) -> int:
    """Where the next mark of a group stands, if one follows; 0 if none does. Of a pair no comma stands before "and"."""
    joined, commas = False, False
    for place in range(at, min(len(tokens), at + 6)):
        word = tokens[place]
        if is_mark(word):
            if commas and not joined and is_first and tokens[max(0, at - 2)] == "not":
                return 0  # "not A, B"
            if joined:
                return 0 if is_pair and is_first and commas and tokens[at + 1] != "or" else place
            following = tokens[place + 1] if place + 1 < len(tokens) else ""
            is_list = following in LIST_ENDS or is_mark(following) or not (is_first or is_pair)
            return place if (commas or place == at) and is_list else 0
        table = word == ":" and is_first and place == at and "|" not in tokens[at - 1]
        if word in JOINS or table or (word == "to" and NO_JOIN_TO.isdisjoint(tokens)):
            joined = True
        elif word == ",":
            commas = True
        elif word not in BETWEEN or (word == "as" and commas):
            return 0
    return 0
