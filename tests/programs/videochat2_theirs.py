"""Run VideoChat2 with its authors' code: the functions of conversation.py as in demo/demo.ipynb, with frames from a file."""

from pathlib import Path

from theirs import SIZE, Video, answer_questions, randomize, save_bert_tokenizer, save_llama_tokenizer, stub_modules

stub_modules("decord", "dataset.video_utils")
import conversation
import models
import torch
from models import VideoChat2_it_vicuna
from models.blip2 import vit
from peft import LoraConfig, TaskType, get_peft_model
from transformers import BertConfig, LlamaConfig, LlamaForCausalLM
from utils.config import Config
from utils.easydict import EasyDict

BOTH, STAGE2, STAGE3 = "umt_l16_qformer.pth", "videochat2_7b_stage2.pth", "videochat2_7b_stage3.pth"


def shrink():
    """Keep two of the 23 layers of the authors' vision tower."""
    made = vit.PretrainVisionTransformer
    vit.PretrainVisionTransformer = lambda **options: made(**options | {"encoder_depth": 3})


def opened(**paths):
    config = Config.from_file(str(Path(models.__file__).parents[1] / "configs" / "config.json")).model
    config.update(llama_model_path="vicuna-7b-v0", **paths)
    config.vision_encoder.num_frames = 4
    model = VideoChat2_it_vicuna(config=config)
    lora = LoraConfig(task_type=TaskType.CAUSAL_LM, inference_mode=False, r=16, lora_alpha=32, lora_dropout=0.0)
    model.llama_model = get_peft_model(model.llama_model, lora)
    return model


def make(folder):
    save_bert_tokenizer(Path("bert-base-uncased"), ["watch", "the", "video", "and", "answer", "question", "."])
    BertConfig(12, **SIZE).save_pretrained("bert-base-uncased")
    size = len(save_llama_tokenizer(Path("vicuna-7b-v0")))
    randomize(LlamaForCausalLM(LlamaConfig(size, **SIZE)), 0.4).save_pretrained("vicuna-7b-v0")
    weights = randomize(opened(vit_blip_model_path="", videochat2_model_path=""), 0.05).state_dict()
    parts = {BOTH: ("vision_", "qformer", "query_"), STAGE2: ("extra_", "llama_proj"), STAGE3: ("llama_model",)}
    for file, names in parts.items():
        kept = {name: one for name, one in weights.items() if name.startswith(names)}
        torch.save({name: one for name, one in kept.items() if file != STAGE3 or "lora_" in name}, file)


def ask(folder, frames, asked):
    conversation.VideoReader = lambda path, ctx: Video(frames)
    conversation.Chat.get_index = lambda self, total, wanted: range(total)
    model = opened(vit_blip_model_path=BOTH, videochat2_model_path=STAGE2)
    model.load_state_dict(torch.load(STAGE3, "cpu"), strict=False)
    model.float().eval()
    drawn = model.llama_model.generate
    model.llama_model.generate = lambda **options: drawn(**options | {"do_sample": False})
    chat = conversation.Chat(model, "cpu")

    def say(question):
        talk, seen = EasyDict(system="", roles=("Human", "Assistant"), messages=[], sep="###"), []
        chat.upload_video("video.mp4", talk, seen, len(frames))
        chat.ask(question, talk)
        return chat.answer(talk, seen, max_new_tokens=12)[0]

    return answer_questions(model.llama_model.base_model.model, model.llama_tokenizer, asked, say)


shrink()
