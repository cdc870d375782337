"""Checks of the tokens that represent the options of scored questions."""

from collections.abc import Mapping

from reprise.core.errors import UserError

BY_WORDS = "Ask this model by a protocol with `ask: choose` or `ask: write`."


def shared_token(tokens: Mapping[str, int]) -> str | None:
    """Describe the problem if two options are the same token, which makes every score a tie; else return None."""
    options: dict[int, str] = {}
    for option, token in tokens.items():
        previous = options.setdefault(token, option)
        if previous != option:
            return f"'{previous}' and '{option}' are the same token ({token}), so that their scores are always equal."
    return None


def refuse_shared_token(location: str, tokens: Mapping[str, int]) -> None:
    if problem := shared_token(tokens):
        raise UserError(f"{location}: {problem} {BY_WORDS}")
