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
        raise RuntimeError("no GPU is here")
    # The checkpoint holds the trained vision tower: the original one is not fetched from the hub first.
    SigLipVisionModel.from_pretrained = classmethod(lambda cls, name, **more: cls(SigLipVisionConfig()))
    how = {"torch_dtype": "bfloat16", "device_map": "auto", "attn_implementation": "sdpa"}
    tokenizer, model, processor, _ = load_pretrained_model(folder, None, "llava_qwen", **how)
    files = [safe_open(path, "pt") for path in Path(folder).glob("*.safetensors")]
    missing = set(model.state_dict()) - {name for file in files for name in file.keys()}  # noqa: SIM118
    if missing:
        raise RuntimeError(f"{folder} holds no {sorted(missing)[0]}, and {len(missing) - 1} weights more are missing")
    model.eval()


def asked(frames, times, prompt):
    """The tokens of a question, and the frames as the model takes them."""
    if len(frames):
        located = ",".join(f"{one:.2f}s" for one in times)
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
        shown = {"images": [pixels], "modalities": ["video"]}
    else:
        shown = {}
    return tokens[None].to(model.device), shown


def answer(frames, times, prompt, max_tokens):
    tokens, shown = asked(frames, times, prompt)
    found = model.generate(tokens, **shown, do_sample=False, temperature=0, max_new_tokens=max_tokens)
    return tokenizer.batch_decode(found, skip_special_tokens=True)[0].strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    tokens, shown = asked(frames, times, prompt)
    chances = model(tokens, **shown).logits[0, -1].float().softmax(-1)
    ids = [tokenizer(option).input_ids for option in options]
    if any(len(one) != 1 for one in ids):
        raise ValueError(f"{options} are not one token each")
    return [chances[one[0]].item() for one in ids]
