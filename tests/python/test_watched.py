"""What only closures read and write is no business of the step's, and no word is said about it;
what the step reads is told when it changes, beside them."""

import collections
import unittest
import warnings

import numpy
import torch
import torch.nn.functional as F

import cstorch
from programs import Case, loader

torch.manual_seed(6)
X, Y = torch.randn(64, 16), torch.randint(0, 4, (64,))
out, counts, sums, history, shared = [], collections.Counter(), numpy.zeros(2), {}, []
total = loss = mean = scale = 0


class Meter:
    """State of the program, of which the step reads a part."""

    def __init__(self):
        self.loss = self.factor = 1.0


meter = Meter()


class Own(cstorch.optim.Optimizer):
    """An optimizer of the program, whose groups have keys of its own."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr, "scale": 1.0})

    def preinitialize(self):
        pass

    def state_names_to_sparsify(self):
        return []

    def rate(self, group):
        return group["lr"] * group.get("scale", 1.0)

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad * self.rate(group))


@cstorch.step_closure
def keep(value):
    global total, mean
    total += value.item()
    mean += 1
    out.append(value.item())
    counts["steps"] += 1
    sums[0] += value.item()
    history[len(history)] = value.item()
    meter.loss = value.item()


def through(value):
    keep(value)


class Watched(Case):
    def begin(self, groups=None):
        self.configure(seed=3)
        self.model = torch.nn.Linear(16, 4)
        cstorch.compile(self.model)
        self.optimizer = Own(groups(self.model) if groups else self.model.parameters(), lr=0.1)
        return loader(X, Y)

    def train(self, batch):
        loss = F.cross_entropy(self.model(batch[0]), batch[1])
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss

    def said(self, function, between=None, groups=None):
        data = self.begin(groups)
        step = cstorch.trace(function)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for batch in cstorch.utils.data.DataExecutor(data, num_steps=3):
                step(batch)
                if between is not None:
                    between()
        return [str(w.message) for w in found if "step" in str(w.message)]

    # ---- nothing is said ----

    def test_a_closure_that_the_step_calls(self):
        del out[:]

        def step(batch):
            keep(self.train(batch))

        self.assertEqual(self.said(step), [])
        self.assertEqual((len(out), counts["steps"] > 2, mean > 2), (3, True, True))

    def test_a_closure_behind_a_function(self):
        def step(batch):
            through(self.train(batch))

        self.assertEqual(self.said(step), [])

    def test_a_closure_inside_of_the_step(self):
        seen = []

        def step(batch):
            @cstorch.step_closure
            def show(value):
                seen.append(value.item())

            show(self.train(batch))

        self.assertEqual(self.said(step), [])
        self.assertEqual(len(seen), 3)

    def test_names_that_are_attributes(self):
        def step(batch):
            made = Meter()
            made.loss = self.train(batch)
            keep(made.loss.mean())

        def between():
            global loss
            loss += 1

        self.assertEqual(self.said(step, between), [])

    def test_what_is_handed_to_a_closure(self):
        seen, nested = [], {"of": []}

        @cstorch.step_closure
        def show(value, where, more):
            where.append(value.item())
            more["inner"]["of"].append(more["value"].item())
            shared.append(1)

        def step(batch):
            loss = self.train(batch)
            show(loss, seen, {"inner": nested, "value": loss})
            show(loss, where=shared, more={"inner": nested, "value": loss})

        self.assertEqual(self.said(step), [])
        self.assertEqual((len(seen), len(nested["of"])), (3, 6))

    def test_keys_of_groups_that_the_optimizer_does_not_read(self):
        def groups(model):
            return [
                {"params": [model.weight], "tags": ["a"], "name": "w", "seen": 0},
                {"params": [model.bias], "tags": ["b"], "note": "n", "seen": 0},
            ]

        def between():
            for group in self.optimizer.param_groups:
                group["seen"] += 1
                group["note"] = str(group["seen"])

        self.assertEqual(self.said(self.train, between, groups), [])

    # ---- beside it, what the step reads ----

    def told(self, function, pattern, between, groups=None):
        found = self.said(function, between, groups)
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0], pattern)

    def test_what_the_step_reads_of_it(self):
        def step(batch):
            keep(self.train(batch) * meter.factor)

        def between():
            meter.factor *= 0.5

        self.told(step, r"`meter\.factor`, which has changed", between)

    def test_a_name_that_is_handed_on_and_read(self):
        seen = []

        @cstorch.step_closure
        def show(value, where):
            where.append(value.item())

        def step(batch):
            show(self.train(batch) * (1 + len(seen)), seen)

        self.told(step, r"`seen`, which has changed", None)

    def test_names_in_comprehensions_and_helpers(self):
        def factor():
            return sum([scale for _ in range(2)])

        def step(batch):
            return self.train(batch) * factor()

        def between():
            global scale
            scale += 1

        self.told(step, r"`scale`, which has changed", between)

    def test_keys_that_the_optimizer_reads_in_a_method(self):
        def between():
            self.optimizer.param_groups[0]["scale"] = 0.5

        self.told(self.train, r"Own\.param_groups\[0\]\['scale'\]", between)

    def test_attributes_of_self_in_a_method(self):
        case = self

        class Trainer:
            factor = 1.0

            def step(self, batch):
                return case.train(batch) * self.factor

        trainer = Trainer()
        trainer.factor = 2.0

        def between():
            trainer.factor *= 0.5

        self.told(trainer.step, r"`self\.factor`, which has changed", between)


if __name__ == "__main__":
    unittest.main()
