"""The number of pictures in what processors make, by the shapes that classes give them."""

import pytest
import torch
from reprise.models.local.pixels import pictures_in


def zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


@pytest.mark.parametrize(
    ("made", "pictures"),
    [
        ({}, 0),
        ({"pixel_values_videos": zeros(1, 8, 3, 32, 32)}, 8),
        ({"pixel_values": zeros(8, 3, 32, 32)}, 8),
        ({"pixel_values": zeros(8, 5, 3, 32, 32)}, 40),  # the parts of each
        ({"pixel_values_videos": zeros(96, 384), "video_grid_thw": torch.tensor([[4, 4, 6]])}, 4),
        ({"pixel_values_videos": zeros(95, 384), "video_grid_thw": torch.tensor([[4, 4, 6]])}, 0),
        ({"pixel_values": zeros(48, 384), "image_grid_thw": torch.tensor([[1, 4, 6], [1, 4, 6]])}, 2),
        ({"pixel_values_videos": zeros(8, 16, 192)}, 8),  # each cut into patches
        ({"pixel_values_videos": zeros(1, 3, 8, 8 * 48), "target_sizes_videos": torch.tensor([[4, 6], [4, 6]])}, 2),
        ({"pixel_values_videos": zeros(1, 3, 8, 8 * 24), "target_sizes_videos": torch.tensor([[4, 6], [4, 6]])}, 0),
    ],
)
def test_pictures_are_counted(made: dict[str, torch.Tensor], pictures: int) -> None:
    assert pictures_in(made) == pictures
