"""mPLUG-Owl2 by its authors' code: the quick start of their README, with several pictures."""

import torch
from mplug_owl2.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
from mplug_owl2.conversation import conv_templates
from mplug_owl2.mm_utils import process_images, tokenizer_image_token
from mplug_owl2.model import MPLUGOwl2Config, MPLUGOwl2LlamaForCausalLM
from mplug_owl2.model.builder import load_pretrained_model
from mplug_owl2.model.configuration_mplug_owl2 import MplugOwlVisionConfig, MplugOwlVisualAbstractorConfig
from PIL import Image
from theirs import greedy, main, sentencepiece, spread
from transformers import CLIPImageProcessor, LlamaTokenizer


def make(folder):
    tokenizer = LlamaTokenizer(str(sentencepiece(folder)))
    tokenizer.save_pretrained(folder)
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    visual = {
        "visual_model": MplugOwlVisionConfig(**size, image_size=56, patch_size=14).to_dict(),
        "visual_abstractor": MplugOwlVisualAbstractorConfig(
            num_learnable_queries=4, encoder_hidden_size=32, grid_size=4, **size
        ).to_dict(),
    }
    config = MPLUGOwl2Config(visual, vocab_size=len(tokenizer), num_key_value_heads=4, **size)
    model = MPLUGOwl2LlamaForCausalLM(config)
    frozen = {name: one.clone() for name, one in model.state_dict().items() if "pos_embed" in name}
    spread(model, 0.2).load_state_dict(frozen, strict=False)
    model.half().save_pretrained(folder)
    CLIPImageProcessor(size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}).save_pretrained(folder)


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
        conv = conv_templates["mplug_owl2"].copy()
        conv.append_message(conv.roles[0], DEFAULT_IMAGE_TOKEN * len(images) + question)
        conv.append_message(conv.roles[1], None)
        tokens = tokenizer_image_token(conv.get_prompt(), tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
        found.append(greedy(model, tokenizer, tokens.unsqueeze(0), images=image_tensor, use_cache=True))
    return found


if __name__ == "__main__":
    main(make, ask)
