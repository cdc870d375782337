"""Downloads of the hub's library, which end where more comes than was announced: it counts for its progress bars."""

from typing import Any

from huggingface_hub.utils import tqdm

from reprise.core.bounded import TooLargeError


class Announced(tqdm):  # type: ignore[misc]
    """The progress of one download, or of several together; its total is what their servers announced."""

    def __init__(self, *given: Any, initial: int = 0, **named: Any) -> None:
        super().__init__(*given, initial=initial, **named)
        self._came = initial

    def update(self, n: float | None = 1) -> bool | None:
        """Called with each piece before it is written."""
        self._came += int(n or 0)
        if self.total and self._came > self.total:
            raise TooLargeError(int(self.total), ", which were announced")
        shown: bool | None = super().update(n)
        return shown
