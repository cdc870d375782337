"""Text of others is shown and never obeyed: by a terminal, a spreadsheet, or the order of a line."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from reprise.core.plain import LONGEST, as_cell, of_cell, plain, safe, visible
from reprise.fetch.outcome import FetchError
from reprise.media.errors import MediaError
from reprise.tables.render import html, latex, markdown

from tests.unit.core.programs import python, write

REORDERING = "".join(map(chr, [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
CONTROLS = [chr(code) for code in [*range(32), *range(0x7F, 0xA0)]]


@pytest.mark.parametrize("escape", [html.escape, markdown.escape, latex.escape, latex.comment, visible, plain])
def test_what_reorders_hides_or_moves_text_is_a_code_point_everywhere(escape: Callable[[str], str]) -> None:
    for sign in f"{REORDERING}\ud800\U000e0041":
        shown = escape(f"a{sign}b")
        assert sign not in shown and f"U+{ord(sign):04X}" in shown
    for code in CONTROLS if escape not in (latex.comment, visible) else []:
        shown = escape(f"a{code}b")
        assert not any((ord(sign) < 32 and sign not in "\t\n\r") or 0x7F <= ord(sign) < 0xA0 for sign in shown), code


ESCAPES = ["[31mred\x1b[0m", "]0;title\x07", "]8;;http://x\x1b\\link", "[2J\x1b[H", "c", ""]


@pytest.mark.parametrize("written", ["\x9b31m", *(f"\x1b{escape}" for escape in ESCAPES)])
def test_terminals_are_not_spoken_to(written: str) -> None:
    assert not any(sign in safe(f"a {written} b") for sign in "\x1b\x9b\x07")


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
    assert len(plain("x" * 10**6)) <= LONGEST + 3
    for token in ("hf_", "sk-", "sk-proj-", "ghp_", "github_pat_"):
        said = plain(f"401 for {token}{'0aZ' * 6} and for key={token}{'0aZ' * 6}.")
        assert "0aZ" not in said and said.startswith("401 for ***")
    for name in ("hf_hub_download_timeout", "risk-of-many-long-words", "sk-short", "a_video_task-0123456789abcdefgh"):
        assert plain(name) == name, "tokens are known by their shape"


@pytest.mark.parametrize(("variable", "place"), [("HF_HOME", "token"), ("XDG_CACHE_HOME", "huggingface/token")])
def test_ones_own_token_is_in_no_message(variable: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    for name in ("HF_TOKEN_PATH", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    write(tmp_path / place, b"signed-in-as-me\n")
    assert plain("refused: signed-in-as-me") == "refused: ***"


def test_log_and_errors_show_text_as_text() -> None:
    program = (
        "from reprise.core.errors import UserError, run_command\n"
        "from reprise.core.log import log\n"
        "def main():\n"
        "    log.info('name: \\x1b[2Jx\\u202ey\\x00 secret-value')\n"
        "    raise UserError('file \\x1b]0;x\\x07z\\u202e secret-value')\n"
        "import os; os.environ['MY_TOKEN'] = 'secret-value'\n"
        "run_command(main)\n"
    )
    done = python(program)
    assert done.returncode == 1
    assert done.stderr == "name: x[U+202E]y[U+0000] ***\nError: file z[U+202E] ***\n"


def test_a_cell_that_a_spreadsheet_would_run_begins_with_a_quote() -> None:
    for text in ("=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "-x", "@SUM(A1)", "\t=1", "=", "-", "'=1", "''=1"):
        assert as_cell(text).startswith("'") and of_cell(as_cell(text)) == text
    assert as_cell("\r=1") == "[U+000D]=1" and as_cell("\0=1") == "[U+0000]=1"
    for text in ("", "-1", "+3.5", "12", "a=b", "a-b", "'quoted'", "it's", " =1", "Qwen2-VL (7B)"):
        assert as_cell(text) == of_cell(text) == text, "numbers and other texts stay"
