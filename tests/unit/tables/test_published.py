"""The papers' numbers as typed in: shape, ranges, spot values typed again from the papers' text, recomputed averages.

What is damaged, left out or contradictory is told in the note beside each csv; the exceptions below are named there.
"""

import csv
import math
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

PUBLISHED = Path(__file__).resolve().parents[3] / "resources" / "published"
COLUMNS = ["paper", "table", "row", "frames", "group", "metric", "value"]
PAPERS = ["velociti", "vinoground", "temporalbench", "mmbench_video"]

# Rows and numbers of every table, counted by hand in the papers. Vinoground's Table 7 has lost its model names; five rows
# are, number for number, rows that have a name elsewhere.
COUNTS: dict[str, dict[str, tuple[int, int]]] = {
    "velociti": {
        "table2": (13, 116),
        "table3": (7, 28),
        "table4": (11, 99),
        "table5": (8, 62),
        "table6": (6, 54),
        "table7": (8, 144),
        "table8": (4, 32),
        "table9": (4, 32),
        "table10": (7, 98),
        "table11": (8, 24),
    },
    "vinoground": {
        "table2": (1, 8),
        "table3": (33, 99),
        "table4": (9, 11),
        "table5": (8, 60),
        "table6": (8, 72),
        "table7": (5, 15),
        "table8": (49, 147),
    },
    "temporalbench": {
        "table1": (8, 24),
        "table2": (28, 252),
        "table3": (17, 119),
        "table4": (2, 4),
        "table5": (1, 9),
        "table6": (45, 87),
        "table7": (24, 120),
        "table8": (26, 234),
    },
    "mmbench_video": {
        "table1": (5, 45),
        "table2": (5, 40),
        "table3": (35, 420),
        "table4": (10, 140),
        "table5": (6, 72),
        "table6": (1, 2),
        "table7": (1, 2),
        "table8": (6, 72),
    },
}

# The metrics and groups of each paper, all of them used.
SLUGS = {
    "velociti": (
        "strict classic positive negative mc_a mc_b mc_bias mc_both videos samples subset",
        "control agent_random agent_bind coref action_adv action_manner action_bind chrono average",
    ),
    "vinoground": (
        "text video group pairs",
        "all object action viewpoint total interaction cyclical spatial contextual gpt_4o gemini_1_5_pro "
        "claude_3_5_sonnet llava_onevision_72b qwen2_vl_72b internlm_xc_2_5",
    ),
    "temporalbench": (
        "mba ba samples words words_original similarity cider rouge bleu_1 bleu_2 bleu_3 bleu_4 share questions",
        "overall activitynet charades finegym movie_description oops coin egoexo4d c n1_c action_order "
        "action_frequency action_type motion_magnitude motion_direction action_effector event_order others",
    ),
    "mmbench_video": (
        "mean accuracy mae original_score normalized_score ratio capabilities question_words_mean question_words_std "
        "answer_words_mean answer_words_std duration_s_mean duration_s_std shots_mean shots_std",
        "all overall cp fp_s fp_c hl perception lr ar rr csr tr reasoning mmbench_fp_s mmbench_fp_c mmbench_cp "
        "mmbench_lr mmbench_ar mmbench_rr mmbench_overall mmstar_cp mmstar_fp mmstar_ir mmstar_lr mmstar_math "
        "mmstar_st mmstar_overall msvd tgif msrvtt activitynet egoschema video_mme next_gqa mmbench_video video_llava "
        "gpt_4o",
    ),
}

COUNTED = {"videos", "samples", "subset", "pairs", "questions", "capabilities"}
# metric: lowest and highest value; every other metric that is no count is a percentage
RANGES = {
    "mc_bias": (-100.0, 100.0),
    "mean": (0.0, 3.0),
    "mae": (0.0, 3.0),
    "original_score": (0.0, 5.0),
    "duration_s_mean": (0.0, 360.0),
}

TESTS = ["agent_random", "agent_bind", "coref", "action_adv", "action_manner", "action_bind", "chrono"]


class Number(NamedTuple):
    table: str
    row: str
    frames: str
    group: str
    metric: str
    value: str


Key = tuple[str, str, str, str, str]


def read(paper: str) -> list[Number]:
    with (PUBLISHED / f"{paper}.csv").open(encoding="utf-8", newline="") as stream:
        return [Number(*line[1:]) for line in list(csv.reader(stream))[1:]]


def by_key(paper: str) -> dict[Key, float]:
    return {number[:5]: float(number.value) for number in read(paper)}


def rows_of(paper: str, table: str) -> dict[tuple[str, str, str], dict[str, float]]:
    """(row, frames, metric) to group to value."""
    rows: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for number in read(paper):
        if number.table == table:
            rows[number.row, number.frames, number.metric][number.group] = float(number.value)
    return rows


def correct(percent: float, of: int) -> int:
    """How many of `of` a rounded percentage stands for."""
    return round(percent * of / 100)


@pytest.mark.parametrize("paper", PAPERS)
def test_header_slug_and_shape(paper: str) -> None:
    raw = (PUBLISHED / f"{paper}.csv").read_bytes()
    assert raw.endswith(b"\n")
    assert b"\r" not in raw
    lines = list(csv.reader(raw.decode("utf-8").splitlines()))
    assert lines[0] == COLUMNS
    assert all(len(line) == len(COLUMNS) for line in lines)
    assert {line[0] for line in lines[1:]} == {paper}
    assert all(cell == cell.strip() for line in lines for cell in line)
    assert all(line[2] and line[4] and line[5] for line in lines[1:])
    assert (PUBLISHED / f"{paper}.md").is_file()


@pytest.mark.parametrize("paper", PAPERS)
def test_every_value_is_a_plain_finite_number(paper: str) -> None:
    for number in read(paper):
        assert math.isfinite(float(number.value)), number
        digits = number.value.removeprefix("-")
        assert digits.replace(".", "", 1).isdigit(), number
        assert not digits.startswith("."), number
        assert not digits.endswith("."), number


@pytest.mark.parametrize("paper", PAPERS)
def test_no_number_is_there_twice(paper: str) -> None:
    numbers = read(paper)
    assert len({number[:5] for number in numbers}) == len(numbers)


@pytest.mark.parametrize("paper", PAPERS)
def test_rows_and_numbers_of_every_table(paper: str) -> None:
    rows: dict[str, set[tuple[str, str]]] = defaultdict(set)
    cells: dict[str, int] = defaultdict(int)
    for number in read(paper):
        # The rows of MMBench-Video's Table 2 are scores, its columns benchmarks at 1 and 8 frames.
        rows[number.table].add((number.row, number.frames))
        cells[number.table] += 1
    assert {table: (len(rows[table]), cells[table]) for table in rows} == COUNTS[paper]


@pytest.mark.parametrize("paper", PAPERS)
def test_metrics_and_groups_are_the_known_slugs(paper: str) -> None:
    metrics, groups = SLUGS[paper]
    assert {number.metric for number in read(paper)} == set(metrics.split())
    assert {number.group for number in read(paper)} == set(groups.split())


@pytest.mark.parametrize("paper", PAPERS)
def test_ranges(paper: str) -> None:
    for number in read(paper):
        value = float(number.value)
        if number.metric in COUNTED:
            assert value == int(value) > 0, number
        else:
            low, high = RANGES.get(number.metric, (0.0, 100.0))
            assert low <= value <= high, number


VELOCITI_SPOTS: list[tuple[Key, float]] = [
    (("table2", "Random", "", "control", "strict"), 25.0),
    (("table2", "Owl-Con", "", "chrono", "strict"), 0.1),
    (("table2", "V-LLaVA", "", "control", "strict"), 65.8),
    (("table2", "OV-7B", "", "coref", "strict"), 8.0),
    (("table2", "OV-72B", "", "average", "strict"), 43.1),
    (("table2", "OV-72B [subset]", "", "average", "strict"), 44.5),
    (("table2", "OV-72B [subset]", "", "chrono", "strict"), 50.0),
    (("table2", "Gem-1.5F [subset]", "", "agent_random", "strict"), 56.4),
    (("table2", "Gem-1.5P [subset]", "", "action_bind", "strict"), 52.3),
    (("table2", "Human [subset]", "", "chrono", "strict"), 100.0),
    (("table2", "Human [subset]", "", "action_manner", "strict"), 89.9),
    (("table3", "OV-7B", "", "control", "positive"), 83.0),
    (("table3", "QVL-7B", "", "average", "negative"), 17.1),
    (("table3", "GPT-4o [subset]", "", "control", "positive"), 63.0),
    (("table3", "GPT-4o [subset]", "", "control", "negative"), 100.0),
    (("table4", "SigLIP", "", "control", "classic"), 95.3),
    (("table4", "VERA", "", "action_adv", "classic"), 67.6),
    (("table4", "Neg-C", "", "average", "classic"), 59.2),
    (("table4", "OV-72B", "", "agent_random", "classic"), 95.8),
    (("table5", "Random", "", "average", "mc_both"), 25.0),
    (("table5", "QVL-7B", "", "control", "mc_bias"), 3.6),
    (("table5", "OV-7B", "", "average", "mc_a"), 28.7),
    (("table5", "OV-7B", "", "average", "mc_both"), 28.7),
    (("table5", "QVL-72B [subset]", "", "average", "mc_bias"), 2.6),
    (("table5", "OV-72B [subset]", "", "average", "mc_b"), 87.8),
    (("table5", "Gem-1.5F [subset]", "", "control", "mc_bias"), -0.7),
    (("table5", "GPT-4o [subset]", "", "average", "mc_bias"), -9.1),
    (("table6", "OV (eye) [A]", "", "control", "strict"), 79.3),
    (("table6", "Q LLM [A]", "", "chrono", "strict"), 7.9),
    (("table6", "OV Blind [A]", "", "average", "strict"), 8.1),
    (("table6", "1 Frame [B]", "1", "coref", "strict"), 18.1),
    (("table6", "OV-7B-SI [B]", "", "action_bind", "strict"), 22.0),
    (("table7", "OV-7B", "", "coref", "negative"), 8.2),
    (("table7", "OV-72B", "", "chrono", "negative"), 59.4),
    (("table7", "QVL-72B [subset]", "", "chrono", "positive"), 98.7),
    (("table7", "Gem-1.5F [subset]", "", "chrono", "negative"), 2.8),
    (("table7", "Gem-1.5P [subset]", "", "action_manner", "positive"), 79.6),
    (("table7", "GPT-4o [subset]", "", "control", "positive"), 63.3),
    (("table8", "OV-72B [w/o CoT]", "", "average", "strict"), 44.5),
    (("table8", "OV-72B [CoT]", "", "coref", "strict"), 19.3),
    (("table8", "Gemini-1.5 Pro [CoT]", "", "chrono", "strict"), 29.2),
    (("table9", "OV-7B [8fps]", "8fps", "average", "strict"), 35.6),
    (("table9", "OV-72B [1fps]", "1fps", "average", "strict"), 46.0),
    (("table9", "OV-72B [8fps]", "8fps", "action_adv", "strict"), 33.1),
    (("table10", "QVL-7B", "", "chrono", "mc_bias"), 98.5),
    (("table10", "QVL-7B", "", "chrono", "mc_both"), 0.7),
    (("table10", "QVL-72B [subset]", "", "chrono", "mc_bias"), -11.3),
    (("table10", "Gem-1.5F [subset]", "", "coref", "mc_bias"), 8.0),
    (("table10", "GPT-4o [subset]", "", "chrono", "mc_bias"), -60.8),
    (("table10", "GPT-4o [subset]", "", "chrono", "mc_both"), 25.7),
    (("table11", "Ctrl", "", "control", "samples"), 2635),
    (("table11", "AgCref", "", "coref", "videos"), 183),
    (("table11", "ActBind", "", "action_bind", "samples"), 1356),
    (("table11", "EvChr", "", "chrono", "subset"), 150),
]

VINOGROUND_SPOTS: list[tuple[Key, float]] = [
    (("table2", "Count", "", "action", "pairs"), 257),
    (("table2", "Count", "", "total", "pairs"), 500),
    (("table2", "Count", "", "contextual", "pairs"), 63),
    (("table3", "Random Chance", "", "all", "group"), 16.7),
    (("table3", "Prolific Human", "All", "all", "group"), 90.0),
    (("table3", "Prolific Human", "32", "all", "video"), 90.8),
    (("table3", "o3", "32", "all", "group"), 56.6),
    (("table3", "GPT-4o", "32", "all", "text"), 54.0),
    (("table3", "GPT-4o", "0", "all", "text"), 10.0),
    (("table3", "GPT-4o (CoT)", "32", "all", "video"), 51.0),
    (("table3", "Gemini-2.5-Pro", "1fps", "all", "group"), 49.0),
    (("table3", "InternVL3-78B", "32", "all", "group"), 36.2),
    (("table3", "LLaVA-Video-72B", "64", "all", "video"), 34.0),
    (("table3", "Apollo-7B", "4", "all", "group"), 17.2),
    (("table3", "VideoCLIP", "60", "all", "video"), 2.8),
    (("table3", "LanguageBind", "8", "all", "text"), 10.6),
    (("table4", "Prolific Human", "All", "all", "video"), 94.0),
    (("table4", "LLaVA-OneVision-72B", "64", "all", "video"), 31.8),
    (("table4", "LLaVA-OneVision-72B", "32", "all", "group"), 21.8),
    (("table4", "LLaVA-OneVision-72B", "2", "all", "video"), 25.2),
    (("table5", "all", "", "gemini_1_5_pro", "group"), 10.2),
    (("table5", "viewpoint", "", "gpt_4o", "text"), 77.11),
    (("table5", "action", "", "gpt_4o", "group"), 20.23),
    (("table5", "cyclical", "", "gpt_4o", "group"), 18.92),
    (("table5", "spatial", "", "claude_3_5_sonnet", "group"), 5.83),
    (("table6", "contextual", "", "llava_onevision_72b", "text"), 57.14),
    (("table6", "interaction", "", "qwen2_vl_72b", "group"), 6.85),
    (("table6", "all", "", "internlm_xc_2_5", "video"), 27.8),
    (("table7", "MiniCPM-2.6", "16", "all", "video"), 29.2),
    (("table8", "MA-LMM-Vicuna-7B", "8", "all", "text"), 23.0),
    (("table8", "VideoLLaMA3", "64", "all", "group"), 17.0),
    (("table8", "LLaVA-Video-72B-Qwen2", "1", "all", "video"), 26.8),
    (("table8", "LLaVA-Video-7B-Qwen2", "2", "all", "text"), 27.0),
    (("table8", "InternVideo2.5-8B", "4", "all", "group"), 3.6),
    (("table8", "Apollo-7B", "64", "all", "text"), 41.5),
    (("table8", "LLaVA-NeXT-7B (CoT)", "32", "all", "video"), 26.2),
    (("table8", "Vicuna-7B-v1.5", "", "all", "text"), 22.2),
    (("table8", "LLaVA-OneVision-Qwen2-7B", "8", "all", "video"), 26.8),
    (("table8", "LLaVA-OneVision-Qwen2-7B", "2", "all", "group"), 6.8),
]

TEMPORALBENCH_SPOTS: list[tuple[Key, float]] = [
    (("table1", "COIN", "", "coin", "samples"), 385),
    (("table1", "EgoExo4d", "", "egoexo4d", "words_original"), 7.73),
    (("table1", "TemporalBench (ours)", "", "overall", "words"), 41.72),
    (("table2", "Human Performance", "", "charades", "mba"), 81.9),
    (("table2", "Human Performance", "", "overall", "ba"), 89.7),
    (("table2", "Random Chance", "", "overall", "mba"), 9.4),
    (("table2", "GPT-4o", "", "overall", "mba"), 38.0),
    (("table2", "GPT-4o [1 frame]", "1", "coin", "mba"), 33.8),
    (("table2", "GPT-4o [text]", "0", "egoexo4d", "mba"), 28.0),
    (("table2", "LLaVA-OneVision-7B", "", "overall", "ba"), 60.0),
    (("table2", "Qwen2-VL-72B-Instruct", "", "overall", "mba"), 38.2),
    (("table2", "Flan-T5-XL [text]", "0", "movie_description", "mba"), 19.9),
    (("table3", "GPT-4o", "", "overall", "similarity"), 63.47),
    (("table3", "MiniCPM", "", "overall", "bleu_4"), 0.79),
    (("table3", "GPT-4o [1 frame]", "1", "overall", "cider"), 7.29),
    (("table3", "LLaVA-OneVision-72B", "", "overall", "rouge"), 18.23),
    (("table4", '"Centralized" Negative', "", "c", "share"), 83.3),
    (("table4", '"De-Centralized" Negatives', "", "n1_c", "share"), 66.4),
    (("table5", "TemporalBench", "", "action_type", "questions"), 2812),
    (("table5", "TemporalBench", "", "overall", "questions"), 9918),
    (("table6", "ImageBind", "2", "overall", "mba"), 14.0),
    (("table6", "GPT-4o", "16", "overall", "mba"), 38.4),
    (("table6", "GPT-4o", "2", "overall", "ba"), 72.7),
    (("table6", "Claude-3.5-Sonnet", "8", "overall", "mba"), 23.6),
    (("table6", "LLaVA-NeXT-Video-34B-DPO", "1", "overall", "ba"), 60.5),
    (("table6", "LLaVA-NeXT-Video-7B-DPO", "32", "overall", "mba"), 17.2),
    (("table6", "Phi-3.5-Vision-Instruct", "2", "overall", "mba"), 16.8),
    (("table6", "Qwen2-VL-7B-Instruct", "4", "overall", "ba"), 59.5),
    (("table6", "Yi34BNousYi", "0", "overall", "mba"), 18.3),
    (("table7", "GPT-4o", "", "charades", "mba"), 21.36),
    (("table7", "MiniCPM", "", "overall", "mba"), 9.97),
    (("table7", "LLaVA-1.5-7B-HF [1 frame]", "1", "overall", "mba"), 4.01),
    (("table7", "Vicuna7b-1-5 [text]", "0", "activitynet", "mba"), 1.19),
    (("table8", "GPT-4o", "", "others", "ba"), 87.3),
    (("table8", "VideoLLaVA", "", "event_order", "ba"), 50.5),
    (("table8", "LLaVA-OneVision-7B", "", "overall", "ba"), 59.8),
    (("table8", "GPT-4o [1 frame]", "1", "action_frequency", "ba"), 65.2),
    (("table8", "Flan-T5-XL [text]", "0", "overall", "ba"), 57.8),
]

MMBENCH_VIDEO_SPOTS: list[tuple[Key, float]] = [
    (("table1", "MMBench-Video", "", "all", "capabilities"), 26),
    (("table1", "MMBench-Video", "", "all", "duration_s_mean"), 165.4),
    (("table1", "ActivityNet-QA", "", "all", "shots_std"), 20.9),
    (("table2", "Original Score", "1", "mmbench_video", "original_score"), 0.78),
    (("table2", "Original Score", "8", "tgif", "original_score"), 3.18),
    (("table2", "Normalized Score", "8", "mmbench_video", "normalized_score"), 54.3),
    (("table2", "Score-[1f] / Score-[8f]", "", "egoschema", "ratio"), 88.6),
    (("table3", "GPT-4o", "", "hl", "mean"), 1.82),
    (("table3", "Video-ChatGPT-[100f]", "100", "overall", "mean"), 0.93),
    (("table3", "MiniGPT4-Video-[90f]", "90", "hl", "mean"), 1.44),
    (("table3", "ShareGPT4Video-8B-[16f*]", "16", "lr", "mean"), 0.89),
    (("table3", "VideoStreaming-[64f+]", "64+", "fp_c", "mean"), 0.8),
    (("table3", "LLaVA-NeXT-Video-[32f]", "32", "reasoning", "mean"), 1.13),
    (("table3", "Qwen-VL-Chat-[8f]", "8", "overall", "mean"), 0.52),
    (("table3", "VILA1.5-40B-[14f]", "14", "perception", "mean"), 1.63),
    (("table3", "Gemini-Pro-v1.5-[1fps]", "1fps", "tr", "mean"), 1.63),
    (("table3", "GPT-4o-[1f]", "1", "overall", "mean"), 0.70),
    (("table3", "GPT-4o-[1fps]", "1fps", "overall", "mean"), 2.15),
    (("table4", "Video-ChatGPT", "", "mmbench_overall", "accuracy"), 34.50),
    (("table4", "VideoChat2", "", "mmstar_st", "accuracy"), 13.20),
    (("table4", "InternVL-Chat-v1.5", "", "mmbench_fp_s", "accuracy"), 88.58),
    (("table4", "Phi-3-Vision", "", "mmstar_overall", "accuracy"), 47.73),
    (("table5", "GPT-4o [subtitles]", "", "overall", "mean"), 1.22),
    (("table5", "GPT-4o-[8f] [no subtitles]", "8", "cp", "mean"), 1.90),
    (("table5", "GPT-4o-[16f] [subtitles]", "16", "reasoning", "mean"), 2.12),
    (("table6", "Qwen2-72B-Instruct", "", "video_llava", "mean"), 1.15),
    (("table7", "Qwen2-72B-Instruct", "", "gpt_4o", "mae"), 0.32),
    (("table8", "GPT-4o [subtitles]", "", "hl", "mean"), 2.11),
    (("table8", "GPT-4o-[8f] [subtitles]", "8", "overall", "mean"), 1.79),
    (("table8", "GPT-4o-[16f] [no subtitles]", "16", "reasoning", "mean"), 1.80),
]

SPOTS = [
    (paper, *spot)
    for paper, spots in (
        ("velociti", VELOCITI_SPOTS),
        ("vinoground", VINOGROUND_SPOTS),
        ("temporalbench", TEMPORALBENCH_SPOTS),
        ("mmbench_video", MMBENCH_VIDEO_SPOTS),
    )
    for spot in spots
]


@pytest.mark.parametrize(("paper", "key", "value"), SPOTS)
def test_spot_values(paper: str, key: Key, value: float) -> None:
    assert by_key(paper)[key] == value


def test_every_table_has_a_spot_value() -> None:
    assert {(paper, key[0]) for paper, key, _ in SPOTS} == {
        (paper, table) for paper in PAPERS for table in COUNTS[paper]
    }


def test_what_the_text_lost_stays_out() -> None:
    vinoground = by_key("vinoground")
    assert not [key for key in vinoground if key[1] == "ImageBind"]
    assert not [key for key in vinoground if key[0] == "table5" and key[3:] == ("gemini_1_5_pro", "text")]
    assert not [key for key in vinoground if key[:2] == ("table4", "GPT-4o") and key[4] != "text"]
    temporalbench = by_key("temporalbench")
    assert not [key for key in temporalbench if key[0] == "table6" and key[1].startswith(("Qwen2-VL-72B", "FastChat"))]
    assert {key[1] for key in by_key("mmbench_video") if key[0] in ("table6", "table7")} == {"Qwen2-72B-Instruct"}


def test_velociti_averages_are_means_of_the_seven_tests() -> None:
    off = set()
    for table in ("table2", "table4", "table6", "table7", "table8", "table9"):
        for (row, _, metric), values in rows_of("velociti", table).items():
            mean = sum(values[test] for test in TESTS) / len(TESTS)
            if abs(mean - values["average"]) > 0.0501:
                off.add((table, row, metric))
    assert off == {("table9", "OV-7B [8fps]", "strict")}


def test_velociti_table10_against_table5() -> None:
    averages = {(row, metric): values["average"] for (row, _, metric), values in rows_of("velociti", "table5").items()}
    off = set()
    for (row, _, metric), values in rows_of("velociti", "table10").items():
        if abs(sum(values.values()) / len(TESTS) - averages[row, metric]) > 0.0501:
            off.add((row, metric))
    assert off == {("OV-7B", "mc_both")}


def test_velociti_bias_is_b_minus_a() -> None:
    table5 = rows_of("velociti", "table5")
    biases = [
        (row, group, bias) for (row, _, metric), v in table5.items() if metric == "mc_bias" for group, bias in v.items()
    ]
    assert len(biases) == 14
    for row, group, bias in biases:
        assert table5[row, "", "mc_b"][group] - table5[row, "", "mc_a"][group] == pytest.approx(bias, abs=1e-6), row


def test_velociti_strict_is_positive_times_negative() -> None:
    table2, table7 = rows_of("velociti", "table2"), rows_of("velociti", "table7")
    off = set()
    for (row, _, metric), positive in table7.items():
        if metric != "positive":
            continue
        for group in ("control", *TESTS):
            conditional, strict = table7[row, "", "negative"][group], table2[row, "", "strict"][group]
            low = (positive[group] - 0.05) * (conditional - 0.05) / 100 - 0.05
            high = (positive[group] + 0.05) * (conditional + 0.05) / 100 + 0.05
            if not low - 1e-9 <= strict <= high + 1e-9:
                off.add((row, group))
    assert off == {("Gem-1.5P [subset]", "action_bind")}


def test_velociti_table3_repeats_table7_but_for_one_number() -> None:
    table7 = rows_of("velociti", "table7")
    off = {
        (row, group, metric, value, table7[row, "", metric][group])
        for (row, _, metric), values in rows_of("velociti", "table3").items()
        for group, value in values.items()
        if value != table7[row, "", metric][group]
    }
    assert off == {("GPT-4o [subset]", "control", "positive", 63.0, 63.3)}


def test_velociti_table9_prints_table2_under_8fps() -> None:
    table9, table2 = rows_of("velociti", "table9"), rows_of("velociti", "table2")
    full = {group: value for group, value in table2["OV-72B", "", "strict"].items() if group != "control"}
    assert table9["OV-72B [8fps]", "8fps", "strict"] == full
    assert table9["OV-72B [1fps]", "1fps", "strict"] != full


def test_vinoground_categories_are_whole_pairs_and_add_up() -> None:
    pairs = {"all": 500} | {
        group: int(value)
        for row in rows_of("vinoground", "table2").values()
        for group, value in row.items()
        if group != "total"
    }
    assert pairs["object"] + pairs["action"] + pairs["viewpoint"] == 500
    columns: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for table in ("table5", "table6"):
        for (category, _, metric), values in rows_of("vinoground", table).items():
            for model, value in values.items():
                assert round(100 * correct(value, pairs[category]) / pairs[category], 2) == pytest.approx(
                    value, abs=0.0051
                )
                columns[table, model, metric][category] = value
    complete = [values for values in columns.values() if {"all", "object", "action", "viewpoint"} <= values.keys()]
    assert len(complete) == 16
    for values in complete:
        total = sum(correct(values[category], pairs[category]) for category in ("object", "action", "viewpoint"))
        assert total == correct(values["all"], 500)


def test_vinoground_table7_has_only_rows_that_are_printed_with_a_name_elsewhere() -> None:
    named = {key[1:]: value for key, value in by_key("vinoground").items() if key[0] == "table3"}
    by_category = {
        (key[3], key[4]): value for key, value in by_key("vinoground").items() if key[:2] == ("table5", "all")
    }
    in_table5 = {"Gemini-1.5-Pro": "gemini_1_5_pro", "Claude 3.5 Sonnet": "claude_3_5_sonnet"}
    rows = set()
    for (table, row, frames, group, metric), value in by_key("vinoground").items():
        if table == "table7" and row in in_table5:
            rows.add((row, frames))
            assert by_category.get((in_table5[row], metric), value) == value
        elif table == "table7":
            rows.add((row, frames))
            assert named[row, frames, group, metric] == value
    assert rows == {
        *(("Gemini-1.5-Pro", "1fps"), ("Claude 3.5 Sonnet", "4")),
        *(("Qwen2-VL-72B", "32"), ("MiniCPM-2.6", "16"), ("LLaVA-NeXT-34B", "32")),
    }


def test_vinoground_group_score_is_never_above_the_others() -> None:
    for table in ("table3", "table7", "table8"):
        rows = rows_of("vinoground", table)
        for row, frames, _ in rows:
            group = rows[row, frames, "group"]["all"]
            assert group <= min(rows[row, frames, "text"]["all"], rows[row, frames, "video"]["all"]), (row, frames)


def test_temporalbench_overall_is_over_samples() -> None:
    samples = {
        g: int(n) for (_, _, m), v in rows_of("temporalbench", "table1").items() if m == "samples" for g, n in v.items()
    }
    total = samples.pop("overall")
    assert sum(samples.values()) == total == 2179
    off = set()
    for (row, _, metric), values in rows_of("temporalbench", "table2").items():
        if metric == "mba":
            right = sum(correct(values[group], n) for group, n in samples.items())
            if abs(100 * right / total - values["overall"]) > 0.0501:
                off.add(row)
    assert off == {
        "InternLM-XC2.5",
        "MA-LMM",
        "LLaVA-OneVision-7B",
        "Qwen2-VL-7B-Instruct",
        "Phi-3-Vision-128k-Instruct [1 frame]",
        "Gemini-1.5-Pro [text]",
        "Yi-34B [text]",
        "Vicuna7b-1-5 [text]",
    }


def test_temporalbench_table8_average_is_over_questions() -> None:
    questions = {g: int(n) for g, n in rows_of("temporalbench", "table5")["TemporalBench", "", "questions"].items()}
    total = questions.pop("overall")
    assert sum(questions.values()) == total == 9918
    off = set()
    for (row, _, _), values in rows_of("temporalbench", "table8").items():
        right = sum(correct(values[group], n) for group, n in questions.items())
        if abs(100 * right / total - values["overall"]) > 0.0501:
            off.add(row)
    assert off == {
        "InternLM-XC2.5",
        "MA-LMM",
        "Qwen2-VL-7B-Instruct",
        "Phi-3-Vision-128k-Instruct [1 frame]",
        "Yi-34B [text]",
        "Vicuna7b-1-5 [text]",
    }


def test_temporalbench_table7_overall_outside_its_own_data_sets() -> None:
    outside = set()
    for (row, _, _), values in rows_of("temporalbench", "table7").items():
        parts = [value for group, value in values.items() if group != "overall"]
        if not min(parts) <= values["overall"] <= max(parts):
            outside.add(row)
    assert outside == {"MiniCPM", "Qwen2-VL-72B-Instruct"}


def test_mmbench_video_table4_averages() -> None:
    questions = {"fp_s": 289, "fp_c": 179, "cp": 362, "lr": 124, "ar": 164, "rr": 174}
    off = set()
    for (row, _, _), values in rows_of("mmbench_video", "table4").items():
        star = [values[f"mmstar_{part}"] for part in ("cp", "fp", "ir", "lr", "math", "st")]
        assert sum(star) / len(star) == pytest.approx(values["mmstar_overall"], abs=0.00501), row
        right = sum(correct(values[f"mmbench_{part}"], n) for part, n in questions.items())
        if abs(100 * right / sum(questions.values()) - values["mmbench_overall"]) > 0.00501:
            off.add(row)
    assert off == {"Video-ChatGPT", "Chat-UniVi"}


def test_mmbench_video_means_lie_between_their_parts() -> None:
    above = set()
    for table in ("table3", "table5", "table8"):
        for (row, _, _), values in rows_of("mmbench_video", table).items():
            for half, parts in (
                ("perception", ("cp", "fp_s", "fp_c", "hl")),
                ("reasoning", ("lr", "ar", "rr", "csr", "tr")),
            ):
                numbers = [values[part] for part in parts]
                assert min(numbers) <= values[half] <= max(numbers), (table, row, half)
            halves = sorted((values["perception"], values["reasoning"]))
            assert values["overall"] >= halves[0], (table, row)
            if values["overall"] > halves[1]:
                above.add(row)
    assert above == {
        "Video-LLaVA-[8f]",
        "Chat-UniVi-[64f]",
        "VideoChat2-[16f]",
        "ShareGPT4Video-8B-[16f*]",
        "InternVL-Chat-v1.5-[8f]",
        "GPT-4v-[8f]",
    }


def test_mmbench_video_table2_scores_and_ratios() -> None:
    table2 = rows_of("mmbench_video", "table2")
    grades = {"egoschema": 1, "video_mme": 1, "next_gqa": 1, "mmbench_video": 3}
    for frames in ("1", "8"):
        for group, score in table2["Original Score", frames, "original_score"].items():
            normalized = table2["Normalized Score", frames, "normalized_score"][group]
            assert 100 * score / grades.get(group, 5) == pytest.approx(normalized, abs=0.0501), group
    off = set()
    for group, ratio in table2["Score-[1f] / Score-[8f]", "", "ratio"].items():
        one, eight = (table2["Original Score", frames, "original_score"][group] for frames in ("1", "8"))
        if abs(100 * one / eight - ratio) > 0.0501:
            off.add(group)
    assert off == {"tgif", "egoschema", "activitynet", "mmbench_video"}


def test_mmbench_video_table8_repeats_table3() -> None:
    table3, table8 = rows_of("mmbench_video", "table3"), rows_of("mmbench_video", "table8")
    for row, frames in (("GPT-4o", ""), ("GPT-4o-[8f]", "8"), ("GPT-4o-[16f]", "16")):
        assert table8[f"{row} [no subtitles]", frames, "mean"] == table3[row, frames, "mean"]
