"""Writes optimizers.h: parameters after each step of small optimizations, learning rates, and states
of the gradient scaler.

Where PyTorch has the same semantics its own classes compute the values (in float64); where the engine
differs on purpose (eps of Adam, dampening of SGD's first step) they come from the documented formula,
in float64 too. Run: python3 optimizers.py > optimizers.h"""
import math

import torch

STEPS, SIZE = 8, 4
START = [0.5, -1.0, 2.0, 0.25]
GRADIENTS = [[round(math.sin(1.7 * t + i + 0.4) * (0.3 + 0.4 * i), 4) for i in range(SIZE)]
             for t in range(STEPS)]


def run_torch(make):
    w = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    optimizer = make([w])
    rows = []
    for gradient in GRADIENTS:
        w.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
        rows.append(w.detach().tolist())
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


def run_clipped(max_norm):
    w = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    rows = []
    for gradient in GRADIENTS:
        w.grad = torch.tensor(gradient, dtype=torch.float64)
        torch.nn.utils.clip_grad_norm_([w], max_norm)
        with torch.no_grad():
            w -= 0.1 * w.grad
        rows.append(w.detach().tolist())
    return rows


SGD, ADAM, ADAMW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
CASES = [  # name, optimizer, settings, clip norm, values, source
    ("sgd", "SGD", "{lr: 0.1}", 0, run_torch(lambda p: SGD(p, lr=0.1)), "torch"),
    ("sgd_momentum", "SGD", "{learning_rate: 0.1, momentum: 0.9}", 0,
     run_torch(lambda p: SGD(p, lr=0.1, momentum=0.9)), "torch"),
    ("sgd_nesterov_decay", "SGD", "{lr: 0.05, momentum: 0.8, nesterov: true, weight_decay: 0.1}", 0,
     run_torch(lambda p: SGD(p, lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.1)), "torch"),
    ("sgd_maximize", "SGD", "{lr: 0.1, maximize: true}", 0,
     run_torch(lambda p: SGD(p, lr=0.1, maximize=True)), "torch"),
    ("sgd_dampening", "SGD", "{lr: 0.1, momentum: 0.9, dampening: 0.3}", 0,
     run_sgd(0.1, 0.9, 0.3), "formula"),
    ("sgd_clipped", "SGD", "{lr: 0.1}", 0.7, run_clipped(0.7), "torch"),
    ("adam_no_eps", "Adam", "{lr: 0.01, eps: 0.0}", 0,
     run_torch(lambda p: ADAM(p, lr=0.01, eps=0.0)), "torch"),
    ("adam_decay_amsgrad_no_eps", "Adam",
     "{lr: 0.02, betas: [0.8, 0.99], eps: 0.0, weight_decay: 0.1, amsgrad: true}", 0,
     run_torch(lambda p: ADAM(p, lr=0.02, betas=(0.8, 0.99), eps=0.0, weight_decay=0.1,
                              amsgrad=True)), "torch"),
    ("adam_eps", "Adam", "{eps: 0.01}", 0, run_adam(1e-3, 0.9, 0.999, 0.01), "formula"),
    ("adamw_decay_no_eps", "AdamW", "{lr: 0.02, eps: 0.0, weight_decay: 0.2}", 0,
     run_torch(lambda p: ADAMW(p, lr=0.02, eps=0.0, weight_decay=0.2)), "torch"),
    ("adamw_uncorrected", "AdamW", "{lr: 0.02, weight_decay: 0.2, correct_bias: false}", 0,
     run_adam(0.02, 0.9, 0.999, 1e-6, 0.2, True, False), "formula"),
    ("adamw_default_eps", "AdamW", "{lr: 0.02, betas: [0.9, 0.98]}", 0,
     run_adam(0.02, 0.9, 0.98, 1e-6, 0.0, True), "formula"),
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


SCHEDULES = [
    ("constant", "0.125", [0.125] * RATES),
    ("linear", "{scheduler: LinearLR, initial_learning_rate: 0.2, end_learning_rate: 0.05, "
     "total_iters: 12}",
     torch_rates(0.2, lambda o: S.LinearLR(o, start_factor=1.0, end_factor=0.25, total_iters=12),
                 RATES)),
    ("cosine", "{CosineDecayLR: {initial_learning_rate: 0.3, end_learning_rate: 0.01, "
     "total_iters: 24}}",
     torch_rates(0.3, lambda o: S.CosineAnnealingLR(o, T_max=24, eta_min=0.01), RATES)),
    ("cosine_ends", "{CosineDecayLR: {initial_learning_rate: 0.3, end_learning_rate: 0.01, "
     "total_iters: 10}}", [cosine(0.3, 0.01, 10, t) for t in range(RATES)]),
    ("list", "[{LinearLR: {initial_learning_rate: 0.0, end_learning_rate: 0.1, total_iters: 5}}, "
     "{CosineDecayLR: {initial_learning_rate: 0.1, end_learning_rate: 0.02, total_iters: 8}}, 0.02]",
     [linear(0, 0.1, 5, t) if t < 5 else cosine(0.1, 0.02, 8, t - 5) if t < 13 else 0.02
      for t in range(RATES)]),
    ("milestones", "{scheduler: SequentialLR, milestones: [4, 9], schedulers: [0.5, {LinearLR: "
     "{initial_learning_rate: 0.4, end_learning_rate: 0.1, total_iters: 3}}, {scheduler: ConstantLR, "
     "learning_rate: 0.05}]}",
     [0.5 if t < 4 else linear(0.4, 0.1, 3, t - 4) if t < 9 else 0.05 for t in range(RATES)]),
]

SCALER_STEPS = 16
FINITE = [1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1]


def scaler(tolerance, per_increase, start, least, most):
    scale, steps, overflows, skipped, rows = start, 0, 0, 0, []
    for finite in FINITE:
        steps, overflows, skipped = steps + 1, overflows + (not finite), skipped + (not finite)
        if overflows / steps > tolerance:
            scale, steps, overflows = scale / 2, 0, 0
        if steps > per_increase:
            scale, steps, overflows = scale * 2, 0, 0
        scale = max(min(scale, most), least)
        rows.append([scale, steps, overflows, skipped])
    return rows


SCALERS = [
    ("dynamic", "{loss_scale: dynamic, init_scale: 1024, steps_per_increase: 3, "
     "max_loss_scale: 4096}", scaler(0.0, 3, 1024, 2**-14, 4096)),
    ("tolerant", "{loss_scale: dynamic, init_scale: 64, steps_per_increase: 6, "
     "overflow_tolerance: 0.3}", scaler(0.3, 6, 64, 2**-14, 32768)),
]


def print_rows(rows):
    for row in rows:
        print("        { " + ", ".join(repr(float(x)) for x in row) + " },")


print("/* Written by optimizers.py: do not edit. */")
print("#ifndef CSE_TESTS_REFERENCE_OPTIMIZERS_H\n#define CSE_TESTS_REFERENCE_OPTIMIZERS_H\n")
print(f"enum {{ REFERENCE_STEPS = {STEPS}, REFERENCE_SIZE = {SIZE}, REFERENCE_RATES = {RATES}, "
      f"SCALER_STEPS = {SCALER_STEPS} }};\n")
print("static const double reference_start[REFERENCE_SIZE] = { "
      + ", ".join(map(repr, START)) + " };")
print("static const double reference_gradients[REFERENCE_STEPS][REFERENCE_SIZE] = {")
for row in GRADIENTS:
    print("    { " + ", ".join(map(repr, row)) + " },")
print("};\n")
print("static const struct {\n    const char *name, *optimizer, *settings;\n    double max_norm;\n"
      "    double parameters[REFERENCE_STEPS][REFERENCE_SIZE];\n} reference_optimizers[] = {")
for name, optimizer, settings, norm, rows, source in CASES:
    print(f"    /* {source} */")
    print(f"    {{ \"{name}\", \"{optimizer}\",\n      \"{settings}\", {float(norm)!r},\n      {{")
    print_rows(rows)
    print("      } },")
print("};\n")
print("static const struct {\n    const char *name, *settings;\n    double rates[REFERENCE_RATES];\n"
      "} reference_schedules[] = {")
for name, settings, rates in SCHEDULES:
    parts = "\n".join(f"      \"{settings[k:k + 70]}\"" for k in range(0, len(settings), 70))
    print(f"    {{ \"{name}\",\n{parts},\n      {{")
    for k in range(0, RATES, 4):
        print("          " + " ".join(repr(float(x)) + "," for x in rates[k:k + 4]))
    print("      } },")
print("};\n")
print("static const bool scaler_finite[SCALER_STEPS] = { " + ", ".join(map(str, FINITE)) + " };")
print("/* loss_scale, steps_since_rescale, overflows_since_rescale, num_skipped_steps */")
print("static const struct {\n    const char *name, *settings;\n"
      "    double states[SCALER_STEPS][4];\n} reference_scalers[] = {")
for name, settings, rows in SCALERS:
    parts = "\n".join(f"      \"{settings[k:k + 70]}\"" for k in range(0, len(settings), 70))
    print(f"    {{ \"{name}\",\n{parts},\n      {{")
    print_rows(rows)
    print("      } },")
print("};\n\n#endif")
