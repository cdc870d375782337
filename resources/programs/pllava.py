"""PLLaVA as `pllava_answer` of its authors asks it in the conversation `eval_videoqabench`, without words of its own.

MMBench-Video's harness asks it so. The weights are those of a checkpoint with its LoRA inside. As many frames as the
plan has are pooled to 16 moments: with 16 of them that is what the authors do. Attention is PyTorch's own in place of
flash-attention.
"""

from pathlib import Path

import torch
from models.pllava import PllavaConfig, PllavaForConditionalGeneration, PllavaProcessor, modeling_pllava
from peft import LoraConfig, TaskType, get_peft_model
from PIL import Image
from safetensors.torch import load_file
from transformers.modeling_utils import no_init_weights

FRAMES, MOMENTS = 16, (16, 12, 12)
LORA = {"r": 128, "lora_alpha": 4, "lora_dropout": 0.0, "target_modules": ["q_proj", "v_proj"]}


class AutoModelForCausalLM(modeling_pllava.AutoModelForCausalLM):
    """The language model that the authors' class makes, which names flash-attention there."""

    @classmethod
    def from_config(cls, config, **how):
        return modeling_pllava.AutoModel.from_config.__func__(cls, config, **{**how, "attn_implementation": "sdpa"})


def load(folder, device):
    global model, processor
    modeling_pllava.AutoModelForCausalLM = AutoModelForCausalLM
    config = PllavaConfig.from_pretrained(folder, num_frames=FRAMES, pooling_shape=MOMENTS)
    weights = {name: one for path in Path(folder).glob("*.safetensors") for name, one in load_file(path).items()}
    torch.set_default_dtype(torch.bfloat16)
    with no_init_weights():
        model = PllavaForConditionalGeneration(config)
    if any("lora_" in name for name in weights):
        lora = LoraConfig(task_type=TaskType.CAUSAL_LM, inference_mode=True, **LORA)
        model.language_model = get_peft_model(model.language_model, lora)
    torch.set_default_dtype(torch.float32)
    missing = [one for one in model.load_state_dict(weights, strict=False).missing_keys if "position_ids" not in one]
    if missing:
        raise RuntimeError(f"{folder} holds no {missing[0]}, and {len(missing) - 1} weights more are missing")
    model.to(device, torch.bfloat16).eval()
    processor = PllavaProcessor.from_pretrained(folder)


def asked(frames, prompt):
    """The tokens of a question, and the frames as the model takes them."""
    if len(frames):
        video = [[Image.fromarray(frame) for frame in frames]]
        found = processor(text=f"USER: <image>\n {prompt} ASSISTANT:", images=video)
    else:
        found = processor.tokenizer(f"USER: {prompt} ASSISTANT:", return_tensors="pt")
    model.config.num_frames = model.multi_modal_projector.num_frames = len(frames) or FRAMES
    return {"media_type": "video", **found.to(model.device)}


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    question = asked(frames, prompt)
    found = model.generate(**question, do_sample=False, max_new_tokens=max_tokens)
    return processor.tokenizer.decode(found[0, question["input_ids"].shape[1] :], skip_special_tokens=True).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    chances = model(**asked(frames, prompt)).logits[0, -1].float().softmax(-1)
    ids = [processor.tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(one) != 1 for one in ids):
        raise ValueError(f"{options} are not one token each")
    return [chances[one[0]].item() for one in ids]
