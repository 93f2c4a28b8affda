"""Values of the whole batch, and constants."""

import torch

from csengine.library import lib
from cstorch import calls, traced
from cstorch.traced import is_traced


def _whole(call, x):
    if not is_traced(x):
        x = torch.as_tensor(x, dtype=torch.float32)
    if not is_traced(x) or not lib.cse_tensor_is_batch(calls.operand(x)):
        # The same in each microbatch.
        return x * traced.active.microbatches if call == lib.cse_batch_sum else x
    return calls.wrap(call(calls.operand(x, torch.float32)), torch.float32)


def batch_sum(x):
    """The sum of a value over all microbatches of the global batch; a value of the whole step."""
    return _whole(lib.cse_batch_sum, x)


def batch_mean(x):
    """The mean over the microbatches."""
    return _whole(lib.cse_batch_mean, x)


def make_constant(tensor):
    """The tensor: what has values becomes a constant of the step by itself."""
    return tensor


def from_numpy(array):
    return torch.from_numpy(array)


def to_numpy(tensor):
    return tensor.detach().numpy()
