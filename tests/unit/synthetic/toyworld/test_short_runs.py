"""The dual encoder's and the text-only model's training: what they see, what they are told, what they write."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml
from reprise.core.errors import UserError
from reprise.models.local.contrastive import ContrastiveAdapter
from reprise.models.local.text import TextAdapter
from synthetic.toyworld.generate import Dice, evaluation_stories, training_script
from synthetic.toyworld.pairs import Setting
from synthetic.toyworld.script import Agent, Figure, Script, is_held_out
from training import dual, text_only
from training.batches import Encoder
from training.config import SmallConfig, load_small_config
from training.optimiser import MasterAdamW
from training.prompts import REPOSITORY, rendered
from training.short_run import learning_rate
from training.statements import scenery_texts, two_event_texts
from training.tokenizer import build_tokenizer

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


def test_the_text_only_models_questions_come_from_training_clips(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Script] = []

    def noted(dice: Dice) -> Script:
        made.append(training_script(dice))
        return made[-1]

    monkeypatch.setattr(text_only, "training_script", noted)
    monkeypatch.setattr("synthetic.toyworld.generate.make_script", _refuse_evaluation)
    for step in range(16):
        text_only.segments_of_step(small("text"), step)
    assert len(made) > 16 and all(script.story_digest() not in evaluation_stories() for script in made)


def _refuse_evaluation(
    dice: Dice, training: bool, make: Callable[[Dice, bool], Script] = training_script.__globals__["make_script"]
) -> Script:
    assert training, "a clip with held-out pairs was asked for"
    return make(dice, training)


def doers(part: re.Match[str], script: Script) -> list[Figure]:
    manner = {**MANNERS, **COUNTS}[part["manner"]]
    deed = (Agent(part["colour"], part["shape"]), VERBS[part["verb"]], manner)
    return [event for event in script.events if event.deed == deed]


def test_two_events_are_true_or_false_as_said() -> None:
    dice = Dice(8)
    for _ in range(300):
        script, other = training_script(dice), training_script(dice)
        texts = two_event_texts(Setting(script, other, True), dice)
        for text, is_true in zip(texts, (True, False), strict=True):
            first, second = (doers(part, script) for part in NAMED.finditer(text))
            assert any(a.slot < b.slot for a in first for b in second) == is_true, text


def test_scenery_is_told_in_order_and_where_it_changes() -> None:
    dice = Dice(9)
    found = [scenery_texts(training_script(dice), dice) for _ in range(60)]
    assert None in found and any(found)
    for texts in filter(None, found):
        parts = re.fullmatch(r"First, (.+)\. Then, (.+)\.", texts.true)
        assert parts and texts.false == f"First, {parts[2]}. Then, {parts[1]}."


def test_a_statements_truth_is_the_scripts() -> None:
    batch = dual.batch_of_step(small("siglip"), 3)
    truth = batch.truth()
    assert truth.shape == (6, 5, 30 + 6 * dual.EVENTS)
    for clip, script in enumerate(batch.scripts):
        present = {one.agent for one, shown in zip(batch.statements[:30], truth[clip].amax(0), strict=False) if shown}
        assert present == set(script.agents) | {figure.agent for figure in script.figures}
        for event in script.events:
            for number, one in enumerate(batch.statements[30:], start=30):
                if (one.agent, one.action, one.strength) == event.deed:
                    assert truth[clip, event.slot, number] == 1


@pytest.mark.parametrize("name", RECIPES)
def test_a_step_depends_on_seed_and_number_alone(name: str) -> None:
    assert texts_of_step(name, 7) == texts_of_step(name, 7) != texts_of_step(name, 8)


def test_answers_weigh_more_than_questions_and_letters_come_as_often() -> None:
    tokenizer = build_tokenizer()
    segments = [one for step in range(24) for one in text_only.segments_of_step(small("text"), step)]
    rows = text_only.rows(Encoder(tokenizer, 0), segments[:40], tokenizer.pad_token_id)
    for segment, ids, weights in zip(segments, rows.ids, rows.weights, strict=False):
        answer = tokenizer.decode(ids[weights == 1.0])
        assert answer == f"{segment.answer}<|im_end|>"
        assert tokenizer.decode(ids[weights > 0]) == f"{rendered(segment.user, segment.system, video=False)}{answer}"
    letters = [one.answer for one in segments if one.answer in "AB"]
    assert letters.count("A") == letters.count("B") > 20


def test_the_rate_warms_up_and_falls() -> None:
    config = small("text", 100)
    rates = [learning_rate(config, step) for step in range(100)]
    assert rates[0] < 0.05 * config.rate and max(rates) < config.rate and rates[-1] < 0.05 * config.rate


@pytest.mark.parametrize(
    ("change", "message"),
    [({"batsh": 2}, "unknown key 'batsh'.*'batch'"), ({"text": {"width": 8}}, "text: missing heads, inner, layers")],
)
def test_a_bad_recipe_is_a_users_mistake(change: dict[str, object], message: str, tmp_path: Path) -> None:
    values = yaml.safe_load(RECIPES["text"].read_text(encoding="utf-8"))
    (tmp_path / "r.yaml").write_text(yaml.safe_dump({**values, **change}), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        load_small_config(tmp_path / "r.yaml")


def test_a_step_lowers_the_dual_encoders_loss_and_leaves_its_eyes() -> None:
    torch.manual_seed(1)
    trainer = dual.DualTrainer(small("siglip"))
    trained = [one for one in trainer.model.parameters() if one.requires_grad]
    eyes = trainer.model.vision_model.encoder.layers[0].mlp.fc1.weight.clone()
    optimiser, batch = MasterAdamW(trained, 0.0), dual.batch_of_step(small("siglip"), 0)
    before = sum(float(loss.detach()) for loss in trainer.losses(batch).values())
    for _ in range(6):
        sum(trainer.losses(batch).values()).backward()
        optimiser.step(optimiser.take_gradient(), 0.002)
    assert sum(float(loss.detach()) for loss in trainer.losses(batch).values()) < before - 0.1
    assert torch.equal(trainer.model.vision_model.encoder.layers[0].mlp.fc1.weight, eyes)


def test_short_runs_write_checkpoints_that_the_adapters_load(tmp_path: Path) -> None:
    for name, train in (("siglip", dual.train_siglip), ("text", text_only.train_text)):
        values = yaml.safe_load(RECIPES[name].read_text(encoding="utf-8")) | {"batch": 3, "steps": 2}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        train(tmp_path / f"{name}.yaml", tmp_path / name)
        assert not list((tmp_path / name).glob("*.bin"))
    ContrastiveAdapter(spec(tmp_path / "siglip"))
    answer = next(iter(TextAdapter(spec(tmp_path / "text")).answers(BLIND, [request("Who?", "score", ("Yes", "No"))])))
    assert len(answer.scores) == 2 and 0 < sum(answer.scores) < 1
