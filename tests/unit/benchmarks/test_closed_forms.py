"""Baselines reach what is known in closed form: the oracle, the first option always, and random answers."""

from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.registry import load_scores, load_statistics
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.models.base import ClipFrames
from reprise.models.local.baselines.simple import ConstantBaseline, OracleBaseline, RandomBaseline

from tests.unit.benchmarks import releases as r
from tests.unit.benchmarks.test_image_choice import read, row
from tests.unit.benchmarks.whole import Numbers, Whole
from tests.unit.requests import BLIND, request, spec
from tests.unit.rows import Row

Tables = tuple[pl.DataFrame, pl.DataFrame]


def of_temporalbench(folder: Path) -> Tables:
    """Videos of one to four questions in turn, which share the right caption and are right by A and B in turn."""
    entries: list[r.Entry] = []
    for name, place in ((r.clip_name(3 * i), place) for i in range(200) for place in range(1 + i % 4)):
        captions, is_second = ("It does.", f"It does not {place}."), place % 2
        text = r.QUESTION.format(*captions[:: -1 if is_second else 1])
        entries.append(r.question(name, place, "AB"[is_second]) | {"question": text})
    clips, items = Whole("temporalbench").annotations(r.temporalbench_release(folder, entries))
    return clips, items.filter(task="short")


def of_velociti(folder: Path) -> Tables:
    rows = [
        (test, f"v{i % 7}", "Ev1", f"{test} {i}", f"no {test} {i}") for test in (CONTROL, *TESTS) for i in range(100)
    ]
    return Whole("velociti").annotations(r.velociti_release(folder, rows))


def of_images(folder: Path) -> Tables:
    """Questions of two, three and four options in turn."""
    return pl.DataFrame(), read(folder, [row(f"{i}", "pqrs"[: 2 + i % 3], "B") for i in range(150)])


def numbers_of(benchmark: str, form: str, prompt: str, ask: str, items: pl.DataFrame, adapter: OracleBaseline | ConstantBaseline | RandomBaseline) -> Numbers:  # fmt: skip
    def say(row: Row) -> Row:
        known = {name: row[name] for name in ("request_id", "item_id", "role", "system", "expected", "max_tokens")}
        asked = request(row["prompt"], ask, tuple(row["options"]), **known)
        (answer,) = adapter.answers(ClipFrames(row["clip_id"], None, (), ()), [asked])
        return {"text": answer.text, "scores": list(answer.scores)}

    whole = Whole(benchmark)
    return whole.numbers(form, items, whole.read(items, form, prompt, ask, say), level=0.99)


@pytest.mark.parametrize(("benchmark", "form", "prompt", "ask", "group", "expected"), [
    ("vinoground", "questions", "paper", "choose", "all", {"text": (100, 0, 25), "video": (100, 0, 25), "group": (100, 0, 6.25)}),
    ("vinoground", "similarity", "caption", "similarity", "all", {"text": (100, 0, 25), "video": (100, 0, 25), "group": (100, 0, 100 / 6)}),
    ("temporalbench", "short", "released", "choose", "overall", {"ba": (100, 60, 50), "mba": (100, 25, 100 * (1 / 2 + 1 / 4 + 1 / 8 + 1 / 16) / 4)}),
    ("temporalbench", "short_similarity", "caption", "similarity", "overall", {"mba": (100, 0, 100 * (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4)}),
    ("velociti", "entail", "entail", "score", "average", {"strict": (100, 0, 25), "classic": (100, 0, 50)}),
    ("velociti", "similarity", "caption", "similarity", "average", {"classic": (100, 0, 50)}),
    ("velociti", "mc", "mc", "choose", "average", {"mc_a": (100, 100, 50), "mc_b": (100, 0, 50), "mc_both": (100, 0, 25), "mc_bias": (0, -100, 0)}),
    ("mmbench_video", "circular", "image", "choose", "mmbench_overall", {"accuracy": (100, 0, 100 * (1 / 2**2 + 1 / 3**3 + 1 / 4**4) / 3)}),
])  # fmt: skip
def test_baselines_reach_their_closed_forms(
    tmp_path: Path, benchmark: str, form: str, prompt: str, ask: str, group: str, expected: dict[str, tuple[float, ...]]
) -> None:
    """A tie of similarities is wrong; the chance that a random answer's interval holds is the one that tables show."""
    made = {"temporalbench": of_temporalbench, "velociti": of_velociti, "mmbench_video": of_images}.get(benchmark)
    clips, items = made(tmp_path) if made else (pl.DataFrame(), r.Pairs(tmp_path, 200).items)
    counted = {number[:2]: number.value for number in load_statistics(benchmark).compute_from_items(items, clips)}
    known = load_scores(benchmark).CHANCE | load_scores(benchmark).SCORES[form].chance
    oracle, constant, drawn = (
        numbers_of(benchmark, form, prompt, ask, items, one)
        for one in (OracleBaseline(spec()), ConstantBaseline(spec()), RandomBaseline(spec(seed=0)))
    )
    for metric, (best, always, chance) in expected.items():
        assert (oracle[metric, group].value, constant[metric, group].value) == (best, always), metric
        shown = known.get(metric) or counted.get((f"chance.{form}.{metric}", group), 0)
        assert shown == pytest.approx(chance), metric
        one = drawn[metric, group]
        assert one.low is not None and one.high is not None and one.low < chance < one.high, metric


def test_baselines_write_the_texts_of_their_files() -> None:
    asked = [request("Why?", "write"), request("Why?", "write", expected='{"a": "x"}')]
    models = (ConstantBaseline(spec(text="It spins.")), RandomBaseline(spec(texts=["It."])))
    said = [one.text for model in models for one in model.answers(BLIND, asked)]
    assert said == ["It spins.", "It spins.", "It.", '{"a": "It."}']
