"""Run MiniGPT4-Video with its authors' code: greedy `generate_prediction` of minigpt4_video_inference.py, with frames from a file."""

import importlib.util
import sys
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
from theirs import (
    SIZE,
    answer_questions,
    build_prompt,
    keep_one_layer,
    randomize,
    save_bert_tokenizer,
    save_eva_tower,
    save_llama_tokenizer,
)
from torchvision import transforms
from transformers import MistralConfig, MistralForCausalLM

EYES, OWN, LLM = "eva_vit_g.pth", "video_mistral_checkpoint_last.pth", "Mistral-7B-Instruct-v0.2"


def shrink():
    keep_one_layer(eva_vit)
    eva_vit.download_cached_file = lambda url, **options: EYES


def opened(ckpt):
    config = OmegaConf.load(Path(package.__path__[0]).parent / "test_configs" / "mistral_test_config.yaml").model
    config.update({"llama_model": LLM, "low_resource": False, "ckpt": ckpt, "use_grad_checkpoint": False})
    return MiniGPT4_Video.from_config(config).float().eval()


def make(folder):
    save_bert_tokenizer(Path("bert-base-uncased"), ["a"])
    config = MistralConfig(len(save_llama_tokenizer(Path(LLM))), **SIZE, num_key_value_heads=2)
    randomize(MistralForCausalLM(config), 0.4).save_pretrained(LLM)
    save_eva_tower(eva_vit, EYES)
    weights = randomize(opened(""), 0.05).state_dict()
    own = {name: one for name, one in weights.items() if name.startswith("llama_proj") or "lora_" in name}
    torch.save({"model": own}, OWN)


def ask(folder, frames, asked):
    model = opened(OWN)
    process = transforms.Compose([transforms.ToPILImage(), Blip2ImageTrainProcessor(image_size=224)])
    images = torch.stack([process(one) for one in frames])
    CONV_VISION.system = ""

    def say(question):
        prompt = [build_prompt(CONV_VISION, "<Img><ImageHere>" * len(frames) + "\n" + question)]
        options = {"max_new_tokens": 12, "do_sample": False, "lengths": [len(images)], "num_beams": 1}
        return model.generate(images.unsqueeze(0), prompt, **options)[0]

    return answer_questions(model.llama_model.base_model.model, model.llama_tokenizer, asked, say)


shrink()
