"""A training that goes on in another process has the bits of one that was not interrupted.

As a program: test_new_process.py KIND FOLDER loads what the first process saved, goes on, and saves
its end.
"""

import os
import subprocess
import sys
import unittest

import torch

import cstorch
from call_pair import OwnRule
from nested_values import same
from programs import Case, loader

X = torch.randn(40, 3, generator=torch.Generator().manual_seed(1))
BATCH, STEPS = 4, 5  # in each process; its data is not at its begin between them
BY_HAND = 0.02  # a learning rate


class Training:
    """A model with running means, and what trains it.

    Args:
        kind: "engine", with a schedule and a gradient scaler; "by_hand", with a rate that is set
            between two loops; "own", the same with an optimizer of the program.
    """

    def __init__(self, kind):
        torch.manual_seed(4)
        self.kind = kind
        self.model = torch.nn.Sequential(
            torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
        )
        cstorch.compile(self.model)
        parameters = self.model.parameters()
        self.parts = {}
        self.scaler = None
        if kind == "own":
            self.optimizer = OwnRule(parameters, lr=0.1)
        elif kind == "by_hand":
            self.optimizer = cstorch.optim.SGD(parameters, lr=0.1, momentum=0.5)
        else:
            self.optimizer = cstorch.optim.AdamW(parameters, lr=0.1)
            schedule = cstorch.optim.lr_scheduler.LinearLR(self.optimizer, 0.1, 0.01, 2 * STEPS)
            self.scaler = cstorch.amp.GradScaler(
                "dynamic", init_scale=16.0, steps_per_increase=3, max_loss_scale=2.0**12
            )
            self.parts = {"schedule": schedule, "scaler": self.scaler}
        self.parts["optimizer"] = self.optimizer

    def run(self, steps=STEPS):
        model, optimizer, scaler = self.model, self.optimizer, self.scaler

        @cstorch.trace
        def step(batch):
            loss = model(batch[0]).square().mean()
            cstorch.amp.optimizer_step(loss, optimizer, scaler)
            return loss

        for batch in cstorch.utils.data.DataExecutor(
            loader(X, batch_size=BATCH), num_steps=steps, checkpoint_steps=steps
        ):
            step(batch)

    def set_rate(self):
        if self.kind != "engine":
            self.optimizer.param_groups[0]["lr"] = BY_HAND

    def save(self, path):
        states = {name: one.state_dict() for name, one in self.parts.items()}
        cstorch.save(
            {"model": self.model.state_dict(), **states, "step": cstorch.global_step()}, path
        )

    def load(self, path):
        found = cstorch.load(path)
        self.model.load_state_dict(found["model"])
        for name in ("optimizer", *self.parts):
            self.parts[name].load_state_dict(found[name])


class NewProcess(Case):
    def begin(self, kind):
        cstorch.finish()
        self.configure(no_run_store=True, seed=5)
        return Training(kind)

    def test_it_goes_on_with_the_same_bits(self):
        for kind in ("engine", "by_hand", "own"):
            with self.subTest(kind):
                whole, first, second = (f"{self.folder}/{kind}{i}.mdl" for i in range(3))
                training = self.begin(kind)
                if kind == "engine":
                    training.run(2 * STEPS)
                else:
                    training.run()
                    training.set_rate()
                    training.run()
                training.save(whole)
                training = self.begin(kind)
                training.run()
                training.set_rate()
                training.save(first)
                self.other_process(kind, first, second)
                found, wanted = cstorch.load(second, "cpu"), cstorch.load(whole, "cpu")
                self.assertEqual(wanted["step"], 2 * STEPS)
                self.assertEqual(set(found), set(wanted))
                for name, value in wanted.items():
                    self.assertTrue(same(found[name], value), f"{name}: {found[name]} {value}")
                before = cstorch.load(first)["model"]["0.weight"]
                self.assertFalse(torch.equal(before, wanted["model"]["0.weight"]))
                if kind != "engine":
                    self.assertEqual(found["optimizer"]["param_groups"][0]["lr"], BY_HAND)

    def other_process(self, *arguments):
        told = subprocess.run(
            [sys.executable, os.path.abspath(__file__), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        if told.returncode != 0:
            self.fail(f"the second process ended with {told.returncode}:\n{told.stdout}")


def go_on(kind, first, second):
    """The second process."""
    cstorch.configure(model_dir=second.removesuffix(".mdl"), no_run_store=True, seed=5)
    training = Training(kind)
    training.load(first)
    training.run()
    training.save(second)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        go_on(*sys.argv[1:])
    else:
        unittest.main()
