"""A model that has learned nothing, as a control: the weights of a trained one in random order."""

from __future__ import annotations

import copy

import torch

from core.models.build import Model


def shuffled(model: Model, seed: int) -> Model:
    """Return a copy in which the numbers of each weight tensor have changed places; buffers stay.

    Adebayo et al. (2018), "Sanity checks for saliency maps", randomise weights anew; here each tensor keeps its own
    numbers, so that the control is as loud as the model, and a linear model, which begins with zeros, has one too.
    """
    other, random = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in other.parameters():
            order = torch.randperm(weight.numel(), generator=random).to(weight.device)
            weight.copy_(weight.flatten()[order].view_as(weight))
    return other
