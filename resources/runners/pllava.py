"""PLLaVA, queried as in its authors' `pllava_answer` with the conversation `eval_videoqabench` and no extra text.

MMBench-Video's harness queries it in the same way. The checkpoint's weights include its LoRA. The frames of the plan
are pooled to 16 time steps; with 16 frames, this is what the authors do. Attention is PyTorch's own instead of
flash-attention.
"""

from pathlib import Path

import torch
from models.pllava import PllavaConfig, PllavaForConditionalGeneration, PllavaProcessor, modeling_pllava
from peft import LoraConfig, TaskType, get_peft_model
from PIL import Image
from safetensors.torch import load_file
from transformers.modeling_utils import no_init_weights

FRAMES, POOLING_SHAPE = 16, (16, 12, 12)
LORA_CONFIG = {"r": 128, "lora_alpha": 4, "lora_dropout": 0.0, "target_modules": ["q_proj", "v_proj"]}


class AutoModelForCausalLM(modeling_pllava.AutoModelForCausalLM):
    """The language model that the authors' class creates, without the flash-attention that it requests."""

    @classmethod
    def from_config(cls, config, **kwargs):
        return modeling_pllava.AutoModel.from_config.__func__(cls, config, **{**kwargs, "attn_implementation": "sdpa"})


def load(folder, device):
    global model, processor
    modeling_pllava.AutoModelForCausalLM = AutoModelForCausalLM
    config = PllavaConfig.from_pretrained(folder, num_frames=FRAMES, pooling_shape=POOLING_SHAPE)
    weights = {name: tensor for path in Path(folder).glob("*.safetensors") for name, tensor in load_file(path).items()}
    torch.set_default_dtype(torch.bfloat16)
    with no_init_weights():
        model = PllavaForConditionalGeneration(config)
    if any("lora_" in name for name in weights):
        lora = LoraConfig(task_type=TaskType.CAUSAL_LM, inference_mode=True, **LORA_CONFIG)
        model.language_model = get_peft_model(model.language_model, lora)
    torch.set_default_dtype(torch.float32)
    result = model.load_state_dict(weights, strict=False)
    missing = [name for name in result.missing_keys if "position_ids" not in name]
    if missing:
        raise RuntimeError(f"{folder}: {len(missing)} weights are missing, such as {missing[0]}")
    model.to(device, torch.bfloat16).eval()
    processor = PllavaProcessor.from_pretrained(folder)


def build_inputs(frames, prompt):
    """Return the tokens of a question, and the frames as model inputs."""
    if len(frames):
        video = [[Image.fromarray(frame) for frame in frames]]
        inputs = processor(text=f"USER: <image>\n {prompt} ASSISTANT:", images=video)
    else:
        inputs = processor.tokenizer(f"USER: {prompt} ASSISTANT:", return_tensors="pt")
    model.config.num_frames = model.multi_modal_projector.num_frames = len(frames) or FRAMES
    return {"media_type": "video", **inputs.to(model.device)}


@torch.inference_mode()
def answer(frames, times, prompt, max_tokens):
    question = build_inputs(frames, prompt)
    output = model.generate(**question, do_sample=False, max_new_tokens=max_tokens)
    return processor.tokenizer.decode(output[0, question["input_ids"].shape[1] :], skip_special_tokens=True).strip()


@torch.inference_mode()
def scores(frames, times, prompt, options):
    probabilities = model(**build_inputs(frames, prompt)).logits[0, -1].float().softmax(-1)
    ids = [processor.tokenizer(option, add_special_tokens=False).input_ids for option in options]
    if any(len(option_ids) != 1 for option_ids in ids):
        raise ValueError(f"each of {options} must be a single token")
    return [probabilities[option_ids[0]].item() for option_ids in ids]
