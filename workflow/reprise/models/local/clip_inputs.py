"""Make model inputs from a clip and its questions, and check that they contain all frames of the plan.

This module needs the processor and the configuration of a checkpoint, but not its weights. A worker process can
therefore prepare clips ahead.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from reprise.models.local.torch_setup import torch

import numpy as np
from PIL import Image
from transformers import AutoConfig, ProcessorMixin

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.media.decoder import Footage
from reprise.models.base import AnswerError, ModelSpec, Request
from reprise.models.local.checkpoints import check_context_length, get_context_length, load_part, load_processor
from reprise.models.settings import TransformersSettings
from reprise.models.thoughts import has_open_thought

VIDEO, IMAGES = "video", "images"
PROCESSOR_PREFIXES = {VIDEO: "video", IMAGES: "image"}
"""frame mode -> prefix of the processor's attributes, which is also the type of message parts in a chat template"""
# Names under which model classes accept the input that marks which tokens are placeholders.
TOKEN_TYPE_INPUTS = ("mm_token_type_ids", "token_type_ids")
TEXT_INPUTS = ("input_ids", "attention_mask", *TOKEN_TYPE_INPUTS)
# Texts of a trial question, with which the chat template is tested.
PROBE_SYSTEM, PROBE_PROMPT = "The system text.", "The question."
# Keys of a configuration that contain the id of the token that the embeddings of frames replace.
PLACEHOLDER_TOKEN_KEYS = ("image_token_id", "video_token_id", "image_token_index", "video_token_index")


@dataclass(frozen=True)
class ClipInputs:
    """The inputs for a clip, prepared once for all questions about it; without frames in a text-only run."""

    frame_count: int = 0
    """number of frames in the plan; the processor's output was verified to contain all of them"""
    tensors: Mapping[str, Any] = field(default_factory=dict)
    """model inputs apart from the tokens of a question"""
    replacements: tuple[str, ...] = ()
    """texts that replace the marker of the video, or of each image, in a question"""
    placeholder_count: int = 0
    """number of tokens of a question that the clip's embeddings replace"""
    token_type_inputs: tuple[str, ...] = ()
    """names of the inputs that mark which tokens are placeholders"""
    footage: Footage | None = None
    """the frames, for a processor that cannot prepare a clip separately from a question"""


class ChatTemplate:
    """A checkpoint's chat template, which renders questions; a missing system text is logged once."""

    def __init__(self, processor: Any, arguments: Mapping[str, Any]) -> None:
        self._processor, self._arguments = processor, dict(arguments)
        try:
            self._render("", PROBE_PROMPT, ())
        except Exception as error:  # a template's code may raise any error
            tokenizer = getattr(processor, "tokenizer", processor)
            raise UserError(
                f"{tokenizer.name_or_path}: its chat template (chat_template.jinja, or in processor_config.json or "
                f"tokenizer_config.json) cannot render a question: {type(error).__name__}: {error}. Correct it, or use "
                "a revision whose template works."
            ) from error
        count = self.count_occurrences(PROBE_SYSTEM, PROBE_SYSTEM)
        self._has_system = count == 1
        if count != 1:
            log.info(f"the chat template prints the system text {count} times; it is put before the question instead")

    def render(self, system: str, prompt: str, visuals: Sequence[str] = ()) -> str:
        """Return the text that the model reads: `visuals`, such as `video` or several times `image`, then the question.

        If the template does not print the system text exactly once, the text is put before the question.
        """
        if system and not self._has_system:
            system, prompt = "", f"{system}\n\n{prompt}"
        return self._render(system, prompt, visuals)

    def count_occurrences(self, text: str, system: str = "", visuals: Sequence[str] = ()) -> int:
        """Return how often a text occurs in a rendered question; 0 if the template rejects the message."""
        try:
            return self._render(system, PROBE_PROMPT, visuals).count(text)
        except Exception:  # a template's code may raise any error
            return 0

    def _render(self, system: str, prompt: str, visuals: Sequence[str]) -> str:
        content = [{"type": kind} for kind in visuals] + [{"type": "text", "text": prompt}]
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if system:
            messages.insert(0, {"role": "system", "content": [{"type": "text", "text": system}]})
        options = self._arguments | {"add_generation_prompt": True, "tokenize": False}
        return str(self._processor.apply_chat_template(messages, **options))


class ClipProcessor:
    """Prepare clips, and questions about them, with the processor of a checkpoint.

    A picture is one image in the processor's output: a frame, a part of a frame, or several frames merged into one.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self._settings = settings = TransformersSettings.model_validate(spec.settings)
        self.processor, config = load_processor(spec), load_part(AutoConfig, spec)
        self._video_processor: Any = getattr(self.processor, "video_processor", None)
        self._template = ChatTemplate(self.processor, settings.template_arguments)
        self.opens_thought = has_open_thought(self._template.render("", ""))
        self._placeholder_ids = [
            token_id for name in PLACEHOLDER_TOKEN_KEYS if isinstance(token_id := getattr(config, name, None), int)
        ]
        self.context_length = get_context_length(config.get_text_config())
        if settings != TransformersSettings():  # raise a UserError early if the checkpoint does not support them
            build_size_arguments(settings, self._video_processor if self.frame_mode == VIDEO else None, 1)

    @cached_property
    def frame_mode(self) -> str:
        """Return whether frames are passed to the model as a `video` or as `images`.

        The default is a video if the checkpoint supports it, else images.
        """
        setting = self._settings.frames
        candidate_modes = [setting] if setting else list(PROCESSOR_PREFIXES)
        if not self._placeholder_ids:
            candidate_modes = []
        for mode in candidate_modes:
            prefix = PROCESSOR_PREFIXES[mode]
            visuals = [prefix] * (1 if mode == VIDEO else 2)
            token = getattr(self.processor, f"{prefix}_token", None)
            has_processor = getattr(self.processor, f"{prefix}_processor", None) is not None
            if has_processor and token and self._template.count_occurrences(token, visuals=visuals) == len(visuals):
                return mode
        modes = f"frames as {setting}" if setting else "frames, neither as a video nor as images"
        raise UserError(
            f"{self.processor.tokenizer.name_or_path}: {type(self.processor).__name__} and its chat template do not "
            f"show the model {modes}. Use a checkpoint or revision that does, correct `settings.frames` in the model's "
            "file, or use `sampling: none` for this model."
        )

    @cached_property
    def _is_separable(self) -> bool:
        """Return whether a clip can be prepared without a question, as nearly all processors of transformers allow.

        Such a processor overrides the method that returns the replacement of a clip's marker.
        """
        name = f"replace_{PROCESSOR_PREFIXES[self.frame_mode]}_token"
        return getattr(type(self.processor), name) is not getattr(ProcessorMixin, name)

    # --- a clip --------------------------------------------------------------------------------------------------

    def prepare(self, footage: Footage | None) -> ClipInputs:
        """Return a clip's inputs; raise an AnswerError if the processor's output does not contain all frames."""
        if footage is None or not len(footage.frames):
            return ClipInputs()
        text = self._render_text("", "", len(footage.frames))
        options = {"return_text_replacement_offsets": True} if self._is_separable else {}
        output = self._process(text, footage, **options)
        self._check_pictures(output, footage)
        offsets = output.pop("text_replacement_offsets", [[]])[0]
        inputs = ClipInputs(
            frame_count=len(footage.frames),
            tensors={
                name: torch.as_tensor(value) for name, value in output.items() if name not in self._question_inputs
            },
            replacements=tuple(offset["replacement"] for offset in offsets),
            placeholder_count=self._count_placeholders(output["input_ids"]),
            token_type_inputs=tuple(name for name in TOKEN_TYPE_INPUTS if name in output),
        )
        if self._is_separable:
            # The clip can be reused only if the tokens of the text alone are those of processing text and frames.
            tokens = self._tokenize(text, inputs)
            expected = {name: value for name, value in output.items() if name in self._question_inputs}
            if tokens.keys() == expected.keys() and all(torch.equal(tokens[name], expected[name]) for name in tokens):
                return inputs
        # The frames are kept, because each question is processed together with them.
        return replace(inputs, tensors={}, footage=footage)

    @cached_property
    def _question_inputs(self) -> frozenset[str]:
        """Return the names of the inputs that belong to a question.

        They are the inputs that differ between a short and a long question about the same frames.
        """
        black_footage = self._black_footage(1)
        short, long = (
            self._process(self._render_text("", prompt, 1), black_footage) for prompt in ("", "A question. " * 8)
        )
        common = short.keys() & long.keys()
        constant = {name for name in common if torch.equal(torch.as_tensor(short[name]), torch.as_tensor(long[name]))}
        return frozenset((short.keys() | long.keys()) - constant)

    @staticmethod
    def _black_footage(frame_count: int) -> Footage:
        return Footage(np.zeros((frame_count, 64, 64, 3), np.uint8), tuple(range(frame_count)), 1.0, frame_count)

    def _process(self, text: str, footage: Footage, **options: Any) -> dict[str, Any]:
        images = {"images": [Image.fromarray(frame) for frame in footage.frames]}
        visuals = images if self.frame_mode == IMAGES else self._padded_video_arguments(footage)
        return dict(
            self.processor(text=[text], return_tensors="pt", **visuals, **self._special_token_options(text), **options)
        )

    def _padded_video_arguments(self, footage: Footage) -> dict[str, Any]:
        """Return arguments that pass the planned frames with their times, instead of the checkpoint's own sampling.

        A processor that merges several frames into one picture rejects fewer frames than that. Such a clip is padded
        with its last frame, in the same way as processors pad an odd number of frames.
        """
        last = len(footage.frames) - 1
        if last + 1 < self._frames_per_picture:
            indices = [min(index, last) for index in range(self._frames_per_picture)]
            footage = footage._replace(
                frames=footage.frames[indices], frame_indices=tuple(footage.frame_indices[index] for index in indices)
            )
        return self._video_arguments(footage)

    def _video_arguments(self, footage: Footage) -> dict[str, Any]:
        # The metadata contains the times of the frames. Without it, processors assume 24 frames per second, and models
        # with temporal positions would see a faster clip.
        metadata = {
            "total_num_frames": footage.total_frames,
            "fps": footage.fps,
            "duration": footage.total_frames / footage.fps,
            "frames_indices": list(footage.frame_indices),  # a copy, because some classes append to it
        }
        options = {
            "do_sample_frames": False,
            **build_size_arguments(self._settings, self._video_processor, len(footage.frames)),
        }
        return {"videos": [footage.frames], "video_metadata": [metadata], **options}

    @cached_property
    def _temporal_patch_size(self) -> int:
        return int(getattr(self._video_processor, "temporal_patch_size", 1)) if self.frame_mode == VIDEO else 1

    @cached_property
    def _frames_per_picture(self) -> int:
        """Return the number of frames that the processor merges into one picture.

        The number is measured, because the `temporal_patch_size` of some classes has another meaning.
        """
        stated_count = self._temporal_patch_size
        if stated_count == 1:
            return 1
        return stated_count // count_pictures(
            self._video_processor(**self._video_arguments(self._black_footage(stated_count)), return_tensors="pt")
        )

    def _check_pictures(self, output: Mapping[str, Any], footage: Footage) -> None:
        """Check that the processor made as many pictures per frame as it makes of a single frame."""
        frame_count, frames_per_picture = len(footage.frames), self._frames_per_picture
        expected_count = math.ceil(frame_count / frames_per_picture)
        if self.frame_mode == IMAGES or get_picture_sizes(output) is not None:  # A frame can be several pictures.
            one_frame_footage = footage._replace(frames=footage.frames[:1], frame_indices=footage.frame_indices[:1])
            expected_count *= count_pictures(self._process(self._render_text("", "", 1), one_frame_footage))
        picture_count = count_pictures(output)
        # If the model itself merges several pictures, its processor may repeat the last one to complete a group.
        padded_count = (
            math.ceil(expected_count / self._temporal_patch_size) * self._temporal_patch_size
            if frames_per_picture == 1
            else expected_count
        )
        has_all_pictures = picture_count in (expected_count, padded_count) and picture_count > 0
        if not has_all_pictures or self._count_placeholders(output["input_ids"]) == 0:
            raise AnswerError(
                "not_shown",
                f"{frame_count} frames are {expected_count} pictures, but {type(self.processor).__name__} returned "
                f"{picture_count}",
            )

    def find_clip_end(self, ids: Any) -> int:
        """Return the number of tokens up to and including the clip's last placeholder."""
        positions = torch.isin(ids[0], torch.tensor(self._placeholder_ids)).nonzero()
        return int(positions[-1]) + 1 if len(positions) else 0

    def _count_placeholders(self, ids: Any) -> int:
        return int(torch.isin(ids, torch.tensor(self._placeholder_ids)).sum())

    # --- a question ----------------------------------------------------------------------------------------------

    def build_question_inputs(self, request: Request, clip: ClipInputs) -> dict[str, Any]:
        """Return the model inputs for a question: its tokens, and the frames unless `clip` contains their inputs."""
        text = self._render_text(request.system, request.prompt, clip.frame_count)
        inputs = self._tokenize(text, clip) if clip.footage is None else self._process(text, clip.footage)
        placeholders, length = self._count_placeholders(inputs["input_ids"]), int(inputs["input_ids"].shape[1])
        if placeholders != clip.placeholder_count:
            raise AnswerError(
                "not_shown",
                f"the prompt has {placeholders} placeholder tokens for frames instead of {clip.placeholder_count}",
            )
        check_context_length(length, self.resolve_max_tokens(request), self.context_length)
        return inputs

    def resolve_max_tokens(self, request: Request) -> int:
        """Return the maximum number of new tokens; 0 if the answer consists of the first token's probabilities."""
        return 0 if request.request_type == "score" else self._settings.max_tokens or request.max_tokens

    def _render_text(self, system: str, prompt: str, frame_count: int) -> str:
        if frame_count == 0:
            return self._template.render(system, prompt)
        return self._template.render(system, prompt, ["video"] if self.frame_mode == VIDEO else ["image"] * frame_count)

    def _tokenize(self, text: str, clip: ClipInputs) -> dict[str, Any]:
        """Tokenize a text like the processor itself, after replacing the markers of the clip."""
        if not clip.frame_count:
            return dict(self.processor(text=[text], return_tensors="pt", **self._special_token_options(text)))
        marker = getattr(self.processor, f"{PROCESSOR_PREFIXES[self.frame_mode]}_token")
        expected = len(clip.replacements)
        if text.count(marker) != expected:
            raise AnswerError(
                "not_shown", f"the prompt has {text.count(marker)} markers {marker} instead of {expected}"
            )
        parts = {f"{PROCESSOR_PREFIXES[self.frame_mode]}s_replacements": list(clip.replacements)}
        (text,), _ = self.processor.get_text_with_replacements([text], **parts)
        options = {
            **getattr(self.processor, "text_kwargs", {}),
            **self._special_token_options(text),
            "return_tensors": None,
        }
        inputs = dict(self.processor.tokenizer([text], **options))
        if clip.token_type_inputs:
            inputs |= dict.fromkeys(
                clip.token_type_inputs, self.processor.create_mm_token_type_ids(inputs["input_ids"])
            )
        return {name: torch.as_tensor(value) for name, value in inputs.items()}

    def _special_token_options(self, text: str) -> dict[str, bool]:
        """Return tokenizer options that prevent a second begin-of-text token if the chat template has written one."""
        bos_token = self.processor.tokenizer.bos_token
        return {"add_special_tokens": False} if bos_token and text.startswith(bos_token) else {}


# --- pixels --------------------------------------------------------------------------------------------------------

# Class of a video processor -> (minimum, maximum): True if this pixel limit applies to all frames together, False if to
# each frame.
PIXEL_LIMIT_SCOPES = {
    "Qwen2VLVideoProcessor": (False, False),
    "VideoLlama3VideoProcessor": (False, True),
    "Qwen3VLVideoProcessor": (True, True),
    "Glm4vVideoProcessor": (True, True),
    "Glm46VVideoProcessor": (True, True),
}


def build_size_arguments(settings: TransformersSettings, video_processor: Any, frame_count: int) -> dict[str, Any]:
    """Return arguments that limit the pixels of a clip; raise a UserError if the processor would ignore them."""
    options: dict[str, Any] = {}
    if getattr(video_processor, "cap_pixels_per_frame", False) is None:
        options["cap_pixels_per_frame"] = False  # a later version of transformers will change the default
    limits = [name for name in ("min_pixels", "max_pixels", "total_pixels") if getattr(settings, name) is not None]
    processor_class = type(video_processor).__name__
    if not limits:
        return options
    if processor_class not in PIXEL_LIMIT_SCOPES:
        reason = f"{processor_class} has a fixed size" if video_processor is not None else "it receives images"
        raise UserError(
            f"settings.{limits[0]}: this model has no pixel limits: {reason}. Remove {', '.join(limits)} from its file."
        )
    default_size, (is_min_total, is_max_total) = video_processor.size, PIXEL_LIMIT_SCOPES[processor_class]
    min_pixels = settings.min_pixels and settings.min_pixels * (frame_count if is_min_total else 1)
    max_pixels = settings.max_pixels
    if settings.total_pixels is not None and max_pixels is not None and settings.min_pixels is not None:
        # The formula of `qwen_vl_utils`, which merges two frames into one and keeps the maximum 5 % above the minimum.
        max_pixels = int(max(min(max_pixels, settings.total_pixels / frame_count * 2), int(settings.min_pixels * 1.05)))
    max_pixels = max_pixels and max_pixels * (frame_count if is_max_total else 1)
    size = {
        "shortest_edge": min_pixels or default_size["shortest_edge"],
        "longest_edge": max_pixels or default_size["longest_edge"],
    }
    return options | {"size": size}


def count_pictures(output: Mapping[str, Any]) -> int:
    """Return the number of pictures that a processor made of frames; 0 if its output is inconsistent."""
    pixels = output.get("pixel_values_videos", output.get("pixel_values"))
    if pixels is None:
        return 0
    grid = output.get("video_grid_thw", output.get("image_grid_thw"))
    if grid is not None:  # rows of (pictures, height, width); heights and widths are counted in patches
        return int(grid[:, 0].sum()) if len(pixels) == int(grid.prod(-1).sum()) else 0
    sizes = get_picture_sizes(output)
    if sizes is not None:  # the square patches of all pictures are concatenated side by side; sizes count patches
        return len(sizes) if pixels.shape[-1] == int(sizes.prod(-1).sum()) * pixels.shape[-2] else 0
    if pixels.ndim == 3:  # each picture is divided into patches
        return len(pixels)
    return math.prod(pixels.shape[:-3])


def get_picture_sizes(output: Mapping[str, Any]) -> Any:
    """Return the sizes of pictures that a processor concatenated; a picture may be a part of a frame."""
    return output.get("target_sizes_videos", output.get("target_sizes"))
