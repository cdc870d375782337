"""Run PLLaVA with its authors' code: `load_pllava`, and `pllava_answer` in the conversation `eval_videoqabench`."""

from PIL import Image
from theirs import SIZE, answer_questions, make_image_processor, randomize, save_llama_tokenizer, stub_modules

TORCHVISION = ("torchvision", "torchvision.transforms", "torchvision.transforms.functional")
stub_modules("cv2", "imageio", "decord", "moviepy", "moviepy.editor", *TORCHVISION)
import torch
from models.pllava import PllavaConfig, PllavaForConditionalGeneration, PllavaProcessor, modeling_pllava
from peft import LoraConfig, get_peft_model
from tasks.eval import model_utils
from tasks.eval.eval_utils import conv_templates
from transformers import AutoModelForCausalLM


class Attention:
    """Replace the flash-attention that the authors request, which needs a GPU."""

    @staticmethod
    def from_config(config, **options):
        return AutoModelForCausalLM.from_config(config, **{**options, "attn_implementation": "sdpa"})


modeling_pllava.AutoModelForCausalLM = Attention


def make(folder):
    tokenizer = save_llama_tokenizer(folder, pad_token="<unk>")
    tokenizer.add_tokens(["<image>"], special_tokens=True)
    config = PllavaConfig(
        {"image_size": 336, "patch_size": 14, "projection_dim": 32, **SIZE},
        {"vocab_size": len(tokenizer), "pad_token_id": 0, "max_position_embeddings": 4096, **SIZE},
        image_token_index=len(tokenizer) - 1, pad_token_id=0, num_frames=16, pooling_shape=(16, 12, 12),
        register=False,
    )  # fmt: skip
    model = PllavaForConditionalGeneration(config)
    lora = LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj", "v_proj"], r=128, lora_alpha=4)
    model.language_model = get_peft_model(model.language_model, lora)
    randomize(model, 0.2).to(torch.bfloat16).save_pretrained(folder)
    PllavaProcessor(make_image_processor(336), tokenizer).save_pretrained(folder)


def ask(folder, frames, asked):
    options = {"use_lora": True, "weight_dir": folder, "lora_alpha": 4, "pooling_shape": (16, 12, 12)}
    model, processor = model_utils.load_pllava(folder, len(frames), **options)
    images = [[Image.fromarray(one) for one in frames]]

    def say(question):
        conversation = conv_templates["eval_videoqabench"].copy()
        conversation.user_query(question, is_mm=True)
        options = {"do_sample": False, "max_new_tokens": 12}
        return model_utils.pllava_answer(conversation, model, processor, images, **options)[0]

    return answer_questions(model.language_model, processor.tokenizer, asked, say)
