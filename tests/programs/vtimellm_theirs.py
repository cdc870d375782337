"""Run VTimeLLM with its authors' code: inference.py with greedy decoding, and with frames from a file instead of decord."""

from argparse import Namespace
from pathlib import Path

import clip
import torch
from clip.model import CLIP
from peft import LoraConfig, get_peft_model
from theirs import SIZE, answer_greedily, build_prompt, randomize, save_llama_tokenizer
from torchvision.transforms import CenterCrop, Compose, InterpolationMode, Normalize, Resize
from vtimellm.constants import IMAGE_TOKEN_INDEX
from vtimellm.conversation import conv_templates
from vtimellm.mm_utils import tokenizer_image_token
from vtimellm.model.builder import load_pretrained_model
from vtimellm.model.vtimellm_llama import VTimeLLMConfig, VTimeLLMLlamaForCausalLM

STAGE_PREFIX = "vtimellm-vicuna-v1-5-7b-stage"


def make(folder):
    base = folder / "vicuna-7b-v1.5"
    for path in (folder / "clip", folder / f"{STAGE_PREFIX}1"):
        path.mkdir()
    tokenizer = save_llama_tokenizer(base, pad_token="<unk>")
    config = VTimeLLMConfig(**SIZE, vocab_size=len(tokenizer), max_position_embeddings=4096, pad_token_id=0)
    model = randomize(VTimeLLMLlamaForCausalLM(config), 0.4).half()
    model.save_pretrained(base)
    shapes = {"weight": (32, 768), "bias": 32}
    projector = {f"model.mm_projector.{name}": torch.randn(shape) for name, shape in shapes.items()}
    torch.save(projector, folder / f"{STAGE_PREFIX}1" / "mm_projector.bin")
    for stage in "23":
        lora = LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj", "v_proj"], r=4, lora_alpha=8)
        tuned = get_peft_model(VTimeLLMLlamaForCausalLM(config), lora)
        randomize(tuned, 0.2).save_pretrained(folder / f"{STAGE_PREFIX}{stage}", safe_serialization=False)
    clip_tower = randomize(CLIP(768, 224, 1, 64, 32, 77, 100, 64, 1, 1), 0.2).eval()
    traced = torch.jit.trace(clip_tower, (torch.zeros(1, 3, 224, 224), torch.ones(1, 77, dtype=torch.long)))
    traced.save(str(folder / "clip" / "ViT-L-14.pt"))


def ask(folder, frames, asked):
    folder = Path(folder)
    args = Namespace(
        model_base=str(folder / "vicuna-7b-v1.5"),
        pretrain_mm_mlp_adapter=str(folder / f"{STAGE_PREFIX}1" / "mm_projector.bin"),
    )
    tokenizer, model, _ = load_pretrained_model(
        args, str(folder / f"{STAGE_PREFIX}2"), str(folder / f"{STAGE_PREFIX}3")
    )
    model.to(torch.float16)
    clip_model, _ = clip.load(str(folder / "clip" / "ViT-L-14.pt"))
    clip_model.eval()
    images = torch.from_numpy(frames.transpose((0, 3, 1, 2)))
    transform = Compose([
        Resize(224, interpolation=InterpolationMode.BICUBIC),
        CenterCrop(224),
        Normalize((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
    ])  # fmt: skip
    images = transform(images / 255.0)
    features = clip_model.encode_image(images).half()
    answers = []
    for question in asked["questions"]:
        prompt = build_prompt(conv_templates["v1"], "<video>\n " + question)
        tokens = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
        answers.append(answer_greedily(model, tokenizer, tokens.unsqueeze(0), images=features[None], use_cache=True))
    return answers
