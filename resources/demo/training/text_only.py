"""Train the text-only baseline: a tiny Qwen2 that learns the toy world's questions and answers without any clip."""

from pathlib import Path
from typing import NamedTuple

import torch
from synthetic.toyworld.generate import Dice, training_script
from synthetic.toyworld.pairs import PairInput
from synthetic.toyworld.temporalbench import QUESTION
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from training.batches import NO_LOSS, Encoder
from training.config import SmallConfig, TowerSize, load_small_config
from training.optimiser import MasterAdamW
from training.short_run import DECAY, fit
from training.statements import TwoTexts, pair_texts, two_event_texts
from training.tasks import Sample, Segment, ask, choice, describe, reason, short_pair, two_event_pair
from training.tokenizer import build_tokenizer

VOCABULARY = 640
QUESTION_WEIGHT = 0.2
# The wordings of Vinoground and TemporalBench.
CHOICES = ("Which caption best describes this video? A. {}, B. {}", QUESTION)
MAX_CAPTIONS = 3


def both_orders(texts: TwoTexts, form: str) -> list[Segment]:
    """Ask for the right caption of two, in both orders."""
    return [
        Segment(form.format(texts.true, texts.false), "A"),
        Segment(form.format(texts.false, texts.true), "B"),
    ]


def caption_choice(sample: Sample) -> list[Segment]:
    """Ask about two captions of a clip in a benchmark's wording."""
    make = two_event_texts if sample.dice.chance(0.6) else pair_texts
    return both_orders(make(sample.setting, sample.dice), sample.dice.pick(CHOICES))


def long_choice(sample: Sample) -> list[Segment]:
    """Ask about captions of several moments in a row, one of which is false."""
    dice = sample.dice
    moments = [two_event_texts(sample.setting, dice) for _ in range(2 + dice.below(MAX_CAPTIONS - 1))]
    false_index = dice.below(len(moments))
    false_texts = [texts.false if number == false_index else texts.true for number, texts in enumerate(moments)]
    return both_orders(TwoTexts(" ".join(texts.true for texts in moments), " ".join(false_texts)), QUESTION)


# The tasks of each step in turn, grouped by similar length of their segments.
KINDS = (
    (short_pair, two_event_pair, ask),
    (choice, describe),
    (short_pair, two_event_pair, ask),
    (caption_choice,),
    (short_pair, two_event_pair, describe),
    (reason, caption_choice),
    (short_pair, two_event_pair, ask),
    (long_choice,),
)


class Rows(NamedTuple):
    """Token ids, and the weight of each as a target; padded with 0."""

    ids: Tensor
    weights: Tensor


def segments_of_step(config: SmallConfig, step: int) -> list[Segment]:
    """Draw the segments of a step, independently of earlier steps."""
    dice = Dice(config.seed, step)
    segments: list[Segment] = []
    script = training_script(dice)
    while len(segments) < config.batch:
        other_script = training_script(dice)
        sample = Sample(PairInput(script, other_script, True), dice, 1.0)
        segments += dice.pick(KINDS[step % len(KINDS)])(sample)
        script = other_script
    return segments


def encode_rows(encoder: Encoder, segments: list[Segment], pad: int) -> Rows:
    """Encode all segments as padded rows, in which answers weigh more than questions."""
    texts, weights = [], []
    for segment in segments:
        prefix = encoder.prefix(segment.system, 0)
        ids, kinds = encoder.segment(segment, video=False)
        texts.append(torch.tensor(prefix + ids))
        weights.append(
            torch.tensor(
                [QUESTION_WEIGHT] * len(prefix) + [QUESTION_WEIGHT if kind == NO_LOSS else 1.0 for kind in kinds]
            )
        )
    return Rows(
        nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=pad),
        nn.utils.rnn.pad_sequence(weights, batch_first=True),
    )


def build_text_model(size: TowerSize, tokenizer: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    """Build a freshly initialised model; the global torch seed decides its weights."""
    config = Qwen2Config(
        hidden_size=size.width,
        intermediate_size=size.inner,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        vocab_size=VOCABULARY,
        tie_word_embeddings=True,
        initializer_range=0.04,
        max_position_embeddings=4096,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        bos_token_id=None,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    model = Qwen2ForCausalLM(config)
    # On a CPU the backward pass of the fused attention is slower.
    model.set_attn_implementation("eager")
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def text_loss(model: Qwen2ForCausalLM, batch: Rows) -> Tensor:
    """Return the weighted cross-entropy of every next token."""
    logits = model(input_ids=batch.ids).logits[:, :-1].float()
    losses = nn.functional.cross_entropy(logits.flatten(0, 1), batch.ids[:, 1:].flatten(), reduction="none")
    weights = batch.weights[:, 1:].flatten()
    return (losses * weights).sum() / weights.sum()


def train_text(config_file: Path, folder: Path) -> None:
    """Train, and write the checkpoint with its tokenizer and chat template."""
    config = load_small_config(config_file)
    torch.manual_seed(config.seed)
    tokenizer = build_tokenizer()
    encoder = Encoder(tokenizer, 0)
    model = build_text_model(config.text, tokenizer)
    optimiser = MasterAdamW(list(model.parameters()), DECAY)
    model.bfloat16()

    def losses(step: int) -> dict[str, Tensor]:
        batch = encode_rows(encoder, segments_of_step(config, step), tokenizer.pad_token_id)
        return {f"loss {step % len(KINDS)}": text_loss(model, batch)}

    fit(optimiser, config, losses)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
