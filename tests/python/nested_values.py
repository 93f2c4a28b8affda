"""Random nested values of every type that a checkpoint holds, and their comparison to the bit."""

import collections
import struct

import numpy
import torch

DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
    torch.float8_e4m3fn,
)
TEXTS = ("", "text", "a.b", "a/b", "\0", "\ud800", "\u4e2d", "x" * 5000, "~2", "\n", "1", "value")


def same(found, wanted):
    """Whether two nested values are the same to the bit, and of the same types."""
    if isinstance(wanted, torch.Tensor):
        return (
            isinstance(found, torch.Tensor)
            and found.dtype == wanted.dtype
            and found.shape == wanted.shape
            and found.clone().reshape(-1).view(torch.uint8).tolist()
            == wanted.contiguous().reshape(-1).view(torch.uint8).tolist()
        )
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return list(map(repr, found)) == list(map(repr, wanted)) and all(
            same(f, w) for f, w in zip(found.values(), wanted.values())
        )
    if isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, float):
        return struct.pack("d", found) == struct.pack("d", wanted)
    return repr(found) == repr(wanted)


def random_tensor(chooser):
    dtype = chooser.choice(DTYPES)
    shape = [chooser.choice((0, 1, 2, 3, 5)) for _ in range(chooser.randrange(4))]
    size = dtype.itemsize
    count = int(numpy.prod(shape, dtype=int))
    content = torch.tensor([chooser.randrange(256) for _ in range(count * size)], dtype=torch.uint8)
    if dtype == torch.bool:
        content &= 1
    return content.view(dtype).reshape(shape) if count else torch.empty(shape, dtype=dtype)


def random_value(chooser, depth=0):
    kinds = ["tensor", "integer", "number", "text", "other"]
    kind = chooser.choice(kinds + ["dict", "list"] * (2 if depth < 3 else 0))
    if kind == "dict":
        keys = [
            chooser.choice((*TEXTS, 0, 1, -5, None, True, 2.5, ("a", 1), "a", "b", "model"))
            for _ in range(chooser.randrange(5))
        ]
        made = chooser.choice((dict, collections.OrderedDict))
        return made((k, random_value(chooser, depth + 1)) for k in keys)
    if kind == "list":
        made = chooser.choice((list, tuple))
        return made(random_value(chooser, depth + 1) for _ in range(chooser.randrange(4)))
    if kind == "tensor":
        return random_tensor(chooser)
    if kind == "integer":
        return chooser.choice((0, -1, 2**31, 2**63 - 1, -(2**63), 2**63, 10**40, True, False))
    if kind == "number":
        return chooser.choice((0.0, -0.0, 1e-320, float("inf"), float("nan"), 0.1))
    if kind == "text":
        return chooser.choice(TEXTS)
    return chooser.choice((None, 1.5 - 2j, b"", b"\0\xff", torch.bfloat16, torch.device("cpu")))
