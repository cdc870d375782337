"""The papers' tables as specified: every printed number has its cell, and every run is the one that the paper made."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from reprise.benchmarks.velociti.analyses import FACETS
from reprise.config.figures import Distribution, OfTables, Scatter
from reprise.config.load import load
from reprise.config.tables import Column, Row, TableSpec
from reprise.media.sampling import plan
from reprise.models.adapters import ADAPTERS

ROOT = Path(__file__).parents[3]
PAPERS = ("velociti", "vinoground", "temporalbench", "mmbench_video")
CONFIG = load(ROOT, {"suite": "paper"})


def table(benchmark: str, number: int) -> TableSpec:
    return CONFIG.tables[benchmark].tables[f"table{number}"]


def cells(benchmark: str) -> Iterator[tuple[str, Row, Column, str]]:
    """Table, row, column and metric of every cell."""
    for name, spec in CONFIG.tables[benchmark].tables.items():
        for row in spec.rows():
            for column in spec.columns:
                for metric in spec.metrics_of(column):
                    yield name, row, column, metric


def printed(benchmark: str) -> list[dict[str, str]]:
    with (ROOT / f"resources/published/{benchmark}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def of_model(spec: TableSpec, model: str) -> list[Row]:
    return [row for row in spec.rows() if row.model == model]


@pytest.mark.parametrize("benchmark", PAPERS)
def test_every_printed_number_has_its_cell(benchmark: str) -> None:
    shown = set()
    for name, row, column, metric in cells(benchmark):
        if (named := column.published) is not None:
            place = (
                name,
                named.row or row.published or row.label,
                named.group or row.group or column.group or "",
                metric,
            )
            shown.add((*place, row.frames if named.frames is None else named.frames))
    for one in printed(benchmark):
        place = one["table"], one["row"], one["group"], one["metric"]
        assert (*place, one["frames"]) in shown or (*place, None) in shown, one


LARGE = "linspace32 linspace16 linspace8 linspace4 linspace2"


@pytest.mark.parametrize("number", [2, 3, 6, 7, 8])
def test_rows_of_temporalbench_say_what_they_are_shown_and_what_is_a_choice(number: int) -> None:
    """Table 2's 38.0 / 76.0 is Table 6's row of 64 frames, 23.5 / 65.9 that of 16; section 4.4 says 64 for captions."""
    spec = table("temporalbench", number)
    notes = " ".join(spec.notes)
    assert of_model(spec, "gpt-4o")[0].sampling == "linspace64"
    assert number == 6 or [row.sampling for row in of_model(spec, "claude-3.5-sonnet")] == ["linspace16"]
    chosen = ("MA-LMM", "LLaVA-OneVision", "Qwen2-VL-72B")
    assert number in (6, 7) or all(name in notes for name in chosen), "frames that are not printed are a choice"
    assert number == 3 or (of_model(spec, "yi-34b") and "Yi34BNousYi" in notes)
    columns = {column.group: column.published for column in table("temporalbench", 7).columns}
    assert columns["long_four"] is not None and columns["long_four"].group == "overall"
    assert columns["overall"] is None, "the paper prints no mean over five sets"


@pytest.mark.parametrize(
    ("benchmark", "number", "model", "samplings"),
    [
        ("temporalbench", 6, "qwen2-vl-72b", LARGE),
        ("temporalbench", 6, "qwen2-vl-7b", LARGE),
        ("temporalbench", 6, "phi-3.5-vision", f"{LARGE} linspace1"),
        ("temporalbench", 6, "llava-next-video-7b", f"{LARGE} linspace1"),
        ("temporalbench", 6, "gpt-4o", f"linspace64 {LARGE} linspace1 none"),
        ("temporalbench", 6, "flan-t5-xl", "none"),
        ("vinoground", 7, "claude-3.5-sonnet", "16 8 4 2 1"),
        ("vinoground", 7, "qwen2-vl-72b", "32 8 4 2"),
        ("vinoground", 7, "minicpm-v-2.6", "32 16 8 4 2 1"),
        ("vinoground", 7, "llava-next-video-34b", "32 16 8 4 2 1"),
    ],
)
def test_rows_that_the_text_has_lost_can_run(benchmark: str, number: int, model: str, samplings: str) -> None:
    """Vinoground's by numbers of frames, around the row of each model whose numbers have a name elsewhere."""
    spec = table(benchmark, number)
    rows = of_model(spec, model)
    shown = [row.frames if benchmark == "vinoground" else row.sampling for row in rows]
    assert shown == samplings.split() and spec.is_damaged
    if benchmark == "vinoground":
        known = {(one["row"], one["frames"]) for one in printed(benchmark) if one["table"] == f"table{number}"}
        assert sum((row.label, row.frames) in known for row in rows) == 1, "only that row shows the paper's numbers"


@pytest.mark.parametrize("rate", [24, 25, 30])
def test_clip_models_see_the_frames_that_velocitis_code_picks(rate: int) -> None:
    """Its script: round((s + 0.25) f) - 1 and round((s + 0.75) f) - 1 of each second."""
    wanted = [round((second + part) * rate) - 1 for second in range(10) for part in (0.25, 0.75)]
    frames = 10 * rate
    for model in ("siglip", "vifi-clip", "negclip"):
        (row,) = of_model(table("velociti", 4), model)
        assert row.protocol == "similarity"
        rule = CONFIG.main.samplings[str(row.sampling)]
        assert list(plan(rule, frames, [index / rate for index in range(frames)]).indices) == wanted


def test_people_of_velociti_see_the_video_itself_and_the_best_bias_is_nearest_to_zero() -> None:
    """A.6 tells of no frames; "Bias is B minus A and should be close to 0"."""
    assert [row.sampling for row in of_model(table("velociti", 2), "humans")] == ["all"]
    for number in (5, 10):
        columns = [column for column in table("velociti", number).columns if column.metrics == ["mc_bias"]]
        assert columns and {column.best for column in columns} == {"nearest_zero"}


@pytest.mark.parametrize(
    ("models", "rule"),
    [
        ("minicpm-v-2.6", "stride_thinned"),
        ("videoclip", "stride_head"),
        ("ma-lmm", "linspace_round"),
        ("qwen2-vl-72b", "qwen"),
        ("llava-onevision-72b llava-onevision-7b languagebind videollama2-72b humans", "linspace"),
        ("o3 gpt-4.1 o4-mini gpt-4o claude-3.5-sonnet internvl3-78b internvl3-8b internvl2.5-78b internvl2.5-8b", "black_aware"),
        ("qwen2.5-vl-72b qwen2.5-vl-7b llava-video-72b llava-video-7b videollama3-7b apollo-7b aria", "black_aware"),
        ("video-llava-7b llava-next-video-34b llava-next-video-7b internvideo2.5-8b m3 vtimellm", "black_aware"),
    ],
)  # fmt: skip
def test_runs_of_vinoground_follow_their_runners_and_without_one_the_printed_rule(models: str, rule: str) -> None:
    """Section 4.2: of N frames (N-1)/2 of each video and the rest of the black between."""
    every = [row for spec in CONFIG.tables["vinoground"].tables.values() for row in spec.rows()]
    for model in models.split():
        rows = [row for row in every if row.model == model and str(row.frames).isdecimal() and row.frames != "0"]
        assert rows, model
        for row in rows:
            assert CONFIG.main.samplings[str(row.sampling)] == {"rule": rule, "frames": int(str(row.frames))}


def test_vinogrounds_choices_are_those_of_its_paper_and_are_said() -> None:
    """Table 3's caption; Tables 7 and 8 print in bold what is above chance, and mark no best."""
    spec = CONFIG.tables["vinoground"]
    assert spec.overview is not None  # what has no row has no runner either
    assert CONFIG.main.samplings[spec.overview.sampling]["rule"] == "black_aware"
    for frames in (2, 4, 6, 8, 16, 32, 60, 64, 100, 128):
        assert CONFIG.main.samplings[f"black{frames}"] == {"rule": "black_aware", "frames": frames}
    asked = [row.in_column(column) for _, row, column, _ in cells("vinoground")]
    released = {"llava-onevision-72b", "llava-onevision-7b", "minicpm-v-2.6", "videollama2-72b", "ma-lmm"}
    assert {row.model for row in asked if str(row.protocol).startswith("authors")} == released, "no other runner is"
    marked = {section.title for section in table("vinoground", 3).sections if section.best and section.title}
    assert marked == {"Proprietary Large Multimodal Models", "Open-Source Large Multimodal Models"}
    assert not table("vinoground", 7).best and not table("vinoground", 8).best
    for number in (3, 4, 7, 8):
        bold = table("vinoground", number)
        assert bold.bold == "significant" and any("names no test: this one is ours" in note for note in bold.notes)
    for number in (3, 7, 8):
        assert any("LLaVA-NeXT-Video-DPO" in note for note in table("vinoground", number).notes), "which of them is run"


PROMPTS = {
    # the printed ones, and people's, whose wording is not printed
    "velociti": {"entail", "entail.gemini", "entail.frames", "mc", "mc.frames", "cot", "caption", "entail.authors"},
    "temporalbench": {"released", "caption", "four"},
    "vinoground": {"paper", "cot", "caption", "authors", "authors.minicpm", "authors.videollama", "authors.ma-lmm"},
}


@pytest.mark.parametrize("benchmark", PAPERS)
def test_rows_ask_in_the_papers_words_and_the_policy_is_written_down(benchmark: str) -> None:
    """From the code they take what the paper does not print."""
    protocols = CONFIG.benchmarks[benchmark].protocols
    shown = [row.in_column(column) for _, row, column, _ in cells(benchmark)]
    prompts = {protocols[row.protocol].prompt for row in shown if row.model and row.protocol}
    assert not any("authors" in one for one in prompts) if benchmark not in PROMPTS else prompts == PROMPTS[benchmark]
    page = (ROOT / f"docs/benchmarks/{benchmark}.md").read_text()
    assert re.search(r"\*\*Which prompt a row uses\.?\*\*", page) and "which-prompt-a-row-uses" in page


def test_the_released_wording_can_be_asked_of_all_and_of_the_subset() -> None:
    protocols = CONFIG.benchmarks["velociti"].protocols
    for form in ("entail", "mc"):
        all_items, subset = protocols[f"{form}.authors"], protocols[f"{form}.authors.subset"]
        assert subset == all_items.model_copy(update={"items": "subset", "answers_of": f"{form}.authors"})


def test_judges_writers_and_references_are_named() -> None:
    for number in (6, 7):
        judges = [row.judges for row in table("mmbench_video", number).rows() if row.label == "Qwen2-72B-Instruct"]
        assert judges == [["qwen2-72b-instruct", "qwen2-72b"]]
    for slug, repo in (
        ("qwen2-72b", "Qwen/Qwen2-72B-Instruct"),
        ("llama-3-70b", "meta-llama/Meta-Llama-3-70B-Instruct"),
    ):
        model = CONFIG.models[slug]
        assert model.repo == repo and "write" in ADAPTERS[model.adapter].asked(model.settings)
    assert CONFIG.models["yi-34b"].repo == "NousResearch/Nous-Hermes-2-Yi-34B"
    specs = CONFIG.tables["mmbench_video"].tables
    assert not any("by GPT" in spec.caption for spec in specs.values()), "a caption does not name a judge by itself"
    assert {name for name, spec in specs.items() if spec.judge} == {"table3", "table5", "table8"}
    marked = {slug for slug, model in CONFIG.models.items() if model.reference}
    assert marked == {"humans", "oracle", "always-first", "random", "random-imported", "cannot-tell", "toy-script"}
    assert CONFIG.models["qwen2-vl-72b"].settings["max_pixels"] == 602112
    for number in (2, 3, 5, 7, 10):
        assert any("602,112 pixels" in note for note in table("velociti", number).notes), "these are said to be ours"


def parts_of(benchmark: str, figure: str) -> list[tuple[str | None, str | None, str | None]]:
    """Label, number of frames and protocol of each row that a figure shows."""
    spec = CONFIG.figures[benchmark].figures[figure]
    assert isinstance(spec, OfTables)
    tables = CONFIG.tables[benchmark].tables
    return [(row.label, row.frames, row.protocol) for part in spec.of for row in part.of(tables[part.table]).rows()]


def test_figures_show_the_rows_that_the_papers_show() -> None:
    """VELOCITI's 5.3 says of Figure 3 that it is of the subset, A.1 of Figure 4; Vinoground's appendix L how it counts."""
    assert [row[0] for row in parts_of("velociti", "fig3")] == ["V-LLaVA", "OV-72B"]
    shown = [row[0] for row in parts_of("velociti", "fig4")]
    assert shown == ["P-LLaVA", "Owl-Con", "V-LLaVA", "OV-7B-SI", "OV-7B", "QVL-7B", "OV-72B"], "from top to bottom"
    for name in ("fig3", "fig4"):
        spec = CONFIG.figures["velociti"].figures[name]
        assert isinstance(spec, Scatter) and spec.items == "subset" and "Control stays empty" in spec.notes[0]
    rows = parts_of("vinoground", "fig1")
    assert len({label for label, _, _ in rows}) == len(rows) > 10, "each model and people once"
    assert {("Prolific Human", "All", "paper"), ("GPT-4o", "32", "paper")} <= set(rows)
    lengths = CONFIG.figures["vinoground"].figures["fig11"]
    assert isinstance(lengths, Distribution) and lengths.closed == "right"


def test_the_means_that_velociti_states_are_those_of_its_tables() -> None:
    """49.2 and 35.8, 46.7 and 50.3, 54.9 and 49.4: to a tenth what Table 2 prints, so that they are the same runs'."""
    spec = CONFIG.figures["velociti"].figures["own_facets"]
    assert isinstance(spec, OfTables)
    numbers = {(r["row"], r["group"]): float(r["value"]) for r in printed("velociti") if r["table"] == "table2"}
    columns = [column for column in spec.of[0].columns or () if column.published]
    stated = [(one.group, row, value) for one in columns for row, value in one.published.stated.items()]  # type: ignore[union-attr]
    assert len(stated) == 6
    for facet, row, value in stated:
        tests = FACETS[str(facet)]
        assert value == pytest.approx(sum(numbers[row, test] for test in tests) / len(tests), abs=0.07), (row, facet)
