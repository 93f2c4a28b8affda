"""Modules and functions beside torch.nn."""

from types import SimpleNamespace

import torch

functional = SimpleNamespace(one_hot=torch.nn.functional.one_hot)
SmoothL1Loss = torch.nn.SmoothL1Loss
