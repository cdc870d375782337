"""Checks of the tokens by which a model's options are scored."""

from collections.abc import Mapping

from reprise.core.errors import UserError

BY_WORDS = "Ask this model by a protocol with `ask: choose` or `ask: write`."


def shared_token(tokens: Mapping[str, int]) -> str | None:
    """Return what is wrong where two options are the same token, so that every score would be a tie."""
    options: dict[int, str] = {}
    for option, token in tokens.items():
        other = options.setdefault(token, option)
        if other != option:
            return f"'{other}' and '{option}' are the same token ({token}), so that their scores are always equal."
    return None


def refuse_shared_token(where: str, tokens: Mapping[str, int]) -> None:
    if problem := shared_token(tokens):
        raise UserError(f"{where}: {problem} {BY_WORDS}")
