"""Which settings of a checkpoint reach `generate`: those that shape the likeliest token, or say where a text ends.

A protocol asks for the likeliest text, token by token. How one would search, sample, cache or return it is not the
checkpoint's to say; `generate` takes its own defaults for all that is not listed here.
"""

from typing import Any, NamedTuple

from reprise.core.errors import UserError
from reprise.models.local.torch_setup import prepare

prepare()

from transformers import GenerationConfig  # noqa: E402  prepare() must come first

KEPT = frozenset({
    "repetition_penalty", "encoder_repetition_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
    "bad_words_ids", "sequence_bias", "suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id",
    "forced_eos_token_id", "exponential_decay_length_penalty", "min_length", "min_new_tokens",
    "eos_token_id", "bos_token_id", "pad_token_id", "decoder_start_token_id",
})  # fmt: skip
# Of those, what looks at a prompt's tokens or counts them: tokens that fill up a batch would be taken for words.
OF_PROMPT = frozenset({
    "repetition_penalty", "encoder_repetition_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
    "min_length",
})  # fmt: skip
# What shapes texts as well, and is not computed here: the model is refused.
REFUSED = ("stop_strings", "guidance_scale", "watermarking_config", "token_healing")
# The tokens that a text begins and ends with: every checkpoint names them.
MARKS = frozenset({"eos_token_id", "bos_token_id", "pad_token_id", "decoder_start_token_id"})
# What says nothing: a file's words on itself, and values that change nothing.
ABOUT = frozenset({"transformers_version", "_from_model_config", "generation_kwargs"})
NEUTRAL = {
    "use_cache": True, "do_sample": False, "num_beams": 1, "num_return_sequences": 1, "max_length": 20,
    "output_attentions": False, "output_hidden_states": False, "output_scores": False, "output_logits": False,
    "return_dict_in_generate": False, "repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0, "min_length": 0, "min_new_tokens": 0,
}  # fmt: skip


class Generation(NamedTuple):
    """A checkpoint's own settings of how texts are written."""

    kept: dict[str, Any]
    replaced: dict[str, Any]
    """those in whose place a default stands"""

    @classmethod
    def of(cls, config: GenerationConfig, where: object) -> "Generation":
        """Those of a configuration; a UserError where one of them changes texts and cannot be kept."""
        said = {
            name: value
            for name, value in config.to_diff_dict().items()
            if name not in ABOUT and value is not None and (name not in NEUTRAL or NEUTRAL[name] != value)
        }
        refused = [name for name in REFUSED if said.get(name)]
        if refused:
            raise UserError(
                f"{where}: `{refused[0]}` in generation_config.json (or config.json) shapes what the model writes, and "
                "is not supported here. Remove it from a copy of the checkpoint, which then writes other texts, or "
                "import answers that were made elsewhere."
            )
        kept = {name: value for name, value in said.items() if name in KEPT}
        return cls(kept, {name: value for name, value in said.items() if name not in KEPT})

    @property
    def told(self) -> dict[str, Any]:
        """Of what is kept, that which a person may not expect."""
        return {name: value for name, value in self.kept.items() if name not in MARKS}


def looks_at_prompt(model: Any) -> bool:
    """Whether the tokens of a prompt, and how many they are, shape what a model writes beside its own numbers."""
    return any(getattr(model.generation_config, name) is not None for name in OF_PROMPT)


def keep_to_list(model: Any, where: object) -> None:
    """Have `generate` know of a model's own settings those that are kept, and no other."""
    model.generation_config = GenerationConfig(**Generation.of(model.generation_config, where).kept)
