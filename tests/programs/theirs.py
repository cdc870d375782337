"""What the authors' scripts of this folder share: each makes a tiny checkpoint with random weights and asks it as its authors do.

`python <script> make <folder>`, or `python <script> ask <folder> <asked.json>`, answers on standard output.
"""

import functools
import json
import random
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import torch

SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


def main(make, ask):
    """Do what the command line says."""
    what, folder, *more = sys.argv[1:]
    torch.manual_seed(0)
    random.seed(0)
    if what == "make":
        Path(folder).mkdir(parents=True, exist_ok=True)
        make(Path(folder))
        return
    asked = json.loads(Path(more[0]).read_text(encoding="utf-8"))
    print("\n" + json.dumps(ask(folder, np.load(asked["frames"]), asked)), flush=True)


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
    with torch.no_grad():
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


def watch(model):
    """A list that gets the chances of the next token, each time that the model is run."""
    seen, forward = [], model.forward

    @functools.wraps(forward)
    def watched(*words, **given):
        found = forward(*words, **given)
        seen.append(found.logits[0, -1].float().softmax(-1))
        return found

    model.forward = watched
    return seen


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


def pictures(side):
    """What makes pictures of this size, as CLIP takes them."""
    from transformers import CLIPImageProcessor

    return CLIPImageProcessor(size={"shortest_edge": side}, crop_size={"height": side, "width": side})


def greedy(model, tokenizer, tokens, **how):
    """The likeliest tokens, where the authors draw them, and the first one's probabilities of Yes and No."""
    how |= {"do_sample": False, "max_new_tokens": 12, "output_scores": True, "return_dict_in_generate": True}
    with torch.inference_mode():
        found = model.generate(tokens, **how)
    text = tokenizer.batch_decode(found.sequences[:, tokens.shape[1] :], skip_special_tokens=True)[0].strip()
    return {"text": text, "scores": scores(found.scores[0][0].float().softmax(-1), tokenizer)}
