"""Writes optimizer_losses.h: the losses of 50 steps of a small network by PyTorch's optimizers in
float32, with settings under which both sides mean the same. Lamb, Lion and SM3 are not in PyTorch: the
formulas of optimizers.py stand for its classes, on PyTorch's gradients. The learning rates are such that PyTorch's own losses in float32 and
float64 agree over the 50 steps: Adafactor at 0.1 circles around the minimum, and rounding errors grow
there several times a step on either side. Run: python3 optimizer_losses.py >optimizer_losses.h, then
clang-format."""
import math

import torch

import optimizers

STEPS, ROWS, INPUTS, HIDDEN = 50, 8, 3, 4


def waves(count, speed, shift, size):
    return [round(math.sin(speed * i + shift) * size, 4) for i in range(count)]


class ByFormula(torch.optim.Optimizer):
    """An optimizer by rule(parameter, gradient, step from 1, state) -> next parameter."""

    def __init__(self, weights, rule):
        super().__init__(weights, {})
        self.rule, self.steps = rule, 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        for w in self.param_groups[0]["params"]:
            w.copy_(self.rule(w.clone(), w.grad, self.steps, self.state[w]))


def train(name, arguments):
    table = torch.tensor(waves(ROWS * (INPUTS + 1), 1.1, 0.3, 1.0)).reshape(ROWS, INPUTS + 1)
    x, y = table[:, :INPUTS], table[:, INPUTS]
    w1 = torch.tensor(waves(HIDDEN * INPUTS, 1.3, 0.2, 0.8)).reshape(HIDDEN, INPUTS)
    b1 = torch.tensor(waves(HIDDEN, 0.9, 0.1, 0.3))
    w2 = torch.tensor([waves(HIDDEN, 2.1, 0.7, 0.9)])
    weights = [w.requires_grad_() for w in (w1, b1, w2)]
    make = getattr(torch.optim, name, None) or ByFormula
    optimizer, losses = make(weights, **arguments), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = ((torch.tanh(x @ w1.T + b1) @ w2.T).squeeze(1) - y).square().mean()
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return losses


CASES = [  # optimizer, settings, arguments of PyTorch's class
    ("Adadelta", "{lr: 2.0, eps: 0.001}", dict(lr=2.0, eps=0.001)),
    ("Adafactor", "{lr: 0.02}", dict(lr=0.02, eps=(1e-30, 1e-3))),
    ("Adagrad", "{lr: 0.1, lr_decay: 0.01}", dict(lr=0.1, lr_decay=0.01, eps=1e-6)),
    ("Adam", "{lr: 0.02, eps: 1e-8, eps_added_to: corrected}", dict(lr=0.02)),
    ("Adam", "{lr: 0.02, eps: 1e-8, eps_added_to: corrected, amsgrad: true, weight_decay: 0.1}",
     dict(lr=0.02, amsgrad=True, weight_decay=0.1)),
    ("AdamW", "{lr: 0.02, eps: 1e-8, eps_added_to: corrected, weight_decay: 0.01}", dict(lr=0.02)),
    ("Adamax", "{lr: 0.05}", dict(lr=0.05, eps=1e-6)),
    ("ASGD", "{lr: 0.2, lambd: 0.01, t0: 20}", dict(lr=0.2, lambd=0.01, t0=20)),
    ("Lamb", "{lr: 0.02, weight_decay: 0.01}",
     dict(rule=optimizers.lamb(0.02, 0.9, 0.999, 1e-6, 0.01))),
    ("Lion", "{lr: 0.01, weight_decay: 0.1}", dict(rule=optimizers.lion(0.01, 0.9, 0.99, 0.1))),
    ("NAdam", "{lr: 0.02}", dict(lr=0.02)),
    ("RAdam", "{lr: 0.05}", dict(lr=0.05, eps=1e-6)),
    ("RMSprop", "{lr: 0.005, momentum: 0.9, centered: true}",
     dict(lr=0.005, momentum=0.9, centered=True)),
    ("Rprop", "{lr: 0.01}", dict(lr=0.01)),
    ("SGD", "{lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 0.01}",
     dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)),
    ("SM3", "{lr: 0.1, momentum: 0.9}", dict(rule=optimizers.sm3(0.1, 0.9, 0.0, 1e-30))),
]

print(f"/* Written by optimizer_losses.py with PyTorch {torch.__version__.split('+')[0]}. */")
print("static const struct {\n    const char *optimizer, *settings;\n"
      f"    float losses[{STEPS}]; /* before each step */\n}} optimizer_losses[] = {{")
for name, settings, arguments in CASES:
    numbers = ", ".join(f"{loss:.9g}F" if "." in f"{loss:.9g}" else f"{loss:.9g}.0F"
                        for loss in train(name, arguments))
    print(f'    {{ "{name}",\n      "{settings}",\n      {{ {numbers} }} }},')
print("};")
