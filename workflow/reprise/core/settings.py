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

from reprise.core.errors import UserError, choices, suggestion
from reprise.core.files import canonical_json, file_digest
from reprise.core.names import WORDS
from reprise.core.paths import expanded, located, path_problem, pattern_problem
from reprise.core.plain import cut

IN_WORDS = "in_words"  # The kind of a mistake whose message is complete.
# Kinds of mistakes with plainer messages than pydantic's.
PLAIN = {
    "string_type": "should be a text",
    "invalid_key": "should be a text",
    "list_type": "should be a list",
    "tuple_type": "should be a list",
    "dict_type": "should be a group of keys",
    "model_type": "should be a group of keys",
    "model_attributes_type": "should be a group of keys",
}
LONGEST_FOUND = 60
LONG_WORD = re.compile(r"\S{300,}")
NUMBERS = {"int_type", "float_type"}

Place = tuple[str | int, ...]


def mistake(words: str) -> PydanticCustomError:
    """Return the error to raise in a validator of a setting; its words are shown unchanged."""
    shortened = LONG_WORD.sub(lambda match: cut(match[0], LONGEST_FOUND), words)
    return PydanticCustomError(IN_WORDS, "{words}", {"words": shortened})


def _checked_path(path: str) -> str:
    if problem := path_problem(path):
        raise mistake(problem)
    return path


def _checked_pattern(pattern: str) -> str:
    if problem := pattern_problem(pattern):
        raise mistake(problem)
    return pattern


def _expanded(path: str) -> str:
    try:
        return expanded(path)
    except UserError as error:
        raise mistake(str(error)) from None


def _day(value: Any) -> date:
    if isinstance(value, date):
        return value
    try:
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise mistake(f"should be a day, such as 2026-12-11, found {cut(repr(value), LONGEST_FOUND)}.")


PathText = Annotated[str, AfterValidator(_checked_path)]
"""A path that is used as it is written, such as one whose variables each node sets."""
LocalPath = Annotated[PathText, AfterValidator(_expanded)]
"""A file or a folder of this machine; `~` and variables in it are expanded."""
FilePath = Annotated[LocalPath, AfterValidator(lambda path: str(located(path)))]
"""A file, a folder or a pattern, looked up in the working directory and then in the folder of the workflow."""
FilePattern = Annotated[str, AfterValidator(_checked_pattern)]
"""A glob pattern of files in a folder that another setting names."""
Day = Annotated[date, BeforeValidator(_day)]


class InWords(BaseModel):
    """A type of a file whose values are never converted: `yes` is not the number 1, and neither is "1"."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _in_words(cls, content: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(content)
        except ValidationError as error:
            details = _details(error, list(cls.model_fields))
            raise ValidationError.from_exception_data(cls.__name__, details) from None


class Settings(InWords):
    """A group of settings that rejects unknown keys; the string below a field describes it.

    Only `docs/write_reference.py` reads those strings, because pydantic would read them in every job.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


def mistakes(error: ValidationError, content: Any) -> Iterator[tuple[Place, str]]:
    for detail in error.errors():
        yield tuple(_place(detail["loc"], content)), detail["msg"]


def dotted(place: Place) -> str:
    """Return a place as a dotted key; a name that is not printable is quoted."""
    parts = [str(part) for part in place]
    return ".".join(part if part.isprintable() else repr(part) for part in parts) or "(whole file)"


def _details(error: ValidationError, allowed: Sequence[str]) -> list[InitErrorDetails]:
    """Return all mistakes in words; a key that is both missing and misspelt is listed once."""
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
            place = entry["loc"] if tag is None else (*entry["loc"], tag)
            details.append(InitErrorDetails(type=mistake(_words(entry, allowed)), loc=place, input=entry["input"]))
    return details


def _words(error: Mapping[str, Any], allowed: Sequence[str]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == IN_WORDS:
        return str(error["msg"])
    if kind == "extra_forbidden":
        if error["input"] is None:  # An unquoted comma does this, as in {label: Early, 4 frames, model: toy}.
            return "a key without a value. If it belongs to the text before it: a text with a comma needs quotes."
        return f"unknown key.{choices(str(error['loc'][-1]), allowed)}"
    if kind in ("missing", "union_tag_not_found"):
        return "missing."
    if kind in ("literal_error", "union_tag_invalid"):
        expected = context.get("expected", context.get("expected_tags", ""))
        received = context.get("tag", error["input"])
        if kind == "union_tag_invalid":  # The tags of this project are in parentheses.
            expected, received = re.sub(r"'\(|\)'", "'", expected), str(received).strip("()")
        names = re.findall(r"'([^']+)'", expected)
        return f"should be {expected}, found {cut(repr(received), LONGEST_FOUND)}.{suggestion(str(received), names)}"
    if kind == "string_pattern_mismatch" and context["pattern"] in WORDS:
        return f"should be {WORDS[context['pattern']]}, found {cut(repr(error['input']), LONGEST_FOUND)}."
    if error["input"] is None and kind in PLAIN:
        return f"{PLAIN[kind]}, but nothing follows it."
    message = PLAIN.get(kind) or re.sub(r"^\w+ (?=should)| after validation, not \d+$", "", error["msg"])
    return f"{message}, found {cut(repr(error['input']), LONGEST_FOUND)}.{_hint(kind, error['input'])}"


def _hint(kind: str, value: Any) -> str:
    """Return how to write a value that YAML reads as another type than the user meant."""
    if isinstance(value, bool):
        advice = "; a text needs quotes" if kind == "string_type" else ""
        return f" YAML reads yes, no, on, off, true and false as true or false{advice}."
    if isinstance(value, int | float) and kind == "string_type":
        return f' Write it in quotes: "{value}".'
    if isinstance(value, str) and kind in NUMBERS and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value):
        return " Write it without quotes, and without zeros in front."
    return ""


def _place(parts: Sequence[str | int], content: Any) -> Iterator[str | int]:
    """Yield the parts of a place that are in the content.

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


def refuse_edited(files: Mapping[str, str]) -> None:
    """Raise an error if a user's file differs from its digest in the key; called after the files are read."""
    for name, digest in files.items():
        path = Path(name)
        if not path.is_file() or file_digest(path) != digest:
            raise UserError(
                f"{path}: edited since this run was planned. Nothing was recorded: run the same command again, which "
                "takes it as it is then."
            )


def validated(content: Any, kind: type[T], location: str) -> T:
    """Return JSON as settings of this kind, or raise an error that names the wrong key."""
    try:
        return kind.model_validate_json(canonical_json(content))
    except ValidationError as error:
        problems = [f"{dotted(place)}: {words}" for place, words in mistakes(error, content)]
        raise UserError(f"{location}: {' '.join(problems)} Correct the configuration that they come from.") from error
