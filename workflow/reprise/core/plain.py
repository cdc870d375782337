"""Sanitize external text before it is displayed: remove secrets, escape sequences and reordering characters."""

import math
import os
import re
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

MAX_CHARS = 2000
REDACTED = "***"
# Names of environment variables whose values are secrets.
SECRET_NAMES = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|CREDENTIAL", re.IGNORECASE)
# Patterns and replacements of secrets: passwords in URLs, header lines, bearer tokens, parameters of URLs, and tokens.
SECRETS_IN_TEXT = (
    (re.compile(r"(://)[^/\s@'\"]+@"), rf"\1{REDACTED}@"),
    (
        re.compile(r"\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key)\b(\W{1,4})[^\r\n]+", re.I),
        rf"\1\2{REDACTED}",
    ),
    (re.compile(r"\b(bearer)\s+[\w.~+/=-]{8,}", re.I), rf"\1 {REDACTED}"),
    (
        re.compile(r"([?&][\w.-]*(?:token|key|secret|sig|signature|auth|password|credential)=)[^&\s'\"#]+", re.I),
        rf"\1{REDACTED}",
    ),
    # Tokens of Hugging Face, GitHub and API services have these shapes.
    (re.compile(r"(?<![A-Za-z0-9])(?:(?:hf_|ghp_)[A-Za-z0-9]{16,}|(?:github_pat_|sk-)[\w-]{16,})"), REDACTED),
)
# An unclosed script extends to the end of the text, so that each character is scanned only a few times.
TAGS = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<[/!a-z][^<>]*>", re.IGNORECASE | re.DOTALL)
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
# Controls other than tab and line feed, bidirectional marks and overrides, other line ends, tags, lone surrogates.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
# Pattern of what may separate two characters of a secret: line ends (also in JSON), invisible characters, escapes.
CHARACTER_BREAK = (
    r"(?:\\*[\r\n][ \t]*|\\+[nr][ \t]*|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\x1b\[[0-9;]*m)*"
)
# A spreadsheet evaluates a cell that begins like this, unless it is a number. The pattern includes leading quotes: a
# text such as `'=1` gets another quote, so that `unescape_cell` restores it.
FORMULA = re.compile(r"'*[=+\-@\t]")
QUOTE = "'"
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def escape_invisible(text: str) -> str:
    """Replace each character that hides, moves or reorders others by its code point, such as [U+202E]."""
    return INVISIBLE.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


def sanitize(text: str) -> str:
    """Return an external text without secrets, escape sequences and invisible characters."""
    # Removing an escape sequence may join the parts of a secret, so secrets are hidden afterwards.
    return escape_invisible(redact_secrets(ESCAPES.sub("", text.replace("\r\n", "\n"))))


def sanitize_line(text: str) -> str:
    """Return an external text, sanitized, on one line of bounded length; manifests store such lines."""
    return truncate(" ".join(sanitize(text).split()), MAX_CHARS)


def extract_page_text(text: str) -> str:
    """Return the words of an HTML page, or of plain text, on one line of bounded length."""
    return sanitize_line(TAGS.sub(" ", text))


def truncate(text: str, limit: int) -> str:
    """Return a text, shortened to its first `limit` characters and an ellipsis if it is longer."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def parse_number(text: str) -> float | None:
    """Return the finite number in a table cell; None for `nan`, `inf`, `1_0` and other texts."""
    value = float(text) if NUMBER.fullmatch(text.strip()) else math.inf
    return value if math.isfinite(value) else None


def escape_cell(text: str) -> str:
    """Return a text as a cell of a csv file; a leading quote prevents that a spreadsheet evaluates it."""
    cell = escape_invisible(text)
    return f"{QUOTE}{cell}" if FORMULA.match(cell) and not re.fullmatch(r"[+-]?[0-9]+(?:\.[0-9]+)?", cell) else cell


def unescape_cell(cell: str) -> str:
    """Return the text of a cell that `escape_cell` returned."""
    return cell.removeprefix(QUOTE) if FORMULA.match(cell) else cell


def redact_secrets(text: str) -> str:
    """Redact secrets in a text: those of this user, which a server may repeat, and words with the form of a secret."""
    text = redact_user_secrets(text)
    for pattern, replacement in SECRETS_IN_TEXT:
        text = pattern.sub(replacement, text)
    return text


def redact_user_secrets(text: str) -> str:
    """Redact this user's secrets in a text, also if they are escaped or encoded."""
    secrets = [os.environ[name].strip() for name in os.environ if _is_secret(name)]
    # The token of a Hugging Face login is a secret too.
    home = os.environ.get("HF_HOME") or f"{os.environ.get('XDG_CACHE_HOME', '~/.cache')}/huggingface"
    with suppress(OSError, RuntimeError):  # There is no login, or this user has no home folder.
        path = Path(os.environ.get("HF_TOKEN_PATH") or f"{home}/token").expanduser()
        secrets.append(_read_token(path, path.stat().st_mtime_ns))
    # A shorter secret would match ordinary words.
    long_secrets = {secret for secret in secrets if len(secret) >= 8}
    pattern = _secrets_pattern(tuple(sorted(long_secrets, key=len, reverse=True)))
    return pattern.sub(REDACTED, text) if pattern else text


@lru_cache(maxsize=1024)
def _is_secret(variable: str) -> bool:
    return SECRET_NAMES.search(variable) is not None


@lru_cache(maxsize=1)
def _read_token(path: Path, modified_ns: int) -> str:
    """Return the token in a file; the cached token is used until the file changes."""
    return path.read_text(encoding="utf-8", errors="replace").strip()


@lru_cache(maxsize=8)
def _secrets_pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern of all secrets in plain text, JSON, URLs, HTML and base64, also with line breaks inside."""
    patterns = [_secret_pattern(secret) for secret in secrets]
    patterns += [CHARACTER_BREAK.join(map(re.escape, part)) for secret in secrets for part in _base64_spellings(secret)]
    return re.compile("|".join(patterns)) if patterns else None


def _secret_pattern(secret: str) -> str:
    """Return a pattern of one secret, also with line breaks inside."""
    # The pattern does not begin with a repetition; otherwise each backslash of a long run would be scanned many times.
    spellings = (
        _character_pattern(character, "\\\\*" if position else "") for position, character in enumerate(secret)
    )
    return CHARACTER_BREAK.join(spellings)


def _character_pattern(character: str, backslashes: str) -> str:
    """Return a pattern of a character in plain text, URLs, JSON and HTML, also if it is encoded several times.

    Args:
        character: The character of a secret.
        backslashes: Pattern of the backslashes that may precede it, as in JSON within JSON.
    """
    code = ord(character)
    in_url = "".join(f"%(?:25)*{byte:02x}" for byte in character.encode(errors="surrogateescape"))
    in_json = rf"\\{backslashes}(?:u{code:04x}|x{code:02x})"
    return rf"(?:{backslashes}{re.escape(character)}|(?i:{in_url}|{in_json}|&#0*{code};|&#x0*{code:x};))"


def _base64_spellings(secret: str) -> list[str]:
    """Return the parts of the secret's base64 text that do not depend on the bytes around the secret."""
    secret_bytes = secret.encode(errors="surrogateescape")
    # The secret may begin at any of three positions in a group of 3 bytes, which becomes 4 characters of 6 bits each. A
    # part begins with the first character after the bits of the `offset` bytes before the secret (division rounded up),
    # and ends before a character that also has bits of the bytes after it (division rounded down).
    parts = [
        b64encode(bytes(offset) + secret_bytes)[-(-8 * offset // 6) : (offset + len(secret_bytes)) * 8 // 6].decode()
        for offset in range(3)
    ]
    return sorted({spelling for part in parts for spelling in (part, part.replace("+", "-").replace("/", "_"))})


def summarize_list(texts: Sequence[str], limit: int | None, more: str = "and {} more") -> list[str]:
    """Return the first `limit` texts, with the number of further texts at the end; all texts if `limit` is None."""
    if limit is None or len(texts) <= limit:
        return list(texts)
    return [*texts[:limit], more.format(len(texts) - limit)]
