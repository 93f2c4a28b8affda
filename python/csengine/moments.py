"""A step of the past: its states by replay (`csengine inspect`)."""

import collections.abc
import json
import os
import re
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
        self._answer = None  # of the states
        self._arrays = None
        self._found = {}  # values that the step computed, by name

    def _ask(self, *words):
        import numpy

        from csengine.program import CommandError, call

        with tempfile.TemporaryDirectory(prefix="csengine-") as folder:
            path = os.path.join(folder, "tensors.npz")
            words = ["--step", str(self.step), "--values", "0", "--output", path, "--json", *words]
            if self._num_csx is not None:
                words += ["--num_csx", str(self._num_csx)]
            done = call("inspect", self.model_dir, *words, check=False)
            if not os.path.exists(path) or not done.stdout.startswith("{"):
                raise CommandError("inspect", done.returncode, done.stdout + done.stderr)
            with numpy.load(path) as arrays:
                return json.loads(done.stdout.splitlines()[0]), dict(arrays)

    def _look(self):
        if self._answer is None:
            self._answer, self._arrays = self._ask()

    def computed(self, pattern, microbatch=None, sample=None):
        """What the step computed, as {name: array}: values of its forward and backward pass.

        Args:
            pattern: a name, the end of one behind a dot, or a regular expression of these:
                "fc_layers.1.relu", ".*gradient".
            microbatch: of this one alone, from 0. Without it values are of the whole batch, and
                gradients are sums over it.
            sample: the rows of this sample alone, by its number in the data.
        """
        words = ["--computed", "--tensor", pattern]
        if microbatch is not None:
            words += ["--microbatch", str(microbatch)]
        if sample is not None:
            words += ["--sample", str(sample)]
        return self._ask(*words)[1]

    def __getitem__(self, name):
        """A state after the step, or else a value that the step computed."""
        from csengine.program import CommandError

        self._look()
        if name in self._arrays:
            return self._arrays[name]
        if name not in self._found:
            if self.step < 1:
                raise KeyError(name)
            try:
                found = self.computed(re.escape(name).replace("\\#", "#"))
            except CommandError as error:
                raise KeyError(f"{name}: {error}") from error
            if len(found) != 1:
                raise KeyError(f"{name} is the end of several names: {', '.join(found)}")
            self._found[name] = next(iter(found.values()))
        return self._found[name]

    def __contains__(self, name):
        self._look()
        return name in self._arrays

    def __iter__(self):
        self._look()
        return iter(self._arrays)

    def __len__(self):
        self._look()
        return len(self._arrays)

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
