"""Test the specifications of the papers' tables: a cell for every printed number, the papers' runs, and full tables."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from reprise.config.load import load
from reprise.config.tables import Column, Row
from reprise.media.sampling import plan_frames
from reprise.tables.render import render

from tests.unit.tables.full_tables import full_tables
from tests.unit.tables.test_published import PAPERS, read

ROOT = Path(__file__).parents[3]
CONFIG = load(ROOT, {"suite": "paper"})


def list_cells(benchmark: str) -> Iterator[tuple[str, Row, Column, str]]:
    """Yield table, row, column and metric of every cell."""
    for name, spec in CONFIG.tables[benchmark].tables.items():
        for row in spec.rows():
            for column in spec.columns:
                for metric in spec.list_metrics(column):
                    yield name, row, column, metric


@pytest.mark.parametrize("benchmark", PAPERS)
def test_every_printed_number_has_a_cell(benchmark: str) -> None:
    cell_places = set()
    for name, row, column, metric in list_cells(benchmark):
        if (published := column.published) is not None:
            label, group = (
                published.row or row.published or row.label,
                published.group or row.group or column.group or "",
            )
            cell_places.add((name, label, group, metric, row.frames if published.frames is None else published.frames))
    for number in read(benchmark):
        place = number.table, number.row, number.group, number.metric
        assert (*place, number.frames) in cell_places or (*place, None) in cell_places, number


@pytest.mark.parametrize("rate", [24, 25, 30])
def test_clip_models_get_the_frames_of_velocitis_code(rate: int) -> None:
    """The authors' script takes the frames round((s + 0.25) f) - 1 and round((s + 0.75) f) - 1 of each second s."""
    expected = [round((second + part) * rate) - 1 for second in range(10) for part in (0.25, 0.75)]
    frame_count = 10 * rate
    for model in ("siglip", "vifi-clip", "negclip"):
        (row,) = (row for row in CONFIG.tables["velociti"].tables["table4"].rows() if row.model == model)
        assert row.protocol == "similarity"
        rule = CONFIG.main.samplings[str(row.sampling)]
        assert list(plan_frames(rule, frame_count, [index / rate for index in range(frame_count)]).indices) == expected


@pytest.mark.parametrize(
    ("models", "rule"),
    [
        ("minicpm-v-2.6", "stride_thinned"),
        ("videoclip", "stride_head"),
        ("ma-lmm", "linspace_round"),
        ("qwen2-vl-72b", "qwen"),
        ("videollama2-72b", "segment_center"),
        ("llava-onevision-72b llava-onevision-7b languagebind humans", "linspace"),
        ("o3 gpt-4.1 o4-mini gpt-4o claude-3.5-sonnet internvl3-78b internvl3-8b internvl2.5-78b internvl2.5-8b", "black_aware"),
        ("qwen2.5-vl-72b qwen2.5-vl-7b llava-video-72b llava-video-7b videollama3-7b apollo-7b aria", "black_aware"),
        ("video-llava-7b llava-next-video-34b llava-next-video-7b internvideo2.5-8b m3 vtimellm", "black_aware"),
    ],
)  # fmt: skip
def test_samplings_of_vinoground_follow_the_released_runners_or_the_printed_rule(models: str, rule: str) -> None:
    """Section 4.2: of N frames, (N-1)/2 come from each video and the remaining ones from the black between them."""
    all_rows = [row for spec in CONFIG.tables["vinoground"].tables.values() for row in spec.rows()]
    for model in models.split():
        rows = [row for row in all_rows if row.model == model and str(row.frames).isdecimal() and row.frames != "0"]
        assert rows, model
        for row in rows:
            assert CONFIG.main.samplings[str(row.sampling)] == {"rule": rule, "frames": int(str(row.frames))}


SAMPLING_BY_MODEL = {
    "video-chatgpt": {"rule": "segment_mid", "frames": 100},
    "chat-univi": {"rule": "second_thinned", "frames": 64},
    "llama-vid": {"rule": "fps_stride", "fps": 1},
    "movie-llm": {"rule": "fps_stride", "fps": 1},
    "videochat2": {"rule": "segment", "frames": 16},
    "pllava-7b": {"rule": "segment", "frames": 16},
    "sharegpt4video-8b": {"rule": "segment", "frames": 16, "transform": {"show": "grid", "rows": 4, "columns": 4}},
    "minigpt4-video": {"rule": "stride_head", "frames": 90},
    "llava-next-video": {"rule": "second_capped", "frames": 32},
    "video-llava-7b": {"rule": "spaced", "frames": 8},
}


def test_video_models_of_mmbench_video_get_the_frames_of_their_loaders() -> None:
    """Section 4: video models keep the default settings of their code."""
    tables = CONFIG.tables["mmbench_video"].tables
    for model, rule in SAMPLING_BY_MODEL.items():
        rows = [row for name in ("table3", "table4") for row in tables[name].rows() if row.model == model]
        assert rows and all(CONFIG.main.samplings[str(row.sampling)] == rule for row in rows), model


def test_image_models_of_table_4_have_the_prompts_of_vlmevalkit() -> None:
    protocols = CONFIG.benchmarks["mmbench_video"].protocols
    prompts_by_model = {}
    for _, row, column, _ in list_cells("mmbench_video"):
        if column.protocol in ("mmbench", "mmstar"):
            protocol = row.for_column(column).protocol
            prompts_by_model.setdefault(str(row.model), set()).add(protocols[str(protocol)].prompt)
    exceptions = {"llava-v1.5-7b": {"image.letter"}, "internvl-chat-v1.5": {"image.letter"}}
    exceptions["idefics2-8b"] = {"image.idefics2", "image.idefics2.mmstar"}
    assert len(prompts_by_model) == 10 and {model: prompts_by_model.pop(model) for model in exceptions} == exceptions
    assert all(prompts == {"image"} for prompts in prompts_by_model.values())


PROMPTS = {
    # the printed prompts, and those of the annotators, whose wording is not printed
    "velociti": {"entail", "entail.gemini", "entail.frames", "mc", "mc.frames", "cot", "caption", "entail.authors"},
    # the rows of GPT-4o use the prompts of its released runner
    "temporalbench": {"released", "caption", "authors", "four.authors"},
    "vinoground": {"paper", "cot", "caption", "authors", "authors.minicpm", "authors.videollama", "authors.ma-lmm"},
}


@pytest.mark.parametrize("benchmark", PAPERS)
def test_rows_use_the_papers_prompts_and_the_policy_is_documented(benchmark: str) -> None:
    """Prompts that a paper does not print come from the authors' code."""
    protocols = CONFIG.benchmarks[benchmark].protocols
    rows = [row.for_column(column) for _, row, column, _ in list_cells(benchmark)]
    prompts = {protocols[row.protocol].prompt for row in rows if row.model and row.protocol}
    assert (
        not any("authors" in prompt for prompt in prompts)
        if benchmark not in PROMPTS
        else prompts == PROMPTS[benchmark]
    )
    page = (ROOT / f"docs/benchmarks/{benchmark}.md").read_text()
    assert re.search(r"\*\*Which prompt a row uses\.?\*\*", page) and "which-prompt-a-row-uses" in page


DATA_TABLES = set(
    ["velociti/table11", "vinoground/table2", "temporalbench/table1", "temporalbench/table5", "mmbench_video/table1"]
)


def test_tables_of_models_show_published_values_and_tables_of_data_no_answer_counts() -> None:
    texts = {name: render(table, "md") for name, table in full_tables("rehearsal").items()}
    assert len(texts) == 33, "the tables are those of the papers"
    assert {name for name, text in texts.items() if "published value, and difference" not in text} <= DATA_TABLES
    assert [name for name in DATA_TABLES if re.search("failed|extractors|convention", texts[name])] == []
    for name, text in texts.items():
        marks = re.findall(r"<sup>([^<]*)</sup>", text.split("\n\n- ")[0])
        letters = list(dict.fromkeys(letter for mark in marks for letter in mark.split(",") if letter.isalpha()))
        assert letters == sorted(letters) and len(letters) <= 5, f"{name}: footnotes come in order and are few"
