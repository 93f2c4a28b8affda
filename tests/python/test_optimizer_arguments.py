"""Each argument of each optimizer that convert() takes: the trajectory is PyTorch's with a changed
value, or the argument is refused by its name. A new argument of a PyTorch to come has no row here,
and fails."""

import inspect
import unittest

import torch

import cstorch
from cstorch.optim.torch_rules import SHARED as CONVERTED
from programs import Case, loader

STEPS = 9
torch.manual_seed(3)
X = torch.randn(8 * STEPS, 5)
Y = torch.randn(8 * STEPS, 3)

# A value for each argument that differs from every default, and what it needs beside it.
CHANGED = {
    "lr": (0.03, {}),
    "momentum": (0.7, {}),
    "dampening": (0.4, {"momentum": 0.8}),
    "weight_decay": (0.2, {}),
    "nesterov": (True, {"momentum": 0.8}),
    "maximize": (True, {"weight_decay": 0.1}),
    "betas": ((0.7, 0.85), {}),
    "eps": (1e-2, {"betas": (0.7, 0.85)}),  # with which RAdam uses it in few steps
    "amsgrad": (True, {"betas": (0.5, 0.3)}),
    "decoupled_weight_decay": (True, {"weight_decay": 0.2}),
    "rho": (0.6, {}),
    "lr_decay": (0.3, {}),
    "initial_accumulator_value": (0.5, {}),
    "lambd": (0.2, {}),
    "alpha": (0.5, {"lr": 0.3, "lambd": 0.5}),
    "t0": (2, {}),
    "momentum_decay": (0.3, {}),
    "centered": (True, {"eps": 1e-2}),
    "etas": ((0.3, 1.4), {}),
    "step_sizes": ((1e-3, 0.02), {}),
    "foreach": (True, {}),
    "fused": (True, {}),
    "capturable": (False, {}),
    "differentiable": (False, {}),
}
EXTRA = [
    ("SGD", {"lr": torch.tensor(0.02), "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("Adam", {"lr": torch.tensor(0.03), "betas": (0.8, 0.9), "weight_decay": 0.1}),
    ("AdamW", {"lr": torch.tensor(0.03), "weight_decay": 0.5}),
    ("RMSprop", {"lr": 0.01, "alpha": 0.9, "momentum": 0.5, "centered": True, "eps": 1e-2}),
]


def cases():
    """(class, its arguments) with one argument changed, and some with several."""
    for kind in CONVERTED:
        yield kind, {}
        for name in inspect.signature(kind).parameters:
            if name != "params":
                value, beside = CHANGED[name]
                accepted = inspect.signature(kind).parameters
                yield kind, {**{n: v for n, v in beside.items() if n in accepted}, name: value}
    for name, arguments in EXTRA:
        yield getattr(torch.optim, name), arguments


def model_of(number):
    torch.manual_seed(number)
    return torch.nn.Linear(5, 3)


def groups_of(model):
    """Two groups, the second with a learning rate of its own."""
    return [{"params": [model.weight]}, {"params": [model.bias], "lr": 0.007}]


def trained_by_torch(number, kind, arguments):
    model = model_of(number)
    optimizer = kind(groups_of(model), **arguments)
    for step in range(STEPS):
        optimizer.zero_grad()
        x, y = X[8 * step : 8 * step + 8], Y[8 * step : 8 * step + 8]
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return model


class Arguments(Case):
    def test_each_argument_is_used(self):
        self.configure()
        rows = list(cases())
        models = [model_of(i) for i in range(len(rows))]
        optimizers = []
        for model, (kind, arguments) in zip(models, rows):
            cstorch.compile(model)
            optimizers.append(cstorch.optim.convert(kind(groups_of(model), **arguments)))

        @cstorch.trace
        def step(batch):
            x, y = batch
            total = 0
            for model in models:
                total = total + torch.nn.functional.mse_loss(model(x), y)
            total.backward()
            for optimizer in optimizers:
                optimizer.step()
            return total

        self.run_step(step, loader(X, Y), STEPS)
        for number, (model, (kind, arguments)) in enumerate(zip(models, rows)):
            with self.subTest(kind=kind.__name__, **{k: str(v) for k, v in arguments.items()}):
                wanted = trained_by_torch(number, kind, arguments)
                for name, value in wanted.named_parameters():
                    torch.testing.assert_close(
                        dict(model.named_parameters())[name], value, rtol=2e-4, atol=2e-5
                    )

    def test_default_arguments_are_torchs(self):
        self.configure()
        kinds = [*CONVERTED, "SGD with dampening"]
        models = [model_of(i) for i in range(len(kinds))]
        optimizers, wanted = [], []
        for number, (model, kind) in enumerate(zip(models, kinds)):
            cstorch.compile(model)
            beside = {} if isinstance(kind, type) else {"momentum": 0.8, "dampening": 0.4}
            kind = kind if isinstance(kind, type) else torch.optim.SGD
            made = cstorch.optim.configure_optimizer(kind.__name__, groups_of(model), **beside)
            optimizers.append(made)
            wanted.append(trained_by_torch(number, kind, beside))

        @cstorch.trace
        def step(batch):
            x, y = batch
            total = sum(torch.nn.functional.mse_loss(model(x), y) for model in models)
            total.backward()
            for optimizer in optimizers:
                optimizer.step()
            return total

        self.run_step(step, loader(X, Y), STEPS)
        for kind, model, twin in zip(kinds, models, wanted):
            for name, value in twin.named_parameters():
                with self.subTest(kind=str(kind), parameter=name):
                    torch.testing.assert_close(
                        dict(model.named_parameters())[name], value, rtol=2e-5, atol=2e-6
                    )

    def test_each_value_changes_the_trajectory(self):
        # t0 is of ASGD's average alone.
        same = {"foreach", "fused", "capturable", "differentiable", "t0"}
        for kind in CONVERTED:
            for name, (value, beside) in CHANGED.items():
                accepted = inspect.signature(kind).parameters
                if name not in accepted or name in same:
                    continue
                beside = {n: v for n, v in beside.items() if n in accepted}
                one = trained_by_torch(1, kind, beside)
                other = trained_by_torch(1, kind, {**beside, name: value})
                with self.subTest(kind=kind.__name__, argument=name):
                    self.assertFalse(torch.allclose(one.weight, other.weight, 1e-4, 1e-5))

    def refused(self, pattern, make):
        with self.assertRaisesRegex((ValueError, TypeError), pattern):
            cstorch.optim.convert(make(torch.nn.Linear(2, 2).parameters()))

    def test_what_has_no_counterpart(self):
        self.refused("differentiable=True", lambda p: torch.optim.Adam(p, differentiable=True))
        self.refused("torch.optim.lbfgs.LBFGS", torch.optim.LBFGS)

        class Adam(torch.optim.Adam):
            pass

        self.refused("no counterpart of .*Adam", Adam)

    def test_what_would_be_lost(self):
        def stepped(parameters):
            made = torch.optim.SGD(parameters, momentum=0.9)
            for parameter in made.param_groups[0]["params"]:
                parameter.grad = torch.ones_like(parameter)
            made.step()
            return made

        def scheduled(parameters):
            made = torch.optim.SGD(parameters)
            torch.optim.lr_scheduler.StepLR(made, 2)
            return made

        def hooked(parameters):
            made = torch.optim.SGD(parameters)
            made.register_step_post_hook(lambda *_: None)
            return made

        self.refused("has made steps", stepped)
        self.refused("has a schedule of torch", scheduled)
        self.refused("has hooks of its step", hooked)

    def test_classes_refuse_what_they_do_not_have(self):
        for kind, arguments, word in (
            (cstorch.optim.Lion, {"maximize": True}, "no argument 'maximize'; accepted: lr, betas"),
            (cstorch.optim.Adam, {"differentiable": True}, "no argument 'differentiable'; accepted"),
            (cstorch.optim.SGD, {"lr": torch.ones(2)}, "lr is tensor.*; accepted: a number"),
        ):
            with self.subTest(kind=kind.__name__), self.assertRaisesRegex(TypeError, word):
                kind(torch.nn.Linear(5, 3).parameters(), **{"lr": 0.1, **arguments})

    def test_a_learning_rate_that_no_schedule_is(self):
        with self.assertRaisesRegex(ValueError, "adjust_learning_rate"):
            cstorch.optim.configure_lr_scheduler(None, 0.1, {"embedding": 0.5})


if __name__ == "__main__":
    unittest.main()
