"""Input workers of Python data: how they begin, how they end, and that one that was killed changes
nothing."""

import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import torch

import cstorch
from cstorch import worker_parent
from programs import Case

STEPS = 600  # far more than the program can be ahead of closures


class Rows(torch.utils.data.Dataset):
    """Samples that say which process read them; the one `bad` cannot be read."""

    def __init__(self, bad=None):
        self.bad = bad

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        if index == self.bad:
            raise ValueError("sample of no use")
        noise = torch.randn(4)
        process = [os.getpid(), os.getppid(), torch.get_num_threads()]
        return noise, torch.tensor(process, dtype=torch.int32)


def made(bad=None):
    return torch.utils.data.DataLoader(Rows(bad), batch_size=8)


def children(process):
    """Numbers of the processes that this one started."""
    listed = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True)
    return [int(line) for line in listed.stdout.split()]


def wait_for(condition, what):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} in vain for 60 s")
        time.sleep(0.01)


def parent():
    """The prepared process."""
    return worker_parent._started[0]


class Workers(Case):
    undisturbed = None

    def train(self, after=lambda number: None, bad=None, **settings):
        """(losses, processes that read) of the steps; `after` is called with each step's number."""
        self.configure(seed=5, **settings)
        torch.manual_seed(1)
        weight = torch.nn.Linear(4, 1)
        cstorch.compile(weight)
        optimizer = cstorch.optim.SGD(weight.parameters(), lr=0.1)
        losses, readers = [], []

        @cstorch.trace
        def step(batch):
            loss = weight(batch[0]).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss, batch[1]

        @cstorch.step_closure
        def see(values):
            losses.append(float(values[0]))
            readers.extend(map(tuple, values[1].tolist()))
            after(len(losses))

        loader = cstorch.utils.data.DataLoader(made, bad)
        for batch in cstorch.utils.data.DataExecutor(loader, num_steps=STEPS):
            see(step(batch))
        cstorch.finish()
        return losses, readers

    @classmethod
    def expected(cls):
        """Losses of a training of which no process is killed."""
        if cls.undisturbed is None:
            case = cls("train")
            case.setUp()
            cls.undisturbed = case.train()[0]
            case.tearDown()
        return cls.undisturbed

    def without_parent(self):
        """The address of the prepared process is not known to what is started in the test."""
        address = os.environ.pop(worker_parent.ADDRESS)
        self.addCleanup(os.environ.__setitem__, worker_parent.ADDRESS, address)

    def test_a_worker_is_forked_of_the_prepared_process(self):
        _, readers = self.train(num_workers_per_csx=2)
        self.assertEqual({ppid for _, ppid, _ in readers}, {parent().pid})
        self.assertEqual({threads for _, _, threads in readers}, {1})
        self.assertEqual(len({pid for pid, _, _ in readers}), 2)
        wait_for(lambda: not children(parent().pid), "waited for the end of its workers")

    def test_a_worker_begins_without_it(self):
        wanted = self.expected()
        self.without_parent()
        losses, readers = self.train()
        self.assertEqual(losses, wanted)
        self.assertNotIn(parent().pid, {ppid for _, ppid, _ in readers})

    def killed(self, choose):
        """Trains, and kills at step 10 what `choose` gives of (worker, its begin_worker)."""
        wanted = self.expected()
        seen = []

        def kill(number):
            if number == 10:
                worker = readers_of_now()
                begin = subprocess.run(
                    ["pgrep", "-f", "begin_worker.*" + self.folder], capture_output=True, text=True
                )
                seen.append(choose(worker, [int(n) for n in begin.stdout.split()][0]))
                os.kill(seen[0], signal.SIGKILL)

        def readers_of_now():
            return children(parent().pid)[0]

        losses, readers = self.train(kill)
        self.assertEqual(losses, wanted)
        self.assertEqual(len(seen), 1)
        return seen[0], readers

    def test_a_killed_worker_changes_nothing(self):
        killed, readers = self.killed(lambda worker, _: worker)
        first, last = readers[0][0], readers[-1][0]
        self.assertEqual(first, killed)
        self.assertNotEqual(last, killed)

    def test_a_killed_beginner_ends_its_worker(self):
        _, readers = self.killed(lambda _, begin: begin)
        self.assertNotEqual(readers[0][0], readers[-1][0])

    def test_a_killed_prepared_process_is_replaced(self):
        old = parent()
        _, readers = self.killed(lambda *_: old.pid)
        old.wait()
        self.train()
        self.assertNotEqual(parent().pid, old.pid)

    def test_data_that_fail_are_told(self):
        with self.assertRaisesRegex(RuntimeError, "ended with exit code 65, twice"):
            self.train(bad=100)


class Endings(unittest.TestCase):
    """The prepared process ends with the one that started it."""

    PROGRAM = "import cstorch; from cstorch import worker_parent as w; cstorch.configure(); "
    PROGRAM += "print(w._started[0].pid, flush=True); input()"

    def begin(self):
        program = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return program, int(program.stdout.readline())

    def is_there(self, process):
        try:
            state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        return state != "Z"

    def test_at_the_end(self):
        program, process = self.begin()
        program.communicate("\n")
        self.assertEqual(program.returncode, 0)
        self.assertFalse(self.is_there(process))

    def test_when_it_is_killed(self):
        program, process = self.begin()
        program.kill()
        program.communicate()
        wait_for(lambda: not self.is_there(process), "waited for the prepared process's end")


if __name__ == "__main__":
    unittest.main()
