"""Run VILA 1.5 with its authors' code: `eval_model` of run_vila.py, with frames from a file instead of OpenCV."""

import io
from argparse import Namespace
from contextlib import redirect_stdout
from pathlib import Path

from theirs import SIZE, answer_questions, keep_on_cpu, randomize, save_llama_tokenizer, stub_modules

stub_modules(*(f"llava.model.multimodal_encoder.{one}" for one in ("intern.flash_attention", "radio_encoder")))
from llava import mm_utils
from llava.eval import run_vila
from llava.model import builder
from llava.model.language_model.llava_llama import LlavaLlamaConfig, LlavaLlamaModel
from llava.model.multimodal_encoder.intern import modeling_intern_vit
from llava.model.multimodal_encoder.siglip import SiglipImageProcessor, SiglipVisionConfig, SiglipVisionModel
from PIL import Image
from transformers import LlamaConfig, LlamaForCausalLM


def adapt_to_cpu():
    """Keep the authors' model with SigLIP on the CPU, and disable flash-attention of InternViT, the tower of VILA 40B."""
    keep_on_cpu()
    modeling_intern_vit.has_flash_attn = False
    prepare = builder.prepare_config_for_eval
    builder.prepare_config_for_eval = lambda config, options: (
        prepare(config, options),
        options.update(device_map={"": "cpu"}),
    )


def siglip(folder):
    randomize(SiglipVisionModel(SiglipVisionConfig(**SIZE, image_size=70, patch_size=14)), 0.2).save_pretrained(folder)
    SiglipImageProcessor(size={"height": 70, "width": 70}).save_pretrained(folder)


def make(folder, tower=siglip, words=(), **options):
    tokenizer = save_llama_tokenizer(Path("parts/llm"), pad_token="<unk>")
    tokenizer.add_tokens(list(words), special_tokens=True)
    tokenizer.save_pretrained("parts/llm")
    config = LlamaConfig(len(tokenizer), **SIZE, max_position_embeddings=4096)
    randomize(LlamaForCausalLM(config), 0.4).save_pretrained("parts/llm")
    tower(f"parts/{tower.__name__}")
    config = LlavaLlamaConfig(
        "parts/llm", f"parts/{tower.__name__}", "mlp_downsample", mm_vision_select_layer=-2,
        mm_vision_select_feature="cls_patch", image_aspect_ratio="resize", mm_use_im_patch_token=False,
    )  # fmt: skip
    config.update(options)
    model = LlavaLlamaModel(config)
    randomize(model.mm_projector, 0.2)
    model.save_pretrained("./")


def ask(folder, frames, asked, conv_mode="vicuna_v1"):
    mm_utils.opencv_extract_frames = lambda *words: [Image.fromarray(one) for one in frames]
    loaded = run_vila.load_pretrained_model("./", "VILA1.5", None)
    tokenizer, model, *_ = loaded
    run_vila.load_pretrained_model = lambda *words: loaded  # Load the model once for all questions.
    video = __file__  # Any existing file: the authors check that it exists, but the frames replace its content.
    options = {"model_path": "./", "model_base": None, "video_file": video, "num_video_frames": len(frames)}
    options |= {"conv_mode": conv_mode, "temperature": 0, "top_p": None, "num_beams": 1, "max_new_tokens": 12}

    def say(question):
        with redirect_stdout(io.StringIO()) as said:
            run_vila.eval_model(Namespace(**options, query=question))
        # The authors print the answer after the shape of the frames, `torch.Size([...])`.
        return said.getvalue().split("])\n")[-1]

    return answer_questions(model.llm, tokenizer, asked, say)


adapt_to_cpu()
