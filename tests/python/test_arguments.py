"""Arguments of the reference's classes and functions: what is wrong is refused where they are
called, by its name, with what is accepted."""

import unittest

import torch

import cstorch
from programs import Case, loader

DataLoader, DataExecutor = cstorch.utils.data.DataLoader, cstorch.utils.data.DataExecutor
# (function, argument, wrong values)
CONFIGURE = {
    "model_dir": (3, ""),
    "compile_dir": (3, ""),
    "compile_only": ("yes", 1),
    "validate_only": ("no", 0),
    "checkpoint_steps": (-5, "two", 1.5, True),
    "num_csx": (0, -1, "two", 1.5, True),
    "max_wgt_servers": (-1, "two"),
    "binding": ("core", 3),
    "audit_fraction": (-0.5, 1.5, "two"),
    "mount_dirs": ("/data", 3, [3]),
    "python_paths": ("/data", 3, [3]),
    "transfer_processes": (0, "two"),
    "num_workers_per_csx": (0, "two"),
    "job_labels": ("a=b", ["a"], {"a": "b"}),
    "max_act_per_csx": (0, "two"),
    "seed": (-1, "two", 0.5),
    "job_time_sec": (-1, "two"),
}
LOADER = {
    "num_steps": (0, -1, "two", 1.5),
    "max_steps": (0, "two"),
    "num_epochs": (0, "two"),
    "steps_per_epoch": (0, "two"),
    "checkpoint_steps": (-1, "two"),
    "micro_batch_size": (0, "two", 1.5),
}
SCALER = {
    "loss_scale": (-1.0, "static", True),
    "init_scale": (-1.0, "two"),
    "steps_per_increase": (0, 1.5),
    "min_loss_scale": (-1.0, "two"),
    "max_loss_scale": (-1.0, "two"),
    "overflow_tolerance": (-0.1, 1.5, "two"),
    "max_gradient_norm": (-1.0, "two"),
}
METRIC = {"name": (3, ""), "compute_on_system": (False, 0, "yes")}


class Arguments(Case):
    def refuse(self, call, table):
        for name, values in table.items():
            for value in values:
                with self.subTest(argument=name, value=value):
                    with self.assertRaisesRegex(
                        (TypeError, ValueError), f"{name} is {value!r}; accepted: ".replace("[", r"\[")
                    ):
                        call(**{name: value})

    def test_configure(self):
        self.refuse(cstorch.configure, CONFIGURE)
        self.refuse(lambda **given: cstorch.backend("CSX", **given), {"num_csx": (0, "two")})
        cstorch.configure(num_csx=2, checkpoint_steps=0, job_labels=["a=b"], seed=7)

    def test_data(self):
        self.refuse(lambda **given: DataLoader(lambda: None, **given), LOADER)
        data = loader(torch.ones(16, 2))
        executor = {n: v for n, v in LOADER.items() if n not in ("max_steps", "num_epochs")}
        executor.pop("steps_per_epoch")
        self.refuse(lambda **given: DataExecutor(data, **given), executor)
        with self.assertRaisesRegex(TypeError, "no argument 'num_step'; accepted: dataloader"):
            DataExecutor(data, num_step=5)
        with self.assertRaisesRegex(TypeError, "a cstorch.utils.data.DataLoader, not list: write"):
            DataExecutor([1, 2])

    def test_scaler_and_metrics(self):
        self.refuse(cstorch.amp.GradScaler, SCALER)
        self.refuse(cstorch.metrics.AccuracyMetric, METRIC)
        step = cstorch.amp.optimizer_step
        sgd = cstorch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.1)
        norms = {"max_gradient_norm": (-1.0, "two"), "max_gradient_val": (-1.0,)}
        self.refuse(lambda **given: step(torch.ones(()), sgd, **given), norms)
        with self.assertRaisesRegex(ValueError, "max_gradient_value or max_gradient_val, not both"):
            step(torch.ones(()), sgd, max_gradient_value=1.0, max_gradient_val=1.0)

    def test_compile(self):
        for backend in ("wse", 3, torch.device("cpu")):
            with self.assertRaisesRegex(ValueError, "backend is .*; accepted: .*'WSE_WS'"):
                cstorch.compile(torch.nn.Linear(2, 2), backend=backend)
        cstorch.compile(torch.nn.Linear(2, 2), backend="wse_ws")

    def test_what_a_scaler_tells(self):
        scaler = cstorch.amp.GradScaler(loss_scale=8.0)
        self.assertEqual((scaler.get_scale(), scaler.is_enabled()), (8.0, True))
        self.assertEqual((scaler.get_growth_factor(), scaler.get_backoff_factor()), (2.0, 0.5))
        self.assertFalse(cstorch.amp.GradScaler().is_enabled())
        self.assertEqual(cstorch.amp.GradScaler().get_scale(), 1.0)

    def test_a_dynamic_scale_has_a_value(self):
        self.configure(no_run_store=True)
        cstorch.compile(torch.nn.Linear(2, 2))
        scaler = cstorch.amp.GradScaler("dynamic", init_scale=1024.0, steps_per_increase=7)
        self.assertEqual((scaler.get_scale(), scaler.get_growth_interval()), (1024.0, 7))

    def test_unscaling_twice_in_a_step(self):
        self.configure(no_run_store=True)
        model = torch.nn.Linear(2, 2)
        cstorch.compile(model)
        sgd = cstorch.optim.SGD(model.parameters(), lr=0.1)
        scaler = cstorch.amp.GradScaler("dynamic")

        @cstorch.trace
        def step(batch):
            scaler.scale(model(batch[0]).sum()).backward()
            scaler.unscale_(sgd)
            scaler.unscale_(sgd)
            scaler.step(sgd)
            scaler.update()

        with self.assertRaisesRegex(RuntimeError, "unscale_\\(\\) has already been called"):
            self.run_step(step, loader(torch.ones(16, 2)))


if __name__ == "__main__":
    unittest.main()
