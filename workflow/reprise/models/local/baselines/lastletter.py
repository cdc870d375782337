"""Extract an option without a model: the last option letter in a response.

This judge replaces a language model in tests. It does not interpret words: the "A" of "A man ..." counts as option A.
Its results are therefore not comparable with published numbers.
"""

import re
from collections.abc import Iterator, Sequence

from reprise.core.errors import UserError
from reprise.models.base import Answer, ClipFrames, ModelSpec, Request

# The response, as the prompt of a judge quotes it.
RESPONSE = re.compile(r"^===== (?P<text>.*) =====$", re.DOTALL | re.MULTILINE)


class LastLetter:
    """Reply with the last option that is a separate word of the quoted response; empty if there is none."""

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
            matches = re.findall(rf"\b(?:{options})\b", response["text"])
            yield Answer(text=matches[-1] if matches else "")
