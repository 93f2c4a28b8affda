"""Calls of the engine with PyTorch's rules about types: what all mappings are made of."""

import math

import numpy
import torch

from csengine.library import ffi, lib, text
from cstorch import clock, messages
from cstorch import traced as traced_module
from cstorch.traced import Traced

C_DTYPES = {
    torch.float32: lib.CSE_FLOAT32,
    torch.bfloat16: lib.CSE_BFLOAT16,
    torch.float16: lib.CSE_FLOAT16,
    torch.int64: lib.CSE_INT32,
    torch.int32: lib.CSE_INT32,
    torch.int16: lib.CSE_INT32,
    torch.int8: lib.CSE_INT32,
    torch.uint8: lib.CSE_INT32,
    torch.bool: lib.CSE_BOOL,
}
TORCH_DTYPES = {
    lib.CSE_FLOAT32: torch.float32,
    lib.CSE_BFLOAT16: torch.bfloat16,
    lib.CSE_FLOAT16: torch.float16,
    lib.CSE_CBFLOAT16: torch.float16,
    lib.CSE_INT32: torch.int32,
    lib.CSE_BOOL: torch.bool,
}
LARGEST_INT32 = 2**31 - 1
# Least value, and how many values there are, of the types that the engine keeps as int32.
_NARROW = {
    torch.uint8: (0, 1 << 8),
    torch.int8: (-(1 << 7), 1 << 8),
    torch.int16: (-(1 << 15), 1 << 16),
}


def c_dtype(dtype):
    """The engine's type for one of PyTorch's; raises where there is none."""
    if dtype in C_DTYPES:
        return C_DTYPES[dtype]
    hint = "use float32: x.float()" if dtype == torch.float64 else "convert it before the step"
    raise messages.TraceError(
        f"{messages.place_text()}a step has no type "
        f"{str(dtype).removeprefix('torch.')}; {hint}",
        [messages.place()],
    )


def shape_of(handle):
    shape = lib.cse_tensor_shape(handle)
    return tuple(shape.dims[0 : shape.rank])


def c_shape(sizes):
    """A cse_shape."""
    sizes = list(sizes)
    if len(sizes) > lib.CSE_MAX_RANK:
        raise messages.TraceError(
            f"{messages.place_text()}a tensor has at most "
            f"{lib.CSE_MAX_RANK} axes, not {len(sizes)}"
        )
    return ffi.new("cse_shape *", {"rank": len(sizes), "dims": [int(s) for s in sizes]})[0]


def failure():
    """What the engine refused, without the place that the caller adds."""
    said = (
        text(lib.cse_step_failure(traced_module.active.step))
        or text(lib.cse_error_message())
        or "the engine refused the call"
    )
    where = f"{messages.place()[0]}:{messages.place()[1]}: "
    return said.removeprefix(where)


def wrap(handle, dtype=None):
    """A traced tensor of a call's result; raises what the call failed with."""
    if lib.cse_tensor_failed(handle):
        raise messages.TraceError(messages.place_text() + failure(), [messages.place()])
    if dtype is None:
        dtype = TORCH_DTYPES[lib.cse_tensor_dtype(handle)]
    return Traced(handle, shape_of(handle), dtype)


def empty(shape, dtype):
    """A tensor without elements, which the engine does not have."""
    return Traced(ffi.NULL, tuple(shape), dtype)


def numel(tensor):
    return math.prod(tensor.shape)


def cast_handle(handle, dtype):
    want = c_dtype(dtype)
    if lib.cse_tensor_dtype(handle) != want:
        handle = lib.cse_cast(handle, want)
    return handle


def within(handle, dtype):
    """The value of a computation with whole numbers, modulo the range of a type of fewer bits than
    the engine's: as PyTorch's wrap around."""
    if dtype not in _NARROW:
        return handle
    least, count = _NARROW[dtype]
    above_least = lib.cse_sub(handle, lib.cse_constant_int(least))
    return lib.cse_add(
        lib.cse_remainder(above_least, lib.cse_constant_int(count)), lib.cse_constant_int(least)
    )


def refuse_beyond_int32(least, most):
    """Refuses whole numbers that the engine's do not hold, which have 32 bits."""
    for value in (least, most):
        if not -LARGEST_INT32 - 1 <= value <= LARGEST_INT32:
            raise messages.TraceError(
                f"{messages.place_text()}{value} is beyond the whole numbers of a step, which have "
                "32 bits: use smaller ones, or float32",
                [messages.place()],
            )


def constant_number(value, dtype):
    """A scalar constant of the engine."""
    clock.check_number(value)
    if dtype == torch.bool:
        return lib.cse_cast(lib.cse_constant_int(int(bool(value))), lib.CSE_BOOL)
    if not dtype.is_floating_point:
        refuse_beyond_int32(int(value), int(value))
        return lib.cse_constant_int(int(value))
    return cast_handle(lib.cse_constant(float(value)), dtype)


def constant_tensor(tensor, dtype=None):
    """A tensor with values as a constant of the step."""
    dtype = dtype or tensor.dtype
    with torch._C.DisableTorchFunction():
        tensor = tensor.detach()
        if tensor.dim() == 0:
            return constant_number(tensor.item(), dtype)
        wanted = c_dtype(dtype)
        if wanted == lib.CSE_INT32 and tensor.numel() and tensor.dtype == torch.int64:
            refuse_beyond_int32(int(tensor.min()), int(tensor.max()))
        storage = {lib.CSE_INT32: torch.int32, lib.CSE_BOOL: torch.bool}.get(wanted, torch.float32)
        values = tensor.to(storage).contiguous()
        first = values.reshape(-1)[0] if values.numel() else None
        if first is not None and storage == torch.float32 and bool((values == first).all()):
            return cast_handle(lib.cse_full(c_shape(values.shape), float(first)), dtype)
        array = numpy.ascontiguousarray(values.numpy())
        c_storage = lib.CSE_FLOAT32 if storage == torch.float32 else wanted
        handle = lib.cse_constant_data(
            traced_module.active.step, c_shape(values.shape), c_storage, ffi.from_buffer(array)
        )
        return cast_handle(handle, dtype)


def operand(value, dtype=None):
    """The handle of a tensor of the step, a tensor with values or a number, of type `dtype`."""
    if isinstance(value, Traced):
        if value.handle == ffi.NULL:
            raise messages.TraceError(
                f"{messages.place_text()}a tensor without elements, "
                f"{messages.describe(value)}, takes no part in a computation"
            )
        handle = value.current()
        if value.stopped and traced_module.active.grad_enabled and value.dtype.is_floating_point:
            handle = lib.cse_stop_gradient(handle)
        return handle if dtype is None else cast_handle(handle, dtype)
    if isinstance(value, torch.Tensor):
        return constant_tensor(value, dtype)
    if dtype is None:
        dtype = (
            torch.bool
            if isinstance(value, bool)
            else (torch.int64 if isinstance(value, int) else torch.float32)
        )
    return constant_number(value, dtype)


def handle_of(value, dtype=None):
    """The same for an operand that may be None, which is NULL."""
    return ffi.NULL if value is None else operand(value, dtype)


def check_range(indices, count, what, first=0, besides=None):
    """Refuses constant indices that are not from `first` below `count`; of those of the batch the
    values are not known, and what they choose out of range is nan."""
    if isinstance(indices, Traced) or not isinstance(indices, torch.Tensor) or not numel(indices):
        return
    with torch._C.DisableTorchFunction():
        wrong = indices[((indices < first) | (indices >= count)) & (indices != besides)]
    if numel(wrong):
        raise messages.TraceError(
            f"{messages.place_text()}{what} {int(wrong.reshape(-1)[0])} is out of range: there are "
            f"{count}, from 0 to {count - 1}",
            [messages.place()],
        )


def as_meta(value):
    return value.as_meta() if isinstance(value, Traced) else value


def result_type(*values):
    """PyTorch's type of a computation with all of them."""
    with torch._C.DisableTorchFunction():
        kept = [as_meta(v) for v in values]
        result = kept[0]
        if len(kept) == 1:
            return (
                result.dtype
                if isinstance(result, torch.Tensor)
                else torch.result_type(torch.empty((), dtype=torch.float32), result)
            )
        dtype = torch.result_type(kept[0], kept[1])
        for more in kept[2:]:
            dtype = (
                torch.promote_types(dtype, more.dtype) if isinstance(more, torch.Tensor) else dtype
            )
        return dtype


def float_type(dtype):
    """The type of a result that is no whole number."""
    return dtype if dtype.is_floating_point else torch.get_default_dtype()


def unary(call, x, dtype=None):
    """A call of floats; whole numbers become floats, as in PyTorch."""
    dtype = dtype or float_type(x.dtype)
    return wrap(call(operand(x, dtype)), dtype)


def binary(call, a, b, dtype=None, result=None):
    """A call of two operands of one type, which broadcast."""
    dtype = dtype or result_type(a, b)
    result = result or dtype
    return wrap(within(call(operand(a, dtype), operand(b, dtype)), result), result)


def axes_of(tensor_rank, dims):
    """Axes as an array of the engine: (cdata, count); all axes for None."""
    if dims is None:
        return ffi.NULL, 0
    if isinstance(dims, int):
        dims = [dims]
    if tensor_rank == 0:
        return ffi.NULL, 0
    dims = [d % tensor_rank for d in dims]
    return ffi.new("int[]", dims), len(dims)


def handles(tensors, dtype=None):
    return ffi.new("cse_tensor *[]", [operand(t, dtype) for t in tensors])


def reshape(x, sizes):
    sizes = list(sizes)
    if numel(x) == 0:
        with torch._C.DisableTorchFunction():
            return empty(x.as_meta().reshape(sizes).shape, x.dtype)
    return wrap(lib.cse_reshape(operand(x), c_shape(sizes)), x.dtype)


def transpose(x, order):
    if numel(x) == 0:
        return empty([x.shape[i] for i in order], x.dtype)
    if list(order) == list(range(len(order))):
        return wrap(operand(x), x.dtype)
    return wrap(lib.cse_transpose(operand(x), ffi.new("int[]", list(order)), len(order)), x.dtype)
