"""Prints the samples of engine/nn/schedules as they stand in the plugins' files: learning rates at eight
steps.

Where PyTorch has the same schedule its own class computes the values (in float64), else they come from
the formula in the head of the plugin's file, written here a second time. optimizers.py has those of
LinearLR, CosineDecayLR and SequentialLR. Run: python3 schedules.py [NAME], then clang-format."""
import math
import sys

import torch

S = torch.optim.lr_scheduler


def torch_rates(base, make, count):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=base)
    schedule, rows = make(optimizer), []
    for _ in range(count):
        rows.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rows


def by_torch(base, steps, make):
    rates = torch_rates(base, make, max(steps) + 1)
    return [(t, rates[t]) for t in steps]


def by_formula(steps, rate):
    return [(t, rate(t)) for t in steps]


def polynomial(i, e, total, power, t):
    return (i - e) * (1 - min(t, total) / total)**power + e


def cyclic_polynomial(i, e, total, power, t):
    return (i - e) * (1 - t / (total * (t // total + 1)))**power + e


def inverse_time(i, exponent, total, rate, staircase, t):
    quotient = t**exponent / total
    return i / (1 + rate * (math.floor(quotient) if staircase else quotient))


def chained(t):
    return polynomial(0.4, 0.1, 10, 1, t) * 0.9**t * (0.5 if t >= 6 else 1.0)


def long_cosine(t):
    return 0.02 + (0.4 - 0.02) * (1 + math.cos(math.pi * (t % 14) / 7)) / 2


SHORT = [0, 1, 3, 5, 7, 10, 14, 23]
LAMBDAS = [lambda t: t / 30, lambda t: 0.95**t]
SAMPLES = [  # schedule, settings, points, source: None for the formula
    ("PolynomialLR", "{initial_learning_rate: 0.4, end_learning_rate: 0.0, total_iters: 12, power: 2.5}",
     by_torch(0.4, SHORT, lambda o: S.PolynomialLR(o, total_iters=12, power=2.5)), "PolynomialLR"),
    ("PolynomialLR", "{initial_learning_rate: 0.4, end_learning_rate: 0.1, total_iters: 12}",
     by_formula(SHORT, lambda t: polynomial(0.4, 0.1, 12, 1, t)), None),
    ("PolynomialLR",
     "{initial_learning_rate: 0.4, end_learning_rate: 0.1, total_iters: 5, power: 2, cycle: true}",
     by_formula(SHORT, lambda t: cyclic_polynomial(0.4, 0.1, 5, 2, t)), None),
    ("LinearLR",
     "{initial_learning_rate: 0.4, end_learning_rate: 0.1, total_iters: 5, cycle: true}",
     by_formula(SHORT, lambda t: cyclic_polynomial(0.4, 0.1, 5, 1, t)), None),
    ("ExponentialLR", "{initial_learning_rate: 0.4, total_iters: 1, decay_rate: 0.9}",
     by_torch(0.4, SHORT, lambda o: S.ExponentialLR(o, gamma=0.9)), "ExponentialLR"),
    ("ExponentialLR", "{initial_learning_rate: 0.4, total_iters: 6, decay_rate: 0.5}",
     by_formula(SHORT, lambda t: 0.4 * 0.5**(t / 6)), None),
    ("ExponentialLR",
     "{initial_learning_rate: 0.4, total_iters: 5, decay_rate: 0.5, staircase: true}",
     by_formula(SHORT, lambda t: 0.4 * 0.5**(t // 5)), None),
    ("InverseExponentialTimeDecayLR",
     "{initial_learning_rate: 0.4, step_exponent: 1.5, total_iters: 10, decay_rate: 0.7}",
     by_formula(SHORT, lambda t: inverse_time(0.4, 1.5, 10, 0.7, False, t)), None),
    ("InverseExponentialTimeDecayLR",
     "{initial_learning_rate: 0.4, step_exponent: 2, total_iters: 8, decay_rate: 0.1, "
     "staircase: true}",
     by_formula(SHORT, lambda t: inverse_time(0.4, 2, 8, 0.1, True, t)), None),
    ("InverseSquareRootDecayLR", "{initial_learning_rate: 0.5, scale: 0.8, warmup_steps: 5}",
     by_formula(SHORT, lambda t: 0.5 * 0.8 / math.sqrt(max(t, 5))), None),
    ("InverseSquareRootDecayLR", "{scale: 0.4}",
     by_formula([0, 1, 2, 4, 9, 100, 10000, 1000000], lambda t: 0.4 / math.sqrt(max(t, 1))), None),
    ("PiecewiseConstantLR", "{learning_rates: [0.5, 0.25, 0.0], milestones: [3, 10]}",
     by_formula([0, 2, 3, 4, 9, 10, 11, 23], lambda t: 0.5 if t < 3 else 0.25 if t < 10 else 0.0), None),
    ("MultiStepLR", "{initial_learning_rate: 0.4, gamma: 0.3, milestones: [3, 7, 8]}",
     by_torch(0.4, [0, 2, 3, 6, 7, 8, 9, 23],
              lambda o: S.MultiStepLR(o, milestones=[3, 7, 8], gamma=0.3)), "MultiStepLR"),
    ("StepLR", "{initial_learning_rate: 0.4, step_size: 5, gamma: 0.6}",
     by_torch(0.4, [0, 4, 5, 9, 10, 14, 15, 23],
              lambda o: S.StepLR(o, step_size=5, gamma=0.6)), "StepLR"),
    ("CosineAnnealingLR", "{initial_learning_rate: 0.4, T_max: 7, eta_min: 0.02}",
     by_torch(0.4, [0, 1, 3, 6, 7, 8, 14, 23],
              lambda o: S.CosineAnnealingLR(o, T_max=7, eta_min=0.02)), "CosineAnnealingLR"),
    ("CosineAnnealingLR", "{initial_learning_rate: 0.4, T_max: 7, eta_min: 0.02}",
     by_formula([1000, 20001, 300002, 4000003, 50000004, 600000005, 2000000006, 2147483640],
                long_cosine), None),
    ("CosineAnnealingWarmRestarts", "{initial_learning_rate: 0.4, T_0: 6, eta_min: 0.02}",
     by_torch(0.4, [0, 1, 5, 6, 8, 12, 17, 23],
              lambda o: S.CosineAnnealingWarmRestarts(o, T_0=6, eta_min=0.02)),
     "CosineAnnealingWarmRestarts"),
    ("CosineAnnealingWarmRestarts", "{initial_learning_rate: 0.4, T_0: 3, T_mult: 2}",
     by_torch(0.4, [0, 2, 3, 8, 9, 14, 20, 21],
              lambda o: S.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2)),
     "CosineAnnealingWarmRestarts"),
    ("LambdaLR", "{initial_learning_rate: 0.4}",
     by_torch(0.4, SHORT,
              lambda o: S.LambdaLR(o, lambda t: math.prod(f(t) for f in LAMBDAS))), "LambdaLR"),
    ("MultiplicativeLR", "{initial_learning_rate: 0.4, coefficient: 0.95}",
     by_torch(0.4, SHORT, lambda o: S.MultiplicativeLR(o, lambda t: 0.95)), "MultiplicativeLR"),
    ("ChainedScheduler",
     "{schedulers: [{LinearLR: {initial_learning_rate: 0.4, end_learning_rate: 0.1, total_iters: "
     "10}}, {MultiplicativeLR: {initial_learning_rate: 0.2, coefficient: 0.9}}, "
     "{PiecewiseConstantLR: {learning_rates: [0.5, 0.25], milestones: [6]}}]}",
     by_formula([0, 1, 3, 5, 6, 10, 14, 23], chained), None),
    ("ChainedScheduler",
     "{schedulers: [{ExponentialLR: {initial_learning_rate: 0.4, total_iters: 1, decay_rate: 0.9}}, "
     "{StepLR: {initial_learning_rate: 0.1, step_size: 4, gamma: 0.5}}]}",
     by_torch(0.4, SHORT, lambda o: S.ChainedScheduler(
         [S.ExponentialLR(o, gamma=0.9), S.StepLR(o, step_size=4, gamma=0.5)])), "ChainedScheduler"),
    ("CyclicLR", "{base_lr: 0.1, max_lr: 0.4, step_size_up: 4}",
     by_torch(0.1, SHORT, lambda o: S.CyclicLR(
         o, 0.1, 0.4, step_size_up=4, cycle_momentum=False)), "CyclicLR"),
    ("CyclicLR", "{base_lr: 0.1, max_lr: 0.4, step_size_up: 3, step_size_down: 5, mode: triangular2}",
     by_torch(0.1, SHORT, lambda o: S.CyclicLR(
         o, 0.1, 0.4, step_size_up=3, step_size_down=5, mode="triangular2", cycle_momentum=False)),
     "CyclicLR"),
    ("CyclicLR", "{base_lr: 0.1, max_lr: 0.4, step_size_up: 4, mode: exp_range, gamma: 0.9}",
     by_torch(0.1, SHORT, lambda o: S.CyclicLR(
         o, 0.1, 0.4, step_size_up=4, mode="exp_range", gamma=0.9, cycle_momentum=False)), "CyclicLR"),
    ("CyclicLR",
     "{base_lr: 0.1, max_lr: 0.4, step_size_up: 4, mode: exp_range, gamma: 0.9, scale_mode: cycle}",
     by_torch(0.1, SHORT, lambda o: S.CyclicLR(
         o, 0.1, 0.4, step_size_up=4, scale_fn=lambda c: 0.9**c, scale_mode="cycle",
         cycle_momentum=False)), "CyclicLR"),
    ("OneCycleLR", "{initial_learning_rate: 0.02, max_lr: 0.5, total_steps: 24}",
     by_torch(0.02, [0, 1, 6, 7, 8, 15, 22, 23], lambda o: S.OneCycleLR(
         o, 0.5, total_steps=24, div_factor=25, cycle_momentum=False)), "OneCycleLR"),
    ("OneCycleLR", "{initial_learning_rate: 0.05, max_lr: 0.5, total_steps: 24, three_phase: true, "
     "final_div_factor: 10, anneal_strategy: linear}",
     by_torch(0.05, [0, 1, 6, 7, 8, 15, 22, 23], lambda o: S.OneCycleLR(
         o, 0.5, total_steps=24, div_factor=10, final_div_factor=10, three_phase=True,
         anneal_strategy="linear", cycle_momentum=False)), "OneCycleLR"),
]


def main():
    for name, settings, points, source in SAMPLES:
        if len(sys.argv) > 1 and sys.argv[1] != name:
            continue
        source = f"torch.optim.lr_scheduler.{source} in float64" if source else "the formula in float64"
        print(f"    /* {name} */")
        print(f"    {{ .settings = \"{settings}\",\n      .source = \"{source}\",\n      .points = {{")
        for t, rate in points:
            print(f"          {{ {t}, {round(rate, 9)!r} }},")
        print("      } },")


if __name__ == "__main__":
    main()
