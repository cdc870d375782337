"""MA-LMM as its authors' demo.ipynb asks it: InstructBLIP's weights with a memory of ten frames, five beams.

Its weights lie apart: the checkpoint's folder holds `llm/vicuna-7b/` (Vicuna 1.1), `bert-base-uncased/`,
`eva_vit_g.pth` and `instruct_blip_vicuna7b_trimmed.pth`, the last two from the addresses that the authors' code
names. They are pickles, which torch reads with `weights_only` unless it is told otherwise.
"""

import os
from pathlib import Path

import torch
from lavis.models import eva_vit, load_model_and_preprocess
from lavis.models.blip2_models import blip2

BANKS = ("query_memory_bank", "compression_size")
BLIP, IDS = "instruct_blip_vicuna7b_trimmed.pth", "position_ids"


def load(folder, device):
    global model, process
    folder = Path(folder).resolve()
    for module in (blip2, eva_vit):
        module.download_cached_file = lambda url, **how: str(folder / url.rsplit("/", 1)[1])
    os.chdir(folder)  # the authors' configuration names its parts by paths from here
    how = {"model_type": "vicuna7b", "is_eval": True, "device": device, "memory_bank_length": 10, "num_frames": 20}
    model, processors, _ = load_model_and_preprocess("blip2_vicuna_instruct_malmm", **how)
    process = processors["eval"]
    # Their loader passes over what is missing. Places of frames are no part of InstructBLIP, and are 0.
    pickles = [torch.load(one, map_location="cpu", weights_only=True) for one in ("eva_vit_g.pth", BLIP)]
    names = {f"visual_encoder.{one}" for one in pickles[0]} | set(pickles[1]["model"])
    wanted = [one for one in model.state_dict() if not one.startswith(("llm_model.", "image_pe.")) and IDS not in one]
    if missing := sorted(set(wanted) - names):
        raise RuntimeError(f"{folder} holds no {missing[0]}, and {len(missing) - 1} weights more are missing")
    if device == "cpu":
        model.float()


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    if not len(frames):
        raise ValueError("MA-LMM is asked about frames alone")
    for part in model.Qformer.bert.modules():
        if hasattr(part, "memory_bank_length"):  # it forgets a clip after so many frames
            part.num_frames = len(frames)
            for name in BANKS:
                part.__dict__.pop(name, None)
    video = process(torch.tensor(frames).permute(3, 0, 1, 2).float()).to(model.device)
    return model.generate({"image": video[None], "prompt": prompt}, max_length=max_tokens)[0]
