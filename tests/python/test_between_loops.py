"""What a program changes between two executions, and what one execution leaves to the next."""

import copy

import torch

import cstorch
from programs import Case, loader

X = torch.randn(16, 3, generator=torch.Generator().manual_seed(1))


class Counting(cstorch.optim.Optimizer):
    """A program's optimizer that writes its states as numbers of Python are written."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1}, enable_global_step=True)

    def preinitialize(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"] = torch.zeros_like(p)

    def state_names_to_sparsify(self):
        return []

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                self.increment_global_step(p)
                self.state[p]["sum"] += p.grad
                self.state[p]["step"] = self.state[p]["step"] + 1
                p.sub_(self.state[p]["sum"] * group["lr"])


class BetweenLoops(Case):
    def begin(self, make, module=None):
        self.configure(no_run_store=True)
        self.model = module or torch.nn.Linear(3, 2)
        self.first = copy.deepcopy(self.model)
        cstorch.compile(self.model)
        self.optimizer = make(self.model.parameters())

        @cstorch.trace
        def train(batch):
            loss = self.model(batch[0]).square().mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            return loss

        self.train = train

    def steps(self, count=1):
        self.run_step(self.train, loader(X, batch_size=16), count, checkpoint_steps=1)

    def twin_step(self, optimizer):
        optimizer.zero_grad()
        self.first(X).square().mean().backward()
        optimizer.step()

    def same_weights(self):
        for found, wanted in zip(self.model.parameters(), self.first.parameters()):
            torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)

    def test_a_rate_of_a_group_holds_from_the_next_loop_on(self):
        for name in ("lr", "weight_decay"):
            with self.subTest(name):
                self.begin(lambda p: cstorch.optim.SGD(p, lr=0.1, weight_decay=0.1))
                twin = torch.optim.SGD(self.first.parameters(), lr=0.1, weight_decay=0.1)
                for value in (0.1, 0.01, 0.0, 0.1):
                    for optimizer in (self.optimizer, twin):
                        optimizer.param_groups[0][name] = value
                    self.steps()
                    self.twin_step(twin)
                    self.same_weights()
                cstorch.finish()

    def test_another_setting_of_a_group_is_refused(self):
        self.begin(lambda p: cstorch.optim.SGD(p, lr=0.1, momentum=0.5))
        self.steps()
        before = copy.deepcopy(self.model.state_dict())
        self.optimizer.param_groups[0]["momentum"] = 0.9
        with self.assertRaisesRegex(cstorch.TraceError, "'momentum'. is 0.9, and was 0.5"):
            self.steps()
        self.assertEqual(str(self.model.state_dict()), str(before))
        self.optimizer.param_groups[0]["momentum"] = 0.5
        self.steps()

    def test_states_that_an_optimizer_gives_other_tensors(self):
        self.begin(Counting)
        self.steps(3)
        sums = {n: torch.zeros_like(p) for n, p in self.first.named_parameters()}
        for _ in range(3):
            self.first.zero_grad()
            self.first(X).square().mean().backward()
            with torch.no_grad():
                for name, p in self.first.named_parameters():
                    sums[name] += p.grad
                    p.sub_(sums[name] * 0.1)
        self.same_weights()
        for name, values in self.optimizer.state_dict()["state"].items():
            torch.testing.assert_close(values["sum"], sums[name], rtol=1e-5, atol=1e-6)
            self.assertEqual(values["step"].item(), 6)

    def test_an_evaluation_keeps_the_states_that_it_assigns(self):
        """Running means, in the mode of training; also behind a training."""
        module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        self.begin(lambda p: cstorch.optim.SGD(p, lr=0.1), module)
        twin = torch.optim.SGD(self.first.parameters(), lr=0.1)

        @cstorch.trace
        def evaluate(batch):
            return self.model(batch[0]).square().mean()

        for _ in range(2):
            self.steps()
            self.twin_step(twin)
            self.run_step(evaluate, loader(X, batch_size=16), 2)
            with torch.no_grad():
                self.first(X), self.first(X)
            self.assertEqual(self.model[1].num_batches_tracked, self.first[1].num_batches_tracked)
            for name in ("running_mean", "running_var"):
                found, wanted = getattr(self.model[1], name), getattr(self.first[1], name)
                torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)

    def test_states_that_a_later_training_has_not_keep_their_values(self):
        """Those of a frozen parameter, and running means in the mode of evaluation."""
        module = torch.nn.Sequential(
            torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 2)
        )
        self.begin(lambda p: cstorch.optim.SGD(p, lr=0.1, momentum=0.5), module)
        twin = torch.optim.SGD(self.first.parameters(), lr=0.1, momentum=0.5)
        for trains, mode in ((True, True), (False, False), (False, False), (True, True)):
            for model in (self.model, self.first):
                model.train(mode)
                model[0].requires_grad_(trains)
            self.steps()
            self.twin_step(twin)
            self.same_weights()
            for found, wanted in zip(self.model.buffers(), self.first.buffers()):
                torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
            slots = self.optimizer.state_dict()["state"]["0.weight"]["momentum_buffer"]
            wanted = twin.state[self.first[0].weight]["momentum_buffer"]
            torch.testing.assert_close(slots, wanted, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    import unittest

    unittest.main()
