"""The files behind a run's numbers, from the release to the metrics."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from reprise.core.paths import Ledger, Results, Scored

STAGES: tuple[Ledger, ...] = ("sources", "clips")


class Step(NamedTuple):
    """A file behind a run's numbers."""

    name: str
    path: Path
    log: Path
    key: Path | None = None
    """a key file that it was made from and does not name itself"""


@dataclass(frozen=True)
class Origin:
    """What is behind the numbers of a run, or of a judge's ratings of it."""

    results: Results
    scored: Scored
    shards: int
    imported: bool = False
    """whether its answers were made elsewhere"""
    imported_ratings: bool = False
    """whether its judge's ratings were"""
    weights: bool = False
    """whether its model's weights are fetched"""
    environment: str = ""
    """of the server that its model runs at, where a job starts one"""
    pieces: tuple[str, ...] = ()
    """names of the jobs that asked for a share of its answers each, where several did"""

    def steps(self) -> Iterator[Step]:
        """The files, first the first that is made."""
        one, run, results, log = self.scored, self.scored.run, self.results, self.results.log
        benchmark, names = run.benchmark, (run.benchmark, run.protocol, run.sampling, run.model)
        yield Step("release", results.release(benchmark), log("release", benchmark), results.key("release", benchmark))
        yield Step("annotations", results.items(benchmark), log("annotations", benchmark))
        if not self.imported:
            for stage in STAGES:
                for shard in range(self.shards):
                    retry = results.retry_key(benchmark, shard) if stage == "sources" else None
                    yield Step(stage, results.ledger(stage, benchmark, shard), log(stage, benchmark, str(shard)), retry)
            yield Step("facts", results.facts(benchmark), log("facts", benchmark))
            frames = results.frames(benchmark, run.sampling)
            yield Step("frame plan", frames, log("frames", benchmark, run.sampling))
        yield Step("requests", results.requests(benchmark, run.protocol), log("requests", benchmark, run.protocol))
        if self.weights and not self.imported:
            yield Step("weights", results.weights(run.model), log("weights", run.model))
        if self.environment:
            yield Step("environment", results.environment(self.environment), log("environments", self.environment))
        for piece in self.pieces:
            yield Step(f"piece {piece}", results.piece(run, piece), log("infer_piece", *names, piece))
        rule = "import_answers" if self.imported else "join_pieces" if self.pieces else "infer"
        yield Step("answers", results.responses(run), log(rule, *names))
        if one.judge:
            yield Step("questions to the judge", results.judge_requests(run), log("judge_requests", *names))
            rule = "import_ratings" if self.imported_ratings else "judge"
            yield Step("replies of the judge", results.judge_responses(run, one.judge), log(rule, *names, one.judge))
        log_of_scores = log("score", *names, *filter(None, [one.judge]))
        yield Step("verdicts", results.verdicts(run, one.judge or "robust"), log_of_scores)
        yield Step("metrics", results.metrics(one), log_of_scores)
