"""Sanitize external text before it is displayed: remove secrets, escape sequences and reordering characters."""

import math
import os
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

MAX_CHARS = 2000
HIDDEN = "***"
# Names of environment variables whose values are secrets.
SECRET_NAMES = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|CREDENTIAL", re.IGNORECASE)
SECRETS_IN_TEXT = (
    (re.compile(r"(://)[^/\s@'\"]+@"), rf"\1{HIDDEN}@"),
    (re.compile(r"\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key)\b(\W{1,4})[^\r\n]+", re.I), rf"\1\2{HIDDEN}"),
    (re.compile(r"\b(bearer)\s+[\w.~+/=-]{8,}", re.I), rf"\1 {HIDDEN}"),
    (
        re.compile(r"([?&][\w.-]*(?:token|key|secret|sig|signature|auth|password|credential)=)[^&\s'\"#]+", re.I),
        rf"\1{HIDDEN}",
    ),
    # Tokens of Hugging Face, GitHub and API services have these shapes.
    (re.compile(r"(?<![A-Za-z0-9])(?:(?:hf_|ghp_)[A-Za-z0-9]{16,}|(?:github_pat_|sk-)[\w-]{16,})"), HIDDEN),
)
# An unclosed script extends to the end of the text, so that each character is scanned only a few times.
TAGS = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<[/!a-z][^<>]*>", re.IGNORECASE | re.DOTALL)
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
# Controls other than tab and line feed, bidirectional marks and overrides, other line ends, tags, lone surrogates.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
# What may separate two characters of a secret: a line end, also as JSON writes it, invisible characters and escapes.
BREAK = r"(?:\\*[\r\n][ \t]*|\\+[nr][ \t]*|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\x1b\[[0-9;]*m)*"
# A spreadsheet evaluates a cell that begins like this, unless it is a number.
FORMULA = re.compile(r"'*[=+\-@\t]")
QUOTE = "'"
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def escape_invisible(text: str) -> str:
    """Return a text with every character that hides, moves or reorders others as its code point, such as [U+202E]."""
    return INVISIBLE.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


def sanitize(text: str) -> str:
    """Return an external text in a form that is safe in a log."""
    # Removing an escape sequence may join the parts of a secret, so secrets are hidden afterwards.
    return escape_invisible(redact_secrets(ESCAPES.sub("", text.replace("\r\n", "\n"))))


def plain(text: str) -> str:
    """Return an external text on one line of bounded length, as manifests store it."""
    return truncate(" ".join(sanitize(text).split()), MAX_CHARS)


def extract_page_text(text: str) -> str:
    """Return the words of an HTML page, or of plain text, on one line of bounded length."""
    return plain(TAGS.sub(" ", text))


def truncate(text: str, limit: int) -> str:
    """Return a text, shortened to its first `limit` characters and an ellipsis if it is longer."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def parse_number(text: str) -> float | None:
    """Return the finite number in a table cell; None for `nan`, `inf`, `1_0` and other texts."""
    value = float(text) if NUMBER.fullmatch(text.strip()) else math.inf
    return value if math.isfinite(value) else None


def escape_cell(text: str) -> str:
    """Return a text as a cell of a csv file; a quote protects what a spreadsheet would evaluate."""
    cell = escape_invisible(text)
    return f"{QUOTE}{cell}" if FORMULA.match(cell) and not re.fullmatch(r"[+-]?[0-9]+(?:\.[0-9]+)?", cell) else cell


def unescape_cell(cell: str) -> str:
    return cell.removeprefix(QUOTE) if FORMULA.match(cell) else cell


def redact_secrets(text: str) -> str:
    """Hide the secrets in a text: this user's own, which a server may repeat, and what looks like one."""
    text = redact_user_secrets(text)
    for pattern, replacement in SECRETS_IN_TEXT:
        text = pattern.sub(replacement, text)
    return text


def redact_user_secrets(text: str) -> str:
    """Hide this user's secrets in a text, also escaped or encoded ones, and leave the rest unchanged."""
    secrets = [os.environ[name].strip() for name in os.environ if _is_secret(name)]
    # The token of a Hugging Face login is a secret too.
    home = os.environ.get("HF_HOME") or f"{os.environ.get('XDG_CACHE_HOME', '~/.cache')}/huggingface"
    try:
        path = Path(os.environ.get("HF_TOKEN_PATH") or f"{home}/token").expanduser()
        secrets.append(_token_in(path, path.stat().st_mtime_ns))
    except (OSError, RuntimeError):
        secrets.append("")  # There is no login, or this user has no home folder.
    # A shorter secret would match ordinary words.
    pattern = _spellings_of(tuple(sorted({value for value in secrets if len(value) >= 8}, key=len, reverse=True)))
    return pattern.sub(HIDDEN, text) if pattern else text


@lru_cache(maxsize=1024)
def _is_secret(variable: str) -> bool:
    return SECRET_NAMES.search(variable) is not None


@lru_cache(maxsize=1)
def _token_in(path: Path, changed_ns: int) -> str:
    """Return the token in a file; the cache, keyed by time of change, avoids a read for each of many responses."""
    return path.read_text(encoding="utf-8", errors="replace").strip()


@lru_cache(maxsize=8)
def _spellings_of(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern of all secrets as plain text, JSON, URLs, HTML and base64 write them, also across lines."""
    patterns = [_spellings_of_secret(secret) for secret in secrets]
    patterns += [BREAK.join(map(re.escape, part)) for secret in secrets for part in _in_base64(secret)]
    return re.compile("|".join(patterns)) if patterns else None


def _spellings_of_secret(secret: str) -> str:
    # The pattern begins with no repetition, so that a long run of backslashes is scanned only once.
    spellings = (
        _spellings_of_character(character, "\\\\*" if position else "") for position, character in enumerate(secret)
    )
    return BREAK.join(spellings)


def _spellings_of_character(character: str, escapes: str) -> str:
    code = ord(character)
    in_url = "".join(f"%(?:25)*{byte:02x}" for byte in character.encode(errors="surrogateescape"))
    in_json = rf"\\{escapes}(?:u{code:04x}|x{code:02x})"
    return rf"(?:{escapes}{re.escape(character)}|(?i:{in_url}|{in_json}|&#0*{code};|&#x0*{code:x};))"


def _in_base64(secret: str) -> list[str]:
    """Return the parts that are the same in every base64 text that contains the secret, whatever surrounds it."""
    data = secret.encode(errors="surrogateescape")
    # The first and last base64 characters depend on the bytes beside the secret.
    parts = [
        b64encode(bytes(offset) + data)[-(-8 * offset // 6) : (offset + len(data)) * 8 // 6].decode()
        for offset in range(3)
    ]
    return sorted({spelling for part in parts for spelling in (part, part.replace("+", "-").replace("/", "_"))})


def summarize_list(texts: Sequence[str], limit: int | None, more: str = "and {} more") -> list[str]:
    """Return the first `limit` texts and a note of how many more there are; all texts if `limit` is None."""
    rest = texts[len(texts) if limit is None else limit :]
    return [*texts[: len(texts) - len(rest)], more.format(len(rest))] if rest else list(texts)
