"""Writes parameter_groups.h: the values of two parameters after each step of PyTorch's SGD with
parameter groups and with schedules of their own, and after AdamW's.

The gradient of element i of the parameters in step t is the table below; both parameters of a step
have the same one. Run: python3 parameter_groups.py > parameter_groups.h, then clang-format."""
import math

import torch

STEPS, SIZE = 6, 3
GRADIENTS = [[round(math.sin(1.3 * t + 0.7 * i + 0.2), 4) for i in range(SIZE)] for t in range(STEPS)]


def run(make, factor=None):
    weight = torch.full((SIZE,), 0.5, dtype=torch.float64, requires_grad=True)
    bias = torch.full((SIZE,), 0.5, dtype=torch.float64, requires_grad=True)
    optimizer = make(weight, bias)
    rows = []
    for t, gradient in enumerate(GRADIENTS):
        if factor is not None:
            for group, rate in zip(optimizer.param_groups, factor(t)):
                group["lr"] = rate
        for parameter in (weight, bias):
            parameter.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
        rows.append(weight.detach().tolist() + bias.detach().tolist())
    return rows


def sgd(weight, bias):
    return torch.optim.SGD(
        [
            {"params": [bias], "weight_decay": 0.0, "lr": 0.05},
            {"params": [weight]},
        ],
        lr=0.1,
        momentum=0.9,
        weight_decay=0.1,
    )


def adamw(weight, bias):
    return torch.optim.AdamW(
        [{"params": [bias], "weight_decay": 0.0}, {"params": [weight], "weight_decay": 0.3}],
        lr=0.01,
        betas=(0.9, 0.99),
        eps=0.0,
    )


def linear(t):
    """LinearLR from 0.2 to 0.1 in 4 steps, half of it for the bias."""
    rate = 0.2 + (0.1 - 0.2) * min(t, 4) / 4
    return [0.5 * rate, rate]


def tagged(t):
    """0.25 for the bias, 0.5^t of 0.1 for the weight."""
    return [0.25, 0.1 * 0.5**t]


def table(name, rows):
    print(f"static const double {name}[{len(rows)}][{len(rows[0])}] = {{")
    for row in rows:
        print("    { " + ", ".join(f"{value:.17g}" for value in row) + " },")
    print("};")


print("/* Written by parameter_groups.py. */")
table("group_gradients", GRADIENTS)
print("/* The weight's elements, then the bias's, after each step. */")
table("sgd_groups", run(sgd))
table("adamw_groups", run(adamw))
table("scaled_groups", run(sgd, linear))
table("tagged_groups", run(sgd, tagged))
