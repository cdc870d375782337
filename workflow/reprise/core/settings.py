"""Base classes of the configuration and of the settings of jobs, with messages that quote the invalid value.

Each package of the library defines the settings of its jobs. The plan fills them in, and rules have them as params.
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
from reprise.core.names import PATTERN_DESCRIPTIONS
from reprise.core.paths import expand_path, find_path_problem, find_pattern_problem, locate
from reprise.core.plain import truncate

SETTING_ERROR = "setting_error"  # Type of errors whose message is shown unchanged.
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


def setting_error(message: str) -> PydanticCustomError:
    """Return an error for a validator of a setting; its message is shown unchanged."""
    shortened = LONG_WORD.sub(lambda match: truncate(match[0], MAX_QUOTED_CHARS), message)
    return PydanticCustomError(SETTING_ERROR, "{message}", {"message": shortened})


def _check_path(path: str) -> str:
    if problem := find_path_problem(path):
        raise setting_error(problem)
    return path


def _check_pattern(pattern: str) -> str:
    if problem := find_pattern_problem(pattern):
        raise setting_error(problem)
    return pattern


def _expand_path(path: str) -> str:
    try:
        return expand_path(path)
    except UserError as error:
        raise setting_error(str(error)) from None


def _parse_day(value: Any) -> date:
    """Return a day that YAML parsed as a date, or that is a text such as `2026-12-11`."""
    if isinstance(value, date):
        return value
    try:
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise setting_error(f"should be a day, such as 2026-12-11, found {truncate(repr(value), MAX_QUOTED_CHARS)}.")


PathText = Annotated[str, AfterValidator(_check_path)]
"""A path that is not expanded yet, because each node may set the variables in it."""
LocalPath = Annotated[PathText, AfterValidator(_expand_path)]
"""A file or a folder of this machine; `~` and variables in it are expanded."""
FilePath = Annotated[LocalPath, AfterValidator(lambda path: str(locate(path)))]
"""A file, folder or pattern, looked up in the working directory and then in the workflow's folder."""
FilePattern = Annotated[str, AfterValidator(_check_pattern)]
"""A glob pattern of files in a folder that another setting names."""
Day = Annotated[date, BeforeValidator(_parse_day)]


class StrictModel(BaseModel):
    """A pydantic model that never converts a value, such as `yes` or "1" to the number 1."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _validate_with_plain_messages(cls, content: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """Validate as pydantic does, and replace pydantic's messages by plainer ones."""
        try:
            return validate(content)
        except ValidationError as error:
            details = _rewrite_errors(error, list(cls.model_fields))
            raise ValidationError.from_exception_data(cls.__name__, details) from None


class Settings(StrictModel):
    """A group of settings without unknown keys; the string below a field is its description.

    Only `docs/write_reference.py` reads the descriptions, because pydantic would have to parse them in every job.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


def describe_errors(error: ValidationError, content: Any) -> Iterator[tuple[Location, str]]:
    """Yield location and message of each error in the content of a file."""
    for detail in error.errors():
        yield tuple(_normalize_location(detail["loc"], content)), detail["msg"]


def format_location(location: Location) -> str:
    """Return a location as a dotted key; a name that is not printable is quoted."""
    parts = [str(part) for part in location]
    return ".".join(part if part.isprintable() else repr(part) for part in parts) or "(whole file)"


def _rewrite_errors(error: ValidationError, allowed_keys: Sequence[str]) -> list[InitErrorDetails]:
    """Return all errors with plain messages; omit the error of a missing key that a misspelt key stands for."""
    details = error.errors()
    unknown_keys = [
        str(detail["loc"][0]) for detail in details if detail["type"] == "extra_forbidden" and len(detail["loc"]) == 1
    ]
    intended_keys = {key for name in unknown_keys for key in get_close_matches(name, allowed_keys, n=1)}
    # The message about a misspelt key already suggests the intended key, so the message that it is missing is omitted.
    redundant = [detail for detail in details if detail["type"] == "missing" and detail["loc"][0] in intended_keys]
    rewritten_details = []
    for detail in details:
        if detail not in redundant:
            # An error about an invalid tag has the location of the union. Add the key of the tag, such as `kind`.
            tag_key = detail["ctx"]["discriminator"].strip("'()") if detail["type"] == "union_tag_invalid" else None
            location = detail["loc"] if tag_key is None else (*detail["loc"], tag_key)
            rewritten_details.append(
                InitErrorDetails(
                    type=setting_error(_describe_error(detail, allowed_keys)), loc=location, input=detail["input"]
                )
            )
    return rewritten_details


def _describe_error(error: Mapping[str, Any], allowed_keys: Sequence[str]) -> str:
    """Return the message about one error of pydantic in plain words."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == SETTING_ERROR:
        return str(error["msg"])
    if kind == "extra_forbidden":
        if error["input"] is None:  # An unquoted comma causes this, as in {label: Early, 4 frames, model: toy}.
            return "a key without a value. If it belongs to the text before it: a text with a comma needs quotes."
        return f"unknown key.{describe_choices(str(error['loc'][-1]), allowed_keys)}"
    if kind in ("missing", "union_tag_not_found"):
        return "missing."
    if kind in ("literal_error", "union_tag_invalid"):
        expected_values = context.get("expected", context.get("expected_tags", ""))
        received = context.get("tag", error["input"])
        if kind == "union_tag_invalid":  # This project writes tags in parentheses, which tell them from keys.
            expected_values, received = re.sub(r"'\(|\)'", "'", expected_values), str(received).strip("()")
        names = re.findall(r"'([^']+)'", expected_values)
        quoted = truncate(repr(received), MAX_QUOTED_CHARS)
        return f"should be {expected_values}, found {quoted}.{suggest_name(str(received), names)}"
    if kind == "string_pattern_mismatch" and context["pattern"] in PATTERN_DESCRIPTIONS:
        quoted = truncate(repr(error["input"]), MAX_QUOTED_CHARS)
        return f"should be {PATTERN_DESCRIPTIONS[context['pattern']]}, found {quoted}."
    if error["input"] is None and kind in PLAIN_MESSAGES:
        return f"{PLAIN_MESSAGES[kind]}, but has no value."
    message = PLAIN_MESSAGES.get(kind) or re.sub(r"^\w+ (?=should)| after validation, not \d+$", "", error["msg"])
    return f"{message}, found {truncate(repr(error['input']), MAX_QUOTED_CHARS)}.{_hint(kind, error['input'])}"


def _hint(kind: str, value: Any) -> str:
    """Return advice about a value that YAML parses as another type than the user intended."""
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

    pydantic also adds the tag of a union's member, which is in parentheses in this project, and the marker `[key]` for
    errors of a key. A last part that is neither of them names a missing key, so it stays.
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

    Values may be converted, such as a list to a tuple, because user input was validated before.
    """

    model_config = ConfigDict(strict=False)


class Key(KeyPart):
    """Settings that shape the output of a job, with the code versions of its stage, benchmark or adapter."""

    code_versions: dict[str, int] = {}


def reject_edited_files(files: Mapping[str, str]) -> None:
    """Raise an error if a user's file differs from its digest in the key; call this after the files were read."""
    for name, digest in files.items():
        path = Path(name)
        if not path.is_file() or file_digest(path) != digest:
            raise UserError(
                f"{path}: edited since this run was planned. Nothing was recorded: run the same command again to use "
                "the edited file."
            )


def validate_settings(content: Any, kind: type[T], location: str) -> T:
    """Return JSON content as settings of a class; `location` names the content in error messages.

    Raises:
        UserError: The message names the invalid key.
    """
    try:
        return kind.model_validate_json(canonical_json(content))
    except ValidationError as error:
        problems = [f"{format_location(key)}: {message}" for key, message in describe_errors(error, content)]
        raise UserError(f"{location}: {' '.join(problems)} Correct the configuration behind them.") from error
