"""A model for processes of their own, which import nothing large for it."""

import os
import signal
import time
from collections.abc import Iterator, Sequence

from reprise.core.errors import UserError
from reprise.models.base import Answer, Clip, Request


class Echo:
    """Answers with the prompt; what it is to do at one question, it does in its own process."""

    def __init__(self, at: str = "", fault: str = "", waits_at: tuple[str, ...] = ()) -> None:
        self.at, self.fault, self.waits_at = at, fault, waits_at

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        if clip.clip_id in self.waits_at:
            time.sleep(60)
        for one in requests:
            if one.request_id == self.at:
                if self.fault == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                if self.fault == "mistake":
                    raise UserError("set checkpoint")
                raise ValueError("broken")
            yield Answer(text=one.prompt)
