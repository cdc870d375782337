"""Run LLaMA-VID with its authors' code: the loop of eval/model_msvd_qa.py, greedy, with frames from a file.

The script replaces `tokenizer_image_token`, which the authors import from LLaVA.
"""

import json
from pathlib import Path

import torch
from llamavid.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
from llamavid.conversation import conv_templates
from llamavid.model.builder import load_pretrained_model
from llamavid.model.language_model.llava_llama_vid import LlavaConfig, LlavaLlamaAttForCausalLM
from llamavid.model.multimodal_encoder import eva_vit
from theirs import (
    SIZE,
    answer_greedily,
    build_prompt,
    make_image_processor,
    randomize,
    save_bert_tokenizer,
    save_eva_tower,
    save_llama_tokenizer,
)
from transformers import BertConfig, BertLMHeadModel, CLIPVisionConfig

TOWER, PROCESSOR, BERT = "model_zoo/LAVIS/eva_vit_g.pth", "llamavid/processor/clip-patch14-224", "bert-base-uncased"
WIDTH, SIDE = 88, 56


def shrink():
    """Replace the authors' vision tower, whose size is in its code, by a small one."""
    made = eva_vit.VisionTransformer
    eva_vit.VisionTransformer = lambda **options: made(**options | {"depth": 2, "embed_dim": WIDTH, "num_heads": 1})
    begun = eva_vit.EVAVisionTowerLavis.load_model

    def load_model(self):
        self.out_channel = WIDTH
        begun(self)

    eva_vit.EVAVisionTowerLavis.load_model = load_model


def make(folder):
    for path in ("model_zoo/LAVIS", PROCESSOR):
        Path(path).mkdir(parents=True)
    make_image_processor(SIDE).save_pretrained(PROCESSOR)
    CLIPVisionConfig(**{**SIZE, "num_hidden_layers": 1, "num_attention_heads": 2}).save_pretrained(PROCESSOR)
    save_eva_tower(eva_vit, TOWER, 0.2, img_size=SIDE)
    save_bert_tokenizer(Path(BERT), [*"abcdefghijklmnopqrstuvwxyz.?", "circle"])
    BertLMHeadModel(BertConfig(vocab_size=34, **SIZE)).save_pretrained(BERT)
    tokenizer = save_llama_tokenizer(folder / "llama-vid", pad_token="<unk>")
    config = LlavaConfig(
        **SIZE, vocab_size=len(tokenizer), max_position_embeddings=4096, mm_vision_tower=TOWER, mm_hidden_size=WIDTH,
        image_processor=PROCESSOR, mm_projector_type="mlp2x_gelu", mm_vision_select_feature="patch",
        bert_type="qformer_pretrain", num_query=4, compress_type="mean", mm_use_im_start_end=False,
        mm_use_im_patch_token=False, pad_token_id=0,
    )  # fmt: skip
    model = LlavaLlamaAttForCausalLM(config)
    inner = model.get_model()
    inner.config.bert_type, inner.config.num_query = config.bert_type, config.num_query
    # Create the modules that the authors' training adds to the checkpoint.
    inner.vlm_att_tokenlizer, inner.vlm_att_encoder, inner.vlm_att_query = inner.init_bert(1408)
    sizes = {"projector": (32, WIDTH), "key_projector": (WIDTH, WIDTH), "val_projector": (WIDTH, 32)}
    for name, size in sizes.items():
        setattr(inner, f"vlm_att_{name}", torch.nn.Linear(*size))
    inner.vlm_att_bert_proj, inner.vlm_att_ln = torch.nn.Linear(WIDTH, 1408), torch.nn.LayerNorm(1408)
    randomize(model, 0.3).half().save_pretrained("llama-vid", safe_serialization=False)
    weights = torch.load("llama-vid/pytorch_model.bin")
    index = {"metadata": {}, "weight_map": dict.fromkeys(weights, "pytorch_model.bin")}
    Path("llama-vid/pytorch_model.bin.index.json").write_text(json.dumps(index))


def ask(folder, frames, asked):
    options = {"device_map": {"": "cpu"}, "device": "cpu"}
    tokenizer, model, image_processor, _ = load_pretrained_model("llama-vid", None, "llama-vid", **options)
    video = [image_processor.preprocess(frames, return_tensors="pt")["pixel_values"].half()]
    found = []
    for question in asked["questions"]:
        prompt = build_prompt(conv_templates["vicuna_v1"], DEFAULT_IMAGE_TOKEN + "\n" + question)
        chunks = [tokenizer(chunk).input_ids for chunk in prompt.split("<image>")]
        tokens = torch.tensor([[*chunks[0], IMAGE_TOKEN_INDEX, *chunks[1][1:]]])
        model.update_prompt([[question]])
        found.append(answer_greedily(model, tokenizer, tokens, images=video, use_cache=True))
    return found


shrink()
