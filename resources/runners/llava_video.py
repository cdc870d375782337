"""LLaVA-Video as in docs/LLaVA_Video_1003.md of its authors' repository, at the commit of envs/authors-4.40.txt."""

import copy
from pathlib import Path

import torch
from llava.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
from llava.conversation import conv_templates
from llava.mm_utils import tokenizer_image_token
from llava.model.builder import load_pretrained_model
from llava.model.multimodal_encoder.siglip_encoder import SigLipVisionConfig, SigLipVisionModel
from safetensors import safe_open


def load(folder, device):
    global tokenizer, model, processor
    if device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("no GPU is available")
    # The checkpoint includes the trained vision tower, so the original one is not fetched from the hub.
    SigLipVisionModel.from_pretrained = classmethod(lambda cls, name, **kwargs: cls(SigLipVisionConfig()))
    settings = {"torch_dtype": "bfloat16", "device_map": "auto", "attn_implementation": "sdpa"}
    tokenizer, model, processor, _ = load_pretrained_model(folder, None, "llava_qwen", **settings)
    files = [safe_open(path, "pt") for path in Path(folder).glob("*.safetensors")]
    missing = set(model.state_dict()) - {name for file in files for name in file.keys()}  # noqa: SIM118
    if missing:
        raise RuntimeError(f"{folder}: {len(missing)} weights are missing, such as {sorted(missing)[0]}")
    model.eval()


def build_inputs(frames, times, prompt):
    """Return the tokens of a question, and the frames as model inputs."""
    if len(frames):
        located = ",".join(f"{time_s:.2f}s" for time_s in times)
        prompt = (
            f"{DEFAULT_IMAGE_TOKEN}The video lasts for {times.duration:.2f} seconds, and {len(frames)} frames are "
            f"uniformly sampled from it. These frames are located at {located}.Please answer the following questions "
            f"related to this video.\n{prompt}"
        )
    conversation = copy.deepcopy(conv_templates["qwen_1_5"])
    conversation.append_message(conversation.roles[0], prompt)
    conversation.append_message(conversation.roles[1], None)
    tokens = tokenizer_image_token(conversation.get_prompt(), tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
    if len(frames):
        pixels = processor.preprocess(frames, return_tensors="pt")["pixel_values"].to(model.device, torch.bfloat16)
        visual_inputs = {"images": [pixels], "modalities": ["video"]}
    else:
        visual_inputs = {}
    return tokens[None].to(model.device), visual_inputs


def answer(frames, times, prompt, max_tokens):
    tokens, visual_inputs = build_inputs(frames, times, prompt)
    output = model.generate(tokens, **visual_inputs, do_sample=False, temperature=0, max_new_tokens=max_tokens)
    return tokenizer.batch_decode(output, skip_special_tokens=True)[0].strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    tokens, visual_inputs = build_inputs(frames, times, prompt)
    probabilities = model(tokens, **visual_inputs).logits[0, -1].float().softmax(-1)
    ids = [tokenizer(option).input_ids for option in options]
    if any(len(option_ids) != 1 for option_ids in ids):
        raise ValueError(f"each of {options} must be a single token")
    return [probabilities[option_ids[0]].item() for option_ids in ids]
