"""Run ShareGPT4Video with its authors' code: `single_test` of run.py, with frames from a file instead of decord."""

import functools

import run
from llava.model.builder import load_pretrained_model
from llava.model.language_model.llava_llama import LlavaConfig, LlavaLlamaForCausalLM
from theirs import SIZE, Video, answer_questions, randomize, save_clip_tower, save_llama_tokenizer

TOWER = "openai/clip-vit-large-patch14-336"
NAME = "sharegpt4video-8b"


def make(folder):
    save_clip_tower(folder / TOWER, side=112)
    weights = folder / NAME
    tokenizer = save_llama_tokenizer(weights, pad_token="<unk>")
    config = LlavaConfig(
        **SIZE, vocab_size=len(tokenizer), max_position_embeddings=4096, mm_vision_tower=TOWER, mm_hidden_size=32,
        mm_projector_type="mlp2x_gelu", mm_vision_select_layer=-2, mm_vision_select_feature="patch",
        mm_patch_merge_type="spatial_unpad", image_aspect_ratio="anyres", mm_use_im_start_end=False,
        mm_use_im_patch_token=False, image_grid_pinpoints=[[112, 224], [224, 112], [224, 224]], pad_token_id=0,
    )  # fmt: skip
    randomize(LlavaLlamaForCausalLM(config), 0.5).half().save_pretrained(weights)


def ask(folder, frames, asked):
    tokenizer, model, processor, _ = load_pretrained_model(NAME, None, NAME, device_map="cpu")
    model.eval()
    run.VideoReader = lambda path, **options: Video(frames)
    Video.get_batch = lambda self, places: self._frames  # whichever places the authors' code takes
    answers = functools.partial(run.video_answer)
    run.video_answer = lambda *words, **options: answers(*words, **options | {"max_new_tokens": 12})
    options = {"num_frames": len(frames), "conv_mode": "llava_llama_3"}

    def say(question):
        return run.single_test(model, processor, tokenizer, "", question, **options)

    return answer_questions(model, tokenizer, asked, say)
