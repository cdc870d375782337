"""Collect all problems of a configuration in one message that fits a screen."""

from collections.abc import Collection, Iterable
from glob import has_magic
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from reprise.core.errors import UserError, choices, suggestion
from reprise.core.paths import located
from reprise.core.settings import dotted, mistakes
from reprise.core.yaml_files import line_of, load_yaml

T = TypeVar("T", bound=BaseModel)

MOST_SHOWN, MOST_PLACES = 20, 3


class Problems:
    """Problems by file, in order; the same problem at several places of a file is listed once."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], list[str]] = {}

    def add(self, file: str, place: str, reason: str) -> None:
        """Add a problem at a place of a file."""
        places = self._places.setdefault((file, reason), [])
        if place not in places:
            places.append(place)

    def __bool__(self) -> bool:
        return bool(self._places)

    def error(self) -> UserError:
        """Return an error that lists the problems."""
        lines = []
        for (file, reason), (place, *more_places) in self._places.items():
            remainder = [f"{len(more_places) - MOST_PLACES} more"] if len(more_places) > MOST_PLACES else []
            also = f" (also: {', '.join([*more_places[:MOST_PLACES], *remainder])})" if more_places else ""
            lines.append(": ".join(part for part in (file, place, reason) if part) + also)
        if len(lines) == 1:
            return UserError(lines[0])
        bullets = [f"  - {line}" for line in lines[:MOST_SHOWN]]
        if len(lines) > MOST_SHOWN:
            bullets.append(f"  ... and {len(lines) - MOST_SHOWN} more. Correct these first.")
        return UserError(f"{len(lines)} problems in the configuration:\n" + "\n".join(bullets))


class Notes(NamedTuple):
    """Place of a file at which problems are noted."""

    problems: Problems
    file: str
    place: str = ""

    def at(self, suffix: str) -> "Notes":
        """Return the notes of a place below this one."""
        return self._replace(place=f"{self.place}{suffix}")

    def of(self, file: str) -> "Notes":
        """Return the notes of another file."""
        return Notes(self.problems, file)

    def say(self, *reasons: str) -> None:
        """Note problems at this place."""
        for reason in reasons:
            self.problems.add(self.file, self.place, reason)

    def expect(self, kind: str, names: Iterable[str], allowed: Collection[str]) -> None:
        """Note each name that is not allowed; `kind` says what the names are, such as `metric`."""
        self.say(*(reason for name in names for reason in unknown_name(kind, name, allowed)))

    def check_file(self, file: str, root: Path, folder: str) -> bool:
        """Return whether a file exists; if not, note the problem with a suggestion from `folder`."""
        if located(file, root).is_file():
            return True
        paths = [str(path.relative_to(root)) for path in (root / folder).glob("**/*.yaml")]
        self.say(f"no file '{file}'.{suggestion(file, paths)}")
        return False

    def check_files(self, pattern: str, root: Path, example: str) -> None:
        """Note a problem if a file does not exist; a pattern, such as `example`, may match none yet."""
        if not has_magic(pattern) and not located(pattern, root).is_file():
            self.say(
                f"no file '{pattern}'. Put it there, or name a pattern such as '{example}', which may match none yet."
            )


def read(kind: type[T], path: Path) -> T:
    """Read a single file, or raise a UserError that lists every problem in it."""
    content = load_yaml(path)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        problems = mistakes(error, content)
        lines = (f"{path}: line {line_of(path, place)}: {dotted(place)}: {message}" for place, message in problems)
        raise UserError("\n".join(lines)) from None


def unknown_name(kind: str, name: str, allowed: Collection[str]) -> list[str]:
    """Return the problem of a name that is not allowed, or nothing."""
    return [] if name in allowed else [f"unknown {kind} '{name}'.{choices(name, allowed)}"]
