"""Document 004, its sections about optimizers and schedules of the learning rate."""

from seed_programs import Net, Programs, X, Y, cstorch, data, torch

lr_scheduler = cstorch.optim.lr_scheduler


class Momentum(cstorch.optim.Optimizer):
    """A program's own optimizer."""

    def __init__(self, params, lr=0.1, momentum=0.5, global_step=False):
        defaults = {"lr": lr, "momentum": momentum}
        super().__init__(params, defaults, enable_global_step=global_step)

    def preinitialize(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["velocity"] = torch.zeros_like(p)

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                velocity = self.state[p]["velocity"]
                velocity.mul_(group["momentum"]).add_(p.grad)
                p.data.sub_(group["lr"] * velocity)
                if self.enable_global_step:
                    self.increment_global_step(p)

    def state_names_to_sparsify(self):
        return ["velocity"]


class Halving(lr_scheduler.LRScheduler):
    """A program's own schedule: half of the rate each two steps."""

    def __init__(self, optimizer, rate, total_iters=None, last_epoch=-1):
        self.rate = rate
        super().__init__(optimizer, total_iters=total_iters, last_epoch=last_epoch)

    def _get_closed_form_lr(self):
        return self.rate * 0.5 ** torch.floor(self.last_epoch.float() / 2)


class Training(Programs):
    """Losses of a training beside those of PyTorch."""

    def compare(self, make, usual, steps=4):
        """make(parameters) gives our optimizer, usual(parameters) PyTorch's."""
        torch.manual_seed(0)
        self.configure()
        model = Net()
        twin = Net()
        twin.load_state_dict(model.state_dict())
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = make(model.parameters())
        theirs = usual(twin.parameters())
        losses = self.train(compiled, optimizer, steps=steps)
        expected = []
        for i in range(steps):
            rows = slice(16 * (i % 4), 16 * (i % 4) + 16)
            loss = torch.nn.functional.cross_entropy(twin(X[rows]), Y[rows])
            theirs.zero_grad()
            loss.backward()
            theirs.step()
            expected.append(loss.item())
        torch.testing.assert_close(losses, expected, rtol=1e-4, atol=1e-4)
        return optimizer

    def rates(self, steps, make, optimizer=None):
        """The learning rate in each step, of the schedule make(optimizer)."""
        self.configure()
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = (optimizer or cstorch.optim.SGD)(model.parameters(), lr=1.0)
        self.made = make(optimizer)

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = torch.nn.functional.cross_entropy(compiled(inputs), targets)
            rate = torch.as_tensor(self.made.get_last_lr()[0]) + 0.0 * loss
            cstorch.amp.optimizer_step(loss, optimizer)
            if self.made:
                self.made.step()
            return loss, rate

        found = self.run_step(training_step, data(), steps)
        cstorch.finish()
        return [rate.item() for _, rate in found]

    def assert_rates(self, found, expected):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)


class Optimizers(Training):
    def test_replacements_of_optimizers(self):
        """004:183 Optimizers of PyTorch have replacements in cstorch.optim, which can take their
        place.
        """
        for name, settings in (
            ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
            ("Adam", {"lr": 0.01}),
            ("AdamW", {"lr": 0.01, "betas": (0.8, 0.9)}),
            ("Adagrad", {"lr": 0.01}),
            ("RMSprop", {"lr": 0.01}),
        ):
            self.compare(
                lambda p, n=name, s=settings: getattr(cstorch.optim, n)(p, **s),
                lambda p, n=name, s=settings: getattr(torch.optim, n)(p, **s),
            )
            cstorch.finish()

    def test_configure_optimizer(self):
        """004:185-191 configure_optimizer makes an optimizer by its name, with its arguments.
        004:193-204 The arguments may come from a dictionary.
        """
        optimizer_params = {"optimizer_type": "SGD", "lr": 0.001, "momentum": 0.5}

        def make(parameters):
            return cstorch.optim.configure_optimizer(
                optimizer_type=optimizer_params.pop("optimizer_type"),
                params=parameters,
                **optimizer_params,
            )

        made = self.compare(make, lambda p: torch.optim.SGD(p, lr=0.001, momentum=0.5))
        self.assertIsInstance(made, cstorch.optim.SGD)
        with self.assertRaisesRegex(ValueError, "SGDD.*accepted: .*AdamW"):
            cstorch.optim.configure_optimizer("SGDD", Net().parameters(), lr=0.1)

    def test_custom_optimizer(self):
        """004:206-226 A program's own optimizer derives from cstorch.optim.Optimizer.
        004:228 Its base takes the parameters and the groups' defaults.
        """
        made = self.compare(Momentum, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.5))
        self.assertEqual(made.param_groups[0]["momentum"], 0.5)
        self.assertEqual(len(made.param_groups[0]["params"]), 4)

    def test_enable_global_step(self):
        """004:228 With enable_global_step each parameter has a counter of steps, without it none.
        """
        torch.manual_seed(0)
        self.configure()
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = Momentum(model.parameters(), global_step=True)
        self.train(compiled, optimizer, steps=3, checkpoint_steps=3)
        state = optimizer.state_dict()["state"]
        counters = [
            float(value)
            for values in state.values()
            for name, value in dict(values).items()
            if "step" in name
        ]
        self.assertEqual(counters, [3.0] * 4)
        cstorch.finish()
        self.configure()
        model = Net()
        cstorch.compile(model, backend="wse_ws")
        without = Momentum(model.parameters())
        self.assertFalse(any("step" in name for s in without.state.values() for name in s))

    def test_methods_that_must_be_there(self):
        """004:230 A class of a program must have all three methods of its own."""
        for name in ("preinitialize", "step", "state_names_to_sparsify"):
            members = {k: v for k, v in vars(Momentum).items() if k != name}
            members.pop("__init__")
            lacking = type("Lacking", (cstorch.optim.Optimizer,), members)
            with self.assertRaisesRegex((TypeError, NotImplementedError), name):
                lacking(Net().parameters(), {"lr": 0.1, "momentum": 0.5})

    def test_preinitialize_makes_states(self):
        """004:232-234 preinitialize makes the states of an optimizer, as SGD's momentum is made.
        004:236 No state is made anywhere else.
        """
        self.configure()
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = cstorch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.train(compiled, optimizer, steps=1, checkpoint_steps=1)
        state = optimizer.state_dict()["state"]
        self.assertEqual(len(state), 4)
        for values in state.values():
            self.assertEqual(list(values), ["momentum_buffer"])
        cstorch.finish()

        class Late(Momentum):
            def preinitialize(self):
                pass

            def step(self, closure=None):
                super().preinitialize()
                super().step()

        self.configure()
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        late = Late(model.parameters())
        with self.assertRaisesRegex(RuntimeError, "velocity.*preinitialize"):
            self.train(compiled, late)

    def test_steps_have_no_conditions_of_values(self):
        """004:238-240 A step of an optimizer has operations of PyTorch alone: no condition of
        Python over a tensor.
        004:242 Loops and conditions over constants are possible.
        """

        class Deciding(Momentum):
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    if p.grad.norm() > 1:
                        p.data.sub_(p.grad)

        class Static(Momentum):
            def step(self, closure=None):
                for _ in range(2):
                    for group in self.param_groups:
                        for p in group["params"]:
                            if group["lr"] > 0:
                                p.data.sub_(0.5 * group["lr"] * p.grad)

        self.configure()
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        deciding = Deciding(model.parameters())
        with self.assertRaisesRegex(RuntimeError, r"not known while the step is traced"):
            self.train(compiled, deciding)
        cstorch.finish()
        self.compare(Static, lambda p: torch.optim.SGD(p, lr=0.1))

    def test_where_in_an_optimizer(self):
        """004:240 torch.where decides in each step."""

        class Choosing(Momentum):
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    p.data.sub_(torch.where(p.grad.norm() > 0, p.grad, 2 * p.grad) * 0.1)

        self.compare(Choosing, lambda p: torch.optim.SGD(p, lr=0.1))

    def test_states_that_are_sparse(self):
        """004:244-246 state_names_to_sparsify names the states that are zero where the weight is.
        """
        self.configure()
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = Momentum(model.parameters())
        sparsity = cstorch.sparse.configure({"algorithm": "static", "sparsity": 0.5})
        sparsity.apply(optimizer)
        self.train(compiled, optimizer, steps=3, checkpoint_steps=3)
        zeros = model.fc1.weight.detach() == 0
        self.assertAlmostEqual(zeros.float().mean().item(), 0.5, delta=0.05)
        velocity = optimizer.state[model.fc1.weight]["velocity"]
        self.assertEqual(velocity[zeros].abs().sum().item(), 0)


class Schedules(Training):
    def test_schedules_of_torch_are_refused(self):
        """004:250 Schedules of PyTorch do not work in a step."""
        _, compiled, optimizer = self.begin()
        with self.assertRaisesRegex(Exception, r"torch\.optim\.lr_scheduler.*cstorch\.optim"):
            torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
            self.train(compiled, optimizer, steps=1)

    def test_replacements_of_schedules(self):
        """004:252 There are replacements in cstorch.optim.lr_scheduler."""
        found = self.rates(4, lambda o: lr_scheduler.StepLR(o, 0.8, 2, 0.5))
        self.assert_rates(found, [0.8, 0.8, 0.4, 0.4])
        found = self.rates(3, lambda o: lr_scheduler.ExponentialLR(o, 0.8, 2, 0.25))
        self.assert_rates(found, [0.8, 0.4, 0.2])

    def test_a_number(self):
        """004:254-259 configure_lr_scheduler makes a schedule of an optimizer.
        004:261-265 Of a number it makes a ConstantLR.
        """
        for rate in (0.25, 2):
            found = self.rates(
                2, lambda o, r=rate: cstorch.optim.configure_lr_scheduler(o, learning_rate=r)
            )
            self.assertIsInstance(self.made, lr_scheduler.ConstantLR)
            self.assert_rates(found, [float(rate)] * 2)

    def test_a_dictionary(self):
        """004:267-269 Of a dictionary it makes the schedule that `scheduler` names.
        004:271 The other entries are the schedule's arguments.
        """
        learning_rate = {
            "scheduler": "LinearLR",
            "initial_learning_rate": 1.0,
            "end_learning_rate": 0.0,
            "total_iters": 4,
        }
        found = self.rates(
            5, lambda o: cstorch.optim.configure_lr_scheduler(o, learning_rate=learning_rate)
        )
        self.assertIsInstance(self.made, lr_scheduler.LinearLR)
        self.assert_rates(found, [1.0, 0.75, 0.5, 0.25, 0.0])
        self.assertEqual(learning_rate["scheduler"], "LinearLR")
        with self.assertRaisesRegex(ValueError, "the key 'scheduler'.*'total_iters'"):
            self.rates(1, lambda o: cstorch.optim.configure_lr_scheduler(o, {"total_iters": 4}))

    def test_a_list(self):
        """004:273-275 Of a list of dictionaries it makes a SequentialLR.
        004:277-279 Each has the form of a single one, and total_iters, its number of steps.
        """
        found = self.rates(
            5,
            lambda o: cstorch.optim.configure_lr_scheduler(
                o,
                learning_rate=[
                    {
                        "scheduler": "LinearLR",
                        "initial_learning_rate": 0.0,
                        "end_learning_rate": 1.0,
                        "total_iters": 2,
                    },
                    {"scheduler": "ConstantLR", "learning_rate": 0.5, "total_iters": 2},
                    {"scheduler": "ConstantLR", "learning_rate": 0.1, "total_iters": 2},
                ],
            ),
        )
        self.assertIsInstance(self.made, lr_scheduler.SequentialLR)
        self.assert_rates(found, [0.0, 0.5, 0.5, 0.5, 0.1])

    def test_total_iters_must_be_there(self):
        """004:279 In a sequence each part says for how many steps it is."""
        with self.assertRaisesRegex((ValueError, RuntimeError), "total_iters"):
            self.rates(
                1,
                lambda o: cstorch.optim.configure_lr_scheduler(
                    o,
                    [
                        {"scheduler": "ConstantLR", "learning_rate": 0.5},
                        {"scheduler": "ConstantLR", "learning_rate": 0.1, "total_iters": 2},
                    ],
                ),
            )

    def test_a_chain(self):
        """004:275-277 With main_scheduler ChainedLR in one of them it makes their product."""
        linear = {
            "scheduler": "LinearLR",
            "initial_learning_rate": 1.0,
            "end_learning_rate": 0.0,
            "total_iters": 4,
        }
        halving = {
            "scheduler": "ExponentialLR",
            "initial_learning_rate": 1.0,
            "total_iters": 1,
            "decay_rate": 0.5,
        }
        chained = {"main_scheduler": "ChainedLR"}
        for parts in ([{**linear, **chained}, halving], [linear, {**halving, **chained}]):
            found = self.rates(
                3, lambda o, p=parts: cstorch.optim.configure_lr_scheduler(o, learning_rate=p)
            )
            self.assertIsInstance(self.made, lr_scheduler.ChainedScheduler)
            self.assert_rates(found, [1.0, 0.375, 0.125])

    def test_custom_schedule(self):
        """004:281-294 A program's own schedule derives from LRScheduler.
        004:296 Its base takes the optimizer, total_iters and last_epoch.
        004:300-306 _get_closed_form_lr gives the whole schedule as a tensor.
        """
        expected = [0.8, 0.8, 0.4, 0.4, 0.2]
        for kind in (cstorch.optim.SGD, Momentum):
            found = self.rates(5, lambda o: Halving(o, 0.8), kind)
            self.assert_rates(found, expected)
        found = self.rates(3, lambda o: Halving(o, 0.8, total_iters=10, last_epoch=1))
        self.assert_rates(found, expected[2:])
        self.assertEqual(self.made.total_iters, 10)

    def test_a_schedule_must_have_its_method(self):
        """004:298 _get_closed_form_lr must be there."""
        with self.assertRaisesRegex((TypeError, NotImplementedError), "_get_closed_form_lr"):
            self.rates(1, lambda o: type("Lacking", (lr_scheduler.LRScheduler,), {})(o))

    def test_schedules_have_no_conditions_of_values(self):
        """004:302 A schedule has operations of PyTorch alone, as torch.where.
        004:304 Loops and conditions over constants are possible.
        004:308 The schedules that are there are examples: they can be derived from.
        """

        class Deciding(Halving):
            def _get_closed_form_lr(self):
                return torch.tensor(0.1) if self.last_epoch > 2 else torch.tensor(0.2)

        class Choosing(Halving):
            def _get_closed_form_lr(self):
                value = torch.where(self.last_epoch < 2, 0.2, 0.1)
                for _ in range(3):
                    if self.rate > 0:
                        value = value * 2
                return value

        with self.assertRaisesRegex(RuntimeError, r"not known while the step is traced"):
            self.rates(1, lambda o: Deciding(o, 0.8))
        cstorch.finish()
        self.assert_rates(self.rates(3, lambda o: Choosing(o, 0.8)), [1.6, 1.6, 0.8])
        self.assertTrue(issubclass(lr_scheduler.CosineDecayLR, lr_scheduler.LRScheduler))
