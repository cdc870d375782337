"""Which code gives the answers of earlier code, so that a change which cannot alter them asks nothing again.

A run's key holds a digest of the modules behind its adapter. After a change of them that alters no answer, the new
digest stands here beside the one whose answers it gives, by a person's decision; what does not stand here is a code of
its own, whose runs are asked again. `tests/unit/models/test_keys.py` prints the lines when a digest is none of these.
"""

import json
from pathlib import Path
from typing import Any

SAME_ANSWERS: dict[str, str] = {
    "39f9d2009be3b892": "82781fc914b6f695",
    "eb532e0b17714237": "4814caa4eef60319",
    "7e63b49e3fc3f13a": "63131dabd8741aa1",
    "269015a9fe72b439": "0a8f55a7caf0bebf",
    "27bdb3e69e676961": "3a4183d14d462ae8",
    "e2d9895aa56fcc41": "43953da9dc12a4dc",
    "599fbbc2b88d7bec": "6cd8f50bb226f01f",
    "e232440a9be6be2d": "01e0617d286b2593",
    "e6aac663bb340ae4": "089622a3a9b01afc",
    "1637633e31d0fb09": "7c93e55a92b0aeb0",
    "06c096363884e69f": "3326b9d48962bd72",
}
"""Digest of today's code -> of the code under which its answers are known."""
# Settings of a checkpoint that reached `generate` under those earlier codes and reach it no more, and what each is by
# default: such a checkpoint wrote other texts then.
ONCE_KEPT = {
    "use_cache": True, "num_beams": 1, "num_return_sequences": 1, "return_dict_in_generate": False, "max_time": None,
    "cache_implementation": None, "penalty_alpha": None, "prompt_lookup_num_tokens": None, "output_scores": False,
    "output_logits": False, "remove_invalid_values": False,
}  # fmt: skip


def known_code(code: str, checkpoint: str | None) -> str:
    """The digest in whose name the answers of a model are known; `checkpoint` is the folder of one on this machine."""
    return code if checkpoint is not None and _wrote_otherwise(Path(checkpoint)) else SAME_ANSWERS.get(code, code)


def _wrote_otherwise(folder: Path) -> bool:
    own = folder / "generation_config.json"
    said = _json(own if own.is_file() else folder / "config.json")
    return any(said.get(name, default) not in (default, None) for name, default in ONCE_KEPT.items())


def _json(path: Path) -> dict[str, Any]:
    """What is wrong with a file is found when the model is loaded."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
