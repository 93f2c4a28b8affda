"""Batches in the loop's body: tuples, lists and dictionaries of handles, which the step takes in
any form; what needs a value outside of the step is refused, and what the step would not see."""

import collections
import logging
import re
import unittest
import warnings

import torch
import torch.nn.functional as F

import cstorch
from programs import Case

torch.manual_seed(5)
X, Y = torch.randn(60, 16), torch.randint(0, 4, (60,))
Pair = collections.namedtuple("Pair", "inputs targets")


def collate(kind):
    """A collate_fn that makes batches of that kind."""

    def make(samples):
        x = torch.stack([s[0] for s in samples])
        y = torch.stack([s[1] for s in samples])
        return {
            "tuple": (x, y),
            "list": [x, y],
            "dictionary": {"x": x, "y": y},
            "named": Pair(x, y),
            "nested": {"in": [x, {"again": x}], "out": (y,)},
            "alone": x,
        }[kind]

    return make


def input_fn(kind, size, drop_last):
    data = torch.utils.data.TensorDataset(X, Y)
    return torch.utils.data.DataLoader(
        data, batch_size=size, collate_fn=collate(kind), drop_last=drop_last
    )


class Base(Case):
    def begin(self, kind="tuple", size=10, drop_last=False, **options):
        self.configure(seed=3, **options)
        torch.manual_seed(4)
        self.model = torch.nn.Linear(16, 4)
        cstorch.compile(self.model)
        self.optimizer = cstorch.optim.SGD(self.model.parameters(), lr=0.1)
        return cstorch.utils.data.DataLoader(input_fn, kind, size, drop_last)

    def train(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss

    def losses_of(self, data, function, call, steps=3):
        step = cstorch.trace(function)
        seen = []
        keep = cstorch.step_closure(lambda loss: seen.append(loss.item()))
        for batch in cstorch.utils.data.DataExecutor(data, num_steps=steps):
            keep(call(step, batch))
        return seen

    def expected(self, steps=3, size=10):
        """The losses of PyTorch's own loop."""
        torch.manual_seed(4)
        model = torch.nn.Linear(16, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        found = []
        for x, y in zip(X.split(size)[:steps], Y.split(size)):
            loss = F.cross_entropy(model(x), y)
            found.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return found

    def trains(self, kind, function, call):
        data = self.begin(kind)
        found = self.losses_of(data, function, call)
        torch.testing.assert_close(found, self.expected(), rtol=1e-5, atol=1e-6)

    def refused(self, body, pattern, steps=2, function=None):
        data = self.begin(validate_only=function is not None)
        step = cstorch.trace(function or self.train)
        with self.assertRaises(cstorch.TraceError) as raised:
            for batch in cstorch.utils.data.DataExecutor(data, num_steps=steps):
                body(step, batch)
        self.assertRegex(str(raised.exception), re.compile(pattern, re.DOTALL))
        self.assertRegex(str(raised.exception), r"^test_batches\.py:\d+ in ")


class Batches(Base):
    """What is given to the step, in each form."""

    def test_unpacked(self):
        def call(step, batch):
            x, y = batch
            return step(x, y)

        self.trains("tuple", self.train, call)

    def test_the_documents_loops(self):
        data = self.begin()
        step = cstorch.trace(lambda batch: self.train(*batch))
        seen = []
        keep = cstorch.step_closure(lambda loss: seen.append(loss.item()))
        executor = cstorch.utils.data.DataExecutor(data, num_steps=3)
        for i, (inputs, targets) in enumerate(executor):
            keep(step((inputs, targets)))
        torch.testing.assert_close(seen, self.expected(), rtol=1e-5, atol=1e-6)

    def test_by_index_and_keywords(self):
        self.trains("list", self.train, lambda step, batch: step(y=batch[1], x=batch[0]))

    def test_a_dictionary(self):
        def call(step, batch):
            self.assertIsInstance(batch, dict)
            self.assertEqual(list(batch), ["x", "y"])
            return step(**{key: value for key, value in batch.items()})

        self.trains("dictionary", self.train, call)

    def test_a_named_tuple(self):
        self.trains(
            "named",
            self.train,
            lambda step, batch: step(batch.inputs, y=batch._asdict()["targets"]),
        )

    def test_nested(self):
        def function(given):
            torch._assert(given["first"].shape == given["second"].shape, "one shape")
            return self.train(given["first"], given["labels"][0])

        def call(step, batch):
            first, inner = batch["in"]
            return step({"first": first, "second": inner["again"], "labels": [*batch["out"]]})

        self.trains("nested", function, call)

    def test_an_object_of_the_program(self):
        class Box:
            pass

        def call(step, batch):
            box = Box()
            box.x, box.y = batch
            return step(box)

        self.trains("tuple", lambda box: self.train(box.x, box.y), call)

    def test_a_part_alone(self):
        data = self.begin()

        def function(x):
            return self.model(x).square().mean()

        found = self.losses_of(data, function, lambda step, batch: step(batch[0]), steps=2)
        torch.manual_seed(4)
        model = torch.nn.Linear(16, 4)
        expected = [model(x).square().mean().item() for x in X.split(10)[:2]]
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)

    def test_a_batch_that_is_one_tensor(self):
        data = self.begin("alone")
        found = self.losses_of(
            data, lambda x: self.model(x).sum(), lambda step, batch: step(batch), steps=1
        )
        torch.manual_seed(4)
        self.assertAlmostEqual(found[0], torch.nn.Linear(16, 4)(X[:10]).sum().item(), places=4)

    def test_what_the_step_returns_of_a_batch(self):
        data = self.begin()
        step = cstorch.trace(lambda batch: (self.train(*batch), batch))
        seen = []
        keep = cstorch.step_closure(lambda values: seen.append(values[1]))
        for batch in cstorch.utils.data.DataExecutor(data, num_steps=2):
            keep(step(batch))
        torch.testing.assert_close(seen[1], (X[10:20], Y[10:20]))

    def test_form_and_the_last_smaller_batch(self):
        data = self.begin(size=16)
        step = cstorch.trace(self.train)
        seen = []
        for x, y in cstorch.utils.data.DataExecutor(data, num_steps=9):
            step(x, y)
            self.assertIsInstance(x, torch.Tensor)
            self.assertEqual((x.dim(), x.dtype, y.dtype, y.ndim), (2, torch.float32, Y.dtype, 1))
            self.assertEqual((x.shape[1], x.size(1), x.numel()), (16, 16, 16 * len(x)))
            seen.append(len(y))
        self.assertEqual(seen, [16, 16, 16, 12] * 2 + [16])

    def test_a_first_batch_of_unknown_size(self):
        data = self.begin(size=16)
        step = cstorch.trace(self.train)
        for x, y in cstorch.utils.data.DataExecutor(data, num_steps=3):
            step(x, y)
        with self.assertRaisesRegex(cstorch.TraceError, r"shape of input 0 is not known before"):
            for x, y in cstorch.utils.data.DataExecutor(data, num_steps=1):
                x.shape  # the fourth batch of training, or the first of an evaluation

    # ---- what is refused ----

    def test_values_outside_of_the_step(self):
        data = self.begin(validate_only=True)
        step = cstorch.trace(self.train)
        lines = {
            "add": lambda x: x + 1,
            "item": lambda x: x.item(),
            "__float__": float,
            "__bool__": lambda x: bool(x > 0) and None,
            "tolist": lambda x: x.tolist(),
            "numpy": lambda x: x.numpy(),
            "unbind": lambda x: [*x],
            "__getitem__": lambda x: x[0],
            "linear": self.model,
            "print": print,
            "text": lambda x: f"{x}",
            "to of": lambda x: x.to("cpu"),
        }
        for x, y in cstorch.utils.data.DataExecutor(data, num_steps=1):
            step(x, y)
            for said, line in lines.items():
                with self.subTest(said):
                    with self.assertRaises(cstorch.TraceError) as raised:
                        line(x)
                    text = str(raised.exception)
                    self.assertRegex(text, r"^test_batches\.py:\d+ in .*input 0")
                    self.assertRegex(text, "in the step|return it from|in the function")

    def test_other_parts_in_a_later_pass(self):
        state = []

        def body(step, batch):
            state.append(1)
            return step(*batch) if len(state) == 1 else step(*reversed(batch))

        self.refused(body, r"given \(x: input 1, y: input 0\), and \(x: input 0, y: input 1\) when")

    def test_a_batch_of_an_earlier_pass(self):
        kept = []

        def body(step, batch):
            kept.append(batch)
            step(kept[0][0], batch[1])

        self.refused(body, r"input 0 of another batch than that of this pass.*buffer of the model")

    def test_a_second_call_in_one_pass(self):
        def body(step, batch):
            step(*batch)
            step(*batch)

        self.refused(body, r"train was called a second time in one pass of the loop")

    def test_a_pass_without_a_step(self):
        state = []

        def body(step, batch):
            state.append(1)
            if len(state) == 1:
                step(*batch)

        self.refused(body, r"did not call the step in pass 2.*call it in each", steps=3)

    # ---- what is told ----

    def told(self, call, steps=3):
        data = self.begin()
        step = cstorch.trace(lambda x, y, more=None: self.train(x, y))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for number, batch in enumerate(
                cstorch.utils.data.DataExecutor(data, num_steps=steps)
            ):
                call(step, batch, number)
        return [str(w.message) for w in found if "step" in str(w.message)]

    def test_another_number_in_a_later_pass(self):
        said = self.told(lambda step, batch, number: step(*batch, more={"rate": [number]}))
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"given another `more\['rate'\]\[0\]` than when it was traced")

    def test_another_tensor_in_a_later_pass(self):
        said = self.told(lambda step, batch, number: step(*batch, torch.tensor(number)))
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"given another `more` than when it was traced")

    def test_the_same_tensor_and_number_again(self):
        self.assertEqual(
            self.told(lambda step, batch, number: step(*batch, [torch.tensor(2.0), 3, "a"])), []
        )


class Texts(Base):
    """Texts and values of traced tensors, in the step and in the loop's body."""

    def in_the_step(self, line, pattern):
        def function(x, y):
            loss = self.train(x, y)
            line(loss)
            return loss

        self.refused(lambda step, batch: step(*batch), pattern, function=function)

    def test_texts_in_the_step(self):
        allowed = r"print, or another text, of .*not allowed to read a tensor's contents outside of"
        for line in (print, str, lambda v: f"{v}", lambda v: f"{v:.2f}", lambda v: "%s" % v):
            with self.subTest(line):
                self.in_the_step(line, allowed + r" a step closure: write `@cstorch\.step_closure`")
                cstorch.finish()

    def test_values_in_the_step(self):
        not_known = r"\(.\): the value of a traced tensor .* is not known.*@cstorch\.step_closure"
        for line in (
            float,
            int,
            bool,
            lambda v: v.item(),
            lambda v: v.tolist(),
            lambda v: v.numpy(),
            lambda v: v if v > 1 else -v,
            lambda v: v.cpu(),
            round,
            lambda v: [1, 2][v.long()],
            lambda v: range(v.long()),
            lambda v: 1 in [v],
        ):
            with self.subTest(line):
                self.in_the_step(line, r"(not known|not possible|closure)")
                cstorch.finish()
        self.in_the_step(float, not_known.replace(r"\(.\)", r"float\(x\)"))

    def test_a_list_is_printed_and_told(self):
        said = self.warned(lambda loss: repr([loss]))
        self.assertRegex(said[0], r"^test_batches\.py:\d+ in <lambda>: the text of \[\] float32")

    def test_logging_is_told(self):
        said = self.warned(lambda loss: logging.getLogger("steps").error("loss %s", loss))
        self.assertRegex(said[0], r"^test_batches\.py:\d+ in <lambda>: the text of \[\] float32")

    def warned(self, line):
        data = self.begin(validate_only=True)

        def function(x, y):
            loss = self.train(x, y)
            line(loss)
            return loss

        step = cstorch.trace(function)
        logger = logging.getLogger("steps")
        logger.handlers, logger.propagate = [logging.StreamHandler(open("/dev/null", "w"))], False
        self.addCleanup(lambda: logger.handlers[0].stream.close())
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for batch in cstorch.utils.data.DataExecutor(data, num_steps=1):
                step(*batch)
        found = [str(w.message) for w in found if "closure" in str(w.message)]
        self.assertEqual(len(found), 1, found)
        return found

    def test_values_in_the_body(self):
        data = self.begin()
        step = cstorch.trace(self.train)
        for number, batch in enumerate(cstorch.utils.data.DataExecutor(data, num_steps=3)):
            loss = step(*batch)
            self.assertEqual((loss.shape, loss.dtype), (torch.Size([]), torch.float32))
            for line in (print, float, lambda v: v.item(), lambda v: v > 1, lambda v: v + 1):
                with self.assertRaisesRegex(
                    cstorch.TraceError, r"test_batches\.py:\d+ in .*outside of a step closure"
                ):
                    line(loss)
        # After the loop it is the value of the last step.
        self.assertAlmostEqual(float(loss), self.expected()[-1], places=5)
        self.assertRegex(str(loss), r"tensor\(")


if __name__ == "__main__":
    unittest.main()
