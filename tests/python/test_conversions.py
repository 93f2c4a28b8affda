"""Types at the edges of a step: what comes in by the data, as a constant or as a state, and what goes
out or into a checkpoint has PyTorch's values and types, or is refused."""

import unittest

import numpy
import torch

import cstorch
from cstorch import worker
from cstorch.utils.data.source import as_tensor
from programs import Case, loader

WHOLE = {
    torch.bool: (0, 2),
    torch.uint8: (0, 256),
    torch.int8: (-128, 128),
    torch.int16: (-(2**15), 2**15),
    torch.int32: (-(2**31), 2**31),
    torch.int64: (-(2**31), 2**31),
}
# Operations whose result is exact in 32 bits, where no value is far beyond them.
OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a, b: -a,
    "number": lambda a, b: 3 - a,
    "floor_divide": lambda a, b: a // (b | 1),
    "remainder": lambda a, b: a % (b | 1),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a, b: ~a,
    "square": lambda a, b: a**2,
    "cube": lambda a, b: a**3,
    "power 0": lambda a, b: a**0,
    "maximum": torch.maximum,
    "less": lambda a, b: a < b,
    "compared sum": lambda a, b: (a + b) > 100,
    "float of a product": lambda a, b: (a * b).float(),
    "uint8": lambda a, b: (a * 3).to(torch.uint8),
    "int8": lambda a, b: a.to(torch.int8),
    "bool": lambda a, b: a.bool(),
    "transpose": lambda a, b: a.t(),
}
OF_WIDE = {"sum": lambda a, b: a.sum(1), "prod": lambda a, b: a.prod(1)}


def random_tensor(dtype, shape, generator):
    least, count = WHOLE[dtype][0], WHOLE[dtype][1] - WHOLE[dtype][0]
    values = torch.randint(0, count, shape, generator=generator) + least
    return values.to(dtype)


def bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


class Conversions(Case):
    def same(self, found, wanted, what):
        with self.subTest(what=what):
            self.assertEqual(found.dtype, wanted.dtype)
            self.assertEqual(found.shape, wanted.shape)
            self.assertTrue(torch.equal(found, wanted), (found, wanted))

    def test_whole_numbers_of_each_type(self):
        generator = torch.Generator().manual_seed(4)
        for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32):
            cstorch.finish()
            self.configure()
            a, b = (random_tensor(dtype, (8, 4), generator) for _ in range(2))
            calls = {**OPERATIONS, **(OF_WIDE if dtype in (torch.uint8, torch.int8) else {})}
            if dtype == torch.int32:  # in which their results are not PyTorch's: 64 bits
                calls.pop("float of a product")

            @cstorch.trace
            def step(batch):
                return {name: call(*batch) for name, call in calls.items()}

            for name, value in self.run_step(step, loader(a, b))[0].items():
                self.same(value, calls[name](a, b), f"{name} of {dtype}")

    def test_values_that_leave_a_step_are_exact(self):
        self.configure()
        values = {
            torch.int64: torch.tensor([[2**31 - 1], [-(2**31)], [2**24 + 1], [-(2**24) - 1]] * 2),
            torch.bool: torch.tensor([[True], [False]] * 4),
            torch.float16: torch.randn(8, 3).half(),
            torch.bfloat16: torch.randn(8, 3).bfloat16(),
            torch.float32: torch.randn(8, 3),
        }

        @cstorch.trace
        def step(batch):
            return [value * 1 if value.is_floating_point() else value for value in batch]

        found = self.run_step(step, loader(*values.values()))[0]
        for value, wanted in zip(found, values.values()):
            self.same(value, wanted, wanted.dtype)

    def test_constants_of_each_type(self):
        self.configure()
        generator = torch.Generator().manual_seed(5)
        constants = {t: random_tensor(t, (8, 6), generator) for t in WHOLE}
        constants = {
            **{f"{t}": v for t, v in constants.items()},
            **{f"{t} strided": v[:, ::2] for t, v in constants.items()},
            **{f"{t} turned": v.t().contiguous().t() for t, v in constants.items()},
            "half": torch.randn(8, 6).half(),
            "bfloat16": torch.randn(8, 6).bfloat16(),
        }

        @cstorch.trace
        def step(batch):
            zero = (batch[0][:, :1] * 0).to(torch.bool)  # [8, 1], so that the sum is of the step
            return {
                k: torch.where(zero, torch.zeros_like(v), v) for k, v in constants.items()
            }

        for name, value in self.run_step(step, loader(torch.randn(8, 2)))[0].items():
            self.same(value, constants[name], name)

    def test_whole_numbers_beyond_32_bits_are_refused(self):
        def refused(batch, pattern, body):
            cstorch.finish()
            self.configure()

            @cstorch.trace
            def step(values):
                return body(*values)

            with self.assertRaisesRegex(Exception, pattern):
                self.run_step(step, loader(*batch))

        x = torch.arange(8)
        beyond = "8589934592"
        refused((x,), beyond, lambda x: x + 2**33)
        refused((x,), beyond, lambda x: x < 2**33)
        refused((x,), beyond, lambda x: x + torch.full((8,), 2**33))
        refused((x,), "-2147483649", lambda x: x + torch.tensor([-(2**31) - 1]))
        refused((x + 2**33,), beyond, lambda x: x + 1)

    def test_a_state_beyond_32_bits_is_refused(self):
        self.configure()

        class Counting(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(2))
                self.register_buffer("count", torch.tensor([2**33]))

            def forward(self, x):
                self.count += 1
                return x * self.weight

        model = Counting()
        cstorch.compile(model)

        @cstorch.trace
        def step(batch):
            return model(batch[0]).sum()

        with self.assertRaisesRegex(Exception, "8589934592"):
            self.run_step(step, loader(torch.randn(8, 2)))

    def test_powers_of_whole_numbers(self):
        self.configure()
        x = torch.arange(8)

        @cstorch.trace
        def step(batch):
            return 2 ** batch[0], batch[0] ** 5

        two, fifth = self.run_step(step, loader(x))[0]
        self.same(two, 2**x, "2 ** x")
        self.same(fifth, x**5, "x ** 5")
        cstorch.finish()
        self.configure()

        @cstorch.trace
        def other(batch):
            return batch[0] ** batch[0]

        with self.assertRaisesRegex(Exception, "power of whole numbers"):
            self.run_step(other, loader(x))


class Inputs(unittest.TestCase):
    """What an input worker sends."""

    def test_types_of_inputs(self):
        for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32):
            values = torch.tensor([0, 1, 100]).to(dtype)
            self.assertTrue(torch.equal(worker.converted("x", values).to(dtype), values))
        wide = torch.tensor([2**40])
        self.assertTrue(torch.equal(worker.converted("x", wide), wide))
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            values = torch.tensor([0.5, float("inf"), float("nan")], dtype=dtype)
            found = worker.converted("x", values)
            self.assertEqual(found.dtype, torch.float32)
            torch.testing.assert_close(found.to(dtype), values, rtol=0, atol=0, equal_nan=True)

    def test_types_that_are_refused(self):
        for values, pattern in (
            (torch.tensor([1.0, 1e300], dtype=torch.float64), "1e.300.*beyond float32"),
            (torch.tensor([1 + 2j]), "input x is complex64"),
            (torch.tensor([2**31], dtype=torch.int64).to(torch.uint32), "input x is uint32"),
            (torch.tensor([1], dtype=torch.int64).to(torch.uint64), "input x is uint64"),
        ):
            with self.assertRaisesRegex(ValueError, pattern):
                worker.converted("x", values)

    def test_arrays(self):
        values = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
        for array in (values, values[::-1], values[:, ::-2], values.T, values.astype(">f4")):
            numpy.testing.assert_array_equal(as_tensor(array).numpy(), array)
        self.assertIs(as_tensor(3.5), as_tensor(3.5))


class Checkpoints(Case):
    def test_each_type_is_saved_as_it_is(self):
        self.configure(no_run_store=True)
        generator = torch.Generator().manual_seed(6)
        tensors = {}
        for dtype in (
            *WHOLE,
            torch.uint16,
            torch.uint32,
            torch.uint64,
            torch.float16,
            torch.bfloat16,
            torch.float32,
            torch.float64,
            torch.complex64,
            torch.complex128,
        ):
            for shape in ((), (3,), (2, 5), (0,), (3, 0, 2)):
                size = int(numpy.prod(shape)) * dtype.itemsize
                most = 2 if dtype == torch.bool else 256
                raw = torch.randint(0, most, (size,), generator=generator, dtype=torch.uint8)
                tensors[f"{dtype} {shape}"] = raw.view(dtype).reshape(shape)
        thirds = torch.arange(12, dtype=torch.float64).reshape(3, 4) / 3
        tensors["turned"] = thirds.t()
        tensors["strided"] = thirds[:, ::2]
        tensors["large"] = torch.tensor(2**40)
        path = self.folder + "/saved.mdl"
        cstorch.save(tensors, path)
        found = cstorch.load(path)
        self.assertEqual(list(found), list(tensors))
        for name, wanted in tensors.items():
            with self.subTest(tensor=name):
                self.assertEqual(found[name].dtype, wanted.dtype)
                self.assertEqual(found[name].shape, wanted.shape)
                self.assertTrue(torch.equal(bits(found[name]), bits(wanted)))


class Batches(Case):
    """What of a batch is no tensor with a batch axis."""

    def run_over(self, batch_of, body, steps=2):
        self.configure()

        class Batched(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter([batch_of(i) for i in range(4)])

        def input_fn():
            return torch.utils.data.DataLoader(Batched(), batch_size=None)

        @cstorch.trace
        def step(batch):
            return body(batch)

        return self.run_step(step, cstorch.utils.data.DataLoader(input_fn), steps)

    def test_texts_are_passed_over(self):
        seen = self.run_over(
            lambda i: {"name": [f"{i}", "b"], "x": torch.full((2, 3), float(i))},
            lambda batch: batch["x"].sum(),
        )
        self.assertEqual([float(v) for v in seen], [0.0, 6.0])

    def test_a_step_that_looks_at_texts(self):
        with self.assertRaisesRegex(Exception, "name of the batch is a list of texts"):
            self.run_over(
                lambda i: {"name": ["a", "b"], "x": torch.ones(2, 3)},
                lambda batch: batch["x"].sum() * len(batch["name"]),
            )

    def test_a_constant_that_changes(self):
        with self.assertRaisesRegex(Exception, "exit code 65|is a constant of the step"):
            self.run_over(
                lambda i: {"scale": 1.0 + i, "x": torch.ones(2, 3)},
                lambda batch: (batch["x"] * batch["scale"]).sum(),
            )


if __name__ == "__main__":
    unittest.main()
