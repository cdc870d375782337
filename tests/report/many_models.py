"""Build a report of many models that answer VELOCITI's questions at random, each with its own rate of right answers."""

import random
from pathlib import Path

import polars as pl
from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import RunAnswers
from reprise.benchmarks.velociti.scores import TESTS
from reprise.core.schemas import ITEMS, VERDICTS
from reprise.stages.metrics import build_metric_row

from tests.unit.report.world import World, make_requests, make_responses, make_verdicts
from tests.unit.rows import item_row

HEADLINE = {
    "metric": "strict", "group": "average", "title": "strict entailment", "decimals": 1, "table": None,
    "protocol": "entail", "sampling": "fps1",
}  # fmt: skip
ITEMS_PER_TEST = 20


def build_many_models(folder: Path, count: int = 40) -> World:
    """Build the report of `count` models and of a baseline, which guesses; `model-00` answers best."""
    world = World(folder)
    world.items = [
        item_row(f"{test}-{index}", clip_id=f"c{index % 2 + 1}", cluster=f"u{index}", task=test)
        for test in TESTS
        for index in range(ITEMS_PER_TEST)
    ]
    ids = [item["item_id"] for item in world.items]
    world.requests = [row for item in world.items for row in make_requests(item["item_id"], item["clip_id"])]
    world.headline = HEADLINE
    world.runs = {}
    names = [f"model-{index:02}" for index in range(count)] + ["guesses"]
    models: dict[str, dict[str, object]] = {
        name: {"label": name.replace("-", " ").title(), "reference": name == "guesses"} for name in names
    }
    models["model-07"]["style"] = {"colour": "#000000", "marker": "s"}
    world.key_changes = {"overview_models": ["model-07"], "models": models}
    for index, name in enumerate(names):
        generator = random.Random(name)
        right_rate = 0.5 if name == "guesses" else 0.95 - 0.6 * index / count
        scores = {
            item: tuple(generator.uniform(0.5, 1) if generator.random() < right_rate else 0.2 for _ in range(2))
            for item in ids
        }
        # The score is that of Yes; the negative caption's right answer is No.
        positive_and_negative = {item: (first, 1 - second) for item, (first, second) in scores.items()}
        run = f"velociti/entail/fps1/{name}"
        responses = [row for item, pair in positive_and_negative.items() for row in make_responses(item, *pair)]
        verdicts = [row for item, pair in positive_and_negative.items() for row in make_verdicts(item, *pair)]
        world.runs[run] = (responses, verdicts, verdicts)
        world.metrics_by_run[run] = [
            row | {"run": run, "convention": "fixed", "extractor": "robust"}
            for row in _compute_metrics(world, verdicts)
        ]
    world.build()
    return world


def _compute_metrics(world: World, verdicts: list[dict[str, object]]) -> list[dict[str, object]]:
    scores = load_scores("velociti")
    items = pl.DataFrame(world.items, schema=ITEMS)
    answers = RunAnswers(items, pl.DataFrame(verdicts, schema=VERDICTS))
    measures = scores.SCORES["entail"].compute_measures(answers, 0.95)
    rows = [build_metric_row(measure, scores.CHANCE.get(measure.metric)) for measure in measures]
    return [row | {"missing": row["missing"] or 0} for row in rows]
