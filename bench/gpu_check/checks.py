"""List the checks, most basic first, with their requirements, the risks that they cover, and their deadlines."""

from bench.gpu_check.outcome import Check

# The packages that the library imports to load and run a model.
LIBRARY = (
    "torch", "transformers", "accelerate", "numpy", "PIL", "psutil", "filelock", "pydantic", "av", "cv2", "ffmpeg",
    "torchvision",
)  # fmt: skip
# The packages that a whole job imports.
JOB = (*LIBRARY, "httpx2")
FAMILIES = ("LLaVA-OneVision", "Qwen2.5-VL", "InternVL", "Qwen3-VL")
ENGINES = ("engines, 8 frames", "engines, 64 frames", "repeatability")
DRIVER = ("torch", "filelock")
PACKAGE = "bench.gpu_check"

CHECKS = (
    Check("driver", f"{PACKAGE}.machine:driver", ("driver",), 60, DRIVER, only_gpu="a CPU has no driver"),
    Check("product", f"{PACKAGE}.machine:product", ("matrix product",), 60, ("torch",)),
    Check("load", f"{PACKAGE}.loading:load", ("lock", "hash", "load"), 240, JOB),
    Check("engines", f"{PACKAGE}.answers:engines", ENGINES, 150, LIBRARY),
    *(
        Check(name.lower(), f"{PACKAGE}.answers:family", (name, f"{name}, memory"), 90, LIBRARY, (name,))
        for name in FAMILIES
    ),
    Check("full-card", f"{PACKAGE}.loading:full_card", ("full card",), 60, LIBRARY, only_gpu="it fills GPU memory"),
    Check("int8", f"{PACKAGE}.answers:quantised", ("int8",), 60, (*LIBRARY, "bitsandbytes"), ("int8",)),
    Check("nf4", f"{PACKAGE}.answers:quantised", ("nf4",), 60, (*LIBRARY, "bitsandbytes"), ("nf4",)),
    Check("busy", f"{PACKAGE}.work:busy", ("busy",), 120, JOB),
    Check("spread-llava", f"{PACKAGE}.several:spread", ("spread, LLaVA-OneVision",), 60, LIBRARY, ("LLaVA-OneVision",)),
    Check("spread-qwen", f"{PACKAGE}.several:spread", ("spread, Qwen2.5-VL",), 60, LIBRARY, ("Qwen2.5-VL",)),
    Check("copies", f"{PACKAGE}.several:copies", ("copies",), 90, JOB),
    Check("vllm", f"{PACKAGE}.serving:vllm", ("vllm",), 60 * 5, (*JOB, "openai")),
)  # fmt: skip
