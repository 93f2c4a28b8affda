"""Optimizers, schedules, metrics and algorithms that a program writes: a counter of steps beside
PyTorch, saved and loaded, and what a class must define."""

import os
import unittest

import torch

import cstorch
from programs import Case, loader

torch.manual_seed(4)
X, Y = torch.randn(96, 5), torch.randn(96, 3)


class Debiased(cstorch.optim.Optimizer):
    """A momentum whose bias the number of steps corrects."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr}, enable_global_step=True)

    def preinitialize(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["mean"] = torch.zeros_like(p)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                count = self.increment_global_step(p)
                self.state[p]["mean"] *= 0.9
                self.state[p]["mean"] += 0.1 * p.grad
                p.sub_(group["lr"] * self.state[p]["mean"] / (1 - 0.9**count))

    def state_names_to_sparsify(self):
        return ["mean"]


def by_torch(model, steps, lr=0.05):
    """The same in PyTorch."""
    means = {p: torch.zeros_like(p) for p in model.parameters()}
    for step in range(steps):
        at = step * 8 % 96
        model.zero_grad()
        torch.nn.functional.mse_loss(model(X[at : at + 8]), Y[at : at + 8]).backward()
        with torch.no_grad():
            for p, mean in means.items():
                mean.mul_(0.9).add_(0.1 * p.grad)
                p.sub_(lr * mean / (1 - 0.9 ** (step + 1)))
    return model, means


def made(kind=torch.nn.Linear):
    torch.manual_seed(9)
    return kind(5, 3)


class Counters(Case):
    def train(self, steps, before=None, scaler=None):
        self.configure(no_run_store=True)
        model = made()
        cstorch.compile(model)
        optimizer = Debiased(model.parameters(), 0.05)
        if before is not None:
            before(model, optimizer)

        @cstorch.trace
        def step(batch):
            loss = torch.nn.functional.mse_loss(model(batch[0]), batch[1])
            cstorch.amp.optimizer_step(loss, optimizer, scaler and scaler())
            return loss

        self.run_step(step, loader(X, Y), steps, checkpoint_steps=steps)
        return model, optimizer

    def check(self, model, optimizer, steps):
        twin, means = by_torch(made(), steps)
        for p, q in zip(model.parameters(), twin.parameters()):
            torch.testing.assert_close(p, q, rtol=2e-5, atol=2e-6)
            torch.testing.assert_close(optimizer.state[p]["mean"], means[q], rtol=2e-5, atol=2e-6)
            self.assertEqual(float(optimizer.state[p]["step"]), steps)

    def test_a_counter_beside_pytorch(self):
        self.check(*self.train(10), 10)

    def test_saved_and_loaded(self):
        path = os.path.join(self.folder, "saved.mdl")
        model, optimizer = self.train(4)
        cstorch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
        cstorch.finish()

        def load(model, optimizer):
            saved = cstorch.load(path)
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            self.assertEqual([float(s["step"]) for s in optimizer.state.values()], [4.0, 4.0])

        self.check(*self.train(6, load), 10)

    def test_what_is_loaded_must_be_whole(self):
        self.configure()
        model = made()
        cstorch.compile(model)
        optimizer = Debiased(model.parameters(), 0.05)
        saved = {k: v for k, v in dict(optimizer.state_dict()).items()}
        state = {name: dict(values) for name, values in saved["state"].items()}
        for wrong, words in (
            ({"bias": state["bias"]}, "it lacks weight"),
            ({**state, "other": state["bias"]}, "nothing here is other"),
            ({**state, "bias": {**state["bias"], "mean": torch.zeros(2)}}, "has shape .2., not .3"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                optimizer.load_state_dict({**saved, "state": wrong})
        with self.assertRaisesRegex(ValueError, "2 groups were saved, and there are 1"):
            optimizer.load_state_dict({**saved, "param_groups": [{}, {}]})
        optimizer.load_state_dict({**saved, "param_groups": [{"lr": 0.25}]})
        self.assertEqual(optimizer.param_groups[0]["lr"], 0.25)

    def test_a_counter_that_was_not_asked_for(self):
        class Without(Debiased):
            def __init__(self, params):
                cstorch.optim.Optimizer.__init__(self, params, {"lr": 0.1})

        model = made()
        optimizer = Without(model.parameters())
        with self.assertRaisesRegex(RuntimeError, "give .* enable_global_step=True"):
            optimizer.increment_global_step(model.weight)
        with self.assertRaisesRegex(ValueError, "is no parameter of the optimizer"):
            Debiased(model.parameters(), 0.1).increment_global_step(torch.ones(2))

    def test_a_later_group_has_states(self):
        model = made()
        optimizer = Debiased([model.weight], 0.1)
        optimizer.state[model.weight]["mean"].fill_(2.0)
        optimizer.add_param_group({"params": [model.bias]})
        self.assertEqual(sorted(optimizer.state[model.bias]), ["mean", "step"])
        self.assertEqual(float(optimizer.state[model.weight]["mean"].max()), 2.0)

    def step_with(self, change):
        """The optimizer after one step, in which `change` gives the state its value."""

        class Replaces(Debiased):
            @torch.no_grad()
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    self.state[p]["mean"] = change(self.state[p]["mean"], p.grad)

        self.configure(no_run_store=True)
        model = made()
        cstorch.compile(model)
        optimizer = Replaces(model.parameters(), 0.1)

        @cstorch.trace
        def step(batch):
            model(batch[0]).sum().backward()
            optimizer.step()

        self.run_step(step, loader(X, Y))
        return optimizer.state[model.weight]["mean"]

    def test_what_the_step_puts_in_a_states_place_is_its_value(self):
        mean = self.step_with(lambda mean, gradient: mean + gradient)
        self.assertGreater(float(mean.abs().max()), 0)

    def test_a_state_that_is_replaced_by_what_was_not_computed(self):
        with self.assertRaisesRegex(cstorch.TraceError, "mean was replaced in the step"):
            self.step_with(lambda mean, gradient: torch.ones(3))


def without(kind, *names):
    """The class without these methods."""
    kept = {n: v for n, v in vars(kind).items() if n not in names and not n.startswith("__dict")}
    return type("Own", kind.__bases__, {**kept, "__module__": __name__})


class Schedule(cstorch.optim.lr_scheduler.LRScheduler):
    def _get_closed_form_lr(self):
        return 0.1 / (self.last_epoch + 1.0)


class Decay(cstorch.optim.weight_decay_scheduler.WeightDecayScheduler):
    def _get_closed_form_wd(self):
        return 0.1 / (self.last_epoch + 1.0)


class Mean(cstorch.metrics.Metric):
    def init_state(self):
        self.register_state("total", torch.zeros(()))

    def update(self, value):
        self.total.add_(value)

    def compute(self):
        return self.total


class Required(Case):
    def test_optimizers(self):
        model = made()

        class Complete(cstorch.optim.Optimizer):
            def __init__(self, params):
                cstorch.optim.Optimizer.__init__(self, params, {"lr": 0.1})

            preinitialize, step = Debiased.preinitialize, Debiased.step
            state_names_to_sparsify = Debiased.state_names_to_sparsify

        Complete(model.parameters())
        for name in ("preinitialize", "step", "state_names_to_sparsify"):
            words = rf"Own has no method {name}\(\), which a subclass of Optimizer must define"
            with self.subTest(name), self.assertRaisesRegex(TypeError, words):
                without(Complete, name)(model.parameters())
        with self.assertRaisesRegex(TypeError, "Optimizer is a base class"):
            cstorch.optim.Optimizer(model.parameters(), {"lr": 0.1})
        with self.assertRaisesRegex(TypeError, "has no rule: take one of Adadelta"):
            cstorch.optim.AdamBase(model.parameters())
        for wrong, words in (
            ((model.parameters(), 0.1), "defaults is 0.1; accepted: a dictionary"),
            ((model.parameters(), {}, 1), "enable_global_step is 1; accepted: True or False"),
        ):
            with self.assertRaisesRegex((TypeError, ValueError), words):
                cstorch.optim.Optimizer.__init__(Complete.__new__(Complete), *wrong)

    def test_schedules(self):
        optimizer = cstorch.optim.SGD(made().parameters(), lr=0.1)
        for kind, name in ((Schedule, "_get_closed_form_lr"), (Decay, "_get_closed_form_wd")):
            kind(optimizer)
            with self.assertRaisesRegex(TypeError, rf"Own has no method {name}\(\)"):
                without(kind, name)(optimizer)
        with self.assertRaisesRegex(TypeError, "optimizer is 'SGD'; accepted: an optimizer of"):
            Schedule("SGD")
        with self.assertRaisesRegex(ValueError, "total_iters is 0; accepted"):
            Schedule(optimizer, total_iters=0)

    def test_metrics(self):
        Mean("mean")
        for name in ("update", "compute"):
            with self.assertRaisesRegex(TypeError, rf"Own has no method {name}\(\), which a subcl"):
                without(Mean, name, "init_state")("other")

    def test_algorithms(self):
        with self.assertRaisesRegex(TypeError, "algorithms of your own are not offered; accepted"):

            class Own(cstorch.sparse.SparsityAlgorithm):
                def update_mask(self, parameter, mask, sparsity):
                    return mask


if __name__ == "__main__":
    unittest.main()
