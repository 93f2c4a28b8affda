"""Wrong programs, and what they are told: the user's file and line, what is wrong, what to do."""

import re
import unittest

import torch
import torch.nn.functional as F

import cstorch
from programs import Case, loader


def raising(body):
    """A step with one line that is wrong."""

    def step(batch, model):
        x, y = batch
        body(x, y, model)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    return step


OUTSIDE = torch.zeros(8, 16)
NOT_KNOWN = r"is not known while the step is traced"
WHERE = r"test_refusals\.py:\d+ in <lambda>"

# (what the line is, the line, what the message says)
LINES = [
    ("item", lambda x, y, m: x.sum().item(), NOT_KNOWN),
    ("float", lambda x, y, m: float(x.sum()), NOT_KNOWN),
    ("int", lambda x, y, m: int(y.sum()), NOT_KNOWN),
    ("bool", lambda x, y, m: bool(x.max() < 0), NOT_KNOWN),
    ("if", lambda x, y, m: 1 if x.max() < 0 else 2, NOT_KNOWN),
    ("and", lambda x, y, m: (x.max() < 0) and True, NOT_KNOWN),
    ("not", lambda x, y, m: not x.max(), NOT_KNOWN),
    ("tolist", lambda x, y, m: x.tolist(), NOT_KNOWN),
    ("numpy", lambda x, y, m: x.numpy(), NOT_KNOWN),
    ("cpu", lambda x, y, m: x.cpu(), NOT_KNOWN),
    ("to_cpu", lambda x, y, m: x.to("cpu"), NOT_KNOWN),
    ("to_cpu_named", lambda x, y, m: x.to(device="cpu"), NOT_KNOWN),
    ("nonzero", lambda x, y, m: x.nonzero(), NOT_KNOWN),
    ("torch_nonzero", lambda x, y, m: torch.nonzero(x), NOT_KNOWN),
    ("unique", lambda x, y, m: torch.unique(y), NOT_KNOWN),
    ("mask_index", lambda x, y, m: x[x > 0], NOT_KNOWN),
    ("masked_select", lambda x, y, m: torch.masked_select(x, x > 0), NOT_KNOWN),
    ("equal", lambda x, y, m: torch.equal(x, x), NOT_KNOWN),
    ("allclose", lambda x, y, m: torch.allclose(x, x), NOT_KNOWN),
    ("range", lambda x, y, m: range(y[0]), NOT_KNOWN),
    ("weight_item", lambda x, y, m: m.weight.sum().item(), r"Choose with torch\.where"),
    ("one_hot", lambda x, y, m: F.one_hot(y), NOT_KNOWN),
    ("where_one", lambda x, y, m: torch.where(x > 0), NOT_KNOWN),
    ("float64", lambda x, y, m: x.double(), r"a step has no type float64; use float32"),
    ("complex", lambda x, y, m: x.to(torch.complex64), r"a step has no type complex64"),
    ("float64_constant", lambda x, y, m: x * torch.ones(16, dtype=torch.float64), r"float64"),
    ("rank", lambda x, y, m: x.view(8, 1, 1, 1, 1, 1, 1, 1, 16), r"at most 8 axes"),
    ("hook", lambda x, y, m: x.register_hook(print), r"register_hook: hooks on traced tensors"),
    (
        "create_graph",
        lambda x, y, m: m(x).sum().backward(create_graph=True),
        r"gradients of gradients",
    ),
    (
        "grad_graph",
        lambda x, y, m: torch.autograd.grad(m(x).sum(), m.weight, create_graph=True),
        r"gradients of gradients",
    ),
    (
        "grad_of_input",
        lambda x, y, m: torch.autograd.grad(m(x).sum(), x),
        r"gradients are those of parameters",
    ),
    ("vector_loss", lambda x, y, m: m(x).backward(), r"must be a scalar: reduce it"),
    ("expand_write", lambda x, y, m: x[:, :1].expand(8, 4).add_(1), r"shares elements with itself"),
    ("constant_write", lambda x, y, m: OUTSIDE.add_(x), r"no part of the step"),
    (
        "other_parameter",
        lambda x, y, m: x @ torch.nn.Parameter(torch.ones(16, 2)),
        r"belongs to no compiled model.*cstorch\.compile",
    ),
    ("matmul_shapes", lambda x, y, m: x @ torch.ones(3, 2), r"matmul.*\[8, 16\].*\[3, 2\]"),
    ("add_shapes", lambda x, y, m: x + torch.ones(5), r"add.*\[8, 16\].*\[5\]"),
    ("view_size", lambda x, y, m: x.view(3, 5), r"\[8, 16\].*\[3, 5\]"),
    ("fft", lambda x, y, m: torch.fft.fft(x), r"complex64"),
    ("svd", lambda x, y, m: torch.linalg.svdvals(x), r"svd.* is not supported"),
    ("inverse", lambda x, y, m: torch.linalg.inv(x[:4, :4]), r"is not supported"),
    ("median", lambda x, y, m: x.median(), r"median.* is not supported on \[8, 16\]"),
    ("mode", lambda x, y, m: x.mode(), r"mode.* is not supported"),
    ("bincount", lambda x, y, m: torch.bincount(y), NOT_KNOWN + "|not supported"),
    ("histc", lambda x, y, m: torch.histc(x), r"histc.* is not supported"),
    (
        "multinomial",
        lambda x, y, m: torch.multinomial(x.abs(), 2),
        r"multinomial.* is not supported",
    ),
    ("cholesky", lambda x, y, m: torch.linalg.cholesky(x[:4, :4]), r"is not supported"),
    ("lgamma", lambda x, y, m: torch.lgamma(x), r"lgamma.* is not supported on \[8, 16\] float32"),
    ("digamma", lambda x, y, m: torch.digamma(x), r"digamma.* is not supported"),
    ("erfinv", lambda x, y, m: torch.erfinv(x), r"erfinv.* is not supported"),
    (
        "norm_type",
        lambda x, y, m: (
            m(x).sum().backward(),
            torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0, norm_type=1),
        ),
        r"norm_type 1.* is not supported; accepted: 2",
    ),
    (
        "metric_argument",
        lambda x, y, m: cstorch.metrics.AccuracyMetric("late")(label=y),
        r"unknown arguments label; accepted: labels, predictions, weights",
    ),
]


class Refusals(Case):
    def setUp(self):
        super().setUp()
        self.configure(validate_only=True)
        self.model = torch.nn.Linear(16, 4)
        cstorch.compile(self.model)
        self.data = loader(torch.randn(16, 16), torch.randint(0, 4, (16,)))

    def refuse(self, function, pattern, error=Exception, steps=1, **options):
        step = cstorch.trace(function)
        with self.assertRaises(error) as raised:
            for batch in cstorch.utils.data.DataExecutor(self.data, num_steps=steps, **options):
                step(batch, self.model)
        self.assertRegex(str(raised.exception), re.compile(pattern, re.DOTALL))
        return str(raised.exception)

    def test_unsupported_operations_are_told_together(self):
        def many(batch, model):
            x, _ = batch
            torch.lgamma(x)
            torch.digamma(x)
            return model(x).sum()

        said = self.refuse(many, r"lgamma", cstorch.UnsupportedError)
        self.assertRegex(said, r"test_refusals\.py:\d+ in many: aten\.lgamma is not supported")
        self.assertIn("digamma", said)
        self.assertIn("cstorch.ops()", said)

    def test_the_loader_in_place_of_the_batch(self):
        step = cstorch.trace(lambda batch, model: model(batch[0]).sum())
        with self.assertRaisesRegex(
            cstorch.TraceError, "called with the data loader; pass the batch"
        ):
            for _ in self.data:
                step(self.data, self.model)

    def test_a_loop_without_a_step(self):
        with self.assertRaisesRegex(cstorch.TraceError, "called no function"):
            for _ in self.data:
                pass

    def test_a_step_without_a_loop(self):
        with self.assertRaisesRegex(cstorch.TraceError, "outside of a loop"):
            cstorch.trace(lambda batch: batch)(None)

    def test_loops_inside_of_each_other(self):
        with self.assertRaisesRegex(RuntimeError, "one after the other"):
            for batch in self.data:
                cstorch.trace(lambda b, m: m(b[0]).sum())(batch, self.model)
                for _ in self.data:
                    pass

    def test_optimizers_of_torch(self):
        optimizer = torch.optim.AdamW(self.model.parameters())

        def step(batch, model):
            loss = model(batch[0]).sum()
            loss.backward()
            optimizer.step()
            return loss

        self.refuse(step, r"torch\.optim\.AdamW.*cstorch\.optim\.AdamW.*cstorch\.optim\.convert")

    def test_a_state_made_in_the_step(self):
        class Late(cstorch.optim.Optimizer):
            def preinitialize(self):
                pass

            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        self.state[p]["momentum"] = torch.zeros(p.shape)
                        p.sub_(p.grad * 0.1)

            def state_names_to_sparsify(self):
                return []

        optimizer = Late(self.model.parameters(), {})

        def step(batch, model):
            loss = model(batch[0]).sum()
            loss.backward()
            optimizer.step()
            return loss

        self.refuse(
            step,
            r"optimizer state 'momentum' of weight was created inside the step; create "
            r"it in preinitialize\(\)",
        )

    def test_settings(self):
        with self.assertRaisesRegex(TypeError, "configure.. has no argument 'num_cs'.*num_csx"):
            cstorch.configure(num_cs=2)
        with self.assertRaisesRegex(ValueError, "no backend 'TPU'"):
            cstorch.backend("TPU")
        with self.assertRaisesRegex(TypeError, "takes a torch.nn.Module"):
            cstorch.compile(lambda x: x)
        with self.assertRaisesRegex(ValueError, "no optimizer 'AdamX'.*AdamW"):
            cstorch.optim.configure_optimizer("AdamX", self.model.parameters())
        with self.assertRaisesRegex(ValueError, "level is 3; accepted: 0, 1, 2"):
            cstorch.pol(3)
        with self.assertRaisesRegex(ValueError, "no half type 'float8'"):
            cstorch.amp.set_half_dtype("float8")
        with self.assertRaisesRegex(ValueError, "num_steps, or num_epochs"):
            cstorch.utils.data.DataLoader(lambda: None, num_steps=1, num_epochs=2)
        with self.assertRaisesRegex(TypeError, "takes a function"):
            cstorch.utils.data.DataLoader([1, 2])
        with self.assertRaisesRegex(TypeError, "no argument 'compress'"):
            cstorch.save([1], self.folder + "/x.mdl", compress=True)
        with self.assertRaisesRegex(TypeError, "key 1j is a complex"):
            cstorch.save({1j: 1}, self.folder + "/x.mdl")
        with self.assertRaisesRegex(TypeError, "not object"):
            cstorch.save({"a": object()}, self.folder + "/x.mdl")

    def test_engine_settings(self):
        with self.assertRaisesRegex(TypeError, r"SGD\(\) has no argument 'momentun'.*momentum"):
            cstorch.optim.SGD(self.model.parameters(), lr=0.1, momentun=0.9)

    def test_saving_between_checkpoint_steps(self):
        cstorch.finish()
        self.configure()
        model = torch.nn.Linear(16, 4)
        cstorch.compile(model)

        @cstorch.step_closure
        def save():
            cstorch.save({"model": model.state_dict()}, self.folder + "/x.mdl")

        step = cstorch.trace(lambda b: model(b[0]).sum())
        with self.assertRaisesRegex(
            RuntimeError, "after step 1, which is no checkpoint step.*is 5"
        ):
            for batch in cstorch.utils.data.DataExecutor(
                self.data, num_steps=6, checkpoint_steps=5
            ):
                step(batch)
                save()


def _line_test(name, line, pattern):
    def test(self):
        said = self.refuse(raising(line), pattern)
        if "float64_constant" not in name:
            self.assertRegex(said, r"\.py:\d+ in ")

    return test


for _name, _line, _pattern in LINES:
    setattr(Refusals, f"test_line_{_name}", _line_test(_name, _line, _pattern))


if __name__ == "__main__":
    unittest.main()
