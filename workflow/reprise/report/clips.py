"""A benchmark's clips: where each can be played, or why not, and the frames that samplings show of it."""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from reprise.report.scripts import shown

Media = Callable[[Mapping[str, Any]], str]
"""A clip's row of the ledger -> the address that plays it."""


class Clips:
    """The clips that a benchmark's items are about, in the order of their first item."""

    def __init__(self, items: pl.DataFrame, ledger: pl.DataFrame, facts: pl.DataFrame) -> None:
        self._ids: list[str] = items["clip_id"].unique(maintain_order=True).to_list()
        self.places = {name: place for place, name in enumerate(self._ids)}
        self._ledger = {row["clip_id"]: row for row in ledger.iter_rows(named=True)}
        self._facts = {row["clip_id"]: row for row in facts.iter_rows(named=True)}

    def objects(self, media: Media) -> list[dict[str, Any]]:
        """What is known of each."""
        found = []
        for name in self._ids:
            row, facts = self._ledger.get(name, {"status": "not fetched", "message": ""}), self._facts.get(name, {})
            seconds, fps = (None if facts.get(one) is None else round(facts[one], 3) for one in ("duration_s", "fps"))
            found.append(
                {
                    "id": shown(name),
                    "media": media(row) if row["status"] == "ok" else "",
                    "status": row["status"],
                    "message": shown(row["message"]),
                    "seconds": seconds,
                    "frames": facts.get("frames"),
                    "fps": fps,
                }
            )
        return found

    def frames(self, plan: pl.DataFrame) -> dict[str, Any]:
        """The frames of a sampling, clip by clip, in the order in which they are shown.

        A view shows other frames at the moments of a plan: then `at` is when each is in the clip that it is of, and
        `of` the place of that clip where it is another one.
        """
        rows = {row["clip_id"]: row for row in plan.iter_rows(named=True)}
        found = [rows.get(name, {"indices": [], "times_s": [], "note": ""}) for name in self._ids]
        times = [[round(time, 3) for time in row["times_s"]] for row in found]
        at = [self._at(row, moments) for row, moments in zip(found, times, strict=True)]
        return {
            "indices": [row["indices"] for row in found],
            "times": times,
            "at": [one if one != moments else None for one, moments in zip(at, times, strict=True)],
            "of": [self.places.get(row.get("shown_clip") or "") for row in found],
            "note": [shown(row["note"]) for row in found],
        }

    def _at(self, row: Mapping[str, Any], moments: list[float]) -> list[float]:
        """When each shown frame is in its clip: later frames are at later moments of the plan."""
        if row.get("shown_clip"):
            fps = self._facts.get(row["shown_clip"], {}).get("fps") or 1.0
            return [round(index / fps, 3) for index in row["indices"]]
        first: dict[int, float] = {}
        for index, moment in zip(sorted(row["indices"]), moments, strict=True):
            first.setdefault(index, moment)
        return [first[index] for index in row["indices"]]
