"""MA-LMM by its authors' code: what their demo.ipynb does."""

import os
from functools import partial
from pathlib import Path

import torch
from lavis.models import eva_vit, load_model_and_preprocess
from lavis.models.blip2_models import blip2
from theirs import SIZE, bert, llama, main, spread
from transformers import BertConfig, BertLMHeadModel, LlamaConfig, LlamaForCausalLM


def shrink():
    """One layer of the authors' 39 of pictures."""
    made = eva_vit.VisionTransformer
    eva_vit.VisionTransformer = lambda **how: made(**{**how, "depth": 1})


def here(folder):
    """What the authors' code fetches is in a folder."""
    folder = Path(folder).resolve()
    for module in (blip2, eva_vit):
        module.download_cached_file = lambda url, **how: str(folder / url.rsplit("/", 1)[1])
    os.chdir(folder)


def loaded():
    how = {"model_type": "vicuna7b", "is_eval": True, "device": "cpu", "memory_bank_length": 10, "num_frames": 5}
    model, processors, _ = load_model_and_preprocess("blip2_vicuna_instruct_malmm", **how)
    return model.float(), processors["eval"]


def make(folder):
    base, llm = folder / "bert-base-uncased", folder / "llm" / "vicuna-7b"
    bert(
        base, ["does", "the", "circle", "move", "?", "yes", "or", "no", ".", "what", "moves", "question", ":", "answer"]
    )
    spread(BertLMHeadModel(BertConfig(19, **SIZE))).save_pretrained(base)
    spread(LlamaForCausalLM(LlamaConfig(len(llama(llm)), **SIZE))).save_pretrained(llm)
    tower = eva_vit.VisionTransformer(
        img_size=224, patch_size=14, use_mean_pooling=False, embed_dim=1408, num_heads=16, mlp_ratio=4.3637,
        qkv_bias=True, norm_layer=partial(torch.nn.LayerNorm, eps=1e-6),
    )  # fmt: skip
    torch.save(spread(tower, 0.02).state_dict(), folder / "eva_vit_g.pth")
    torch.save({"model": {}}, folder / "instruct_blip_vicuna7b_trimmed.pth")
    there = Path.cwd()
    here(folder)
    model = loaded()[0]
    names = ("Qformer", "query_tokens", "llm_proj", "ln_vision", "image_pe")
    weights = {name: one for name, one in spread(model, 0.2).state_dict().items() if name.startswith(names)}
    torch.save({"model": weights}, "instruct_blip_vicuna7b_trimmed.pth")
    os.chdir(there)


def ask(folder, frames, asked):
    here(folder)
    model, process = loaded()
    video = process(torch.tensor(frames).permute(3, 0, 1, 2).to(torch.float32)).unsqueeze(0)
    return [{"text": model.generate({"image": video, "prompt": one}, max_length=12)[0]} for one in asked["questions"]]


shrink()
if __name__ == "__main__":
    main(make, ask)
