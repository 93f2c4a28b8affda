"""Small random graphs of PyTorch's functions, forward and backward, beside PyTorch in float64.

    random_graphs.py [GRAPHS [FIRST_SEED]]

Graph number n is made by seed n alone. A hundred of them are one step; where that fails, each runs
alone, so that the message names the seed. A graph in which PyTorch's own float32, or inputs that
differ by 1e-6, give something else (a kink, a difference of large numbers) says nothing and is
left out; how many are is told.
"""

import os
import random
import shutil
import sys
import tempfile

import torch
import torch.nn.functional as F

import cstorch
from programs import loader

BATCH, AT_ONCE, SIZES = 4, 100, (1, 1, 2, 3, 4, 5)
MOST_ELEMENTS, LARGEST = 400, 30.0

UNARY = {
    "neg": torch.neg,
    "half": lambda x: x * 0.5,
    "shift": lambda x: x + 0.75,
    "rsub": lambda x: 1 - x,
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "exp": lambda x: torch.exp(x.clamp(max=2.0)),
    "expm1": lambda x: torch.expm1(x.clamp(max=2.0)),
    "log": lambda x: torch.log(x * x + 0.5),
    "log1p": lambda x: torch.log1p(x * x),
    "sqrt": lambda x: torch.sqrt(x * x + 0.25),
    "rsqrt": lambda x: torch.rsqrt(x * x + 0.25),
    "reciprocal": lambda x: torch.reciprocal(x * x + 0.5),
    "sin": torch.sin,
    "cos": torch.cos,
    "erf": torch.erf,
    "abs": torch.abs,
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "elu": F.elu,
    "leaky_relu": F.leaky_relu,
    "softplus": F.softplus,
    "mish": F.mish,
    "hardswish": F.hardswish,
    "logsigmoid": F.logsigmoid,
    "clamp": lambda x: x.clamp(-0.5, 0.8),
    "sign": torch.sign,
    "floor": torch.floor,
    "round": torch.round,
    "where": lambda x: torch.where(x > 0, x, x * 0.1),
    "masked_fill": lambda x: x.masked_fill(x < 0, -2.0),
    "detach": lambda x: x * x.detach(),
    "remainder": lambda x: x.remainder(0.7),
    "bfloat16_free": lambda x: x.to(x.dtype),
    "clone": torch.clone,
    "flatten": lambda x: x.flatten(),
    "contiguous": lambda x: x.contiguous(),
}

BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": lambda a, b: a / (b * b + 0.5),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "atan2": lambda a, b: torch.atan2(a, b * b + 0.5),
    "lerp": lambda a, b: torch.lerp(a, b, 0.3) if a.shape == b.shape else a + b,
    "less": lambda a, b: torch.where(a < b, a, b * 0.5),
    "mse": lambda a, b: F.mse_loss(a, b) if a.shape == b.shape else (a - b) ** 2,
}

# Of one tensor and an axis.
ALONG = {
    "sum": lambda x, d: x.sum(d),
    "sum_kept": lambda x, d: x.sum(d, keepdim=True),
    "mean": lambda x, d: x.mean(d),
    "amax": lambda x, d: x.amax(d),
    "amin": lambda x, d: x.amin(d, keepdim=True),
    "prod": lambda x, d: x.prod(d),
    "cumsum": lambda x, d: x.cumsum(d),
    "softmax": lambda x, d: x.softmax(d),
    "log_softmax": lambda x, d: F.log_softmax(x, d),
    "logsumexp": lambda x, d: torch.logsumexp(x, d),
    "var": lambda x, d: x.var(d, unbiased=False),
    "flip": lambda x, d: x.flip(d),
    "roll": lambda x, d: x.roll(1, d),
    "unsqueeze": lambda x, d: x.unsqueeze(d),
    "squeeze": lambda x, d: x.squeeze(d),
    "stack": lambda x, d: torch.stack([x, x * 2], d),
    "cat": lambda x, d: torch.cat([x, x + 1], d),
    "repeat": lambda x, d: x.repeat_interleave(2, dim=d),
    "first": lambda x, d: x.select(d, 0),
    "last": lambda x, d: x.narrow(d, x.shape[d] - 1, 1),
    "strided": lambda x, d: x[(slice(None),) * d + (slice(None, None, 2),)],
    "swap": lambda x, d: x.transpose(0, d),
    "sort": lambda x, d: x.sort(d).values,
    "argmax": lambda x, d: x.argmax(d).to(x.dtype) * 0.1 + x.sum(d),
    "index": lambda x, d: x.index_select(d, torch.tensor([x.shape[d] - 1, 0, 0])),
    "gather": lambda x, d: x.gather(d, torch.zeros(x.shape, dtype=torch.int64)),
    "normalize": lambda x, d: F.normalize(x + 0.1, dim=d),
    "expand": lambda x, d: x.unsqueeze(d).expand(*x.shape[:d], 3, *x.shape[d:]),
}

WHOLE = {
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:], eps=1e-2),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-2),
    "sum_all": lambda x: x.sum(),
    "mean_all": lambda x: x.mean(),
    "norm": lambda x: (x + 0.1).norm(),
    "tril": lambda x: x.tril() if x.dim() > 1 else x,
    "triu": lambda x: x.triu() if x.dim() > 1 else x,
    "permute": lambda x: x.permute(*reversed(range(x.dim()))) if x.dim() else x,
    "pad": lambda x: F.pad(x, (1, 2)),
    "glu": lambda x: F.glu(torch.cat([x, x * 0.5], -1), -1),
    "row": lambda x: x[None],
    "column": lambda x: x[..., None],
    "cross_entropy": lambda x: F.cross_entropy(
        x.reshape(-1, x.shape[-1]), torch.arange(x.numel() // x.shape[-1]) % x.shape[-1]
    ),
    "cross_entropy_ignoring": lambda x: F.cross_entropy(
        x.reshape(-1, x.shape[-1]),
        torch.tensor([-100 if i % 3 == 1 else i % x.shape[-1]
                      for i in range(x.numel() // x.shape[-1])]),
        label_smoothing=0.1,
    ),
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, torch.full_like(x, 0.3)),
    "huber": lambda x: F.huber_loss(x, torch.zeros_like(x), reduction="none"),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, torch.zeros_like(x), beta=0.5),
    "attention": lambda x: F.scaled_dot_product_attention(*[x[None]] * 3, is_causal=True)
    if x.dim() == 3 else x,
    "group_norm": lambda x: F.group_norm(x, 1, eps=1e-2) if x.dim() > 2 else x,
    "avg_pool": lambda x: F.avg_pool2d(x[None], 2, 1, 1) if x.dim() == 3 else x,
    "max_pool": lambda x: F.max_pool2d(x[None], 2, 1, 1) if x.dim() == 3 else x,
}

# Products of a value and another one; None where the shapes do not suit.
PRODUCTS = {
    "matmul": lambda a, b: a @ b,
    "linear": lambda a, b: F.linear(a, b),
    "linear_row": lambda a, b: F.linear(a, b[None]),
    "linear_bias": lambda a, b: F.linear(a, b, b.sum(-1)),
    "linear_relu": lambda a, b: F.relu(F.linear(a, b, b[:, 0])),
    "outer": lambda a, b: torch.outer(a.flatten()[:5], b.flatten()[:4]),
    "einsum": lambda a, b: torch.einsum("ij,kj->ik", a, b),
    "bmm": lambda a, b: torch.bmm(a, b.transpose(1, 2)),
    "conv1d": lambda a, b: F.conv1d(a, b, padding=1),
    "conv2d": lambda a, b: F.conv2d(a[None], b[:, :, None], padding=(1, 0)),
    "embedding": lambda a, b: F.embedding(torch.tensor([[0, a.shape[0] - 1], [0, 0]]), a) + b.sum(),
}


def parameters(seed):
    """Of the shapes that products want, and a number."""
    generator = torch.Generator().manual_seed(seed)
    shapes = random.Random(seed ^ 0x5EED)
    n, m, k = (shapes.choice(SIZES) for _ in range(3))
    made = [[n], [n, m], [k, n], [k, n, 2], []]
    return [torch.randn(shape, generator=generator) * 0.7 for shape in made], n


def batch_of(seed, width):
    generator = torch.Generator().manual_seed(seed + 10**9)
    return torch.randn(BATCH, width, generator=generator)


def pick(chooser, values):
    """A call: the function's table and name, the operands' numbers, and an axis."""
    table = chooser.choice((UNARY, BINARY, BINARY, ALONG, ALONG, WHOLE, PRODUCTS, PRODUCTS))
    name = chooser.choice(sorted(table))
    at = [chooser.randrange(len(values)) for _ in range(2 if table in (BINARY, PRODUCTS) else 1)]
    return table, name, at, chooser.randrange(max(1, values[at[0]].dim()))


def apply(call, values):
    table, name, at, axis = call
    operands = [values[i] for i in at]
    return table[name](*operands, axis) if table is ALONG else table[name](*operands)


def is_small(value):
    return (
        value.is_floating_point()
        and 0 < value.numel() <= MOST_ELEMENTS
        and value.dim() <= 4
        and bool(value.detach().isfinite().all())
        and value.detach().abs().max() < LARGEST
    )


def calls_of(seed, values):
    """The graph: calls that PyTorch accepts, each of which adds a value to the list."""
    chooser = random.Random(seed)
    values, calls = list(values), []
    length = chooser.randint(1, 8)
    for _ in range(200):
        if len(calls) == length:
            break
        call = pick(chooser, values)
        try:
            value = apply(call, values)
        except (RuntimeError, IndexError, ValueError, TypeError):
            continue
        if is_small(value):
            calls.append(call)
            values.append(value)
    return calls, chooser.choice(("mean", "sum", "weighed"))


def loss_of(graph, values):
    """Of the last value, so that most of what was called counts, and of one more."""
    calls, how = graph
    values = list(values)
    for call in calls:
        values.append(apply(call, values))
    last = values[-1]
    if how == "weighed":
        weights = torch.arange(1.0, 1 + last.numel()).reshape(last.shape) / 10
        return (last * weights.to(last.dtype)).sum() + values[-2].mean()
    return last.mean() if how == "mean" else last.sum()


def of_torch(graph, inputs, dtype):
    """[loss, gradients...], of which those that nothing leads to are zeros."""
    leaves = [x.to(dtype).requires_grad_() for x in inputs]
    loss = loss_of(graph, leaves)
    found = torch.autograd.grad(loss, leaves[:-1], allow_unused=True) if loss.requires_grad else []
    found = found or [None] * (len(leaves) - 1)
    return [loss.detach()] + [
        torch.zeros_like(x) if g is None else g.detach() for x, g in zip(leaves, found)
    ]


def distance(a, b):
    """Relative to the largest of each tensor, or 1."""
    return max(
        float((x.double() - y.double()).abs().max() / max(1.0, float(y.abs().max())))
        for x, y in zip(a, b)
    )


class Graph:
    def __init__(self, seed):
        self.seed = seed
        self.parameters, width = parameters(seed)
        self.batch = batch_of(seed, width)
        inputs = [x.double() for x in (*self.parameters, self.batch)]
        self.graph = calls_of(seed, inputs)
        self.wanted = of_torch(self.graph, inputs, torch.float64)
        near = of_torch(self.graph, [x * (1 + 1e-6) for x in inputs], torch.float64)
        self.noise = max(
            distance(of_torch(self.graph, inputs, torch.float32), self.wanted),
            distance(near, self.wanted),
        )
        leads = any(bool(g.abs().max() > 0) for g in self.wanted[1:])
        self.tells = self.noise < 1e-3 and leads

    def text(self):
        calls, how = self.graph
        return f"seed {self.seed}: " + ", ".join(
            f"v{5 + i + 1} = {c[1]}({', '.join(f'v{a}' for a in c[2])}; {c[3]})"
            for i, c in enumerate(calls)
        ) + f"; {how}; shapes " + str([list(p.shape) for p in (*self.parameters, self.batch)])


def run(graphs):
    """What the engine makes of them, in one step: a list for each, as of_torch."""
    holder = torch.nn.Module()
    holder.values = torch.nn.ParameterList(
        torch.nn.Parameter(p.clone()) for g in graphs for p in g.parameters
    )
    folder = tempfile.mkdtemp(prefix="csengine-graphs-")
    os.environ["XDG_CACHE_HOME"] = folder
    try:
        cstorch.configure(model_dir=os.path.join(folder, "model"))
        cstorch.compile(holder)
        data = loader(*[g.batch for g in graphs], batch_size=BATCH)
        seen = []

        @cstorch.trace
        def step(batch):
            made = []
            for n, g in enumerate(graphs):
                own = [holder.values[5 * n + i] for i in range(5)]
                loss = loss_of(g.graph, [*own, batch[n]])
                found = [None] * 5
                try:
                    found = torch.autograd.grad(loss, own, allow_unused=True)
                except RuntimeError as error:
                    if "depends on no parameter" not in str(error):
                        raise
                made.append([loss, *[torch.zeros(p.shape) if f is None else f
                                     for p, f in zip(own, found)]])
            return made

        @cstorch.step_closure
        def keep(values):
            seen.append(values)

        for batch in cstorch.utils.data.DataExecutor(data, num_steps=1):
            keep(step(batch))
        return seen[0]
    finally:
        cstorch.finish()
        shutil.rmtree(folder, ignore_errors=True)


def faults(graphs):
    """Texts of what differs from PyTorch, or fails."""
    try:
        results = run(graphs)
    except Exception as error:  # noqa: B902 - whatever it is, it names a fault
        if len(graphs) == 1:
            return [f"{graphs[0].text()}\n    {type(error).__name__}: {str(error)[:400]}"]
        half = len(graphs) // 2
        return faults(graphs[:half]) + faults(graphs[half:])
    wrong = []
    for g, result in zip(graphs, results):
        off = distance([torch.as_tensor(x) for x in result], g.wanted)
        if not off <= 2e-5 + 20 * g.noise:
            wrong.append(f"{g.text()}\n    differs by {off:.3g}, PyTorch's own float32 by {g.noise:.3g}")
    return wrong


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    torch.set_num_threads(1)
    seed, told, left_out, wrong = first, 0, 0, []
    while told < count:
        graphs = []
        while len(graphs) < min(AT_ONCE, count - told):
            graph = Graph(seed)
            seed += 1
            if graph.tells:
                graphs.append(graph)
            else:
                left_out += 1
        found = faults(graphs)
        print(*found, sep="\n", end="\n" if found else "", flush=True)
        wrong += found
        told += len(graphs)
        print(f"{told} graphs, {len(wrong)} wrong, {left_out} left out", file=sys.stderr, flush=True)
    if wrong:
        sys.exit(f"{len(wrong)} of {told} graphs are wrong")
    print(f"{told} graphs are those of PyTorch; {left_out} that say nothing were left out")


if __name__ == "__main__":
    main()
