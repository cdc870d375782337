"""Run Video-ChatGPT with its authors' code: `initialize_model`, `load_video` and `video_chatgpt_infer`."""

from theirs import Video, keep_on_cpu, randomize, save_clip_tower, save_llama_tokenizer

keep_on_cpu()
import torch
from video_chatgpt.eval import model_utils
from video_chatgpt.inference import video_chatgpt_infer
from video_chatgpt.model.video_chatgpt import VideoChatGPTConfig, VideoChatGPTLlamaForCausalLM


def make(folder):
    save_clip_tower(folder / "openai/clip-vit-large-patch14", 1024)
    path = folder / "LLaVA-7B-Lightening-v1-1"
    options = {"mm_vision_tower": "openai/clip-vit-large-patch14", "mm_hidden_size": 1024, "use_mm_proj": True}
    config = VideoChatGPTConfig(len(save_llama_tokenizer(path)), 32, 64, 2, 4, **options)
    model = randomize(VideoChatGPTLlamaForCausalLM(config), 0.2).half()
    model.save_pretrained(path)
    projector = {name: one for name, one in randomize(model, 0.3).state_dict().items() if "mm_projector" in name}
    torch.save(projector, folder / "video_chatgpt-7B.bin")


def ask(folder, frames, asked):
    model_utils.VideoReader = lambda path, **options: Video(frames)
    model_utils.get_seq_frames = lambda total, wanted: list(range(total))
    model, *parts = model_utils.initialize_model("LLaVA-7B-Lightening-v1-1", "video_chatgpt-7B.bin")
    generate = model.generate
    model.generate = lambda ids, **options: generate(ids, **{**options, "do_sample": False, "max_new_tokens": 12})
    images = model_utils.load_video("video.mp4")
    vision_tower, tokenizer, processor, length = parts
    return [
        {
            "text": video_chatgpt_infer(
                images, one, "video-chatgpt_v1", model, vision_tower, tokenizer, processor, length
            )
        }
        for one in asked["questions"]
    ]
