"""A small training on the engine (cstorch) and the same in plain PyTorch, its twin.

What is stored is the same to the bit: after each call the tensors of both models, the states of the
optimizer, schedule and gradient scaler, and the global step are compared. What is computed, in
float32 on both sides, is the same within TOLERANCE; from then on the twin has the engine's digits.
"""

import copy
import random
import shutil
import tempfile

import torch

import cstorch
from nested_values import same
from programs import loader

TOLERANCE = {"rtol": 2e-4, "atol": 2e-5}
BATCH, SAMPLES, FEATURES = 4, 16, 3
X = torch.randn(SAMPLES, FEATURES, generator=torch.Generator().manual_seed(1))
GROWTH_INTERVAL, FIRST_SCALE, MOST_SCALE = 2, 2.0**4, 2.0**12
RATES = {"initial": 0.05, "end": 0.01, "steps": 10}  # of the schedule
LOCKED = "checkpoint on its last step"


class Network(torch.nn.Module):
    """Parameters, and buffers of each kind: what the step changes, what it reads, and what the
    engine has no type for."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(FEATURES, 4)
        self.norm = torch.nn.BatchNorm1d(4, eps=0.1)  # well conditioned, whatever the weights are
        self.last = torch.nn.Linear(4, 2)
        self.register_buffer("count", torch.zeros(2, dtype=torch.int64))
        self.register_buffer("factor", torch.tensor([1.0, 0.5]))
        self.register_buffer("marks", torch.ones(3, dtype=torch.bfloat16))
        self.register_buffer("hidden", torch.ones(2), persistent=False)

    def forward(self, x):
        if self.training:
            self.count.add_(1)
        return self.last(torch.tanh(self.norm(self.first(x)))) * self.factor


class OwnRule(cstorch.optim.Optimizer):
    """An optimizer that the program writes."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr}, enable_global_step=True)

    def preinitialize(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["velocity"] = torch.zeros_like(p)

    def state_names_to_sparsify(self):
        return []

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.increment_global_step(p)
                    velocity = self.state[p]["velocity"]
                    velocity.mul_(0.5).add_(p.grad)
                    p.sub_(velocity * group["lr"])


class Kind:
    """An optimizer: the engine's, and one step of a parameter in PyTorch."""

    slots = {}  # name -> whether it has the parameter's shape, and its first value

    def first(self, parameter):
        return {
            name: torch.full_like(parameter.detach(), value) if shaped else torch.tensor(value)
            for name, (shaped, value) in self.slots.items()
        }

    def torch_optimizer(self, parameter, lr):
        raise NotImplementedError

    def update(self, parameter, slots, lr):
        """A step of torch.optim from the slots' values; returns the new ones."""
        optimizer = self.torch_optimizer(parameter, lr)
        optimizer.state[parameter] = self.to_torch({k: v.clone() for k, v in slots.items()})
        optimizer.step()
        return self.from_torch(optimizer.state[parameter])

    def to_torch(self, slots):
        return slots

    from_torch = to_torch


class Momentum(Kind):
    slots = {"momentum_buffer": (True, 0.0)}

    def make(self, parameters):
        return cstorch.optim.SGD(parameters, lr=0.05, momentum=0.5, weight_decay=0.01)

    def torch_optimizer(self, parameter, lr):
        return torch.optim.SGD([parameter], lr=lr, momentum=0.5, weight_decay=0.01)


class DecoupledAdam(Kind):
    slots = {
        "exp_avg": (True, 0.0),
        "exp_avg_sq": (True, 0.0),
        "beta1_power": (False, 0.5),  # of the next step
        "beta2_power": (False, 0.75),
    }
    betas = (0.5, 0.75)

    def make(self, parameters):
        return cstorch.optim.AdamW(parameters, lr=0.05, betas=self.betas, eps=1e-2)

    def torch_optimizer(self, parameter, lr):
        return torch.optim.AdamW([parameter], lr=lr, betas=self.betas, eps=1e-2)

    def to_torch(self, slots):
        steps = torch.log2(slots.pop("beta1_power")).round().neg() - 1
        slots.pop("beta2_power")
        return {**slots, "step": steps}

    def from_torch(self, slots):
        powers = [torch.tensor(b) ** (slots["step"] + 1) for b in self.betas]
        return {
            **{k: v for k, v in slots.items() if k != "step"},
            "beta1_power": powers[0],
            "beta2_power": powers[1],
        }


class Own(Kind):
    slots = {"step": (False, 0.0), "velocity": (True, 0.0)}

    def make(self, parameters):
        return OwnRule(parameters, lr=0.05)

    def update(self, parameter, slots, lr):
        velocity = slots["velocity"] * 0.5 + parameter.grad
        with torch.no_grad():
            parameter.sub_(velocity * lr)
        return {"step": slots["step"] + 1, "velocity": velocity}


KINDS = {"SGD": Momentum(), "AdamW": DecoupledAdam(), "own": Own()}


class Twin:
    """The same training in PyTorch.

    Attributes:
        slots: parameter's name -> slot -> tensor.
        rate: the learning rate of the group.
        counter: of the schedule, or None.
        scaler: the gradient scaler's states by name, or None.
        step: training steps done.
        has_place: whether a step to go on after was set, or steps were made.
    """

    def __init__(self, kind, module, counter, scaler):
        self.kind, self.module = kind, module
        self.slots = {n: kind.first(p) for n, p in module.named_parameters()}
        self.rate, self.counter, self.scaler = 0.05, counter, scaler
        self.step, self.has_place = 0, False

    def training_rate(self):
        if self.counter is None:
            return self.rate
        part = min(int(self.counter), RATES["steps"]) / RATES["steps"]
        return RATES["initial"] + (RATES["end"] - RATES["initial"]) * part

    def batch(self, number):
        at = number * BATCH % SAMPLES
        return X[at : at + BATCH]

    def train(self):
        """One step; returns its loss."""
        self.module.zero_grad()
        loss = self.module(self.batch(self.step)).square().mean()
        loss.backward()
        rate = self.training_rate()
        for name, p in self.module.named_parameters():
            if p.grad is not None:
                self.slots[name] = self.kind.update(p, self.slots[name], rate)
        self.module.zero_grad()
        self.step, self.has_place = self.step + 1, True
        if self.counter is not None:
            self.counter = self.counter + 1
        if self.scaler is not None:
            self._move_scale()
        return loss.detach()

    def _move_scale(self):
        waited = self.scaler["steps_since_rescale"]
        waited += 1
        if waited == GROWTH_INTERVAL:
            waited.zero_()
            self.scaler["loss_scale"].mul_(2).clamp_(max=MOST_SCALE)

    def evaluate(self, steps):
        with torch.no_grad():
            return [self.module(self.batch(n)).square().mean() for n in range(steps)]

    def snapshot(self):
        """What a file of this moment must have."""
        return copy.deepcopy(
            {
                "model": dict(self.module.state_dict()),
                "optimizer": self.slots,
                "rate": self.rate,
                "schedule": self.counter,
                "scaler": self.scaler,
                "step": self.step,
            }
        )


class Pair:
    """Both sides, and the files that were saved.

    Attributes:
        files: name -> (form, snapshot of the twin, nested value of the user).
        value: a nested value that the program saves beside its states.
        at_lock: name -> values of the states that the last execution left without a checkpoint on
            its last step, so that they may not be changed; None: they may.
    """

    def __init__(self, test, seed):
        self.test = test
        chooser = random.Random(seed)
        self.settings = {
            "kind": chooser.choice(sorted(KINDS)),
            "schedule": chooser.random() < 0.4,
            "scaler": chooser.random() < 0.4,
            "seed": seed,
        }
        self.folder = tempfile.mkdtemp(prefix="calls-", dir=test.folder)
        self.files, self.value = {}, seed
        self.fresh()

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return f"{self.folder}/{name}"

    def fresh(self):
        """New objects in a new session, as at the begin of a program."""
        cstorch.finish()
        self.test.configure(no_run_store=True, seed=5)
        torch.manual_seed(self.settings["seed"])
        self.model = Network()
        self.kind = KINDS[self.settings["kind"]]
        module = copy.deepcopy(self.model)
        cstorch.compile(self.model)
        self.optimizer = self.kind.make(self.model.parameters())
        self.schedule = self.scaler = None
        if self.settings["schedule"]:
            self.schedule = cstorch.optim.lr_scheduler.LinearLR(
                self.optimizer, RATES["initial"], RATES["end"], RATES["steps"]
            )
        if self.settings["scaler"]:
            self.scaler = cstorch.amp.GradScaler(
                loss_scale="dynamic",
                init_scale=FIRST_SCALE,
                steps_per_increase=GROWTH_INTERVAL,
                max_loss_scale=MOST_SCALE,
            )
        self.metric = cstorch.metrics.MeanMetric("mean")
        counter = torch.tensor(0, dtype=torch.int32) if self.schedule else None
        self.twin = Twin(self.kind, module, counter, self._first_scaler())
        self.at_lock = None

    def _first_scaler(self):
        if self.scaler is None:
            return None
        found = {"loss_scale": torch.tensor(FIRST_SCALE)}
        for name in ("steps_since_rescale", "overflows_since_rescale", "num_skipped_steps"):
            found[name] = torch.tensor(0, dtype=torch.int32)
        return found

    # ---- states of the program ----

    def program_states(self):
        """Tensors of the program that are states of the run, by name."""
        found = {
            n: v
            for n, v in self.twin.module.state_dict().items()
            if v.dtype in (torch.float32, torch.int64)
        }
        if self.settings["kind"] == "own":
            for name, slots in self.twin.slots.items():
                found.update({f"{name}.{slot}": v for slot, v in slots.items()})
            if self.twin.counter is not None:
                found["schedule"] = self.twin.counter
        return found

    def lock(self, is_locked):
        self.at_lock = copy.deepcopy(self.program_states()) if is_locked else None

    def refusal(self):
        """The message of what needs the states that may not be changed, where they were."""
        if self.at_lock is None or same(dict(self.program_states()), self.at_lock):
            return None
        return LOCKED

    def tensors(self, name):
        """The tensor of that name on both sides."""
        return [dict([*m.named_parameters(), *m.named_buffers()])[name] for m in self.modules()]

    def modules(self):
        return self.model, self.twin.module

    def state_dicts(self):
        """What a program saves."""
        found = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": cstorch.global_step(),
        }
        if self.schedule is not None:
            found["schedule"] = self.schedule.state_dict()
        if self.scaler is not None:
            found["scaler"] = self.scaler.state_dict()
        return found

    # ---- comparison ----

    def compare(self):
        """The state of both sides, to the bit."""
        self.compare_saved(self.state_dicts(), self.twin.snapshot())
        self.test.assertEqual(cstorch.global_step(), self.twin.step)
        for (name, p), q in zip(self.model.named_parameters(), self.twin.module.parameters()):
            self.test.assertEqual(p.requires_grad, q.requires_grad, name)
        self.exact(self.model.hidden, self.twin.module.hidden, "hidden")

    def compare_saved(self, found, wanted):
        """State_dicts and the snapshot of the twin when they were taken."""
        self.test.assertEqual(list(found["model"]), list(wanted["model"]))
        for name, value in wanted["model"].items():
            self.exact(found["model"][name], value, name)
        slots = found["optimizer"]["state"]
        self.test.assertEqual(set(slots), set(wanted["optimizer"]))
        for name, values in wanted["optimizer"].items():
            self.test.assertEqual(set(slots[name]), set(values))
            for slot, value in values.items():
                self.exact(slots[name][slot], value, f"{name}.{slot}")
        (group,) = found["optimizer"]["param_groups"]
        self.test.assertEqual(group["lr"], wanted["rate"])
        self.test.assertEqual(set(group["param_names"]), set(slots))
        self.test.assertEqual(found["step"], wanted["step"])
        if self.schedule is not None:
            (counter,) = found["schedule"].values()
            self.exact(counter, wanted["schedule"], "schedule")
        if self.scaler is not None:
            self.test.assertEqual(set(found["scaler"]), set(wanted["scaler"]))
            for name, value in wanted["scaler"].items():
                self.exact(found["scaler"][name], value, f"scaler {name}")

    def exact(self, found, wanted, name):
        found, wanted = found.detach(), wanted.detach()
        if not same(found, wanted):
            raise AssertionError(f"{name} is {found}, and not {wanted}")

    def close_values(self, found, wanted, name):
        torch.testing.assert_close(found, wanted, **TOLERANCE, msg=lambda m: f"{name}: {m}")

    def adopt(self):
        """Behind computed steps: both are close; the twin gets the engine's digits."""
        with torch.no_grad():
            for (name, found), wanted in zip(
                self.model.state_dict().items(), self.twin.module.state_dict().values()
            ):
                self.close_values(found, wanted, name)
                wanted.copy_(found)
        for name, values in self.optimizer.state_dict()["state"].items():
            for slot, value in values.items():
                self.close_values(value, self.twin.slots[name][slot], f"{name}.{slot}")
                self.twin.slots[name][slot] = value.clone()

    # ---- executions ----

    def loader(self):
        return loader(X, batch_size=BATCH)

    def train(self, steps, checkpoint_steps, body=lambda: None):
        """Steps on both sides; returns the losses."""
        model, optimizer, scaler = self.model, self.optimizer, self.scaler
        losses = []

        @cstorch.trace
        def training_step(batch):
            loss = model(batch[0]).square().mean()
            cstorch.amp.optimizer_step(loss, optimizer, scaler)
            return loss

        @cstorch.step_closure
        def keep(loss):
            losses.append(loss.clone())

        for batch in cstorch.utils.data.DataExecutor(
            self.loader(), num_steps=steps, checkpoint_steps=checkpoint_steps
        ):
            keep(training_step(batch))
            body()
        wanted = [self.twin.train() for _ in range(steps)]
        self.close_values(torch.stack(losses), torch.stack(wanted), "losses")
        self.adopt()
        self.lock(not checkpoint_steps)

    def evaluate(self, steps):
        model, metric = self.model, self.metric
        losses = []

        @cstorch.trace
        def evaluation_step(batch):
            loss = model(batch[0]).square().mean()
            metric(loss)
            return loss

        @cstorch.step_closure
        def keep(loss):
            losses.append(loss.clone())

        metric.reset()
        for batch in cstorch.utils.data.DataExecutor(self.loader(), num_steps=steps):
            keep(evaluation_step(batch))
        wanted = self.twin.evaluate(steps)
        self.close_values(torch.stack(losses), torch.stack(wanted), "losses")
        self.close_values(torch.tensor(float(metric)), torch.stack(wanted).mean(), "metric")
        self.adopt()
        self.lock(True)
