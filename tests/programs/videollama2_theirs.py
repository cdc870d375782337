"""Run VideoLLaMA2 with its authors' code: `model_init` and `mm_infer`, with frames from a file instead of decord."""

from theirs import SIZE, answer_questions, keep_on_cpu, make_image_processor, make_qwen_tokenizer, randomize
from transformers import CLIPVisionConfig
from videollama2 import mm_infer, model_init
from videollama2.model import encoder
from videollama2.model.videollama2_qwen2 import Videollama2Qwen2Config, Videollama2Qwen2ForCausalLM

TEMPLATE = (
    "{% for one in messages %}<|im_start|>{{ one['role'] }}\n{{ one['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOWER = "openai/clip-vit-large-patch14-336"


class Tower(encoder.CLIPVisionModel):
    """Replace the flash-attention that the authors request, which needs a GPU."""

    def __init__(self, config):
        config._attn_implementation = "eager"
        super().__init__(config)


def make(folder):
    CLIPVisionConfig(**SIZE, image_size=112, patch_size=14, projection_dim=32).save_pretrained(folder / TOWER)
    make_image_processor(112).save_pretrained(folder / TOWER)
    weights = folder / "VideoLLaMA2-72B"
    weights.mkdir()
    tokenizer = make_qwen_tokenizer(weights, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(weights)
    config = Videollama2Qwen2Config(
        **SIZE, vocab_size=len(tokenizer), num_key_value_heads=2, max_position_embeddings=4096,
        tie_word_embeddings=False, mm_vision_tower=TOWER, mm_hidden_size=32, mm_projector_type="stc_connector",
        mm_vision_select_layer=-2, num_frames=5,
    )  # fmt: skip
    randomize(Videollama2Qwen2ForCausalLM(config), 0.4).half().save_pretrained(weights)


def ask(folder, frames, asked):
    model, processor, tokenizer = model_init("VideoLLaMA2-72B")
    model.eval()
    video, options = processor["video"](list(frames)), {"modal": "video", "do_sample": False, "max_new_tokens": 12}
    return answer_questions(
        model, tokenizer, asked, lambda question: mm_infer(video, question, model, tokenizer, **options)
    )


keep_on_cpu()
encoder.CLIPVisionModel = Tower
