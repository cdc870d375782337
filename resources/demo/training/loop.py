"""Run one process of the training: its stages, regular saves, and resumption at any step."""

import json
import time
from pathlib import Path

import torch
from reprise.core.errors import UserError
from reprise.core.files import atomic_path, value_digest, write_text
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import LlavaOnevisionForConditionalGeneration

from training.batches import LETTER, STATEMENT, TEXT, VERDICT, Batch, Encoder
from training.config import TrainConfig, config_values, load_config
from training.exchange import ALONE, Exchange
from training.export import export_checkpoint
from training.model import build_heads, build_model, deed_loss, scene_loss
from training.optimiser import MasterAdamW
from training.packed import PLAIN, Paths, compiled_paths, frame_tokens, packed_hidden
from training.schedule import VIDEO_TOKENS, batch_of_step, learning_rate, load_tokenizer
from training.score import FRAMES, Scorer, summary, validation_cases

LOSS_WEIGHTS = {VERDICT: 2.0, LETTER: 0.7, TEXT: 0.5, STATEMENT: 0.25}
LOSS_NAMES = {VERDICT: "verdict", LETTER: "letter", TEXT: "text", STATEMENT: "statement"}
SEEING_WEIGHT = 1.0
DECAY = 0.02
COMPILED_KINDS = ("see", "describe", "mix", "benchmarks", "joined", "pictures")
VALIDATION_SOURCES = 24
STATE, PROGRESS = "state.safetensors", "progress.json"


class Trainer:
    """The model, its optimiser and the progress of the run."""

    rank: int = 0
    exchange: Exchange = ALONE

    def __init__(self, config: TrainConfig, folder: Path, checkpoint: Path | None = None) -> None:
        torch.manual_seed(config.seed)
        self.config, self.folder, self.step = config, folder, 0
        self.tokenizer = load_tokenizer(folder / "tokenizer")
        self.encoder = Encoder(self.tokenizer, VIDEO_TOKENS)
        self.model = build_model(config.size, self.tokenizer)
        if checkpoint:
            self.model.load_state_dict(LlavaOnevisionForConditionalGeneration.from_pretrained(checkpoint).state_dict())
        self.scene_head, self.deed_head = build_heads(config.size)
        self.parameters = [*self.model.parameters(), *self.scene_head.parameters(), *self.deed_head.parameters()]
        self.optimiser = MasterAdamW(self.parameters, DECAY)
        self.model.bfloat16()
        self.scene_head.bfloat16()
        self.deed_head.bfloat16()
        self.paths = compiled_paths() if config.compile else PLAIN

    def _text_losses(self, batch: Batch, hidden: tuple[Tensor, ...]) -> dict[int, Tensor]:
        """Return the mean cross-entropy of each kind of token."""
        rows, targets, kinds = [], [], []
        for group, states in zip(batch.groups, hidden, strict=True):
            kind = torch.from_numpy(group.kinds)[..., 1:].reshape(-1)
            kept_rows = kind.nonzero()[:, 0]
            rows.append(states[:, :, :-1].reshape(-1, states.shape[-1])[kept_rows])
            targets.append(torch.from_numpy(group.ids)[..., 1:].reshape(-1)[kept_rows])
            kinds.append(kind[kept_rows])
        logits = self.model.lm_head(torch.cat(rows)).float()
        losses = nn.functional.cross_entropy(logits, torch.cat(targets), reduction="none")
        kind = torch.cat(kinds)
        return {number: losses[kind == number].mean() for number in LOSS_WEIGHTS if bool((kind == number).any())}

    def _frame_tokens(self, batch: Batch, paths: Paths) -> tuple[Tensor | None, Tensor]:
        """Return the frame tokens (clips, tokens, width), and the loss of the scene head on them."""
        if not batch.frames.shape[1]:
            return None, torch.zeros(())
        frames = torch.from_numpy(batch.frames)
        tokens = frame_tokens(self.model, frames.flatten(0, 1), paths)
        queries = torch.from_numpy(batch.queries).flatten(0, 1)
        loss = scene_loss(self.scene_head(tokens.flatten(1), queries), torch.from_numpy(batch.targets).flatten(0, 1))
        return tokens.reshape(len(frames), -1, tokens.shape[-1]), loss

    def _deed_loss(self, batch: Batch, tapped: Tensor) -> Tensor:
        """Return the loss of the deed head, which reads each slot at its second frame, after attention to the first."""
        deeds = torch.from_numpy(batch.deeds)
        clips, slots = deeds.shape[:2]
        count = (VIDEO_TOKENS - 1) // (2 * slots)
        pairs = tapped[:, -VIDEO_TOKENS:-1].reshape(clips * slots, 2, count, -1)
        queries = torch.from_numpy(batch.queries)[:, ::2].flatten(0, 1)
        return deed_loss(self.deed_head(pairs[:, 1].flatten(1), queries), deeds.flatten(0, 1))

    def losses(self, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """Return the loss of a batch and its parts."""
        paths = self.paths if batch.kind in COMPILED_KINDS else PLAIN
        tokens, scene = self._frame_tokens(batch, paths)
        segments = [torch.from_numpy(group.ids) for group in batch.groups]
        prefix = torch.from_numpy(batch.prefix)
        hidden = packed_hidden(self.model, prefix, tokens, segments, paths)
        parts = {"scene": scene} if tokens is not None else {}
        if batch.frames.shape[1] == FRAMES:
            parts["deed"] = self._deed_loss(batch, hidden.tapped)
        share = 1.0 if batch.kind == "see" else SEEING_WEIGHT
        total = share * sum(parts.values(), torch.zeros(()))
        if segments:
            for kind, loss in self._text_losses(batch, hidden.groups).items():
                total = total + LOSS_WEIGHTS[kind] * loss
                parts[LOSS_NAMES[kind]] = loss
        return total, {name: float(loss.detach()) for name, loss in parts.items()}

    def advance(self) -> dict[str, float]:
        """Run one training step."""
        batch = batch_of_step(self.config, self.encoder, self.step, self.rank)
        if self.step == self.config.see_steps:
            self.optimiser.restart()
        total, parts = self.losses(batch)
        total.backward()
        gradient = self.exchange.mean(self.optimiser.take_gradient(), self.rank, self.step)
        parts["norm"] = self.optimiser.step(gradient, learning_rate(self.config, self.step))
        self.step += 1
        return parts

    def save(self) -> None:
        """Write the state atomically."""
        with atomic_path(self.folder / STATE) as temporary:
            save_file({**self.optimiser.state(), "count": torch.tensor([self.optimiser.count, self.step])}, temporary)
        digest = value_digest(config_values(self.config))
        write_text(self.folder / PROGRESS, json.dumps({"step": self.step, "config": digest}) + "\n")

    def resume(self) -> None:
        """Continue from the saved state."""
        state = load_file(self.folder / STATE)
        progress = json.loads((self.folder / PROGRESS).read_text(encoding="utf-8"))
        if progress["config"] != value_digest(config_values(self.config)):
            raise UserError(f"{self.folder}: the run started with another configuration. Choose another --out.")
        count, self.step = (int(value) for value in state.pop("count"))
        self.optimiser.load(state, count)

    def exact_model(self) -> LlavaOnevisionForConditionalGeneration:
        """Return a copy of the model with the fp32 master weights."""
        copy = build_model(self.config.size, self.tokenizer)
        offset = 0
        with torch.no_grad():
            for parameter in copy.parameters():
                parameter.copy_(self.optimiser.master[offset : offset + parameter.numel()].view_as(parameter))
                offset += parameter.numel()
        return copy.eval()

    def progress_line(self) -> str:
        """Return the validation scores as one line."""
        yes, no = (self.tokenizer.convert_tokens_to_ids(word) for word in ("Yes", "No"))
        scorer = Scorer(self.exact_model(), self.encoder, yes, no)
        return summary(scorer.run(validation_cases(VALIDATION_SOURCES)))

    def export(self, name: str) -> None:
        """Write a checkpoint that the plain transformers classes load."""
        export_checkpoint(self.exact_model(), self.tokenizer, self.config.size.patch, self.folder / name)


def log(message: str) -> None:
    """Print a line immediately, also if the output is a file."""
    print(message, flush=True)


def lead(trainer: Trainer) -> None:
    """Train to the end as rank 0, which also prints, saves and evaluates."""
    config = trainer.config
    start = last_save = time.monotonic()
    while trainer.step < config.total_steps:
        parts = trainer.advance()
        step, now = trainer.step, time.monotonic()
        if step % 25 == 0:
            values = " ".join(f"{name} {value:.3f}" for name, value in parts.items())
            log(f"step {step} {now - start:.0f}s {values}")
        if now - last_save > config.save_every_seconds:
            trainer.save()
            last_save = now
        if step > config.see_steps and step % config.evaluate_every_steps == 0:
            log(f"EVAL step {step} {now - start:.0f}s {trainer.progress_line()}")
            trainer.export(f"step-{step}")
        if step == config.early_step:
            trainer.export("llava-ov-early")


def make_trainer(config_file: Path, folder: Path, resume: bool, checkpoint: Path | None) -> Trainer:
    """Create a trainer at the first step, or at its saved state."""
    config = load_config(config_file)
    if config.ranks > 1:
        torch.set_num_threads(1)
    trainer = Trainer(config, folder, None if resume else checkpoint)
    if resume:
        trainer.resume()
    return trainer


def follow(
    config_file: Path, folder: Path, resume: bool, checkpoint: Path | None, exchange: Exchange, rank: int
) -> None:
    """Train to the end as another rank, with the same model and updates on another share of the clips."""
    trainer = make_trainer(config_file, folder, resume, checkpoint)
    trainer.rank, trainer.exchange = rank, exchange
    while trainer.step < trainer.config.total_steps:
        trainer.advance()


def check_words(tokenizer: Path, checkpoint: Path) -> None:
    """Check that a tokenizer with added tokens keeps the ids of a checkpoint's tokens."""
    ids, checkpoint_ids = load_tokenizer(tokenizer).get_vocab(), load_tokenizer(checkpoint).get_vocab()
    if changed := sorted(word for word, token_id in checkpoint_ids.items() if ids.get(word) != token_id):
        raise UserError(
            f"{checkpoint}: {len(changed)} of its tokens have another id in {tokenizer}, such as {changed[0]!r}."
        )
