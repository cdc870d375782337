"""Text of others is shown and never obeyed: by a terminal, a spreadsheet, or the order of a line."""

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
    plain,
    redact_user_secrets,
    sanitize,
    unescape_cell,
)
from reprise.fetch.outcome import FetchError
from reprise.media.errors import MediaError
from reprise.tables.render import html, latex, markdown

from tests.unit.core.programs import python, write


@pytest.mark.parametrize("escape", [html.escape, markdown.escape, latex.escape, latex.comment, escape_invisible, plain])
def test_reordering_and_hidden_characters_are_shown_as_code_points(escape: Callable[[str], str]) -> None:
    for sign in "\u061c\u200e\u202a\u202e\u2066\ud800\U000e0041":
        shown = escape(f"a{sign}b")
        assert sign not in shown and f"U+{ord(sign):04X}" in shown


@pytest.mark.parametrize(
    "written", ["\x9b31m", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\link", "\x1bc"]
)
def test_escape_sequences_are_removed(written: str) -> None:
    assert not any(sign in sanitize(f"a {written} b") for sign in "\x1b\x9b\x07")


def test_secrets_are_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")
    monkeypatch.setenv("SOME_API_KEY", "sk-abcdefghij")
    monkeypatch.setenv("SHORT_TOKEN", "the")
    said = (
        "the server said hf_0123456789 and sk-abcdefghij; Authorization: Basic dXNlcjpwYXNz\n"
        "Bearer abcdefghijkl, https://me:secret@example.org/a?X-Amz-Signature=abc123&id=7&token=xyz"
    )
    for found in (plain(said), str(FetchError("failed", said)), MediaError("corrupt", said).message):
        assert not re.search("hf_0|sk-a|dXNl|abcdefghijkl|me:secret|abc123|xyz", found)
        assert "the server said" in found and "id=7" in found and "\n" not in found
    assert len(plain("x" * 10**6)) <= MAX_CHARS + 3
    for token in ("hf_", "sk-", "sk-proj-", "ghp_", "github_pat_"):
        said = plain(f"401 for {token}{'0aZ' * 6} and for key={token}{'0aZ' * 6}.")
        assert "0aZ" not in said and said.startswith("401 for ***")
    for name in ("hf_hub_download_timeout", "risk-of-many-long-words", "a_video_task-0123456789abcdefgh"):
        assert plain(name) == name, "tokens are known by their shape"


def test_the_users_token_is_in_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN_PATH", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    write(tmp_path / "token", b"signed-in-as-me\n")
    assert plain("refused: signed-in-as-me") == "refused: ***"


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
def test_a_secret_is_hidden_where_something_stands_between_its_characters(
    spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", f"{KEY}\n")  # as a file's content may end; a key is sent without it
    for text in (plain(spelling), sanitize(spelling), redact_user_secrets(spelling)):
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
    assert time.process_time() - start < 5, "in a quadratic time it would take minutes"


def test_logs_and_errors_are_sanitized() -> None:
    done = python(
        "from reprise.core.errors import UserError, run_command\n"
        "from reprise.core.log import log\n"
        "def main():\n"
        "    log.info('name: \\x1b[2Jx')\n"
        "    raise UserError('file \\x1b]0;x\\x07z')\n"
        "run_command(main)\n"
    )
    assert (done.returncode, done.stderr) == (1, "name: x\nError: file z\n")


def test_formulas_in_cells_are_quoted() -> None:
    for text in ("=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "-x", "@SUM(A1)", "\t=1", "=", "-", "'=1", "''=1"):
        assert escape_cell(text).startswith("'") and unescape_cell(escape_cell(text)) == text
    assert escape_cell("\r=1") == "[U+000D]=1" and escape_cell("\0=1") == "[U+0000]=1"
    for text in ("", "-1", "+3.5", "12", "a=b", "a-b", "'quoted'", "it's", " =1", "Qwen2-VL (7B)"):
        assert escape_cell(text) == unescape_cell(text) == text, "numbers and other texts stay"
