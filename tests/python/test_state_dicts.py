"""state_dict() of optimizers, schedules and scalers before any execution: what there is from the
beginning, and the same after it was loaded."""

import copy
import os
import unittest

import torch

import cstorch
from programs import Case, loader

torch.manual_seed(2)
X, Y = torch.randn(96, 5), torch.randn(96, 3)
# The states that a parameter has before the first step, as torch names them where it has them.
STATES = {
    "SGD": {"momentum_buffer"},
    "Adam": {"exp_avg", "exp_avg_sq"},
    "AdamW": {"exp_avg", "exp_avg_sq"},
    "Adamax": {"exp_avg", "exp_inf"},
    "Adagrad": {"sum"},
    "Adadelta": {"square_avg", "acc_delta"},
    "RMSprop": {"square_avg"},
    "NAdam": {"exp_avg", "exp_avg_sq"},
    "RAdam": {"exp_avg", "exp_avg_sq"},
    "Lion": {"exp_avg"},
}


class StateDicts(Case):
    def made(self, kind="Adam", **settings):
        cstorch.finish()
        self.configure(no_run_store=True)
        torch.manual_seed(9)
        model = torch.nn.Linear(5, 3)
        cstorch.compile(model)
        return model, getattr(cstorch.optim, kind)(model.parameters(), lr=0.05, **settings)

    def train(self, model, optimizer, steps):
        @cstorch.trace
        def step(batch):
            loss = torch.nn.functional.mse_loss(model(batch[0]), batch[1])
            cstorch.amp.optimizer_step(loss, optimizer)
            return loss

        self.run_step(step, loader(X, Y), steps, checkpoint_steps=steps)

    def test_what_there_is_before_a_step(self):
        for kind, names in STATES.items():
            with self.subTest(kind):
                _, optimizer = self.made(kind, **({"momentum": 0.9} if kind == "SGD" else {}))
                state = copy.deepcopy(optimizer.state_dict())["state"]
                self.assertEqual(set(state), {"weight", "bias"})
                for slots in state.values():
                    self.assertTrue(names <= set(slots), set(slots))
                    for name in names:
                        self.assertEqual(float(slots[name].abs().max()), 0.0)

    def test_saved_before_and_loaded_back_it_trains_as_ever(self):
        for kind in ("SGD", "Adam", "Adagrad", "Adafactor"):
            model, optimizer = self.made(kind)
            self.train(model, optimizer, 4)
            wanted = [p.detach().clone() for p in model.parameters()]
            for form in ("mdl", "pt", "copy"):
                with self.subTest(kind, form=form):
                    path = os.path.join(self.folder, f"{kind}.{form}")
                    model, optimizer = self.made(kind)
                    if form == "mdl":
                        cstorch.save({"optimizer": optimizer.state_dict()}, path)
                        saved = cstorch.load(path)["optimizer"]
                    elif form == "pt":
                        torch.save(optimizer.state_dict(), path)
                        saved = torch.load(path)
                    else:
                        saved = copy.deepcopy(optimizer.state_dict())
                    optimizer.load_state_dict(saved)
                    self.train(model, optimizer, 4)
                    for found, value in zip(model.parameters(), wanted):
                        self.assertTrue(torch.equal(found, value))

    def test_what_is_made_after_it_was_read(self):
        model, optimizer = self.made("SGD")
        cstorch.optim.lr_scheduler.LinearLR(optimizer, 0.05, 0.01, 4)
        cstorch.sparse.Static(0.5).apply(optimizer)
        self.train(model, optimizer, 4)
        wanted = model.weight.detach().clone()
        model, optimizer = self.made("SGD")
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        schedule = cstorch.optim.lr_scheduler.LinearLR(optimizer, 0.05, 0.01, 4)
        cstorch.sparse.Static(0.5).apply(optimizer)
        scaler = cstorch.amp.GradScaler("dynamic", init_scale=64.0)
        for one in (schedule, scaler):
            one.load_state_dict(copy.deepcopy(one.state_dict()))
        self.assertEqual(float(scaler.state_dict()["loss_scale"]), 64.0)
        self.assertEqual(list(map(int, schedule.state_dict().values())), [0])
        self.train(model, optimizer, 4)
        self.assertTrue(torch.equal(model.weight, wanted))
        with self.assertRaisesRegex(RuntimeError, "has been in a run already"):
            cstorch.optim.lr_scheduler.ConstantLR(optimizer, 0.1)
        with self.assertRaisesRegex(RuntimeError, "has been in a run already"):
            cstorch.sparse.Static(0.5).apply(optimizer)

    def test_what_comes_too_late(self):
        model, optimizer = self.made()
        cstorch.optim.lr_scheduler.ConstantLR(optimizer, 0.1)
        dict(optimizer.state_dict())
        with self.assertRaisesRegex(RuntimeError, "or its state_dict.. was read"):
            optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})
        with self.assertRaisesRegex(RuntimeError, "make all schedules before a state_dict.. is rea"):
            cstorch.optim.lr_scheduler.ConstantLR(optimizer, 0.2)
        with self.assertRaisesRegex(RuntimeError, "or after a state_dict.. was read, with seed=3"):
            cstorch.configure(seed=3)


if __name__ == "__main__":
    unittest.main()
