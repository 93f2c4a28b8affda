"""Losses of classes and their gradients by PyTorch in float64, for
tests/engine/nn/models/check_class_loss.c: python3 class_losses.py >class_losses.h"""

import torch
from torch.nn.functional import cross_entropy

ROWS, CLASSES = 6, 4
LOGITS = torch.tensor(
    [[((r * 7 + c * 5) % 11 - 5) / 4 for c in range(CLASSES)] for r in range(ROWS)], dtype=torch.float64)
LABELS = torch.tensor([2, 0, 3, -100, 1, 3])
SOFT = torch.tensor(
    [[(1 + (r + 2 * c) % 5) for c in range(CLASSES)] for r in range(ROWS)], dtype=torch.float64)
SOFT = SOFT / SOFT.sum(-1, keepdim=True)
WEIGHTS = torch.tensor([0.5, 2.0, 0.25, 1.5], dtype=torch.float64)


def case(name, labels, **options):
    logits = LOGITS.clone().requires_grad_()
    loss = cross_entropy(logits, labels, **options)
    loss.backward()
    rows = [", ".join(f"{value:.12g}" for value in row) for row in logits.grad.tolist()]
    print(f"    {{ {name}, {loss.item():.12g},\n      {{ " + ",\n        ".join(rows) + " } },")


print("/* Written by class_losses.py: losses and gradients of PyTorch. */")
print("#ifndef CSE_TESTS_REFERENCE_CLASS_LOSSES_H\n#define CSE_TESTS_REFERENCE_CLASS_LOSSES_H\n")
print("#include <stdbool.h>\n")
print(f"enum {{ LOSS_ROWS = {ROWS}, LOSS_CLASSES = {CLASSES} }};\n")
print("static const struct {\n    bool soft, weighted;\n    double smoothing, loss;")
print("    double gradient[LOSS_ROWS * LOSS_CLASSES];\n} reference_losses[] = {\n    /* clang-format off */")
for soft in False, True:
    for weighted in False, True:
        for smoothing in 0.0, 0.1, 1.0:
            case(f"{int(soft)}, {int(weighted)}, {smoothing}", SOFT if soft else LABELS,
                 weight=WEIGHTS if weighted else None, label_smoothing=smoothing)
print("    /* clang-format on */\n};\n\n#endif")
