"""What a program calls in PyTorch and the engine computes as one operation.

RULES maps functions of PyTorch to functions here with the same arguments. One that returns
NotImplemented leaves the call to PyTorch's own composition of primitives.
"""

import math

import torch
import torch.nn.functional as F
import torch.utils.checkpoint

from csengine.library import ffi, lib
from cstorch import calls, convolutions, messages
from cstorch import traced as traced_module
from cstorch.aten import matmul as matrix_product
from cstorch.aten import detach, write
from cstorch.calls import handle_of, wrap
from cstorch.convolutions import pair
from cstorch.traced import Traced, is_traced, refuse_value

RULES = {}


def composite(*functions):
    """Declares the rule of some functions of PyTorch."""

    def declare(rule):
        for function in functions:
            RULES[function] = rule
        return rule

    return declare


def _tracer():
    return traced_module.active


# ---- layers ----


@composite(F.linear)
def linear(input, weight, bias=None):
    dtype = calls.result_type(input, weight)
    if input.dim() < 2 or weight.dim() != 2:
        return NotImplemented
    return wrap(
        lib.cse_linear(handle_of(input, dtype), handle_of(weight, dtype), handle_of(bias, dtype)),
        dtype,
    )


def _first_of_range(indices):
    """The first of constant indices that count up by one (torch.arange); None for others."""
    if is_traced(indices) or indices.dim() != 1 or indices.numel() == 0:
        return None
    first = int(indices[0])
    counted = torch.arange(first, first + indices.numel(), dtype=indices.dtype)
    return first if torch.equal(indices, counted) else None


@composite(F.embedding)
def embedding(
    input,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
):
    if max_norm is not None or scale_grad_by_freq:
        return NotImplemented
    calls.check_range(input, weight.shape[0], "embedding: the row")
    first = _first_of_range(input)
    if first is not None and padding_idx is None:
        # Rows one after another, as those of positions: a slice of the table.
        rows = lib.cse_slice_axis(handle_of(weight), 0, first, first + len(input))
        return wrap(rows, weight.dtype)
    if padding_idx is not None:
        padding = padding_idx % weight.shape[0]
        return wrap(
            lib.cse_embedding_padded(handle_of(weight), handle_of(input), padding), weight.dtype
        )
    return wrap(lib.cse_embedding(handle_of(weight), handle_of(input)), weight.dtype)


@composite(F.layer_norm, torch.layer_norm)
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    if len(normalized_shape) != 1:
        flat = calls.reshape(input, [*input.shape[: -len(normalized_shape)], -1])
        flat = wrap(lib.cse_layer_norm(handle_of(flat), ffi.NULL, ffi.NULL, eps), input.dtype)
        result = calls.reshape(flat, input.shape)
        result = result if weight is None else result * weight
        return result if bias is None else result + bias
    return wrap(
        lib.cse_layer_norm(handle_of(input), handle_of(weight), handle_of(bias), eps), input.dtype
    )


@composite(F.instance_norm, torch.instance_norm)
def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
    cudnn_enabled=True,
):
    if running_mean is not None or not use_input_stats:
        return NotImplemented
    return wrap(
        lib.cse_group_norm(
            handle_of(input), input.shape[1], handle_of(weight), handle_of(bias), eps
        ),
        input.dtype,
    )


@composite(F.rms_norm, torch.rms_norm)
def rms_norm(input, normalized_shape, weight=None, eps=None):
    if len(normalized_shape) != 1:
        return NotImplemented
    if eps is None:
        eps = torch.finfo(input.dtype).eps
    return wrap(lib.cse_rms_norm(handle_of(input), handle_of(weight), eps), input.dtype)


@composite(F.group_norm, torch.group_norm)
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    return wrap(
        lib.cse_group_norm(handle_of(input), num_groups, handle_of(weight), handle_of(bias), eps),
        input.dtype,
    )


@composite(F.batch_norm, torch.batch_norm)
def batch_norm(
    input,
    running_mean,
    running_var,
    weight=None,
    bias=None,
    training=False,
    momentum=0.1,
    eps=1e-5,
    cudnn_enabled=True,
):
    if training or running_mean is None:
        if running_mean is not None:
            _move_statistics(input, running_mean, running_var, momentum)
        return wrap(
            lib.cse_batch_norm(handle_of(input), handle_of(weight), handle_of(bias), eps),
            input.dtype,
        )
    sizes = [1, -1] + [1] * (input.dim() - 2)
    scale = torch.rsqrt(running_var + eps)
    if weight is not None:
        scale = scale * weight
    shift = -running_mean * scale
    if bias is not None:
        shift = shift + bias
    return input * scale.reshape(sizes) + shift.reshape(sizes)


def _move_statistics(input, running_mean, running_var, momentum):
    """The running statistics move towards the mean over the microbatches."""
    found = ffi.new("cse_tensor *[2]")
    lib.cse_batch_statistics(handle_of(input), found)
    for running, value in zip((running_mean, running_var), found):
        mean = wrap(lib.cse_batch_mean(value), torch.float32)
        write(running, running * (1 - momentum) + mean * momentum)


RULES.update(
    {
        F.conv2d: convolutions.conv2d,
        torch.conv2d: convolutions.conv2d,
        F.conv1d: convolutions.conv1d,
        torch.conv1d: convolutions.conv1d,
        F.conv_transpose2d: convolutions.conv_transpose2d,
        torch.conv_transpose2d: convolutions.conv_transpose2d,
        F.pad: convolutions.pad,
        torch._C._nn.pad: convolutions.pad,
    }
)


def _pool_options(kernel_size, stride, padding, exclude=False):
    return ffi.new(
        "cse_pool2d_options *",
        {
            "kernel": pair(kernel_size),
            "stride": pair(stride or kernel_size),
            "padding": pair(padding),
            "exclude_padding": exclude,
        },
    )


@composite(F.max_pool2d, torch.max_pool2d, F._max_pool2d)
def max_pool2d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    if pair(dilation) != [1, 1] or ceil_mode or return_indices or input.dim() != 4:
        return NotImplemented
    return wrap(
        lib.cse_max_pool2d(handle_of(input), _pool_options(kernel_size, stride, padding)),
        input.dtype,
    )


@composite(F.avg_pool2d)
def avg_pool2d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    if ceil_mode or divisor_override is not None or input.dim() != 4:
        return NotImplemented
    return wrap(
        lib.cse_avg_pool2d(
            handle_of(input), _pool_options(kernel_size, stride, padding, not count_include_pad)
        ),
        input.dtype,
    )


@composite(F.adaptive_avg_pool2d)
def adaptive_avg_pool2d(input, output_size):
    if input.dim() != 4:
        return NotImplemented
    size = [input.shape[2 + i] if s is None else s for i, s in enumerate(pair(output_size))]
    return wrap(lib.cse_adaptive_avg_pool2d(handle_of(input), *size), input.dtype)


@composite(F.interpolate)
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    if mode not in ("nearest", "bilinear") or input.dim() != 4 or antialias:
        return NotImplemented
    if size is None:
        factors = scale_factor if isinstance(scale_factor, (list, tuple)) else [scale_factor] * 2
        size = [int(n * f) for n, f in zip(input.shape[2:], factors)]
    options = ffi.new(
        "cse_interpolate_options *",
        {"size": pair(size), "bilinear": mode == "bilinear", "align_corners": bool(align_corners)},
    )
    return wrap(lib.cse_interpolate(handle_of(input), options), input.dtype)


@composite(F.dropout)
def dropout(input, p=0.5, training=True, inplace=False):
    if not training or p == 0:
        return input
    if p >= 1:
        return torch.zeros_like(input)
    result = wrap(lib.cse_dropout(handle_of(input), p, _tracer().stream("dropout")), input.dtype)
    if inplace:
        return write(input, result)
    return result


@composite(torch.dropout)
def torch_dropout(input, p, train):
    return dropout(input, p, train)


@composite(F.scaled_dot_product_attention)
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if query.dim() != 4:
        return NotImplemented
    options = {"causal": is_causal, "dropout": dropout_p, "scale": scale or 0.0}
    keep = []
    if attn_mask is not None:
        options["mask"] = handle_of(attn_mask)
    if dropout_p > 0:
        keep.append(ffi.new("char[]", _tracer().stream("attention")))
        options["dropout_stream"] = keep[0]
    return wrap(
        lib.cse_scaled_dot_product_attention(
            handle_of(query),
            handle_of(key),
            handle_of(value),
            ffi.new("cse_attention_options *", options),
        ),
        query.dtype,
    )


# ---- activations ----


def _elementwise(call, x):
    return calls.unary(call, x)


@composite(F.gelu, torch._C._nn.gelu)
def gelu(input, approximate="none"):
    return _elementwise(lambda x: lib.cse_gelu(x, approximate == "tanh"), input)


@composite(F.relu, torch.relu, torch.Tensor.relu)
def relu(input, inplace=False):
    result = _elementwise(lib.cse_relu, input)
    if inplace:
        return write(input, result)
    return result


@composite(F.silu)
def silu(input, inplace=False):
    result = _elementwise(lib.cse_silu, input)
    if inplace:
        return write(input, result)
    return result


@composite(F.softplus)
def softplus(input, beta=1.0, threshold=20.0):
    return _elementwise(lib.cse_softplus, input) if beta == 1 else NotImplemented


@composite(F.elu)
def elu(input, alpha=1.0, inplace=False):
    return NotImplemented if inplace else _elementwise(lambda x: lib.cse_elu(x, alpha), input)


@composite(F.leaky_relu)
def leaky_relu(input, negative_slope=0.01, inplace=False):
    return (
        NotImplemented
        if inplace
        else _elementwise(lambda x: lib.cse_leaky_relu(x, negative_slope), input)
    )


@composite(F.glu)
def glu(input, dim=-1):
    return wrap(lib.cse_glu(handle_of(input), dim), input.dtype)


def _over_axis(call, input, dim, dtype):
    dtype = dtype or calls.float_type(input.dtype)
    if input.dim() == 0 or dim is None:
        return NotImplemented
    return wrap(call(handle_of(input, dtype), dim), dtype)


@composite(F.softmax, torch.softmax, torch.Tensor.softmax)
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    if isinstance(_stacklevel, torch.dtype):
        dtype = _stacklevel
    return _over_axis(lib.cse_softmax, input, dim, dtype)


@composite(F.log_softmax, torch.log_softmax, torch.Tensor.log_softmax)
def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    if isinstance(_stacklevel, torch.dtype):
        dtype = _stacklevel
    return _over_axis(lib.cse_log_softmax, input, dim, dtype)


@composite(torch.logsumexp, torch.Tensor.logsumexp)
def logsumexp(input, dim, keepdim=False):
    if not isinstance(dim, int):
        return NotImplemented
    if input.dim() == 0:
        return input.clone()
    return wrap(lib.cse_logsumexp(handle_of(input), dim, keepdim), input.dtype)


@composite(F.one_hot)
def one_hot(tensor, num_classes=-1):
    if num_classes < 1:
        refuse_value(tensor, "one_hot without num_classes")
    return wrap(
        calls.cast_handle(lib.cse_one_hot(handle_of(tensor), num_classes), torch.int64), torch.int64
    )


# ---- losses ----

_REDUCTIONS = {
    "mean": lib.CSE_REDUCTION_MEAN,
    "sum": lib.CSE_REDUCTION_SUM,
    "none": lib.CSE_REDUCTION_NONE,
}


def _reduction(name, size_average, reduce):
    if size_average is not None or reduce is not None or name not in _REDUCTIONS:
        return None
    return _REDUCTIONS[name]


def _classes_last(input):
    """[batch, classes, ...] as [batch, ..., classes]."""
    if input.dim() <= 2:
        return input
    return calls.transpose(input, [0, *range(2, input.dim()), 1])


@composite(F.cross_entropy)
def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    how = _reduction(reduction, size_average, reduce)
    if target.dtype.is_floating_point and target.shape != input.shape:
        raise messages.TraceError(
            f"{messages.place_text()}cross_entropy: targets {messages.describe(target)} of logits "
            f"{messages.describe(input)}: classes are whole numbers (targets.long()), "
            "probabilities have the logits' shape",
            [messages.place()],
        )
    if how is None or target.dtype.is_floating_point or input.dim() < 2:
        return NotImplemented
    calls.check_range(target, input.shape[1], "cross_entropy: the class", besides=ignore_index)
    logits, labels = handle_of(_classes_last(input)), handle_of(target)
    options = ffi.new(
        "cse_cross_entropy_options *",
        {
            "reduction": how,
            "has_ignore_index": True,
            "ignore_index": ignore_index,
            "class_weights": handle_of(weight),
            "label_smoothing": label_smoothing,
        },
    )
    return wrap(lib.cse_cross_entropy_with(logits, labels, options), torch.float32)


@composite(F.nll_loss)
def nll_loss(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
):
    how = _reduction(reduction, size_average, reduce)
    if how is None or input.dim() < 2:
        return NotImplemented
    calls.check_range(target, input.shape[1], "nll_loss: the class", besides=ignore_index)
    options = ffi.new(
        "cse_cross_entropy_options *",
        {
            "reduction": how,
            "has_ignore_index": True,
            "ignore_index": ignore_index,
            "class_weights": handle_of(weight),
        },
    )
    return wrap(
        lib.cse_nll_loss(handle_of(_classes_last(input)), handle_of(target), options), torch.float32
    )


def _two_sided(call, input, target, reduction, size_average, reduce, *more):
    how = _reduction(reduction, size_average, reduce)
    if how is None:
        return NotImplemented
    dtype = calls.result_type(input, target)
    return wrap(call(handle_of(input, dtype), handle_of(target, dtype), *more, how), dtype)


@composite(F.mse_loss)
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    if weight is not None:
        return NotImplemented
    return _two_sided(lib.cse_mse_loss, input, target, reduction, size_average, reduce)


@composite(F.l1_loss)
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    if weight is not None:
        return NotImplemented
    return _two_sided(lib.cse_l1_loss, input, target, reduction, size_average, reduce)


@composite(F.smooth_l1_loss)
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    return _two_sided(lib.cse_smooth_l1_loss, input, target, reduction, size_average, reduce, beta)


@composite(F.huber_loss)
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    if weight is not None:
        return NotImplemented
    return _two_sided(lib.cse_huber_loss, input, target, reduction, None, None, delta)


@composite(F.gaussian_nll_loss)
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """PyTorch's own looks at the variance, which is not known while the step is traced: a negative
    one gives nan."""
    if not is_traced(var) or reduction not in _REDUCTIONS:
        return NotImplemented
    if var.dim() == input.dim() - 1 and tuple(var.shape) == tuple(input.shape[:-1]):
        var = var.unsqueeze(-1)
    var = torch.where(var < 0, math.nan, var)
    var = var + (var.clamp(min=eps) - var).detach()
    losses = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return {"mean": torch.mean, "sum": torch.sum, "none": lambda x: x}[reduction](losses)


@composite(F.binary_cross_entropy_with_logits)
def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    if weight is not None:
        return NotImplemented
    return _two_sided(
        lib.cse_bce_with_logits,
        input,
        target,
        reduction,
        size_average,
        reduce,
        handle_of(pos_weight),
    )


# ---- linear algebra ----


@composite(torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__)
def matmul(a, b, out=None):
    return NotImplemented if out is not None else matrix_product(a, b)


@composite(torch.einsum)
def einsum(equation, *operands):
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    notation = equation.replace(" ", "")
    if len(operands) > 2 or "->" not in notation or "." in notation:
        return NotImplemented
    letters = notation.split("->")[0].split(",")
    if any(len(set(part)) != len(part) for part in letters):
        return NotImplemented
    sizes = {}
    for part, x in zip(letters, operands):
        for letter, size in zip(part, x.shape):
            sizes[letter] = max(size, sizes.get(letter, 1))
    # A size of 1 is repeated, as in PyTorch.
    operands = [
        x.expand([sizes[k] if size == 1 else size for k, size in zip(part, x.shape)])
        if len(part) == x.dim()
        else x
        for part, x in zip(letters, operands)
    ]
    dtype = calls.result_type(*operands)
    return wrap(
        lib.cse_einsum(notation.encode(), calls.handles(operands, dtype), len(operands)), dtype
    )


# ---- gradients ----


@composite(torch.Tensor.backward, torch.autograd.backward)
def backward(tensor, gradient=None, retain_graph=None, create_graph=False, inputs=None, **_):
    if isinstance(tensor, (list, tuple)):
        if len(tensor) != 1:
            raise messages.TraceError(
                f"{messages.place_text()}backward of {len(tensor)} tensors: "
                "call backward on each of them"
            )
        tensor = tensor[0]
    tracer = _tracer()
    if create_graph:
        raise messages.TraceError(
            f"{messages.place_text()}backward(create_graph=True): gradients "
            "of gradients are not supported",
            [messages.place()],
        )
    if gradient is not None:
        tensor = (tensor * gradient).sum()
    states = (
        tracer.session.trainable_states()
        if inputs is None
        else [tracer.map_in(t).state for t in inputs]
    )
    for state, gradient in zip(states, _gradients(tensor, states, "backward")):
        if gradient is None:
            continue
        before = tracer.gradients.get(state.name)
        tracer.gradients[state.name] = gradient if before is None else before + gradient
    return None


def _gradients(loss, states, caller):
    if loss.dim() != 0 and calls.numel(loss) == 1:
        loss = calls.reshape(loss, [])
    if loss.dim() != 0:
        raise messages.TraceError(
            f"{messages.place_text()}{caller}: the loss is {messages.describe(loss)}; it must be a "
            "scalar: reduce it, as with loss.mean()",
            [messages.place()],
        )
    if any(s is None for s in states):
        raise messages.TraceError(
            f"{messages.place_text()}{caller}: gradients are those of parameters; those of other "
            "tensors are not supported",
            [messages.place()],
        )
    found = ffi.new("cse_tensor *[]", max(len(states), 1))
    lib.cse_gradients(
        handle_of(loss, torch.float32),
        ffi.new("cse_state *[]", [s.handle for s in states]),
        len(states),
        found,
    )
    result = []
    for state, handle in zip(states, found):
        result.append(None if handle == ffi.NULL else wrap(handle, torch.float32))
        if result[-1] is not None:
            result[-1].label = f"gradient of {state.name}"
    return result


@composite(torch.autograd.grad)
def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    allow_unused=None,
    **_,
):
    if isinstance(outputs, (list, tuple)):
        outputs = outputs[0]
    if create_graph or grad_outputs is not None:
        raise messages.TraceError(
            f"{messages.place_text()}autograd.grad: gradients of gradients "
            "and grad_outputs are not supported",
            [messages.place()],
        )
    tensors = [inputs] if is_traced(inputs) else list(inputs)
    return tuple(_gradients(outputs, [t.state for t in tensors], "autograd.grad"))


@composite(torch.Tensor.grad.__get__)
def get_grad(tensor):
    if tensor.state is None:
        if tensor.asks_gradient:
            retain_grad(tensor)
        return None
    return _tracer().gradients.get(tensor.state.name)


@composite(torch.Tensor.grad.__set__)
def set_grad(tensor, value):
    if tensor.state is None:
        raise messages.TraceError(
            f"{messages.place_text()}only parameters have a gradient that can " "be set",
            [messages.place()],
        )
    if value is None:
        _tracer().gradients.pop(tensor.state.name, None)
    else:
        _tracer().gradients[tensor.state.name] = value


@composite(torch.Tensor.data.__get__)
def get_data(tensor):
    return detach(tensor)


@composite(torch.Tensor.data.__set__)
def set_data(tensor, value):
    if value.dtype != tensor.dtype or tuple(value.shape) != tuple(tensor.shape):
        raise messages.TraceError(
            f"{messages.place_text()}.data of {tensor.label or 'a tensor'} "
            f"{messages.describe(tensor)} cannot become {messages.describe(value)} in a step: "
            "convert the model before cstorch.compile; types of a step are chosen by the precision",
            [messages.place()],
        )
    write(tensor, value)


@composite(torch.Tensor.requires_grad.__set__, torch.Tensor.requires_grad_)
def set_requires_grad(tensor, requires_grad=True):
    tensor.asks_gradient = bool(requires_grad)
    return tensor


@composite(torch.Tensor.requires_grad.__get__)
def get_requires_grad(tensor):
    return tensor.dtype.is_floating_point if tensor.state is None else tensor.state.trainable


@composite(torch.Tensor.register_hook)
def register_hook(tensor, hook):
    raise messages.TraceError(
        f"{messages.place_text()}register_hook: hooks on traced tensors are "
        "not supported; change gradients after backward, or write a "
        "torch.autograd.Function",
        [messages.place()],
    )


@composite(torch.Tensor.type)
def type_name(tensor, dtype=None, **_):
    if dtype is not None:
        return tensor.to(dtype)
    return {
        torch.float32: "torch.FloatTensor",
        torch.bfloat16: "torch.BFloat16Tensor",
        torch.float16: "torch.HalfTensor",
        torch.int64: "torch.LongTensor",
        torch.int32: "torch.IntTensor",
        torch.bool: "torch.BoolTensor",
    }[tensor.dtype]


# ---- values that are not known ----


def _refusal(name):
    def rule(tensor, *_, **__):
        refuse_value(tensor, name)

    return rule


for _name in (
    "item",
    "tolist",
    "numpy",
    "cpu",
    "__bool__",
    "__float__",
    "__int__",
    "__index__",
    "__array__",
    "__contains__",
    "nonzero",
    "unique",
    "__complex__",
    "__round__",
    "data_ptr",
    "storage",
    "untyped_storage",
):
    _function = getattr(torch.Tensor, _name, None)
    if _function is not None:
        RULES[_function] = _refusal(
            "." + _name + "()"
            if not _name.startswith("__")
            else {
                "__bool__": "bool(x), or `if x:`",
                "__float__": "float(x)",
                "__int__": "int(x)",
                "__index__": "an index",
                "__array__": "numpy.array(x)",
                "__contains__": "`in`",
            }.get(_name, _name)
        )
for _function, _name in (
    (torch.nonzero, "nonzero"),
    (torch.unique, "unique"),
    (torch.masked_select, "masked_select"),
    (torch.Tensor.masked_select, "masked_select"),
    (torch.equal, "torch.equal"),
    (torch.Tensor.equal, "Tensor.equal"),
    (torch.allclose, "torch.allclose"),
    (torch.Tensor.allclose, "Tensor.allclose"),
):
    RULES[_function] = _refusal(_name)


@composite(torch.Tensor.to)
def to(tensor, *args, **kwargs):
    device = kwargs.get("device", args[0] if args else None)
    if device == "cpu":
        refuse_value(tensor, '.to("cpu")')
    if isinstance(device, (str, torch.device)) and torch.device(device).type != "cpu":
        no_device(tensor, device)
    return NotImplemented


@composite(torch.Tensor.cuda)
def no_device(tensor, device="cuda", *_, **__):
    raise messages.TraceError(
        f"{messages.place_text()}a tensor of a step {messages.describe(tensor)} is not moved to "
        f"{device}: the engine decides where it computes; leave it out",
        [messages.place()],
    )


@composite(torch.Tensor.retain_grad)
def retain_grad(tensor):
    raise messages.TraceError(
        f"{messages.place_text()}only parameters have gradients in a step: return "
        "torch.autograd.grad(loss, parameter) or use p.grad",
        [messages.place()],
    )


# ---- many tensors at once ----


def for_each(name, args, kwargs):
    """torch._foreach_NAME: the function NAME for each tensor of the first list."""
    base = name.removeprefix("_foreach_")
    results = []
    for i, tensor in enumerate(args[0]):
        rest = [a[i] if isinstance(a, (list, tuple)) else a for a in args[1:]]
        named = {k: v[i] if isinstance(v, (list, tuple)) else v for k, v in kwargs.items()}
        if base == "norm":
            results.append(torch.linalg.vector_norm(tensor, *rest, **named))
        else:
            results.append(getattr(torch.Tensor, base)(tensor, *rest, **named))
    return None if base.endswith("_") else tuple(results)


# ---- functions of PyTorch that no mode sees ----


def _clip(parameters, max_norm=0.0, max_value=0.0):
    """Clips all gradients together; returns their norm before."""
    tracer = _tracer()
    if isinstance(parameters, torch.Tensor):
        parameters = [parameters]
    with torch._C.DisableTorchFunction():
        states = [tracer.session.state_of(p) for p in parameters]
    states = [s for s in states if s is not None and s.name in tracer.gradients]
    if not states:
        return torch.tensor(0.0)
    gradients = calls.handles([tracer.gradients[s.name] for s in states])
    limits = ffi.new("cse_clip *", {"max_norm": float(max_norm), "max_value": float(max_value)})
    tracer.at()
    norm = lib.cse_clip_gradients(gradients, len(states), limits)
    for state, handle in zip(states, gradients):
        tracer.gradients[state.name].handle = handle
    return wrap(norm, torch.float32)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    if float(norm_type) != 2.0:
        raise messages.TraceError(
            f"{messages.place_text()}clip_grad_norm_: norm_type {norm_type} "
            "is not supported; accepted: 2",
            [messages.place()],
        )
    return _clip(parameters, max_norm=max_norm)


def clip_grad_value_(parameters, clip_value, foreach=None):
    _clip(parameters, max_value=clip_value)


class FunctionContext:
    """The `ctx` of a torch.autograd.Function."""

    def __init__(self):
        self.saved_tensors = ()
        self.needs_input_grad = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def mark_dirty(self, *_):
        raise messages.TraceError(
            f"{messages.place_text()}mark_dirty is not supported: return a " "new tensor",
            [messages.place()],
        )

    def mark_non_differentiable(self, *_):
        pass

    def set_materialize_grads(self, _):
        pass


def apply_function(function, *args, **kwargs):
    """torch.autograd.Function.apply: the program's forward, and its backward as the gradient."""
    if function is torch.utils.checkpoint.CheckpointFunction:
        # (what to call, whether to keep random numbers, its arguments). What is computed again is
        # the engine's decision.
        return args[0](*args[2:])
    tracer = _tracer()
    args = tracer.map_in(args)
    context = FunctionContext()
    context.needs_input_grad = tuple(is_traced(a) and a.dtype.is_floating_point for a in args)
    if function.setup_context is not torch.autograd.function._SingleLevelFunction.setup_context:
        results = function.forward(*args, **kwargs)
        function.setup_context(context, args, results)
    else:
        results = function.forward(context, *args, **kwargs)
    outputs = [results] if isinstance(results, torch.Tensor) else list(results)
    inputs = [i for i, needs in enumerate(context.needs_input_grad) if needs]
    traced = [o for o in outputs if is_traced(o) and o.dtype.is_floating_point]
    if not inputs or not traced:
        return results
    fresh = [Traced(o.current(), o.shape, o.dtype) for o in traced]
    given = ffi.new("cse_tensor *[]", [args[i].current() for i in inputs])
    made = ffi.new("cse_tensor *[]", [o.handle for o in fresh])
    shapes = [(args[i].dtype, args[i].shape) for i in inputs]

    def backward_of(request):
        # The engine differentiates when the whole step is traced.
        with tracer:
            gradients = [
                wrap(request.output_gradients[k], fresh[k].dtype)
                for k in range(request.output_count)
            ]
            found = function.backward(context, *gradients)
            tracer.raise_unsupported()
            fill(request, found)

    def fill(request, found):
        found = found if isinstance(found, tuple) else (found,)
        for k, i in enumerate(inputs):
            if k < request.input_count and found[i] is not None:
                request.input_gradients[k] = calls.operand(found[i], shapes[k][0])

    handle = ffi.new_handle(backward_of)
    tracer.keep += [handle, given, made]
    tracer.at()
    lib.cse_custom_gradient(
        ffi.new(
            "cse_custom_function *",
            {
                "inputs": given,
                "input_count": len(inputs),
                "outputs": made,
                "output_count": len(fresh),
                "backward": lib.csengine_trace_backward,
                "self": handle,
            },
        )
    )
    for output, value in zip(fresh, made):
        output.handle = value
    new = {id(old): now for old, now in zip(traced, fresh)}
    results_now = [new.get(id(o), o) for o in outputs]
    return results_now[0] if isinstance(results, torch.Tensor) else tuple(results_now)


class Replaced:
    """While a step is traced, functions of PyTorch that no mode sees are those above."""

    def __init__(self, tracer):
        self.tracer = tracer

    def __enter__(self):
        clip = torch.nn.utils.clip_grad
        self.saved = [
            (owner, name, owner.__dict__[name])
            for owner, name in (
                (clip, "clip_grad_norm_"),
                (clip, "clip_grad_value_"),
                (torch.nn.utils, "clip_grad_norm_"),
                (torch.nn.utils, "clip_grad_value_"),
                (torch.autograd.Function, "apply"),
            )
        ]
        for owner, name, _ in self.saved[:4]:
            setattr(owner, name, globals()[name])
        torch.autograd.Function.apply = classmethod(apply_function)
        if hasattr(torch.compiler, "is_exporting"):
            # Libraries ask it before they look at values to choose a faster way.
            self.saved.append((torch.compiler, "is_exporting", torch.compiler.is_exporting))
            torch.compiler.is_exporting = lambda: True
        return self

    def __exit__(self, *_):
        for owner, name, value in self.saved:
            setattr(owner, name, value)
        return False
