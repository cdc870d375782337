"""How many tokens a question may take at most, before it is sent; the server's own counts make it narrower."""

from reprise.core.errors import UserError
from reprise.models.asking.money.prices import Used
from reprise.models.asking.money.vendors import ImageLimits, Shown

# Of the signs between messages, and what else a vendor's template adds to a prompt.
TEMPLATE_TOKENS = 64


class Estimates:
    """The worst cases of one job's questions."""

    def __init__(self, image_tokens: int | None, limits: ImageLimits | None, *, is_paid: bool) -> None:
        self._image_tokens, self._limits, self._is_paid = image_tokens, limits, is_paid
        self._counted: dict[tuple[int, int, int], int] = {}

    def worst(self, text: str, shown: Shown | None, answer_tokens: int) -> Used:
        """A text has at most as many tokens as bytes."""
        words = len(text.encode(errors="replace")) + TEMPLATE_TOKENS
        return Used(words + (self._of_frames(shown) if shown else 0), answer_tokens)

    def learn(self, shown: Shown | None, tokens_in: int) -> None:
        """A prompt with such frames counted so many tokens, its text among them."""
        if shown is not None and tokens_in:
            self._counted[shown[:3]] = tokens_in

    def _of_frames(self, shown: Shown) -> int:
        counted = self._counted.get(shown[:3])
        if counted is not None:
            return counted
        if self._image_tokens is not None:
            return shown.frames * self._image_tokens
        if self._limits is not None:
            return shown.frames * self._limits.tokens(shown.width, shown.height)
        if not self._is_paid:
            return 0
        raise UserError(
            "settings.image_tokens of the model's file: missing. What a question may cost is reserved before it is "
            "sent, and this vendor does not say here how many tokens a frame counts. Write the most that its page "
            "names for one image, such as `image_tokens: 1500`."
        )
