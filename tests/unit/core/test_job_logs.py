"""How a job that ended without its output is told from one that was killed or has not run: by the end of its log."""

from pathlib import Path

import pytest
from reprise.core.job_logs import TAIL_BYTES, Progress, last_progress, last_words


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", ""),
        ("10 of 40 requests, 2.0 a second, about 15 s left\n", ""),
        ("10 of 40 requests\nError: a/b: no such file\n", "Error: a/b: no such file"),
        ("Error: two\nof it\nand more\n", "Error: two\nof it\nand more"),
        ('Traceback (most recent call last):\n  File "x.py", line 1\nKeyError: 1\n', "KeyError: 1"),
        ("x\n" * TAIL_BYTES + "Error: at the end\n", "Error: at the end"),
        ("\xff not text\nError: odd bytes\n", "Error: odd bytes"),
    ],
)
def test_the_error_that_a_log_ends_with(tmp_path: Path, log: str, words: str) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(log.encode("latin-1"))
    assert last_words(path) == words


def test_no_log_has_no_last_words(tmp_path: Path) -> None:
    assert last_words(tmp_path / "none.log") == ""


def test_what_a_job_says_of_its_progress_is_read_again(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text(f"{Progress(10, 40, 2.0, 15.0)}\nLoading.\n{Progress(20, 40, 2.5, 8.0)}\nanother line\n")
    assert last_progress(log) == Progress(20, 40, 2.5, 8.0)
    assert last_progress(tmp_path / "none.log") is None
