#!/usr/bin/env python3
"""Writes tests/reference/op_values.h: what PyTorch computes for the ops, forward and backward.

Run once with PyTorch installed (the stored file says which release):
    python3 tests/reference/make_reference_values.py > tests/reference/op_values.h
    python3 tests/reference/make_reference_values.py axes > tests/reference/op_values_axes.h
Values are computed in float64 from float32 inputs, so that they are right to every digit of
float32. Each case names an op of the engine with its attributes (engine/graph/ops says what they
mean), its inputs, and PyTorch's function for it. Gradients are those of sum(output * upstream).
"""
import sys

import numpy
import scipy.special
import torch
from torch.nn import functional

from values_as_c import number, tensor_text, wrapped

random = numpy.random.RandomState(1)
INF = float("inf")


def floats(*shape, low=-2.0, high=2.0):
    return torch.tensor(random.uniform(low, high, shape).astype(numpy.float32))


def ints(*shape, low=0, high=4):
    return torch.tensor(random.randint(low, high, shape).astype(numpy.int32))


def bools(*shape):
    return torch.tensor(random.randint(0, 2, shape).astype(bool))


def conv_gradients(x, w, dy, **options):
    x, w = x.clone().requires_grad_(True), w.clone().requires_grad_(True)
    return torch.autograd.grad(functional.conv2d(x, w, **options), [x, w], dy)


def pool_gradient(pool, x, dy):
    x = x.detach().clone().requires_grad_(True)
    return torch.autograd.grad(pool(x), [x], dy, create_graph=True)[0]


def embedding_gradient(rows, indices, count):
    table = torch.zeros(count, *rows.shape[indices.dim():], dtype=rows.dtype)
    return table.index_add(0, indices.long().flatten(), rows.flatten(0, indices.dim() - 1))


cases = []


def case(op, function, *inputs, integers=(), numbers=(), gradient=True):
    cases.append((op, function, inputs, list(integers), list(numbers), gradient))


special = torch.tensor([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 10.0])
positive = torch.tensor([0.01, 0.5, 1.0, 2.0, 9.0, 100.0])
for name in ("neg", "abs", "exp", "tanh", "erf", "relu", "sigmoid", "silu", "square", "sin", "cos"):
    f = {"relu": functional.relu, "silu": functional.silu}.get(name) or getattr(torch, name)
    case(name, f, special)
for name in ("log", "sqrt", "rsqrt", "reciprocal"):
    case(name, getattr(torch, name), positive)
case("sign", torch.sign, special, gradient=False)
case("is_finite", torch.isfinite, torch.tensor([0.0, INF, -INF, float("nan"), 3e38]),
     gradient=False)
case("logical_not", torch.logical_not, bools(6), gradient=False)
case("gelu", functional.gelu, special, integers=[0])
case("gelu", lambda x: functional.gelu(x, approximate="tanh"), special, integers=[1])
tied = (torch.tensor([1.0, 2.0, 3.0, -1.0]), torch.tensor([1.0, 3.0, 2.0, -1.0]))
for name in ("add", "sub", "mul", "div"):
    case(name, getattr(torch, name), floats(5), floats(5))
for name in ("maximum", "minimum"):
    case(name, getattr(torch, name), *tied)
case("pow", torch.pow, torch.tensor([2.0, 0.5, 3.0, 1.5]), torch.tensor([3.0, -2.0, 0.5, 1.5]))
for name, ours in (("eq", "equal"), ("ne", "not_equal"), ("lt", "less"), ("le", "less_equal"),
                   ("gt", "greater"), ("ge", "greater_equal")):
    case(ours, getattr(torch, name), *tied, gradient=False)
for name in ("logical_and", "logical_or"):
    case(name, getattr(torch, name), bools(8), bools(8), gradient=False)
case("where", torch.where, bools(6), floats(6), floats(6))
case("cast", lambda x: x.to(torch.int32), torch.tensor([-2.7, -0.4, 0.6, 3.5]), integers=[4],
     gradient=False)
case("broadcast_to", lambda x: x.expand(2, 3, 4), floats(3, 1), integers=[2, 3, 4])
case("sum", lambda x: x.sum((0, 2)), floats(2, 3, 4), integers=[0, 0, 2])
case("sum", lambda x: x.sum(1, keepdim=True), floats(2, 3, 2), integers=[1, 1])
tied_rows = torch.tensor([[1.0, 3.0, 3.0], [5.0, 2.0, 1.0]])
case("max", lambda x: x.amax(1), tied_rows, integers=[0, 1])
case("max", lambda x: x.amax((0, 2), keepdim=True), floats(2, 2, 3), integers=[1, 0, 2])
case("argmax", lambda x: x.argmax(1).to(torch.int32), tied_rows, integers=[1], gradient=False)
case("transpose", lambda x: x.permute(2, 0, 1), floats(2, 3, 2), integers=[2, 0, 1])
case("slice", lambda x: x[1:3, 0:5:2], floats(3, 5), integers=[1, 0, 3, 5, 1, 2])
case("pad", lambda x: functional.pad(x, (2, 1, 0, 1), value=7.0), floats(2, 2),
     integers=[0, 2, 1, 1, 0, 0], numbers=[7.0])
case("concat", lambda a, b: torch.cat([a, b], 1), floats(2, 3), floats(2, 2), integers=[1])
case("gather", lambda t, i: functional.embedding(i, t), floats(4, 3), ints(2, 3))
case("scatter_add", lambda r, i: embedding_gradient(r, i, 4), floats(5, 2), ints(5), integers=[4])
case("one_hot", lambda x: functional.one_hot(x[:, 0].long(), 4).float(),
     ints(3, 1).expand(3, 4).contiguous(), gradient=False)
for a, b, ta, tb in (((2, 3), (3, 4), 0, 0), ((2, 3), (4, 3), 0, 1), ((3, 2), (3, 4), 1, 0),
                     ((2, 2, 3), (2, 3, 2), 0, 0), ((2, 3, 2), (2, 2, 3), 1, 1)):
    case("matmul", lambda x, y, ta=ta, tb=tb: torch.matmul(x.mT if ta else x, y.mT if tb else y),
         floats(*a), floats(*b), integers=[ta, tb])
case("softmax", lambda x: functional.softmax(x, -1), floats(2, 5, high=6.0))
case("log_softmax", lambda x: functional.log_softmax(x, -1), floats(2, 5, high=6.0))
case("cross_entropy", lambda x, y: functional.cross_entropy(x, y.long(), reduction="none"),
     floats(4, 5, high=6.0), ints(4, high=5))
case("layer_norm", lambda x, w, b: functional.layer_norm(x, (6,), w, b, 1e-5), floats(3, 6),
     floats(6), floats(6), numbers=[1e-5])
x, w = floats(1, 2, 5, 4), floats(3, 2, 3, 2)
case("conv2d", functional.conv2d, x, w, integers=[1, 1, 0, 0, 1, 1, 1])
case("conv2d", lambda x, w: functional.conv2d(x, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
     x, w, integers=[2, 1, 1, 2, 1, 2, 1])
case("conv2d", lambda x, w: functional.conv2d(x, w, groups=2), floats(1, 4, 4, 3),
     floats(2, 2, 3, 2), integers=[1, 1, 0, 0, 1, 1, 2])
options = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}
dy = floats(1, 3, 3, 6)
window = [2, 1, 1, 2, 1, 2, 1]
case("conv2d_gradient_input", lambda w, dy: conv_gradients(x.double(), w, dy, **options)[0], w, dy,
     integers=window + [5, 4], gradient=False)
case("conv2d_gradient_weight", lambda x, dy: conv_gradients(x, w.double(), dy, **options)[1], x, dy,
     integers=window + [3, 2], gradient=False)
tied_image = torch.tensor([[1.0, 1.0, 0.0, 2.0], [1.0, 1.0, 2.0, 2.0], [0.0, -1.0, 4.0, 3.0]])
tied_image = tied_image.reshape(1, 1, 3, 4)
windows = ((tied_image, 2, 1, 0), (floats(1, 2, 5, 4), 3, 2, 1))
for x, k, s, p in windows:
    integers = [s, s, p, p, 1, 1, k, k, 1]
    pool = lambda x, k=k, s=s, p=p: functional.max_pool2d(x, k, s, p)
    case("max_pool2d", pool, x, integers=integers)
    case("max_pool2d_gradient", lambda x, dy, f=pool: pool_gradient(f, x, dy), x,
         floats(*pool(x).shape), integers=integers, gradient=False)
    for count in (1, 0):
        pool = lambda x, k=k, s=s, p=p, c=count: functional.avg_pool2d(x, k, s, p,
                                                                       count_include_pad=bool(c))
        integers = integers[:8] + [count]
        case("avg_pool2d", pool, x, integers=integers)
        case("avg_pool2d_gradient", lambda x, dy, f=pool: pool_gradient(f, x, dy), x,
             floats(*pool(x).shape), integers=integers, gradient=False)
# SciPy, an implementation of its own, for the functions it has.
for name in ("erf", "log_softmax"):
    f = getattr(scipy.special, name)
    axis = {"axis": -1} if name == "log_softmax" else {}
    case(name, lambda x, f=f, axis=axis: torch.tensor(f(x.numpy(), **axis)), floats(2, 4),
         gradient=False)



def attention_cases():
    attention = functional.scaled_dot_product_attention
    case("embedding", lambda t, i: functional.embedding(i, t), floats(5, 3), ints(2, 4, high=5))
    case("causal_mask", lambda x: torch.where(torch.ones(3, 4).tril().bool(), x, -7.0),
         floats(2, 3, 4), integers=[3, 4], numbers=[-7.0])
    for causal, time in ((0, 3), (1, 4)):
        case("scaled_dot_product_attention",
             lambda q, k, v, c=bool(causal): attention(q, k, v, is_causal=c), floats(1, 2, 4, 4),
             floats(1, 2, time, 4), floats(1, 2, time, 3), integers=[0, 0, causal],
             numbers=[0, 1, 0.5])


def activation_gradient_cases():
    def gradient_of(activation):
        return lambda x, dy: torch.autograd.grad(activation(x), [x], dy, create_graph=True)[0]

    for integers, form in (([0], "none"), ([1], "tanh")):
        case("gelu_gradient", gradient_of(lambda x, form=form: functional.gelu(x, approximate=form)),
             special[::2], floats(4), integers=integers)
    case("silu_gradient", gradient_of(functional.silu), special[::2], floats(4))


def whole_number_cases():
    halves = torch.tensor([-2.5, -1.5, -0.7, -0.0, 0.5, 1.5, 2.5, 3.2])
    for name in ("floor", "ceil", "round"):
        case(name, getattr(torch, name), halves)
    case("log1p", torch.log1p, torch.tensor([-0.9, -1e-6, 0.0, 1e-6, 0.5, 40.0]))
    case("expm1", torch.expm1, torch.tensor([-9.0, -1e-6, 0.0, 1e-6, 0.5, 4.0]))
    case("atan2", torch.atan2, floats(8), floats(8))
    a, b = ints(12, low=-40, high=41), ints(12, low=1, high=5) * (1 - 2 * ints(12, high=2))
    case("floor_divide", torch.floor_divide, a, b, gradient=False)
    case("remainder", torch.remainder, a, b, gradient=False)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        case(name, getattr(torch, name), a, b, gradient=False)
    case("bitwise_not", torch.bitwise_not, a, gradient=False)
    case("iota", lambda x: torch.arange(-3, 9, 2, dtype=torch.int32), ints(6), integers=[-3, 2],
         gradient=False)


def axis_cases():
    case("cumsum", lambda x: x.cumsum(1), floats(2, 4, 3), integers=[1, 0])
    case("cumsum", lambda x: x.flip(1).cumsum(1).flip(1), floats(2, 5), integers=[1, 1])
    case("flip", lambda x: x.flip((0, 2)), floats(2, 2, 3), integers=[5])
    case("take_along", lambda x, i: torch.gather(x, 1, i.long()), floats(2, 4, 2),
         ints(2, 3, 2), integers=[1])
    case("scatter_add_along",
         lambda x, i: torch.zeros(3, 4).double().scatter_add(1, i.long(), x), floats(3, 5),
         ints(3, 5), integers=[1, 4])
    case("top_k", lambda x: x.topk(3, 1).indices.to(torch.int32), floats(3, 7), integers=[1, 3, 0],
         gradient=False)
    case("top_k", lambda x: x.argsort(stable=True, dim=0).to(torch.int32), ints(6, 2, high=3),
         integers=[0, 6, 1], gradient=False)
    case("rms_norm", lambda x, w: functional.rms_norm(x, (6,), w, 1e-5), floats(3, 6), floats(6),
         numbers=[1e-5])


def write(op, function, inputs, integers, numbers, gradient):
    doubles = [x.double().requires_grad_(gradient) if x.is_floating_point() else x for x in inputs]
    output = function(*doubles)
    listed = ", ".join(map(str, integers)) or 0, ", ".join(map(number, numbers)) or 0
    text = (f'{{ "{op}", {{ {len(integers)}, {len(numbers)}, {{ {listed[0]} }}, {{ {listed[1]} }}, '
            f'NULL }}, {len(inputs)}, {{ {", ".join(map(tensor_text, inputs))} }}, '
            f'{tensor_text(output)},')
    if gradient:
        upstream = floats(*output.shape)
        wanted = [x for x in doubles if x.is_floating_point()]
        made = iter(torch.autograd.grad(output, wanted, upstream.double()))
        texts = (tensor_text(next(made)) if x.is_floating_point() else "{ .values = NULL }"
                 for x in doubles)
        text += f' {tensor_text(upstream)}, {{ {", ".join(texts)} }},'
    else:
        text += " { .values = NULL }, { { .values = NULL } },"
    print(wrapped(text + " },"))


def philox(key, counter):
    """Philox4x32-10 as in Salmon et al., SC'11, on Python's integers."""
    mask = (1 << 32) - 1
    k, c = [key & mask, key >> 32], list(counter)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & mask, (p >> 32) ^ c[3] ^ k[1], p & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def draws():
    print("\n/* seed, step, stream, sample, element; the first two words of Philox4x32-10. */")
    print("static const struct draw {")
    print("  uint64_t seed; int64_t step; uint32_t stream; int32_t sample;")
    print("  uint32_t element, words[2]; } draws[] = {")
    for seed, step, stream, sample, element in ((0, 0, 0, 0, 0), (1, 2, 3, 4, 5),
                                                (0x123456789ABCDEF0, 77, 0xDEADBEEF, 255, 66)):
        words = philox(seed, (element, sample, step, stream))
        print(f"  {{ {seed:#x}, {step}, {stream:#x}, {sample}, {element}, "
              f"{{ {words[0]:#x}, {words[1]:#x} }} }},")
    print("};")


def of_experts(function, experts, *rows):
    """What a function makes of each row and its expert's number, one below the other."""
    return torch.stack([function(int(e), *row) for e, *row in zip(experts, *rows)])


def expert_cases():
    case("expert_matmul", lambda x, w, e: of_experts(lambda i, r: w[i] @ r, e, x),
         floats(5, 3), floats(3, 2, 3), ints(5, high=3), integers=[1])
    case("expert_matmul", lambda x, w, e: of_experts(lambda i, r: r @ w[i], e, x),
         floats(4, 3), floats(2, 3, 4), ints(4, high=2), integers=[0])
    case("expert_outer",
         lambda x, y, e: torch.einsum("re,rm,rn->emn", functional.one_hot(e.long(), 4).to(x), x, y),
         floats(6, 2), floats(6, 3), ints(6, high=3), integers=[4])


def write_all(groups):
    """Each group draws from a state of its own, so that it leaves the others' values as they are."""
    global random
    for state, fill in groups:
        if fill is not None:
            random = numpy.random.RandomState(state)
            cases.clear()
            fill()
        for one in cases:
            write(*one)


print("/* Written by make_reference_values.py with PyTorch "
      f"{torch.__version__.split('+')[0]} and SciPy {scipy.__version__}. */")
print("/* clang-format off */")
if sys.argv[1:] == ["axes"]:
    print("static const reference_case axes_cases[] = {")
    write_all([(4, whole_number_cases), (5, axis_cases), (6, expert_cases)])
    print("};")
else:
    print("#define V(...) (const double[]){ __VA_ARGS__ }")
    print("static const reference_case plain_cases[] = {")
    write_all([(1, None), (2, attention_cases), (3, activation_gradient_cases)])
    print("};")
    draws()
