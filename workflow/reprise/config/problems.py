"""All problems of a configuration in one message of at most a screenful."""

from reprise.core.errors import UserError

MOST_SHOWN, MOST_PLACES = 20, 3


class Problems:
    """Problems by file, in the order found; the same problem at several places of a file is listed once."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], list[str]] = {}

    def add(self, file: str, place: str, reason: str) -> None:
        """Note what is wrong at a place of a file."""
        places = self._places.setdefault((file, reason), [])
        if place not in places:
            places.append(place)

    def __bool__(self) -> bool:
        return bool(self._places)

    def error(self) -> UserError:
        """One error that lists every problem."""
        lines = [_line(file, places, reason) for (file, reason), places in self._places.items()]
        if len(lines) == 1:
            return UserError(lines[0])
        shown = [f"  - {line}" for line in lines[:MOST_SHOWN]]
        if len(lines) > MOST_SHOWN:
            shown.append(f"  ... and {len(lines) - MOST_SHOWN} more. Correct these first.")
        return UserError(f"{len(lines)} problems in the configuration:\n" + "\n".join(shown))


def _line(file: str, places: list[str], reason: str) -> str:
    first, *others = places
    listed = [*others[:MOST_PLACES], *([f"{len(others) - MOST_PLACES} more"] if len(others) > MOST_PLACES else [])]
    also = f" (also: {', '.join(listed)})" if listed else ""
    return ": ".join(part for part in (file, first, reason) if part) + also
