"""What the tests of cstorch share: small data, a loop around a step, one session a test."""

import os
import shutil
import tempfile
import unittest

import torch

import cstorch


def loader(*tensors, batch_size=8, shuffle=False):
    """A data loader of the run over tensors."""

    def input_fn():
        return torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(*tensors), batch_size=batch_size, shuffle=shuffle
        )

    return cstorch.utils.data.DataLoader(input_fn)


class Case(unittest.TestCase):
    """One session and one model_dir a test."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="csengine-python-")
        os.environ["XDG_CACHE_HOME"] = self.folder
        torch.manual_seed(0)

    def tearDown(self):
        cstorch.finish()
        shutil.rmtree(self.folder, ignore_errors=True)

    def configure(self, **settings):
        cstorch.configure(model_dir=os.path.join(self.folder, "model"), **settings)

    def run_step(self, step, data, steps=1, **options):
        """Runs a traced function; returns what it returned at each step, as tensors."""
        seen = []

        @cstorch.step_closure
        def keep(values):
            seen.append(values)

        for batch in cstorch.utils.data.DataExecutor(data, num_steps=steps, **options):
            keep(step(batch))
        return seen
