"""Query text-only models: language models, and VERA, which estimates the plausibility of a statement."""

from collections.abc import Iterator, Sequence
from functools import partial

from reprise.models.local.torch_setup import torch

from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, T5EncoderModel

from reprise.models.base import Answer, ClipFrames, ModelSpec, Request
from reprise.models.local.checkpoints import (
    answer_or_error,
    check_context_length,
    check_scores,
    compute_option_probabilities,
    decode_answer,
    generate_tokens,
    get_context_length,
    get_input_device,
    load_model,
    load_part,
    set_thread_count,
    tokenize_options,
)
from reprise.models.settings import TextSettings
from reprise.models.thoughts import has_open_thought

# VERA's authors store its linear head in rows of the embedding matrix that no word uses.
VERA_WEIGHT, VERA_BIAS, VERA_TEMPERATURE = 32099, 32098, 32097
# Maximum number of tokens of a statement; longer ones are truncated.
VERA_TOKENS = 512


class TextAdapter:
    """A text-only model, which never receives a frame."""

    def __init__(self, spec: ModelSpec) -> None:
        set_thread_count(spec)
        settings = TextSettings.model_validate(spec.settings)
        self._model = LanguageModel(spec, settings) if settings.head is None else Vera(spec)

    def begin_run(self, spec: ModelSpec) -> None:
        if isinstance(self._model, LanguageModel):
            self._model.check_options(spec)

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            yield answer_or_error(partial(self._model.answer, request))


class LanguageModel:
    """A decoder-only or encoder-decoder model, depending on the checkpoint's configuration."""

    def __init__(self, spec: ModelSpec, settings: TextSettings) -> None:
        self._has_encoder = bool(load_part(AutoConfig, spec).is_encoder_decoder)
        self._tokenizer = load_part(AutoTokenizer, spec)
        self._max_tokens, self._arguments = settings.max_tokens, settings.template_arguments
        self._opens_thought = has_open_thought(self._render_prompt("", "The question."))
        self.check_options(spec)
        self._model = load_model(AutoModelForSeq2SeqLM if self._has_encoder else AutoModelForCausalLM, spec)

    def check_options(self, spec: ModelSpec) -> None:
        """Raise a UserError if the model cannot score the options of the run."""
        check_scores(spec, self._tokenizer, opens_thought=self._opens_thought)

    def answer(self, request: Request) -> Answer:
        text = self._render_prompt(request.system, request.prompt)
        needs_special_tokens = not self._tokenizer.chat_template  # A chat template has added them to the text.
        encoded = self._tokenizer(text, add_special_tokens=needs_special_tokens, return_tensors="pt")
        device = get_input_device(self._model)
        inputs = {name: encoded[name].to(device) for name in ("input_ids", "attention_mask")}
        tokens_in = int(inputs["input_ids"].shape[1])
        max_answer_tokens = 0 if request.request_type == "score" else self._max_tokens or request.max_tokens
        # The output of an encoder-decoder model does not share the context with the prompt.
        check_context_length(
            tokens_in, 0 if self._has_encoder else max_answer_tokens, get_context_length(self._model.config)
        )
        if request.request_type == "score":
            options = tokenize_options(self._tokenizer, request.options)
            if self._has_encoder:
                start = torch.tensor([[self._model.config.decoder_start_token_id]], device=device)
                output = self._model(**inputs, decoder_input_ids=start)
            else:
                output = self._model(**inputs, logits_to_keep=1)
            return Answer(scores=compute_option_probabilities(output.logits[0, -1], options), tokens_in=tokens_in)
        # A decoder-only model continues the prompt; an encoder-decoder model starts with one token of its own.
        new_tokens = generate_tokens(self._model, inputs, max_answer_tokens)[0][1 if self._has_encoder else tokens_in :]
        return decode_answer(self._tokenizer, new_tokens, opens_thought=self._opens_thought, tokens_in=tokens_in)

    def _render_prompt(self, system: str, prompt: str) -> str:
        """Render the prompt with the tokenizer's chat template if there is one, else join system text and prompt."""
        if not self._tokenizer.chat_template:
            return f"{system}\n\n{prompt}" if system else prompt
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        arguments = {**self._arguments, "add_generation_prompt": True, "tokenize": False}
        return str(self._tokenizer.apply_chat_template(messages, **arguments))


class Vera:
    """VERA: a T5 encoder with a linear head on the last token, calibrated to the plausibility of a statement."""

    def __init__(self, spec: ModelSpec) -> None:
        self._tokenizer = load_part(AutoTokenizer, spec)
        self._model = load_model(T5EncoderModel, spec)
        self._embeddings = self._model.shared.weight

    def answer(self, request: Request) -> Answer:
        encoded = self._tokenizer(request.prompt, truncation=True, max_length=VERA_TOKENS, return_tensors="pt")
        ids = encoded["input_ids"].to(get_input_device(self._model))
        hidden = self._model(input_ids=ids).last_hidden_state[0, -1]
        # The output of a model on several devices may be on another device than the embedding table.
        rows = (self._embeddings[row].to(hidden.device) for row in (VERA_WEIGHT, VERA_BIAS, VERA_TEMPERATURE))
        weight, bias, temperature = rows
        # Double precision distinguishes nearly certain statements, whose plausibilities round to 1 otherwise.
        logit = (hidden @ weight + bias[0]).double() / temperature[0].double()
        return Answer(scores=(float(torch.sigmoid(logit)),), tokens_in=int(ids.shape[1]))
