from types import SimpleNamespace

from torch.nn import SmoothL1Loss as SmoothL1Loss

functional: SimpleNamespace
