"""Programs that other tools trace in silence, and wrongly: what chance, clocks and Python's own
state do in a step, types and devices, copies, hooks; and operations beyond those of
test_refusals.py. Each is told with the user's file and line."""

import copy
import pickle
import random
import re
import time
import unittest
import warnings

import numpy
import torch
import torch.nn.functional as F

import cstorch
from programs import Case, loader

NOT_KNOWN = r"is not known while the step is traced"

# (what the line is, the line, what the message says)
LINES = [
    # Chance, clocks.
    ("random", lambda x, y, m: x * random.random(), r"numbers of Python's `random`"),
    ("shuffle", lambda x, y, m: random.shuffle([1, 2, 3]), r"numbers of Python's `random`"),
    (
        "numpy_number",
        lambda x, y, m: x * float(numpy.random.rand()),
        r"`numpy\.random`.*torch\.rand",
    ),
    (
        "numpy_array",
        lambda x, y, m: x + torch.from_numpy(numpy.random.normal(size=16).astype("float32")),
        r"numbers of Python's `numpy\.random`",
    ),
    (
        "randint",
        lambda x, y, m: x * torch.randint(0, 2, (16,)),
        r"torch\.randint would be drawn once",
    ),
    ("randperm", lambda x, y, m: x[:, torch.randperm(16)], r"torch\.randperm would be drawn once"),
    (
        "generator",
        lambda x, y, m: x * torch.rand(8, 16, generator=torch.Generator()),
        r"torch\.rand with generator= is not supported",
    ),
    ("seed", lambda x, y, m: torch.manual_seed(1), r"manual_seed has no effect.*configure\(seed"),
    ("time", lambda x, y, m: x * time.time(), r"number of a clock would be the same in each step"),
    ("counter", lambda x, y, m: x + time.perf_counter() / 3, r"number of a clock"),
    ("clock_left", lambda x, y, m: (1 - time.monotonic()) * x, r"number of a clock"),
    ("time_ns", lambda x, y, m: x * time.time_ns(), r"number of a clock"),
    ("counter_ns", lambda x, y, m: x + time.perf_counter_ns() % 7, r"number of a clock"),
    ("process_time", lambda x, y, m: x * time.process_time(), r"number of a clock"),
    ("round_clock", lambda x, y, m: x * round(time.time()), r"number of a clock"),
    ("power_clock", lambda x, y, m: x * time.time() ** 0.5, r"number of a clock"),
    ("clock_tensor", lambda x, y, m: torch.tensor([time.time(), 1.0]), r"number of a clock"),
    ("clock_full", lambda x, y, m: x * torch.full((16,), time.time()), r"number of a clock"),
    ("beta", lambda x, y, m: x * random.betavariate(1, 2), r"numbers of Python's `random`"),
    ("torch_seed", lambda x, y, m: torch.seed(), r"torch\.seed has no effect on a step"),
    (
        "own_generator",
        lambda x, y, m: x * torch.empty(16).normal_(generator=torch.Generator()),
        r"normal_ of a tensor that is a constant of the step would be drawn once",
    ),
    # Indices that are known to be out of range.
    (
        "class",
        lambda x, y, m: F.cross_entropy(m(x), torch.arange(8)),
        r"the class 4 .* from 0 to 3",
    ),
    ("class_nll", lambda x, y, m: F.nll_loss(m(x), torch.full((8,), 9)), r"the class 9 .*range"),
    ("row", lambda x, y, m: F.embedding(torch.arange(8), m.weight), r"the row 4 is out of range"),
    ("index", lambda x, y, m: x[torch.tensor([9])], r"index 9 is out of range: there are 8"),
    (
        "gather",
        lambda x, y, m: x.gather(1, torch.full((8, 1), 16)),
        r"the index 16 is out of range",
    ),
    # Values that decide about shapes, or that Python asks for.
    ("slice", lambda x, y, m: x[: y[0]], NOT_KNOWN),
    ("arange", lambda x, y, m: torch.arange(y.max()), NOT_KNOWN),
    ("zeros", lambda x, y, m: torch.zeros(y[0]), NOT_KNOWN),
    ("list_index", lambda x, y, m: [1, 2, 3][y[0]], NOT_KNOWN),
    ("max", lambda x, y, m: max(x[0]), NOT_KNOWN),
    ("sorted", lambda x, y, m: sorted(x[0]), NOT_KNOWN),
    ("round", lambda x, y, m: round(x[0, 0]), r"round\(x\): .*" + NOT_KNOWN),
    ("percent", lambda x, y, m: "%f" % x.sum(), NOT_KNOWN),
    ("any", lambda x, y, m: 1 if x.isnan().any() else 2, NOT_KNOWN),
    (
        "gradient_item",
        lambda x, y, m: (m(x).sum().backward(), m.weight.grad.norm().item()),
        NOT_KNOWN,
    ),
    ("contains", lambda x, y, m: 1.0 in x, NOT_KNOWN),
    ("repeat_interleave", lambda x, y, m: torch.repeat_interleave(x, y, 0), r"is not supported"),
    # Copies of what has no value.
    ("deepcopy", lambda x, y, m: copy.deepcopy(x), NOT_KNOWN),
    ("pickle", lambda x, y, m: pickle.dumps(x), NOT_KNOWN),
    ("save", lambda x, y, m: torch.save(x, "/dev/null"), NOT_KNOWN),
    ("storage", lambda x, y, m: x.untyped_storage(), NOT_KNOWN),
    ("data_ptr", lambda x, y, m: x.data_ptr(), NOT_KNOWN),
    ("asarray", lambda x, y, m: numpy.asarray(x), NOT_KNOWN),
    ("detach_numpy", lambda x, y, m: x.detach().numpy(), NOT_KNOWN),
    # Devices and types.
    ("cuda", lambda x, y, m: x.cuda(), r"not moved to cuda: the engine decides"),
    ("to_cuda", lambda x, y, m: x.to("cuda"), r"not moved to cuda"),
    ("to_device", lambda x, y, m: x.to(torch.device("meta")), r"not moved to meta"),
    ("half_model", lambda x, y, m: m.half(), r"\.data of model\.weight.*cannot become.*float16"),
    (
        "data_of_another_shape",
        lambda x, y, m: setattr(m.weight, "data", torch.zeros(3, 3)),
        r"\.data of model\.weight \[4, 16\] float32 cannot become \[3, 3\]",
    ),
    (
        "class_targets",
        lambda x, y, m: F.cross_entropy(m(x), y.float()),
        r"targets \[8\] float32 of logits \[8, 4\].*targets\.long\(\)",
    ),
    ("embedding_of_floats", lambda x, y, m: F.embedding(x, m.weight), r"indices must be int32"),
    (
        "einsum",
        lambda x, y, m: torch.einsum("ij,jk->ik", x, torch.ones(3, 2)),
        r"sizes of j differ",
    ),
    # Modules, hooks, other compilers.
    ("new_module", lambda x, y, m: torch.nn.Linear(16, 4)(x), r"belongs to no compiled model"),
    (
        "new_parameter",
        lambda x, y, m: (setattr(m, "bias", torch.nn.Parameter(torch.ones(4))), m(x)),
        r"belongs to no compiled model",
    ),
    (
        "backward_hook",
        lambda x, y, m: (m.register_full_backward_hook(lambda *_: None), m(x)),
        r"Linear has a backward hook, which is not called",
    ),
    ("weight_hook", lambda x, y, m: m.weight.register_hook(print), r"register_hook: hooks"),
    ("retain_grad", lambda x, y, m: x.retain_grad(), r"only parameters have gradients"),
    ("constant_loss", lambda x, y, m: torch.ones(()).backward(), r"a constant of the step"),
    ("input_gradient", lambda x, y, m: x.requires_grad_().grad, r"only parameters have gradients"),
    # Other transformations of a program.
    (
        "func_grad",
        lambda x, y, m: torch.func.grad(lambda w: (x @ w.T).sum())(m.weight),
        r"torch\.func\.grad, vjp, jvp.*not supported.*torch\.autograd\.grad",
    ),
    ("func_vjp", lambda x, y, m: torch.func.vjp(torch.sin, x), r"torch\.func\.grad, vjp, jvp"),
    ("func_jvp", lambda x, y, m: torch.func.jvp(torch.sin, (x,), (x,)), r"vjp, jvp and what"),
    ("jacobian", lambda x, y, m: torch.func.jacrev(lambda r: r.sum())(x), r"vjp, jvp and what"),
    ("hessian", lambda x, y, m: torch.func.hessian(lambda r: r.sum())(x), r"vjp, jvp and what"),
    (
        "autograd_jacobian",
        lambda x, y, m: torch.autograd.functional.jacobian(lambda r: r.sum(), x),
        r"gradients of gradients and grad_outputs are not supported",
    ),
    (
        "cond",
        lambda x, y, m: torch.cond(x.sum() > 0, lambda: x, lambda: -x),
        r"torch\.cond chooses by a value.*torch\.where",
    ),
    ("script", lambda x, y, m: torch.jit.script(m)(x), r"torch\.jit\.script in a step"),
    ("jit_trace", lambda x, y, m: torch.jit.trace(m, x), r"torch\.jit\.trace in a step"),
    ("dlpack", lambda x, y, m: torch.utils.dlpack.to_dlpack(x), r"no memory while it is traced"),
    (
        "all_reduce",
        lambda x, y, m: torch.distributed.all_reduce(x),
        r"torch\.distributed\.all_reduce in a step.*cstorch\.batch_sum",
    ),
    # Operations that the engine has not.
    (
        "quantize",
        lambda x, y, m: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        r"quantize_per",
    ),
    (
        "ctc",
        lambda x, y, m: F.ctc_loss(m(x)[:, None], y[None], torch.tensor([8]), torch.tensor([8])),
        r"ctc_loss\.Tensor is not supported",
    ),
    ("pin", lambda x, y, m: x.pin_memory(), r"pin_memory is not supported"),
    ("sparse", lambda x, y, m: x.to_sparse(), r"is not supported on \[8, 16\] float32"),
    ("qr", lambda x, y, m: torch.linalg.qr(x), r"linalg_qr is not supported"),
    ("eigh", lambda x, y, m: torch.linalg.eigh(x[:4, :4]), r"eigh is not supported on \[4, 4\]"),
    ("det", lambda x, y, m: torch.linalg.det(x[:4, :4]), r"det is not supported"),
    ("cdist", lambda x, y, m: torch.cdist(x, x), r"cdist_forward is not supported"),
    ("unfold", lambda x, y, m: F.unfold(x.view(1, 1, 8, 16), 2), r"im2col is not supported"),
    ("kthvalue", lambda x, y, m: x.kthvalue(2), r"kthvalue is not supported"),
    ("logcumsumexp", lambda x, y, m: x.logcumsumexp(1), r"logcumsumexp is not supported"),
    ("polygamma", lambda x, y, m: torch.polygamma(1, x), r"polygamma is not supported"),
    ("randint_like", lambda x, y, m: torch.randint_like(y, 3), r"randint_like is not supported"),
    ("frexp", lambda x, y, m: torch.frexp(x), r"frexp.* is not supported"),
    ("set", lambda x, y, m: x.set_(torch.zeros(2)), r"aten\.set.* is not supported"),
]

count = 0
seen = []
settings = {"scale": 1.0}


class Base(Case):
    def setUp(self):
        super().setUp()
        self.configure(**self.options)
        self.model = torch.nn.Linear(16, 4)
        cstorch.compile(self.model)
        self.inputs = torch.randn(16, 16)
        self.data = loader(self.inputs, torch.randint(0, 4, (16,)))

    def told(self, function, between=None, steps=2):
        """The warnings of a traced function's loop."""
        step = cstorch.trace(function)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for batch in cstorch.utils.data.DataExecutor(self.data, num_steps=steps):
                step(batch)
                if between is not None:
                    between()
        return [str(w.message) for w in found if "step" in str(w.message)]


class Traps(Base):
    options = {"validate_only": True}

    def refuse(self, body, pattern, data=None):
        @cstorch.trace
        def step(batch):
            x, y = batch
            body(x, y, self.model)
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            return loss

        with self.assertRaises(RuntimeError) as raised:
            for batch in cstorch.utils.data.DataExecutor(data or self.data, num_steps=1):
                step(batch)
        self.assertRegex(str(raised.exception), re.compile(pattern, re.DOTALL))
        self.assertRegex(str(raised.exception), r"test_traps\.py:\d+ in <lambda>: ")

    def test_autocast(self):
        def body(x, _y, m):
            with torch.autocast("cpu"):
                (lambda: m(x))()

        self.refuse(body, r"torch\.autocast has no effect on a step.*cstorch\.amp")

    def test_a_model_of_torch_compile(self):
        compiled = torch.compile(self.model)
        self.refuse(lambda x, y, m: compiled(x), r"torch\.compile cannot be traced")

    def test_a_model_of_torch_jit(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scripted = torch.jit.script(self.model)
        self.refuse(lambda x, y, m: scripted(x), r"a model of torch\.jit cannot be traced")

    def test_random_numbers_of_a_step_in_parts(self):
        data = loader(torch.randn(16, 16), torch.randint(0, 4, (16,)))
        data.micro_batch_size = 4
        self.refuse(
            lambda x, y, m: torch.rand(4, 16) * x,
            r"rand\(\[4, 16\]\) in a step of 2 microbatches.*torch\.rand_like",
            data,
        )

    def test_a_global_number_that_the_step_changes(self):
        def step(batch):
            global count
            count += 1
            return self.model(batch[0]).sum() * count

        said = self.told(step)
        self.assertEqual(len(said), 1)
        self.assertRegex(said[0], r"test_traps\.py:\d+ in step: the step changes `count`.*once")

    def test_a_number_of_the_enclosing_function(self):
        calls = 0

        def step(batch):
            nonlocal calls
            calls += 1
            return self.model(batch[0]).sum()

        self.assertRegex(self.told(step)[0], r"the step changes `calls`")
        self.assertEqual(calls, 1)

    def test_a_list_that_grows(self):
        def step(batch):
            loss = self.model(batch[0]).sum()
            seen.append(loss)
            return loss

        self.assertRegex(self.told(step)[0], r"the step changes `seen`.*step_closure")

    def test_a_value_in_a_function_that_the_step_calls(self):
        def scaled(x):
            return x * settings["scale"]

        def step(batch):
            return scaled(self.model(batch[0])).sum()

        self.assertEqual(self.told(step), [])

    def test_a_counter_of_a_module(self):
        class Counting(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.calls = 0

            def forward(self, x):
                self.calls += 1
                return x * self.calls

        model = torch.nn.Sequential(torch.nn.Linear(16, 4), Counting())
        cstorch.compile(model)
        said = self.told(lambda batch: model(batch[0]).sum())
        self.assertRegex(said[0], r"1\.calls of the model changed.*register_buffer")

    def test_a_random_number_of_no_axes(self):
        said = self.told(lambda batch: self.model(batch[0]).sum() * torch.rand([]))
        self.assertRegex(said[0], r"torch\.rand\(\) of no axes was drawn once.*torch\.rand\(1\)")

    def test_a_clock_that_meets_no_tensor(self):
        def step(batch):
            begun = time.time()
            loss = self.model(batch[0]).sum()
            self.seconds = time.time() - begun
            return loss

        self.assertEqual(self.told(step), [])
        self.assertGreaterEqual(self.seconds, 0)
        self.assertIs(type(time.time()), float)


def _line_test(line, pattern):
    return lambda self: self.refuse(line, pattern)


for _name, _line, _pattern in LINES:
    setattr(Traps, f"test_line_{_name}", _line_test(_line, _pattern))


class Running(Base):
    """What is right in each step."""

    options = {}

    def test_a_value_that_changes_between_steps(self):
        settings["scale"] = 1.0

        def scaled(x):
            return x * settings["scale"]

        def step(batch):
            return scaled(self.model(batch[0])).sum()

        def change():
            settings["scale"] *= 0.5

        said = self.told(step, change, steps=3)
        self.assertEqual(len(said), 1)
        self.assertRegex(said[0], r"in step: the step reads `settings`, which has changed since")

    def test_a_value_that_changes_late(self):
        settings["scale"] = 1.0
        steps = 0

        def step(batch):
            return self.model(batch[0]).sum() * settings["scale"]

        def change_after_twenty():
            nonlocal steps
            steps += 1
            if steps == 20:
                settings["scale"] = 0.5

        self.assertEqual(len(self.told(step, change_after_twenty, steps=33)), 1)

    def test_an_attribute_that_changes_between_steps(self):
        self.rate = 1.0

        class Program:
            rate = None

            def step(self, batch):
                return self.model(batch[0]).sum() * self.rate

        program = Program()
        program.model, program.rate = self.model, 1.0
        step = cstorch.trace(Program.step)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for batch in cstorch.utils.data.DataExecutor(self.data, num_steps=2):
                step(program, batch)
                program.rate = 0.5
            # The last step is not followed by another one.
        self.assertRegex(str(found[-1].message), r"the step reads `self\.rate`")

    def test_random_numbers_by_a_shape_are_drawn_in_each_step(self):
        @cstorch.trace
        def step(batch):
            return torch.rand(4, 3) + 0 * batch[0].sum(), torch.randn(1000), torch.rand(2)

        values = self.run_step(step, self.data, steps=2)
        uniform, normal, again = values[0]
        self.assertFalse(torch.equal(uniform, values[1][0]))
        self.assertFalse(torch.equal(uniform.flatten()[:2], again))
        self.assertTrue(0 <= uniform.min() and uniform.max() < 1)
        self.assertLess(abs(normal.mean()), 0.15)
        self.assertLess(abs(normal.std() - 1), 0.1)

    def test_sums_that_begin_with_a_constant(self):
        @cstorch.trace
        def step(batch):
            total, kept, parts = torch.tensor(0.0), torch.zeros(4), {"a": torch.tensor(1.0)}
            same = total
            for row in range(3):
                total += batch[0][row].sum()
            kept.add_(batch[0][0, :4])
            parts["a"] += total
            return total, same, kept, parts["a"]

        total, same, kept, part = self.run_step(step, self.data, steps=1)[0]
        self.assertAlmostEqual(float(total), float(self.inputs[:3].sum()), places=4)
        self.assertEqual(float(total), float(same))
        self.assertTrue(torch.equal(kept, self.inputs[0, :4]))
        self.assertAlmostEqual(float(part), float(total) + 1, places=5)

    def test_data_and_detach_share_elements_and_have_no_gradient(self):
        @cstorch.trace
        def step(batch):
            weight = self.model.weight
            loss = (batch[0] @ weight.data.T).sum() + (batch[0] @ weight.detach().T).sum()
            (loss + weight.sum()).backward()
            gradient = weight.grad
            weight.data[0].zero_()
            weight.detach().view(-1)[16:32].add_(weight.data[1])
            weight.data = weight.data + 1
            return gradient

        before = self.model.weight.detach().clone()
        gradient = self.run_step(step, self.data, steps=1)[0]
        self.assertTrue(torch.equal(gradient, torch.ones(4, 16)))
        expected = before.clone()
        expected[0] = 0
        expected[1] *= 2
        self.assertTrue(torch.allclose(self.model.weight, expected + 1))


if __name__ == "__main__":
    unittest.main()
