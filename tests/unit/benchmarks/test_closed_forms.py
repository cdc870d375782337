"""Test that baselines reach scores known in closed form: the oracle, always the first option, and random answers."""

from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.registry import load_scores, load_statistics
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.models.base import ClipFrames
from reprise.models.local.baselines.simple import ConstantBaseline, OracleBaseline, RandomBaseline

from tests.unit.benchmarks import releases
from tests.unit.benchmarks.test_image_choice import make_row, read_items
from tests.unit.benchmarks.whole import BenchmarkPipeline, Numbers
from tests.unit.requests import NO_FRAMES, make_request, model_spec
from tests.unit.rows import Row

Tables = tuple[pl.DataFrame, pl.DataFrame]


def read_temporalbench(folder: Path) -> Tables:
    """Return videos with one to four questions that share the correct caption; A and B alternate as the answer."""
    entries: list[releases.Entry] = []
    for name, number in ((releases.clip_name(3 * i), number) for i in range(200) for number in range(1 + i % 4)):
        captions, is_second = ("It does.", f"It does not {number}."), number % 2
        text = releases.QUESTION.format(*captions[:: -1 if is_second else 1])
        entries.append(releases.question(name, number, "AB"[is_second]) | {"question": text})
    clips, items = BenchmarkPipeline("temporalbench").annotations(releases.temporalbench_release(folder, entries))
    return clips, items.filter(task="short")


def read_velociti(folder: Path) -> Tables:
    rows = [
        (test, f"v{i % 7}", "Ev1", f"{test} {i}", f"no {test} {i}") for test in (CONTROL, *TESTS) for i in range(100)
    ]
    return BenchmarkPipeline("velociti").annotations(releases.velociti_release(folder, rows))


def read_image_questions(folder: Path) -> Tables:
    """Return questions with two, three and four options in turn."""
    return pl.DataFrame(), read_items(folder, [make_row(f"{i}", "pqrs"[: 2 + i % 3], "B") for i in range(150)])


def compute_numbers(benchmark: str, form: str, prompt: str, request_type: str, items: pl.DataFrame, adapter: OracleBaseline | ConstantBaseline | RandomBaseline) -> Numbers:  # fmt: skip
    def respond(row: Row) -> Row:
        fields = {name: row[name] for name in ("request_id", "item_id", "role", "system", "expected", "max_tokens")}
        request = make_request(row["prompt"], request_type, tuple(row["options"]), **fields)
        (answer,) = adapter.answers(ClipFrames(row["clip_id"], None, (), ()), [request])
        return {"text": answer.text, "scores": list(answer.scores)}

    pipeline = BenchmarkPipeline(benchmark)
    verdicts = pipeline.read(items, form, prompt, request_type, respond)
    return pipeline.numbers(form, items, verdicts, level=0.99)


@pytest.mark.parametrize(("benchmark", "form", "prompt", "request_type", "group", "expected"), [
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
    tmp_path: Path,
    benchmark: str,
    form: str,
    prompt: str,
    request_type: str,
    group: str,
    expected: dict[str, tuple[float, ...]],
) -> None:
    """Ties of similarities are wrong; the interval of random answers contains the chance level that tables show."""
    read_release = {
        "temporalbench": read_temporalbench,
        "velociti": read_velociti,
        "mmbench_video": read_image_questions,
    }.get(benchmark)
    clips, items = (
        read_release(tmp_path) if read_release else (pl.DataFrame(), releases.VinogroundRelease(tmp_path, 200).items)
    )
    computed_chance = {
        number[:2]: number.value for number in load_statistics(benchmark).compute_from_items(items, clips)
    }
    fixed_chance = load_scores(benchmark).CHANCE | load_scores(benchmark).SCORES[form].chance
    oracle, constant, random = (
        compute_numbers(benchmark, form, prompt, request_type, items, baseline)
        for baseline in (
            OracleBaseline(model_spec()),
            ConstantBaseline(model_spec()),
            RandomBaseline(model_spec(seed=0)),
        )
    )
    for metric, (best, first_option, chance) in expected.items():
        assert (oracle[metric, group].value, constant[metric, group].value) == (best, first_option), metric
        table_chance = fixed_chance.get(metric) or computed_chance.get((f"chance.{form}.{metric}", group), 0)
        assert table_chance == pytest.approx(chance), metric
        measure = random[metric, group]
        assert measure.low is not None and measure.high is not None and measure.low < chance < measure.high, metric


def test_baselines_write_the_texts_of_their_files() -> None:
    requests = [make_request("Why?", "write"), make_request("Why?", "write", expected='{"a": "x"}')]
    models = (ConstantBaseline(model_spec(text="It spins.")), RandomBaseline(model_spec(texts=["It."])))
    texts = [answer.text for model in models for answer in model.answers(NO_FRAMES, requests)]
    assert texts == ["It spins.", "It spins.", "It.", '{"a": "It."}']
