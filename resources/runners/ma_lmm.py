"""MA-LMM, queried as in its authors' demo.ipynb: InstructBLIP's weights, a memory bank of ten frames and five beams.

The checkpoint's folder holds `llm/vicuna-7b/` (Vicuna 1.1), `bert-base-uncased/`, `eva_vit_g.pth` and
`instruct_blip_vicuna7b_trimmed.pth`, the last two from the addresses in the authors' code. They are pickles, which
torch reads with `weights_only` by default.
"""

import os
from pathlib import Path

import torch
from lavis.models import eva_vit, load_model_and_preprocess
from lavis.models.blip2_models import blip2

MEMORY_BANK_ATTRIBUTES = ("query_memory_bank", "compression_size")
BLIP_WEIGHTS, POSITION_IDS = "instruct_blip_vicuna7b_trimmed.pth", "position_ids"


def load(folder, device):
    global model, process
    folder = Path(folder).resolve()
    for module in (blip2, eva_vit):
        module.download_cached_file = lambda url, **kwargs: str(folder / url.rsplit("/", 1)[1])
    os.chdir(folder)  # the authors' configuration uses relative paths
    settings = {"model_type": "vicuna7b", "is_eval": True, "device": device, "memory_bank_length": 10, "num_frames": 20}
    model, processors, _ = load_model_and_preprocess("blip2_vicuna_instruct_malmm", **settings)
    process = processors["eval"]
    # The authors' loader ignores missing weights. InstructBLIP has no frame positions, so these stay 0.
    pickles = [torch.load(name, map_location="cpu", weights_only=True) for name in ("eva_vit_g.pth", BLIP_WEIGHTS)]
    names = {f"visual_encoder.{name}" for name in pickles[0]} | set(pickles[1]["model"])
    required = [
        name
        for name in model.state_dict()
        if not name.startswith(("llm_model.", "image_pe.")) and POSITION_IDS not in name
    ]
    if missing := sorted(set(required) - names):
        raise RuntimeError(f"{folder}: {len(missing)} weights are missing, such as {missing[0]}")
    if device == "cpu":
        model.float()


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    if not len(frames):
        raise ValueError("MA-LMM requires frames")
    for part in model.Qformer.bert.modules():
        if hasattr(part, "memory_bank_length"):  # the memory bank is reset after this many frames
            part.num_frames = len(frames)
            for name in MEMORY_BANK_ATTRIBUTES:
                part.__dict__.pop(name, None)
    video = process(torch.tensor(frames).permute(3, 0, 1, 2).float()).to(model.device)
    return model.generate({"image": video[None], "prompt": prompt}, max_length=max_tokens)[0]
