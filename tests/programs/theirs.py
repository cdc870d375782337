"""Shared code of the scripts in this folder, which create a tiny random checkpoint and query it with the authors' code.

`python theirs.py <script> make <folder>`, or `python theirs.py <script> ask <folder> <asked.json>`, which prints the answers.
"""

import functools
import importlib
import json
import os
import random
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import torch

SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


def stub_modules(*names):
    """Replace modules that the authors import but these tests do not need, such as video readers."""
    for name in names:
        module = types.ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        module.__getattr__ = _stub_attribute
        module.__path__ = []
        sys.modules[name] = module


def _stub_attribute(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {"__init__": lambda self, *words, **options: None})


class Video:
    """Frames that replace the video which the authors' reader opens."""

    def __init__(self, frames):
        self._frames = torch.tensor(frames)
        torch.Tensor.asnumpy = torch.Tensor.numpy

    def __len__(self):
        return len(self._frames)

    def __getitem__(self, index):
        return self._frames[index]

    def get_avg_fps(self):
        return 24.0

    def get_batch(self, indices):
        assert list(indices) == list(range(len(self)))
        return self._frames


def randomize(model, std=0.3):
    """Scale the weights so that frames and questions affect the output."""
    for parameter in model.parameters():
        parameter.copy_(torch.randn(parameter.shape) * std)
    return model


def train_sentencepiece(folder):
    """Train a SentencePiece model like Llama's, with Yes and No as words, and return its path."""
    import sentencepiece

    words = "Yes No A B What moves ? USER: ASSISTANT: Human: AI: the video is a circle, red or blue. Does it stop, turn and go up or down?"
    lines = [" ".join(random.sample(words.split(), 12)) for _ in range(500)]
    (folder / "text.txt").write_text("\n".join(lines))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text.txt"), model_prefix=str(folder / "tokenizer"), vocab_size=400, model_type="bpe",
        byte_fallback=True, character_coverage=1.0, bos_id=1, eos_id=2, unk_id=0, hard_vocab_limit=False,
    )  # fmt: skip
    return folder / "tokenizer.model"


def save_llama_tokenizer(folder, **options):
    """Save a small Llama tokenizer in a folder and return it."""
    from transformers import LlamaTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = LlamaTokenizer(str(train_sentencepiece(folder)), **options)
    tokenizer.save_pretrained(folder)
    return tokenizer


def make_qwen_tokenizer(folder, **options):
    """Return a small Qwen tokenizer with the words Yes and No, without saving it."""
    from transformers import Qwen2Tokenizer
    from transformers.models.qwen2.tokenization_qwen2 import bytes_to_unicode

    merges = ("Y e", "Ye s", "N o")
    words = [*bytes_to_unicode().values(), *("".join(merge.split()) for merge in merges)]
    (folder / "vocab.json").write_text(json.dumps({word: index for index, word in enumerate(words)}))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]))
    special = ["<|im_start|>", "<|im_end|>"]
    files = str(folder / "vocab.json"), str(folder / "merges.txt")
    return Qwen2Tokenizer(*files, additional_special_tokens=special, **options)


def save_bert_tokenizer(folder, words):
    """Save a BERT tokenizer with these words in a new folder."""
    from transformers import BertTokenizer

    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)


def build_prompt(template, text):
    """Return the prompt of a conversation that begins with a text, as in LLaVA's code."""
    conversation = template.copy()
    conversation.append_message(conversation.roles[0], text)
    conversation.append_message(conversation.roles[1], None)
    return conversation.get_prompt()


def answer_questions(model, tokenizer, asked, answer):
    """Return the authors' answer to each question, and the probabilities of Yes and No in its first forward pass."""
    probabilities, forward = [], model.forward

    @functools.wraps(forward)
    def recorded_forward(*words, **options):
        output = forward(*words, **options)
        probabilities.append(output.logits[0, -1].float().softmax(-1))
        return output

    model.forward, answers = recorded_forward, []
    for question in asked["questions"]:
        probabilities.clear()
        answers.append({"text": answer(question), "scores": scores(probabilities[0], tokenizer)})
    return answers


def scores(probabilities, tokenizer):
    """Return the probabilities of Yes and No."""
    return [probabilities[tokenizer(word, add_special_tokens=False).input_ids[0]].item() for word in ("Yes", "No")]


def keep_on_cpu():
    """Replace the authors' moves to a GPU: everything stays on the CPU."""
    torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *words, **options: self
    original_to = torch.nn.Module.to

    def to(self, *words, **options):
        return original_to(
            self, *words, **{name: "cpu" if value == "cuda" else value for name, value in options.items()}
        )

    torch.nn.Module.to = to


def save_clip_tower(path, width=32, side=224):
    """Save a small CLIP vision tower in place of the authors' large one."""
    from transformers import CLIPVisionConfig, CLIPVisionModel

    size = {**SIZE, "hidden_size": width}
    model = CLIPVisionModel(CLIPVisionConfig(**size, image_size=side, patch_size=14, projection_dim=32))
    randomize(model, 0.2).save_pretrained(path)
    make_image_processor(side).save_pretrained(path)


def keep_one_layer(eva_vit):
    """Keep one of the 39 layers of the authors' vision tower."""
    original_tower = eva_vit.VisionTransformer
    eva_vit.VisionTransformer = lambda **options: original_tower(**options | {"depth": 1})


def save_eva_tower(eva_vit, path, std=0.02, **options):
    """Save weights of the authors' vision tower."""
    size = {"img_size": 224, "patch_size": 14, "embed_dim": 1408, "num_heads": 16, "mlp_ratio": 4.3637, **options}
    norm = functools.partial(torch.nn.LayerNorm, eps=1e-6)
    vision_tower = eva_vit.VisionTransformer(**size, qkv_bias=True, use_mean_pooling=False, norm_layer=norm)
    torch.save(randomize(vision_tower, std).state_dict(), path)


def make_image_processor(side):
    """Return CLIP's image processor for this size."""
    from transformers import CLIPImageProcessor

    return CLIPImageProcessor(size={"shortest_edge": side}, crop_size={"height": side, "width": side})


def answer_greedily(model, tokenizer, tokens, **options):
    """Return the greedy answer instead of a sampled one, and the first token's probabilities of Yes and No."""
    options |= {"do_sample": False, "max_new_tokens": 12, "output_scores": True, "return_dict_in_generate": True}
    output = model.generate(tokens, **options)
    text = tokenizer.batch_decode(output.sequences[:, tokens.shape[1] :], skip_special_tokens=True)[0].strip()
    return {"text": text, "scores": scores(output.scores[0][0].float().softmax(-1), tokenizer)}


if __name__ == "__main__":
    name, what, folder, *more = sys.argv[1:]
    script = importlib.import_module(name)
    torch.manual_seed(0)
    random.seed(0)
    torch.set_grad_enabled(False)
    Path(folder).mkdir(exist_ok=True)
    os.chdir(folder)
    if what == "make":
        script.make(Path(folder))
    else:
        asked = json.loads(Path(more[0]).read_text(encoding="utf-8"))
        print("\n" + json.dumps(script.ask(folder, np.load(asked["frames"]), asked)), flush=True)
