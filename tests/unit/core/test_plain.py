"""Test that external text is displayed but never interpreted by a terminal, a spreadsheet or a renderer."""

import re
import time
from base64 import encodebytes
from collections.abc import Callable
from pathlib import Path

import pytest
from reprise.core.plain import (
    MAX_CHARS,
    escape_cell,
    escape_invisible,
    extract_page_text,
    redact_user_secrets,
    sanitize,
    sanitize_line,
    unescape_cell,
)
from reprise.fetch.outcome import FetchError
from reprise.media.errors import MediaError
from reprise.tables.render import html, latex, markdown

from tests.unit.core.programs import python, write


@pytest.mark.parametrize(
    "escape", [html.escape, markdown.escape, latex.escape, latex.comment, escape_invisible, sanitize_line]
)
def test_reordering_and_hidden_characters_are_shown_as_code_points(escape: Callable[[str], str]) -> None:
    for character in "\u061c\u200e\u202a\u202e\u2066\ud800\U000e0041":
        escaped = escape(f"a{character}b")
        assert character not in escaped and f"U+{ord(character):04X}" in escaped


@pytest.mark.parametrize(
    "sequence", ["\x9b31m", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\link", "\x1bc"]
)
def test_escape_sequences_are_removed(sequence: str) -> None:
    assert not any(character in sanitize(f"a {sequence} b") for character in "\x1b\x9b\x07")


def test_secrets_are_redacted_in_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")
    monkeypatch.setenv("SOME_API_KEY", "sk-abcdefghij")
    monkeypatch.setenv("SHORT_TOKEN", "the")
    message = (
        "the server said hf_0123456789 and sk-abcdefghij; Authorization: Basic dXNlcjpwYXNz\n"
        "Bearer abcdefghijkl, https://me:secret@example.org/a?X-Amz-Signature=abc123&id=7&token=xyz"
    )
    for redacted in (
        sanitize_line(message),
        str(FetchError("failed", message)),
        MediaError("corrupt", message).message,
    ):
        assert not re.search("hf_0|sk-a|dXNl|abcdefghijkl|me:secret|abc123|xyz", redacted)
        assert "the server said" in redacted and "id=7" in redacted and "\n" not in redacted
    assert len(sanitize_line("x" * 10**6)) <= MAX_CHARS + 3
    for token in ("hf_", "sk-", "sk-proj-", "ghp_", "github_pat_"):
        message = sanitize_line(f"401 for {token}{'0aZ' * 6} and for key={token}{'0aZ' * 6}.")
        assert "0aZ" not in message and message.startswith("401 for ***")
    for name in ("hf_hub_download_timeout", "risk-of-many-long-words", "a_video_task-0123456789abcdefgh"):
        assert sanitize_line(name) == name, "only texts in the form of a token are redacted"


def test_the_users_token_is_redacted_in_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN_PATH", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    write(tmp_path / "token", b"signed-in-as-me\n")
    assert sanitize_line("refused: signed-in-as-me") == "refused: ***"


KEY = "kq-Test_0123456789abcdef"


@pytest.mark.parametrize(
    "spelling",
    [
        "kq-Test_01\n23456789abcdef",
        "kq-Test_01\r\n    23456789abcdef",
        r"kq-Test_01\n23456789abcdef",
        "kq-Test_01\\\n23456789abcdef",
        "kq-Test_01\u200b234567\u00ad89abcdef",
        "kq-Test_01\x1b[1m23456789\x1b[0mabcdef",
        encodebytes(f"Authorization: {KEY}, and more words that make it as long as two lines".encode()).decode(),
        r"\\\u006bq-Test_0123456789abcdef",
    ],
)
def test_a_secret_is_redacted_despite_characters_inside_it(spelling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "SOME_API_KEY", f"{KEY}\n"
    )  # the content of a key file may end with a newline, which is not sent
    for text in (sanitize_line(spelling), sanitize(spelling), redact_user_secrets(spelling)):
        assert "***" in text and not re.search("Test|9abc|MjM0NTY3", text)


def test_an_escape_sequence_in_a_secret_does_not_prevent_its_redaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    for escape in ("\x1b]0;title\x07", "\x1b(B", "\x1b[?25l"):
        assert sanitize(f"a {KEY[:9]}{escape}{KEY[9:]} b") == "a *** b"


@pytest.mark.parametrize(
    "part", ["\\", "k\\", "k\r\n", "k\\n", "%25", "&#0", "<script ", "<style>", "<a", "</script", "\x1b[", "://", "sk-"]
)
def test_a_long_text_is_sanitized_quickly(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server's reply may have a million characters."""
    monkeypatch.setenv("SOME_API_KEY", KEY)
    start = time.process_time()
    extract_page_text(part * (200_000 // len(part)))
    assert time.process_time() - start < 5, "a quadratic algorithm would take minutes"


def test_logs_and_errors_are_sanitized() -> None:
    process = python(
        "from reprise.core.errors import UserError, run_command\n"
        "from reprise.core.log import log\n"
        "def main():\n"
        "    log.info('name: \\x1b[2Jx')\n"
        "    raise UserError('file \\x1b]0;x\\x07z')\n"
        "run_command(main)\n"
    )
    assert (process.returncode, process.stderr) == (1, "name: x\nError: file z\n")


def test_formulas_in_cells_are_quoted() -> None:
    for text in ("=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "-x", "@SUM(A1)", "\t=1", "=", "-", "'=1", "''=1"):
        assert escape_cell(text).startswith("'") and unescape_cell(escape_cell(text)) == text
    assert escape_cell("\r=1") == "[U+000D]=1" and escape_cell("\0=1") == "[U+0000]=1"
    for text in ("", "-1", "+3.5", "12", "a=b", "a-b", "'quoted'", "it's", " =1", "Qwen2-VL (7B)"):
        assert escape_cell(text) == unescape_cell(text) == text, "numbers and other texts do not change"
