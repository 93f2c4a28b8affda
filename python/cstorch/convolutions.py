"""Convolutions and padding, which programs call by functions and by primitive operations.

Each returns NotImplemented for what the engine does not compute.
"""

from csengine.library import ffi, lib
from cstorch import calls
from cstorch.calls import handle_of, wrap


def pair(value):
    return (
        [value, value]
        if isinstance(value, int)
        else ([value[0], value[0]] if len(value) == 1 else list(value))
    )


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    if input.dim() != 4:
        return NotImplemented
    if isinstance(padding, str):
        padding = _named_padding(padding, weight.shape[2:], pair(dilation), pair(stride))
        if padding is None:
            return NotImplemented
    dtype = calls.result_type(input, weight)
    options = ffi.new(
        "cse_conv2d_options *",
        {
            "stride": pair(stride),
            "padding": pair(padding),
            "dilation": pair(dilation),
            "groups": groups,
        },
    )
    return wrap(
        lib.cse_conv2d(
            handle_of(input, dtype), handle_of(weight, dtype), handle_of(bias, dtype), options
        ),
        dtype,
    )


def _named_padding(name, kernel, dilation, stride):
    if name == "valid":
        return [0, 0]
    total = [d * (k - 1) for k, d in zip(kernel, dilation)]
    if any(t % 2 for t in total) or any(s != 1 for s in stride):
        return None
    return [t // 2 for t in total]


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    if input.dim() != 3 or isinstance(padding, str):
        return NotImplemented
    one = [v if isinstance(v, int) else v[0] for v in (stride, padding, dilation)]
    options = ffi.new(
        "cse_conv1d_options *",
        {"stride": one[0], "padding": one[1], "dilation": one[2], "groups": groups},
    )
    return wrap(
        lib.cse_conv1d(handle_of(input), handle_of(weight), handle_of(bias), options), input.dtype
    )


def conv_transpose2d(
    input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
):
    options = ffi.new(
        "cse_conv_transpose2d_options *",
        {
            "stride": pair(stride),
            "padding": pair(padding),
            "output_padding": pair(output_padding),
            "dilation": pair(dilation),
            "groups": groups,
        },
    )
    return wrap(
        lib.cse_conv_transpose2d(handle_of(input), handle_of(weight), handle_of(bias), options),
        input.dtype,
    )


def pad(input, pad, mode="constant", value=None):
    if mode != "constant" or any(p < 0 for p in pad):
        return NotImplemented
    rank = input.dim()
    low, high = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return wrap(
        lib.cse_pad(
            handle_of(input),
            ffi.new("int64_t[]", low),
            ffi.new("int64_t[]", high),
            float(value or 0),
        ),
        input.dtype,
    )
