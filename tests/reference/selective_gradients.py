"""Writes selective_gradients.h: training of chosen elements of a matrix, in float64.

The mask is the formula of cerebras.pytorch's `outlier`: magnitudes of at least 2.25 standard
deviations (divisor n - 1) of the magnitudes along the first axis. What is trained is the smaller
problem: PyTorch's optimizers see weights and gradients that are zero where the mask is false, and
the weights there are put back afterwards. Clipping is by the norm of the masked gradients of both
parameters. Run: python3 selective_gradients.py > selective_gradients.h, then clang-format."""
import math

import torch

STEPS, ROWS, COLUMNS = 5, 6, 4
SIZE = ROWS * COLUMNS
WEIGHT = [round(math.sin(2.9 * i + 0.3) ** 3 * (1 + i % 5), 3) for i in range(SIZE)]
GRADIENTS = [[round(math.sin(1.3 * t + 0.7 * i + 0.2), 4) for i in range(SIZE)] for t in range(STEPS)]


def outliers(weight):
    magnitude = weight.abs()
    return magnitude >= 2.25 * magnitude.std(dim=0, keepdim=True)


def run(make, max_norm=None):
    weight = torch.tensor(WEIGHT, dtype=torch.float64).reshape(ROWS, COLUMNS)
    bias = torch.full((SIZE,), 0.5, dtype=torch.float64)
    mask = outliers(weight)
    frozen = torch.where(mask, 0.0, weight)
    trained = torch.where(mask, weight, 0.0).requires_grad_()
    bias.requires_grad_()
    optimizer = make([trained, bias])
    rows = []
    for gradient in GRADIENTS:
        g = torch.tensor(gradient, dtype=torch.float64)
        trained.grad = torch.where(mask, g.reshape(ROWS, COLUMNS), 0.0)
        bias.grad = g.clone()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_([trained, bias], max_norm)
        optimizer.step()
        rows.append((trained.detach() + frozen).flatten().tolist() + bias.detach().tolist())
    return rows


def table(name, rows):
    print(f"static const double {name}[{len(rows)}][{len(rows[0])}] = {{")
    for row in rows:
        print("    { " + ", ".join(f"{value:.9g}" for value in row) + " },")
    print("};")


print("/* Written by selective_gradients.py. */")
print(f"enum {{ SELECTIVE_STEPS = {STEPS}, SELECTIVE_ROWS = {ROWS}, SELECTIVE_COLUMNS = {COLUMNS} }};")
table("selective_gradients", GRADIENTS)
table("selective_weight", [WEIGHT])
mask = outliers(torch.tensor(WEIGHT, dtype=torch.float64).reshape(ROWS, COLUMNS))
print("static const int selective_mask[] = { " + ", ".join(str(int(m)) for m in mask.flatten()) + " };")
print("/* The weight's elements, then the bias's, after each step. */")
table("sgd_selective", run(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1)))
table("adamw_selective", run(lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.3)))
table("clipped_selective", run(lambda p: torch.optim.SGD(p, lr=0.1), max_norm=0.5))
