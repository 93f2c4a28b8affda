"""Run by check_wheel.sh in an environment with the wheel: runs of its program, and a training with
PyTorch where that is installed."""

import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import csengine
from small_run import configuration

PACKAGES = pathlib.Path(sys.argv.pop())
HAS_COMPILER = any(shutil.which(name) for name in ("cc", "gcc", "clang"))
HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "cloudpickle"))
CONFIG = configuration(num_steps=20, checkpoint_steps=20)


class Wheel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="csengine-wheel-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def test_it_is_the_wheel_s(self):
        for path in (csengine.__file__, csengine.program.executable()):
            self.assertIn(PACKAGES, pathlib.Path(path).parents)

    def test_a_run(self):
        one = csengine.run(CONFIG, model_dir=self.folder + "/one", wait=True)
        two = csengine.run(CONFIG, model_dir=self.folder + "/two", wait=True, num_csx=2)
        self.assertEqual(one.weights_digest, two.weights_digest)
        points = list(one.metrics("loss"))
        self.assertLess(points[-1].value, points[0].value)
        with csengine.Checkpoint(one.checkpoints()[-1].path) as checkpoint:
            self.assertEqual(checkpoint["global_step"], 20)
        told = pathlib.Path(one.output_path).read_text()
        self.assertEqual("the step runs interpreted" in told, not HAS_COMPILER, told)

    def test_the_pages_are_inside(self):
        program = pathlib.Path(csengine.program.executable()).read_bytes()
        self.assertIn(b"index.html", program)

    @unittest.skipUnless(HAS_TORCH, "PyTorch and cloudpickle are not installed")
    def test_a_training_with_pytorch(self):
        import torch

        import cstorch

        torch.manual_seed(1)
        cstorch.configure(model_dir=self.folder + "/torch")
        self.addCleanup(cstorch.finish)
        network = torch.nn.Linear(6, 3)
        reference = torch.nn.Linear(6, 3)
        reference.load_state_dict(network.state_dict())
        model = cstorch.compile(network)
        optimizer = cstorch.optim.SGD(model.parameters(), lr=0.1)
        inputs, targets = torch.randn(16, 6), torch.arange(16) % 3

        def input_fn():
            data = torch.utils.data.TensorDataset(inputs, targets)
            return torch.utils.data.DataLoader(data, batch_size=16)

        @cstorch.trace
        def step(batch):
            loss = torch.nn.functional.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        losses = []
        show = cstorch.step_closure(lambda loss: losses.append(loss.item()))
        data = cstorch.utils.data.DataLoader(input_fn)
        for batch in cstorch.utils.data.DataExecutor(data, num_steps=5):
            show(step(batch))
        expected = []
        usual = torch.optim.SGD(reference.parameters(), lr=0.1)
        for _ in range(5):
            loss = torch.nn.functional.cross_entropy(reference(inputs), targets)
            usual.zero_grad()
            loss.backward()
            usual.step()
            expected.append(loss.item())
        for ours, theirs in zip(losses, expected):
            self.assertAlmostEqual(ours, theirs, places=5)
        self.assertEqual(len(losses), 5)
        with open("/proc/self/maps") as maps:
            loaded = [line.split()[-1] for line in maps if str(PACKAGES) in line]
        self.assertTrue(any("csengine_client" in os.path.basename(path) for path in loaded))
        self.assertFalse(
            [p for p in loaded if any(w in os.path.basename(p) for w in ("gomp", "dnnl", "hdf5"))]
        )


if __name__ == "__main__":
    unittest.main()
