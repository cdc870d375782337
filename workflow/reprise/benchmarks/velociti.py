"""VELOCITI: video-language entailment by seven tests and a control, strict, classic and as multiple choice."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.clip_ids import Segment, vidsitu
from reprise.benchmarks.flaws import Flaws
from reprise.benchmarks.prompts import Prompt, fill
from reprise.benchmarks.subsets import rows_in_subset
from reprise.core.errors import UserError, suggestion
from reprise.core.schemas import CLIPS, ITEMS, in_group_named
from reprise.core.tabular import only_table, read_rows, require_columns
from reprise.stats.measures import Measure, Ratios, Resampling, difference, mean, measure, ones

# The paper's order: Control, then the seven tests of the average.
CONTROL = "control"
TESTS = ("agent_random", "agent_bind", "coref", "action_adv", "action_manner", "action_bind", "chrono")
AVERAGE = "average"
GROUPS = (CONTROL, *TESTS, AVERAGE)
FORMS = {
    "entail": frozenset({"strict", "classic", "positive", "negative"}),
    "mc": frozenset({"mc_a", "mc_b", "mc_bias", "mc_both"}),
    "similarity": frozenset({"classic"}),
}
STATISTICS = frozenset({"videos", "samples", "subset"})
CHANCE: dict[str, float | None] = {"strict": 25.0, "classic": 50.0, "mc_a": 50.0, "mc_b": 50.0, "mc_both": 25.0}
COLUMNS = ("test_name", "video_id", "event", "pos", "neg")


def annotations(files: Sequence[Path], clips: str, options: Mapping[str, object]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the released rows; `clips` says whether videos come by YouTube id or as the released files."""
    path = only_table(files, COLUMNS)
    rows = require_columns(read_rows(path), COLUMNS, path).cast(pl.String).fill_null("")
    rows = rows.with_columns(pl.col("video_id").str.replace(r"\.(mp4|mkv|webm|avi)$", ""))
    flaws = _check_rows(rows, path, keep_duplicates=options.get("duplicate_rows") == "keep")
    items = _items(rows, rows_in_subset(rows, COLUMNS, options.get("subset")), flaws)
    return _clips(rows["video_id"].unique(maintain_order=True).to_list(), clips), items


def _check_rows(rows: pl.DataFrame, path: Path, *, keep_duplicates: bool) -> Flaws:
    """Refuse a row without a video and one that is there twice; note an unknown test and an empty caption."""
    seen: dict[tuple[str, ...], int] = {}
    flaws = Flaws()
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        where = f"{path}: row {number}"
        if not row["video_id"].strip():
            raise UserError(f"{where}: 'video_id' is empty. Mend the row or remove it.")
        if row["test_name"] not in (CONTROL, *TESTS):
            hint = suggestion(row["test_name"], (CONTROL, *TESTS))
            flaws.add(f"row {number}", where, f"unknown test '{row['test_name']}'; it counts in no test.{hint}")
        for column in ("pos", "neg"):
            if not row[column].strip():
                flaw = f"'{column}' is empty, so it is not asked and counts as missing"
                flaws.add(f"row {number}", where, flaw)
        identity = tuple(row.values())
        if identity in seen and not keep_duplicates:
            raise UserError(
                f"{where}: the same as row {seen[identity]} (test {row['test_name']}, video {row['video_id']}). "
                "Remove one of them, or set `duplicate_rows: keep` in the benchmark's file to score both."
            )
        seen.setdefault(identity, number)
    return flaws


def _items(rows: pl.DataFrame, in_subset: Sequence[bool], flaws: Flaws) -> pl.DataFrame:
    """One item a row; its id ends in a number where a test asks several things of one event."""
    counts: dict[str, int] = {}
    items = []
    for number, (row, is_in_subset) in enumerate(zip(rows.iter_rows(named=True), in_subset, strict=True), start=1):
        base = f"{row['test_name']}/{row['video_id']}/{_event_name(row['event'])}"
        counts[base] = counts.get(base, 0) + 1
        items.append(
            {
                "item_id": f"{base}/{counts[base]}",
                "clip_id": clip_id(row["video_id"]),
                "unit": row["video_id"],
                "task": row["test_name"],
                "texts": [{"name": "positive", "text": row["pos"]}, {"name": "negative", "text": row["neg"]}],
                "answer": "",
                "groups": [
                    {"name": "subset", "text": "yes" if is_in_subset else "no"},
                    *flaws.groups(f"row {number}"),
                ],
            }
        )
    return pl.DataFrame(items, schema=ITEMS)


def _event_name(event: str) -> str:
    """`Ev3`, or `Ev1-Ev2` for the JSON lists of tests about several events; a broken list as it is."""
    try:
        names = json.loads(event)
    except ValueError:
        names = None
    return "-".join(map(str, names)) if isinstance(names, list) else event or "Ev"


def _segment(video_id: str) -> Segment | None:
    """What a VidSitu id names; none for a file of another name."""
    try:
        return vidsitu(video_id)
    except UserError:
        return None


def clip_id(video_id: str) -> str:
    """`<unit>.<part>`: the YouTube id and the span for a VidSitu clip, else the file's stem."""
    segment = _segment(video_id)
    return f"{segment.video}.{segment.start_s:g}-{segment.end_s:g}" if segment else f"{video_id}.whole"


def _clips(video_ids: Sequence[str], clips: str) -> pl.DataFrame:
    rows: list[dict[str, object]] = []
    for video_id in video_ids:
        segment = _segment(video_id)
        if clips == "ids" and segment is None:
            raise UserError(
                f"VELOCITI release: video_id '{video_id}' is no VidSitu id (v_<YouTube id>_seg_<start>_<end>). "
                "Use `clips: release` in the suite to take the released files."
            )
        cut = segment if clips == "ids" else None
        rows.append(
            {
                "clip_id": clip_id(video_id),
                "unit": segment.video if segment else video_id,
                "kind": "trim" if cut else "whole",
                "source_id": cut.video if cut else video_id,
                "start_s": cut.start_s if cut else None,
                "end_s": cut.end_s if cut else None,
                "parts": [],
            }
        )
    return pl.DataFrame(rows, schema=CLIPS)


def requests(items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, object]]:
    """`entail` and `similarity` ask about each caption alone, `mc` about both captions in both orders."""
    asked = []
    for item in items.iter_rows(named=True):
        texts = {text["name"]: text["text"] for text in item["texts"]}
        positive, negative = texts["positive"], texts["negative"]
        if not (positive.strip() and negative.strip()):
            continue
        if form == "entail":
            fillings = [
                ("pos", {"caption": positive}, ["Yes", "No"], "Yes"),
                ("neg", {"caption": negative}, ["Yes", "No"], "No"),
            ]
        elif form == "similarity":
            fillings = [
                ("pos", {"caption": positive}, ["match"], "match"),
                ("neg", {"caption": negative}, ["match"], ""),
            ]
        else:
            fillings = [
                ("a", {"caption_a": positive, "caption_b": negative}, ["A", "B"], "A"),
                ("b", {"caption_a": negative, "caption_b": positive}, ["A", "B"], "B"),
            ]
        for role, values, options, expected in fillings:
            asked.append(
                {
                    "request_id": f"{item['item_id']}#{role}",
                    "item_id": item["item_id"],
                    "clip_id": item["clip_id"],
                    "role": role,
                    "system": fill(prompt.system, values),
                    "prompt": fill(prompt.user, values),
                    "options": options,
                    "option_texts": [values["caption_a"], values["caption_b"]] if form == "mc" else [],
                    "expected": expected,
                }
            )
    return asked


def measures(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, *, drop_unread: bool
) -> list[Measure]:
    """All metrics of a form, for Control, each test and their average.

    `drop_unread` is the authors' convention: a sample with an answer that failed or could not be read leaves the
    denominator. Otherwise it stays and counts as wrong.
    """
    samples = _samples(form, items, verdicts)
    if drop_unread:
        samples = samples.filter(~pl.col("failed") & ~pl.col("unparsed"))
    if form == "similarity":
        return _by_test(_with_order(samples), "classic", "above", None, resampling)
    return _entailment(samples, resampling) if form == "entail" else _multiple_choice(samples, resampling)


def _samples(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """One row a sample: both answers of an item side by side."""
    roles = ("a", "b") if form == "mc" else ("pos", "neg")
    wide = items.select("item_id", "unit", "task")
    for role in roles:
        one = verdicts.filter(pl.col("role") == role).select(
            "item_id", *(pl.col(name).alias(f"{role}_{name}") for name in ("right", "score", "unparsed", "failed"))
        )
        wide = wide.join(one, on="item_id", how="inner")
    return wide.with_columns(
        unparsed=pl.any_horizontal(f"{role}_unparsed" for role in roles),
        failed=pl.any_horizontal(f"{role}_failed" for role in roles),
        both=pl.all_horizontal(f"{role}_right" for role in roles),
    )


def outcomes(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Metric -> one row a sample (item_id, unit, task, right), for comparing two models sample by sample."""
    samples = _samples(form, items, verdicts)
    if form != "mc":
        samples = _with_order(samples)
    columns = {
        "entail": {"strict": "both", "classic": "above"},
        "similarity": {"classic": "above"},
        "mc": {"mc_both": "both"},
    }[form]
    return {
        metric: samples.select("item_id", "unit", "task", pl.col(column).alias("right"))
        for metric, column in columns.items()
        if metric != "classic" or samples["pos_score"].is_not_null().any()
    }


def _with_order(samples: pl.DataFrame) -> pl.DataFrame:
    """Whether the positive caption scores above the negative; a missing score is no order."""
    return samples.with_columns(above=(pl.col("pos_score") > pl.col("neg_score")).fill_null(False))


def _entailment(samples: pl.DataFrame, resampling: Resampling) -> list[Measure]:
    """StrictVLE, ClassicVLE where there are scores, and the positive / conditional negative analysis."""
    samples = _with_order(samples)
    found = _by_test(samples, "strict", "both", None, resampling)
    found += _by_test(samples, "positive", "pos_right", None, resampling)
    found += _by_test(samples, "negative", "both", "pos_right", resampling)
    if samples["pos_score"].is_not_null().any():
        found += _by_test(samples, "classic", "above", None, resampling)
    return found


def _multiple_choice(samples: pl.DataFrame, resampling: Resampling) -> list[Measure]:
    """Accuracy with the positive caption as A, as B, in both orders, and the bias B minus A."""
    found = _by_test(samples, "mc_a", "a_right", None, resampling)
    found += _by_test(samples, "mc_b", "b_right", None, resampling)
    found += _by_test(samples, "mc_both", "both", None, resampling)
    for group, rows in _groups(samples):
        found.append(measure("mc_bias", group, rows, _bias(rows), resampling, difference))
    seven = samples.filter(pl.col("task").is_in(TESTS))
    ratios = [ratio for test in TESTS for ratio in _bias(seven, only=test)]
    found.append(measure("mc_bias", AVERAGE, seven, ratios, resampling, _mean_difference))
    return found


def _bias(rows: pl.DataFrame, only: str | None = None) -> list[tuple[pl.Series, pl.Series]]:
    inside = _inside(rows, only)
    return [(rows["b_right"].cast(pl.Float64) * inside, inside), (rows["a_right"].cast(pl.Float64) * inside, inside)]


def _mean_difference(ratios: Ratios) -> Ratios:
    return mean(ratios[:, 0::2] - ratios[:, 1::2])


def _by_test(
    samples: pl.DataFrame, metric: str, right: str, among: str | None, resampling: Resampling
) -> list[Measure]:
    """A share for each test, and the mean of the seven: each test counts the same, Control does not count."""
    found = [measure(metric, group, rows, [_ratio(rows, right, among)], resampling) for group, rows in _groups(samples)]
    seven = samples.filter(pl.col("task").is_in(TESTS))
    ratios = [_ratio(seven, right, among, only=test) for test in TESTS]
    return [*found, measure(metric, AVERAGE, seven, ratios, resampling, mean)]


def _groups(samples: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(test, samples.filter(pl.col("task") == test)) for test in (CONTROL, *TESTS)]


def _ratio(rows: pl.DataFrame, right: str, among: str | None, only: str | None = None) -> tuple[pl.Series, pl.Series]:
    below = _inside(rows, only) * (rows[among].cast(pl.Float64) if among else ones(rows))
    return rows[right].cast(pl.Float64) * below, below


def _inside(rows: pl.DataFrame, only: str | None) -> pl.Series:
    """1 for the rows of a test, 0 for the others; 1 for all when no test is named."""
    return ones(rows) if only is None else (rows["task"] == only).cast(pl.Float64)


def in_group(items: pl.DataFrame, group: str) -> pl.DataFrame:
    """The items that a group's numbers are about."""
    return items.filter(pl.col("task").is_in(TESTS) if group == AVERAGE else pl.col("task") == group)


def statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Videos, samples and subset size of each test (Table 11)."""
    found = []
    for test in (CONTROL, *TESTS):
        rows = items.filter(pl.col("task") == test)
        in_subset = rows.filter(in_group_named("subset"))
        found += [
            ("videos", test, float(rows["clip_id"].n_unique())),
            ("samples", test, float(rows.height)),
            ("subset", test, float(in_subset.height)),
        ]
    return found
