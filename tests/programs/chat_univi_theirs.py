"""Run Chat-UniVi with its authors' code: the loop of eval/model_video_general.py."""

from pathlib import Path

import torch
from theirs import answer_greedily, build_prompt, keep_on_cpu, randomize, save_clip_tower, save_llama_tokenizer

keep_on_cpu()
from ChatUniVi.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
from ChatUniVi.conversation import conv_templates
from ChatUniVi.mm_utils import tokenizer_image_token
from ChatUniVi.model.builder import load_pretrained_model
from ChatUniVi.model.language_model.llama import ChatUniViConfig, ChatUniViLlamaForCausalLM
from PIL import Image


def make(folder):
    save_clip_tower(folder / "openai/clip-vit-large-patch14")
    path = Path("Chat-UniVi")
    tokenizer = save_llama_tokenizer(path)
    clusters = {"spatial_cluster_rate0": 64, "spatial_cluster_rate1": 32, "spatial_cluster_rate2": 16}
    config = ChatUniViConfig(
        len(tokenizer), 32, 64, 2, 4, mm_vision_tower="openai/clip-vit-large-patch14", mm_hidden_size=32,
        mm_vision_select_layer=-2, mm_use_im_start_end=False, mm_use_im_patch_token=False, use_mm_proj=True,
        config=clusters | {"use_cluster": True, "temporal_cluster_rate": 1 / 16},
    )  # fmt: skip
    randomize(ChatUniViLlamaForCausalLM(config), 0.2).half().save_pretrained(path)


def ask(folder, frames, asked):
    tokenizer, model, image_processor, _ = load_pretrained_model("Chat-UniVi", None, "ChatUniVi", device_map="cpu")
    for _, one in model.named_modules():
        one.to(dtype=torch.bfloat16)
    inputs = [image_processor.preprocess(Image.fromarray(one), return_tensors="pt") for one in frames]
    video = torch.stack([one["pixel_values"][0] for one in inputs])
    found = []
    for question in asked["questions"]:
        prompt = build_prompt(conv_templates["v1"], DEFAULT_IMAGE_TOKEN * len(frames) + "\n" + question)
        tokens = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
        torch.manual_seed(0)
        found.append(answer_greedily(model, tokenizer, tokens.unsqueeze(0), images=video.half(), use_cache=True))
    return found
