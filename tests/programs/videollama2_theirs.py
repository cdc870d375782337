"""VideoLLaMA2 by its authors' code: `model_init` and `mm_infer`, with frames from a file in place of decord."""

import functools
import json
import os

import torch
from theirs import main, on_processor, scores, spread
from transformers import CLIPImageProcessor, CLIPVisionConfig, Qwen2Tokenizer
from transformers.models.qwen2.tokenization_qwen2 import bytes_to_unicode
from videollama2 import mm_infer, model_init
from videollama2.model import encoder
from videollama2.model.videollama2_qwen2 import Videollama2Qwen2Config, Videollama2Qwen2ForCausalLM

MERGES = ("Y e", "Ye s", "N o")
TEMPLATE = (
    "{% for one in messages %}<|im_start|>{{ one['role'] }}\n{{ one['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOWER = "openai/clip-vit-large-patch14-336"


class Tower(encoder.CLIPVisionModel):
    """The authors name flash-attention, which needs a GPU."""

    def __init__(self, config):
        config._attn_implementation = "eager"
        super().__init__(config)


def make(folder):
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    CLIPVisionConfig(**size, image_size=112, patch_size=14, projection_dim=32).save_pretrained(folder / TOWER)
    sizes = {"size": {"shortest_edge": 112}, "crop_size": {"height": 112, "width": 112}}
    CLIPImageProcessor(**sizes).save_pretrained(folder / TOWER)
    weights = folder / "VideoLLaMA2-72B"
    weights.mkdir()
    words = [*bytes_to_unicode().values(), *("".join(one.split()) for one in MERGES)]
    (weights / "vocab.json").write_text(json.dumps({word: at for at, word in enumerate(words)}))
    (weights / "merges.txt").write_text("\n".join(["#version: 0.2", *MERGES, ""]))
    tokenizer = Qwen2Tokenizer(
        weights / "vocab.json", weights / "merges.txt", additional_special_tokens=["<|im_start|>", "<|im_end|>"],
        eos_token="<|im_end|>", pad_token="<|endoftext|>",
    )  # fmt: skip
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(weights)
    os.chdir(folder)
    config = Videollama2Qwen2Config(
        **size, vocab_size=len(tokenizer), num_key_value_heads=2, max_position_embeddings=4096,
        tie_word_embeddings=False, mm_vision_tower=TOWER, mm_hidden_size=32, mm_projector_type="stc_connector",
        mm_vision_select_layer=-2, num_frames=5,
    )  # fmt: skip
    spread(Videollama2Qwen2ForCausalLM(config), 0.4).half().save_pretrained(weights)


def ask(folder, frames, asked):
    os.chdir(folder)
    model, processor, tokenizer = model_init("VideoLLaMA2-72B")
    model.eval()
    first, forward = [], model.forward

    @functools.wraps(forward)
    def watched(*words, **given):
        found = forward(*words, **given)
        first.append(found.logits[0, -1].float().softmax(-1))
        return found

    model.forward = watched
    found = []
    for question in asked["questions"]:
        first.clear()
        video = processor["video"](list(frames))
        text = mm_infer(video, question, model, tokenizer, modal="video", do_sample=False, max_new_tokens=12)
        found.append({"text": text, "scores": scores(first[0], tokenizer)})
    return found


on_processor()
encoder.CLIPVisionModel = Tower
if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main(make, ask)
