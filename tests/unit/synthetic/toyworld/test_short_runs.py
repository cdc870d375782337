"""The dual encoder's and the text-only model's training: what they see, what they are told, what they write."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from reprise.core.errors import UserError
from reprise.models.local.contrastive import ContrastiveAdapter
from reprise.models.local.text import TextAdapter
from synthetic.toyworld.generate import evaluation_stories
from synthetic.toyworld.script import Agent, is_held_out
from training import dual, text_only
from training.config import SmallConfig, load_config, load_small_config
from training.prompts import REPOSITORY

from tests.unit.asked import BLIND, request, spec
from tests.unit.synthetic.toyworld.claims import MANNERS, VERBS

RECIPES = {name: REPOSITORY / "resources" / "demo" / f"train-{name}.yaml" for name in ("siglip", "text")}
# TemporalBench's toy captions count blinks.
COUNTS = {"four times": "strong", "once": "weak"}
NAMED = re.compile(
    rf"[Tt]he (?P<colour>\w+) (?P<shape>\w+) (?P<verb>{'|'.join(VERBS)})(?: (?P<manner>{'|'.join([*MANNERS, *COUNTS])}))?"
)
STEPS = 40


def small(name: str, steps: int = STEPS) -> SmallConfig:
    """A recipe with fewer clips a step."""
    config = load_small_config(RECIPES[name])
    return SmallConfig(**{**vars(config), "batch": 6, "steps": steps})


def texts_of_step(name: str, step: int) -> list[str]:
    if name == "text":
        return [f"{one.user} {one.answer}" for one in text_only.segments_of_step(small(name), step)]
    batch = dual.batch_of_step(small(name), step)
    return [one.text for one in batch.statements] + [text for of in batch.pairs for pair in of for text in pair]


@pytest.mark.parametrize("name", RECIPES)
def test_no_text_of_training_names_a_held_out_pair(name: str) -> None:
    found = [NAMED.finditer(text) for step in range(STEPS) for text in texts_of_step(name, step)]
    pairs = {(Agent(m["colour"], m["shape"]), VERBS[m["verb"]]) for matches in found for m in matches}
    assert len(pairs) > 150, "what is read off the texts is what they say"
    assert not [pair for pair in pairs if is_held_out(*pair)]


def test_the_dual_encoder_sees_no_evaluation_clip_and_no_held_out_pair() -> None:
    for step in range(STEPS):
        for script in dual.batch_of_step(small("siglip"), step).scripts:
            assert script.story_digest() not in evaluation_stories()
            assert not any(is_held_out(event.agent, event.action) for event in script.events)


@pytest.mark.parametrize(("recipe", "load", "change", "message"), [
    ("train-text.yaml", load_small_config, {"batsh": 2}, "unknown key 'batsh'.*'batch'"),
    ("train-text.yaml", load_small_config, {"text": {"width": 8}}, "text: missing heads, inner, layers"),
    ("train.yaml", load_config, {"sede": 3}, "unknown key 'sede'.*'seed'"),
])  # fmt: skip
def test_a_bad_recipe_is_a_users_mistake(recipe: str, load: Callable[[Path], object], change: dict[str, object], message: str, tmp_path: Path) -> None:  # fmt: skip
    values = yaml.safe_load((REPOSITORY / "resources/demo" / recipe).read_text(encoding="utf-8"))
    (tmp_path / "r.yaml").write_text(yaml.safe_dump({**values, **change}), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        load(tmp_path / "r.yaml")


def test_short_runs_write_checkpoints_that_the_adapters_load(tmp_path: Path) -> None:
    for name, train in (("siglip", dual.train_siglip), ("text", text_only.train_text)):
        values = yaml.safe_load(RECIPES[name].read_text(encoding="utf-8")) | {"batch": 3, "steps": 2}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        train(tmp_path / f"{name}.yaml", tmp_path / name)
        assert not list((tmp_path / name).glob("*.bin"))
    ContrastiveAdapter(spec(tmp_path / "siglip"))
    answer = next(iter(TextAdapter(spec(tmp_path / "text")).answers(BLIND, [request("Who?", "score", ("Yes", "No"))])))
    assert len(answer.scores) == 2 and 0 < sum(answer.scores) < 1
