"""Prints the parameters of tests/engine/graph/precision/check_clipping.c: the rule of
torch.nn.utils.clip_grad_norm_, min(1, max_norm / (norm + 1e-6)), in float64. The first four rows were
compared with PyTorch's own function. Run: python3 clipping.py"""
import math

START = [0.5, -1.0, 2.0, 0.25]
GRADIENTS = [[round(math.sin(1.7 * t + i + 0.4) * (0.3 + 0.4 * i), 4) for i in range(4)]
             for t in range(4)]
GRADIENTS += [[0.3, -0.4, 0, 0], [0, 0, 0, 0], [0.0003, 0, -0.0004, 0]]

w = list(START)
for gradient in GRADIENTS:
    factor = min(1, 0.7 / (math.sqrt(sum(g * g for g in gradient)) + 1e-6))
    w = [x - 0.1 * factor * g for x, g in zip(w, gradient)]
    print("    { " + ", ".join(repr(round(x, 9)) for x in w) + " },")
