"""Collect all problems of a configuration in one message that fits a screen."""

from collections.abc import Collection, Iterable
from glob import has_magic
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from reprise.core.errors import UserError, describe_choices, suggest_name
from reprise.core.paths import locate
from reprise.core.settings import describe_errors, format_location
from reprise.core.yaml_files import find_line, load_yaml

T = TypeVar("T", bound=BaseModel)

MAX_LISTED, MAX_LOCATIONS = 20, 3  # Numbers of problems in a message, and of further locations of a problem.


class ProblemCollector:
    """Collector of problems by file; the same problem at several locations of a file is listed once."""

    def __init__(self) -> None:
        self._locations: dict[tuple[str, str], list[str]] = {}  # (file, reason) -> locations of the problem in the file

    def add(self, file: str, location: str, reason: str) -> None:
        """Add a problem at a location of a file."""
        locations = self._locations.setdefault((file, reason), [])
        if location not in locations:
            locations.append(location)

    def __bool__(self) -> bool:
        return bool(self._locations)

    def extend(self, other: "ProblemCollector") -> None:
        """Add the problems of another collector."""
        for (file, reason), locations in other._locations.items():
            for location in locations:
                self.add(file, location, reason)

    def error(self) -> UserError:
        """Return an error that lists the collected problems."""
        lines = self.lines()
        if len(lines) == 1:
            return UserError(lines[0])
        bullets = [f"  - {line}" for line in lines[:MAX_LISTED]]
        if len(lines) > MAX_LISTED:
            bullets.append(f"  ... and {len(lines) - MAX_LISTED} more. Correct these first.")
        return UserError(f"{len(lines)} problems in the configuration:\n" + "\n".join(bullets))

    def lines(self) -> list[str]:
        """Return a line for each problem, with its file and locations."""
        lines = []
        for (file, reason), (location, *more_locations) in self._locations.items():
            omitted_note = (
                [f"{len(more_locations) - MAX_LOCATIONS} more"] if len(more_locations) > MAX_LOCATIONS else []
            )
            other_locations = (
                f" (also: {', '.join([*more_locations[:MAX_LOCATIONS], *omitted_note])})" if more_locations else ""
            )
            lines.append(": ".join(part for part in (file, location, reason) if part) + other_locations)
        return lines


class ProblemNotes(NamedTuple):
    """Notes of problems at one location of a file, in a collector that all locations and files share."""

    problems: ProblemCollector
    file: str
    location: str = ""

    def at_key(self, suffix: str) -> "ProblemNotes":
        """Return notes for this location followed by a suffix, such as `.key` or `: row 'x'`."""
        return self._replace(location=f"{self.location}{suffix}")

    def for_file(self, file: str) -> "ProblemNotes":
        """Return notes for another file."""
        return ProblemNotes(self.problems, file)

    def add(self, *reasons: str) -> None:
        """Note problems at this location."""
        for reason in reasons:
            self.problems.add(self.file, self.location, reason)

    def check_names(self, kind: str, names: Iterable[str], allowed_names: Collection[str]) -> None:
        """Note each name that is not allowed; `kind` says what the names stand for, such as `metric`."""
        self.add(*(reason for name in names for reason in find_unknown_name(kind, name, allowed_names)))

    def check_file(self, file: str, root: Path, folder: str) -> bool:
        """Return whether a file exists; if not, note the problem with a suggestion from `folder`."""
        if locate(file, root).is_file():
            return True
        paths = [str(path.relative_to(root)) for path in (root / folder).glob("**/*.yaml")]
        self.add(f"no file '{file}'.{suggest_name(file, paths)}")
        return False

    def check_files(self, pattern: str, root: Path, example: str) -> None:
        """Note a problem if a file does not exist; a glob pattern, such as `example`, may match no file yet."""
        if not has_magic(pattern) and not locate(pattern, root).is_file():
            self.add(
                f"no file '{pattern}'. Create it, or use a pattern such as '{example}', which may match no file yet."
            )


def read_config_file(kind: type[T], path: Path) -> T:
    """Read a single file, or raise a UserError that lists every problem in it."""
    content = load_yaml(path)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        problems = describe_errors(error, content)
        lines = (
            f"{path}: line {find_line(path, location)}: {format_location(location)}: {message}"
            for location, message in problems
        )
        raise UserError("\n".join(lines)) from None


def find_unknown_name(kind: str, name: str, allowed_names: Collection[str]) -> list[str]:
    """Return the problem of a name that is not allowed; an empty list if it is allowed."""
    return [] if name in allowed_names else [f"unknown {kind} '{name}'.{describe_choices(name, allowed_names)}"]
