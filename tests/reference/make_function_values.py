#!/usr/bin/env python3
"""Writes tests/reference/function_values_*.h: what PyTorch computes for public functions that are
several ops each, forward and backward.

Run once with PyTorch installed (the stored files say which release), for GROUP attention, losses,
shapes and moves:
    python3 tests/reference/make_function_values.py GROUP > tests/reference/function_values_GROUP.h
The functions of the engine that belong to the names stand in
tests/engine/graph/ops/check_function_values.c. Floats are odd multiples of 1/16 below 2, all different
within a tensor of up to 64: every 16-bit format holds them, and none lies on a kink (kinks are even
multiples). Values are computed in float64. Gradients are those of sum(output * upstream).
"""
import math
import sys

import numpy
import torch
from torch.nn import functional

from values_as_c import tensor_text, wrapped

random = numpy.random.RandomState(7)


def floats(*shape, even=False):
    count = math.prod(shape)
    pool = (2 * numpy.arange(-16, 16) + (0 if even else 1)) / 16.0
    values = numpy.concatenate([random.permutation(pool) for _ in range(-(-count // 32))])[:count]
    return torch.tensor(values.astype(numpy.float32)).reshape(shape)


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


def bools(*shape):
    return torch.tensor(random.randint(0, 2, shape).astype(bool))


def write(name, function, *inputs):
    doubles = [x.double().requires_grad_(True) if x.is_floating_point() else x for x in inputs]
    output = function(*doubles)
    upstream = floats(*output.shape)
    wanted = [x for x in doubles if x.is_floating_point()]
    made = iter(torch.autograd.grad(output, wanted, upstream.double(), allow_unused=True))
    texts = []
    for x in doubles:
        gradient = next(made) if x.is_floating_point() else None
        texts.append(tensor_text(gradient) if gradient is not None else "{ .values = NULL }")
    print(wrapped(f'{{ "{name}", {len(inputs)}, {{ {", ".join(map(tensor_text, inputs))} }}, '
                  f'{tensor_text(output)}, {tensor_text(upstream)}, {{ {", ".join(texts)} }} }},'))


def attention(q, k, v, mask=None, **options):
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, **options)


def attention_functions():
    q, k, v = floats(2, 2, 3, 4), floats(2, 2, 5, 4), floats(2, 2, 5, 3)
    write("attention_scale", lambda q, k, v: attention(q, k, v, scale=0.75), q, k, v)
    write("attention_additive_mask", attention, q, k, v, floats(2, 1, 1, 5))
    write("attention_head_bias", attention, q, k, v, floats(2, 3, 5))
    mask = bools(3, 5)
    mask[1] = False  # a query that sees no key
    write("attention_bool_mask", attention, q, k, v, mask)
    lengths = ints(3, 5)
    seen = (torch.arange(5) < lengths[:, None])[:, None, None]
    write("attention_key_lengths", lambda q, k, v, n: attention(q, k, v, seen), q, k, v, lengths)
    squares = floats(1, 2, 6, 4), floats(1, 2, 6, 4), floats(1, 2, 6, 3)
    distance = torch.arange(6)[:, None] - torch.arange(6)
    band = (distance >= 0) & (distance < 3)
    write("attention_causal_window", lambda q, k, v: attention(q, k, v, band), *squares)
    write("attention_window", lambda q, k, v: attention(q, k, v, distance.abs() < 2), *squares)
    grouped = floats(1, 4, 3, 4), floats(1, 2, 3, 4), floats(1, 2, 3, 3)
    write("attention_grouped", lambda q, k, v: attention(q, k, v, is_causal=True, enable_gqa=True),
          *grouped)
    infinite = torch.zeros(3, 5).double().masked_fill(~mask, -math.inf)
    write("attention_infinite_mask", lambda q, k, v, m: attention(q, k, v, infinite), q, k, v, mask)


def rotary(x, base=10000.0, interleaved=False, positions=None, size=None):
    size = size or x.shape[-1]
    positions = torch.arange(x.shape[2]) if positions is None else positions
    angles = positions.double()[..., None] * base ** (-torch.arange(0, size, 2).double() / size)
    angles = angles[:, None] if angles.dim() == 3 else angles
    part, rest = x[..., :size], x[..., size:]
    a, b = (part[..., ::2], part[..., 1::2]) if interleaved else part.chunk(2, -1)
    pair = a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()
    turned = torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)
    return torch.cat([turned, rest], -1)


def alibi_slopes(heads):
    """As ALiBi's authors publish it."""
    def of_power(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start ** i for i in range(n)]
    if math.log2(heads).is_integer():
        return of_power(heads)
    power = 2 ** math.floor(math.log2(heads))
    return of_power(power) + alibi_slopes(2 * power)[0::2][:heads - power]


def alibi(x, heads, queries, keys):
    distance = (torch.arange(keys) - torch.arange(queries)[:, None]).abs().double()
    return x + -torch.tensor(alibi_slopes(heads)).double()[:, None, None] * distance


def t5_bias(table, queries, keys, bidirectional, max_distance):
    """The bucket of T5's code, with the logarithm in float64."""
    buckets = table.shape[0]
    relative = torch.arange(keys) - torch.arange(queries)[:, None]
    bucket = torch.zeros_like(relative)
    if bidirectional:
        buckets //= 2
        bucket += (relative > 0).long() * buckets
        relative = relative.abs()
    else:
        relative = -torch.minimum(relative, torch.zeros_like(relative))
    exact = buckets // 2
    large = exact + (torch.log(relative.clamp(min=1).double() / exact)
                     / math.log(max_distance / exact) * (buckets - exact) + 1e-9).long()
    bucket += torch.where(relative < exact, relative, large.clamp(max=buckets - 1))
    return functional.embedding(bucket, table).permute(2, 0, 1)


def position_functions():
    x = floats(2, 2, 3, 4)
    write("rotary", rotary, x)
    write("rotary_interleaved", lambda x: rotary(x, 100.0, True), x)
    write("rotary_positions", lambda x, p: rotary(x, positions=p, size=2), x,
          ints(4, 1, 0, 2, 2, 9).reshape(2, 3))
    write("alibi_8", lambda x: alibi(x, 8, 2, 3), floats(8, 2, 3))
    write("alibi_6", lambda x: alibi(x, 6, 1, 4), floats(6, 1, 4))
    write("relative_bias", lambda t: t5_bias(t, 2, 3, False, 128), floats(8, 2))
    write("relative_bias_far", lambda t: t5_bias(t, 40, 1, False, 20), floats(8, 1))
    write("relative_bias_both", lambda t: t5_bias(t, 1, 40, True, 32), floats(16, 1))


def norm_functions():
    x, w, b = floats(2, 4, 3, 2), floats(4), floats(4)
    write("group_norm", lambda x, w, b: functional.group_norm(x, 2, w, b), x, w, b)
    write("instance_norm", functional.instance_norm, x)
    write("layer_norm_plain", lambda x: functional.layer_norm(x, (6,)), floats(3, 6))
    write("batch_norm_plain", lambda x: functional.batch_norm(x, None, None, training=True),
          floats(4, 2, 3))
    write("batch_norm", lambda x, w, b: functional.batch_norm(x, None, None, w, b, True), x, w, b)
    x = floats(3, 5)
    write("var", lambda x: x.var(1), x)
    write("var_population", lambda x: x.var((0, 1), correction=0, keepdim=True), x)
    write("std", lambda x: x.std(0), x)


def loss_functions():
    x, y = floats(4, 5), ints(2, 0, 4, 1)
    for name in ("mean", "sum", "none"):
        write(f"cross_entropy_{name}",
              lambda x, y, n=name: functional.cross_entropy(x, y.long(), reduction=n), x, y)
    ignored, w = ints(2, -100, 0, 1), floats(5).abs()
    write("cross_entropy_negative", lambda x, y: functional.cross_entropy(x, y.long()), x, ignored)
    for index in (2, 255):
        labels = ignored.clone()
        labels[0] = index
        labels[1] = 4
        write(f"cross_entropy_ignore_{index}", lambda x, y, i=index: functional.cross_entropy(
            x, y.long(), ignore_index=i), x, labels)
    write("cross_entropy_weights",
          lambda x, y, w: functional.cross_entropy(x, y.long(), w.detach()), x, ignored, w)
    write("cross_entropy_smoothing", lambda x, y: functional.cross_entropy(
        x, y.long(), label_smoothing=0.25), x, ignored)
    write("cross_entropy_all", lambda x, y, w: functional.cross_entropy(
        x, y.long(), w.detach(), ignore_index=1, label_smoothing=0.25), x, y, w)
    write("nll_loss", lambda x, y, w: functional.nll_loss(x, y.long(), w.detach()), x, ignored, w)
    write("nll_loss_none", lambda x, y: functional.nll_loss(x, y.long(), reduction="none"), x,
          ignored)
    x, t = floats(3, 4), floats(3, 4, even=True)
    write("mse_loss", functional.mse_loss, x, t)
    write("l1_loss", lambda x, t: functional.l1_loss(x, t, reduction="sum"), x, t)
    write("smooth_l1_loss", lambda x, t: functional.smooth_l1_loss(x, t, beta=0.5), x, t)
    write("huber_loss",
          lambda x, t: functional.huber_loss(x, t, delta=0.75, reduction="none"), x, t)
    t = floats(3, 4).abs() / 2
    bce = functional.binary_cross_entropy_with_logits
    write("bce_with_logits", lambda x, t: bce(x, t.detach()), x, t)
    write("bce_pos_weight",
          lambda x, t, w: bce(x, t.detach(), pos_weight=w.detach(), reduction="none"), x, t,
          floats(4).abs())
    write("kl_div", lambda x, t: functional.kl_div(x, t.detach(), reduction="sum"), x, t)
    write("kl_div_log", lambda x, t: functional.kl_div(x, t, reduction="mean", log_target=True), x,
          t)


def activation_functions():
    x = floats(3, 8)
    write("softplus", functional.softplus, x)
    write("leaky_relu", lambda x: functional.leaky_relu(x, 0.125), x)
    write("elu", lambda x: functional.elu(x, 1.5), x)
    write("hardtanh", functional.hardtanh, x)
    write("clamp_low", lambda x: x.clamp(min=-0.5), x)
    write("glu", lambda x: functional.glu(x, 1), x)
    write("swiglu", lambda g, x: functional.silu(g) * x, x, floats(3, 8))
    write("gelu_tanh", lambda x: functional.gelu(x, approximate="tanh"), x)


def axis_functions():
    x = floats(3, 5)
    write("logsumexp", lambda x: x.logsumexp(1), x)
    write("logsumexp_kept", lambda x: x.logsumexp(0, keepdim=True), x)
    write("prod", lambda x: x.prod(1), x)
    write("prod_kept", lambda x: x.prod(0, keepdim=True), floats(6, 2))
    write("tril", lambda x: x.tril(-1), floats(2, 3, 4))
    write("triu", lambda x: x.triu(1), floats(4, 3))
    write("repeat", lambda x: x.repeat(2, 3), floats(2, 3))
    write("repeat_interleave", lambda x: x.repeat_interleave(3, 0), floats(2, 3))
    write("stack", lambda a, b: torch.stack([a, b], 1), floats(2, 3), floats(2, 3))
    write("concat_40", lambda x: torch.cat([x[:, i:i + 1] * (i % 3) for i in range(40)], 1),
          floats(2, 40))
    write("split", lambda x: x.split([1, 3], 1)[1] * 2, floats(2, 4))
    write("chunk", lambda x: x.chunk(3, 0)[2] + x.chunk(3, 0)[0], floats(6, 2))
    write("scatter_along", lambda x, i, v: x.scatter(1, i.long(), v), floats(2, 5),
          ints(3, 0, 1, 4, 2, 0).reshape(2, 3), floats(2, 3))
    write("pixel_shuffle", lambda x: functional.pixel_shuffle(x, 2), floats(1, 8, 2, 2))
    write("pixel_unshuffle", lambda x: functional.pixel_unshuffle(x, 2), floats(1, 2, 4, 2))
    write("embedding_padded", lambda t, i: functional.embedding(i, t, padding_idx=0), floats(4, 3),
          ints(2, 0, 3, 0, 2, 1).reshape(2, 3))
    write("top_k_values", lambda x: x.topk(2, 1).values, x)
    for name, notation, shapes in (("scores", "bhqd,bhkd->bhqk", ((1, 2, 2, 3), (1, 2, 4, 3))),
                                   ("order", "abc,cd->dba", ((2, 3, 2), (2, 2))),
                                   ("sums", "abx,yb->a", ((2, 3, 2), (2, 3))),
                                   ("outer", "i,j->ij", ((3,), (2,)))):
        write(f"einsum_{name}", lambda a, b, n=notation: torch.einsum(n, a, b),
              *(floats(*shape) for shape in shapes))
    write("einsum_one", lambda x: torch.einsum("abc->ca", x), floats(2, 3, 2))
    write("stop_gradient", lambda x: x.detach() * x, x)


def image_functions():
    write("conv1d", lambda x, w, b: functional.conv1d(x, w, b, 2, 1, 2, 2), floats(1, 4, 9),
          floats(2, 2, 3), floats(2))
    write("conv_transpose1d", lambda x, w, b: functional.conv_transpose1d(x, w, b, 2, 1, 1),
          floats(1, 2, 4), floats(2, 3, 3), floats(3))
    write("conv_transpose2d", lambda x, w: functional.conv_transpose2d(
        x, w, None, (2, 1), (1, 0), (1, 0), 2, (1, 2)), floats(1, 4, 3, 2), floats(4, 1, 3, 2))
    x = floats(1, 2, 3, 4)
    for name, size in (("up", (6, 8)), ("odd", (4, 3))):
        write(f"nearest_{name}", lambda x, s=size: functional.interpolate(x, s), x)
        write(f"bilinear_{name}",
              lambda x, s=size: functional.interpolate(x, s, mode="bilinear"), x)
        write(f"bilinear_corners_{name}", lambda x, s=size: functional.interpolate(
            x, s, mode="bilinear", align_corners=True), x)
    write("adaptive_even", lambda x: functional.adaptive_avg_pool2d(x, (1, 2)), x)
    write("adaptive_odd", lambda x: functional.adaptive_avg_pool2d(x, (2, 3)), x)


def between(x):
    """Two elements of 0.5 between neighbours of the last axis, one before and none behind."""
    wide = torch.full((x.shape[0], 3 * x.shape[1] - 1), 0.5, dtype=x.dtype)
    wide[:, 1::3] = x
    return torch.cat([torch.full((x.shape[0], 1), 0.5, dtype=x.dtype), wide[:, 1:]], 1)


def moving_functions():
    x, rows = floats(3, 5), ints(2, 0, 2)
    write("shift", lambda x: x + 0.75, x)
    write("roll", lambda x: x.roll(2, 1), x)
    write("roll_back", lambda x: x.roll(-1, 0), x)
    write("min", lambda x: x.amin(1), x)
    write("min_kept", lambda x: x.amin((0, 1), keepdim=True), x)
    write("any", lambda x: x * (x > 1).any(0), x)
    write("all", lambda x: x * (x > -1).all(1, keepdim=True), x)
    write("index_select", lambda x, i: x.index_select(0, i), x, rows)
    write("sort", lambda x: x.sort(1).values, x)
    write("sort_falling", lambda x: x.sort(0, descending=True).values, x)
    write("argsort", lambda x: x.gather(1, x.argsort(1)) * torch.arange(5), x)
    write("argmin", lambda x: x.gather(1, x.argmin(1)[:, None]), x)
    write("flatten", lambda x: x.flatten(1) * 2, floats(2, 3, 2))
    write("mean", lambda x: x.mean(1), floats(2, 4, 2))
    write("mean_all", torch.mean, floats(2, 4))
    write("linear", functional.linear, floats(2, 3, 4), floats(5, 4), floats(5))
    write("pad_between", between, floats(2, 3))
    write("scatter_add_to", lambda t, r, i: t.index_add(0, i, r), floats(4, 2), floats(3, 2), rows)
    labels = ints(2, 0, 4)
    write("nll", lambda x, y: functional.nll_loss(x, y.long()), x, labels)
    write("cross_entropy_rows",
          lambda x, y: functional.cross_entropy(x, y.long(), reduction="none"), x, labels)
    write("embedding", lambda t, i: functional.embedding(i, t), floats(4, 3), rows)
    channels = floats(3, 2, 2)
    write("batch_mean", lambda x: x.mean((0, 2)), channels)
    write("batch_variance", lambda x: x.var((0, 2)), channels)


print(f"/* Written by make_function_values.py with PyTorch {torch.__version__.split('+')[0]}. */")
print("/* clang-format off */")
GROUPS = {"attention": (attention_functions, position_functions),
          "losses": (norm_functions, loss_functions, activation_functions),
          "shapes": (axis_functions, image_functions),
          "moves": (moving_functions,)}
print(f"static const function_case {sys.argv[1]}_cases[] = {{")
for fill in GROUPS[sys.argv[1]]:
    fill()
print("};")
