"""Write checkpoints in the form that `from_pretrained` loads."""

from pathlib import Path

import torch
from transformers import LlavaOnevisionForConditionalGeneration, PreTrainedTokenizerFast

from training.model import build_processor


def export_checkpoint(
    model: LlavaOnevisionForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, patch: int, folder: Path
) -> None:
    """Write weights in bf16 safetensors, configuration, tokenizer, processor and chat template."""
    model.to(torch.bfloat16).save_pretrained(folder)
    build_processor(tokenizer, patch).save_pretrained(folder)
