"""What the authors' scripts of this folder share: each makes a tiny checkpoint with random weights and asks it as its authors do.

`python theirs.py <script> make <folder>`, or `python theirs.py <script> ask <folder> <asked.json>`, answers on standard output.
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


def without(*names):
    """Modules that the authors import for what is not done here, such as reading videos: frames come from a file."""
    for name in names:
        module = types.ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        module.__getattr__ = _anything
        module.__path__ = []
        sys.modules[name] = module


def _anything(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {"__init__": lambda self, *words, **how: None})


class Video:
    """The frames, as the whole video that the authors' reader opens."""

    def __init__(self, frames):
        self._frames = torch.tensor(frames)
        torch.Tensor.asnumpy = torch.Tensor.numpy

    def __len__(self):
        return len(self._frames)

    def __getitem__(self, place):
        return self._frames[place]

    def get_avg_fps(self):
        return 24.0

    def get_batch(self, places):
        assert list(places) == list(range(len(self)))
        return self._frames


def spread(model, std=0.3):
    """Weights so large that frames and questions matter."""
    for one in model.parameters():
        one.copy_(torch.randn(one.shape) * std)
    return model


def sentencepiece(folder):
    """`tokenizer.model` of Llama's kind, with Yes and No as words."""
    import sentencepiece

    words = "Yes No A B What moves ? USER: ASSISTANT: Human: AI: the video is a circle, red or blue. Does it stop, turn and go up or down?"
    lines = [" ".join(random.sample(words.split(), 12)) for _ in range(500)]
    (folder / "text.txt").write_text("\n".join(lines))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text.txt"), model_prefix=str(folder / "tokenizer"), vocab_size=400, model_type="bpe",
        byte_fallback=True, character_coverage=1.0, bos_id=1, eos_id=2, unk_id=0, hard_vocab_limit=False,
    )  # fmt: skip
    return folder / "tokenizer.model"


def llama(folder, **how):
    """A small tokenizer of Llama's kind, saved in a folder that is made where it is not there."""
    from transformers import LlamaTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = LlamaTokenizer(str(sentencepiece(folder)), **how)
    tokenizer.save_pretrained(folder)
    return tokenizer


def qwen(folder, **how):
    """One of Qwen's kind, with Yes and No as words; who needs it saves it."""
    from transformers import Qwen2Tokenizer
    from transformers.models.qwen2.tokenization_qwen2 import bytes_to_unicode

    merges = ("Y e", "Ye s", "N o")
    words = [*bytes_to_unicode().values(), *("".join(one.split()) for one in merges)]
    (folder / "vocab.json").write_text(json.dumps({word: at for at, word in enumerate(words)}))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]))
    special = ["<|im_start|>", "<|im_end|>"]
    files = str(folder / "vocab.json"), str(folder / "merges.txt")
    return Qwen2Tokenizer(*files, additional_special_tokens=special, **how)


def bert(folder, words):
    """One of BERT's kind, of these words, saved in a new folder."""
    from transformers import BertTokenizer

    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)


def prompt_of(template, text):
    """The prompt of a conversation that begins with a text, as LLaVA's kin write it."""
    conversation = template.copy()
    conversation.append_message(conversation.roles[0], text)
    conversation.append_message(conversation.roles[1], None)
    return conversation.get_prompt()


def watched(model, tokenizer, asked, say):
    """What the authors' code says to each question, and the probabilities of Yes and No as the model is first run for it."""
    seen, forward = [], model.forward

    @functools.wraps(forward)
    def noted(*words, **given):
        found = forward(*words, **given)
        seen.append(found.logits[0, -1].float().softmax(-1))
        return found

    model.forward, answers = noted, []
    for question in asked["questions"]:
        seen.clear()
        answers.append({"text": say(question), "scores": scores(seen[0], tokenizer)})
    return answers


def scores(chances, tokenizer):
    """The probabilities of Yes and No."""
    return [chances[tokenizer(word, add_special_tokens=False).input_ids[0]].item() for word in ("Yes", "No")]


def on_processor():
    """What the authors put on a GPU stays here."""
    torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *words, **how: self
    moved = torch.nn.Module.to

    def to(self, *words, **how):
        return moved(self, *words, **{name: "cpu" if one == "cuda" else one for name, one in how.items()})

    torch.nn.Module.to = to


def tower(path, width=32, side=224):
    """A small one of CLIP's, in the place of the authors' large one."""
    from transformers import CLIPVisionConfig, CLIPVisionModel

    size = {**SIZE, "hidden_size": width}
    model = CLIPVisionModel(CLIPVisionConfig(**size, image_size=side, patch_size=14, projection_dim=32))
    spread(model, 0.2).save_pretrained(path)
    pictures(side).save_pretrained(path)


def one_layer(eva_vit):
    """One layer of the authors' 39 of pictures."""
    made = eva_vit.VisionTransformer
    eva_vit.VisionTransformer = lambda **how: made(**how | {"depth": 1})


def eva(eva_vit, path, std=0.02, **how):
    """Weights of the authors' tower of pictures."""
    size = {"img_size": 224, "patch_size": 14, "embed_dim": 1408, "num_heads": 16, "mlp_ratio": 4.3637, **how}
    norm = functools.partial(torch.nn.LayerNorm, eps=1e-6)
    tower = eva_vit.VisionTransformer(**size, qkv_bias=True, use_mean_pooling=False, norm_layer=norm)
    torch.save(spread(tower, std).state_dict(), path)


def pictures(side):
    """What makes pictures of this size, as CLIP takes them."""
    from transformers import CLIPImageProcessor

    return CLIPImageProcessor(size={"shortest_edge": side}, crop_size={"height": side, "width": side})


def greedy(model, tokenizer, tokens, **how):
    """The likeliest tokens, where the authors draw them, and the first one's probabilities of Yes and No."""
    how |= {"do_sample": False, "max_new_tokens": 12, "output_scores": True, "return_dict_in_generate": True}
    found = model.generate(tokens, **how)
    text = tokenizer.batch_decode(found.sequences[:, tokens.shape[1] :], skip_special_tokens=True)[0].strip()
    return {"text": text, "scores": scores(found.scores[0][0].float().softmax(-1), tokenizer)}


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
