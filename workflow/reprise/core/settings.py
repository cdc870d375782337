"""Base classes of the configuration and of the settings of jobs, with messages that quote the faulty value.

Each package of the library defines the settings of what it computes. The plan fills them in, and rules show them as
params.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from reprise.core.errors import UserError, describe_choices, suggest_name
from reprise.core.files import canonical_json, file_digest
from reprise.core.names import WORDS
from reprise.core.paths import expand_path, find_path_problem, find_pattern_problem, locate
from reprise.core.plain import truncate

COMPLETE_MESSAGE = "in_words"  # Type of errors whose message is shown unchanged.
# Types of errors with plainer messages than pydantic's.
PLAIN_MESSAGES = {
    "string_type": "should be a text",
    "invalid_key": "should be a text",
    "list_type": "should be a list",
    "tuple_type": "should be a list",
    "dict_type": "should be a group of keys",
    "model_type": "should be a group of keys",
    "model_attributes_type": "should be a group of keys",
}
MAX_QUOTED_CHARS = 60
LONG_WORD = re.compile(r"\S{300,}")
NUMBER_ERRORS = {"int_type", "float_type"}

Location = tuple[str | int, ...]


def setting_error(words: str) -> PydanticCustomError:
    """Return the error to raise in a validator of a setting; its words are shown unchanged."""
    shortened = LONG_WORD.sub(lambda match: truncate(match[0], MAX_QUOTED_CHARS), words)
    return PydanticCustomError(COMPLETE_MESSAGE, "{words}", {"words": shortened})


def _checked_path(path: str) -> str:
    if problem := find_path_problem(path):
        raise setting_error(problem)
    return path


def _checked_pattern(pattern: str) -> str:
    if problem := find_pattern_problem(pattern):
        raise setting_error(problem)
    return pattern


def _expanded(path: str) -> str:
    try:
        return expand_path(path)
    except UserError as error:
        raise setting_error(str(error)) from None


def _day(value: Any) -> date:
    if isinstance(value, date):
        return value
    try:
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise setting_error(f"should be a day, such as 2026-12-11, found {truncate(repr(value), MAX_QUOTED_CHARS)}.")


PathText = Annotated[str, AfterValidator(_checked_path)]
"""A path that is used as it is written, such as one whose variables each node sets."""
LocalPath = Annotated[PathText, AfterValidator(_expanded)]
"""A file or a folder of this machine; `~` and variables in it are expanded."""
FilePath = Annotated[LocalPath, AfterValidator(lambda path: str(locate(path)))]
"""A file, a folder or a pattern, looked up in the working directory and then in the folder of the workflow."""
FilePattern = Annotated[str, AfterValidator(_checked_pattern)]
"""A glob pattern of files in a folder that another setting names."""
Day = Annotated[date, BeforeValidator(_day)]


class StrictModel(BaseModel):
    """A model whose values are never converted: neither `yes` nor "1" is the number 1."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _validate_with_plain_messages(cls, content: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(content)
        except ValidationError as error:
            details = _details(error, list(cls.model_fields))
            raise ValidationError.from_exception_data(cls.__name__, details) from None


class Settings(StrictModel):
    """A group of settings that rejects unknown keys; the string below a field describes it.

    Only `docs/write_reference.py` reads those strings, because pydantic would read them in every job.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


def describe_errors(error: ValidationError, content: Any) -> Iterator[tuple[Location, str]]:
    for detail in error.errors():
        yield tuple(_normalize_location(detail["loc"], content)), detail["msg"]


def format_location(location: Location) -> str:
    """Return a location as a dotted key; a name that is not printable is quoted."""
    parts = [str(part) for part in location]
    return ".".join(part if part.isprintable() else repr(part) for part in parts) or "(whole file)"


def _details(error: ValidationError, allowed: Sequence[str]) -> list[InitErrorDetails]:
    """Return all errors with plain messages; a key that is both missing and misspelt is listed once."""
    errors = error.errors()
    unknown = [
        str(entry["loc"][0]) for entry in errors if entry["type"] == "extra_forbidden" and len(entry["loc"]) == 1
    ]
    intended = {key for name in unknown for key in get_close_matches(name, allowed, n=1)}
    missing = [entry for entry in errors if entry["type"] == "missing" and entry["loc"][0] in intended]
    details = []
    for entry in errors:
        if entry not in missing:
            tag = entry["ctx"]["discriminator"].strip("'()") if entry["type"] == "union_tag_invalid" else None
            location = entry["loc"] if tag is None else (*entry["loc"], tag)
            details.append(
                InitErrorDetails(
                    type=setting_error(_describe_error(entry, allowed)), loc=location, input=entry["input"]
                )
            )
    return details


def _describe_error(error: Mapping[str, Any], allowed: Sequence[str]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == COMPLETE_MESSAGE:
        return str(error["msg"])
    if kind == "extra_forbidden":
        if error["input"] is None:  # An unquoted comma does this, as in {label: Early, 4 frames, model: toy}.
            return "a key without a value. If it belongs to the text before it: a text with a comma needs quotes."
        return f"unknown key.{describe_choices(str(error['loc'][-1]), allowed)}"
    if kind in ("missing", "union_tag_not_found"):
        return "missing."
    if kind in ("literal_error", "union_tag_invalid"):
        expected = context.get("expected", context.get("expected_tags", ""))
        received = context.get("tag", error["input"])
        if kind == "union_tag_invalid":  # The tags of this project are in parentheses.
            expected, received = re.sub(r"'\(|\)'", "'", expected), str(received).strip("()")
        names = re.findall(r"'([^']+)'", expected)
        quoted = truncate(repr(received), MAX_QUOTED_CHARS)
        return f"should be {expected}, found {quoted}.{suggest_name(str(received), names)}"
    if kind == "string_pattern_mismatch" and context["pattern"] in WORDS:
        return f"should be {WORDS[context['pattern']]}, found {truncate(repr(error['input']), MAX_QUOTED_CHARS)}."
    if error["input"] is None and kind in PLAIN_MESSAGES:
        return f"{PLAIN_MESSAGES[kind]}, but has no value."
    message = PLAIN_MESSAGES.get(kind) or re.sub(r"^\w+ (?=should)| after validation, not \d+$", "", error["msg"])
    return f"{message}, found {truncate(repr(error['input']), MAX_QUOTED_CHARS)}.{_hint(kind, error['input'])}"


def _hint(kind: str, value: Any) -> str:
    """Return how to write a value that YAML reads as another type than the user meant."""
    if isinstance(value, bool):
        advice = "; a text needs quotes" if kind == "string_type" else ""
        return f" YAML reads yes, no, on, off, true and false as true or false{advice}."
    if isinstance(value, int | float) and kind == "string_type":
        return f' Write it in quotes: "{value}".'
    if isinstance(value, str) and kind in NUMBER_ERRORS and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value):
        return " Write it without quotes, and without zeros in front."
    return ""


def _normalize_location(parts: Sequence[str | int], content: Any) -> Iterator[str | int]:
    """Yield the parts of a location that are in the content.

    The others are the tag of a union's member, in parentheses here, or a marker that a key is meant.
    """
    for number, part in enumerate(parts):
        is_inside = isinstance(content, Mapping) and part in content
        is_inside = is_inside or (isinstance(content, Sequence) and isinstance(part, int) and part < len(content))
        if is_inside:
            content = content[part]
        elif number < len(parts) - 1 or str(part).startswith(("[", "(")):
            continue
        yield part


T = TypeVar("T", bound=BaseModel)


class KeyPart(Settings):
    """A part of a job's settings, or of a file that a job writes for a later one.

    The plan fills it in with convertible values, such as a list for a tuple; user input was validated before.
    """

    model_config = ConfigDict(strict=False)


class Key(KeyPart):
    """Settings that shape the output of a job, with the versions of the code of its stage, benchmark or adapter."""

    code_versions: dict[str, int] = {}


def reject_edited(files: Mapping[str, str]) -> None:
    """Raise an error if a user's file differs from its digest in the key; called after the files are read."""
    for name, digest in files.items():
        path = Path(name)
        if not path.is_file() or file_digest(path) != digest:
            raise UserError(
                f"{path}: edited since this run was planned. Nothing was recorded: run the same command again to use "
                "the edited file."
            )


def validate_settings(content: Any, kind: type[T], location: str) -> T:
    """Return JSON as settings of this kind, or raise an error that names the wrong key."""
    try:
        return kind.model_validate_json(canonical_json(content))
    except ValidationError as error:
        problems = [f"{format_location(location)}: {words}" for location, words in describe_errors(error, content)]
        raise UserError(f"{location}: {' '.join(problems)} Correct the configuration behind them.") from error
