"""VideoChat2 of Vicuna as demo/demo.ipynb of its authors asks it, by the likeliest tokens, as there.

The folder holds `vicuna-7b-v0/`, `bert-base-uncased/`, and of the authors' weights `umt_l16_qformer.pth`,
`videochat2_7b_stage2.pth` and `videochat2_7b_stage3.pth`: pickles that torch reads with `weights_only`, its own choice.
"""

import os
from pathlib import Path

import models
import torch
from models import VideoChat2_it_vicuna
from models.blip2.vit import get_sinusoid_encoding_table
from peft import LoraConfig, TaskType, get_peft_model
from PIL import Image
from torchvision.transforms import CenterCrop, Compose, InterpolationMode, Normalize, Resize, ToTensor
from transformers import StoppingCriteriaList
from utils.config import Config

BOTH, STAGE2, STAGE3 = "umt_l16_qformer.pth", "videochat2_7b_stage2.pth", "videochat2_7b_stage3.pth"
FRAMES, PLACES, WIDTH = 4, 14 * 14, 1024
# "###" in Llama's tokens.
ENDS = ([835], [2277, 29937])
MEAN, SPREAD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
process = Compose(
    [Resize(224, interpolation=InterpolationMode.BICUBIC), CenterCrop(224), ToTensor(), Normalize(MEAN, SPREAD)]
)


def load(folder, device):
    global model
    os.chdir(folder)  # the authors' code names BERT by a path from here
    config = Config.from_file(str(Path(models.__file__).parents[1] / "configs" / "config.json")).model
    config.update(llama_model_path="vicuna-7b-v0", vit_blip_model_path=BOTH, videochat2_model_path=STAGE2)
    config.vision_encoder.num_frames = FRAMES
    model = VideoChat2_it_vicuna(config=config)
    lora = LoraConfig(task_type=TaskType.CAUSAL_LM, inference_mode=False, r=16, lora_alpha=32, lora_dropout=0.0)
    model.llama_model = get_peft_model(model.llama_model, lora)
    pickles = [torch.load(one, map_location="cpu", weights_only=True) for one in (BOTH, STAGE2, STAGE3)]
    weights = [one.get("model", one) for one in pickles]
    model.load_state_dict(weights[-1], strict=False)
    # Their loader passes over what is missing; Vicuna's weights are read by a loader that does not.
    wanted = {one for one in model.state_dict() if not one.startswith("llama_model.") or "lora_" in one}
    missing = sorted(one for one in wanted.difference(*weights) if "position_ids" not in one)
    if missing:
        raise RuntimeError(f"{folder} holds no {missing[0]}, and {len(missing) - 1} weights more are missing")
    model.to(device).eval()
    if device == "cpu":
        model.float()


def asked(frames, prompt):
    """A question as the language model takes it, the frames inside."""
    words = f"Human: {prompt}\n###Assistant:"
    if not len(frames):
        return _embedded(f"###{words}", True)
    pixels = torch.stack([process(Image.fromarray(one)) for one in frames]).to(model.device)
    many = len(frames)
    model.vision_encoder.encoder.pos_embed = get_sinusoid_encoding_table(many * PLACES, WIDTH, FRAMES, many)
    video, _ = model.encode_img(pixels[None], "Watch the video and answer the question.")
    parts = _embedded("###Human: <Video>", True), video, _embedded(f"</Video>\n###{words}", False)
    return torch.cat(parts, dim=1)


def _embedded(text, is_first):
    tokens = model.llama_tokenizer(text, return_tensors="pt", add_special_tokens=is_first).input_ids
    return model.llama_model.get_input_embeddings()(tokens.to(model.device))


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    stopping = StoppingCriteriaList([lambda tokens, _: any(tokens[0, -len(end) :].tolist() == end for end in ENDS)])
    how = {"do_sample": False, "max_new_tokens": max_tokens, "min_length": 1, "stopping_criteria": stopping}
    tokens = model.llama_model.generate(inputs_embeds=asked(frames, prompt), **how)[0].tolist()
    for first in (0, 1):  # <unk> and <s>, which the authors' code takes away as well
        tokens = tokens[1:] if tokens[0] == first else tokens
    return model.llama_tokenizer.decode(tokens).split("###")[0].split("Assistant:")[-1].strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    chances = model.llama_model(inputs_embeds=asked(frames, prompt)).logits[0, -1].float().softmax(-1)
    ids = [model.llama_tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(one) != 1 for one in ids):
        raise ValueError(f"{options} are not one token each")
    return [chances[one[0]].item() for one in ids]
