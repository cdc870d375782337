"""Run MA-LMM with its authors' code, as in their demo.ipynb."""

import torch
from lavis.models import eva_vit, load_model_and_preprocess
from lavis.models.blip2_models import blip2
from theirs import SIZE, keep_one_layer, randomize, save_bert_tokenizer, save_eva_tower, save_llama_tokenizer
from transformers import BertConfig, BertLMHeadModel, LlamaConfig, LlamaForCausalLM


def loaded():
    """Return the authors' model, whose code finds local files instead of fetching them."""
    for module in (blip2, eva_vit):
        module.download_cached_file = lambda url, **options: url.rsplit("/", 1)[1]
    options = {"model_type": "vicuna7b", "is_eval": True, "device": "cpu", "memory_bank_length": 10, "num_frames": 5}
    model, processors, _ = load_model_and_preprocess("blip2_vicuna_instruct_malmm", **options)
    return model.float(), processors["eval"]


def make(folder):
    base, llm = folder / "bert-base-uncased", folder / "llm" / "vicuna-7b"
    save_bert_tokenizer(
        base, ["does", "the", "circle", "move", "?", "yes", "or", "no", ".", "what", "moves", "question", ":", "answer"]
    )
    randomize(BertLMHeadModel(BertConfig(19, **SIZE))).save_pretrained(base)
    randomize(LlamaForCausalLM(LlamaConfig(len(save_llama_tokenizer(llm)), **SIZE))).save_pretrained(llm)
    save_eva_tower(eva_vit, folder / "eva_vit_g.pth")
    torch.save({"model": {}}, folder / "instruct_blip_vicuna7b_trimmed.pth")
    model = loaded()[0]
    names = ("Qformer", "query_tokens", "llm_proj", "ln_vision", "image_pe")
    weights = {name: one for name, one in randomize(model, 0.2).state_dict().items() if name.startswith(names)}
    torch.save({"model": weights}, "instruct_blip_vicuna7b_trimmed.pth")


def ask(folder, frames, asked):
    model, process = loaded()
    video = process(torch.tensor(frames).permute(3, 0, 1, 2).to(torch.float32)).unsqueeze(0)
    return [{"text": model.generate({"image": video, "prompt": one}, max_length=12)[0]} for one in asked["questions"]]


keep_one_layer(eva_vit)
