"""What save() and load() give back, beside torch.save and torch.load; and that a save has the
program's values at each moment, whatever the program did before."""

import copy
import json
import os
import random
import struct
import subprocess
import sys

import torch

import cstorch
from nested_values import random_value, same
from programs import Case, loader

# Number of random cases; long tests have more.
VALUES = int(os.environ.get("CSE_RANDOM_VALUES", "150"))


class Values(Case):
    def setUp(self):
        super().setUp()
        self.configure(no_run_store=True)
        self.path = self.folder + "/x.mdl"

    def test_nested_values_come_back_as_they_were(self):
        for seed in range(VALUES):
            value = random_value(random.Random(seed))
            cstorch.save(value, self.path)
            found = cstorch.load(self.path)
            self.assertTrue(same(found, value), (seed, value, found))
            at_once = cstorch.load(self.path, map_location="cpu")
            self.assertTrue(same(at_once, value), (seed, value, at_once))
            torch.save(at_once, self.folder + "/x.pt")
            pickled = torch.load(self.folder + "/x.pt", weights_only=False)
            self.assertTrue(same(pickled, value), (seed, value, pickled))

    def test_changes_of_loaded_tensors_stay(self):
        cstorch.save({"a": torch.arange(4.0), "b": torch.arange(4.0)}, self.path)
        found = cstorch.load(self.path)
        found["a"].mul_(2)
        found["b"].view(2, 2)[0, 0] = 7
        self.assertEqual(found["a"].tolist(), [0, 2, 4, 6])
        self.assertEqual(found["b"].tolist(), [7, 1, 2, 3])
        self.assertEqual(copy.deepcopy(found["a"]).numpy().tolist(), [0, 2, 4, 6])
        self.assertEqual((found["a"] + found["b"]).tolist(), [7, 3, 6, 9])

    def test_tensors_are_read_when_they_are_needed(self):
        cstorch.save({"model": {"w": torch.ones(16 << 20)}}, self.path)
        program = (
            "import resource, sys, torch, cstorch\n"
            "begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "found = cstorch.load(sys.argv[1])['model']['w']\n"
            "assert found.shape == (16 << 20,) and found.dtype == torch.float32\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin)\n"
            "assert found.sum() == 16 << 20\n"
        )
        told = subprocess.run(
            [sys.executable, "-c", program, self.path], capture_output=True, text=True, check=True
        )
        self.assertLess(int(told.stdout), 16 << 10)  # KiB, of a file of 64 MiB

    def test_damage_is_told_when_a_tensor_is_read(self):
        cstorch.save({"w": torch.ones(1 << 16)}, self.path)
        with open(self.path, "r+b") as file:
            content = file.read()
            at = content.index(struct.pack("<f", 1.0) * 100)
            file.seek(at + 40)
            file.write(b"\x01")
        with self.assertRaisesRegex(cstorch.CsengineError, "damaged|digest"):
            cstorch.load(self.path)["w"].sum()

    def test_files_of_other_programs(self):
        value = {"w": torch.randn(3), "n": [1, "a"]}
        torch.save(value, self.folder + "/x.pt")
        self.assertTrue(same(cstorch.load(self.folder + "/x.pt"), value))
        elements = torch.arange(6, dtype=torch.int64)
        header = {
            "__metadata__": {"format": "pt"},
            "a": {"dtype": "F32", "shape": [1, 3], "data_offsets": [0, 12]},
            "b": {"dtype": "I64", "shape": [6], "data_offsets": [12, 60]},
        }
        text = json.dumps(header).encode()
        with open(self.folder + "/x.safetensors", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.write(struct.pack("<3f", 1, 2, 3) + elements.numpy().tobytes())
        found = cstorch.load(self.folder + "/x.safetensors")
        self.assertEqual(found["a"].tolist(), [[1, 2, 3]])
        self.assertTrue(torch.equal(found["b"], elements))

    def test_tensors_that_no_checkpoint_holds(self):
        with self.assertRaisesRegex(TypeError, "a is a torch.sparse_coo tensor.*to_dense"):
            cstorch.save({"a": torch.eye(3).to_sparse()}, self.path)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.nn.Linear(4, 2)
        self.register_buffer("count", torch.zeros(3, dtype=torch.int64))

    def forward(self, x):
        return self.last(x)


X = torch.randn(64, 4, generator=torch.Generator().manual_seed(1))


class Moments(Case):
    """Saves around executions and changes, beside a model of torch that does the same; random
    sequences of them are in test_random_calls.py."""

    def begin(self):
        cstorch.finish()
        torch.manual_seed(3)
        self.configure(no_run_store=True, seed=5)
        self.model = Net()
        cstorch.compile(self.model)
        self.optimizer = cstorch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.5)
        self.twin = copy.deepcopy(self.model)
        self.momentum = {}

    def train(self):
        """A step of both; from then on the twin has the engine's digits."""
        model, optimizer = self.model, self.optimizer
        before = {n: p.detach().clone() for n, p in model.named_parameters()}

        @cstorch.trace
        def step(batch):
            loss = model(batch[0]).square().sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        for batch in cstorch.utils.data.DataExecutor(
            loader(X, batch_size=64), num_steps=1, checkpoint_steps=1
        ):
            step(batch)
        self.twin.zero_grad()
        self.twin(X).square().sum().backward()
        with torch.no_grad():
            for name, p in self.twin.named_parameters():
                old = self.momentum.get(name)
                self.momentum[name] = p.grad.clone() if old is None else old * 0.5 + p.grad
                torch.testing.assert_close(before[name], p, rtol=0, atol=0)
                p.sub_(0.1 * self.momentum[name])
                found = dict(model.named_parameters())[name]
                torch.testing.assert_close(found, p, rtol=1e-4, atol=1e-4)
                p.copy_(found)
            for name, values in optimizer.state_dict()["state"].items():
                torch.testing.assert_close(
                    values["momentum_buffer"], self.momentum[name], rtol=1e-4, atol=1e-4
                )
                self.momentum[name] = values["momentum_buffer"]

    def compare(self, found, wanted):
        """Two states of the optimizer; a file has the parameters in an order of its own."""
        self.assertEqual(set(found["state"]), {"last.weight", "last.bias"})
        for name, values in wanted["state"].items():
            self.assertTrue(same(dict(found["state"][name]), values), name)

    def test_a_change_after_an_execution_without_checkpoints_is_refused(self):
        self.begin()
        step = cstorch.trace(lambda batch: self.trained(batch))
        self.run_step(step, loader(X, batch_size=64))
        self.model.last.weight.data.mul_(0.9)
        with self.assertRaisesRegex(cstorch.CsengineError, "checkpoint on its last step"):
            cstorch.save({"model": self.model.state_dict()}, self.folder + "/no.mdl")
        with self.assertRaisesRegex(cstorch.CsengineError, "checkpoint on its last step"):
            self.run_step(step, loader(X, batch_size=64))

    def trained(self, batch):
        loss = self.model(batch[0]).square().sum()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss

    def test_a_closure_may_save_other_weights_and_put_them_back(self):
        self.begin()
        paths = []

        @cstorch.checkpoint_closure
        def save():
            weight = self.model.last.weight
            kept = weight.detach().clone()
            weight.data.zero_()
            paths.append(self.folder + "/zero.mdl")
            cstorch.save({"model": self.model.state_dict()}, paths[-1])
            weight.data.copy_(kept)

        step = cstorch.trace(lambda batch: self.trained(batch))
        for batch in cstorch.utils.data.DataExecutor(
            loader(X, batch_size=64), num_steps=2, checkpoint_steps=1
        ):
            step(batch)
            save()
        self.assertEqual(cstorch.load(paths[0])["model"]["last.weight"].abs().sum(), 0)

    def test_another_parameter_in_place_of_one_is_refused(self):
        self.begin()
        self.model.load_state_dict(Net().state_dict(), assign=True)
        with self.assertRaisesRegex(RuntimeError, "last.weight is not the parameter.*assign"):
            cstorch.save({"model": self.model.state_dict()}, self.folder + "/no.mdl")

    def test_states_of_the_engines_parts_are_tensors(self):
        self.begin()
        self.train()
        path = self.folder + "/parts.mdl"
        cstorch.save({"optimizer": self.optimizer.state_dict()}, path)
        at_once = cstorch.load(path, map_location="cpu")
        torch.save(at_once, self.folder + "/parts.pt")
        os.unlink(path)
        state = torch.load(self.folder + "/parts.pt")["optimizer"]
        wanted = copy.deepcopy(self.optimizer.state_dict())
        self.compare(state, wanted)
        self.train()
        self.optimizer.load_state_dict(state)
        self.compare(self.optimizer.state_dict(), wanted)
        del state["state"]["last.weight"]
        with self.assertRaisesRegex(ValueError, "it lacks last.weight.momentum_buffer"):
            self.optimizer.load_state_dict(state)


if __name__ == "__main__":
    import unittest

    unittest.main()
