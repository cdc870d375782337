"""VideoChat2 with Vicuna, queried as in its authors' demo/demo.ipynb, with greedy decoding as there.

The folder holds `vicuna-7b-v0/`, `bert-base-uncased/`, and the authors' weights `umt_l16_qformer.pth`,
`videochat2_7b_stage2.pth` and `videochat2_7b_stage3.pth`, pickles that torch reads with `weights_only` by default.
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

ENCODER_WEIGHTS, STAGE2_WEIGHTS, STAGE3_WEIGHTS = (
    "umt_l16_qformer.pth",
    "videochat2_7b_stage2.pth",
    "videochat2_7b_stage3.pth",
)
FRAMES, PATCHES_PER_FRAME, WIDTH = 4, 14 * 14, 1024
# "###" in Llama's tokens.
STOP_SEQUENCES = ([835], [2277, 29937])
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
process = Compose(
    [Resize(224, interpolation=InterpolationMode.BICUBIC), CenterCrop(224), ToTensor(), Normalize(MEAN, STD)]
)


def load(folder, device):
    global model
    os.chdir(folder)  # the authors' code uses a relative path to BERT
    config = Config.from_file(str(Path(models.__file__).parents[1] / "configs" / "config.json")).model
    config.update(
        llama_model_path="vicuna-7b-v0", vit_blip_model_path=ENCODER_WEIGHTS, videochat2_model_path=STAGE2_WEIGHTS
    )
    config.vision_encoder.num_frames = FRAMES
    model = VideoChat2_it_vicuna(config=config)
    lora = LoraConfig(task_type=TaskType.CAUSAL_LM, inference_mode=False, r=16, lora_alpha=32, lora_dropout=0.0)
    model.llama_model = get_peft_model(model.llama_model, lora)
    pickles = [
        torch.load(path, map_location="cpu", weights_only=True)
        for path in (ENCODER_WEIGHTS, STAGE2_WEIGHTS, STAGE3_WEIGHTS)
    ]
    weights = [checkpoint.get("model", checkpoint) for checkpoint in pickles]
    model.load_state_dict(weights[-1], strict=False)
    # The authors' loader ignores missing weights; the loader of Vicuna's weights does not.
    required = {name for name in model.state_dict() if not name.startswith("llama_model.") or "lora_" in name}
    missing = sorted(name for name in required.difference(*weights) if "position_ids" not in name)
    if missing:
        raise RuntimeError(f"{folder}: {len(missing)} weights are missing, such as {missing[0]}")
    model.to(device).eval()
    if device == "cpu":
        model.float()


def build_inputs(frames, prompt):
    """Return the embeddings of a question, including its frames."""
    text = f"Human: {prompt}\n###Assistant:"
    if not len(frames):
        return _embedded(f"###{text}", True)
    pixels = torch.stack([process(Image.fromarray(frame)) for frame in frames]).to(model.device)
    count = len(frames)
    patches = count * PATCHES_PER_FRAME
    model.vision_encoder.encoder.pos_embed = get_sinusoid_encoding_table(patches, WIDTH, FRAMES, count)
    video, _ = model.encode_img(pixels[None], "Watch the video and answer the question.")
    parts = _embedded("###Human: <Video>", True), video, _embedded(f"</Video>\n###{text}", False)
    return torch.cat(parts, dim=1)


def _embedded(text, is_first):
    tokens = model.llama_tokenizer(text, return_tensors="pt", add_special_tokens=is_first).input_ids
    return model.llama_model.get_input_embeddings()(tokens.to(model.device))


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    stopping = StoppingCriteriaList(
        [lambda tokens, _: any(tokens[0, -len(end) :].tolist() == end for end in STOP_SEQUENCES)]
    )
    settings = {"do_sample": False, "max_new_tokens": max_tokens, "min_length": 1, "stopping_criteria": stopping}
    tokens = model.llama_model.generate(inputs_embeds=build_inputs(frames, prompt), **settings)[0].tolist()
    for first in (0, 1):  # <unk> and <s>, which the authors' code removes too
        tokens = tokens[1:] if tokens[0] == first else tokens
    return model.llama_tokenizer.decode(tokens).split("###")[0].split("Assistant:")[-1].strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    probabilities = model.llama_model(inputs_embeds=build_inputs(frames, prompt)).logits[0, -1].float().softmax(-1)
    ids = [model.llama_tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(option_ids) != 1 for option_ids in ids):
        raise ValueError(f"each of {options} must be a single token")
    return [probabilities[option_ids[0]].item() for option_ids in ids]
