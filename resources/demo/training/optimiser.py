"""Run AdamW on fp32 master weights of a bf16 model, all in flat vectors."""

import torch
from torch import Tensor, nn


class MasterAdamW:
    """Optimiser that keeps the exact weights and writes their rounded form into the parameters after every step."""

    def __init__(self, parameters: list[nn.Parameter], decay: float, betas: tuple[float, float] = (0.9, 0.98)) -> None:
        self._parameters = parameters
        self._betas = betas
        self.master = torch.cat([parameter.detach().reshape(-1).float() for parameter in parameters])
        # Weight decay applies to matrices only, not to norms and biases.
        self._decay = torch.cat(
            [torch.full((parameter.numel(),), decay if parameter.dim() > 1 else 0.0) for parameter in parameters]
        )
        self.mean = torch.zeros_like(self.master)
        self.square = torch.zeros_like(self.master)
        self.count = 0

    def restart(self) -> None:
        """Reset the moments, as at the start of a stage."""
        self.mean.zero_()
        self.square.zero_()
        self.count = 0

    def write_back(self) -> None:
        """Write the rounded master weights into the model."""
        offset = 0
        with torch.no_grad():
            for parameter in self._parameters:
                parameter.copy_(self.master[offset : offset + parameter.numel()].view_as(parameter))
                offset += parameter.numel()

    def take_gradient(self) -> Tensor:
        """Return the flat gradient, and clear the gradients of the parameters."""
        gradients = [
            torch.zeros(parameter.numel()) if parameter.grad is None else parameter.grad.reshape(-1).float()
            for parameter in self._parameters
        ]
        for parameter in self._parameters:
            parameter.grad = None
        return torch.cat(gradients)

    def step(self, gradient: Tensor, rate: float, clip: float = 1.0) -> float:
        """Run one update, and return the norm of the gradient before clipping."""
        norm = float(gradient.norm())
        gradient = gradient * min(1.0, clip / (norm + 1e-6))
        self.count += 1
        beta1, beta2 = self._betas
        self.mean.lerp_(gradient, 1 - beta1)
        self.square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        denominator = (self.square / (1 - beta2**self.count)).sqrt_().add_(1e-8)
        # Weights without any gradient in this stage must not decay.
        self.master.mul_(1 - rate * self._decay * (self.square > 0))
        self.master.addcdiv_(self.mean, denominator, value=-rate / (1 - beta1**self.count))
        self.write_back()
        return norm

    def state(self) -> dict[str, Tensor]:
        """Return the tensors that a resumed run needs."""
        return {"master": self.master, "mean": self.mean, "square": self.square}

    def load(self, state: dict[str, Tensor], count: int) -> None:
        """Restore a saved state."""
        for name, target in self.state().items():
            target.copy_(state[name])
        self.count = count
        self.write_back()
