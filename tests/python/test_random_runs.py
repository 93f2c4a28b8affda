"""Random sequences of runs, stops, kills, changes and resumed runs of `csengine`, from Python
without PyTorch: at each moment the run has the bits of the same training in one go.

CSE_RANDOM_RUNS: how many calls; CSE_RANDOM_SEED: the number of the first sequence. A failing
sequence is printed as Python, as short as it could be made; `begin` and the calls are those here.
"""

import json
import os
import pathlib
import random
import shutil
import struct
import sys
import tempfile
import unittest

import numpy

import csengine
from random_calls import Sequences, Table, one_of
from small_run import configuration

CALLS = int(os.environ.get("CSE_RANDOM_RUNS", "8"))
SEED = int(os.environ.get("CSE_RANDOM_SEED", "1"))
LENGTH = 6  # calls of a sequence
FAR = 10**7  # steps that no run of a test comes to

table = Table()


class Parts:
    """A training in parts, and what the same in one go is.

    Attributes:
        run: the csengine.Run, None before the first part.
        step: the last step of it.
        origin: how the one go begins: settings of csengine.run, of a fresh folder.
        rate: the learning rate since then.
    """

    def __init__(self, test, seed):
        self.test = test
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="runs-", dir=test.folder))
        chooser = random.Random(seed)
        self.config = configuration(num_steps=FAR, checkpoint_steps=chooser.choice((4, 7)))
        loop = self.config["trainer"]["init"]["loop"]
        del loop["num_steps"]
        self.config["trainer"]["init"]["seed"] = seed
        momentum = chooser.choice((0.0, 0.5))
        self.config["trainer"]["init"]["optimizer"] = {"SGD": {"lr": 0.1, "momentum": momentum}}
        self.number = 0
        self.run, self.step = None, 0
        self.origin, self.rate = {}, 0.1
        self.model_dir = self.new_folder()

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_folder(self):
        self.number += 1
        return self.folder / str(self.number)

    def settings(self):
        name = next(iter(self.config["trainer"]["init"]["optimizer"]))
        return {
            f"optimizer.{name}.lr": self.rate,
            "compile_dir": str(self.folder / "compiled"),
        }

    def start(self, last, **settings):
        given = {**self.settings(), **(self.origin if self.run is None else {}), **settings}
        self.run = csengine.run(self.config, model_dir=self.model_dir, max_steps=last, **given)
        return self.run

    def whole(self):
        """The same training in one go to the present step: its run."""
        return csengine.run(
            self.config,
            model_dir=self.new_folder(),
            wait=True,
            max_steps=self.step,
            **self.settings(),
            **self.origin,
        )

    def compare(self):
        """The newest checkpoint and the losses are those of one go."""
        if self.run is None:
            return
        newest = self.run.checkpoints()[-1]
        self.test.assertEqual(newest.step, self.step)
        self.test.assertEqual(csengine.Run(self.model_dir).step, self.step)
        one = self.whole()
        same, report = csengine.compare(newest.path, one.checkpoints()[-1].path)
        self.test.assertTrue(same, report)
        self.test.assertEqual(self.run.weights_digest, one.weights_digest)
        points = dict(one.points("loss"))
        found = {p.step: p.value for p in self.run.points("loss") if p.step in points}
        self.test.assertEqual(found, points)
        self.test.assertIn("<svg" if len(found) > 1 else "<table", self.run._repr_html_())
        shutil.rmtree(one.model_dir)


def has_begun(parts, *_):
    return parts.run is not None


@table.call(one_of(1, 3, 8, 20), one_of(1, 2, 3), often=4)
def run_further(parts, steps, replicas):
    """A part of some steps, with any number of replicas."""
    parts.start(parts.step + steps, num_csx=replicas).wait()
    parts.step += steps


@table.call(one_of(1, 5))
def stop_behind(parts, points):
    """A part that is stopped: it ends with a checkpoint, wherever it is."""
    with parts.start(FAR) as run:
        for number, _ in enumerate(run.metrics("loss", timeout=60), 1):
            if number == points:
                break
    parts.step = run.step


@table.call(one_of(1, 5))
def kill_behind(parts, points):
    """A part whose process is killed, and one that goes on from its newest checkpoint, which may
    be one that another process was writing; it goes far enough to be behind that."""
    run = parts.start(FAR)
    for number, _ in enumerate(run.metrics("loss", timeout=60), 1):
        if number == points:
            break
    run.process.kill()
    run.process.wait()
    files = pathlib.Path(parts.model_dir).glob("checkpoint_*.mdl")
    steps = [int(file.stem.rpartition("_")[2]) for file in files]
    parts.step = max([csengine.Run(parts.model_dir).step, *steps]) + 60
    parts.start(parts.step).wait()


@table.call(possible=has_begun)
def read(parts):
    """Each checkpoint is that of its step, and what it holds can be read."""
    for file in parts.run.checkpoints():
        with csengine.Checkpoint(file.path) as checkpoint:
            parts.test.assertEqual(checkpoint["global_step"], file.step)
            for name in checkpoint:
                if checkpoint.is_tensor(name):
                    values = checkpoint[name]
                    parts.test.assertEqual(values.shape, checkpoint.shape(name))
                    parts.test.assertTrue(numpy.isfinite(values).all(), name)


@table.call(possible=has_begun)
def go_on_in_a_copy(parts):
    copied = parts.new_folder()
    shutil.copytree(parts.model_dir, copied)
    facts = parts.run.facts()
    shutil.rmtree(parts.model_dir)
    parts.model_dir = copied
    parts.run = csengine.Run(copied)
    parts.test.assertEqual(parts.run.facts(), facts)


@table.call(one_of(0.05, 0.2), one_of(1, 6), possible=has_begun)
def change_rate(parts, rate, steps):
    """Another learning rate from here on: the one go begins from a copy of the checkpoint."""
    kept = parts.folder / f"origin-{parts.step}-{parts.number}.mdl"
    shutil.copy(parts.run.checkpoints()[-1].path, kept)
    parts.origin, parts.rate = {"checkpoint_path": str(kept)}, rate
    run_further(parts, steps, 1)


@table.call(one_of(0.5, -1.0), possible=has_begun)
def begin_with_changed_weights(parts, factor):
    """The weights as arrays, changed, are those that a fresh run begins with."""
    path = parts.folder / f"weights-{parts.number}.safetensors"
    with csengine.Checkpoint(parts.run.checkpoints()[-1].path) as checkpoint:
        names = [n for n in checkpoint if n.startswith("model.")]
        write_safetensors(
            path,
            {n.removeprefix("model."): checkpoint[n] * numpy.float32(factor) for n in names},
        )
    parts.run, parts.step = None, 0
    parts.origin = {"weights": str(path)}
    parts.model_dir = parts.new_folder()


def write_safetensors(path, arrays):
    """https://huggingface.co/docs/safetensors"""
    header, content = {}, b""
    for name, array in arrays.items():
        begin = len(content)
        content += array.astype("<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [begin, len(content)],
        }
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)


class RandomRuns(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="csengine-random-runs-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.environ["XDG_CACHE_HOME"] = self.folder

    def test_parts_have_the_bits_of_one_go(self):
        sequences = Sequences(table, lambda seed: Parts(self, seed))
        failures, seed = [], SEED
        while sequences.calls < CALLS:
            failure = sequences.random(seed, LENGTH)
            if failure is not None:
                failures.append(failure)
                print(failure, file=sys.stderr, flush=True)
            seed += 1
        print(f"{sequences.calls} calls in sequences {SEED} to {seed - 1}: {len(failures)} fail")
        self.assertEqual(len(failures), 0, "see above")


if __name__ == "__main__":
    unittest.main()
