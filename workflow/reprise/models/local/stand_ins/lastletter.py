"""A judge that is not a model: it names the last option letter in an answer. Deterministic, local.

It stands in for the language model that extracts a letter from reasoning. It reads no word, so that "A man ..." is an
A to it: good enough to show that extraction by a judge works, and never to be compared with a published number.
"""

import re
from collections.abc import Iterator, Sequence

from reprise.core.errors import UserError
from reprise.models.base import Answer, Clip, ModelSpec, Request

RESPONSE = re.compile(r"^===== (?P<text>.*) =====$", re.DOTALL | re.MULTILINE)


class LastLetter:
    """Replies with the last option that stands alone in the response that the prompt shows, or with nothing."""

    def __init__(self, spec: ModelSpec) -> None:
        del spec  # nothing to load

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            shown = RESPONSE.search(request.prompt)
            if shown is None:
                raise UserError(
                    f"{request.request_id}: lastletter needs a response from a line that begins with '===== ' to one "
                    "that ends with ' =====' and finds none. Use it as a judge, with a prompt that has them."
                )
            options = "|".join(map(re.escape, request.options))
            yield Answer(text=next(iter(re.findall(rf"\b(?:{options})\b", shown["text"])[::-1]), ""))
