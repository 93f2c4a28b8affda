"""Document 004, its sections about data, gradient scaling, the step and its closures."""

import os

from seed_programs import Net, Programs, X, Y, cstorch, data, make_data, torch


def count_of(dataloader):
    """How many steps a loop over it has."""
    return sum(1 for _ in cstorch.utils.data.DataExecutor(dataloader))


class Data(Programs):
    def steps(self, *args, input_fn=make_data, **settings):
        """The number of steps of a loop over a data loader."""
        _, compiled, _ = self.begin()
        loader = cstorch.utils.data.DataLoader(input_fn, *args, **settings)

        @cstorch.compile_step
        def step(batch):
            return compiled(batch[0]).sum()

        seen = []
        closure = cstorch.step_closure(lambda value: seen.append(value.item()))
        with torch.no_grad():
            for batch in loader:
                closure(step(batch))
        cstorch.finish()
        return len(seen)

    def test_workers_make_their_own(self):
        """004:312 Input workers are processes of their own, and each makes its data loader itself.
        004:314-325 A data loader is made of a function that gives a torch.utils.data.DataLoader,
        and the function's arguments.
        004:325-328 The function may take arguments.
        """
        folder = self.folder

        def input_fn(name, batch_size=8):
            with open(os.path.join(folder, f"{name}-{os.getpid()}"), "w"):
                pass
            dataset = torch.utils.data.TensorDataset(X, Y)
            return torch.utils.data.DataLoader(dataset, batch_size=batch_size)

        self.assertEqual(
            self.steps("called", input_fn=input_fn, num_steps=3, batch_size=16), 3
        )
        called = [name for name in os.listdir(folder) if name.startswith("called-")]
        self.assertGreaterEqual(len(called), 2)
        self.assertIn(f"called-{os.getpid()}", called)

    def test_samples_are_shared_out(self):
        """004:330 Each worker makes a data loader by the same function; that each streams data of
        its own needs a scheme of shards.
        Differs: the engine says which samples a worker reads, of a data set with a length: each is
        used once in an epoch for any number of workers, without any scheme.
        """
        told = []
        for workers in (1, 2):
            self.configure(num_workers_per_csx=workers)
            model = torch.nn.Linear(16, 1)
            compiled = cstorch.compile(model, backend="wse_ws")

            @cstorch.compile_step
            def step(batch, compiled=compiled):
                return batch[0][:, 0], compiled(batch[0]).sum()

            with torch.no_grad():
                found = self.run_step(step, data(), 4)
            told.append(torch.cat([rows for rows, _ in found]).tolist())
            cstorch.finish()
        self.assertEqual(told, [X[:, 0].tolist()] * 2)

    def test_num_steps(self):
        """004:332-336 num_steps is the number of steps, and max_steps a limit of it."""
        self.assertEqual(self.steps(num_steps=5), 5)
        self.assertEqual(self.steps(num_steps=5, max_steps=3), 3)
        self.assertEqual(self.steps(num_steps=2, max_steps=3), 2)

    def test_num_epochs(self):
        """004:338-340 num_epochs times steps_per_epoch, or times the length of the data loader.
        004:342 max_steps is a limit of it as well.
        """
        self.assertEqual(self.steps(num_epochs=2), 8)
        self.assertEqual(self.steps(num_epochs=2, steps_per_epoch=3), 6)
        self.assertEqual(self.steps(num_epochs=2, steps_per_epoch=3, max_steps=5), 5)

    def test_the_two_exclude_each_other(self):
        """004:332 num_steps and num_epochs exclude each other."""
        for more in ({"num_epochs": 1}, {"steps_per_epoch": 1}):
            with self.assertRaisesRegex(ValueError, "num_steps.*num_epochs"):
                cstorch.utils.data.DataLoader(make_data, num_steps=1, **more)

    def test_other_arguments_are_the_function_s(self):
        """004:344 All other arguments are given to the function."""
        self.assertEqual(self.steps(num_epochs=1, batch_size=32), 2)
        with self.assertRaisesRegex(TypeError, "no_such_argument"):
            self.steps(num_epochs=1, no_such_argument=3)


class Scaling(Programs):
    def scaler(self, **settings):
        return cstorch.amp.GradScaler(**settings)

    def test_scaling_is_for_small_gradients(self):
        """004:346-348 Gradients that float16 would round to zero are kept by scaling."""
        found = {}
        for scale in (0.0, 1024.0):
            torch.manual_seed(0)
            model, compiled, optimizer = self.begin(
                precision={"fp16_type": "float16"}, optimizer="SGD"
            )
            before = model.fc1.weight.detach().clone()
            scaler = self.scaler(loss_scale=scale) if scale else None

            @cstorch.compile_step
            def training_step(batch, compiled=compiled, optimizer=optimizer, scaler=scaler):
                inputs, targets = batch
                loss = torch.nn.functional.cross_entropy(compiled(inputs), targets) * 1e-7
                cstorch.amp.optimizer_step(loss, optimizer, scaler)
                return loss

            self.run_step(training_step, data(), 1, checkpoint_steps=1)
            found[scale] = (model.fc1.weight - before).abs().sum().item()
            cstorch.finish()
        self.assertGreater(found[1024.0], 2 * found[0.0])

    def test_all_parameters(self):
        """004:350-362 GradScaler takes these parameters.
        004:364 It is like PyTorch's of CUDA.
        """
        scaler = self.scaler(
            loss_scale="dynamic",
            init_scale=2.0**10,
            steps_per_increase=2,
            min_loss_scale=2.0,
            max_loss_scale=2.0**12,
            overflow_tolerance=0.05,
            max_gradient_norm=1.0,
        )
        for name in ("scale", "unscale_", "step", "update", "get_scale", "get_growth_factor",
                     "get_backoff_factor", "get_growth_interval", "is_enabled", "state_dict",
                     "load_state_dict"):
            self.assertTrue(hasattr(torch.amp.GradScaler, name), name)
            self.assertTrue(callable(getattr(scaler, name)), name)

    def scales(self, steps=5, times=1.0, **settings):
        """The dynamic scale after a training."""
        _, compiled, optimizer = self.begin()
        scaler = self.scaler(loss_scale="dynamic", **settings)

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = torch.nn.functional.cross_entropy(compiled(inputs), targets) * times
            cstorch.amp.optimizer_step(loss, optimizer, scaler)
            return loss

        self.run_step(training_step, data(), steps, checkpoint_steps=steps)
        found = scaler.get_scale()
        cstorch.finish()
        return found

    def test_loss_scale(self):
        """004:366-374 loss_scale is the word dynamic, or a constant scale; 0 is its default."""
        self.assertEqual(self.scaler().get_scale(), 1.0)
        self.assertFalse(self.scaler().is_enabled())
        self.assertEqual(self.scaler(loss_scale=8.0).get_scale(), 8.0)
        self.assertTrue(self.scaler(loss_scale="dynamic").is_enabled())
        for wrong in ("static", -1.0):
            with self.assertRaisesRegex((ValueError, TypeError), "loss_scale"):
                self.scaler(loss_scale=wrong)

    def test_dynamic_scale(self):
        """004:376-380 init_scale is the dynamic scale at first.
        004:382-386 After steps_per_increase steps it grows.
        004:388-392 It does not fall below min_loss_scale.
        004:394-398 It does not rise above max_loss_scale.
        """
        self.assertEqual(self.scales(1, init_scale=256.0), 256.0)
        self.assertEqual(self.scales(4, init_scale=256.0, steps_per_increase=2), 1024.0)
        self.assertEqual(
            self.scales(4, init_scale=256.0, steps_per_increase=1, max_loss_scale=512.0), 512.0
        )

    def overflowing(self, **settings):
        """The scale after a step whose gradients overflow among ones whose gradients do not."""
        self.configure()
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = cstorch.optim.SGD(model.parameters(), lr=1e-30)
        scaler = self.scaler(loss_scale="dynamic", **settings)
        big = torch.ones(64)
        big[16:32] = 1e38

        def input_fn():
            dataset = torch.utils.data.TensorDataset(X, Y, big)
            return torch.utils.data.DataLoader(dataset, batch_size=16)

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets, factors = batch
            losses = torch.nn.functional.cross_entropy(compiled(inputs), targets, reduction="none")
            loss = (losses * factors).sum()
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return losses.sum()

        loader = cstorch.utils.data.DataLoader(input_fn)
        self.run_step(training_step, loader, 3, checkpoint_steps=3)
        found = scaler.get_scale()
        cstorch.finish()
        return found

    def test_overflows(self):
        """004:388-392 It does not fall below min_loss_scale.
        004:400-404 It falls where more than this fraction of the steps overflows.
        """
        self.assertEqual(self.overflowing(init_scale=256.0), 128.0)
        self.assertEqual(self.overflowing(init_scale=256.0, overflow_tolerance=0.9), 256.0)

    def test_overflow_tolerance(self):
        """004:404 overflow_tolerance is 0.05."""
        import inspect

        found = inspect.signature(cstorch.amp.GradScaler).parameters["overflow_tolerance"]
        self.assertEqual(found.default, 0.05)

    def test_max_gradient_norm(self):
        """004:406-410 max_gradient_norm of a dynamic scaler clips the norm of all gradients; its
        default is 0.05, and it is for pipeline mode.
        Differs: there is none by default, so that gradients are clipped where a program says so;
        the mode in which the document's default counts is not here.
        """
        import inspect

        found = inspect.signature(cstorch.amp.GradScaler).parameters["max_gradient_norm"]
        self.assertIsNone(found.default)
        told = []
        for settings in ({}, {"max_gradient_norm": 1e-3}):
            torch.manual_seed(0)
            model, compiled, optimizer = self.begin()
            before = model.fc1.weight.detach().clone()
            scaler = self.scaler(loss_scale="dynamic", init_scale=2.0, **settings)
            self.train(compiled, optimizer, steps=1, scaler=scaler, checkpoint_steps=1)
            told.append((model.fc1.weight - before).norm().item())
            cstorch.finish()
        self.assertGreater(told[0], 1e-3)
        self.assertLess(told[1], 1e-3)

    def updates(self, update):
        """Weights after a step whose update is done by update(loss, optimizer, scaler, model)."""
        torch.manual_seed(0)
        model, compiled, optimizer = self.begin()
        scaler = self.scaler(loss_scale="dynamic", init_scale=16.0)

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = torch.nn.functional.cross_entropy(compiled(inputs), targets)
            update(loss, optimizer, scaler, model)
            return loss

        self.run_step(training_step, data(), 3, checkpoint_steps=3)
        cstorch.finish()
        return {name: p.detach().clone() for name, p in model.named_parameters()}

    def test_usage(self):
        """004:412-434 scale, unscale_, clipping, step and update are called as with PyTorch's.
        004:436-446 optimizer_step does all of it, with clipping by norm or by value.
        004:448-450 It may be used or not: the result is the same.
        """

        def by_hand(loss, optimizer, grad_scaler, model):
            optimizer.zero_grad()
            # Scale the loss before calling the backward pass
            grad_scaler.scale(loss).backward()
            # Unscale gradients, to clip them
            grad_scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            grad_scaler.step(optimizer)
            grad_scaler.update()

        def helped(loss, optimizer, grad_scaler, model):
            cstorch.amp.optimizer_step(loss, optimizer, grad_scaler, max_gradient_norm=0.1)

        def by_value(loss, optimizer, grad_scaler, model):
            cstorch.amp.optimizer_step(loss, optimizer, grad_scaler, max_gradient_val=0.001)

        found = self.updates(by_hand)
        self.assertEqual(
            {n: v.tolist() for n, v in found.items()},
            {n: v.tolist() for n, v in self.updates(helped).items()},
        )
        self.assertFalse(
            torch.equal(found["fc1.weight"], self.updates(by_value)["fc1.weight"])
        )
        # PyTorch by itself, whose scale is 1
        torch.manual_seed(0)
        twin = Net()
        usual = torch.optim.SGD(twin.parameters(), lr=0.1)
        for i in range(3):
            rows = slice(16 * i, 16 * i + 16)
            usual.zero_grad()
            torch.nn.functional.cross_entropy(twin(X[rows]), Y[rows]).backward()
            torch.nn.utils.clip_grad_norm_(twin.parameters(), 0.1)
            usual.step()
        for name, p in twin.named_parameters():
            torch.testing.assert_close(found[name], p.detach(), rtol=1e-5, atol=1e-6)


class Steps(Programs):
    def test_whole_step(self):
        """004:452-468 The whole training step stands in a function that compile_step decorates; it
        may call the schedule's step, and returns the loss.
        004:470 What is to be computed by the engine is in this function.
        """
        torch.manual_seed(0)
        model, compiled_model, optimizer = self.begin()
        lr_scheduler = cstorch.optim.configure_lr_scheduler(
            optimizer,
            {
                "scheduler": "LinearLR",
                "initial_learning_rate": 0.4,
                "end_learning_rate": 0.0,
                "total_iters": 4,
            },
        )
        grad_scaler = cstorch.amp.GradScaler(loss_scale=4.0)
        loss_fn = torch.nn.CrossEntropyLoss()

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            outputs = compiled_model(inputs)
            loss = loss_fn(outputs, targets)

            cstorch.amp.optimizer_step(loss, optimizer, grad_scaler, max_gradient_norm=1.0)

            if lr_scheduler:
                lr_scheduler.step()

            return loss

        losses = [v.item() for v in self.run_step(training_step, data(), 4)]
        torch.manual_seed(0)
        twin = Net()
        usual = torch.optim.SGD(twin.parameters(), lr=0.4)
        schedule = torch.optim.lr_scheduler.LambdaLR(usual, lambda t: 1 - t / 4)
        for i, found in enumerate(losses):
            rows = slice(16 * i, 16 * i + 16)
            loss = loss_fn(twin(X[rows]), Y[rows])
            self.assertAlmostEqual(found, loss.item(), delta=1e-5)
            usual.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
            usual.step()
            schedule.step()

    def test_a_step_of_two_arguments(self):
        """004:456-457 The step's function takes inputs and targets as two arguments."""
        _, compiled_model, optimizer = self.begin()

        @cstorch.compile_step
        def training_step(inputs, targets):
            loss = torch.nn.functional.cross_entropy(compiled_model(inputs), targets)
            cstorch.amp.optimizer_step(loss, optimizer)
            return loss

        seen = []
        closure = cstorch.step_closure(lambda loss: seen.append(loss.item()))
        for inputs, targets in cstorch.utils.data.DataExecutor(data(), num_steps=2):
            closure(training_step(inputs, targets))
        self.assertEqual(len(seen), 2)

    def refused(self, body):
        _, compiled, optimizer = self.begin()

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = torch.nn.functional.cross_entropy(compiled(inputs), targets)
            body(loss)
            return loss

        with self.assertRaisesRegex(RuntimeError, r"in refused_here.*step_closure"):
            self.run_step(training_step, data())
        cstorch.finish()

    def test_values_are_not_read_in_a_step(self):
        """004:472 No value of a tensor is read in a step: not in a condition, not by a call; the
        error says that it is for a step closure.
        """

        def refused_here(loss):
            return 1 if loss > 0 else 2

        self.refused(refused_here)

        def refused_here(loss):  # noqa: F811 - the same name in the error
            return loss.item()

        self.refused(refused_here)

    def test_tensors_are_not_printed_in_a_step(self):
        """004:472 Printing a tensor of a step is refused."""

        def refused_here(loss):
            return str(loss)

        self.refused(refused_here)

    def test_other_variables_have_their_first_value(self):
        """004:474 A variable that is no tensor has its first value in all steps, since the function
        runs once.
        """
        _, compiled, optimizer = self.begin()
        counted = []

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            counted.append(len(counted))
            loss = torch.nn.functional.cross_entropy(compiled(inputs), targets)
            cstorch.amp.optimizer_step(loss, optimizer)
            return loss * 0 + len(counted)

        found = self.run_step(training_step, data(), 4)
        self.assertEqual([v.item() for v in found], [1.0] * 4)
        self.assertEqual(counted, [0])


class Closures(Programs):
    def test_values_come_when_they_are_there(self):
        """004:476-478 The program and what computes run beside each other.
        004:480 A value may not be there yet when it is asked for, as while the step is compiled.
        004:482-486 step_closure decorates a function that sees values.
        004:488 It is called when the values are there, and waits for them.
        """
        _, compiled, optimizer = self.begin()
        seen, asked = [], []

        @cstorch.step_closure
        def closure(step, loss):
            self.assertNotIsInstance(loss, type(asked[0]))
            seen.append((step, loss.item()))

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = torch.nn.functional.cross_entropy(compiled(inputs), targets)
            cstorch.amp.optimizer_step(loss, optimizer)
            return loss

        for i, batch in enumerate(data(num_steps=4)):
            loss = training_step(batch)
            asked.append(loss)
            with self.assertRaisesRegex(RuntimeError, "step_closure"):
                loss.item()
            closure(i, loss)
            self.assertEqual(len(seen), i)  # not yet
        self.assertEqual([step for step, _ in seen], [0, 1, 2, 3])

    def test_last_value(self):
        """004:490 A closure sees the last value of a tensor, not the one at the call: what is
        written to it in place afterwards counts.
        """
        self.configure()
        seen = []

        @cstorch.step_closure
        def closure(value):
            seen.append(value.item())

        @cstorch.compile_step
        def step(batch):
            total = batch[0].sum() * 0
            closure(total)
            total += 1
            return batch[0].sum()

        self.run_step(step, data(), 2)
        self.assertEqual(seen, [1.0, 1.0])
