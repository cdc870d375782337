"""Run VILA 1.5 40B with its authors' code: another vision tower and another conversation."""

from functools import partial

import vila_theirs
from theirs import SIZE, randomize
from vila_theirs import modeling_intern_vit


def intern(folder):
    config = modeling_intern_vit.InternVisionConfig(**SIZE, image_size=448, patch_size=14)
    randomize(modeling_intern_vit.InternVisionModel(config), 0.2).save_pretrained(folder)


HERMES = {"tower": intern, "words": ("<|im_start|>", "<|im_end|>"), "mm_vision_select_feature": "patch"}
make, ask = partial(vila_theirs.make, **HERMES), partial(vila_theirs.ask, conv_mode="hermes-2")
