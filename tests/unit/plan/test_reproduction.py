"""The conditions that stand beside the verdicts of a suite: what each run was made with, by its configuration."""

from pathlib import Path

from reprise.config.load import load
from reprise.plan.runs import Plan
from reprise.plan.suite import collect_keys
from reprise.tables.keys import ReproductionKey

MODEL = "llava-onevision-7b"
REVISION = "0123456789abcdef0123456789abcdef01234567"


def test_prompt_frames_revision_and_type_are_named() -> None:
    """Of the paper suite with one model pinned, in another type and quantised."""
    config = load(Path(), {"suite": "paper"})
    config = config.model_copy(update={"suite": config.suite.model_copy(update={"run": [MODEL]})})
    changes = {"revision": REVISION, "dtype": "float16", "settings": {"quantised": "awq"}}
    config.models[MODEL] = config.models[MODEL].model_copy(update=changes)
    plan = Plan(config)
    reproduction = collect_keys(plan)[plan.results.key("reproduction")]
    assert isinstance(reproduction, ReproductionKey)
    made = {run: found for run, found in reproduction.conditions.items() if run.rpartition("/")[2] == MODEL}
    assert made
    for run, found in made.items():
        _, protocol, sampling, _ = run.split("/")
        assert found[:2] == (f"protocol {protocol}", f"frames {sampling}")
        assert found[2:] == (f"revision {REVISION[:12]}", "weights in float16", "quantised: awq")
