"""Training loops: the results of PyTorch, the same bits for any number of processes, and the loop's
semantics."""

import gzip
import os
import pathlib
import signal
import struct
import subprocess
import sys
import threading
import time
import unittest

import torch
import torch.nn.functional as F

import cstorch
from cstorch.utils.data.source import SampleSource
from programs import Case, loader

torch.manual_seed(0)
X = torch.randn(512, 16)
Y = torch.randint(0, 4, (512,))
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "python" / "examples"


class Net(torch.nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.first = torch.nn.Linear(16, 32)
        self.norm = torch.nn.LayerNorm(32)
        self.dropout = torch.nn.Dropout(dropout)
        self.last = torch.nn.Linear(32, 4)

    def forward(self, x):
        return self.last(self.dropout(torch.relu(self.norm(self.first(x)))))


class OwnMomentum(cstorch.optim.Optimizer):
    def __init__(self, params, lr, momentum):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    def preinitialize(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["buffer"] = torch.zeros_like(p)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                buffer = self.state[p]["buffer"]
                buffer.mul_(group["momentum"]).add_(p.grad)
                p.sub_(buffer * group["lr"])

    def state_names_to_sparsify(self):
        return ["buffer"]


class OwnSchedule(cstorch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, rate):
        self.rate = rate
        super().__init__(optimizer, total_iters=100)

    def _get_closed_form_lr(self):
        return self.rate / torch.sqrt(self.last_epoch + 1.0)


class MeanPrediction(cstorch.metrics.Metric):
    def init_state(self):
        self.register_state("total", torch.zeros(()))
        self.register_state("count", torch.zeros(()))

    def update(self, predictions):
        self.total.add_(cstorch.batch_sum(predictions.float().sum()))
        self.count.add_(cstorch.batch_sum(torch.ones_like(predictions, dtype=torch.float32).sum()))

    def compute(self):
        return self.total / self.count


def train(
    case,
    steps=12,
    num_csx=1,
    micro=None,
    model=None,
    optimizer=None,
    schedule=None,
    scaler=None,
    clip=None,
    **options,
):
    """Trains; returns the losses of each step and the weights."""
    case.configure(num_csx=num_csx, seed=5)
    torch.manual_seed(1)
    model = model or Net()
    cstorch.compile(model)
    made = (
        optimizer(model.parameters())
        if optimizer
        else cstorch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    )
    if schedule is not None:
        schedule(made)
    data = loader(X, Y, batch_size=64)
    data.micro_batch_size = micro

    @cstorch.trace
    def step(batch):
        x, y = batch
        loss = F.cross_entropy(model(x), y)
        cstorch.amp.optimizer_step(loss, made, scaler, max_gradient_norm=clip)
        return loss

    losses = [float(v) for v in case.run_step(step, data, steps, **options)]
    return losses, {n: p.detach().clone() for n, p in model.named_parameters()}


def reference(steps, optimizer, schedule=None, clip=None):
    """The same by PyTorch."""
    torch.manual_seed(1)
    model = Net()
    made = optimizer(model.parameters())
    losses = []
    for i in range(steps):
        at = i * 64 % 512
        if schedule:
            for group in made.param_groups:
                group["lr"] = schedule(i)
        made.zero_grad()
        loss = F.cross_entropy(model(X[at : at + 64]), Y[at : at + 64])
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        made.step()
        losses.append(loss.item())
    return losses, dict(model.named_parameters())


class Results(Case):
    def close(self, found, wanted, tolerance=1e-5):
        self.assertEqual(len(found[0]), len(wanted[0]))
        for a, b in zip(found[0], wanted[0]):
            self.assertAlmostEqual(a, b, delta=tolerance)
        for name, value in wanted[1].items():
            torch.testing.assert_close(found[1][name], value.detach(), rtol=1e-4, atol=tolerance)

    def test_sgd_with_clipping(self):
        self.close(
            train(self, clip=0.5),
            reference(12, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), clip=0.5),
        )

    def test_adamw_with_a_schedule(self):
        self.close(
            train(
                self,
                optimizer=lambda p: cstorch.optim.AdamW(
                    p, lr=0.1, eps=1e-8, weight_decay=0.1, eps_added_to="corrected"
                ),
                schedule=lambda o: cstorch.optim.lr_scheduler.LinearLR(o, 0.01, 0.001, 10),
            ),
            reference(
                12,
                lambda p: torch.optim.AdamW(p, lr=0.01, eps=1e-8, weight_decay=0.1),
                schedule=lambda i: 0.01 + (0.001 - 0.01) * min(i, 10) / 10,
            ),
            2e-5,
        )

    def test_parameter_groups(self):
        def ours(parameters):
            parameters = list(parameters)
            return cstorch.optim.SGD(
                [{"params": parameters[:3]}, {"params": parameters[3:], "lr": 0.01}], lr=0.1
            )

        def theirs(parameters):
            parameters = list(parameters)
            return torch.optim.SGD(
                [{"params": parameters[:3]}, {"params": parameters[3:], "lr": 0.01}], lr=0.1
            )

        self.close(train(self, optimizer=ours), reference(12, theirs))

    def test_convert(self):
        self.close(
            train(self, optimizer=lambda p: cstorch.optim.convert(torch.optim.Adam(p, lr=0.01))),
            reference(12, lambda p: torch.optim.Adam(p, lr=0.01)),
            2e-5,
        )

    def test_an_optimizer_and_a_schedule_of_the_program(self):
        self.close(
            train(
                self,
                optimizer=lambda p: OwnMomentum(p, 0.1, 0.9),
                schedule=lambda o: OwnSchedule(o, 0.1),
            ),
            self.own_momentum(),
        )

    @staticmethod
    def own_momentum():
        torch.manual_seed(1)
        model = Net()
        buffers = [torch.zeros_like(p) for p in model.parameters()]
        losses = []
        for i in range(12):
            at = i * 64 % 512
            loss = F.cross_entropy(model(X[at : at + 64]), Y[at : at + 64])
            gradients = torch.autograd.grad(loss, list(model.parameters()))
            with torch.no_grad():
                for p, g, b in zip(model.parameters(), gradients, buffers):
                    b.mul_(0.9).add_(g)
                    p.sub_(b * (0.1 / (i + 1) ** 0.5))
            losses.append(loss.item())
        return losses, dict(model.named_parameters())

    def test_a_schedule_of_the_program_with_an_optimizer_of_the_engine(self):
        self.close(
            train(
                self,
                optimizer=lambda p: cstorch.optim.SGD(p, lr=0.5),
                schedule=lambda o: OwnSchedule(o, 0.1),
            ),
            reference(
                12, lambda p: torch.optim.SGD(p, lr=0.1), schedule=lambda i: 0.1 / (i + 1) ** 0.5
            ),
        )

    def test_a_schedule_of_the_engine_with_an_optimizer_of_the_program(self):
        def ours(parameters):
            return OwnMomentum(parameters, 0.1, 0.0)

        self.close(
            train(
                self,
                optimizer=ours,
                schedule=lambda o: cstorch.optim.configure_lr_scheduler(
                    o,
                    {
                        "scheduler": "LinearLR",
                        "initial_learning_rate": 0.1,
                        "end_learning_rate": 0.01,
                        "total_iters": 10,
                    },
                ),
            ),
            reference(
                12,
                lambda p: torch.optim.SGD(p, lr=0.1),
                schedule=lambda i: 0.1 + (0.01 - 0.1) * min(i, 10) / 10,
            ),
        )

    def test_loss_scaling(self):
        wanted = reference(12, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))
        for scale in ("dynamic", 1024.0):
            with self.subTest(scale):
                self.close(train(self, scaler=cstorch.amp.GradScaler(loss_scale=scale)), wanted)
                cstorch.finish()
        self.close(
            train(
                self,
                scaler=cstorch.amp.GradScaler(loss_scale="dynamic"),
                optimizer=lambda p: OwnMomentum(p, 0.1, 0.9),
            ),
            reference(12, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
        )

    def test_batch_norm_and_its_statistics(self):
        torch.manual_seed(2)
        ours = torch.nn.Sequential(
            torch.nn.Linear(16, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 4)
        )
        theirs = torch.nn.Sequential(
            torch.nn.Linear(16, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 4)
        )
        theirs.load_state_dict(ours.state_dict())
        losses, _ = train(
            self, steps=6, model=ours, optimizer=lambda p: cstorch.optim.SGD(p, lr=0.1)
        )
        optimizer = torch.optim.SGD(theirs.parameters(), lr=0.1)
        for i in range(6):
            optimizer.zero_grad()
            loss = F.cross_entropy(theirs(X[i * 64 : i * 64 + 64]), Y[i * 64 : i * 64 + 64])
            loss.backward()
            optimizer.step()
            self.assertAlmostEqual(losses[i], loss.item(), delta=1e-5)
        torch.testing.assert_close(
            ours[1].running_mean, theirs[1].running_mean, rtol=1e-5, atol=1e-6
        )
        torch.testing.assert_close(ours[1].running_var, theirs[1].running_var, rtol=1e-5, atol=1e-6)

    def test_metrics(self):
        self.configure(num_csx=2)
        model = Net()
        cstorch.compile(model)
        model.eval()
        accuracy = cstorch.metrics.AccuracyMetric("accuracy")
        own = MeanPrediction("mean_prediction")
        data = loader(X, Y, batch_size=64)
        data.micro_batch_size = 16

        @cstorch.trace
        def step(batch):
            x, y = batch
            predictions = model(x).argmax(-1)
            accuracy(labels=y, predictions=predictions)
            own(predictions)
            return F.cross_entropy(model(x), y)

        self.run_step(step, data, 8)
        with torch.no_grad():
            predictions = model(X).argmax(-1)
        self.assertAlmostEqual(
            float(accuracy), (predictions == Y).float().mean().item(), delta=1e-6
        )
        self.assertAlmostEqual(float(own), predictions.float().mean().item(), delta=1e-5)

    def test_half_precision_and_levels(self):
        wanted, _ = train(self)
        cstorch.finish()
        cstorch.amp.set_half_dtype("bfloat16")

        class Net0(Net):
            @cstorch.pol(level=0)
            def forward(self, x):
                return super().forward(x)

        found, _ = train(self)
        cstorch.finish()
        self.assertNotEqual(found, wanted)
        for a, b in zip(found, wanted):
            self.assertAlmostEqual(a, b, delta=0.02)
        cstorch.amp.set_half_dtype("bfloat16")
        levels, _ = train(self, model=Net0())
        self.assertNotEqual(levels, found)

    def test_sparse_weights(self):
        def sparse(parameters):
            made = cstorch.optim.SGD(parameters, lr=0.1)
            cstorch.sparse.configure({"algorithm": "static", "sparsity": 0.5}).apply(made)
            return made

        _, weights = train(self, optimizer=sparse, checkpoint_steps=12)
        for name in ("first.weight", "last.weight"):
            zeros = (weights[name] == 0).float().mean().item()
            self.assertAlmostEqual(zeros, 0.5, delta=0.01)
        self.assertEqual((weights["first.bias"] == 0).sum().item(), 0)


class Bits(Case):
    def test_any_number_of_processes(self):
        def run(num_csx, optimizer):
            losses, weights = train(
                self, num_csx=num_csx, micro=16, model=Net(0.25), clip=1.0, optimizer=optimizer
            )
            cstorch.finish()
            return losses, {n: w.numpy().tobytes() for n, w in weights.items()}

        for optimizer in (
            lambda p: cstorch.optim.AdamW(p, lr=0.01),
            lambda p: OwnMomentum(p, 0.1, 0.9),
        ):
            torch.manual_seed(7)
            state = torch.get_rng_state()
            results = []
            for number in (1, 2, 3, 4):
                torch.set_rng_state(state)
                results.append(run(number, optimizer))
            for other in results[1:]:
                self.assertEqual(results[0], other)

    def test_the_weights_of_the_same_network_in_yaml(self):
        """A network of the engine, from a configuration, and the same one written in PyTorch."""
        images = torch.randint(0, 256, (200, 4, 4), generator=torch.Generator().manual_seed(1))
        labels = torch.randint(0, 4, (200,), generator=torch.Generator().manual_seed(2))
        folder = pathlib.Path(self.folder)
        with gzip.open(folder / "train-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">IIII", 0x803, 200, 4, 4) + bytes(images.flatten().tolist()))
        with gzip.open(folder / "train-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">II", 0x801, 200) + bytes(labels.tolist()))

        class Network(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc_layers = torch.nn.ModuleList(
                    [torch.nn.Linear(16, 12), torch.nn.Linear(12, 8)]
                )
                self.last_layer = torch.nn.Linear(8, 4)

            def forward(self, x):
                for layer in self.fc_layers:
                    x = F.relu(layer(x))
                return self.last_layer(x)

        torch.manual_seed(3)
        model = Network()
        cstorch.configure(model_dir=str(folder / "first"), seed=4)
        cstorch.compile(model)
        cstorch.save({"model": model.state_dict()}, folder / "start.mdl")
        cstorch.finish()
        (folder / "run.yaml").write_text(f"""
trainer:
  init:
    model_dir: {folder}/yaml
    model: {{name: fc_mnist, input_size: 16, hidden_sizes: [12, 8], num_classes: 4}}
    optimizer: {{SGD: {{lr: 0.1, momentum: 0.9}}}}
    loop: {{num_steps: 15}}
    checkpoint: {{steps: 15}}
    seed: 4
  fit:
    train_dataloader: {{data_processor: idx_images, data_dir: {folder}, split: train,
      mean: 0, std: 1, num_classes: 4, batch_size: 40, micro_batch_size: 20, shuffle: true}}
""")
        run = subprocess.run(
            [
                os.environ["CSENGINE_EXECUTABLE"],
                "start",
                str(folder / "run.yaml"),
                "--weights",
                str(folder / "start.mdl"),
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "CSE_DASHBOARD": "0"},
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        cstorch.configure(model_dir=str(folder / "python"), seed=4, num_csx=2)
        torch.manual_seed(3)
        model = Network()
        cstorch.compile(model)
        optimizer = cstorch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        data = loader(images.reshape(200, 16).float() / 255, labels, batch_size=40, shuffle=True)
        data.micro_batch_size = 20

        @cstorch.trace
        def step(batch):
            x, y = batch
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        self.run_step(step, data, 15)
        saved = cstorch.load(next((folder / "yaml").glob("checkpoint_15*.mdl")))
        for name, value in model.named_parameters():
            self.assertTrue(torch.equal(saved["model"][name], value.detach()), name)


class Loop(Case):
    @staticmethod
    def make(parameters):
        return cstorch.optim.SGD(parameters, lr=0.1, momentum=0.9)

    def setUp(self):
        super().setUp()
        self.configure()
        self.model = Net()
        cstorch.compile(self.model)
        self.optimizer = self.make(self.model.parameters())
        self.data = loader(X, Y, batch_size=64)

        @cstorch.trace
        def step(batch):
            x, y = batch
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            inside(loss, "inside")
            return loss

        self.seen = []

        @cstorch.step_closure
        def inside(loss, text):
            self.seen.append((text, loss.item()))

        self.step = step

        @cstorch.step_closure
        def after(loss):
            self.seen.append(("after", loss.item()))

        self.after = after

    def loop(self, steps, **options):
        return cstorch.utils.data.DataExecutor(self.data, num_steps=steps, **options)

    def test_closures_see_each_step_in_order(self):
        for batch in self.loop(5):
            loss = self.step(batch)
            self.after(loss)
        self.assertEqual([t for t, _ in self.seen], ["inside", "after"] * 5)
        self.assertEqual(
            [v for t, v in self.seen if t == "inside"], [v for t, v in self.seen if t == "after"]
        )
        self.assertEqual(len({v for _, v in self.seen}), 5)

    def test_activation_and_checkpoint_steps(self):
        saved = []

        @cstorch.checkpoint_closure
        def save(number):
            path = f"{self.folder}/at_{number}.mdl"
            cstorch.save(
                {
                    "model": self.model.state_dict(),
                    "optimizer": self.optimizer.state_dict(),
                    "step": number,
                    "nothing": None,
                    "nested": {"a": [1, 2.5, "text", True]},
                },
                path,
            )
            saved.append(number)

        for number, batch in enumerate(self.loop(7, checkpoint_steps=3, activation_steps=2), 1):
            self.after(self.step(batch))
            save(number)
        self.assertEqual(saved, [3, 6, 7])
        self.assertEqual(len([1 for t, _ in self.seen if t == "after"]), 4)  # 2, 4, 6, 7
        last = {n: p.detach().clone() for n, p in self.model.named_parameters()}
        loaded = cstorch.load(f"{self.folder}/at_7.mdl")
        self.assertEqual(loaded["step"], 7)
        self.assertIsNone(loaded["nothing"])
        self.assertEqual(loaded["nested"], {"a": [1, 2.5, "text", True]})
        for name, value in last.items():
            self.assertTrue(torch.equal(loaded["model"][name], value))

    def test_going_on_from_a_checkpoint_gives_the_same_bits(self):
        for number, batch in enumerate(self.loop(10, checkpoint_steps=5), 1):
            self.step(batch)
            if number == 5:
                cstorch.checkpoint_closure(
                    lambda: cstorch.save(
                        {
                            "model": self.model.state_dict(),
                            "optimizer": self.optimizer.state_dict(),
                            "global_step": 5,
                        },
                        self.folder + "/five.mdl",
                    )
                )()
        wanted = [p.detach().clone() for p in self.model.parameters()]
        cstorch.finish()
        self.setUp_again()
        state = cstorch.load(self.old + "/five.mdl")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        cstorch.set_global_step(state["global_step"])
        for batch in self.loop(5):
            self.step(batch)
        for found, value in zip(self.model.parameters(), wanted):
            self.assertTrue(torch.equal(found.detach(), value))

    def resumed(self, load):
        """Steps of one run, and of two, of which the second goes on as the reference's example does:
        it loads the states of model and optimizer, and says no step."""
        whole = [float(v) for v in self.run_step(self.step, self.data, 6, checkpoint_steps=3)]
        wanted = [p.detach().clone() for p in self.model.parameters()]
        cstorch.finish()
        self.setUp()
        self.run_step(self.step, self.data, 3, checkpoint_steps=3)
        path = self.folder + "/three.mdl"
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        cstorch.save({**state, "global_step": 3}, path)
        cstorch.finish()
        self.setUp()
        state = cstorch.load(path, **load)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        found = [float(v) for v in self.run_step(self.step, self.data, 3)]
        self.assertEqual(found, whole[3:])
        self.assertEqual(cstorch.global_step(), 6)
        for p, value in zip(self.model.parameters(), wanted):
            self.assertTrue(torch.equal(p.detach(), value))

    def test_states_of_the_optimizer_say_where_training_goes_on(self):
        self.resumed({})

    def test_so_do_those_that_are_loaded_at_once(self):
        self.resumed({"map_location": "cpu"})

    def test_so_do_those_of_an_optimizer_of_the_program(self):
        self.make = lambda p: OwnMomentum(p, 0.1, 0.9)
        cstorch.finish()
        self.setUp()
        self.resumed({})

    def setUp_again(self):
        self.old = self.folder
        self.setUp()

    def test_break_ends_the_run_and_the_weights_are_there(self):
        before = self.model.last.weight.detach().clone()
        for number, batch in enumerate(self.loop(100000), 1):
            self.after(self.step(batch))
            if number == 3:
                break
        self.assertFalse(torch.equal(before, self.model.last.weight))
        for batch in self.loop(2):
            self.after(self.step(batch))

    def test_closures_of_the_last_step_before_break(self):
        seen = []

        @cstorch.step_closure
        def see(number, loss):
            seen.append((number, loss.item()))

        for number, batch in enumerate(self.loop(100000)):
            see(number, self.step(batch))
            if number == 2:
                break
        self.assertEqual([number for number, _ in seen], [0, 1, 2])

    def test_an_exception_in_a_closure_ends_the_run(self):
        @cstorch.step_closure
        def fail(loss):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            for batch in self.loop(1000):
                fail(self.step(batch))
        for batch in self.loop(2):
            self.step(batch)

    def test_interrupt(self):
        timer = threading.Timer(3.0, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        begun = time.time()
        with self.assertRaises(KeyboardInterrupt):
            for batch in self.loop(10**7, activation_steps=10**6):
                self.step(batch)
        self.assertLess(time.time() - begun, 25)

    def test_two_loops_train_on(self):
        for _ in range(2):
            for batch in self.loop(4, checkpoint_steps=4):
                self.after(self.step(batch))
        self.assertEqual(cstorch.global_step(), 8)

    def test_evaluation_between(self):
        for batch in self.loop(4, checkpoint_steps=4):
            self.step(batch)
        self.model.eval()
        evaluate = cstorch.trace(lambda batch: F.cross_entropy(self.model(batch[0]), batch[1]))
        (found,) = self.run_step(evaluate, self.data)
        with torch.no_grad():
            wanted = F.cross_entropy(self.model(X[:64]), Y[:64])
        self.assertAlmostEqual(found.item(), wanted.item(), delta=1e-6)

    def test_a_last_batch_that_is_smaller(self):
        """Training and evaluation beside PyTorch's own loop over the same loader, in float64; what
        leaves the step has the rows of its batch."""
        features = torch.randn(37, 3, generator=torch.Generator().manual_seed(4))
        labels = (features[:, 0] > 0).long()

        def make_loader(drop=False):
            data = torch.utils.data.TensorDataset(features, labels)
            return torch.utils.data.DataLoader(data, batch_size=8, drop_last=drop)

        for micro, drop in ((8, False), (4, False), (8, True)):
            cstorch.finish()
            self.configure()
            model = torch.nn.Linear(3, 2)
            peer = torch.nn.Linear(3, 2).double()
            peer.load_state_dict(model.state_dict())
            compiled = cstorch.compile(model)
            optimizer = cstorch.optim.SGD(model.parameters(), lr=0.5, momentum=0.5)
            loss_of = torch.nn.CrossEntropyLoss()
            accuracy = cstorch.metrics.AccuracyMetric()
            losses, outputs = [], []

            @cstorch.step_closure
            def note(loss, output=None):
                losses.append(float(loss))
                if output is not None:
                    outputs.append(output.clone())

            @cstorch.trace
            def training_step(batch):
                loss = loss_of(compiled(batch[0]), batch[1])
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                return loss

            @cstorch.trace
            def evaluation_step(batch):
                output = compiled(batch[0])
                accuracy(batch[1], output.argmax(-1))
                loss = loss_of(output, batch[1])
                if micro == 8:
                    return loss, output
                return loss, None

            loader = cstorch.utils.data.DataLoader(make_loader, drop, micro_batch_size=micro)
            steps = 4 if drop else 5
            self.assertEqual(len(loader), steps)
            for batch in cstorch.utils.data.DataExecutor(loader, num_steps=2 * steps):
                note(training_step(batch))
            expected = []
            theirs = torch.optim.SGD(peer.parameters(), lr=0.5, momentum=0.5)
            for x, y in [*make_loader(drop), *make_loader(drop)]:
                loss = loss_of(peer(x.double()), y)
                theirs.zero_grad()
                loss.backward()
                theirs.step()
                expected.append(float(loss))
            self.assertEqual(len(losses), len(expected))
            for got, wanted in zip(losses, expected):
                self.assertAlmostEqual(got, wanted, delta=2e-6)
            losses.clear()
            for batch in cstorch.utils.data.DataExecutor(loader):
                note(*evaluation_step(batch))
            with torch.no_grad():
                output = peer(features.double())
            count = 32 if drop else 37
            right = (output.argmax(-1) == labels)[:count].double().mean()
            self.assertAlmostEqual(float(accuracy), float(right), delta=1e-6)
            self.assertEqual(len(losses), steps)
            if outputs:
                self.assertEqual([len(rows) for rows in outputs[4:]], [] if drop else [5])
                self.assertLess((torch.cat(outputs) - output[:count]).abs().max(), 2e-6)

    def test_an_iterable_without_a_length(self):
        """Batches in order, whatever worker reads them: the losses of the data set by number."""

        def input_fn():
            for i in range(8):
                yield X[i * 64 : i * 64 + 64], Y[i * 64 : i * 64 + 64]

        for batch in self.loop(6):
            self.after(self.step(batch))
        wanted = self.seen
        cstorch.finish()
        self.setUp()
        self.data = cstorch.utils.data.DataLoader(input_fn)
        for batch in self.loop(6):
            self.after(self.step(batch))
        self.assertEqual(self.seen, wanted)

    def test_samples_are_read_in_the_ways_that_a_data_set_has(self):
        """Values are those of the items one by one; a data set that draws is seeded by sample."""
        asked = []

        class Drawing(torch.utils.data.Dataset):
            def __len__(self):
                return 100

            def __getitem__(self, i):
                asked.append(i)
                return X[i] + torch.rand(()), i

        class AtOnce(Drawing):
            def __getitems__(self, numbers):
                asked.append(len(numbers))
                return [(X[i], i) for i in numbers]

        class Plain(torch.utils.data.TensorDataset):
            """Not taken for a TensorDataset, whose rows are found by one index."""

        def read(dataset, samples, epochs=None, **options):
            source = SampleSource(lambda: loader_of(dataset, batch_size=4, **options))
            asked.clear()
            return [value for _, value in source.read(samples, epochs or [0] * len(samples))]

        loader_of = torch.utils.data.DataLoader
        samples = [7, 3, 90, 3]
        whole = torch.utils.data.TensorDataset(X, Y)
        wanted = read(Plain(X, Y), samples)
        for dataset in whole, torch.utils.data.Subset(whole, range(100)):
            for collate in None, lambda items: torch.utils.data.default_collate(items):
                found = read(dataset, samples, collate_fn=collate)
                self.assertTrue(all(map(torch.equal, found, wanted)))
                self.assertEqual([v.dtype for v in found], [v.dtype for v in wanted])
        self.assertTrue(torch.equal(read(AtOnce(), samples)[0], X[samples]))
        self.assertEqual(asked, [4])
        at_once = torch.utils.data.Subset(AtOnce(), range(50, 100))
        self.assertTrue(torch.equal(read(at_once, [7, 3])[0], X[[57, 53]]))
        self.assertEqual(asked, [2])
        for dataset in Drawing(), torch.utils.data.Subset(Drawing(), range(100)):
            values = read(dataset, samples)[0]
            self.assertEqual(asked, samples)
            self.assertTrue(torch.equal(values[1], values[3]))
            self.assertTrue(torch.equal(values[2], read(dataset, [90])[0][0]))
            self.assertFalse(torch.equal(values[1], read(dataset, [3], [1])[0][0]))

    def test_no_denormals_are_lost_in_the_program(self):
        for batch in self.loop(1):
            self.step(batch)
        self.assertGreater((torch.tensor(1e-40) * 1).item(), 0)


class Guide(Case):
    def test_the_ten_lines_of_the_guide(self):
        page = (EXAMPLES.parents[1] / "docs" / "python.md").read_text()
        block = page.split("## From PyTorch in ten lines")[1].split("```python")[1].split("```")[0]
        seen = []

        def make_loader():
            return torch.utils.data.DataLoader(
                torch.utils.data.TensorDataset(X, Y), batch_size=64, shuffle=True
            )

        self.configure()
        exec(
            compile(
                block.replace("print(loss.item())", "seen.append(loss.item())"), "guide", "exec"
            ),
            {"make_loader": make_loader, "seen": seen},
        )
        self.assertEqual(len(seen), 100)
        self.assertLess(seen[-1], seen[0])


class Examples(Case):
    def test_training_then_evaluation(self):
        data = "/usr/share/datasets/fashion-mnist"
        if not os.path.isdir(data):
            self.skipTest("the package dataset-fashion-mnist is not installed")
        environment = {**os.environ, "CSE_DASHBOARD": "0"}
        run = subprocess.run(
            [
                sys.executable,
                str(EXAMPLES / "training.py"),
                "--num_steps",
                "100",
                "--model_dir",
                self.folder + "/t",
            ],
            capture_output=True,
            text=True,
            env=environment,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("step 100: loss", run.stdout)
        run = subprocess.run(
            [
                sys.executable,
                str(EXAMPLES / "evaluation.py"),
                self.folder + "/t/checkpoint_100.mdl",
                "--model_dir",
                self.folder + "/e",
            ],
            capture_output=True,
            text=True,
            env=environment,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        accuracy = float(run.stdout.split("Eval Accuracy: ")[1].split()[0])
        self.assertGreater(accuracy, 0.75)

    def test_an_unmodified_program(self):
        data = "/usr/share/datasets/fashion-mnist"
        if not os.path.isdir(data):
            self.skipTest("the package dataset-fashion-mnist is not installed")
        for name in ("cerebras_pytorch.experimental", "cerebras.pytorch"):
            text = (
                (EXAMPLES / "training.py")
                .read_text()
                .replace(
                    "import cstorch\n",
                    f"import {name} as cstorch\nimport {name}.metrics as metrics\n",
                )
            )
            (pathlib.Path(self.folder) / "fashion_mnist.py").write_text(
                (EXAMPLES / "fashion_mnist.py").read_text()
            )
            script = pathlib.Path(self.folder) / "script.py"
            script.write_text(text)
            run = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "cstorch",
                    "run",
                    str(script),
                    "--num_steps",
                    "40",
                    "--model_dir",
                    f"{self.folder}/{name}",
                ],
                capture_output=True,
                text=True,
                env={**os.environ, "CSE_DASHBOARD": "0"},
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("step 40: loss", run.stdout)


if __name__ == "__main__":
    unittest.main()
