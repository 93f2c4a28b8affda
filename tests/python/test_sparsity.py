"""Sparsity of optimizers that a program writes, beside the engine's; and what is refused."""

import unittest
import warnings

import torch

import cstorch
from programs import Case, loader

torch.manual_seed(4)
X, Y = torch.randn(96, 12), torch.randn(96, 8)


class OwnMomentum(cstorch.optim.Optimizer):
    """SGD with a momentum, and a sum of gradients that is not sparse."""

    sparse = ["momentum_buffer"]

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    def preinitialize(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["momentum_buffer"] = torch.zeros_like(p)
                self.state[p]["dense"] = torch.zeros_like(p)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["momentum_buffer"].mul_(0.9).add_(p.grad)
                self.state[p]["dense"].add_(1.0)
                p.sub_(group["lr"] * self.state[p]["momentum_buffer"])

    def state_names_to_sparsify(self):
        return self.sparse


class Sparsity(Case):
    def train(self, make, apply, steps=8, scaler=None, **settings):
        cstorch.finish()
        self.configure(no_run_store=True, seed=7, **settings)
        torch.manual_seed(9)
        model = torch.nn.Linear(12, 8)
        cstorch.compile(model)
        optimizer = make(model.parameters())
        scaler = scaler and scaler()
        apply(model, optimizer)

        @cstorch.trace
        def step(batch):
            loss = torch.nn.functional.mse_loss(model(batch[0]), batch[1])
            cstorch.amp.optimizer_step(loss, optimizer, scaler)
            return loss

        self.run_step(step, loader(X, Y), steps)
        return model, optimizer

    def both(self, settings, **options):
        """The weights by the engine's optimizer and by the program's, and that one."""

        def apply(model, optimizer):
            cstorch.sparse.configure(settings).apply(optimizer)

        engines, _ = self.train(
            lambda p: cstorch.optim.SGD(p, lr=0.05, momentum=0.9), apply, **options
        )
        own, optimizer = self.train(lambda p: OwnMomentum(p, 0.05), apply, **options)
        return engines, own, optimizer

    def test_each_algorithm_is_that_of_the_engines_optimizer(self):
        update = {"freq": 2, "stop": 7}
        for settings in (
            {"algorithm": "static", "sparsity": 0.5},
            {"algorithm": "gmp", "schedule": {"type": "cubic", "final": 0.8}, "update": update},
            {"algorithm": "set", "sparsity": 0.7, "update": update},
            {"algorithm": "rigl", "sparsity": 0.7, "update": update},
        ):
            with self.subTest(**settings):
                engines, own, optimizer = self.both(settings)
                torch.testing.assert_close(own.weight, engines.weight, rtol=1e-6, atol=1e-7)
                out = own.weight == 0
                self.assertGreaterEqual(int(out.sum()), 48)
                state = optimizer.state[own.weight]
                self.assertTrue(bool((state["momentum_buffer"][out] == 0).all()))
                self.assertTrue(bool((state["dense"] == 8).all()))

    def test_with_a_gradient_scaler(self):
        def scaler():
            return cstorch.amp.GradScaler("dynamic", init_scale=1024.0)

        engines, own, _ = self.both(
            {"algorithm": "set", "sparsity": 0.7, "update": {"freq": 2}}, scaler=scaler
        )
        torch.testing.assert_close(own.weight, engines.weight, rtol=1e-5, atol=1e-6)

    def test_of_a_module(self):
        for apply in (
            lambda model, optimizer: cstorch.sparse.Static(0.5).apply(model),
            lambda model, optimizer: (lambda s: (s.apply(model), s.apply(optimizer)))(
                cstorch.sparse.Static(0.5)
            ),
        ):
            for make in (
                lambda p: OwnMomentum(p, 0.05),
                lambda p: cstorch.optim.SGD(p, lr=0.05, momentum=0.9),
            ):
                model, _ = self.train(make, apply)
                self.assertEqual(int((model.weight == 0).sum()), 48)

    def test_a_filter_that_is_a_function(self):
        def apply(model, optimizer):
            chosen = cstorch.sparse.Static(0.5, param_filter=lambda name, p: name == "bias")
            chosen.apply(optimizer)

        model, _ = self.train(lambda p: OwnMomentum(p, 0.05), apply)
        self.assertEqual((int((model.bias == 0).sum()), int((model.weight == 0).sum())), (4, 0))

    def test_a_list_of_groups(self):
        def apply(model, optimizer):
            cstorch.sparse.configure(
                [{"param_filter": "bias", "sparsity": 0.25}, {"sparsity": 0.75}]
            ).apply(optimizer)

        model, _ = self.train(lambda p: OwnMomentum(p, 0.05), apply)
        self.assertEqual((int((model.bias == 0).sum()), int((model.weight == 0).sum())), (2, 72))

    def test_what_is_refused_at_the_call(self):
        algorithm = cstorch.sparse.SparsityAlgorithm
        for name, wrong in {
            "algorithm": ("magnitude", 3),
            "sparsity": (1.0, 1.5, -0.1, "half", {"init": 0.1}),
            "init_method": ("best", 1),
            "param_filter": (3, []),
            "drop_fraction": (2, "x"),
            "update": (5, {"every": 3}),
        }.items():
            for value in wrong:
                with self.subTest(name, value=value), self.assertRaises(
                    (TypeError, ValueError)
                ) as told:
                    algorithm(**{"sparsity": 0.5, name: value})
                self.assertIn(f"sparsity: {name} is {value!r}; accepted: ", str(told.exception))
        with self.assertRaisesRegex(TypeError, "no argument 'sparse'; accepted: algorithm, spars"):
            cstorch.sparse.Static(sparse=0.5)
        with self.assertRaisesRegex(ValueError, "mean the same"):
            cstorch.sparse.GMP(0.5, schedule=0.5)
        with self.assertRaisesRegex(TypeError, "apply.. was given int; accepted"):
            cstorch.sparse.Static(0.5).apply(3)
        with self.assertRaisesRegex(TypeError, "settings is 'half'; accepted"):
            cstorch.sparse.configure("half")

    def test_what_the_run_refuses(self):
        def several(model, optimizer):
            cstorch.sparse.Static(0.5).apply(optimizer)
            cstorch.sparse.Static(0.6).apply(optimizer)

        def wrong_state(model, optimizer):
            optimizer.sparse = ["momentum"]
            cstorch.sparse.Static(0.5).apply(optimizer)

        def text(model, optimizer):
            optimizer.sparse = "momentum_buffer"
            cstorch.sparse.Static(0.5).apply(optimizer)

        def none(model, optimizer):
            cstorch.sparse.Static(0.5, param_filter="fc.*").apply(optimizer)

        def no_update(model, optimizer):
            cstorch.sparse.GMP(schedule={"type": "cubic", "final": 2}).apply(optimizer)

        for make in (lambda p: OwnMomentum(p, 0.1), lambda p: cstorch.optim.SGD(p, lr=0.1)):
            for apply, words in (
                (several, "has one already|has a sparsity"),
                (none, "param_filter matches none of the optimizer's parameters.*weight, bias"),
                (no_update, "sparsity: .*final: .2. is out of range; accepted"),
            ):
                with self.subTest(words), self.assertRaisesRegex(Exception, words):
                    self.train(make, apply)
        for apply in (wrong_state, text):
            words = "gave '.*'; accepted: a list of names of its states, which are: dense, momentum"
            with self.assertRaisesRegex(cstorch.TraceError, words):
                self.train(lambda p: OwnMomentum(p, 0.1), apply)

    def test_a_part_of_the_model_and_no_optimizer(self):
        self.configure(no_run_store=True)
        model = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Linear(8, 8))
        cstorch.compile(model)
        optimizer = OwnMomentum(model.parameters(), 0.1)
        cstorch.sparse.Static(0.5).apply(model[0])
        with self.assertRaisesRegex(ValueError, "give it the whole model.*param_filter"):
            optimizer.state_dict()["state"]
            cstorch.save({}, self.folder + "/x.mdl")
        cstorch.finish()
        self.configure(no_run_store=True)
        cstorch.sparse.Static(0.5).apply(cstorch.compile(torch.nn.Linear(3, 3)))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            cstorch.save({}, self.folder + "/x.mdl")
        self.assertIn("a sparsity has no effect", "".join(str(w.message) for w in told))


if __name__ == "__main__":
    unittest.main()
