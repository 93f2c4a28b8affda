"""Document 004, its first sections: the overview, configuring a run, compiling a module."""

import inspect
import os
import warnings

import cstorch.as_cerebras  # noqa: F401 - answers the imports of the documents
from seed_programs import Net, Programs, X, Y, cstorch, data, loader, torch


class Overview(Programs):
    def test_configure_comes_first(self):
        """004:9-13 configure sets up the run, before the model is made."""
        self.configure(seed=1)
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = cstorch.optim.SGD(model.parameters(), lr=0.1)
        self.assertEqual(len(self.train(compiled, optimizer)), 3)

    def test_a_model_must_be_compiled(self):
        """004:15-17 A model that trains or is evaluated must be compiled."""
        self.configure()
        model = Net()
        optimizer = cstorch.optim.SGD(model.parameters(), lr=0.1)
        with self.assertRaisesRegex(RuntimeError, r"cstorch\.compile"):
            self.train(model, optimizer)

    def test_optimizers_of_torch_are_refused(self):
        """004:19-21 Optimizers of PyTorch do not work in a step; there are ones in their place.
        004:181 They were made to be executed at once, call by call.
        """
        self.configure()
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = torch.nn.functional.cross_entropy(compiled(inputs), targets)
            loss.backward()
            optimizer.step()
            return loss

        with self.assertRaisesRegex(RuntimeError, r"torch\.optim.*cstorch\.optim"):
            self.run_step(training_step, data())

    def test_a_step_and_a_loop_are_the_program_s(self):
        """004:23-25 The whole computation stands in a function of one step.
        004:27-29 The loop around it is the program's own.
        004:31-33 The data loader is one that workers can make for themselves.
        """
        _, compiled, optimizer = self.begin()
        seen = []

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = torch.nn.functional.cross_entropy(compiled(inputs), targets)
            cstorch.amp.optimizer_step(loss, optimizer)
            return loss

        @cstorch.step_closure
        def closure(i, loss):
            seen.append((i, loss.item()))

        for i, batch in enumerate(data(num_steps=10)):
            loss = training_step(batch)
            closure(i, loss)
            if i == 4:
                break
        self.assertEqual([i for i, _ in seen], [0, 1, 2, 3, 4])

    def test_supplements(self):
        """004:35-39 Gradient scaling and schedules may be added to a step.
        004:41-45 Values are seen in step closures; checkpoints are saved and loaded.
        """
        model, compiled, optimizer = self.begin()
        cstorch.optim.configure_lr_scheduler(optimizer, learning_rate=0.05)
        scaler = cstorch.amp.GradScaler(loss_scale="dynamic")
        self.train(compiled, optimizer, scaler=scaler, checkpoint_steps=1)
        path = self.folder + "/x.mdl"
        cstorch.save({"model": model.state_dict()}, path)
        self.assertTrue(torch.equal(cstorch.load(path)["model"]["fc1.bias"], model.fc1.bias))

    def test_import(self):
        """004:47-51 The package is imported as cerebras_pytorch.experimental.
        004:53 It is to become cerebras_pytorch itself.
        """
        import cerebras_pytorch
        import cerebras_pytorch.experimental as found

        self.assertIs(found, cstorch)
        self.assertIs(cerebras_pytorch, cstorch)


class Configure(Programs):
    def artefacts(self):
        found = []
        for folder, _, names in os.walk(self.folder):
            found += [os.path.join(folder, name) for name in names]
        return found

    def train_configured(self, steps=2, **settings):
        _, compiled, optimizer = self.begin(**settings)
        return self.train(compiled, optimizer, steps=steps)

    def test_every_parameter_is_taken(self):
        """004:55-74 configure takes all of these parameters in one call."""
        os.makedirs(self.folder + "/mounted")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cstorch.configure(
                model_dir=self.folder + "/model",
                compile_dir=self.folder + "/compiled",
                compile_only=False,
                validate_only=False,
                checkpoint_steps=2,
                # CSConfig params
                num_csx=1,
                max_wgt_servers=1,
                mount_dirs=[self.folder + "/mounted"],
                python_paths=[self.folder + "/mounted"],
                transfer_processes=5,
                num_workers_per_csx=1,
                job_labels=["model=fc"],
                max_act_per_csx=1,
            )
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = cstorch.optim.SGD(model.parameters(), lr=0.1)
        self.assertEqual(len(self.train(compiled, optimizer)), 3)

    def test_parameters_are_optional(self):
        """004:76 Most parameters may be left out."""
        os.chdir(self.folder)
        cstorch.configure()
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = cstorch.optim.SGD(model.parameters(), lr=0.1)
        self.assertEqual(len(self.train(compiled, optimizer)), 3)

    def test_model_dir(self):
        """004:78-86 model_dir is the folder for what a run leaves; its default is "./".
        Differs: the default is ./model_dir, so that a run does not fill the folder in which a
        program lies; it is on the machine of the program, which is the one that computes.
        """
        self.train_configured()
        self.assertIn(self.folder + "/model/run.db", self.artefacts())
        cstorch.finish()
        os.chdir(self.folder)
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = cstorch.optim.SGD(model.parameters(), lr=0.1)
        self.train(compiled, optimizer, steps=1)
        self.assertIn(self.folder + "/model_dir/run.db", self.artefacts())

    def test_compile_dir(self):
        """004:88-92 compile_dir is the folder for compiled steps, "/opt/cerebras/cached_compile".
        Differs: the default is a folder of the user's cache, which anybody can write.
        """
        self.train_configured(compile_dir=self.folder + "/compiled")
        self.assertTrue(
            [p for p in self.artefacts() if p.startswith(self.folder + "/compiled/")]
        )
        cstorch.finish()
        self.assertFalse(os.path.exists("/opt/cerebras/cached_compile"))

    def test_compile_only(self):
        """004:94-98 With compile_only the step is compiled and not run; the default is False."""
        self.assertEqual(
            self.train_configured(compile_only=True, compile_dir=self.folder + "/compiled"), []
        )
        self.assertTrue([p for p in self.artefacts() if p.endswith("step.so")])
        cstorch.finish()
        self.assertEqual(len(self.train_configured()), 2)

    def test_validate_only(self):
        """004:100-104 With validate_only the step is traced, not compiled; the default is False."""
        self.assertEqual(
            self.train_configured(validate_only=True, compile_dir=self.folder + "/compiled"), []
        )
        self.assertFalse([p for p in self.artefacts() if p.endswith("step.so")])

    def test_checkpoint_steps(self):
        """004:106-110 Checkpoints can be saved every checkpoint_steps steps and after the last one;
        the default, 0, is at none.
        """
        saved = []

        def run(steps, **settings):
            model, compiled, optimizer = self.begin(**settings)

            @cstorch.checkpoint_closure
            def save(i):
                path = f"{self.folder}/{len(saved)}.mdl"
                cstorch.save({"model": model.state_dict()}, path)
                saved.append(i)

            @cstorch.compile_step
            def training_step(batch):
                inputs, targets = batch
                loss = torch.nn.functional.cross_entropy(compiled(inputs), targets)
                cstorch.amp.optimizer_step(loss, optimizer)
                return loss

            for i, batch in enumerate(data(num_steps=steps), start=1):
                training_step(batch)
                save(i)
            cstorch.finish()

        run(7, checkpoint_steps=3)
        self.assertEqual(saved, [3, 6, 7])
        saved.clear()
        run(3)
        self.assertEqual(saved, [])

    def test_num_csx(self):
        """004:112-116 num_csx is the number of systems; the default is 1.
        004:142-146 num_workers_per_csx is the number of input workers of each; the default is 1.
        """
        one = self.train_configured(seed=1)
        cstorch.finish()
        torch.manual_seed(0)
        self.assertEqual(self.train_configured(seed=1, num_csx=1, num_workers_per_csx=1), one)
        cstorch.finish()
        torch.manual_seed(0)
        self.assertEqual(self.train_configured(seed=1, num_csx=2, num_workers_per_csx=2), one)
        for wrong in ({"num_csx": 0}, {"num_workers_per_csx": "two"}):
            with self.assertRaisesRegex((ValueError, TypeError), next(iter(wrong))):
                cstorch.configure(**wrong)

    def test_max_wgt_servers(self):
        """004:118-122 max_wgt_servers is how many weight servers there may be; the default is 24.
        Differs: the default is 0, which lets replicas keep and update the weights themselves, since
        servers take cores from them; the result is the same.
        """
        none = self.train_configured(seed=1)
        cstorch.finish()
        torch.manual_seed(0)
        self.assertEqual(self.train_configured(seed=1, max_wgt_servers=2), none)

    def test_mount_dirs(self):
        """004:124-128 Data in folders of mount_dirs are found by the processes that read them; the
        default is none.
        Differs: the folders are told to be needless, since all processes see this machine's files.
        """
        os.makedirs(self.folder + "/mounted")
        torch.save((X, Y), self.folder + "/mounted/data.pt")
        with self.warned() as texts:
            self.configure(mount_dirs=[self.folder + "/mounted"])
        self.assertEqual([text[:10] for text in texts], ["mount_dirs"])

        def input_fn():
            file = self.folder + "/mounted/data.pt"
            dataset = torch.utils.data.TensorDataset(*torch.load(file))
            return torch.utils.data.DataLoader(dataset, batch_size=16)

        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")

        @cstorch.compile_step
        def step(batch):
            return compiled(batch[0]).sum()

        found = self.run_step(step, cstorch.utils.data.DataLoader(input_fn))
        self.assertAlmostEqual(found[0].item(), model(X[:16]).sum().item(), delta=1e-3)

    def test_python_paths(self):
        """004:130-134 Modules in folders of python_paths can be imported by workers; the default is
        none.
        """
        os.makedirs(self.folder + "/modules")
        with open(self.folder + "/modules/module_of_workers.py", "w") as file:
            file.write("def rows(x):\n    return x * 2\n")
        with self.warned() as texts:
            self.configure(python_paths=[self.folder + "/modules"])
        self.assertEqual(texts, [])

        def input_fn():
            import module_of_workers

            dataset = torch.utils.data.TensorDataset(module_of_workers.rows(X), Y)
            return torch.utils.data.DataLoader(dataset, batch_size=16)

        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")

        @cstorch.compile_step
        def step(batch):
            return compiled(batch[0]).sum()

        found = self.run_step(step, cstorch.utils.data.DataLoader(input_fn))
        self.assertAlmostEqual(found[0].item(), model(2 * X[:16]).sum().item(), delta=1e-3)

    def test_parameters_of_other_hardware(self):
        """004:136-140 transfer_processes: processes that send data, 5 by default.
        Differs: taken, and told to have no effect: the processes of a run share memory.
        004:154-158 max_act_per_csx: activation servers of a system, 1 by default.
        Differs: taken, and told to have no effect: replicas keep their activations.
        """
        for name, value in (("transfer_processes", 5), ("max_act_per_csx", 1)):
            with self.warned() as texts:
                self.configure(**{name: value})
            self.assertRegex(" ".join(texts), f"without effect here.*{name}")
            with self.assertRaisesRegex((ValueError, TypeError), name):
                self.configure(**{name: "many"})

    def test_job_labels(self):
        """004:148-152 job_labels are texts "key=value" that a run is marked with; none by default.
        """
        import csengine

        self.train_configured(job_labels=["model=fc", "team=a"])
        told = csengine.Run(self.folder + "/model").facts()["labels"]
        self.assertIn("model=fc", told)
        self.assertIn("team=a", told)
        cstorch.finish()
        with self.assertRaisesRegex((ValueError, TypeError), "job_labels"):
            self.configure(job_labels=["model"])

    def test_once(self):
        """004:160-162 configure may be called once in a process, and holds for all of it; another
        configuration needs another process.
        """
        self.configure(num_csx=1)
        with self.assertRaisesRegex(RuntimeError, "configure"):
            self.configure(num_csx=2)


class Compile(Programs):
    def test_compile_prepares_a_module(self):
        """004:164-169 compile takes any module, with backend="wse_ws".
        004:171 It is made after torch.compile.
        """
        self.configure()
        for model in (Net(), torch.nn.Sequential(torch.nn.Linear(16, 4), torch.nn.ReLU())):
            compiled_model = cstorch.compile(model, backend="wse_ws")
            torch.testing.assert_close(compiled_model(X), model(X))
            self.assertEqual(
                list(dict(compiled_model.named_parameters())), list(dict(model.named_parameters()))
            )
        ours = inspect.signature(cstorch.compile).parameters
        theirs = inspect.signature(torch.compile).parameters
        self.assertEqual(list(ours)[:2], ["model", "backend"])
        self.assertLessEqual(set(ours), set(theirs))

    def test_nothing_is_compiled_before_the_first_step(self):
        """004:173-175 It only prepares: parameters become those of the run.
        004:177 The step is compiled in the first iteration, when the size of a batch is known.
        """
        _, compiled, optimizer = self.begin(compile_dir=self.folder + "/compiled")
        compiled_dir = self.folder + "/compiled"
        self.assertFalse(os.path.exists(compiled_dir) and os.listdir(compiled_dir))
        self.train(compiled, optimizer, steps=1)
        self.assertTrue(os.listdir(compiled_dir))
