"""configure, backend, amp and the like, called twice, late, or with wrong arguments: told."""

import os
import sys
import unittest
import warnings

import torch

import cstorch
from programs import Case, loader


def module_in(folder):
    """A module that only a folder of python_paths has."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "of_python_paths.py"), "w") as file:
        file.write("SCALE = 3.0\n")


class Scaled(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        from of_python_paths import SCALE

        return torch.full((2,), SCALE)


class Again(Case):
    def run_once(self):
        model = torch.nn.Linear(2, 2)
        cstorch.compile(model)

        @cstorch.trace
        def step(batch):
            return model(batch[0]).sum()

        self.run_step(step, loader(torch.ones(16, 2)))

    def test_configure_twice(self):
        self.configure(seed=3, checkpoint_steps=5, job_labels=["a=b"])
        self.configure(seed=3, checkpoint_steps=5, job_labels=["a=b"])  # the same
        cstorch.configure(num_csx=1)
        for name, value, known in (("seed", 4, 3), ("checkpoint_steps", 6, 5), ("num_csx", 2, 1)):
            words = rf"called again, with {name}={value}, which is {known} since .*cstorch.finish"
            with self.assertRaisesRegex(RuntimeError, words):
                cstorch.configure(**{name: value})
            with self.assertRaisesRegex(RuntimeError, words):
                cstorch.backend("CSX", **{name: value})

    def test_after_the_first_execution(self):
        self.configure(no_run_store=True, seed=3)
        backend = cstorch.backend("CSX")
        self.run_once()
        self.configure(seed=3)
        for call, words in (
            (lambda: cstorch.configure(num_csx=2), "configure.. was called after the first exec"),
            (lambda: cstorch.configure(checkpoint_steps=2), "configure.. was called after the fir"),
            (lambda: cstorch.amp.set_half_dtype("bfloat16"), "set_half_dtype was called after"),
            (cstorch.amp.enable_mixed_precision, "enable_mixed_precision was called after"),
            (lambda: setattr(backend, "artifact_dir", "/x"), "artifact_dir was set after the fir"),
        ):
            with self.subTest(words), self.assertRaisesRegex(RuntimeError, words):
                call()
        cstorch.amp.enable_mixed_precision(False)  # as it is

    def test_amp(self):
        cstorch.amp.set_half_dtype("float16")
        cstorch.amp.set_half_dtype(torch.float16)
        with self.assertWarnsRegex(UserWarning, "was float16 and is bfloat16 now"):
            cstorch.amp.set_half_dtype("bfloat16")
        for wrong in ("float32", 16, None, ["float16"]):
            with self.assertRaisesRegex(ValueError, "accepted: float16, bfloat16, cbfloat16"):
                cstorch.amp.set_half_dtype(wrong)
        with self.assertRaisesRegex(TypeError, "enable is 'no'; accepted: True or False"):
            cstorch.amp.enable_mixed_precision("no")

    def test_set_global_step(self):
        for wrong in (-1, "two", 1.5, True):
            with self.assertRaisesRegex((TypeError, ValueError), "step is .*; accepted: an integer"):
                cstorch.set_global_step(wrong)
        self.configure(no_run_store=True)
        model = torch.nn.Linear(2, 2)
        cstorch.compile(model)

        @cstorch.trace
        def step(batch):
            return model(batch[0]).sum()

        with self.assertRaisesRegex(RuntimeError, "in a loop over a data loader.*before the loop"):
            for batch in cstorch.utils.data.DataExecutor(loader(torch.ones(16, 2)), num_steps=2):
                step(batch)
                cstorch.set_global_step(5)

    def test_configuration_helpers(self):
        model = torch.nn.Linear(2, 2)
        sgd = cstorch.optim.SGD(model.parameters(), lr=0.1)
        for call, words in (
            (lambda: cstorch.optim.configure_optimizer(3, model.parameters()), "no optimizer 3; ac"),
            (lambda: cstorch.optim.configure_lr_scheduler("SGD", 0.1), "optimizer is 'SGD'; accep"),
            (lambda: cstorch.optim.configure_lr_scheduler(sgd, "fast"), "learning_rate is 'fast'"),
            (lambda: cstorch.optim.configure_lr_scheduler(sgd, None), "learning_rate is 'None'"),
            (lambda: cstorch.optim.configure_lr_scheduler(sgd, -1.0), "learning_rate is -1.0; acc"),
            (lambda: cstorch.optim.configure_lr_scheduler(sgd, [0.1]), r"learning_rate is \[0.1\]"),
            (lambda: cstorch.optim.configure_lr_scheduler(sgd, {}), "learning_rate is {}; accept"),
            (lambda: cstorch.backend(3), "no backend 3; accepted: CSX, CPU"),
            (lambda: cstorch.backend("CSX", cluster_config={"num_csx": 2}), "ClusterConfig"),
        ):
            with self.subTest(words), self.assertRaisesRegex((TypeError, ValueError), words):
                call()


class Folders(Case):
    def setUp(self):
        super().setUp()
        self.path = list(sys.path)

    def tearDown(self):
        sys.path[:] = self.path
        sys.modules.pop("of_python_paths", None)
        super().tearDown()

    def means(self):
        model = torch.nn.Linear(2, 2)
        cstorch.compile(model)

        @cstorch.trace
        def step(batch):
            return batch.mean() + 0.0 * model(batch).sum()

        def input_fn():
            return torch.utils.data.DataLoader(Scaled(), batch_size=8)

        return [float(v) for v in self.run_step(step, cstorch.utils.data.DataLoader(input_fn), 2)]

    def test_python_paths_are_those_of_workers(self):
        for through_cluster in (False, True):
            cstorch.finish()
            sys.path[:] = self.path
            folder = os.path.join(self.folder, f"modules{int(through_cluster)}")
            module_in(folder)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.configure(no_run_store=True)
                if through_cluster:
                    config = cstorch.distributed.ClusterConfig(python_paths=[folder])
                    cstorch.backend("CSX", cluster_config=config)
                else:
                    cstorch.configure(python_paths=[folder])
            self.assertEqual(self.means(), [3.0, 3.0])

    def test_mount_dirs_are_told_to_be_harmless(self):
        with self.assertWarnsRegex(UserWarning, "mount_dirs: nothing has to be mounted"):
            cstorch.configure(mount_dirs=[self.folder])
        config = cstorch.distributed.ClusterConfig(mount_dirs=[self.folder], num_csx=2)
        cstorch.finish()
        with self.assertWarnsRegex(UserWarning, "mount_dirs: nothing has to be mounted"):
            cstorch.backend("CSX", cluster_config=config)

    def test_folders_that_there_are_not(self):
        for name in ("mount_dirs", "python_paths"):
            with self.assertRaisesRegex(ValueError, f"{name}: there is no folder '/no/such'"):
                cstorch.configure(**{name: [self.folder, "/no/such"]})

    def test_a_cluster_that_says_nothing_changes_nothing(self):
        cstorch.configure(num_csx=2)
        cstorch.backend("CSX", cluster_config=cstorch.distributed.ClusterConfig())
        with self.assertRaisesRegex(RuntimeError, "num_csx=4, which is 2"):
            cstorch.backend("CSX", cluster_config=cstorch.distributed.ClusterConfig(num_csx=4))


if __name__ == "__main__":
    unittest.main()
