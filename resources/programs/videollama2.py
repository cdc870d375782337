"""VideoLLaMA2-72B as `mm_infer` of its authors asks it.

The folder holds `VideoLLaMA2-72B/`, the authors' repository of weights, and of `openai/clip-vit-large-patch14-336/` the
settings. As many frames as the plan has are shown, up to the 32 that their code keeps; their own number is 8. Attention
of the vision tower is PyTorch's own in place of flash-attention.
"""

import os

import torch
from videollama2.constants import DEFAULT_VIDEO_TOKEN, MAX_FRAMES
from videollama2.mm_utils import process_video, tokenizer_multimodal_token
from videollama2.model import encoder, load_pretrained_model


class Tower(encoder.CLIPVisionModel):
    """What the authors' code makes with flash-attention, which CLIP of these transformers has not."""

    def __init__(self, config):
        config._attn_implementation = "eager"
        super().__init__(config)


def load(folder, device):
    global tokenizer, model, processor
    encoder.CLIPVisionModel = Tower
    os.chdir(folder)  # the checkpoint names its vision tower by a path from here
    tokenizer, model, processor, _ = load_pretrained_model("VideoLLaMA2-72B", None, "VideoLLaMA2-72B")
    model.eval()
    if model.config.model_type != "videollama2_qwen2":
        raise RuntimeError(f"{folder}: this is a {model.config.model_type}, whose prompt has other words")


def asked(frames, prompt):
    """The tokens of a question, and the frames as the model takes them."""
    if len(frames) > MAX_FRAMES:
        raise ValueError(f"{len(frames)} frames; the authors' code shows {MAX_FRAMES} of them at most")
    shown, content = None, f"\n{prompt}"
    if len(frames):
        video = process_video(list(frames), processor, aspect_ratio=None, num_frames=len(frames))
        shown, content = [(video.to(model.device, torch.float16), "video")], DEFAULT_VIDEO_TOKEN + content
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
    )
    tokens = tokenizer_multimodal_token(text, tokenizer, DEFAULT_VIDEO_TOKEN, return_tensors="pt")[None]
    return tokens.to(model.device), {"images": shown, "attention_mask": torch.ones_like(tokens).to(model.device)}


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    tokens, shown = asked(frames, prompt)
    end = tokenizer.eos_token_id
    found = model.generate(tokens, **shown, do_sample=False, max_new_tokens=max_tokens, pad_token_id=end)
    return tokenizer.decode(found[0], skip_special_tokens=True).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    tokens, shown = asked(frames, prompt)
    chances = model(tokens, **shown).logits[0, -1].float().softmax(-1)
    ids = [tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(one) != 1 for one in ids):
        raise ValueError(f"{options} are not one token each")
    return [chances[one[0]].item() for one in ids]
