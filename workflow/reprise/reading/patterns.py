"""`patterns:` of a protocol or a model's file: rows of its own, by which `robust` reads before its table."""

import re
import subprocess
import sys

from pydantic import Field, field_validator

from reprise.core.names import PHRASE
from reprise.core.settings import Settings, mistake
from reprise.reading.table import Row, own_row

SECONDS, LENGTH = 2.0, 10_000
FITS_ALL = 3  # exit status of a trial
# Tries a pattern on repeated signs and words, its own among them, which one that can run away does not survive.
TRIAL = (
    "import re, sys\n"
    "pattern, length = sys.argv[1], int(sys.argv[2])\n"
    "if re.search(pattern, ''):\n"
    f"    sys.exit({FITS_ALL})\n"
    "signs = dict.fromkeys(re.sub(r'\\\\.', '', pattern)) | "
    "dict.fromkeys(['a', 'A', '0', ' ', '.', '\\n', 'ab', 'a ', *re.findall(r'[a-z]{2,}', pattern)])\n"
    "for sign in signs:\n"
    "    for end in ('', '!', '\\x00'):\n"
    "        list(re.finditer(pattern, (sign * length)[:length] + end, re.IGNORECASE))\n"
)


class Pattern(Settings):
    """A phrasing of one protocol or model."""

    name: str = Field(max_length=60, pattern=PHRASE)
    """What the row is called where a verdict says how it was read."""
    pattern: str = Field(min_length=1, max_length=500)
    """A regular expression of Python, case ignored, tried on the cleaned answer; its group `option` holds the option:
    `I vote for (?P<option>[AB])`."""

    @field_validator("pattern")
    @classmethod
    def _works(cls, pattern: str) -> str:
        try:
            compiled = re.compile(pattern, re.IGNORECASE)
        except (re.error, RecursionError, OverflowError) as error:
            raise mistake(f"'{pattern}' is no regular expression: {error}.") from None
        if "option" not in compiled.groupindex:
            raise mistake(f"'{pattern}' has no group for the option. Write it as `(?P<option>[AB])`.")
        try:
            trial = [sys.executable, "-c", TRIAL, pattern, str(LENGTH)]
            tried = subprocess.run(trial, timeout=SECONDS, check=False, capture_output=True)
        except subprocess.TimeoutExpired:
            raise mistake(
                f"'{pattern}' can take very long: more than {SECONDS:.0f} s on {LENGTH:,} characters. Bound what "
                "repeats, such as `[^.]{0,40}`, and do not repeat a repeat, such as `(a+)+`."
            ) from None
        if tried.returncode == FITS_ALL:
            raise mistake(f"'{pattern}' fits every text, an empty one too. Say what must stand there.")
        tried.check_returncode()
        return pattern

    def row(self) -> Row:
        """The row that it is."""
        return own_row(self.name, self.pattern)
