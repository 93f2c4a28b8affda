"""Prints the samples of engine/nn/optimizers and engine/nn/schedules as they stand in the plugins' files:
parameters after each step of small optimizations, and learning rates.

Where PyTorch has the same semantics its own classes compute the values (in float64); where the engine
differs on purpose (eps of Adam, dampening of SGD's first step) they come from the documented formula,
in float64 too. Schedules that are not here: schedules.py.
Run: python3 optimizers.py [NAME], then clang-format."""
import math
import sys

import torch

STEPS, SIZE = 8, 4
START = [0.5, -1.0, 2.0, 0.25]
GRADIENTS = [[round(math.sin(1.7 * t + i + 0.4) * (0.3 + 0.4 * i), 4) for i in range(SIZE)]
             for t in range(STEPS)]


def run_torch(make, shape=(SIZE,)):
    w = torch.tensor(START, dtype=torch.float64).reshape(shape).requires_grad_()
    optimizer = make([w])
    rows = []
    for gradient in GRADIENTS:
        w.grad = torch.tensor(gradient, dtype=torch.float64).reshape(shape)
        optimizer.step()
        rows.append(w.detach().flatten().tolist())
    return rows


def run_sgd(lr, momentum, dampening):
    w, buffer, rows = list(START), [0.0] * SIZE, []
    for gradient in GRADIENTS:
        for i, g in enumerate(gradient):
            buffer[i] = momentum * buffer[i] + (1 - dampening) * g
            w[i] -= lr * buffer[i]
        rows.append(list(w))
    return rows


def run_adam(lr, b1, b2, eps, decay=0.0, decoupled=False, correct=True, amsgrad=False):
    w, m, v, top = list(START), [0.0] * SIZE, [0.0] * SIZE, [0.0] * SIZE
    rows = []
    for t, gradient in enumerate(GRADIENTS, 1):
        factor = math.sqrt(1 - b2**t) / (1 - b1**t) if correct else 1.0
        for i, g in enumerate(gradient):
            if not decoupled:
                g += decay * w[i]
            m[i] = b1 * m[i] + (1 - b1) * g
            v[i] = b2 * v[i] + (1 - b2) * g * g
            top[i] = max(top[i], v[i])
            u = m[i] / (math.sqrt(top[i] if amsgrad else v[i]) + eps) * factor
            w[i] -= lr * (u + (decay * w[i] if decoupled else 0.0))
        rows.append(list(w))
    return rows


def run_formula(rule, shape=(SIZE,)):
    """rule(w, g, t, state) returns the next parameter; `state` is a dictionary for it."""
    w, state, rows = torch.tensor(START, dtype=torch.float64).reshape(shape), {}, []
    for t, gradient in enumerate(GRADIENTS, 1):
        w = rule(w, torch.tensor(gradient, dtype=torch.float64).reshape(shape), t, state)
        rows.append(w.flatten().tolist())
    return rows


def lamb(lr, b1, b2, eps, decay, adam=False):
    def rule(w, g, t, state):
        m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * g * g
        u = m / (v.sqrt() + eps) + decay * w
        size, length = min(w.norm().item(), 10), u.norm().item()
        return w - lr * (1 if adam or size == 0 or length == 0 else size / length) * u
    return rule


def lion(lr, b1, b2, decay):
    def rule(w, g, t, state):
        m = state.get("m", torch.zeros_like(w))
        state["m"] = b2 * m + (1 - b2) * g
        return w * (1 - lr * decay) - lr * (b1 * m + (1 - b1) * g).sign()
    return rule


def rms(x):
    return x.square().mean().sqrt().item()


def adafactor(lr, eps, clip=1.0, power=-0.8, b1=None, decay=0.0, scale=True):
    def rule(w, g, t, state):
        b, squares = 1 - t**power, g * g + eps[0]
        if w.dim() > 1:
            r = state["r"] = b * state.get("r", 0) + (1 - b) * squares.mean(-1)
            c = state["c"] = b * state.get("c", 0) + (1 - b) * squares.mean(-2)
            u = g / (r / r.mean(-1, keepdim=True)).sqrt()[..., :, None] / c.sqrt()[..., None, :]
        else:
            v = state["v"] = b * state.get("v", 0) + (1 - b) * squares
            u = g / v.sqrt()
        rate = lr * max(eps[1], rms(w)) if scale else lr
        u = rate * u / max(1, rms(u) / clip)
        if b1 is not None:
            u = state["m"] = b1 * state.get("m", 0) + (1 - b1) * u
        return w - decay * rate * w - u
    return rule


def sm3(lr, momentum, beta, eps):
    def rule(w, g, t, state):
        axes = range(w.dim())
        kept = state.get("a", [torch.zeros_like(w.amax([b for b in axes if b != a], keepdim=True)
                                                if w.dim() > 1 else w) for a in axes])
        v = kept[0].expand_as(w)
        for other in kept[1:]:
            v = torch.minimum(v, other)
        v = beta * v + (1 - beta) * g * g if beta > 0 else v + g * g
        state["a"] = [v.amax([b for b in axes if b != a], keepdim=True) if w.dim() > 1 else v
                      for a in axes]
        u = g / (v + eps).sqrt()
        if momentum > 0:
            u = state["m"] = momentum * state.get("m", 0) + (1 - momentum) * u
        return w - lr * u
    return rule


SGD, ADAM, ADAMW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
CASES = [  # optimizer, settings, values, source
    ("SGD", "{lr: 0.1}",
     run_torch(lambda p: SGD(p, lr=0.1)), "torch"),
    ("SGD", "{learning_rate: 0.1, momentum: 0.9}",
     run_torch(lambda p: SGD(p, lr=0.1, momentum=0.9)), "torch"),
    ("SGD", "{lr: 0.05, momentum: 0.8, nesterov: true, weight_decay: 0.1}",
     run_torch(lambda p: SGD(p, lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.1)), "torch"),
    ("SGD", "{lr: 0.1, maximize: true}",
     run_torch(lambda p: SGD(p, lr=0.1, maximize=True)), "torch"),
    ("SGD", "{lr: 0.1, momentum: 0.9, dampening: 0.3}",
     run_sgd(0.1, 0.9, 0.3), "formula"),
    ("Adam", "{lr: 0.01, eps: 0.0}",
     run_torch(lambda p: ADAM(p, lr=0.01, eps=0.0)), "torch"),
    ("Adam", "{lr: 0.02, betas: [0.8, 0.99], eps: 0.0, weight_decay: 0.1, amsgrad: true}",
     run_torch(lambda p: ADAM(p, lr=0.02, betas=(0.8, 0.99), eps=0.0, weight_decay=0.1,
                              amsgrad=True)), "torch"),
    ("Adam", "{eps: 0.01}",
     run_adam(1e-3, 0.9, 0.999, 0.01), "formula"),
    ("AdamW", "{lr: 0.02, eps: 0.0, weight_decay: 0.2}",
     run_torch(lambda p: ADAMW(p, lr=0.02, eps=0.0, weight_decay=0.2)), "torch"),
    ("AdamW", "{lr: 0.02, weight_decay: 0.2, correct_bias: false}",
     run_adam(0.02, 0.9, 0.999, 1e-6, 0.2, True, False), "formula"),
    ("AdamW", "{lr: 0.02, betas: [0.9, 0.98]}",
     run_adam(0.02, 0.9, 0.98, 1e-6, 0.0, True), "formula"),
]


def of_torch(name, settings, shape=(SIZE,), **arguments):
    return (name, settings, run_torch(lambda p: getattr(torch.optim, name)(p, **arguments), shape),
            "torch") + ((True,) if len(shape) > 1 else ())


def of_formula(name, settings, rule, shape=(SIZE,)):
    return (name, settings, run_formula(rule, shape), "formula") + ((True,) if len(shape) > 1 else ())


MATRIX = (2, 2)
CASES += [
    of_torch("Adam", "{lr: 0.05, eps: 0.01, eps_added_to: corrected}", lr=0.05, eps=0.01),
    of_torch("Adam", "{lr: 0.05, eps: 1e-8, eps_added_to: corrected, amsgrad: true, "
             "weight_decay: 0.1}", lr=0.05, amsgrad=True, weight_decay=0.1),
    of_torch("AdamW", "{lr: 0.05, eps: 0.01, eps_added_to: corrected, weight_decay: 0.2}",
             lr=0.05, eps=0.01, weight_decay=0.2),
    of_torch("Adadelta", "{}", eps=1e-6),
    of_torch("Adadelta", "{lr: 0.5, rho: 0.7, eps: 0.001, weight_decay: 0.1, maximize: true}",
             lr=0.5, rho=0.7, eps=0.001, weight_decay=0.1, maximize=True),
    of_torch("Adagrad", "{}", eps=1e-6),
    of_torch("Adagrad", "{lr: 0.1, lr_decay: 0.2, weight_decay: 0.1, eps: 0.01, "
             "initial_accumulator_value: 0.5}", lr=0.1, lr_decay=0.2, weight_decay=0.1, eps=0.01,
             initial_accumulator_value=0.5),
    of_torch("Adagrad", "{lr: 0.1, maximize: true}", lr=0.1, eps=1e-6, maximize=True),
    of_torch("Adamax", "{lr: 0.02}", lr=0.02, eps=1e-6),
    of_torch("Adamax", "{lr: 0.02, betas: [0.8, 0.9], eps: 0.01, weight_decay: 0.1, "
             "maximize: true}", lr=0.02, betas=(0.8, 0.9), eps=0.01, weight_decay=0.1,
             maximize=True),
    of_torch("ASGD", "{lr: 0.1}", lr=0.1),
    of_torch("ASGD", "{lr: 0.1, lambd: 0.3, alpha: 0.5, t0: 2, weight_decay: 0.1, maximize: true}",
             lr=0.1, lambd=0.3, alpha=0.5, t0=2, weight_decay=0.1, maximize=True),
    of_formula("Lamb", "{lr: 0.05}", lamb(0.05, 0.9, 0.999, 1e-6, 0.0)),
    of_formula("Lamb", "{lr: 0.05, betas: [0.8, 0.9], eps: 0.01, weight_decay: 0.2}",
               lamb(0.05, 0.8, 0.9, 0.01, 0.2)),
    of_formula("Lamb", "{lr: 0.05, weight_decay: 0.1, adam: true}",
               lamb(0.05, 0.9, 0.999, 1e-6, 0.1, True)),
    of_formula("Lion", "{lr: 0.05}", lion(0.05, 0.9, 0.99, 0.0)),
    of_formula("Lion", "{lr: 0.05, betas: [0.7, 0.8], weight_decay: 0.2}", lion(0.05, 0.7, 0.8, 0.2)),
    of_torch("NAdam", "{lr: 0.02}", lr=0.02),
    of_torch("NAdam", "{betas: [0.8, 0.9], eps: 0.01, weight_decay: 0.1, momentum_decay: 0.3, "
             "lr: 0.05}", lr=0.05, betas=(0.8, 0.9), eps=0.01, weight_decay=0.1,
             momentum_decay=0.3),
    of_torch("RAdam", "{lr: 0.02}", lr=0.02, eps=1e-6),
    of_torch("RAdam", "{lr: 0.05, betas: [0.8, 0.9], eps: 0.01, weight_decay: 0.1}",
             lr=0.05, betas=(0.8, 0.9), eps=0.01, weight_decay=0.1),
    of_torch("RAdam", "{lr: 0.05, betas: [0.8, 0.5]}", lr=0.05, betas=(0.8, 0.5), eps=1e-6),
    of_torch("RMSprop", "{lr: 0.01}", lr=0.01),
    of_torch("RMSprop", "{lr: 0.01, alpha: 0.8, eps: 0.001, weight_decay: 0.1, momentum: 0.9}",
             lr=0.01, alpha=0.8, eps=0.001, weight_decay=0.1, momentum=0.9),
    of_torch("RMSprop", "{lr: 0.01, alpha: 0.9, eps: 0.01, centered: true}",
             lr=0.01, alpha=0.9, eps=0.01, centered=True),
    of_torch("RMSprop", "{lr: 0.01, alpha: 0.9, eps: 0.01, centered: true, momentum: 0.5}",
             lr=0.01, alpha=0.9, eps=0.01, centered=True, momentum=0.5),
    of_torch("Rprop", "{lr: 0.05}", lr=0.05),
    of_torch("Rprop", "{lr: 0.05, etas: [0.3, 1.5], step_sizes: [0.02, 0.1]}",
             lr=0.05, etas=(0.3, 1.5), step_sizes=(0.02, 0.1)),
    of_torch("Adafactor", "{lr: 0.1}", MATRIX, lr=0.1),
    of_formula("Adafactor", "{lr: 0.1}", adafactor(0.1, (1e-30, 1e-3))),
    of_formula("Adafactor", "{lr: 0.1, eps: [0.01, 2.0], clip_threshold: 0.8, decay_rate: -0.5, "
               "beta1: 0.6, weight_decay: 0.2}",
               adafactor(0.1, (0.01, 2.0), 0.8, -0.5, 0.6, 0.2), MATRIX),
    of_formula("Adafactor", "{lr: 0.1, scale_parameter: false, beta1: 0.9}",
               adafactor(0.1, (1e-30, 1e-3), b1=0.9, scale=False)),
    of_formula("SM3", "{}", sm3(0.1, 0.0, 0.0, 1e-30), MATRIX),
    of_formula("SM3", "{lr: 0.05, momentum: 0.8, beta: 0.7, eps: 0.01}", sm3(0.05, 0.8, 0.7, 0.01),
               MATRIX),
    of_formula("SM3", "{lr: 0.05, momentum: 0.8}", sm3(0.05, 0.8, 0.0, 1e-30)),
    of_torch("SGD", "{lr: 0.1, momentum: 0.9, dampening: 0.3, dampen_first_step: false, "
             "maximize: true}", lr=0.1, momentum=0.9, dampening=0.3, maximize=True),
    of_torch("Adam", "{lr: 0.05, eps: 0.01, eps_added_to: corrected, weight_decay: 0.2, "
             "decoupled_weight_decay: true, maximize: true}", lr=0.05, eps=0.01, weight_decay=0.2,
             decoupled_weight_decay=True, maximize=True),
    of_torch("Adam", "{lr: 0.05, eps: 0.01, eps_added_to: corrected, weight_decay: 0.2, "
             "maximize: true}", lr=0.05, eps=0.01, weight_decay=0.2, maximize=True),
    of_torch("AdamW", "{lr: 0.05, eps: 0.01, eps_added_to: corrected, weight_decay: 0.2, "
             "maximize: true}", lr=0.05, eps=0.01, weight_decay=0.2, maximize=True),
    of_torch("NAdam", "{lr: 0.05, eps: 0.01, weight_decay: 0.1, decoupled_weight_decay: true, "
             "maximize: true}", lr=0.05, eps=0.01, weight_decay=0.1, decoupled_weight_decay=True,
             maximize=True),
    of_torch("RAdam", "{lr: 0.05, betas: [0.8, 0.9], eps: 0.01, weight_decay: 0.1, "
             "decoupled_weight_decay: true, maximize: true}", lr=0.05, betas=(0.8, 0.9), eps=0.01,
             weight_decay=0.1, decoupled_weight_decay=True, maximize=True),
    of_torch("RMSprop", "{lr: 0.01, eps: 0.01, weight_decay: 0.1, maximize: true}", lr=0.01,
             eps=0.01, weight_decay=0.1, maximize=True),
    of_torch("Rprop", "{lr: 0.05, maximize: true}", lr=0.05, maximize=True),
]


def torch_rates(base, make, count):
    optimizer = SGD([torch.zeros(1, requires_grad=True)], lr=base)
    schedule, rows = make(optimizer), []
    for _ in range(count):
        rows.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rows


S = torch.optim.lr_scheduler
RATES = 24


def linear(i, e, total, t):
    return e if t >= total else (i - e) * (1 - t / total) + e


def cosine(i, e, total, t):
    return e + (i - e) * 0.5 * (1 + math.cos(math.pi * min(t, total) / total))


ONE = "{initial_learning_rate: 0.2, end_learning_rate: 0.05, total_iters: 12}"
TWO = "{initial_learning_rate: 0.3, end_learning_rate: 0.01, total_iters: 24}"
END = "{initial_learning_rate: 0.3, end_learning_rate: 0.01, total_iters: 10}"
LIST = ("{schedulers: [{LinearLR: {initial_learning_rate: 0.0, end_learning_rate: 0.1, "
        "total_iters: 5}}, {CosineDecayLR: {initial_learning_rate: 0.1, end_learning_rate: 0.02, "
        "total_iters: 8}}, 0.02]}")
MILESTONES = ("{milestones: [4, 9], schedulers: [0.5, {LinearLR: {initial_learning_rate: 0.4, "
              "end_learning_rate: 0.1, total_iters: 3}}, 0.05]}")


def listed(t):
    return linear(0, 0.1, 5, t) if t < 5 else cosine(0.1, 0.02, 8, t - 5) if t < 13 else 0.02


def at_milestones(t):
    return 0.5 if t < 4 else linear(0.4, 0.1, 3, t - 4) if t < 9 else 0.05


STEPS_12 = [0, 1, 3, 6, 11, 12, 13, 23]
STEPS_24 = [0, 1, 4, 8, 12, 17, 22, 23]
SCHEDULES = [  # schedule, settings, (step, rate)s, source
    ("LinearLR", ONE, STEPS_12,
     torch_rates(0.2, lambda o: S.LinearLR(o, start_factor=1.0, end_factor=0.25, total_iters=12),
                 RATES), "torch"),
    ("CosineDecayLR", TWO, STEPS_24,
     torch_rates(0.3, lambda o: S.CosineAnnealingLR(o, T_max=24, eta_min=0.01), RATES), "torch"),
    ("CosineDecayLR", END, [0, 1, 3, 5, 9, 10, 11, 23],
     [cosine(0.3, 0.01, 10, t) for t in range(RATES)], "formula"),
    ("SequentialLR", LIST, [0, 4, 5, 6, 9, 12, 13, 23], list(map(listed, range(RATES))), "formula"),
    ("SequentialLR", MILESTONES, [0, 3, 4, 5, 7, 8, 9, 23], list(map(at_milestones, range(RATES))),
     "formula"),
]


def wanted(name):
    return len(sys.argv) < 2 or sys.argv[1] == name


def print_sample(name, settings, source, field, rows, matrix=False):
    print(f"    /* {name} */")
    print(f"    {{ .settings = \"{settings}\",{' .matrix = true,' if matrix else ''}")
    print(f"      .source = \"{source}\",\n      .{field} = {{")
    for row in rows:
        print("          { " + ", ".join(repr(round(x, 9)) for x in row) + " },")
    print("      } },")


def main():
    for name, settings, rows, source, *matrix in CASES:
        if wanted(name):
            source = f"torch.optim.{name} in float64" if source == "torch" else "the formula in float64"
            print_sample(name, settings, source, "parameters", [rows[k] for k in (0, 1, 3, 7)],
                         bool(matrix))
    for name, settings, steps, rates, source in SCHEDULES:
        if wanted(name):
            source = "torch.optim.lr_scheduler" if source == "torch" else "the formula in float64"
            print_sample(name, settings, source, "points", [(t, rates[t]) for t in steps])


if __name__ == "__main__":
    main()
