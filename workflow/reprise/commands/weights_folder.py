"""Check a folder of weights that a command names, and explain what is wrong with it."""

from difflib import get_close_matches
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.paths import locate
from reprise.core.plain import summarize_list
from reprise.models.local.weights import WEIGHT_PATTERN, read_tensors

MAX_LISTED = 8  # files in a message


def is_path(source: str) -> bool:
    """Return whether a text can only be a path: neither the name of a model nor a repository of the hub."""
    return source.startswith(("/", ".")) or source.count("/") > 1


def is_below_local_folder(source: str) -> bool:
    """Return whether a text begins like a path, or with a folder that exists."""
    return source.startswith(("/", ".")) or locate(Path(source).parts[0]).is_dir()


def check_weights(command: str, source: str) -> None:
    """Check that a folder has weights, and that none of their files is truncated; only their headers are read.

    Raises:
        UserError: A file is missing or damaged.
    """
    folder = locate(source)
    if any(folder.glob(WEIGHT_PATTERN)):
        read_tensors(folder)
        return
    names = sorted(f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir())
    found = ", ".join(summarize_list(names, MAX_LISTED)) or "nothing"
    inner = sorted({path.parent.name for path in folder.glob(f"*/{WEIGHT_PATTERN}")})
    hint = f" Did you mean '{Path(source) / inner[0]}'?" if inner else ""
    raise UserError(
        f"{command}: '{source}' has no weights. Expected: {WEIGHT_PATTERN}, config.json and the files of the "
        f"processor. Found: {found}.{hint}"
    )


def no_folder_error(command: str, source: str) -> UserError:
    """Return the error for a path that does not exist, with a similar folder beside the first missing one."""
    path = Path(source)
    missing = next(folder for folder in (*reversed(path.parents), path) if not locate(folder).exists())
    reason = "" if missing == path else f": '{missing}' does not exist"
    return UserError(f"{command}: no folder '{source}'{reason}.{suggest_neighbour(missing)}")


def suggest_neighbour(path: Path) -> str:
    """Return ` Did you mean 'x'?` with a folder beside a missing one; an empty text if no name is similar."""
    parent = locate(path.parent)
    names = [folder.name for folder in parent.iterdir() if folder.is_dir()] if parent.is_dir() else []
    matches = get_close_matches(path.name, names, n=1)
    return f" Did you mean '{path.parent / matches[0]}'?" if matches else ""
