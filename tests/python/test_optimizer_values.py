"""Each optimizer and schedule with each of its arguments, by place and by name; wrong ones are
refused where they are given; random trainings with random settings beside PyTorch."""

import inspect
import os
import random
import unittest

import torch

import cstorch
from cstorch.optim import lr_scheduler, weight_decay_scheduler
from cstorch.optim.builtin import SETTINGS
from cstorch.optim.torch_rules import SHARED
from programs import Case, loader

STEPS = 30
SEEDS = int(os.environ.get("CSE_OPTIMIZER_SEEDS", "1"))  # trainings of each class; by hand: more
torch.manual_seed(3)
X, Y = torch.randn(8 * STEPS, 5), torch.randn(8 * STEPS, 3)

FLAGS = (
    "amsgrad maximize nesterov centered decoupled_weight_decay dampen_first_step correct_bias "
    "scale_parameter adam"
).split()
# A value that each optimizer takes, and values that none does.
GOOD = {
    "lr": 0.1,
    "betas": (0.8, 0.9),
    "eps": 1e-4,
    "eps_added_to": "corrected",
    "moments": "bfloat16",
    "moments_rounding": "nearest",
    "etas": (0.4, 1.3),
    "step_sizes": (1e-5, 1.0),
    **dict.fromkeys(FLAGS, True),
    "relative_step": False,
    "warmup_init": False,
    "decay_rate": -0.7,
    "clip_threshold": 2.0,
    "t0": 5,
}
WRONG = {
    "lr": (-0.1, "fast", [0.1], float("nan"), True),
    "betas": (0.9, (0.9,), (0.9, 1.0), (-0.1, 0.9), "ab", (0.9, "x")),
    "eps": (-1e-8, "small"),
    "eps_added_to": ("both", 1),
    "moments": ("int4", 8),
    "moments_rounding": ("up", 1),
    "etas": (0.5, (0.5,), ("a", "b")),
    "step_sizes": (0.5, (-1, 2)),
    **dict.fromkeys((*FLAGS, "relative_step", "warmup_init"), ("yes", 2)),
}
SCHEDULE_GOOD = {
    "milestones": [2, 4],
    "learning_rates": [0.1, 0.2, 0.3],
    "vals": [0.1, 0.2, 0.3],
    "cycle": True,
    "staircase": True,
    "three_phase": True,
    "mode": "triangular2",
    "scale_mode": "cycle",
    "anneal_strategy": "linear",
    "warmup_steps": 2,
    **dict.fromkeys(
        "total_iters step_size T_max T_0 T_mult step_size_up step_size_down total_steps".split(), 5
    ),
}
STEPS_OF = "total_iters step_size T_max T_0 T_mult step_size_up step_size_down total_steps".split()
SCHEDULE_WRONG = {
    **dict.fromkeys(STEPS_OF, (0, -1, 1.5, "x")),
    "milestones": (3, ["x"], [-1]),
    "learning_rates": (0.1, [], ["x"], [-0.1]),
    "vals": (0.1, [], ["x"]),
    **dict.fromkeys(("cycle", "staircase", "three_phase"), ("yes", 1)),
}


def model_of(number):
    torch.manual_seed(number)
    return torch.nn.Linear(5, 3)


class Values(Case):
    def refuse(self, name, value, call):
        words = f": {name} is {value!r}; accepted: "
        with self.assertRaises((TypeError, ValueError)) as told:
            call()
        self.assertIn(words, str(told.exception))

    def test_optimizers_by_place_and_by_name(self):
        for kind, names in SETTINGS.items():
            make, names = getattr(cstorch.optim, kind), ["lr", *names.split()]
            parameters = list(inspect.signature(make.__init__).parameters)
            self.assertEqual(parameters, ["self", "params", *names])
            good = {name: GOOD.get(name, 0.3) for name in names}
            if kind == "Adafactor":
                good["eps"] = (1e-30, 1e-3)
            by_name = make(model_of(0).parameters(), **good)
            by_place = make(model_of(0).parameters(), *good.values())
            for name, value in good.items():
                for made in (by_name, by_place):
                    self.assertEqual(made.param_groups[0][name], value, (kind, name))
            for name in names:
                for value in WRONG.get(name, (-1.0 if name != "decay_rate" else 1.0, "x", True)):
                    with self.subTest(kind, name=name, value=value):
                        p = model_of(0).parameters
                        self.refuse(name, value, lambda: make(p(), **{name: value}))
                        groups = [{"params": p(), name: value}]
                        self.refuse(name, value, lambda: make(groups, 0.1))
            with self.assertRaisesRegex(TypeError, f"{kind}.. has no argument 'lrr'; did you mean"):
                make(model_of(0).parameters(), lrr=1)
            with self.assertRaisesRegex(TypeError, "twice, by its place and by its name"):
                make(model_of(0).parameters(), 0.1, good[names[1]], **{names[1]: good[names[1]]})
            with self.assertRaisesRegex(TypeError, "takes at most"):
                make(model_of(0).parameters(), *good.values(), 1)

    def test_the_order_is_torchs(self):
        for kind, shared in SHARED.items():
            names = [
                n
                for n, p in inspect.signature(kind).parameters.items()
                if p.kind is p.POSITIONAL_OR_KEYWORD and n in shared.split()
            ]
            self.assertEqual(["lr", *SETTINGS[kind.__name__].split()][: len(names)], names)

    def test_schedules_by_place_and_by_name(self):
        for module, names in (
            (lr_scheduler, lr_scheduler.__all__[1:]),
            (weight_decay_scheduler, weight_decay_scheduler.__all__[1:]),
        ):
            for name in names:
                make = getattr(module, name)
                arguments = list(inspect.signature(make.__init__).parameters)[2:-2]
                part = getattr(module, "ConstantLR", None) or module.ConstantWD
                good = {a: SCHEDULE_GOOD.get(a, 0.5) for a in arguments}
                for one in {"schedulers", "scheduler"} & set(good):
                    made = [part(None, 0.1, 2), part(None, 0.2, 2), part(None, 0.3, 2)]
                    good[one] = made if one == "schedulers" else made[0]
                by_name, by_place = make(None, **good), make(None, *good.values())
                self.assertEqual(by_name.engine_settings, by_place.engine_settings)
                for argument in arguments:
                    if argument in ("schedulers", "scheduler", "mode", "scale_mode") or (
                        argument == "anneal_strategy"
                    ):
                        continue
                    for value in SCHEDULE_WRONG.get(argument, (-1.0, "x", [1])):
                        with self.subTest(name, argument=argument, value=value):
                            call = {**good, argument: value}
                            self.refuse(argument, value, lambda: make(None, **call))
                with self.assertRaisesRegex(TypeError, f"{name}.. has no argument 'warm'"):
                    make(None, warm=3)


def number(low, high):
    return lambda random: random.uniform(low, high)


def flag(random):
    return random.random() < 0.5


# What is drawn for each argument; lr by class.
DRAWN = {
    "momentum": number(0.0, 0.9),
    "dampening": number(0.0, 0.9),
    "weight_decay": number(0.0, 0.1),
    "nesterov": flag,
    "maximize": lambda random: False,
    "betas": lambda random: (random.uniform(0.5, 0.95), random.uniform(0.6, 0.999)),
    "eps": number(1e-6, 1e-3),
    "amsgrad": flag,
    "decoupled_weight_decay": flag,
    "rho": number(0.3, 0.95),
    "lr_decay": number(0.0, 0.1),
    "initial_accumulator_value": number(0.0, 0.5),
    "lambd": number(0.0, 0.01),
    "alpha": number(0.5, 0.99),
    "t0": lambda random: random.randint(1, 40),
    "momentum_decay": number(0.0, 0.01),
    "centered": flag,
    "etas": lambda random: (random.uniform(0.3, 0.8), random.uniform(1.05, 1.4)),
    "step_sizes": lambda random: (1e-5, random.uniform(0.01, 0.1)),
}


def drawn(kind, seed):
    """Settings of a class, and those of a second group."""
    source = random.Random(f"{kind.__name__} {seed}")
    names = [n for n in SHARED[kind].split() if n != "lr"]
    settings = {name: DRAWN[name](source) for name in names if source.random() < 0.7}
    settings["lr"] = 10 ** source.uniform(-3.0, -1.3) * (20 if kind.__name__ == "Adadelta" else 1)
    if settings.get("nesterov"):
        settings["momentum"], settings["dampening"] = source.uniform(0.1, 0.9), 0.0
    if settings.get("centered"):
        settings["eps"] = 1e-2
    second = {"lr": settings["lr"] * source.uniform(0.2, 2.0)}
    if "weight_decay" in names:
        second["weight_decay"] = source.uniform(0.0, 0.1)
    # The learning rates of a schedule that both groups have, or none.
    scheduled = source.random() < 0.3
    return settings, second, (settings["lr"], settings["lr"] / 5) if scheduled else None


def by_torch(kind, number, settings, second, schedule):
    model = model_of(number)
    groups = [{"params": [model.weight]}, {"params": [model.bias], **second}]
    optimizer = kind(groups, **settings)
    for step in range(STEPS):
        if schedule is not None:
            for group in optimizer.param_groups:
                rate = schedule[0] + (schedule[1] - schedule[0]) * min(step / 20, 1)
                group["lr"] = rate
        x, y = X[8 * step : 8 * step + 8], Y[8 * step : 8 * step + 8]
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return model


class Random(Case):
    def test_trainings_are_pytorchs(self):
        self.configure(no_run_store=True)
        rows = [(kind, *drawn(kind, seed)) for kind in SHARED for seed in range(SEEDS)]
        models = [model_of(i) for i in range(len(rows))]
        optimizers = []
        for model, (kind, settings, second, schedule) in zip(models, rows):
            cstorch.compile(model)
            groups = [{"params": [model.weight]}, {"params": [model.bias], **second}]
            optimizers.append(getattr(cstorch.optim, kind.__name__)(groups, **settings))
            if schedule is not None:
                lr_scheduler.LinearLR(optimizers[-1], *schedule, 20)

        @cstorch.trace
        def step(batch):
            total = sum(torch.nn.functional.mse_loss(model(batch[0]), batch[1]) for model in models)
            total.backward()
            for optimizer in optimizers:
                optimizer.step()
            return total

        self.run_step(step, loader(X, Y), STEPS)
        for number, (model, (kind, *row)) in enumerate(zip(models, rows)):
            twin = by_torch(kind, number, *row)
            for name, value in twin.named_parameters():
                with self.subTest(kind.__name__, row=row, parameter=name):
                    found = dict(model.named_parameters())[name]
                    torch.testing.assert_close(found, value, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    unittest.main()
