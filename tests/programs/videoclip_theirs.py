"""Run VideoCLIP with its authors' code: the loop of their README, with frames of the size that it names."""

import sys
from pathlib import Path

import numpy as np
import torch
from theirs import SIZE, randomize, save_bert_tokenizer
from transformers.activations import ACT2FN
from transformers.models.bert import modeling_bert

# Of transformers 3.4, for which their code was written.
LAYER, modeling_bert.ACT2FN = modeling_bert.BertLayer.forward, ACT2FN
modeling_bert.BertLayer.forward = lambda self, *given: LAYER(self, *given[:5], None, given[-1])
sys.modules["transformers.modeling_bert"] = modeling_bert
import mmpt
from mmpt.models import MMPTModel
from mmpt.processors.models.s3dg import S3D
from mmpt.tasks import Task
from mmpt.utils import recursive_config
from transformers import BertConfig, BertModel

CONFIG = str(Path(mmpt.__file__).parents[1] / "projects/retri/videoclip/how2.yaml")
WORDS = ["does", "the", "circle", "move", "?", "yes", "or", "no", ".", "what", "moves"]


def make(folder):
    base, s3d, run = folder / "bert-base-uncased", folder / "pretrained_models", folder / "runs/retri/videoclip"
    for one in (s3d, run):
        one.mkdir(parents=True)
    save_bert_tokenizer(base, WORDS)
    BertModel(BertConfig(5 + len(WORDS), **SIZE)).save_pretrained(base)
    np.save(s3d / "s3d_dict.npy", np.array(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    torch.save(S3D("pretrained_models/s3d_dict.npy", 512).state_dict(), "pretrained_models/s3d_howto100m.pth")
    model = randomize(Task.config_task(recursive_config(CONFIG)).build_model(), 0.2)
    weights = {f"mmmodel.{name}": one for name, one in model.state_dict().items()}
    torch.save({"model": weights}, "runs/retri/videoclip/checkpoint_best.pt")


def ask(folder, frames, asked):
    model, tokenizer, aligner = MMPTModel.from_pretrained(CONFIG)
    model.eval()
    video = torch.tensor(frames).float().reshape(1, -1, 30, *frames.shape[1:]) / 255
    found = []
    for text in asked["questions"]:
        caps, cmasks = aligner._build_text_seq(tokenizer(text, add_special_tokens=False)["input_ids"])
        found.append(model(video, caps[None, :], cmasks[None, :], return_score=True)["score"].item())
    return found
