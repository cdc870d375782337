"""Run mPLUG-Owl2 with its authors' code: the quick start of their README, with several images."""

import torch
from mplug_owl2.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
from mplug_owl2.conversation import conv_templates
from mplug_owl2.mm_utils import process_images, tokenizer_image_token
from mplug_owl2.model import MPLUGOwl2Config, MPLUGOwl2LlamaForCausalLM
from mplug_owl2.model.builder import load_pretrained_model
from mplug_owl2.model.configuration_mplug_owl2 import MplugOwlVisionConfig, MplugOwlVisualAbstractorConfig
from PIL import Image
from theirs import SIZE, answer_greedily, build_prompt, make_image_processor, randomize, save_llama_tokenizer


def make(folder):
    tokenizer = save_llama_tokenizer(folder)
    seen = MplugOwlVisionConfig(**SIZE, image_size=56, patch_size=14)
    abstract = MplugOwlVisualAbstractorConfig(num_learnable_queries=4, encoder_hidden_size=32, grid_size=4, **SIZE)
    visual = {"visual_model": seen.to_dict(), "visual_abstractor": abstract.to_dict()}
    config = MPLUGOwl2Config(visual, vocab_size=len(tokenizer), num_key_value_heads=4, **SIZE)
    model = MPLUGOwl2LlamaForCausalLM(config)
    frozen = {name: one.clone() for name, one in model.state_dict().items() if "pos_embed" in name}
    randomize(model, 0.2).load_state_dict(frozen, strict=False)
    model.half().save_pretrained(folder)
    make_image_processor(56).save_pretrained(folder)


def ask(folder, frames, asked):
    loaded = load_pretrained_model(folder, None, "mplug_owl2", load_8bit=False, load_4bit=False, device="cpu")
    tokenizer, model, image_processor, _ = loaded
    images = []
    for frame in frames:
        image = Image.fromarray(frame).convert("RGB")
        max_edge = max(image.size)
        images.append(image.resize((max_edge, max_edge)))
    image_tensor = process_images(images, image_processor).to(model.device, dtype=torch.float16)
    found = []
    for question in asked["questions"]:
        prompt = build_prompt(conv_templates["mplug_owl2"], DEFAULT_IMAGE_TOKEN * len(images) + question)
        tokens = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
        found.append(answer_greedily(model, tokenizer, tokens.unsqueeze(0), images=image_tensor, use_cache=True))
    return found
