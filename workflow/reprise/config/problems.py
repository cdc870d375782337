"""All problems of a configuration in one message of at most a screenful."""

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
    """Problems by file, in the order found; the same problem at several places of a file is listed once."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], list[str]] = {}

    def add(self, file: str, place: str, reason: str) -> None:
        places = self._places.setdefault((file, reason), [])
        if place not in places:
            places.append(place)

    def __bool__(self) -> bool:
        return bool(self._places)

    def error(self) -> UserError:
        lines = []
        for (file, reason), (first, *others) in self._places.items():
            more = [f"{len(others) - MOST_PLACES} more"] if len(others) > MOST_PLACES else []
            also = f" (also: {', '.join([*others[:MOST_PLACES], *more])})" if others else ""
            lines.append(": ".join(part for part in (file, first, reason) if part) + also)
        if len(lines) == 1:
            return UserError(lines[0])
        shown = [f"  - {line}" for line in lines[:MOST_SHOWN]]
        if len(lines) > MOST_SHOWN:
            shown.append(f"  ... and {len(lines) - MOST_SHOWN} more. Correct these first.")
        return UserError(f"{len(lines)} problems in the configuration:\n" + "\n".join(shown))


class Notes(NamedTuple):
    """A place of a file, at which problems are noted."""

    problems: Problems
    file: str
    place: str = ""

    def at(self, more: str) -> "Notes":
        return self._replace(place=f"{self.place}{more}")

    def of(self, file: str) -> "Notes":
        return Notes(self.problems, file)

    def say(self, *reasons: str) -> None:
        for reason in reasons:
            self.problems.add(self.file, self.place, reason)

    def expect(self, what: str, names: Iterable[str], allowed: Collection[str]) -> None:
        """Note each name that is not allowed."""
        self.say(*(reason for name in names for reason in unknown_name(what, name, allowed)))

    def check_file(self, file: str, root: Path, folder: str) -> bool:
        """Whether a file exists; where it does not, those below `folder` are suggested."""
        if located(file, root).is_file():
            return True
        there = [str(path.relative_to(root)) for path in (root / folder).glob("**/*.yaml")]
        self.say(f"no file '{file}'.{suggestion(file, there)}")
        return False

    def check_files(self, pattern: str, root: Path, example: str) -> None:
        """A file must exist; a pattern, such as `example`, may match none yet."""
        if not has_magic(pattern) and not located(pattern, root).is_file():
            self.say(
                f"no file '{pattern}'. Put it there, or name a pattern such as '{example}', which may match none yet."
            )


def read(kind: type[T], path: Path) -> T:
    """A file that is read alone, or an error that names every mistake in it."""
    content = load_yaml(path)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        found = mistakes(error, content)
        lines = (f"{path}: line {line_of(path, place)}: {dotted(place)}: {words}" for place, words in found)
        raise UserError("\n".join(lines)) from None


def unknown_name(what: str, name: str, allowed: Collection[str]) -> list[str]:
    """The problem with a name that is not allowed; none with another one."""
    return [] if name in allowed else [f"unknown {what} '{name}'.{choices(name, allowed)}"]
