"""The papers' tables as specified: every printed number has its cell, and every run is the one that the paper made."""

import csv
import re
from collections.abc import Iterator
from functools import cache
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


Number = tuple[str, str, str, str, str]


@cache
def printed(benchmark: str) -> frozenset[Number]:
    """Table, row, frames, group and metric of every number of the paper."""
    with (ROOT / f"resources/published/{benchmark}.csv").open(encoding="utf-8", newline="") as stream:
        return frozenset((r["table"], r["row"], r["frames"], r["group"], r["metric"]) for r in csv.DictReader(stream))


@cache
def by_place() -> dict[tuple[str, str, str, str], list[Number]]:
    """Table, row, group and metric -> the numbers of the papers."""
    found: dict[tuple[str, str, str, str], list[Number]] = {}
    for number in (one for benchmark in PAPERS for one in printed(benchmark)):
        found.setdefault((*number[:2], *number[3:]), []).append(number)
    return found


def names(name: str, row: Row, column: Column, metric: str) -> Iterator[Number]:
    """The numbers of the paper that a cell shows."""
    as_printed = column.published
    if as_printed is not None:
        frames = row.frames if as_printed.frames is None else as_printed.frames
        group = as_printed.group or row.group or column.group or ""
        place = (name, as_printed.row or row.published or row.label, group, metric)
        yield from (number for number in by_place().get(place, ()) if frames in (None, number[2]))


def of_model(spec: TableSpec, model: str) -> list[str | None]:
    """The samplings of a model's rows."""
    return [row.sampling for row in spec.rows() if row.model == model]


@pytest.mark.parametrize("benchmark", PAPERS)
def test_every_printed_number_has_its_cell(benchmark: str) -> None:
    shown = {number for cell in cells(benchmark) for number in names(*cell)}
    assert printed(benchmark) - shown == set()


# --- TemporalBench ---------------------------------------------------------------------------------------------------

LARGE = "linspace32", "linspace16", "linspace8", "linspace4", "linspace2"


@pytest.mark.parametrize("number", [2, 3, 6, 7, 8])
def test_rows_of_temporalbench_say_what_they_are_shown_and_what_is_a_choice(number: int) -> None:
    """Table 2's 38.0 / 76.0 is Table 6's row of 64 frames, 23.5 / 65.9 that of 16; section 4.4 says 64 for captions."""
    spec = table("temporalbench", number)
    notes = " ".join(spec.notes)
    assert of_model(spec, "gpt-4o")[0] == "linspace64"
    assert number == 6 or of_model(spec, "claude-3.5-sonnet") == ["linspace16"]
    chosen = ("MA-LMM", "LLaVA-OneVision", "Qwen2-VL-72B")
    assert number in (6, 7) or all(name in notes for name in chosen), "frames that are not printed are a choice"
    assert number == 3 or ("yi-34b" in {row.model for row in spec.rows()} and "Yi34BNousYi" in notes)
    assert CONFIG.models["yi-34b"].repo == "NousResearch/Nous-Hermes-2-Yi-34B"
    columns = {column.group: column.published for column in table("temporalbench", 7).columns}
    assert columns["long_four"] is not None and columns["long_four"].group == "overall"
    assert columns["overall"] is None, "the paper prints no mean over five sets"


@pytest.mark.parametrize(
    ("model", "samplings"),
    [
        ("qwen2-vl-72b", [*LARGE]),
        ("qwen2-vl-7b", [*LARGE]),
        ("phi-3.5-vision", [*LARGE, "linspace1"]),
        ("llava-next-video-7b", [*LARGE, "linspace1"]),
        ("gpt-4o", ["linspace64", *LARGE, "linspace1", "none"]),
        ("flan-t5-xl", ["none"]),
    ],
)
def test_rows_that_the_text_has_lost_can_run(model: str, samplings: list[str]) -> None:
    spec = table("temporalbench", 6)
    assert of_model(spec, model) == samplings and spec.is_damaged


# --- VELOCITI and Vinoground -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [24, 25, 30])
def test_clip_models_see_the_frames_that_velocitis_code_picks(rate: int) -> None:
    """Its script: round((s + 0.25) f) - 1 and round((s + 0.75) f) - 1 of each second."""
    rows = {row.model: row for row in table("velociti", 4).rows()}
    wanted = [round((second + part) * rate) - 1 for second in range(10) for part in (0.25, 0.75)]
    frames = 10 * rate
    for model in ("siglip", "vifi-clip", "negclip"):
        assert rows[model].protocol == "similarity"
        rule = CONFIG.main.samplings[str(rows[model].sampling)]
        assert list(plan(rule, frames, [index / rate for index in range(frames)]).indices) == wanted


def test_people_of_velociti_see_the_video_itself_and_the_best_bias_is_nearest_to_zero() -> None:
    """A.6 tells of no frames; "Bias is B minus A and should be close to 0"."""
    assert of_model(table("velociti", 2), "humans") == ["all"]
    for number in (5, 10):
        columns = [column for column in table("velociti", number).columns if column.metrics == ["mc_bias"]]
        assert columns and {column.best for column in columns} == {"nearest_zero"}


RULES = {"minicpm-v-2.6": "stride_thinned", "videoclip": "stride_head", "ma-lmm": "linspace_round"}


def test_runs_of_vinoground_follow_the_rules_of_their_runners() -> None:
    specs = CONFIG.tables["vinoground"].tables
    rows = [row for spec in specs.values() for row in spec.rows() if row.model in RULES]
    assert {row.model for row in rows} == set(RULES)
    for row in rows:
        rule = {"rule": RULES[str(row.model)], "frames": int(str(row.frames))}
        assert CONFIG.main.samplings[str(row.sampling)] == rule
    asked = [row.in_column(column) for _, row, column, _ in cells("vinoground")]
    with_suffix = {row.model for row in asked if str(row.protocol).startswith("authors")}
    released = {"llava-onevision-72b", "llava-onevision-7b", "minicpm-v-2.6", "videollama2-72b", "ma-lmm"}
    assert with_suffix == released, "no other runner is released"
    for name in ("table3", "table7", "table8"):
        assert any(str(row.model).startswith("llava-next-video") for row in specs[name].rows())
        assert any("LLaVA-NeXT-Video-DPO" in note for note in specs[name].notes), "which of them is run is said"


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
    for model in models.split():
        rows = [row for spec in CONFIG.tables["vinoground"].tables.values() for row in spec.rows()
                if row.model == model and str(row.frames).isdecimal()]  # fmt: skip
        assert rows, model
        for row in filter(lambda row: row.frames != "0", rows):
            assert CONFIG.main.samplings[str(row.sampling)] == {"rule": rule, "frames": int(str(row.frames))}
    assert CONFIG.tables["vinoground"].overview is not None  # what has no row has no runner either
    assert CONFIG.main.samplings[CONFIG.tables["vinoground"].overview.sampling]["rule"] == "black_aware"


@pytest.mark.parametrize("frames", [2, 4, 6, 8, 16, 32, 60, 64, 100, 128])
def test_the_printed_rule_has_a_name_for_every_number_of_frames(frames: int) -> None:
    assert CONFIG.main.samplings[f"black{frames}"] == {"rule": "black_aware", "frames": frames}


@pytest.mark.parametrize(
    ("model", "frames"),
    [
        ("claude-3.5-sonnet", [16, 8, 4, 2, 1]),
        ("qwen2-vl-72b", [32, 8, 4, 2]),
        ("minicpm-v-2.6", [32, 16, 8, 4, 2, 1]),
        ("llava-next-video-34b", [32, 16, 8, 4, 2, 1]),
    ],
)
def test_the_blocks_of_vinogrounds_table_7_can_be_asked(model: str, frames: list[int]) -> None:
    """By the text's order of the numbers of frames, around the row of each whose numbers have a name elsewhere."""
    spec = table("vinoground", 7)
    assert [int(str(row.frames)) for row in spec.rows() if row.model == model] == frames and spec.is_damaged
    known = [row for row in spec.rows() if row.model == model and published("vinoground", "table7", row)]
    assert len(known) == 1, "only that row shows the paper's numbers"


def published(benchmark: str, name: str, row: Row) -> bool:
    """Whether the paper's numbers of a row are known."""
    return any(number[:3] == (name, row.label, row.frames) for number in printed(benchmark))


def test_vinoground_marks_the_best_of_proprietary_and_of_open_models_alone() -> None:
    """Table 3's caption; Tables 7 and 8 print in bold what is above chance, and mark no best."""
    marked = {section.title for section in table("vinoground", 3).sections if section.best and section.title}
    assert marked == {"Proprietary Large Multimodal Models", "Open-Source Large Multimodal Models"}
    assert not table("vinoground", 7).best and not table("vinoground", 8).best


@pytest.mark.parametrize("number", [3, 4, 7, 8])
def test_whose_test_is_behind_bold_numbers_is_said(number: int) -> None:
    spec = table("vinoground", number)
    assert spec.bold == "significant" and any("names no test: this one is ours" in note for note in spec.notes)


# --- prompts and judges ----------------------------------------------------------------------------------------------

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
    assert re.search(r"\*\*Which prompt a row uses\.?\*\*", page)
    assert "which-prompt-a-row-uses" in page, "a link to the section"
    assert "## Which prompt a row uses" in (ROOT / "docs/reference/protocols.md").read_text()


def test_the_released_wording_can_be_asked_of_all_and_of_the_subset() -> None:
    protocols = CONFIG.benchmarks["velociti"].protocols
    for form in ("entail", "mc"):
        all_items, subset = protocols[f"{form}.authors"], protocols[f"{form}.authors.subset"]
        assert subset == all_items.model_copy(update={"items": "subset", "answers_of": f"{form}.authors"})


def test_judges_and_references_are_named() -> None:
    for number in (6, 7):
        judges = [row.judges for row in table("mmbench_video", number).rows() if row.label == "Qwen2-72B-Instruct"]
        assert judges == [["qwen2-72b-instruct", "qwen2-72b"]]
    judge = CONFIG.models["qwen2-72b"]
    assert judge.repo == "Qwen/Qwen2-72B-Instruct" and "write" in ADAPTERS[judge.adapter].asked(judge.settings)
    specs = CONFIG.tables["mmbench_video"].tables
    assert not any("by GPT" in spec.caption for spec in specs.values()), "a caption does not name a judge by itself"
    assert {name for name, spec in specs.items() if spec.judge} == {"table3", "table5", "table8"}
    marked = {slug for slug, model in CONFIG.models.items() if model.reference}
    assert marked == {"humans", "oracle", "always-first", "random", "random-imported", "cannot-tell", "toy-script"}


# --- figures ---------------------------------------------------------------------------------------------------------


def parts_of(benchmark: str, figure: str) -> list[tuple[str | None, str | None, str | None]]:
    """Label, number of frames and sampling of each row that a figure shows."""
    spec = CONFIG.figures[benchmark].figures[figure]
    assert isinstance(spec, OfTables)
    tables = CONFIG.tables[benchmark].tables
    return [(row.label, row.frames, row.protocol) for part in spec.of for row in part.of(tables[part.table]).rows()]


def test_velocitis_scatter_plots_show_the_subset() -> None:
    """5.3 says so of Figure 3, appendix A.1 of Figure 4."""
    assert [row[0] for row in parts_of("velociti", "fig3")] == ["V-LLaVA", "OV-72B"]
    shown = [row[0] for row in parts_of("velociti", "fig4")]
    assert shown == ["P-LLaVA", "Owl-Con", "V-LLaVA", "OV-7B-SI", "OV-7B", "QVL-7B", "OV-72B"], "from top to bottom"
    for name in ("fig3", "fig4"):
        spec = CONFIG.figures["velociti"].figures[name]
        assert isinstance(spec, Scatter) and spec.items == "subset" and "Control stays empty" in spec.notes[0]


def test_vinogrounds_first_figure_shows_each_model_and_people_once() -> None:
    rows = parts_of("vinoground", "fig1")
    assert len({label for label, _, _ in rows}) == len(rows) > 10
    assert {("Prolific Human", "All", "paper"), ("GPT-4o", "32", "paper")} <= set(rows)


def test_vinogrounds_lengths_are_counted_as_its_appendix_counts_them() -> None:
    spec = CONFIG.figures["vinoground"].figures["fig11"]
    assert isinstance(spec, Distribution) and spec.closed == "right"


def test_the_means_that_velociti_states_are_those_of_its_tables() -> None:
    """49.2 and 35.8, 46.7 and 50.3, 54.9 and 49.4: to a tenth what Table 2 prints, so that they are the same runs'."""
    spec = CONFIG.figures["velociti"].figures["own_facets"]
    assert isinstance(spec, OfTables)
    with (ROOT / "resources/published/velociti.csv").open(encoding="utf-8", newline="") as stream:
        numbers = {(r["row"], r["group"]): float(r["value"]) for r in csv.DictReader(stream) if r["table"] == "table2"}
    stated = [(column.group, row, value) for column in spec.of[0].columns or () if column.published
              for row, value in column.published.stated.items()]  # fmt: skip
    assert len(stated) == 6
    for facet, row, value in stated:
        tests = FACETS[facet]
        assert value == pytest.approx(sum(numbers[row, test] for test in tests) / len(tests), abs=0.07), (row, facet)


def test_who_wrote_velociti_can_be_asked_to_write() -> None:
    writer = CONFIG.models["llama-3-70b"]
    assert writer.repo == "meta-llama/Meta-Llama-3-70B-Instruct" and "write" in ADAPTERS[writer.adapter].asked(
        writer.settings
    )


def test_the_pixels_of_velocitis_largest_model_are_said_to_be_ours() -> None:
    assert CONFIG.models["qwen2-vl-72b"].settings["max_pixels"] == 602112
    for number in (2, 3, 5, 7, 10):
        assert any("602,112 pixels" in note for note in table("velociti", number).notes)
