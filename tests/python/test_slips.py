"""Slips of programs, those of the documents' own examples among them: the message has the line to
write."""

import copy
import os
import pickle
import unittest

import torch
import torch.nn.functional as F

import cstorch
from programs import Case, loader

total_steps = 0


class Slips(Case):
    def setUp(self):
        super().setUp()
        self.configure()
        self.model = cstorch.compile(torch.nn.Linear(16, 4), backend="wse_ws")
        self.optimizer = cstorch.optim.configure_optimizer(
            optimizer_type="SGD", params=self.model.parameters(), lr=0.1
        )
        self.data = loader(torch.randn(64, 16), torch.randint(0, 4, (64,)))

    def step(self):
        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = F.cross_entropy(self.model(inputs), targets)
            cstorch.amp.optimizer_step(loss, self.optimizer, None, max_gradient_norm=1.0)
            return loss

        return training_step

    # ---- of the documents' examples ----

    def test_the_loader_in_place_of_the_batch(self):
        step = self.step()
        with self.assertRaisesRegex(
            cstorch.TraceError,
            r"test_slips\.py:\d+ in .*`for batch in dataloader: training_step\(batch\)`",
        ):
            for _, _ in enumerate(self.data):
                step(self.data)

    def test_a_misspelt_method(self):
        with self.assertRaises(AttributeError) as raised:
            self.optimizer.load_state_dictt({"state": 1})
        self.assertRegex(
            str(raised.exception),
            r"^test_slips\.py:\d+ in test_a_misspelt_method: 'SGD' object has no attribute "
            r"'load_state_dictt'\. Did you mean 'load_state_dict'\? "
            r"Write `self\.optimizer\.load_state_dict\(\{\"state\": 1\}\)`$",
        )

    def test_a_checkpoint_at_the_first_index(self):
        step = self.step()
        path = os.path.join(self.folder, "x.mdl")

        @cstorch.step_closure
        def save_checkpoint(_):
            cstorch.save({"model": self.model.state_dict()}, path)

        def loop(is_due):
            executor = cstorch.utils.data.DataExecutor(self.data, num_steps=4, checkpoint_steps=2)
            for i, batch in enumerate(executor):
                step(batch)
                if is_due(i):
                    save_checkpoint(i)

        with self.assertRaisesRegex(RuntimeError, r"`if \(i \+ 1\) % 2 == 0:`"):
            loop(lambda i: i % 2 == 0)
        self.assertFalse(os.path.exists(path))
        cstorch.finish()
        self.setUp()
        step = self.step()
        loop(lambda i: (i + 1) % 2 == 0)
        self.assertTrue(os.path.exists(path))

    def test_a_count_that_is_not_declared(self):
        step = self.step()

        @cstorch.step_closure
        def post_eval_step(_):
            total_steps += 1  # noqa: F821, F841 - what is tested

        with self.assertRaisesRegex(
            UnboundLocalError, r"post_eval_step assigns total_steps.*write `global total_steps` as"
        ):
            for batch in self.data:
                post_eval_step(step(batch))

    def test_an_executor_without_data(self):
        with self.assertRaisesRegex(
            TypeError, r"`cstorch\.utils\.data\.DataExecutor\(dataloader, num_steps=10, check"
        ):
            cstorch.utils.data.DataExecutor(num_steps=10, checkpoint_steps=5)

    # ---- of their kinds ----

    def test_names_of_objects_and_modules(self):
        scheduler = cstorch.optim.configure_lr_scheduler(self.optimizer, learning_rate=0.1)
        for owner, name, meant in (
            (scheduler, "state_dic", "state_dict"),
            (cstorch.amp.GradScaler(loss_scale=2.0), "unscale", "unscale_"),
            (cstorch.metrics.AccuracyMetric("a"), "computee", "compute"),
            (self.data, "batchsize", "batch_size"),
            (cstorch.utils.data.DataExecutor(self.data), "on_final_iter", "on_final_iteration"),
            (cstorch.backend("CSX"), "torch_devise", "torch_device"),
            (cstorch, "step_closures", "step_closure"),
            (cstorch.optim, "adamw", "AdamW"),
            (cstorch.optim.lr_scheduler, "LinerLR", "LinearLR"),
            (cstorch.metrics, "Accuracy", "AccuracyMetric"),
            (cstorch.amp, "GradScalar", "GradScaler"),
            (cstorch.utils.data, "Dataloader", "DataLoader"),
        ):
            with self.subTest(name):
                self.assertFalse(hasattr(owner, name))
                with self.assertRaisesRegex(AttributeError, rf"Did you mean '{meant}'\?"):
                    getattr(owner, name)
                with self.assertRaisesRegex(AttributeError, r"has no attribute 'zzz'$"):
                    owner.zzz

    def test_objects_are_copied_as_ever(self):
        optimizer = copy.copy(self.optimizer)
        self.assertEqual(optimizer.param_groups[0]["lr"], 0.1)
        with self.assertRaises(AttributeError):
            cstorch.utils.data.DataExecutor.__new__(cstorch.utils.data.DataExecutor).num_steps
        schedule = pickle.loads(pickle.dumps(cstorch.utils.data.DataExecutor))
        self.assertIs(schedule, cstorch.utils.data.DataExecutor)

    def test_a_loader_of_torch(self):
        made = torch.utils.data.DataLoader(torch.randn(4, 2))
        with self.assertRaisesRegex(TypeError, r"not torch\.utils\.data\.\S+DataLoader: write"):
            cstorch.utils.data.DataExecutor(made)
        with self.assertRaisesRegex(TypeError, r"`def input_fn\(\): return \.\.\.`"):
            cstorch.utils.data.DataLoader(made)

    def test_a_misspelt_argument_of_the_loader(self):
        with self.assertRaisesRegex(TypeError, r"no argument 'num_stpes'.*mean 'num_steps'"):
            cstorch.utils.data.DataLoader(lambda folder: None, folder="x", num_stpes=3)
        cstorch.utils.data.DataLoader(lambda **settings: None, num_stpes=3)  # it may be its own

    def test_a_model_in_place_of_parameters(self):
        def configured(model, lr):
            return cstorch.optim.configure_optimizer("SGD", model, lr=lr)

        for make in (cstorch.optim.AdamW, configured):
            with self.assertRaisesRegex(TypeError, r"\(model\.parameters\(\), \.\.\.\)"):
                make(self.model, lr=0.1)

    def test_decorators(self):
        for name in ("trace", "compile_step", "step_closure", "checkpoint_closure"):
            decorate = getattr(cstorch, name)
            with self.subTest(name):
                with self.assertRaisesRegex(TypeError, "is written without brackets"):
                    decorate()
                with self.assertRaisesRegex(TypeError, "decorates .* not a Linear.*compile"):
                    decorate(self.model)


if __name__ == "__main__":
    unittest.main()
