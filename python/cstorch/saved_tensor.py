"""Tensors of a checkpoint whose elements are read when an operation needs them.

A checkpoint may be larger than memory, and most programs copy each of its tensors once, into a
parameter. So load() gives tensors that know their type and shape alone. What only reads elements,
as copy_ into a parameter does, reads them from the file, which is verified by its digest then, and
keeps nothing; everything else might change them or give out a view, and the elements stay.
"""

import torch

# Attributes and functions that elements play no part in.
_FORM = {
    torch.Tensor.dim,
    torch.Tensor.ndimension,
    torch.Tensor.numel,
    torch.Tensor.nelement,
    torch.Tensor.size,
    torch.Tensor.element_size,
    torch.Tensor.is_floating_point,
    torch.Tensor.is_complex,
    torch.Tensor.__len__,
    torch.is_floating_point,
    torch.is_complex,
    torch.numel,
    *(
        getattr(torch.Tensor, name).__get__
        for name in (
            *("shape", "dtype", "device", "ndim", "layout", "is_sparse", "is_meta"),
            *("requires_grad", "is_leaf", "grad", "grad_fn"),
        )
    ),
}
# Functions whose result is not a view of what they read.
_ONLY_READ = {
    torch.Tensor.clone,
    torch.clone,
    torch.Tensor.equal,
    torch.equal,
    torch.allclose,
    torch.Tensor.allclose,
    torch.Tensor.tolist,
    torch.Tensor.item,
    torch.Tensor.__reduce_ex__,
    torch.Tensor.__repr__,
    torch.Tensor.__format__,
}


class SavedTensor(torch.Tensor):
    """A tensor in a file.

    Args:
        read: gives the elements, as a tensor of this shape and type.
    """

    @staticmethod
    def __new__(cls, shape, dtype, read):
        return torch.Tensor._make_wrapper_subclass(cls, tuple(shape), dtype=dtype)

    def __init__(self, shape, dtype, read):
        self._read = read
        self._elements = None

    def __deepcopy__(self, memo):
        return _elements_of(self, keeps=False).clone()

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in _FORM:
            with torch._C.DisableTorchFunctionSubclass():
                return function(*args, **(kwargs or {}))
        return _with_elements(function, args, kwargs or {}, function is torch.Tensor.copy_)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        """Calls that reach torch's kernels from where no Python is asked first."""
        is_copy = function is torch.ops.aten.copy_.default
        return _with_elements(function, args, kwargs or {}, is_copy)


def _with_elements(function, args, kwargs, is_copy):
    keeps = function not in _ONLY_READ
    args = tuple(_plain(v, keeps and not (is_copy and i > 0)) for i, v in enumerate(args))
    return function(*args, **{k: _plain(v, keeps) for k, v in kwargs.items()})


def _plain(value, keeps):
    if isinstance(value, SavedTensor):
        return _elements_of(value, keeps)
    if type(value) in (list, tuple):
        return type(value)(_plain(one, keeps) for one in value)
    return value


def _elements_of(tensor, keeps):
    with torch._C.DisableTorchFunctionSubclass():
        elements = tensor._elements
        if elements is None:
            elements = tensor._read()
            if keeps:
                tensor._elements = elements
        return elements
