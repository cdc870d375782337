"""What a processor makes of a clip and of the questions about it, and the proof that the plan's frames are in it.

Needs the processor and the configuration of a checkpoint, not its weights: it can work ahead, in another process.
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
from reprise.models.local.checkpoints import check_length, context_of, load_part, load_processor
from reprise.models.settings import TransformersSettings
from reprise.models.thoughts import opens_thought

VIDEO, IMAGES = "video", "images"
KINDS = {VIDEO: "video", IMAGES: "image"}
"""A way to show frames -> what a chat template calls each part of it."""
TYPES = ("mm_token_type_ids", "token_type_ids")
TEXTUAL = ("input_ids", "attention_mask", *TYPES)
SYSTEM, USER = "The system text.", "The question."
PLACEHOLDERS = ("image_token_id", "video_token_id", "image_token_index", "video_token_index")


@dataclass(frozen=True)
class ClipInputs:
    """A clip as it was prepared, once for all questions about it; without frames in a blind run."""

    frames: int = 0
    """of the plan, each of them found in what the processor made"""
    tensors: Mapping[str, Any] = field(default_factory=dict)
    """what the model is given besides a question's tokens"""
    replacements: tuple[str, ...] = ()
    """what stands in a question's text for the video, or for each image"""
    placeholders: int = 0
    """tokens of a question in whose place the model sees the clip"""
    types: tuple[str, ...] = ()
    """what says of each token whether the clip is in its place"""
    footage: Footage | None = None
    """the frames themselves, for a processor that cannot prepare a clip apart from a question"""


class Template:
    """A checkpoint's chat template, which renders questions; tells once what it cannot do."""

    def __init__(self, processor: Any, arguments: Mapping[str, Any]) -> None:
        self._processor, self._arguments = processor, dict(arguments)
        try:
            self._rendered("", USER, ())
        except Exception as error:  # of the template's code, in any of its words
            words = getattr(processor, "tokenizer", processor)
            raise UserError(
                f"{words.name_or_path}: its chat template (chat_template.jinja, or in processor_config.json or "
                f"tokenizer_config.json) cannot render a question: {type(error).__name__}: {error}. Correct it, or use "
                "a revision whose template works."
            ) from error
        count = self.count(SYSTEM, SYSTEM)
        self._prints_system = count == 1
        if count != 1:
            log.info(f"the chat template prints the system text {count} times: it is put before the question instead")

    def render(self, system: str, prompt: str, visuals: Sequence[str] = ()) -> str:
        """The text that the model reads: after `visuals`, such as `video` or several times `image`, the question.

        A template that prints the system text twice, or not at all, is given it before the question instead.
        """
        if system and not self._prints_system:
            system, prompt = "", f"{system}\n\n{prompt}"
        return self._rendered(system, prompt, visuals)

    def count(self, text: str, system: str = "", visuals: Sequence[str] = ()) -> int:
        """How often a text stands in a question; never where the template refuses what it has no place for."""
        try:
            return self._rendered(system, USER, visuals).count(text)
        except Exception:  # of the template's code
            return 0

    def _rendered(self, system: str, prompt: str, visuals: Sequence[str]) -> str:
        content = [{"type": kind} for kind in visuals] + [{"type": "text", "text": prompt}]
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if system:
            messages.insert(0, {"role": "system", "content": [{"type": "text", "text": system}]})
        given = self._arguments | {"add_generation_prompt": True, "tokenize": False}
        return str(self._processor.apply_chat_template(messages, **given))


class ClipProcessor:
    """Prepares clips and questions by a checkpoint; `prepare` is for a clip, `ask` for each question about it."""

    def __init__(self, spec: ModelSpec) -> None:
        self._settings = settings = TransformersSettings.model_validate(spec.settings)
        self.processor, config = load_processor(spec), load_part(AutoConfig, spec)
        self._videos: Any = getattr(self.processor, "video_processor", None)
        self._template = Template(self.processor, settings.template_arguments)
        self.opens_thought = opens_thought(self._template.render("", ""))
        self._placeholders = [number for name in PLACEHOLDERS if isinstance(number := getattr(config, name, None), int)]
        self.context = context_of(config.get_text_config())
        if settings != TransformersSettings():  # a UserError now where frames cannot be shown so
            size_for(settings, self._videos if self.mode == VIDEO else None, 1)

    @cached_property
    def mode(self) -> str:
        """How frames are shown: as the settings say, or as a video if the checkpoint takes one, or as images."""
        wanted = self._settings.frames
        for mode in ([wanted] if wanted else KINDS) if self._placeholders else ():
            kind, visuals = KINDS[mode], [KINDS[mode]] * (1 if mode == VIDEO else 2)
            token = getattr(self.processor, f"{kind}_token", None)
            has_processor = getattr(self.processor, f"{kind}_processor", None) is not None
            if has_processor and token and self._template.count(token, visuals=visuals) == len(visuals):
                return mode
        what = f"frames as {wanted}" if wanted else "frames, neither as a video nor as images"
        raise UserError(
            f"{self.processor.tokenizer.name_or_path}: {type(self.processor).__name__} and its chat template do not "
            f"show the model {what}. Use a checkpoint or a revision that does, correct `settings.frames` in the "
            "model's file, or ask this model by `sampling: none`."
        )

    @cached_property
    def _is_apart(self) -> bool:
        """Whether a clip can be prepared apart from the questions, as nearly all of the library's processors can."""
        name = f"replace_{KINDS[self.mode]}_token"
        return getattr(type(self.processor), name) is not getattr(ProcessorMixin, name)

    # --- a clip --------------------------------------------------------------------------------------------------

    def prepare(self, footage: Footage | None) -> ClipInputs:
        """A clip's inputs; an AnswerError where what the processor made of it is not the frames of the plan."""
        if footage is None or not len(footage.frames):
            return ClipInputs()
        text = self._text("", "", len(footage.frames))
        made = self._made(text, footage, **({"return_text_replacement_offsets": True} if self._is_apart else {}))
        self._check_pictures(made, footage)
        offsets = made.pop("text_replacement_offsets", [[]])[0]
        apart = ClipInputs(
            frames=len(footage.frames),
            tensors={name: torch.as_tensor(value) for name, value in made.items() if name not in self._of_questions},
            replacements=tuple(one["replacement"] for one in offsets),
            placeholders=self._places_in(made["input_ids"]),
            types=tuple(name for name in TYPES if name in made),
        )
        if self._is_apart:
            tokens, names = self._tokens(text, apart), [name for name in made if name in self._of_questions]
            if sorted(tokens) == sorted(names) and all(torch.equal(tokens[name], made[name]) for name in names):
                return apart
        return replace(apart, tensors={}, footage=footage)

    @cached_property
    def _of_questions(self) -> frozenset[str]:
        """The names of what belongs to a question: what is not the same in what the processor makes of the same frames
        with two questions, one longer than the other."""
        black = self._black(1)
        short, long = (self._made(self._text("", prompt, 1), black) for prompt in ("", "A question. " * 8))
        both = short.keys() & long.keys()
        alike = {name for name in both if torch.equal(torch.as_tensor(short[name]), torch.as_tensor(long[name]))}
        return frozenset((short.keys() | long.keys()) - alike)

    @staticmethod
    def _black(frames: int) -> Footage:
        return Footage(np.zeros((frames, 64, 64, 3), np.uint8), tuple(range(frames)), 1.0, frames)

    def _made(self, text: str, footage: Footage, **options: Any) -> dict[str, Any]:
        images = {"images": [Image.fromarray(frame) for frame in footage.frames]}
        given = images if self.mode == IMAGES else self._video(footage)
        return dict(self.processor(text=[text], return_tensors="pt", **given, **self._specials(text), **options))

    def _video(self, footage: Footage) -> dict[str, Any]:
        """Frames that are sampled already, whatever the checkpoint's own setting is, with the times that they have.

        A class that looks at several frames together refuses fewer: they are filled with the last frame, as the
        classes themselves fill an odd number.
        """
        last = len(footage.frames) - 1
        if last + 1 < self._together:
            shown = [min(at, last) for at in range(self._together)]
            footage = footage._replace(frames=footage.frames[shown], places=tuple(footage.places[at] for at in shown))
        return self._given(footage)

    def _given(self, footage: Footage) -> dict[str, Any]:
        # Where the frames are in their clip: without it processors assume 24 frames a second, and models with temporal
        # positions squeeze the clip together.
        metadata = {
            "total_num_frames": footage.total,
            "fps": footage.rate,
            "duration": footage.total / footage.rate,
            "frames_indices": list(footage.places),  # a list of its own: some classes lengthen it
        }
        options = {"do_sample_frames": False, **size_for(self._settings, self._videos, len(footage.frames))}
        return {"videos": [footage.frames], "video_metadata": [metadata], **options}

    @cached_property
    def _named_together(self) -> int:
        return int(getattr(self._videos, "temporal_patch_size", 1)) if self.mode == VIDEO else 1

    @cached_property
    def _together(self) -> int:
        """How many frames the model looks at together, as one picture.

        A class that names a number may also mean the length of its segments, so it is tried.
        """
        named = self._named_together
        if named == 1:
            return 1
        return named // pictures_in(self._videos(**self._given(self._black(named)), return_tensors="pt"))

    def _check_pictures(self, made: Mapping[str, Any], footage: Footage) -> None:
        """The pictures that were made must be those of the frames: as many for each as for one alone."""
        frames, together = len(footage.frames), self._together
        wanted = -(-frames // together)
        if self.mode == IMAGES or sizes_in(made) is not None:
            alone = footage._replace(frames=footage.frames[:1], places=footage.places[:1])
            wanted *= pictures_in(self._made(self._text("", "", 1), alone))
        found = pictures_in(made)
        # Where the model itself looks at several pictures together, its processor may fill them up with the last one.
        filled = -(-wanted // self._named_together) * self._named_together if together == 1 else wanted
        if found not in (wanted, filled) or found == 0 or self._places_in(made["input_ids"]) == 0:
            raise AnswerError(
                "not_shown",
                f"{frames} frames are {wanted} pictures, {found} came out of {type(self.processor).__name__}",
            )

    def end_of_clip(self, ids: Any) -> int:
        """How many tokens of a question there are up to the last one in whose place the model sees the clip."""
        places = torch.isin(ids[0], torch.tensor(self._placeholders)).nonzero()
        return int(places[-1]) + 1 if len(places) else 0

    def _places_in(self, ids: Any) -> int:
        return int(torch.isin(ids, torch.tensor(self._placeholders)).sum())

    # --- a question ----------------------------------------------------------------------------------------------

    def ask(self, request: Request, clip: ClipInputs) -> dict[str, Any]:
        """What the model is given of a question: its tokens and, where they are not in `clip`, the frames."""
        text = self._text(request.system, request.prompt, clip.frames)
        made = self._tokens(text, clip) if clip.footage is None else self._made(text, clip.footage)
        places, length = self._places_in(made["input_ids"]), int(made["input_ids"].shape[1])
        if places != clip.placeholders:
            raise AnswerError(
                "not_shown", f"{places} tokens of the prompt stand for frames, {clip.placeholders} are needed"
            )
        check_length(length, self.limit(request), self.context)
        return made

    def limit(self, request: Request) -> int:
        """The most tokens that are written as an answer; none where the first one's probabilities are the answer."""
        return 0 if request.ask == "score" else self._settings.max_tokens or request.max_tokens

    def _text(self, system: str, prompt: str, frames: int) -> str:
        if frames == 0:
            return self._template.render(system, prompt)
        return self._template.render(system, prompt, ["video"] if self.mode == VIDEO else ["image"] * frames)

    def _tokens(self, text: str, clip: ClipInputs) -> dict[str, Any]:
        """The tokens of a text as the processor's own call makes them, with the parts of the clip in their places."""
        if not clip.frames:
            return dict(self.processor(text=[text], return_tensors="pt", **self._specials(text)))
        mark, needed = getattr(self.processor, f"{KINDS[self.mode]}_token"), len(clip.replacements)
        if text.count(mark) != needed:
            raise AnswerError("not_shown", f"the prompt has {text.count(mark)} marks {mark}, {needed} are for frames")
        parts = {f"{KINDS[self.mode]}s_replacements": list(clip.replacements)}
        (text,), _ = self.processor.get_text_with_replacements([text], **parts)
        options = {**getattr(self.processor, "text_kwargs", {}), **self._specials(text), "return_tensors": None}
        made = dict(self.processor.tokenizer([text], **options))
        if clip.types:
            made |= dict.fromkeys(clip.types, self.processor.create_mm_token_type_ids(made["input_ids"]))
        return {name: torch.as_tensor(value) for name, value in made.items()}

    def _specials(self, text: str) -> dict[str, bool]:
        """A tokenizer adds the token that begins a text, unless the chat template wrote it already."""
        begin = self.processor.tokenizer.bos_token
        return {"add_special_tokens": False} if begin and text.startswith(begin) else {}


# --- pixels --------

# Class of a video processor -> whether its least and its most pixels are those of all frames together, or of one.
LIMITED = {
    "Qwen2VLVideoProcessor": (False, False),
    "VideoLlama3VideoProcessor": (False, True),
    "Qwen3VLVideoProcessor": (True, True),
    "Glm4vVideoProcessor": (True, True),
    "Glm46VVideoProcessor": (True, True),
}


def size_for(settings: TransformersSettings, video_processor: Any, frames: int) -> dict[str, Any]:
    """The arguments that limit the pixels of a clip with this many frames; a UserError where they would not be kept."""
    options: dict[str, Any] = {}
    if getattr(video_processor, "cap_pixels_per_frame", False) is None:
        options["cap_pixels_per_frame"] = False  # unset, it is to change with a later version
    given = [name for name in ("min_pixels", "max_pixels", "total_pixels") if getattr(settings, name) is not None]
    kind = type(video_processor).__name__
    if not given:
        return options
    if kind not in LIMITED:
        where = f"{kind} has a fixed size" if video_processor is not None else "it is shown images"
        raise UserError(
            f"settings.{given[0]}: this model has no limits of pixels: {where}. "
            f"Remove {', '.join(given)} from its file."
        )
    own, (least_of_all, most_of_all) = video_processor.size, LIMITED[kind]
    least = settings.min_pixels and settings.min_pixels * (frames if least_of_all else 1)
    most = settings.max_pixels
    if settings.total_pixels is not None and most is not None and settings.min_pixels is not None:
        most = int(max(min(most, settings.total_pixels / frames * 2), int(settings.min_pixels * 1.05)))
    most = most and most * (frames if most_of_all else 1)
    size = {"shortest_edge": least or own["shortest_edge"], "longest_edge": most or own["longest_edge"]}
    return options | {"size": size}


def pictures_in(made: Mapping[str, Any]) -> int:
    """How many pictures a processor made of frames; zero where it made none, or not as many as it says."""
    pixels = made.get("pixel_values_videos", made.get("pixel_values"))
    if pixels is None:
        return 0
    grid = made.get("video_grid_thw", made.get("image_grid_thw"))
    if grid is not None:
        return int(grid[:, 0].sum()) if len(pixels) == int(grid.prod(-1).sum()) else 0
    sizes = sizes_in(made)
    if sizes is not None:  # all pictures side by side
        return len(sizes) if pixels.shape[-1] == int(sizes.prod(-1).sum()) * pixels.shape[-2] else 0
    if pixels.ndim == 3:  # pictures, each cut into patches
        return len(pixels)
    return math.prod(pixels.shape[:-3])


def sizes_in(made: Mapping[str, Any]) -> Any:
    """The sizes of pictures that a processor put side by side, some of which may be parts of a frame."""
    return made.get("target_sizes_videos", made.get("target_sizes"))
