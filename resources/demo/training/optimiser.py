"""AdamW on fp32 master weights of a bf16 model, all in flat vectors."""

import torch
from torch import Tensor, nn


class MasterAdamW:
    """Keeps the exact weights and writes their rounded form into the parameters after every step."""

    def __init__(self, parameters: list[nn.Parameter], decay: float, betas: tuple[float, float] = (0.9, 0.98)) -> None:
        self._parameters = parameters
        self._betas = betas
        self.master = torch.cat([p.detach().reshape(-1).float() for p in parameters])
        # Weight decay is for matrices; norms and biases go without.
        self._decay = torch.cat([torch.full((p.numel(),), decay if p.dim() > 1 else 0.0) for p in parameters])
        self.mean = torch.zeros_like(self.master)
        self.square = torch.zeros_like(self.master)
        self.count = 0

    def restart(self) -> None:
        """Forget the moments, as at the start of a stage."""
        self.mean.zero_()
        self.square.zero_()
        self.count = 0

    def write_back(self) -> None:
        """Put the rounded master weights into the model."""
        at = 0
        with torch.no_grad():
            for parameter in self._parameters:
                parameter.copy_(self.master[at : at + parameter.numel()].view_as(parameter))
                at += parameter.numel()

    def take_gradient(self) -> Tensor:
        """The flat gradient; the parameters' own are dropped."""
        pieces = [torch.zeros(p.numel()) if p.grad is None else p.grad.reshape(-1).float() for p in self._parameters]
        for parameter in self._parameters:
            parameter.grad = None
        return torch.cat(pieces)

    def step(self, gradient: Tensor, rate: float, clip: float = 1.0) -> float:
        """One update; gives the norm of the gradient before clipping."""
        norm = float(gradient.norm())
        gradient = gradient * min(1.0, clip / (norm + 1e-6))
        self.count += 1
        first, second = self._betas
        self.mean.lerp_(gradient, 1 - first)
        self.square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        denominator = (self.square / (1 - second**self.count)).sqrt_().add_(1e-8)
        # Weights that no gradient reaches in this stage keep their values.
        self.master.mul_(1 - rate * self._decay * (self.square > 0))
        self.master.addcdiv_(self.mean, denominator, value=-rate / (1 - first**self.count))
        self.write_back()
        return norm

    def state(self) -> dict[str, Tensor]:
        """What a resumed run needs."""
        return {"master": self.master, "mean": self.mean, "square": self.square}

    def load(self, state: dict[str, Tensor], count: int) -> None:
        """Go on from a saved state."""
        for name, target in self.state().items():
            target.copy_(state[name])
        self.count = count
        self.write_back()
