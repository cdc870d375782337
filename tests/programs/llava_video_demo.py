"""What the authors' demonstration does with a checkpoint: `python <this> <folder> <questions.json>`, answers on standard output.

After docs/LLaVA_Video_1003.md of their repository: frames and their places come from a file in place of decord.
"""

import copy
import json
import sys
from pathlib import Path

import numpy as np
from llava.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
from llava.conversation import conv_templates
from llava.mm_utils import tokenizer_image_token
from llava.model.builder import load_pretrained_model
from llava_video_checkpoint import shrink_tower


def main(folder: str, asked: dict[str, object]) -> list[dict[str, object]]:
    shrink_tower()
    loaded = load_pretrained_model(
        folder, None, "llava_qwen", torch_dtype="bfloat16", device_map="auto", attn_implementation="sdpa"
    )
    tokenizer, model, image_processor, _ = loaded
    model.eval()
    frame_idx, total, fps = asked["indices"], asked["total"], asked["fps"]
    frame_time = ",".join(f"{i / fps:.2f}s" for i in frame_idx)
    video_time = total / fps
    video = np.load(asked["frames"])
    video = [image_processor.preprocess(video, return_tensors="pt")["pixel_values"].bfloat16()]
    found = []
    for question in asked["questions"]:
        time_instruction = (
            f"The video lasts for {video_time:.2f} seconds, and {len(video[0])} frames are uniformly sampled from it. These frames "
            f"are located at {frame_time}.Please answer the following questions related to this video."
        )
        conv = copy.deepcopy(conv_templates["qwen_1_5"])
        conv.append_message(conv.roles[0], DEFAULT_IMAGE_TOKEN + f"{time_instruction}\n{question}")
        conv.append_message(conv.roles[1], None)
        tokens = tokenizer_image_token(conv.get_prompt(), tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")
        input_ids = tokens.unsqueeze(0)
        how = {"images": video, "modalities": ["video"], "do_sample": False, "temperature": 0, "max_new_tokens": 12}
        cont = model.generate(input_ids, **how, output_scores=True, return_dict_in_generate=True)
        first = cont.scores[0][0].float().softmax(-1)
        chances = [first[tokenizer(word).input_ids[0]].item() for word in ("Yes", "No")]
        text = tokenizer.batch_decode(cont.sequences, skip_special_tokens=True)[0].strip()
        found.append({"text": text, "scores": chances})
    return found


if __name__ == "__main__":
    found = main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))
    print(json.dumps(found), flush=True)
