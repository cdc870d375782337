"""Run Owl-Con with its authors' code: their data set and the loop of entailment_inference.py, with the test's questions."""

import pandas as pd
from theirs import SIZE, Video, randomize, save_llama_tokenizer, scores, stub_modules

stub_modules("h5py")
import torch
from data_utils.xgpt3_dataset import MultiModalDataset
from mplug_owl_video import processing_mplug_owl
from mplug_owl_video.configuration_mplug_owl import MplugOwlConfig, MplugOwlVisionConfig, MplugOwlVisualAbstractorConfig
from mplug_owl_video.modeling_mplug_owl import MplugOwlForConditionalGeneration
from mplug_owl_video.processing_mplug_owl import MplugOwlImageProcessor, MplugOwlProcessor
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaTokenizer
from utils import batchify

# The authors' class copies attributes of Llama's, including a method that cannot be saved with transformers 4.31.
HELD = MplugOwlConfig.to_dict
MplugOwlConfig.to_dict = lambda self: {name: one for name, one in HELD(self).items() if not callable(one)}
LORA = LoraConfig(
    target_modules=r".*language_model.*\.(q_proj|v_proj|k_proj|o_proj|gate_proj|down_proj|up_proj)", inference_mode=True,
    r=32, lora_alpha=32, lora_dropout=0.05,
)  # fmt: skip
PROMPT = """The following is a conversation between a curious human and AI assistant. The assistant gives helpful, detailed, and polite answers to the user's questions.
Human: <|video|>
Human: {}
AI: """


def make(folder):
    base, own = folder / "mplug-owl-llama-7b-video", folder / "owl-con"
    own.mkdir()
    tokenizer = save_llama_tokenizer(base, pad_token="<unk>")
    MplugOwlImageProcessor(size={"shortest_edge": 224}).save_pretrained(base)
    config = MplugOwlConfig(
        MplugOwlVisionConfig(**SIZE, image_size=224, patch_size=14, use_flash_attn=False).to_dict(),
        MplugOwlVisualAbstractorConfig(**SIZE, encoder_hidden_size=32).to_dict(),
        LlamaConfig(len(tokenizer), max_position_embeddings=1024, **SIZE).to_dict(),
    )
    model = randomize(MplugOwlForConditionalGeneration(config), 0.2).to(torch.bfloat16)
    model.save_pretrained(base)
    torch.save(randomize(get_peft_model(model, LORA), 0.2).state_dict(), own / "pytorch_model.bin")


def ask(folder, frames, asked):
    processing_mplug_owl.VideoReader = lambda path, **options: Video(frames)
    processing_mplug_owl.get_index = lambda total, wanted: range(total)
    base = f"{folder}/mplug-owl-llama-7b-video"
    tokenizer, image_processor = LlamaTokenizer.from_pretrained(base), MplugOwlImageProcessor.from_pretrained(base)
    rows = [{"videopath": "video.mp4", "caption": PROMPT.format(one)} for one in asked["questions"]]
    pd.DataFrame(rows).to_csv(f"{folder}/asked.csv", index=False)
    processor = MplugOwlProcessor(image_processor, tokenizer)
    data = MultiModalDataset(f"{folder}/asked.csv", tokenizer, processor, max_length=256, loss_objective="sequential")
    model = get_peft_model(MplugOwlForConditionalGeneration.from_pretrained(base, torch_dtype=torch.bfloat16), LORA)
    model.load_state_dict(torch.load(f"{folder}/owl-con/pytorch_model.bin"))
    model = model.to(torch.bfloat16).eval()
    found = []
    for at in range(len(data)):
        inputs = batchify([data[at]])
        del inputs["labels"], inputs["videopaths"], inputs["captions"]
        inputs["video_pixel_values"] = inputs["video_pixel_values"].bfloat16()
        length = data[at]["text"]["seq_length"]
        probabilities = model(**inputs)["logits"][0, length - 1].float().softmax(-1)
        found.append({"scores": scores(probabilities, tokenizer)})
    return found
