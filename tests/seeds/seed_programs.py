"""What the tests of statements about Python programs share: the data, the networks and the loops of
tests/python/programs.py, and a look at the step that was planned."""

import contextlib
import json
import os
import shutil
import tempfile
import warnings

import torch

import csengine
import cstorch
from programs import Case, loader
from statements import Statements

__all__ = ["Net", "Programs", "X", "Y", "cstorch", "data", "loader", "torch"]

_generator = torch.Generator().manual_seed(7)
X = torch.randn(64, 16, generator=_generator)
Y = torch.randint(0, 4, (64,), generator=_generator)


def data(**settings):
    """Batches of 16 rows of X with their classes."""
    return cstorch.utils.data.DataLoader(make_data, **settings)


def make_data(batch_size=16):
    dataset = torch.utils.data.TensorDataset(X, Y)
    return torch.utils.data.DataLoader(dataset, batch_size=batch_size)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(16, 32)
        self.last_layer = torch.nn.Linear(32, 4)

    def forward(self, x):
        return self.last_layer(torch.relu(self.fc1(x)))


# Steps that are equal are compiled once for all tests.
_cache = tempfile.TemporaryDirectory(prefix="csengine-seeds-")


class Programs(Statements, Case):
    """One session and one folder a test."""

    def setUp(self):
        super().setUp()
        os.environ["XDG_CACHE_HOME"] = _cache.name
        self.addCleanup(os.chdir, os.getcwd())

    def configure(self, **settings):
        """A run in an empty folder."""
        shutil.rmtree(os.path.join(self.folder, "model"), ignore_errors=True)
        super().configure(**settings)

    def begin(self, model=None, optimizer="SGD", **settings):
        """A configured run with a model and an optimizer: model, compiled model, optimizer."""
        self.configure(**settings)
        model = Net() if model is None else model
        compiled = cstorch.compile(model, backend="wse_ws")
        kwargs = {"lr": 0.1}
        made = cstorch.optim.configure_optimizer(
            optimizer_type=optimizer, params=model.parameters(), **kwargs
        )
        return model, compiled, made

    def train(self, compiled, optimizer, steps=3, scaler=None, **options):
        """Trains it on the first batches of X; its losses."""

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = torch.nn.functional.cross_entropy(compiled(inputs), targets)
            cstorch.amp.optimizer_step(loss, optimizer, scaler)
            return loss

        return [v.item() for v in self.run_step(training_step, data(), steps, **options)]

    def planned(self):
        """The ops of the training step, with their types and their sums."""
        run = csengine.Run(os.path.join(self.folder, "model"))
        rows = run._query("SELECT content FROM artefacts WHERE name = 'precision.json'")
        return json.loads(rows[-1][0])["ops"]

    @contextlib.contextmanager
    def warned(self):
        """The texts of the warnings of a block."""
        texts = []
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            yield texts
            texts += [str(w.message) for w in found]
