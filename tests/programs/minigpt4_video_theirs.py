"""MiniGPT4-Video by its authors' code: `generate_prediction` of minigpt4_video_inference.py by the likeliest tokens, with frames from a file."""

import importlib.util
import os
import sys
from functools import partial
from pathlib import Path

import torch
from omegaconf import OmegaConf

package = importlib.util.module_from_spec(
    importlib.util.find_spec("minigpt4")
)  # without its own beginning, for training
sys.modules["minigpt4"] = package
from minigpt4.conversation.conversation import CONV_VISION
from minigpt4.models import MiniGPT4_Video, eva_vit
from minigpt4.processors.blip_processors import Blip2ImageTrainProcessor
from theirs import SIZE, bert, llama, main, scores, spread, watch
from torchvision import transforms
from transformers import MistralConfig, MistralForCausalLM

EYES, OWN, LLM = "eva_vit_g.pth", "video_mistral_checkpoint_last.pth", "Mistral-7B-Instruct-v0.2"


def shrink():
    """One layer of the authors' 39 of pictures."""
    made = eva_vit.VisionTransformer
    eva_vit.VisionTransformer = lambda **how: made(**how | {"depth": 1})
    eva_vit.download_cached_file = lambda url, **how: EYES


def opened(ckpt):
    config = OmegaConf.load(Path(package.__path__[0]).parent / "test_configs" / "mistral_test_config.yaml").model
    config.update({"llama_model": LLM, "low_resource": False, "ckpt": ckpt, "use_grad_checkpoint": False})
    return MiniGPT4_Video.from_config(config).float().eval()


def make(folder):
    os.chdir(folder)
    bert(Path("bert-base-uncased"), ["a"])
    config = MistralConfig(len(llama(Path(LLM))), **SIZE, num_key_value_heads=2)
    spread(MistralForCausalLM(config), 0.4).save_pretrained(LLM)
    tower = eva_vit.VisionTransformer(
        img_size=224, patch_size=14, use_mean_pooling=False, embed_dim=1408, num_heads=16, mlp_ratio=4.3637,
        qkv_bias=True, norm_layer=partial(torch.nn.LayerNorm, eps=1e-6),
    )  # fmt: skip
    torch.save(spread(tower, 0.02).state_dict(), EYES)
    weights = spread(opened(""), 0.05).state_dict()
    own = {name: one for name, one in weights.items() if name.startswith("llama_proj") or "lora_" in name}
    torch.save({"model": own}, OWN)


def ask(folder, frames, asked):
    os.chdir(folder)
    model = opened(OWN)
    first, found = watch(model.llama_model.base_model.model), []
    process = transforms.Compose([transforms.ToPILImage(), Blip2ImageTrainProcessor(image_size=224)])
    images = torch.stack([process(one) for one in frames])
    for question in asked["questions"]:
        first.clear()
        conversation = CONV_VISION.copy()
        conversation.system = ""
        conversation.append_message(conversation.roles[0], "<Img><ImageHere>" * len(frames) + "\n" + question)
        conversation.append_message(conversation.roles[1], None)
        prompt = [conversation.get_prompt()]
        how = {"max_new_tokens": 12, "do_sample": False, "lengths": [len(images)], "num_beams": 1}
        text = model.generate(images.unsqueeze(0), prompt, **how)[0]
        found.append({"text": text, "scores": scores(first[0], model.llama_tokenizer)})
    return found


shrink()
if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main(make, ask)
