"""A benchmark's modules in one object, called as the stages call them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from reprise.benchmarks.asking import FreeAnswer, request_table
from reprise.benchmarks.counting import Number
from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.registry import load_answers, load_questions, load_release, load_scores, load_statistics
from reprise.benchmarks.scoring import Answered, Convention, in_group
from reprise.stages.metrics import measured
from reprise.stats.measures import Measure


class Whole:
    def __init__(self, name: str) -> None:
        self.name = name

    def annotations(
        self, files: Sequence[Path], clips: Any = "release", options: Mapping[str, object] | None = None
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        return load_release(self.name).read_release(files, clips, options or {}).tables()

    def requests(self, items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, Any]]:
        rows = request_table(load_questions(self.name).FORMS[form], items, prompt, "choose", 1).to_dicts()
        return [{name: value for name, value in row.items() if name not in ("ask", "max_tokens")} for row in rows]

    def answers(self, form: str, items: pl.DataFrame, responses: pl.DataFrame, reader: str) -> list[FreeAnswer]:
        return load_answers(self.name)[form](items, responses, reader)

    def measures(
        self, form: str, items: pl.DataFrame, verdicts: pl.DataFrame, level: float, convention: Convention = "fixed"
    ) -> list[Measure]:
        return load_scores(self.name).SCORES[form].measure(Answered(items, verdicts, convention), level)

    def measured(
        self, form: str, items: pl.DataFrame, verdicts: pl.DataFrame, level: float, convention: Convention = "fixed"
    ) -> list[Measure]:
        """The same as the stage `metrics` has it: with what is missing."""
        return measured(load_scores(self.name), form, items, verdicts, level, convention)

    def outcomes(self, form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
        return load_scores(self.name).SCORES[form].outcomes(Answered(items, verdicts))

    def statistics(self, items: pl.DataFrame, clips: pl.DataFrame) -> list[Number]:
        return load_statistics(self.name).of_data(items, clips)

    def video_statistics(self, items: pl.DataFrame, facts: pl.DataFrame) -> list[Number]:
        of_videos = load_statistics(self.name).of_videos
        assert of_videos is not None
        return of_videos(items, facts)

    def in_group(self, items: pl.DataFrame, group: str) -> pl.DataFrame:
        return in_group(items, group, load_scores(self.name).GROUPS)
