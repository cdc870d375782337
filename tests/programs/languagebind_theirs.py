"""Run LanguageBind with its authors' code: the loop of their README for a video, without its random flips."""

import json

from theirs import SIZE, Video, randomize, stub_modules

stub_modules("torchaudio")
import torch
from languagebind import LanguageBindVideo, LanguageBindVideoProcessor, LanguageBindVideoTokenizer
from languagebind.video import processing_video
from languagebind.video.configuration_video import LanguageBindVideoConfig
from transformers.models.clip.tokenization_clip import bytes_to_unicode


def make(folder):
    letters = list(bytes_to_unicode().values())
    words = [*letters, *(f"{one}</w>" for one in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: at for at, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    LanguageBindVideoTokenizer(folder / "vocab.json", folder / "merges.txt").save_pretrained(folder)
    size = SIZE | {"projection_dim": 16}
    video = {"num_frames": 8, "add_time_attn": True, "lora_r": 4, "lora_alpha": 4, "video_decode_backend": "decord"}
    text = {"vocab_size": len(words), "max_position_embeddings": 77, "eos_token_id": len(words) - 1}
    config = LanguageBindVideoConfig(size | text, size | video | {"image_size": 224, "patch_size": 32}, 16)
    model = randomize(LanguageBindVideo(config), 0.2)
    config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")


def ask(folder, frames, asked):
    processing_video.VideoReader = lambda path, **options: Video(frames)
    model = LanguageBindVideo.from_pretrained(folder).eval()
    tokenizer = LanguageBindVideoTokenizer.from_pretrained(folder)
    process = LanguageBindVideoProcessor(model.config, tokenizer)
    process.transform.transforms[-1].p = 0
    data = process(["video.mp4"], asked["questions"], return_tensors="pt")
    found = model(**data)
    return (found.text_embeds @ found.image_embeds.T)[:, 0].tolist()
