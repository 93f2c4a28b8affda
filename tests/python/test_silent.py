"""What PyTorch's programs do in and around a step that a trace alone would get wrong in silence:
parts without gradients, buffers that are assigned, what is changed between two steps. Each has
PyTorch's result, or is told."""

import datetime
import os
import random
import re
import secrets
import sys
import time
import unittest
import uuid
import warnings

import numpy
import torch
import torch.nn.functional as F

import cstorch
from programs import Case, loader

torch.manual_seed(2)
X, Y = torch.randn(64, 16), torch.randint(0, 4, (64,))
ones = torch.ones(16)
total = torch.zeros(())
weights = torch.ones(4)
generator = numpy.random.default_rng(0)
DRAWN = r"of a tensor that is a constant of the step would be drawn once.*torch\.rand"

# (what the line is, the line, what the message says)
LINES = [
    ("normal", lambda x, y, m: x * torch.empty(16).normal_(), "normal_ " + DRAWN),
    ("uniform", lambda x, y, m: x * torch.empty(16).uniform_(), "uniform_ " + DRAWN),
    ("bernoulli", lambda x, y, m: x * torch.bernoulli(ones / 2), "bernoulli " + DRAWN),
    ("of_moments", lambda x, y, m: x + torch.normal(0.0, 1.0, (16,)), "normal " + DRAWN),
    ("rand_like", lambda x, y, m: x * torch.rand_like(ones), "rand_like " + DRAWN),
    ("multinomial", lambda x, y, m: x[:, torch.multinomial(ones, 4)], "multinomial " + DRAWN),
    ("dropout", lambda x, y, m: x * F.dropout(ones), "dropout " + DRAWN),
    (
        "tensor",
        lambda x, y, m: torch.tensor([x.sum(), y.sum()]),
        r"torch\.tensor of tensors of the step, whose values are not known: use torch\.stack",
    ),
    (
        "scaler",
        lambda x, y, m: torch.amp.GradScaler("cpu").scale(x.sum()),
        r"torch\.amp\.GradScaler keeps its scale in Python: use cstorch\.amp\.GradScaler",
    ),
]


class Base(Case):
    def begin(self, model=None, **options):
        self.configure(seed=3, **options)
        torch.manual_seed(4)
        self.model = model or torch.nn.Linear(16, 4)
        cstorch.compile(self.model)
        self.optimizer = cstorch.optim.SGD(self.model.parameters(), lr=0.1)
        return loader(X, Y, batch_size=8)

    def train(self, batch):
        loss = F.cross_entropy(self.model(batch[0]), batch[1])
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss


class Refused(Base):
    def refuse(self, body, pattern, **options):
        data = self.begin(validate_only=True, **options)

        @cstorch.trace
        def step(batch):
            body(*batch, self.model)
            return self.train(batch)

        with self.assertRaises(RuntimeError) as raised:
            self.run_step(step, data)
        self.assertRegex(str(raised.exception), re.compile(pattern, re.DOTALL))
        self.assertRegex(str(raised.exception), r"test_silent\.py:\d+ in ")

    def test_a_step_before_its_gradients(self):
        self.refuse(
            lambda x, y, m: self.optimizer.step(),
            r"SGD\.step\(\) changes nothing, since no parameter has a gradient.*backward",
        )

    def test_a_schedule_of_torch(self):
        data = self.begin(validate_only=True)
        torch.optim.lr_scheduler.StepLR(self.optimizer, 1)
        with self.assertRaisesRegex(RuntimeError, r"SGD has a schedule of torch\.optim.*cstorch"):
            self.run_step(cstorch.trace(self.train), data)

    def test_a_group_that_comes_late(self):
        data = self.begin(validate_only=True)
        self.run_step(cstorch.trace(self.train), data)
        with self.assertRaisesRegex(RuntimeError, "add_param_group: the optimizer has been in"):
            self.optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))]})

    def test_a_buffer_of_another_shape(self):
        class Growing(torch.nn.Linear):
            def forward(self, x):
                self.seen = torch.cat([x, x])
                return super().forward(x)

        model = Growing(16, 4)
        model.register_buffer("seen", torch.zeros(8, 16))
        data = self.begin(model, validate_only=True)
        with self.assertRaisesRegex(
            RuntimeError, r"the buffer seen is \[8, 16\] float32, and the step gives it \[16, 16\]"
        ):
            self.run_step(cstorch.trace(self.train), data)


def _line_test(line, pattern):
    return lambda self: self.refuse(line, pattern)


for _name, _line, _pattern in LINES:
    setattr(Refused, f"test_line_{_name}", _line_test(_line, _pattern))


class Told(Base):
    def told(self, step, pattern, between=None, model=None, steps=2):
        """The loop's warnings, of which one must have the pattern and no other be there."""
        data = self.begin(model)
        step = cstorch.trace(step or self.train)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for batch in cstorch.utils.data.DataExecutor(data, num_steps=steps):
                step(batch)
                if between is not None:
                    between()
        said = [str(w.message) for w in found if "step" in str(w.message)]
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], pattern)

    def test_a_learning_rate_by_hand(self):
        def between():
            self.optimizer.param_groups[0]["lr"] *= 0.5

        self.told(None, r"SGD\.param_groups\[0\]\['lr'\].*lr_scheduler", between)

    def test_another_mode(self):
        self.told(None, r"`Linear\.training`, which has changed", lambda: self.model.eval())

    def test_a_frozen_parameter(self):
        self.told(
            None,
            r"`model\.weight\.requires_grad`, which has changed",
            lambda: self.model.weight.requires_grad_(False),
        )

    def test_a_parameter_that_is_clipped_between(self):
        def between():
            with torch.no_grad():
                self.model.weight.clamp_(-0.01, 0.01)

        self.told(None, r"model\.weight was changed between two steps", between)

    def test_a_tensor_that_changes_between(self):
        def step(batch):
            return (self.model(batch[0]) * weights).sum()

        def between():
            weights.mul_(0.5)

        self.told(step, r"`weights`, which has changed", between)

    def test_a_tensor_that_the_step_assigns(self):
        def step(batch):
            global total
            total = total + batch[0].sum()
            return total

        self.addCleanup(globals().update, total=torch.zeros(()))
        self.told(step, r"the step changes `total`")

    def test_a_generator(self):
        def step(batch):
            return batch[0].sum() * generator.random()

        self.told(step, r"the step changes `generator`, which happens once")

    def test_what_is_read_once(self):
        lines = [
            ("datetime.now", lambda: datetime.datetime.now().second),
            ("date.today", lambda: datetime.date.today().day),
            ("time.localtime", lambda: time.localtime().tm_sec),
            ("os.urandom", lambda: os.urandom(1)[0]),
            ("os.urandom", lambda: uuid.uuid4().int % 7),
            ("os.urandom", lambda: secrets.randbelow(7)),
            ("os.urandom", lambda: numpy.random.default_rng().random()),
            ("a number of a random.Random", lambda: random.Random(3).random()),
            ("a number of a clock was made an int", lambda: int(time.time()) % 7),
            ("a number of a clock decides something", lambda: 2 if time.time() > 1 else 3),
        ]
        for what, line in lines:
            with self.subTest(what):
                self.told(
                    lambda batch, line=line: (self.model(batch[0]) * line()).sum(),
                    rf"test_silent\.py:\d+ in <lambda>: {what}.* once, while",
                )
                cstorch.finish()

    def test_a_profiler_goes_on(self):
        seen = []
        sys.setprofile(lambda *event: seen.append(event[1]))
        try:
            self.run_step(cstorch.trace(self.train), self.begin())
        finally:
            profiler = sys.getprofile()
            sys.setprofile(None)
        self.assertIsNotNone(profiler)
        self.assertIn("c_call", seen)

    def test_tensors_of_modules(self):
        class Counting(torch.nn.Linear):
            def forward(self, x):
                self.calls += 1
                self.last = super().forward(x)
                return self.last

        model = Counting(16, 4)
        model.calls, model.last = torch.zeros(()), torch.zeros(8, 4)
        self.told(None, r"calls, last of the model changed.*register_buffer", model=model)


class Same(Base):
    """As PyTorch does it."""

    def gradient(self, loss_of, inputs=None):
        """Compares the gradient of the bias by the engine and by PyTorch."""
        data = self.begin()

        @cstorch.trace
        def step(batch):
            loss_of(self.model, batch[0]).backward()
            return self.model.bias.grad

        found = self.run_step(step, data)[0]
        other = torch.nn.Linear(16, 4)
        other.load_state_dict(self.model.state_dict())
        if inputs is not None:  # PyTorch's own way needs an input that has a gradient
            inputs.data.copy_(X[:8])
        loss_of(other, X[:8] if inputs is None else inputs).backward()
        torch.testing.assert_close(found, other.bias.grad)

    def test_parts_without_gradients(self):
        @torch.no_grad()
        def decorated(model, x):
            return model(x).tanh()

        def by_context(model, x):
            with torch.no_grad():
                aim = model(x).tanh()
            return ((model(x) - aim) ** 2 + aim).sum()

        def by_decorator(model, x):
            return (model(x) * decorated(model, x)).sum()

        def by_set(model, x):
            torch.set_grad_enabled(False)
            aim = model(x)
            torch.set_grad_enabled(True)
            return (model(x).exp() * aim).sum()

        def again_inside(model, x):
            with torch.no_grad():
                aim = model(x)
                with torch.enable_grad():
                    inner = model(x) * aim
            assert torch.is_grad_enabled()
            return inner.sum()

        for loss_of in (by_context, by_decorator, by_set, again_inside):
            with self.subTest(loss_of.__name__):
                self.gradient(loss_of)
                cstorch.finish()

    def test_checkpoints_and_normalized_weights(self):
        def reentrant(model, x):
            part = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=True)
            return (part * part).sum()

        def in_parts(model, x):
            layers = torch.nn.Sequential(model, torch.nn.Tanh())
            made = torch.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=True)
            return made.sum()

        for loss_of in (reentrant, in_parts):
            with self.subTest(loss_of.__name__), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of PyTorch, where inputs need no gradient
                self.gradient(loss_of, torch.randn(8, 16, requires_grad=True))
                cstorch.finish()

    def test_spectral_norm(self):
        norm = torch.nn.utils.parametrizations.spectral_norm
        data = self.begin(norm(torch.nn.Linear(16, 4)))
        other = norm(torch.nn.Linear(16, 4))
        other.load_state_dict(self.model.state_dict())
        optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
        found = self.run_step(cstorch.trace(self.train), data, steps=4)
        for step, loss in enumerate(found):
            at = slice(step * 8, step * 8 + 8)
            expected = F.cross_entropy(other(X[at]), Y[at])
            torch.testing.assert_close(loss, expected.detach())
            optimizer.zero_grad()
            expected.backward()
            optimizer.step()

    def test_inference_mode(self):
        data = self.begin()

        @cstorch.trace
        def step(batch):
            with torch.inference_mode():
                aim = self.model(batch[0]).sum()
            (self.model(batch[0]).sum() + 0.5 * aim).backward()
            return self.model.bias.grad

        self.assertEqual(self.run_step(step, data)[0].tolist(), [8.0] * 4)

    def test_a_buffer_that_is_assigned(self):
        class Centred(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(16, 4)
                self.register_buffer("mean", torch.zeros(16))

            def forward(self, x):
                self.mean = 0.9 * self.mean + 0.1 * x.mean(0).detach()
                return self.linear(x - self.mean)

        data = self.begin(Centred())
        other = Centred()
        other.load_state_dict(self.model.state_dict())
        buffer = self.model.mean
        self.run_step(cstorch.trace(self.train), data, steps=5)
        optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
        for i in range(5):
            rows = slice(8 * i, 8 * i + 8)
            loss = F.cross_entropy(other(X[rows]), Y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        self.assertIs(self.model.mean, buffer)
        for name, value in other.state_dict().items():
            torch.testing.assert_close(self.model.state_dict()[name], value, rtol=1e-4, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
