"""Run LLaVA-Video with its authors' code, docs/LLaVA_Video_1003.md, with frames and times from a file instead of decord."""

import torch
from llava.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
from llava.conversation import conv_templates
from llava.mm_utils import tokenizer_image_token
from llava.model.builder import load_pretrained_model
from llava.model.language_model.llava_qwen import LlavaQwenConfig, LlavaQwenForCausalLM
from llava.model.multimodal_encoder import siglip_encoder
from theirs import SIZE, build_prompt, make_qwen_tokenizer, scores


def shrink():
    """Replace the authors' vision tower by a small one, which needs no file."""
    kept = siglip_encoder.SigLipVisionConfig.__init__.__defaults__[8:]
    small = (32, (0.5, 0.5, 0.5), 64, 2, 2, 3, 384, 14, *kept)
    siglip_encoder.SigLipVisionConfig.__init__.__defaults__ = small

    def made(cls, name, **more):  # as in its library
        return cls(siglip_encoder.SigLipVisionConfig())

    siglip_encoder.SigLipVisionModel.from_pretrained = classmethod(made)


def make(folder):
    tokenizer = make_qwen_tokenizer(folder)
    tokenizer.save_pretrained(folder)
    config = LlavaQwenConfig(
        **SIZE, vocab_size=len(tokenizer), num_key_value_heads=2, max_position_embeddings=8192, tokenizer_model_max_length=8192, initializer_range=0.5,
        tie_word_embeddings=False,
        mm_vision_tower="google/siglip-so400m-patch14-384", mm_hidden_size=32, mm_projector_type="mlp2x_gelu",
        mm_patch_merge_type="spatial_unpad", mm_newline_position="grid", mm_spatial_pool_mode="bilinear",
        mm_spatial_pool_stride=2, mm_tunable_parts="mm_vision_tower,mm_mlp_adapter,mm_language_model",
        mm_use_im_start_end=False, mm_use_im_patch_token=False, image_aspect_ratio="anyres_max_9", add_faster_video=False,
    )  # fmt: skip
    model = LlavaQwenForCausalLM(config)
    for name, one in model.named_parameters():
        if "vision_tower" in name or "mm_projector" in name:
            torch.nn.init.normal_(one, std=0.3)
    model.to(torch.bfloat16).save_pretrained(folder)


def ask(folder, frames, asked):
    options = {"torch_dtype": "bfloat16", "device_map": "auto", "attn_implementation": "sdpa"}
    tokenizer, model, image_processor, _ = load_pretrained_model(folder, None, "llava_qwen", **options)
    model.eval()
    frame_time = ",".join(f"{i / asked['fps']:.2f}s" for i in asked["indices"])
    video_time = asked["total"] / asked["fps"]
    video = [image_processor.preprocess(frames, return_tensors="pt")["pixel_values"].bfloat16()]
    found = []
    for question in asked["questions"]:
        time_instruction = (
            f"The video lasts for {video_time:.2f} seconds, and {len(video[0])} frames are uniformly sampled from it. These frames "
            f"are located at {frame_time}.Please answer the following questions related to this video."
        )
        prompt = build_prompt(conv_templates["qwen_1_5"], DEFAULT_IMAGE_TOKEN + f"{time_instruction}\n{question}")
        tokens = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
        options = {"images": video, "modalities": ["video"], "do_sample": False, "temperature": 0, "max_new_tokens": 12}
        cont = model.generate(tokens.unsqueeze(0), **options, output_scores=True, return_dict_in_generate=True)
        text = tokenizer.batch_decode(cont.sequences, skip_special_tokens=True)[0].strip()
        found.append({"text": text, "scores": scores(cont.scores[0][0].float().softmax(-1), tokenizer)})
    return found


shrink()
