"""Any text as LaTeX that compiles with `article` and prints what was meant, in ASCII."""

import re
import unicodedata

from reprise.tables.render.pieces import BLANKS

# Brackets and stars would be read as options of a preceding `\\`; quotes and hyphens would form ligatures.
SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": "{`}",
    "'": "{'}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}

PUNCTUATION = {
    "–": "--",
    "—": "---",
    "‘": "{`}",
    "’": "{'}",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "•": r"\textbullet{}",
    "©": r"\copyright{}",
    "\N{NO-BREAK SPACE}": "~",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    "\N{THIN SPACE}": r"\,",
}

LETTERS = {
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
}

# Also signs of text: their mathematical forms are in fonts that every TeX has as outlines.
MATH = {
    "†": r"\dagger",
    "‡": r"\ddagger",
    "§": r"\mathsection",
    "¶": r"\mathparagraph",
    "‖": r"\Vert",
    "−": "-",
    "±": r"\pm",
    "×": r"\times",
    "÷": r"\div",
    "·": r"\cdot",
    "∧": r"\wedge",
    "∨": r"\vee",
    "¬": r"\neg",
    "△": r"\triangle",
    "▲": r"\triangle",
    "▽": r"\nabla",
    "→": r"\rightarrow",
    "←": r"\leftarrow",
    "↑": r"\uparrow",
    "↓": r"\downarrow",
    "↔": r"\leftrightarrow",
    "⇒": r"\Rightarrow",
    "≤": r"\leq",
    "≥": r"\geq",
    "≠": r"\neq",
    "≈": r"\approx",
    "∼": r"\sim",
    "∈": r"\in",
    "∞": r"\infty",
    "√": r"\surd",
    "✓": r"\surd",
    "✗": r"\times",
    "°": r"^\circ",
    "²": "^2",
    "³": "^3",
    "α": r"\alpha",
    "β": r"\beta",
    "γ": r"\gamma",
    "δ": r"\delta",
    "Δ": r"\Delta",
    "λ": r"\lambda",
    "µ": r"\mu",
    "μ": r"\mu",
    "σ": r"\sigma",
    "τ": r"\tau",
}

ACCENTS = {
    "\N{COMBINING GRAVE ACCENT}": r"\`",
    "\N{COMBINING ACUTE ACCENT}": r"\'",
    "\N{COMBINING CIRCUMFLEX ACCENT}": r"\^",
    "\N{COMBINING TILDE}": r"\~",
    "\N{COMBINING DIAERESIS}": r"\"",
    "\N{COMBINING MACRON}": r"\=",
    "\N{COMBINING RING ABOVE}": r"\r",
    "\N{COMBINING CARON}": r"\v",
    "\N{COMBINING BREVE}": r"\u",
    "\N{COMBINING CEDILLA}": r"\c",
}

KNOWN = {**SPECIAL, **PUNCTUATION, **LETTERS, **{sign: f"${name}$" for sign, name in MATH.items()}}

LIGATURE = re.compile("(?<=[-–—])(?=[-–—])")


def escape(text: str) -> str:
    """Text for the body of a LaTeX document; a sign without a LaTeX form becomes its code point, as [U+4E2D]."""
    composed = unicodedata.normalize("NFC", BLANKS.sub(" ", text))
    # Neighbouring hyphens would be set as one dash.
    return "{}".join("".join(map(_sign, part)) for part in LIGATURE.split(composed))


def comment(text: str) -> str:
    """Text as one commented line of LaTeX source, in ASCII."""
    signs = (sign if sign.isascii() else f"[U+{ord(sign):04X}]" for sign in BLANKS.sub(" ", text))
    return f"% {''.join(signs)}".rstrip()


def _sign(sign: str) -> str:
    """One sign as LaTeX, a letter with one accent by the command of the accent."""
    if sign in KNOWN or sign.isascii():
        return KNOWN.get(sign, sign)
    base, *accents = list(unicodedata.normalize("NFD", sign))
    if len(accents) == 1 and accents[0] in ACCENTS and base.isascii() and base.isalpha():
        return f"{ACCENTS[accents[0]]}{{{base}}}"
    return f"{{[}}U+{ord(sign):04X}{{]}}"
