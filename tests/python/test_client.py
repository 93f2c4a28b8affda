"""A Python process with the client library: what it loads, the floating-point mode of its caller,
and the bits of the program."""

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import torch

import csengine
import cstorch
from csengine.library import ffi, lib

MODES = {"usual": False, "subnormals flushed": True}


OTHERS = re.compile(r"/(torch|torch\.libs|h5py|h5py\.libs|numpy|numpy\.libs)/")


def ours(names):
    """Files in this process's memory with one of the names, but those that PyTorch, h5py and numpy
    have inside."""
    with open("/proc/self/maps") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if line.count("/")}
    return sorted(
        p for p in paths if re.search(names, os.path.basename(p)) and not OTHERS.search(p)
    )


def mode():
    """How the calling thread rounds, and what it makes of a subnormal number."""
    libm = ctypes.CDLL("libm.so.6")
    tiny = torch.full((16,), 1e-40)
    return libm.fegetround(), bool((tiny * 1.0 == 0).all())


class Client(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="csengine-client-")
        os.environ["XDG_CACHE_HOME"] = self.folder
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(cstorch.finish)
        self.addCleanup(torch.set_flush_denormal, False)

    def train(self, model_dir):
        """A training with everything: closures, a checkpoint in the loop, one after it."""
        torch.manual_seed(1)
        before = mode()
        seen = []
        cstorch.configure(model_dir=model_dir, num_csx=2)
        model = cstorch.compile(torch.nn.Linear(6, 3))
        optimizer = cstorch.optim.AdamW(model.parameters(), lr=0.01)
        x, y = torch.randn(32, 6), torch.arange(32) % 3

        def input_fn():
            return torch.utils.data.DataLoader(
                torch.utils.data.TensorDataset(x, y), batch_size=8, shuffle=True
            )

        @cstorch.trace
        def step(batch):
            seen.append(mode())
            inputs, targets = batch
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        @cstorch.step_closure
        def show(loss):
            seen.append(mode())

        @cstorch.checkpoint_closure
        def save():
            cstorch.save({"model": model.state_dict()}, model_dir + "/saved.mdl")
            seen.append(mode())

        data = cstorch.utils.data.DataLoader(input_fn)
        for batch in cstorch.utils.data.DataExecutor(data, num_steps=6, checkpoint_steps=3):
            seen.append(mode())
            show(step(batch))
            save()
        loaded = cstorch.load(model_dir + "/saved.mdl")["model"]
        seen.append(mode())
        cstorch.finish()
        self.assertEqual(set(seen), {before})
        self.assertEqual(mode(), before)
        return loaded

    def test_nothing_of_ours_brings_an_openmp_a_onednn_or_an_hdf5(self):
        self.train(self.folder + "/one")
        self.assertEqual(ours("gomp|iomp|libomp|dnnl|mkldnn|hdf5|OpenCL"), [])
        loaded = ours("csengine")
        self.assertTrue(any("csengine_client" in path for path in loaded), loaded)
        self.assertFalse(any(re.search(r"libcsengine\.so", path) for path in loaded), loaded)

    def test_the_mode_is_kept_and_has_no_effect(self):
        kept = []
        for number, flushed in enumerate(MODES.values()):
            self.assertTrue(torch.set_flush_denormal(flushed))
            self.assertEqual(mode()[1], flushed)
            kept.append(self.train(f"{self.folder}/{number}"))
        for name, value in kept[0].items():
            self.assertTrue(torch.equal(value, kept[1][name]), name)

    def test_the_bits_are_those_of_the_program(self):
        settings = {"name": "fc_mnist", "input_size": 8, "hidden_sizes": [16], "num_classes": 3}
        data = (
            "{data_processor: synthetic, samples: 300, features: [8], classes: 3, "
            "batch_size: 30, micro_batch_size: 10}"
        )
        config = f"""
trainer:
  init:
    model: {{name: fc_mnist, input_size: 8, hidden_sizes: [16], num_classes: 3}}
    optimizer: {{AdamW: {{lr: 0.01}}}}
    loop: {{num_steps: 12}}
    checkpoint: {{steps: 12}}
    seed: 3
  fit:
    train_dataloader: {data}
"""
        path = self.folder + "/config.yaml"
        with open(path, "w") as file:
            file.write(config)
        run = csengine.run(path, model_dir=self.folder + "/program", wait=True)

        class Step:
            def trace(self, step):
                loss = lib.cse_model_loss(self.model, step, ffi.NULL)
                lib.cse_optimizer_step(step, loss, self.optimizer, ffi.NULL, ffi.NULL)
                return loss

        kept = [
            ffi.new("char[]", (self.folder + "/here").encode()),
            ffi.new("char[]", csengine.program.executable().encode()),
            ffi.new("char[]", data.encode()),
        ]
        configuration = {"model_dir": kept[0], "worker_executable": kept[1], "seed": 3}
        self.assertEqual(lib.cse_configure(ffi.new("cse_configuration *", configuration)), 0)
        self.addCleanup(lib.cse_finish)
        step = Step()
        text = ", ".join(f"{k}: {v}" for k, v in settings.items() if k != "name")
        step.model = lib.cse_compile(lib.cse_model_new(b"fc_mnist", f"{{{text}}}".encode()))
        step.optimizer = lib.cse_configure_optimizer(b"AdamW", step.model, b"{lr: 0.01}")
        executor = lib.cse_executor_new(
            ffi.new("cse_executor_options *", {"input": kept[2], "num_steps": 12})
        )
        handle = ffi.new_handle(step)
        csengine.library.check(lib.cse_run(executor, lib.csengine_trace_step, handle))
        csengine.library.check(lib.cse_save((self.folder + "/here.mdl").encode()))
        self.assertTrue(csengine.compare(run.checkpoints()[-1].path, self.folder + "/here.mdl")[0])

    def test_a_process_that_loaded_other_libraries_first(self):
        others = "h5py, torch" if importlib.util.find_spec("h5py") else "torch"
        program = (
            f"import {others}, csengine.library, sys\n"
            "maps = open('/proc/self/maps').read()\n"
            "sys.exit(maps.count('libcsengine_client') == 0)"
        )
        subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


if __name__ == "__main__":
    unittest.main()
