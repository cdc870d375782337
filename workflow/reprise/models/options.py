"""Checks of the tokens that represent the options of scored questions."""

from collections.abc import Mapping

from reprise.core.errors import UserError

PROTOCOL_ADVICE = "Use a protocol with `ask: choose` or `ask: write` for this model."


def describe_shared_token(tokens: Mapping[str, int]) -> str | None:
    """Describe the problem if two options are the same token, which makes every score a tie; else return None."""
    options: dict[int, str] = {}
    for option, token in tokens.items():
        previous = options.setdefault(token, option)
        if previous != option:
            return f"'{previous}' and '{option}' are the same token ({token}), so their scores are always equal."
    return None


def reject_shared_token(location: str, tokens: Mapping[str, int]) -> None:
    if problem := describe_shared_token(tokens):
        raise UserError(f"{location}: {problem} {PROTOCOL_ADVICE}")
