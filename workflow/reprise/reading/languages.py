"""Answers in other languages, put into the English words that the readers know.

Only what an answer needs is translated: yes, no, options, segments, verdicts, negations, ratings. Everything else stays
as it is, and a reader takes it for words that it does not know.
"""

import re
from collections.abc import Mapping
from functools import cache

from reprise.reading import glossary
from reprise.reading import words as w

SCRIPTS = (
    (re.compile("[\u3040-\u30ff]"), "JAPANESE"),
    (re.compile("[\u4e00-\u9fff]"), "CHINESE"),
    (re.compile("[\uac00-\ud7af]"), "KOREAN"),
    (re.compile("[\u0900-\u097f]"), "HINDI"),
    (re.compile("[\u0600-\u06ff]"), "ARABIC"),
    (re.compile("[\u0400-\u04ff]"), "RUSSIAN"),
)
UNSPACED = frozenset(("JAPANESE", "CHINESE", "KOREAN"))
LATIN = ("GERMAN", "FRENCH", "SPANISH", "PORTUGUESE", "ITALIAN", "DUTCH", "OTHERS")
# Words of other languages that are English words (or names) as well say nothing about the language of an answer.
ENGLISH = frozenset().union(
    w.GOOD, w.BAD, w.ANSWERS, w.FILLERS, w.HEDGES, w.PICKS, w.CAPTIONS, w.SEGMENTS, w.NOUNS, w.KNOWS, w.NEGATIONS,
    w.SAYS,
    w.words("""
        a, no, die, am, also, note, choice, point, points, second, segment, video, description, option, as, do, is,
        correct, clip, to, in, on, or, score, want, of, met, na, e, o, y, er, sai, part, image, car, me, man, his, us,
        fragment, kan, nota, parte, son, ne, ei, jo, de, da, il, was, con, sur, se, al, uno, not, beste, bild, vote,
        super, fin, par, sera, fine, comes, pour, rate, null, eins, with, best, sua, come
    """),
) - w.words("nee, non, ist, si, tak, ya, est, aber")  # fmt: skip
COMMON = w.words("""
    the, is, are, of, and, that, this, with, in, it, not, to, answer, caption, matches, does, was, because, for, on,
    video, shows, which, i, yes, an, as, so, but, from, at
""")
WORD = re.compile(r"[^\W\d_]+")
# Where these come together their order is another one than in English.
BLACK = (
    ("黑(?:屏|帧|场|幕|色画面|色屏幕|色帧)(?:出现)?(?:之|以)?", "[后後](?:面|边)?的?", "前(?:面|边)?的?"),
    ("(?:黒い?(?:画面|フレーム)|暗転|ブラック(?:フレーム|スクリーン))の?", "(?:後|あと)の?", "(?:前|まえ)の?"),
    ("(?:검은|검정|블랙) ?(?:화면|프레임|스크린) ?", "(?:이후|후|뒤|다음)의?", "(?:이전|전|앞)의?"),
    ("(?:काले|काली|ब्लैक) (?:फ्रेम|स्क्रीन) ", "के बाद", "से पहले"),
)
REORDERED = (
    (re.compile(r"^\s*是(?=[,.\s])|(?<=[:是为])\s*是(?=\W*$)"), " yes "),
    (re.compile(r"(?:并)?不是(?=\W*$)|^\s*(?:并)?不是(?=[,.])"), " no "),
    *((re.compile(black + side), f" {word} black frame ")
      for black, after, before in BLACK for word, side in (("after", after), ("before", before))),
    (re.compile(r"после ч[её]рн(?:ого|ой) (?:кадра|экрана|заставки)", re.I), " after black frame "),
    (re.compile(r"(?:до|перед) ч[её]рн(?:ого|ой|ым) (?:кадр|экран)\w*", re.I), " before black frame "),
    (re.compile("بعد (?:الإطار|الشاشة|اللقطة) (?:الأسود|السوداء)"), " after black frame "),
    (re.compile("قبل (?:الإطار|الشاشة|اللقطة) (?:الأسود|السوداء)"), " before black frame "),
    (re.compile("(?:المقطع|الجزء|القسم|الفيديو) (?:الأول|الاول)"), " first segment "),
    (re.compile("(?:المقطع|الجزء|القسم|الفيديو) الثاني"), " second segment "),
    (re.compile("(?:الوصف|الخيار|التعليق) الأول"), " first option "),
    (re.compile("(?:الوصف|الخيار|التعليق) الثاني"), " second option "),
    (re.compile(r"(?<!\w)А(?=\W*$)|(?<=вариант )А|(?<=ответ )А", re.I), "A"),  # letters of the Cyrillic alphabet
    (re.compile(r"(?<!\w)В(?=\W*$)|(?<=вариант )В|(?<=ответ )В", re.I), "B"),
    (re.compile(r"\b(?:écran|image|cadre|plan) noire?\b", re.I), " black frame "),
    (re.compile(r"\b(?:pantalla|cuadro|foto\w+|imagen|tela|quadro|schermo) (?:negr|pret|ner)[oa]\b", re.I),
     " black frame "),
    (re.compile(r"\b(segment[oe]?|parte|v[ií]deo|opzione|fragmento|trecho|clip) (prim\w+|se[cg][ou]nd[oa])\b", re.I),
     r" \2 \1 "),
)  # fmt: skip
# A capital A before a word is an article or a preposition, but before these an option.
ROMANCE_A = re.compile(
    r"(?<!\w)A (?=[a-zà-ÿ])(?!(?:es|est|é|è|e|y|et|o|ou|describe|descreve|descrive|décrit|coincide|corresponde"
    r"|correspond|corrisponde|porque|car|pues|pois|perché|parce)\b)"
)
ROMANCE = ("SPANISH", "PORTUGUESE", "ITALIAN", "FRENCH")
ELIDED = re.compile(r"\b(?:l|un|dell|all|nell|d|n|qu|s)'(?=\w)", re.I)
LETTER = re.compile("(?<![A-Za-z(])([A-F])(?![A-Za-z)])")
# Whole answers that are other words, or none, inside a sentence.
WHOLE = dict.fromkeys(w.words("da, jo, ya, হ্যাঁ, ஆம், ہاں, 是, 对, 有, あり, ใช่"), "yes") | dict.fromkeys(
    w.words("ne, ei, nei, sai, না, இல்லை, نہیں, 否, 没有, 不, 不是, नहीं, なし, 違います, 아닙니다, ไม่, ไม่ใช่"), "no"
)


@cache
def meanings(language: str) -> Mapping[str, str]:
    """The English of a language's words."""
    pairs = (entry.split("=") for entry in " ".join(getattr(glossary, language).split()).split(","))
    return {foreign.strip(): english.strip() for foreign, english in pairs}


@cache
def pattern(language: str) -> re.Pattern[str]:
    """Finds the words of a language, the longest first."""
    known = "|".join(map(re.escape, sorted(meanings(language), key=len, reverse=True)))
    return re.compile(known if language in UNSPACED else rf"(?<!\w)(?:{known})(?!\w)", re.I)


@cache
def markers() -> Mapping[str, frozenset[str]]:
    """The words that tell languages in Latin letters from English."""
    return {
        language: frozenset(word for known in meanings(language) for word in WORD.findall(known)) - ENGLISH
        for language in LATIN
    }


@cache
def all_markers() -> frozenset[str]:
    return frozenset().union(*markers().values())


def in_english(text: str) -> str:
    """The text with the words of its own language put into English; English stays as it is."""
    text = text.replace("İ", "I")
    bare = text.strip(" \n.。!！?,，।")
    if bare.lower() in WHOLE:
        return WHOLE[bare.lower()]
    language = language_of(text)
    if not language:
        return text
    for found, english in REORDERED:
        text = found.sub(english, text)
    if language in ROMANCE:
        text = ELIDED.sub(" ", text)
        text = ROMANCE_A.sub(" ", meant(text, language, only_phrases=True))
    if language not in LATIN:
        text = LETTER.sub(r"(\1)", text)  # where nobody writes articles
    return meant(text, language).replace("  ", " ")


def meant(text: str, language: str, only_phrases: bool = False) -> str:
    """Replace the words of a language; a single capital letter may be an option and stays."""
    known, spaced = meanings(language), language in UNSPACED

    def english(match: re.Match[str]) -> str:
        word = match[0]
        if (len(word) == 1 and word in "ABCDEFO") or (only_phrases and " " not in word):
            return word
        meaning = known.get(word.lower(), word)
        return f" {meaning} " if spaced else meaning

    return pattern(language).sub(english, text)


def language_of(text: str) -> str:
    """The language of a text, empty for English and for what is none."""
    if not text.isascii():
        for script, language in SCRIPTS:
            if script.search(text):
                return language
    words = set(WORD.findall(text.lower().replace("non-", "")))
    if words.isdisjoint(all_markers()):
        return ""
    shared = [word for known in markers().values() for word in words & known]
    hits = {language: sum(1 / shared.count(word) for word in words & known) for language, known in markers().items()}
    best = max(hits, key=hits.__getitem__)
    return best if len(words & markers()[best]) >= len(words & COMMON) else ""
