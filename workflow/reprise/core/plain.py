"""Text of servers, programs and files, safe to show: no secret, no escape sequence, nothing that reorders a line."""

import math
import os
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

LONGEST = 2000
HIDDEN = "***"
# Environment variables whose values are secrets, by their names.
SECRET_NAMES = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|CREDENTIAL", re.IGNORECASE)
SECRETS_IN_TEXT = (
    (re.compile(r"(://)[^/\s@'\"]+@"), rf"\1{HIDDEN}@"),
    (re.compile(r"\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key)\b(\W{1,4})[^\r\n]+", re.I), rf"\1\2{HIDDEN}"),
    (re.compile(r"\b(bearer)\s+[\w.~+/=-]{8,}", re.I), rf"\1 {HIDDEN}"),
    (
        re.compile(r"([?&][\w.-]*(?:token|key|secret|sig|signature|auth|password|credential)=)[^&\s'\"#]+", re.I),
        rf"\1{HIDDEN}",
    ),
    # Tokens of Hugging Face, GitHub and of services behind an API, by their shape.
    (re.compile(r"(?<![A-Za-z0-9])(?:(?:hf_|ghp_)[A-Za-z0-9]{16,}|(?:github_pat_|sk-)[\w-]{16,})"), HIDDEN),
)
# A script without an end is one to the end of the text: no sign is looked at more than a few times.
TAGS = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<[/!a-z][^<>]*>", re.IGNORECASE | re.DOTALL)
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
# Controls other than tab and line feed, bidirectional marks and overrides, other line ends, tags, lone surrogates.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
# Between two characters of a secret: the end of a line, also as JSON writes it, signs that nobody sees, and escapes.
BREAK = r"(?:\\*[\r\n][ \t]*|\\+[nr][ \t]*|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\x1b\[[0-9;]*m)*"
# How a cell begins that a spreadsheet would run, unless it is a number.
FORMULA = re.compile(r"'*[=+\-@\t]")
QUOTE = "'"
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def visible(text: str) -> str:
    """The text with every sign that hides, moves or reorders others as its code point, such as [U+202E]."""
    return UNSEEN.sub(lambda sign: f"[U+{ord(sign[0]):04X}]", text)


def safe(text: str) -> str:
    """A text that others wrote, as a log may show it."""
    # A secret with an escape in it is whole again when the escape is gone.
    return visible(without_secrets(ESCAPES.sub("", text.replace("\r\n", "\n"))))


def plain(text: str) -> str:
    """A text that others wrote, on one line of bounded length, as a ledger keeps it."""
    return cut(" ".join(safe(text).split()), LONGEST)


def words_of_page(text: str) -> str:
    """The words of a page of HTML, or of a plain text, on one line of bounded length."""
    return plain(TAGS.sub(" ", text))


def cut(text: str, most: int) -> str:
    """A text, or of a longer one its beginning."""
    return text if len(text) <= most else f"{text[:most]}..."


def number_in(text: str) -> float | None:
    """Return the finite number that a cell of a table shows; None for `nan`, `inf`, `1_0` and other texts."""
    value = float(text) if NUMBER.fullmatch(text.strip()) else math.inf
    return value if math.isfinite(value) else None


def as_cell(text: str) -> str:
    """A text for a cell of a csv file that people open: what a spreadsheet would run gets a quote before it."""
    shown = visible(text)
    return f"{QUOTE}{shown}" if FORMULA.match(shown) and not re.fullmatch(r"[+-]?[0-9]+(?:\.[0-9]+)?", shown) else shown


def of_cell(cell: str) -> str:
    return cell.removeprefix(QUOTE) if FORMULA.match(cell) else cell


def without_secrets(text: str) -> str:
    """The text without secrets: those of this user, should a server repeat them, and what looks like one."""
    text = without_own_secrets(text)
    for pattern, shown in SECRETS_IN_TEXT:
        text = pattern.sub(shown, text)
    return text


def without_own_secrets(text: str) -> str:
    """Hide this user's secrets in a text, also where they are escaped or encoded, and leave all else as it is."""
    secrets = [os.environ[name].strip() for name in os.environ if _is_secret(name)]
    # The token with which this user is signed in at Hugging Face.
    home = os.environ.get("HF_HOME") or f"{os.environ.get('XDG_CACHE_HOME', '~/.cache')}/huggingface"
    try:
        path = Path(os.environ.get("HF_TOKEN_PATH") or f"{home}/token").expanduser()
        secrets.append(_token_in(path, path.stat().st_mtime_ns))
    except (OSError, RuntimeError):
        secrets.append("")  # nobody is signed in, or this user has no home
    # A shorter one would be found in ordinary words.
    pattern = _spellings_of(tuple(sorted({value for value in secrets if len(value) >= 8}, key=len, reverse=True)))
    return pattern.sub(HIDDEN, text) if pattern else text


@lru_cache(maxsize=1024)
def _is_secret(variable: str) -> bool:
    return SECRET_NAMES.search(variable) is not None


@lru_cache(maxsize=1)
def _token_in(path: Path, changed_ns: int) -> str:
    """The token in a file as it was at its last change; answers are too many to read it for each."""
    return path.read_text(encoding="utf-8", errors="replace").strip()


@lru_cache(maxsize=8)
def _spellings_of(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    """A pattern that matches each secret as it is, as JSON, URLs, HTML and base64 write it, and over several lines."""
    ways = [_spellings_of_secret(secret) for secret in secrets]
    ways += [BREAK.join(map(re.escape, part)) for secret in secrets for part in _in_base64(secret)]
    return re.compile("|".join(ways)) if ways else None


def _spellings_of_secret(secret: str) -> str:
    # Nothing repeated stands at the start, so that a long run of backslashes is passed over once.
    spellings = (_spellings_of_character(character, "\\\\*" if at else "") for at, character in enumerate(secret))
    return BREAK.join(spellings)


def _spellings_of_character(character: str, escapes: str) -> str:
    code = ord(character)
    in_url = "".join(f"%(?:25)*{byte:02x}" for byte in character.encode(errors="surrogateescape"))
    in_json = rf"\\{escapes}(?:u{code:04x}|x{code:02x})"
    return rf"(?:{escapes}{re.escape(character)}|(?i:{in_url}|{in_json}|&#0*{code};|&#x0*{code:x};))"


def _in_base64(secret: str) -> list[str]:
    """What is the same in each text that holds the secret and is written in base64, whatever stands around it."""
    data = secret.encode(errors="surrogateescape")
    # The first and last characters depend on the bytes beside the secret.
    parts = [
        b64encode(bytes(before) + data)[-(-8 * before // 6) : (before + len(data)) * 8 // 6].decode()
        for before in range(3)
    ]
    return sorted({spelling for part in parts for spelling in (part, part.replace("+", "-").replace("/", "_"))})


def first_of(texts: Sequence[str], most: int | None, more: str = "and {} more") -> list[str]:
    """The first of some texts, and how many more there are; all where `most` is None."""
    rest = texts[len(texts) if most is None else most :]
    return [*texts[: len(texts) - len(rest)], more.format(len(rest))] if rest else list(texts)
