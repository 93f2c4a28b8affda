"""Forked processes and second threads: what they may not do says what to do, and the run goes on as
if nothing had been."""

import multiprocessing
import os
import pickle
import threading
import traceback
import unittest

import torch

import cstorch
import programs
from csengine.library import CsengineError

FORKED = "forked from one with an open session"
THREAD = "belongs to the thread that opened it"


def outcome(function, *args):
    """(class, message) of what a call raises; None where it returns."""
    try:
        function(*args)
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def in_thread(function, *args):
    found = []
    thread = threading.Thread(target=lambda: found.append(outcome(function, *args)))
    thread.start()
    thread.join(60)
    return found[0]


def in_child(function, *args):
    """The same in a child of fork."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, pickle.dumps(outcome(function, *args)))
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(found)


def square(number):
    return number * number


class Owner(programs.Case):
    def train(self, model_dir, disturb=None):
        torch.manual_seed(1)
        cstorch.configure(model_dir=os.path.join(self.folder, model_dir))
        model = cstorch.compile(torch.nn.Linear(6, 3))
        optimizer = cstorch.optim.AdamW(model.parameters(), lr=0.01)
        data = programs.loader(torch.randn(32, 6), torch.arange(32) % 3)

        @cstorch.trace
        def step(batch):
            inputs, targets = batch
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        executor = cstorch.utils.data.DataExecutor(data, num_steps=6, checkpoint_steps=2)
        for number, batch in enumerate(executor, 1):
            loss = step(batch)
            if disturb:
                disturb(number, model, step, batch)
        if disturb:
            disturb(None, model, step, None)
        result = {n: p.detach().clone() for n, p in model.named_parameters()}
        cstorch.finish()
        del loss
        return result

    def test_others_are_refused_and_the_run_goes_on(self):
        seen = []

        def save(model):
            cstorch.save({"model": model.state_dict()}, self.folder + "/refused.mdl")

        def loop():
            model = torch.nn.Linear(6, 3)
            data = programs.loader(torch.randn(32, 6), torch.arange(32) % 3)
            step = cstorch.trace(lambda batch: model(batch[0]).sum())
            for batch in cstorch.utils.data.DataExecutor(data, num_steps=1):
                step(batch)

        def disturb(number, model, step, batch):
            if number == 5:  # step 4 is over, at which save() works in this thread
                seen.append((THREAD, in_thread(save, model)))
            if number is None:
                seen.append((THREAD, in_thread(save, model)))
                seen.append((THREAD, in_thread(loop)))
                seen.append((FORKED, in_child(loop)))
                seen.append((FORKED, in_child(save, model)))
                seen.append((FORKED, in_child(cstorch.set_global_step, 3)))
            if number == 3:
                seen.append((FORKED, in_child(cstorch.set_global_step, 3)))
                seen.append((FORKED, in_child(loop)))

        alone = self.train("alone")
        among_others = self.train("among_others", disturb)
        for expected, found in seen:
            self.assertIsNotNone(found, expected)
            self.assertEqual(found[0], CsengineError.__name__, found)
            self.assertIn(expected, found[1])
        self.assertEqual(len(seen), 8)
        self.assertFalse(os.path.exists(self.folder + "/refused.mdl"))
        for name, value in alone.items():
            self.assertTrue(torch.equal(value, among_others[name]), name)

    def test_a_child_of_fork_may_compute_and_read(self):
        """What has nothing to do with the session works: a pool of processes, a checkpoint."""
        found = []

        def disturb(number, model, step, batch):
            if number == 5:
                path = self.folder + "/saved.mdl"
                cstorch.save({"model": model.state_dict()}, path)
                found.append(in_child(cstorch.load, path))
                with multiprocessing.get_context("fork").Pool(2) as pool:
                    found.append(pool.map(square, [2, 3]))

        self.train("pool", disturb)
        self.assertEqual(found, [None, [4, 9]])

    def test_a_traced_value_in_another_thread(self):
        found = []
        cstorch.configure(model_dir=self.folder + "/traced")
        model = cstorch.compile(torch.nn.Linear(6, 3))

        @cstorch.trace
        def step(batch):
            value = model(batch[0])
            found.append(in_thread(torch.add, value, 1))
            found.append(in_thread(lambda: value.sum()))
            return value.sum()

        data = programs.loader(torch.randn(8, 6), torch.arange(8))
        for batch in cstorch.utils.data.DataExecutor(data, num_steps=1):
            step(batch)
        for one in found:
            self.assertEqual(one[0], "TraceError", one)
            self.assertIn("another thread", one[1])

    def test_a_whole_training_in_another_thread(self):
        kept = []
        self.assertIsNone(in_thread(lambda: kept.append(self.train("thread"))))
        kept.append(self.train("here"))
        for name, value in kept[0].items():
            self.assertTrue(torch.equal(value, kept[1][name]), name)


if __name__ == "__main__":
    unittest.main()
