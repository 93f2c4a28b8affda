"""Each PyTorch function that is mapped, beside PyTorch: values, types and gradients, all in one
step."""

import unittest

import torch
import torch.nn.functional as F

import cstorch
from programs import Case, loader

N = 6
LABELS = torch.tensor([0, 3, 1, 2, -100, 3])
INDEX = torch.tensor([[0, 2, 1], [1, 1, 0], [2, 0, 3], [3, 3, 1], [0, 1, 2], [2, 2, 2]])


def written_slice(x):
    y = x.clone()
    y[:, 1:3] = y[:, 0:2] * 2
    y[0] += 1
    return y


def written_view(x):
    y = x * 1
    y.view(-1).mul_(3)
    y.t()[1].add_(2)
    return y


def written_strided(x):
    y = torch.zeros_like(x)
    y[..., ::2] = x[..., 1::2]
    y[..., 1::2] = -x[..., ::2]
    return y


def rotated(x):
    return torch.cat((x[..., :0], -x[..., 2:], x[..., :2]), dim=-1)


# name: function of a float tensor [6, 4]; each is compared in value, type, shape and gradient.
FUNCTIONS = {
    "add": lambda x: x + 2,
    "radd": lambda x: 2 + x,
    "sub": lambda x: x - 0.5,
    "rsub": lambda x: 1 - x,
    "mul": lambda x: x * 3,
    "div": lambda x: x / 7,
    "rdiv": lambda x: 2 / (x + 9),
    "alpha": lambda x: torch.add(x, x, alpha=0.3),
    "neg": lambda x: -x,
    "pow2": lambda x: x**2,
    "pow3": lambda x: (x + 5) ** 3,
    "sqrt": lambda x: (x + 9).sqrt(),
    "rsqrt": lambda x: (x + 9).rsqrt(),
    "exp": torch.exp,
    "log": lambda x: torch.log(x + 9),
    "log1p": lambda x: torch.log1p(x + 9),
    "expm1": torch.expm1,
    "sin": torch.sin,
    "cos": torch.cos,
    "erf": torch.erf,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "abs": torch.abs,
    "sign": torch.sign,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "trunc": torch.trunc,
    "reciprocal": lambda x: (x + 9).reciprocal(),
    "relu": F.relu,
    "relu_inplace": lambda x: F.relu(x * 1, inplace=True),
    "relu6": F.relu6,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "elu": F.elu,
    "leaky_relu": F.leaky_relu,
    "softplus": F.softplus,
    "hardtanh": F.hardtanh,
    "mish": F.mish,
    "hardswish": F.hardswish,
    "logsigmoid": F.logsigmoid,
    "glu": F.glu,
    "softmax": lambda x: F.softmax(x, -1),
    "softmax0": lambda x: x.softmax(0),
    "log_softmax": lambda x: F.log_softmax(x, 1),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "sum": lambda x: x.sum(),
    "sum1": lambda x: x.sum(1),
    "sum_keep": lambda x: x.sum(0, keepdim=True),
    "mean": lambda x: x.mean(),
    "mean1": lambda x: x.mean(-1, keepdim=True),
    "var": lambda x: x.var(1),
    "std": lambda x: x.std(),
    "var0": lambda x: x.var(0, unbiased=False),
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin(),
    "max": lambda x: x.max(),
    "max_dim": lambda x: x.max(dim=1).values,
    "min_dim": lambda x: x.min(dim=0).values,
    "prod": lambda x: (x + 3).prod(1),
    "cumsum": lambda x: x.cumsum(1),
    "norm": lambda x: x.norm(),
    "norm1": lambda x: x.norm(p=1, dim=1),
    "normalize": lambda x: F.normalize(x, dim=1),
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(),
    "sort": lambda x: x.sort(1).values,
    "topk": lambda x: x.topk(2, dim=1).values,
    "argsort": lambda x: x.argsort(1),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "clamp_min": lambda x: x.clamp(min=0.1),
    "clamp_max": lambda x: torch.clamp_max(x, 0.2),
    "maximum": lambda x: torch.maximum(x, x * 0.5 + 0.1),
    "minimum": lambda x: torch.minimum(x, torch.tensor(0.3)),
    "atan2": lambda x: torch.atan2(x, x + 9),
    "lerp": lambda x: torch.lerp(x, x * 2, 0.3),
    "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5),
    "addcdiv": lambda x: torch.addcdiv(x, x, x + 9, value=2),
    "where": lambda x: torch.where(x > 0, x, x * 0.1),
    "where_number": lambda x: torch.where(x > 0, x, 0.0),
    "masked_fill": lambda x: x.masked_fill(x < 0, -2.0),
    "gt": lambda x: x > 0.1,
    "eq": lambda x: x == x,
    "and": lambda x: (x > 0) & (x < 1),
    "or": lambda x: torch.logical_or(x > 1, x < -1),
    "not": lambda x: ~(x > 0),
    "isfinite": torch.isfinite,
    "isnan": torch.isnan,
    "any": lambda x: (x > 1).any(1),
    "all": lambda x: (x > -9).all(),
    "to_half": lambda x: x.to(torch.bfloat16).float(),
    "to_int": lambda x: (x * 9).to(torch.int64),
    "bool": lambda x: x.bool(),
    "int_div": lambda x: (x * 9).long() // 4,
    "int_rem": lambda x: (x * 9).long() % 5,
    "fmod": lambda x: x.remainder(0.7),
    "bitwise": lambda x: (x * 9).int() & 6,
    "view": lambda x: x.view(2, 12),
    "reshape": lambda x: x.reshape(-1),
    "t": lambda x: x.t().contiguous(),
    "transpose": lambda x: x.view(3, 2, 4).transpose(0, 2),
    "permute": lambda x: x.view(3, 2, 4).permute(2, 0, 1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "expand": lambda x: x.unsqueeze(1).expand(-1, 3, -1),
    "repeat": lambda x: x.repeat(2, 1, 2),
    "repeat_interleave": lambda x: x.repeat_interleave(2, dim=0),
    "flatten": lambda x: x.view(1, 2, 3, 4).flatten(1),
    "slice": lambda x: x[1:4, ::2],
    "negative": lambda x: x[-2:],
    "select": lambda x: x[2],
    "ellipsis": lambda x: x[..., 1],
    "none": lambda x: x[:, None],
    "index": lambda x: x[torch.tensor([2, 0, 2])],
    "index2": lambda x: x[torch.tensor([0, 1]), torch.tensor([2, 3])],
    "index2_of_truths": lambda x: (x > 0)[torch.tensor([0, 1]), torch.tensor([2, 3])] * x[0, 0],
    "index_select": lambda x: x.index_select(1, torch.tensor([3, 0])),
    "gather": lambda x: x.gather(1, INDEX),
    "cat": lambda x: torch.cat([x, x * 2], 1),
    "stack": lambda x: torch.stack([x, x + 1], 1),
    "rotated": rotated,
    "split": lambda x: torch.cat(x.split(3, dim=0)[::-1]),
    "chunk": lambda x: x.chunk(2, dim=1)[1],
    "unbind": lambda x: x.unbind(0)[3],
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1, 0),
    "roll_flat": lambda x: x.roll(3),
    "tril": torch.tril,
    "triu": lambda x: torch.triu(x, 1),
    "pad": lambda x: F.pad(x, (1, 2)),
    "movedim": lambda x: x.view(3, 2, 4).movedim(0, -1),
    "scatter_add": lambda x: (x * 0).scatter_add(1, INDEX[:, :3] * 0 + torch.arange(3), x[:, :3]),
    "unflatten": lambda x: x.unflatten(0, (2, 3)),
    "diag_mask": lambda x: x * torch.eye(6, 4),
    "written_slice": written_slice,
    "written_view": written_view,
    "written_strided": written_strided,
    "inplace": lambda x: (x * 1).add_(1).mul_(2).clamp_(-1, 3),
    "copy": lambda x: torch.zeros_like(x).copy_(x),
    "fill": lambda x: (x * 1).fill_(2.0) + x,
    "ones_like": lambda x: torch.ones_like(x) * x,
    "full_like": lambda x: torch.full_like(x, 3) * x,
    "new_zeros": lambda x: x.new_zeros(6, 4) + x,
    "matmul": lambda x: x @ x.t(),
    "matmul_constant": lambda x: x @ torch.ones(4, 3),
    "bmm": lambda x: torch.bmm(x.view(3, 2, 4), x.view(3, 4, 2)),
    "vector": lambda x: x @ torch.arange(4.0),
    "addmm": lambda x: torch.addmm(torch.ones(6, 6), x, x.t()),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "linear": lambda x: F.linear(x, torch.ones(3, 4), torch.ones(3)),
    "outer": lambda x: torch.outer(x[0], x[1]),
    "dot": lambda x: torch.dot(x[0], x[1]),
    "layer_norm": lambda x: F.layer_norm(x, (4,), torch.arange(4.0), torch.ones(4)),
    "layer_norm2": lambda x: F.layer_norm(x.view(3, 2, 4), (2, 4)),
    "rms_norm": lambda x: F.rms_norm(x, (4,), eps=1e-5),
    "group_norm": lambda x: F.group_norm(x.view(1, 6, 4), 3),
    "batch_norm": lambda x: F.batch_norm(x.view(3, 2, 4), None, None, training=True),
    "instance_norm": lambda x: F.instance_norm(x.view(1, 6, 4)),
    "embedding": lambda x: F.embedding(torch.tensor([[1, 0], [5, 1]]), x),
    "embedding_padded": lambda x: F.embedding(torch.tensor([1, 0, 1]), x, padding_idx=1),
    "one_hot": lambda x: F.one_hot(x.argmax(1), 4) * x,
    "cross_entropy": lambda x: F.cross_entropy(x, LABELS),
    "cross_entropy_none": lambda x: F.cross_entropy(x, LABELS, reduction="none"),
    "cross_entropy_smooth": lambda x: F.cross_entropy(x, LABELS, label_smoothing=0.1),
    "cross_entropy_weight": lambda x: F.cross_entropy(x, LABELS, weight=torch.arange(1.0, 5)),
    "cross_entropy_soft": lambda x: F.cross_entropy(x, F.softmax(torch.ones(6, 4), 1)),
    "cross_entropy_deep": lambda x: F.cross_entropy(
        x.view(3, 4, 2), torch.tensor([[0, 1], [2, 3], [1, 0]])
    ),
    "nll": lambda x: F.nll_loss(F.log_softmax(x, 1), LABELS),
    "mse": lambda x: F.mse_loss(x, torch.ones(6, 4)),
    "l1": lambda x: F.l1_loss(x, torch.ones(6, 4), reduction="sum"),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, torch.zeros(6, 4), beta=0.5),
    "huber": lambda x: F.huber_loss(x, torch.zeros(6, 4), reduction="none"),
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, torch.ones(6, 4) * 0.3),
    "kl": lambda x: F.kl_div(F.log_softmax(x, 1), torch.full((6, 4), 0.25), reduction="batchmean"),
    "cosine": lambda x: F.cosine_similarity(x[:3], x[3:]),
    "conv2d": lambda x: F.conv2d(
        x.view(1, 2, 3, 4), torch.ones(3, 2, 2, 2), torch.ones(3), padding=1, stride=2
    ),
    "conv1d": lambda x: F.conv1d(x.view(1, 6, 4), torch.ones(2, 6, 3), padding=1),
    "max_pool2d": lambda x: F.max_pool2d(x.view(1, 1, 6, 4), 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x.view(1, 1, 6, 4), 3, 1, 1),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x.view(1, 1, 6, 4), (3, 1)),
    "adaptive_global": lambda x: F.adaptive_avg_pool2d(x.view(1, 1, 6, 4), 1),
    "interpolate": lambda x: F.interpolate(x.view(1, 1, 6, 4), scale_factor=2),
    "bilinear": lambda x: F.interpolate(x.view(1, 1, 6, 4), size=(8, 8), mode="bilinear"),
    "attention": lambda x: F.scaled_dot_product_attention(
        *[x.view(1, 2, 3, 4)] * 3, is_causal=True
    ),
    "attention_mask": lambda x: F.scaled_dot_product_attention(
        *[x.view(1, 2, 3, 4)] * 3, attn_mask=torch.ones(3, 3).tril().bool()
    ),
    "attention_bias": lambda x: F.scaled_dot_product_attention(
        *[x.view(1, 2, 3, 4)] * 3, attn_mask=torch.arange(9.0).view(3, 3)
    ),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x.view(1, 4, 3, 2), 2),
    "rot_table": lambda x: x * torch.arange(4.0).sin() + torch.arange(6.0)[:, None],
    "dropout_off": lambda x: F.dropout(x, 0.5, training=False),
    "detach": lambda x: x * x.detach(),
    "no_grad_inside": lambda x: x * 2,
    "scalar_minus": lambda x: (5 - x.sum()) * 2,
    "tensor_number": lambda x: x * torch.tensor(2.0),
}


class Rotate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * ctx.factor + x, None


FUNCTIONS["autograd_function"] = lambda x: Rotate.apply(x, 3.0)


class Holder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.values = torch.nn.ParameterDict(
            {
                "f_" + name: torch.nn.Parameter(torch.randn(N, 4, generator=generator))
                for name in FUNCTIONS
            }
        )


class Operations(Case):
    def test_values_types_and_gradients_are_those_of_pytorch(self):
        self.configure()
        holder = Holder()
        cstorch.compile(holder)
        data = loader(torch.zeros(8, 1))
        wanted = {}
        for name, function in FUNCTIONS.items():
            x = holder.values["f_" + name].detach().clone().requires_grad_()
            value = function(x)
            weight = torch.arange(1.0, 1 + value.numel()).reshape(value.shape) / 10
            gradient = None
            if value.dtype.is_floating_point and value.requires_grad:
                (value * weight).sum().backward()
                gradient = x.grad
            wanted[name] = (value.detach(), weight, gradient)

        @cstorch.trace
        def step(batch):
            values, loss = {}, batch[0].sum()
            for name, function in FUNCTIONS.items():
                value = function(holder.values["f_" + name])
                values[name] = value
                if wanted[name][2] is not None:
                    loss = loss + (value * wanted[name][1]).sum()
            loss.backward()
            gradients = {name: holder.values["f_" + name].grad for name in FUNCTIONS}
            return values, gradients

        ((values, gradients),) = self.run_step(step, data)
        for name, (value, _, gradient) in wanted.items():
            with self.subTest(name):
                self.assertEqual(values[name].shape, value.shape)
                self.assertEqual(values[name].dtype, value.dtype)
                torch.testing.assert_close(values[name], value, rtol=2e-5, atol=2e-5)
                if gradient is not None:
                    found = gradients[name]
                    found = torch.zeros_like(gradient) if found is None else found
                    torch.testing.assert_close(found, gradient, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    unittest.main()
