"""A judge without a model: it names the last option letter in an answer. Deterministic and local.

It replaces the language model that extracts a letter from reasoning. It does not interpret words, so the "A" of
"A man ..." counts as option A: enough to show that extraction by a judge works, but never comparable with a published
number.
"""

import re
from collections.abc import Iterator, Sequence

from reprise.core.errors import UserError
from reprise.models.base import Answer, ClipFrames, ModelSpec, Request

RESPONSE = re.compile(r"^===== (?P<text>.*) =====$", re.DOTALL | re.MULTILINE)


class LastLetter:
    """Reply with the last option that stands alone in the response that the prompt quotes, or with an empty text."""

    def __init__(self, spec: ModelSpec) -> None:
        del spec  # nothing to load

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            response = RESPONSE.search(request.prompt)
            if response is None:
                raise UserError(
                    f"{request.request_id}: lastletter needs a prompt that quotes the response between '===== ' at the "
                    "start of a line and ' =====' at the end of one. Use it as a judge with such a prompt."
                )
            options = "|".join(map(re.escape, request.options))
            yield Answer(text=next(iter(re.findall(rf"\b(?:{options})\b", response["text"])[::-1]), ""))
