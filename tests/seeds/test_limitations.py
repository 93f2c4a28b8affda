"""Document 003, what a program may not do, and what happens where it does."""

import contextlib
import io

from seed_programs import Net, Programs, X, Y, cstorch, data, loader, torch

counter = 0


def first_or_second(input1, input2):
    global counter
    counter += 1
    if counter < 10:
        return input1
    return input2


class Steps(Programs):
    """Steps without a model: what a function of two inputs gives."""

    def values(self, function, steps=1):
        """What a step of (inputs, other inputs) returns."""
        self.configure()
        two = loader(X[:, :3].abs() + 1, X[:, 3:6].abs() + 1, batch_size=64)

        @cstorch.compile_step
        def step(batch):
            return function(*batch)

        return self.run_step(step, two, steps)

    def refused(self, function, pattern=r"is not known while the step is traced"):
        with self.assertRaisesRegex(RuntimeError, pattern):
            self.values(function)
        cstorch.finish()


ONE, TWO = X[:, :3].abs() + 1, X[:, 3:6].abs() + 1


class Precision(Programs):
    def test_weights_stay_float32(self):
        """003:5 Weights are float32; all but their update is computed in float32 and one 16-bit
        type; casts come by themselves.
        """
        for half in ("cbfloat16", "bfloat16", "float16"):
            model, compiled, optimizer = self.begin(precision={"fp16_type": half})
            self.train(compiled, optimizer, steps=2, checkpoint_steps=2)
            self.assertTrue(all(p.dtype == torch.float32 for p in model.parameters()))
            ops = self.planned()
            products = [op for op in ops if op["op"] == "matmul"]
            self.assertTrue(all(set(op["in"]) == {half} for op in products), products)
            update = [op for op in ops if op["scope"].startswith("optimizer")]
            self.assertTrue(update)
            self.assertFalse(any(half in [*op["in"], op["out"]] for op in update))
            cstorch.finish()

    def test_float32_is_possible(self):
        """003:5 Training is mixed precision only.
        Differs: a run without a 16-bit type computes in float32 throughout, which is the default,
        since a CPU gains less from 16 bits.
        """
        _, compiled, optimizer = self.begin()
        self.train(compiled, optimizer, steps=1)
        kinds = {kind for op in self.planned() for kind in [*op["in"], op["out"]]}
        self.assertIn("float32", kinds)
        self.assertFalse(kinds & {"float16", "bfloat16", "cbfloat16"})


class Tracing(Steps):
    def test_a_step_is_traced_once_before_it_runs(self):
        """003:11-13 The graph is traced and compiled ahead of the execution, which hands values to
        closures.
        """
        calls, seen = [], []

        @cstorch.step_closure
        def closure(value):
            seen.append(value.sum().item())

        def step(a, b):
            calls.append(len(seen))
            closure(a + b)
            return a

        self.values(step, steps=3)
        self.assertEqual(calls, [0])
        self.assertEqual(len(seen), 3)

    def test_python_decides_once(self):
        """003:19-36 A condition of Python is decided in the first step, for all of them.
        003:38 The graph of the first step is that of every step.
        """
        global counter
        counter = 0
        found = self.values(first_or_second, steps=15)
        self.assertEqual(counter, 1)
        for value in found:
            torch.testing.assert_close(value, ONE)

    def test_where_decides_in_each_step(self):
        """003:19,38-43 torch.where over a counter that is a tensor decides in each step."""
        count = torch.zeros((), dtype=torch.int32)

        class Count(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("step", count)

        counting = Count()
        cstorch.compile(counting, backend="wse_ws")

        def better_function(input1, input2, step):
            step += 1
            output = torch.where(step < 10, input1, input2)
            return output

        found = self.values(lambda a, b: better_function(a, b, counting.step), steps=15)
        for i, value in enumerate(found, start=1):
            torch.testing.assert_close(value, ONE if i < 10 else TWO)

    def test_values_are_not_known(self):
        """003:45-47 Values of tensors cannot be read while the step is traced.
        003:49-57 A condition over a maximum is refused.
        003:59-67 The error is a RuntimeError with the line of the program.
        Differs: its text names the line and what to do (torch.where, a closure) in place of an
        operation inside of PyTorch.
        """

        def bad_function(input1, input2):
            if input1.max() < 0:
                raise ValueError("input1 must have positive elements!")
            return input1 + input2

        self.refused(bad_function, r"test_limitations\.py:\d+ in bad_function.*\n?.*torch\.where")

    def test_other_readings(self):
        """003:69 An assertion, .to("cpu") and .item() read values, too."""

        def asserting(a, b):
            assert a.max() > 0
            return a

        self.refused(asserting)
        self.refused(lambda a, b: a.to("cpu"))
        self.refused(lambda a, b: a + b.sum().item())

    def test_printing_is_refused(self):
        """003:69 Printing a tensor reads its value, and is refused."""

        def printing(a, b):
            with contextlib.redirect_stdout(io.StringIO()):
                print(a)
            return a

        self.refused(printing, "not allowed to read a tensor's contents outside of a step closure")


class Scalars(Steps):
    def test_scalar_arguments(self):
        """003:71-75 torch.add's alpha and torch.addcdiv's value are numbers.
        003:77-78 A number of Python is one.
        """
        found = self.values(
            lambda a, b: (a.addcdiv(a, b, value=3.14), torch.add(a, b, alpha=0.5))
        )[0]
        torch.testing.assert_close(found[0], ONE.addcdiv(ONE, TWO, value=3.14))
        torch.testing.assert_close(found[1], torch.add(ONE, TWO, alpha=0.5))

    def test_the_order_of_the_document(self):
        """003:77-78 The number stands behind the two tensors.
        Differs: PyTorch takes it as `value=` alone, and so do we: its own error is raised.
        """
        with self.assertRaises(TypeError):
            ONE.addcdiv(ONE, TWO, 3.14)
        with self.assertRaises(TypeError):
            self.values(lambda a, b: a.addcdiv(a, b, 3.14))

    def test_tensors_of_outside(self):
        """003:80-84 A tensor that was made outside of the step is a number, too."""
        pi = torch.tensor(3.14, dtype=torch.float16)
        found = self.values(lambda a, b: a.addcdiv(a, b, value=pi))[0]
        torch.testing.assert_close(found, ONE.addcdiv(ONE, TWO, value=pi.item()))

    def test_traced_scalars(self):
        """003:86-90 A learning rate made of the step's number is a tensor of the step.
        003:92 Where a scalar is wanted it becomes one, with an error and a random value; what only
        it needs is left out.
        Differs: it is refused where it happens, with the line of the program; tensor1 / tensor2 *
        lrs computes the same with a tensor.
        """

        class Count(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("step", torch.tensor(0, dtype=torch.int32))

        counting = Count()
        cstorch.compile(counting, backend="wse_ws")

        def rate():
            counting.step += 1
            return torch.where(counting.step > 1, counting.step.float() * 0.0001, 0.0002)

        def scaled(tensor1, tensor2):
            lrs = rate()
            return tensor1.addcdiv(tensor1, tensor2, value=lrs)

        self.refused(scaled, r"test_limitations\.py:\d+ in scaled: .*not known while the step")
        counting = Count()
        cstorch.compile(counting, backend="wse_ws")
        found = self.values(lambda a, b: a + rate() * a / b, steps=3)
        for i, value in enumerate(found, start=1):
            rate = i * 0.0001 if i > 1 else 0.0002
            torch.testing.assert_close(value, ONE.addcdiv(ONE, TWO, value=rate))


class Late(cstorch.optim.Optimizer):
    """Makes its state in the step, on a condition."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    def preinitialize(self):
        pass

    def state_names_to_sparsify(self):
        return []

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if len(self.state[p]) == 0:
                    self.state[p]["momentum"] = torch.zeros_like(p.grad)
                self.state[p]["momentum"].add_(p.grad * 0.001)
                p.data.sub_(self.state[p]["momentum"])


class Early(Late):
    """Makes it before."""

    calls = 0

    def preinitialize(self):
        type(self).calls += 1
        for group in self.param_groups:
            for p in group["params"]:
                if "momentum" not in self.state[p]:
                    self.state[p]["momentum"] = torch.zeros_like(p)


class CallsItself(Early):
    """Calls preinitialize in its own __init__ as well, as for a training without the engine."""

    calls = 0

    def __init__(self, params):
        super().__init__(params)
        self.preinitialize()


class States(Programs):
    def run_with(self, kind, steps=4):
        torch.manual_seed(0)
        self.configure()
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = kind(model.parameters())
        self.model = model
        losses = self.train(compiled, optimizer, steps=steps, checkpoint_steps=steps)
        return losses, optimizer

    def test_states_are_made_before(self):
        """003:94-98 A state is made before the step is traced; one that is made in it would be new
        in each step, zero, and its new value would be taken for a result.
        003:100-109 An optimizer that makes its momentum in its step.
        003:111 Such a state has no identity before the first step, and would be lost.
        Differs: it is refused by its name, and nothing runs with zeros in its place.
        """
        with self.assertRaisesRegex(
            RuntimeError, r"'momentum' of fc1.weight was created inside the step.*preinitialize"
        ):
            self.run_with(Late)

    def test_states_are_carried(self):
        """003:94,111 What a state is after a step it is before the next one.
        003:115-117 preinitialize makes all states of an optimizer, and is called for the program.
        003:117 The program may call it in __init__ itself as well.
        """
        losses, _ = self.run_with(Early)
        twin = Net()
        torch.manual_seed(0)
        twin = Net()
        momentum = {}
        for i, loss in enumerate(losses):
            rows = slice(16 * i, 16 * i + 16)
            expected = torch.nn.functional.cross_entropy(twin(X[rows]), Y[rows])
            self.assertAlmostEqual(loss, expected.item(), delta=1e-5)
            twin.zero_grad()
            expected.backward()
            with torch.no_grad():
                for name, p in twin.named_parameters():
                    momentum[name] = momentum.get(name, 0) + p.grad * 0.001
                    p.sub_(momentum[name])
        self.assertEqual(Early.calls, 1)
        cstorch.finish()
        self.assertEqual(self.run_with(CallsItself)[0], losses)


class Rates(Programs):
    def test_the_rate_in_a_step_is_a_tensor(self):
        """003:119 A schedule puts a tensor of the step into the group's "lr".
        003:127 The whole schedule is a function of the step's number, so that the rate is a tensor.
        003:129 An optimizer uses it as one.
        """
        seen = []

        class Plain(Early):
            def step(self, closure=None):
                for group in self.param_groups:
                    seen.append(group["lr"])
                    for p in group["params"]:
                        p.data.sub_(p.grad * group["lr"])

        torch.manual_seed(0)
        self.configure()
        model = Net()
        compiled = cstorch.compile(model, backend="wse_ws")
        optimizer = Plain(model.parameters())
        cstorch.optim.lr_scheduler.LinearLR(
            optimizer,
            initial_learning_rate=0.4,
            end_learning_rate=0.0,
            total_iters=4,
        )
        before = model.last_layer.bias.detach().clone()
        losses = self.train(compiled, optimizer, steps=5, checkpoint_steps=5)
        self.assertIsInstance(seen[0], torch.Tensor)
        self.assertEqual(len(seen), 1)  # it is traced once
        torch.manual_seed(0)
        twin = Net()
        for i, loss in enumerate(losses[:4]):
            rows = slice(16 * i, 16 * i + 16)
            expected = torch.nn.functional.cross_entropy(twin(X[rows]), Y[rows])
            self.assertAlmostEqual(loss, expected.item(), delta=1e-5)
            twin.zero_grad()
            expected.backward()
            with torch.no_grad():
                for p in twin.parameters():
                    p.sub_((0.4 - 0.1 * i) * p.grad)
        self.assertFalse(torch.equal(model.last_layer.bias, before))

    def test_adam_base(self):
        """003:129 AdamBase is an optimizer of that kind, from which others derive."""
        self.assertTrue(issubclass(cstorch.optim.AdamW, cstorch.optim.AdamBase))
        self.assertTrue(issubclass(cstorch.optim.AdamBase, cstorch.optim.Optimizer))

    def test_schedules_of_torch(self):
        """003:123-125 Schedules of PyTorch, which set numbers in the groups, are not possible."""
        _, compiled, optimizer = self.begin()
        with self.assertRaisesRegex(Exception, r"torch\.optim\.lr_scheduler.*cstorch\.optim"):
            torch.optim.lr_scheduler.StepLR(optimizer, 2)
            self.train(compiled, optimizer, steps=1)


class Executions(Programs):
    def evaluation(self, compiled):
        @cstorch.compile_step
        def evaluation_step(batch):
            inputs, targets = batch
            return torch.nn.functional.cross_entropy(compiled(inputs), targets)

        return evaluation_step

    def test_any_order(self):
        """003:131-133 The first execution fixes the cluster, so that training comes before
        evaluation.
        Differs: memory is taken for each execution, and any order works.
        """
        model, compiled, optimizer = self.begin()
        step = self.evaluation(compiled)
        with torch.no_grad():
            first = self.run_step(step, data(), 2)
        losses = self.train(compiled, optimizer, steps=4, checkpoint_steps=4)
        with torch.no_grad():
            last = self.run_step(step, data(), 2)
        self.assertAlmostEqual(first[0].item(), losses[0], delta=1e-6)
        self.assertLess(last[0].item(), first[0].item())

    def test_settings_are_of_all_executions(self):
        """003:135 num_csx and num_workers_per_csx are the same for all executions."""
        _, compiled, optimizer = self.begin(num_csx=1)
        self.train(compiled, optimizer, steps=1)
        with self.assertRaisesRegex(RuntimeError, "configure"):
            cstorch.configure(num_csx=2)
        with self.assertRaisesRegex(RuntimeError, "configure"):
            cstorch.configure(num_workers_per_csx=2)

    def test_weights_may_be_changed_after_a_checkpoint(self):
        """003:137-141 Weights may be changed between executions where the last step of the one
        before was a checkpoint step, so checkpoint_steps above 0.
        003:143-149 After checkpoints they may.
        003:159-161 The next execution computes with what the program wrote.
        """
        model, compiled, optimizer = self.begin()
        self.train(compiled, optimizer, steps=2, checkpoint_steps=1)
        model.fc1.weight.data.mul_(0.9)
        expected = torch.nn.functional.cross_entropy(model(X[:16]), Y[:16]).item()
        with torch.no_grad():
            found = self.run_step(self.evaluation(compiled), data(), 1)
        self.assertAlmostEqual(found[0].item(), expected, delta=1e-5)

    def test_weights_may_not_be_changed_without_one(self):
        """003:139,151-157 Without a checkpoint step they may not."""
        model, compiled, optimizer = self.begin()
        self.train(compiled, optimizer, steps=2, checkpoint_steps=0)
        model.fc1.weight.data.mul_(0.9)
        with torch.no_grad(), self.assertRaisesRegex(RuntimeError, "checkpoint"):
            self.run_step(self.evaluation(compiled), data(), 1)

    def test_batches_are_unpacked_in_the_loop(self):
        """003:146-147,154-155,160-161 The loop unpacks the batch, with a number of the step or
        without.
        """
        model, compiled, optimizer = self.begin()

        @cstorch.compile_step
        def training_step(inputs, targets):
            loss = torch.nn.functional.cross_entropy(compiled(inputs), targets)
            cstorch.amp.optimizer_step(loss, optimizer)
            return loss

        train_executor = cstorch.utils.data.DataExecutor(data(), num_steps=2, checkpoint_steps=1)
        for inputs, targets in train_executor:
            training_step(inputs, targets)
        seen = []

        @cstorch.compile_step
        def validation_step(inputs, targets):
            return torch.nn.functional.cross_entropy(compiled(inputs), targets)

        validation_executor = cstorch.utils.data.DataExecutor(data(), num_steps=2)
        with torch.no_grad():
            for step, (inputs, targets) in enumerate(validation_executor):
                validation_step(inputs, targets)
                seen.append(step)
        self.assertEqual(seen, [0, 1])

    def test_first_values_need_no_setting(self):
        """003:163-165 Changes between executions need lazy initialization to be enabled.
        Differs: there is no such setting; a tensor of the program is the state's value until the
        engine takes it over, so that changes always count.
        """
        model, compiled, optimizer = self.begin()
        with torch.no_grad():
            model.fc1.weight.mul_(0.5)
        expected = torch.nn.functional.cross_entropy(model(X[:16]), Y[:16]).item()
        self.assertAlmostEqual(
            self.train(compiled, optimizer, steps=1)[0], expected, delta=1e-5
        )
