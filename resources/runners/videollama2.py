"""VideoLLaMA2-72B, queried as in its authors' `mm_infer`.

The folder holds `VideoLLaMA2-72B/`, the authors' weights repository, and the configuration files of
`openai/clip-vit-large-patch14-336/`. The frames of the plan are used, up to the 32 that the authors' code accepts;
their own number is 8. Attention of the vision tower is PyTorch's own instead of flash-attention.
"""

import os

import torch
from videollama2.constants import DEFAULT_VIDEO_TOKEN, MAX_FRAMES
from videollama2.mm_utils import process_video, tokenizer_multimodal_token
from videollama2.model import encoder, load_pretrained_model


class EagerVisionTower(encoder.CLIPVisionModel):
    """The vision tower without the flash-attention that the authors' code requests and this version of CLIP lacks."""

    def __init__(self, config):
        config._attn_implementation = "eager"
        super().__init__(config)


def load(folder, device):
    global tokenizer, model, processor
    encoder.CLIPVisionModel = EagerVisionTower
    os.chdir(folder)  # the checkpoint uses a relative path to its vision tower
    tokenizer, model, processor, _ = load_pretrained_model("VideoLLaMA2-72B", None, "VideoLLaMA2-72B")
    model.eval()
    if model.config.model_type != "videollama2_qwen2":
        raise RuntimeError(f"{folder}: the model type is {model.config.model_type}, which needs another prompt")


def build_inputs(frames, prompt):
    """Return the tokens of a question, and the frames as model inputs."""
    if len(frames) > MAX_FRAMES:
        raise ValueError(
            f"the authors' code takes at most {MAX_FRAMES} frames, but got {len(frames)}. Use another sampling."
        )
    images, content = None, f"\n{prompt}"
    if len(frames):
        video = process_video(list(frames), processor, aspect_ratio=None, num_frames=len(frames))
        images, content = [(video.to(model.device, torch.float16), "video")], DEFAULT_VIDEO_TOKEN + content
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
    )
    tokens = tokenizer_multimodal_token(text, tokenizer, DEFAULT_VIDEO_TOKEN, return_tensors="pt")[None]
    return tokens.to(model.device), {"images": images, "attention_mask": torch.ones_like(tokens).to(model.device)}


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    tokens, inputs = build_inputs(frames, prompt)
    end = tokenizer.eos_token_id
    output = model.generate(tokens, **inputs, do_sample=False, max_new_tokens=max_tokens, pad_token_id=end)
    return tokenizer.decode(output[0], skip_special_tokens=True).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    tokens, inputs = build_inputs(frames, prompt)
    probabilities = model(tokens, **inputs).logits[0, -1].float().softmax(-1)
    ids = [tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(option_ids) != 1 for option_ids in ids):
        raise ValueError(f"each of {options} must be a single token")
    return [probabilities[option_ids[0]].item() for option_ids in ids]
