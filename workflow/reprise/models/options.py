"""Checks of the tokens that represent the options of scored questions."""

from collections.abc import Mapping

from reprise.core.errors import UserError

PROTOCOL_ADVICE = "Use a protocol with `request_type: choose` or `request_type: write` for this model."


def describe_shared_token(token_by_option: Mapping[str, int]) -> str | None:
    """Return a message if two options share a token, which makes every score a tie; else return None."""
    option_by_token: dict[int, str] = {}
    for option, token in token_by_option.items():
        first_option = option_by_token.setdefault(token, option)
        if first_option != option:
            return f"'{first_option}' and '{option}' are the same token ({token}), so their scores are always equal."
    return None


def reject_shared_token(location: str, token_by_option: Mapping[str, int]) -> None:
    """Raise a UserError if two options share a token."""
    if problem := describe_shared_token(token_by_option):
        raise UserError(f"{location}: {problem} {PROTOCOL_ADVICE}")
