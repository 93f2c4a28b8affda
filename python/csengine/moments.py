"""A step of the past: its states by replay (`csengine inspect`)."""

import collections.abc
import json
import os
import tempfile


class Moment(collections.abc.Mapping):
    """The weights and the states of the optimizer after a step of a run, by name.

    The first look does the steps again from the nearest checkpoint; later ones read what that
    left. Values are NumPy arrays.

    Args:
        model_dir: the run's folder.
        step: after so many steps; 0: before the first.
        num_csx: processes that compute; None: as the run had.
    """

    def __init__(self, model_dir, step, num_csx=None):
        self.model_dir = model_dir
        self.step = step
        self._num_csx = num_csx
        self._folder = None
        self._answer = None
        self._arrays = None

    def _look(self):
        if self._answer is not None:
            return
        import numpy

        from csengine.program import CommandError, call

        folder = tempfile.TemporaryDirectory(prefix="csengine-")
        path = os.path.join(folder.name, "states.npz")
        words = ["--step", str(self.step), "--values", "0", "--output", path, "--json"]
        if self._num_csx is not None:
            words += ["--num_csx", str(self._num_csx)]
        done = call("inspect", self.model_dir, *words, check=False)
        if not os.path.exists(path) or not done.stdout.startswith("{"):
            raise CommandError("inspect", done.returncode, done.stdout + done.stderr)
        self._answer = json.loads(done.stdout.splitlines()[0])
        self._arrays = numpy.load(path)
        self._folder = folder

    def __getitem__(self, name):
        self._look()
        return self._arrays[name]

    def __iter__(self):
        self._look()
        return iter(self._arrays.files)

    def __len__(self):
        self._look()
        return len(self._arrays.files)

    @property
    def bits(self):
        """same: these are the run's bits; other: they are not; unknown: it has no digests."""
        self._look()
        return self._answer["bits"]

    @property
    def words(self):
        """The same, and why, for people."""
        self._look()
        return self._answer["words"]

    @property
    def chain(self):
        """The run's chain of digests after the step; None: it has none."""
        self._look()
        return self._answer["chain"]

    @property
    def scalars(self):
        """What was recorded of the step: {"loss": ...}."""
        self._look()
        return self._answer["scalars"]
