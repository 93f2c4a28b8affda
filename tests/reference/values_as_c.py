"""How tensors of PyTorch are written as C, for the scripts that store reference values."""
import textwrap

import torch

TYPES = {torch.float32: "CSE_FLOAT32", torch.int32: "CSE_INT32", torch.bool: "CSE_BOOL",
         torch.float64: "CSE_FLOAT32", torch.int64: "CSE_INT32"}


def number(value):
    if value != value:
        return "NAN"
    if abs(value) == float("inf"):
        return "INFINITY" if value > 0 else "-INFINITY"
    return "%.9g" % value


def tensor_text(tensor):
    dims = ", ".join(map(str, tensor.shape)) or "0"
    values = ", ".join(number(float(v)) for v in tensor.detach().flatten().tolist())
    return f"{{ {{ {tensor.dim()}, {{ {dims} }} }}, {TYPES[tensor.dtype]}, V({values}) }}"


def wrapped(text):
    return textwrap.fill(text, 99, subsequent_indent="  ", break_long_words=False,
                         break_on_hyphens=False)
