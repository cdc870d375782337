"""Escape text for LaTeX: to ASCII that prints the same characters."""

import re
import unicodedata

from reprise.tables.render.layout import BLANKS

# Straight quotes at the start of a word, which LaTeX prints as opening quotes.
OPENING_QUOTES = re.compile(r"""(?:^|(?<=[\s(\[{/–—-]))["']+(?=\S)""")
CURVED_QUOTES = str.maketrans({'"': "“", "'": "‘"})

# Character -> LaTeX text. LaTeX reads brackets and stars after `\\` as its options, and turns quotes and hyphens into
# ligatures.
SIGNS = {
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

# Character -> LaTeX command in mathematical mode. Some of these characters also have commands for text, but only the
# mathematical commands have outline fonts in every TeX installation.
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
    "ε": r"\epsilon",
    "θ": r"\theta",
    "κ": r"\kappa",
    "λ": r"\lambda",
    "µ": r"\mu",
    "μ": r"\mu",
    "π": r"\pi",
    "ρ": r"\rho",
    "σ": r"\sigma",
    "τ": r"\tau",
}

# Unicode's combining accent -> LaTeX command for an accent.
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

# Character -> LaTeX source.
COMMANDS = {**SIGNS, **{sign: f"${name}$" for sign, name in MATH.items()}}


def escape(text: str) -> str:
    """Return text for the body of a LaTeX document; characters without a LaTeX form become code points: [U+4E2D]."""
    composed = unicodedata.normalize("NFC", BLANKS.sub(" ", text))
    composed = OPENING_QUOTES.sub(lambda match: match[0].translate(CURVED_QUOTES), composed)
    # Braces between hyphens keep LaTeX from joining them to one dash.
    return "{}".join("".join(map(_render_sign, part)) for part in re.split("(?<=[-–—])(?=[-–—])", composed))


def comment(text: str) -> str:
    """Return text as one commented line of LaTeX source, in ASCII."""
    signs = (sign if sign.isascii() else f"[U+{ord(sign):04X}]" for sign in BLANKS.sub(" ", text))
    return f"% {''.join(signs)}".rstrip()


def _render_sign(sign: str) -> str:
    """Return one character as LaTeX. A letter with one accent becomes the command of this accent."""
    if sign in COMMANDS or sign.isascii():
        return COMMANDS.get(sign, sign)
    base, *accents = list(unicodedata.normalize("NFD", sign))
    if len(accents) == 1 and accents[0] in ACCENTS and base.isascii() and base.isalpha():
        return f"{ACCENTS[accents[0]]}{{{base}}}"
    return f"{{[}}U+{ord(sign):04X}{{]}}"
