"""Build a byte-level tokenizer with one token for every word of the toy world and every fixed sentence of a prompt."""

from itertools import product
from pathlib import Path

from synthetic.toyworld import captions
from synthetic.toyworld.script import ACTION_NAMES, AGENTS, COLOURS, SHAPES, STRENGTHS
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from training.prompts import CHAT_TEMPLATE, LATER_PHRASES, phrases

PAD, START, END, IMAGE, VIDEO = "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>", "<video>"
TAGS = tuple(f"<<<{tag}>>>" for tag in ("thinking", "reflection", "output"))
TAGS += tuple(f"<<</{tag}>>>" for tag in ("thinking", "reflection", "output"))
BYTE_TOKENS = 256


def _corpus() -> list[str]:
    """Return every word that captions, questions and answers use, with and without a blank before it."""
    deeds = [
        captions.caption(agent, action, strength)
        for agent, action, strength in product(AGENTS, ACTION_NAMES, STRENGTHS)
    ]
    doings = [captions.format_gerund_phrase(action, strength) for action, strength in product(ACTION_NAMES, STRENGTHS)]
    words = [*COLOURS, *SHAPES, "the", "something", "First", "Then", "Meanwhile", "It", "user", "assistant", "system"]
    words += ["There is a", "Who", "What", "What else does do", "The thing that is also the one that is"]
    return [*deeds, *doings, *[f" {doing}" for doing in doings], *words, *[f" {word}" for word in words]] * 4


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Build the tokenizer with its chat template."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=4096, min_frequency=2, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    bpe.train_from_iterator([*_corpus(), *["Yes", "No", " Yes", " No"] * 8], trainer)
    fixed_tokens = [AddedToken(text, normalized=False, special=False) for text in [*TAGS, *phrases()]]
    bpe.add_special_tokens([AddedToken(text, special=True) for text in (PAD, START, END, IMAGE, VIDEO)])
    bpe.add_tokens(fixed_tokens)
    # These tokens are added last, because earlier tokens must keep their ids.
    bpe.add_tokens([AddedToken(text, normalized=False, special=False) for text in LATER_PHRASES])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=PAD,
        eos_token=END,
        padding_side="left",
        model_max_length=4096,
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def save_tokenizer(folder: Path) -> None:
    """Write the tokenizer's files."""
    build_tokenizer().save_pretrained(folder)
