"""Schedules of the learning rate and of weight decay, several of one optimizer, and for groups by
their tags, beside loops of PyTorch that set the groups' values before each step."""

import math
import unittest
import warnings

import torch
import torch.nn.functional as F

import cstorch
from csengine.library import CsengineError
from cstorch.messages import TraceError
from programs import Case, loader
from test_training import X, Y, Net, OwnMomentum, OwnSchedule, train

STEPS = 12
lr_scheduler = cstorch.optim.lr_scheduler
decay = cstorch.optim.weight_decay_scheduler


def line(first, last, steps):
    """The value of LinearLR and LinearWD at each step."""
    return lambda i: first + (last - first) * min(i, steps) / steps


def cosine(first, last, steps):
    """The same of CosineDecayLR."""
    return lambda i: last + (first - last) * (1 + math.cos(math.pi * min(i, steps) / steps)) / 2


class OwnDecay(decay.WeightDecayScheduler):
    """0.2 at first, half of it at each later step."""

    def _get_closed_form_wd(self):
        return 0.2 * 0.5 ** self.last_epoch.float()


class DecayingMomentum(OwnMomentum):
    """A program's optimizer whose weight decay is a setting of its groups."""

    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = parameter.grad + group["weight_decay"] * parameter
        super().step(closure)


def looped(make, *settings):
    """PyTorch's losses and weights; each of `settings` is (name, value of a step and a group's
    number)."""
    torch.manual_seed(1)
    model = Net()
    made = make(model.parameters())
    losses = []
    for i in range(STEPS):
        at = i * 64 % 512
        for name, value in settings:
            for number, group in enumerate(made.param_groups):
                group[name] = value(i, number)
        made.zero_grad()
        loss = F.cross_entropy(model(X[at : at + 64]), Y[at : at + 64])
        loss.backward()
        made.step()
        losses.append(loss.item())
    return losses, dict(model.named_parameters())


class Schedules(Case):
    def compare(self, make, schedules, torch_make, *settings):
        """The program's run beside PyTorch's loop, and beside one without the schedules, which
        must differ."""
        losses, weights = train(self, STEPS, optimizer=make, schedule=schedules)
        wanted, wanted_weights = looped(torch_make, *settings)
        for a, b in zip(losses, wanted):
            self.assertAlmostEqual(a, b, delta=2e-5)
        for name, value in wanted_weights.items():
            torch.testing.assert_close(weights[name], value.detach(), rtol=1e-4, atol=2e-5)
        _, constant = looped(torch_make)
        self.assertGreater(max((weights[n] - v).abs().max() for n, v in constant.items()), 1e-4)

    def adamw(self, p):
        return cstorch.optim.AdamW(p, lr=0.01, eps=1e-8, weight_decay=0.1, eps_added_to="corrected")

    def torch_adamw(self, p):
        return torch.optim.AdamW(p, lr=0.01, eps=1e-8, weight_decay=0.1)

    def test_weight_decay_alone(self):
        falling = line(2.0, 0.1, 8)
        self.compare(
            self.adamw,
            lambda o: decay.LinearWD(o, 2.0, 0.1, 8),
            self.torch_adamw,
            ("weight_decay", lambda i, _: falling(i)),
        )

    def test_weight_decay_in_the_gradient(self):
        falling = cosine(0.5, 0.01, 10)
        self.compare(
            lambda p: cstorch.optim.SGD(p, lr=0.1, momentum=0.9),
            lambda o: decay.CosineDecayWD(o, initial_val=0.5, end_val=0.01, total_iters=10),
            lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
            ("weight_decay", lambda i, _: falling(i)),
        )

    def test_both_of_one_optimizer(self):
        rate, falling = line(0.01, 0.001, 10), line(1.0, 0.0, 6)

        def schedules(optimizer):
            lr_scheduler.LinearLR(optimizer, 0.01, 0.001, 10)
            decay.LinearWD(optimizer, 1.0, 0.0, 6)

        self.compare(
            self.adamw,
            schedules,
            self.torch_adamw,
            ("lr", lambda i, _: rate(i)),
            ("weight_decay", lambda i, _: falling(i)),
        )

    def test_parts_of_a_sequence_are_no_schedules_of_their_own(self):
        def schedules(optimizer):
            parts = [
                decay.ConstantWD(optimizer, 1.0, total_iters=4),
                decay.LinearWD(optimizer, 0.5, 0.0, 4),
            ]
            decay.SequentialWD(optimizer, parts)

        later = line(0.5, 0.0, 4)
        self.compare(
            self.adamw,
            schedules,
            self.torch_adamw,
            ("weight_decay", lambda i, _: 1.0 if i < 4 else later(i - 4)),
        )

    def test_each_name_is_a_schedule(self):
        """A weight of one optimizer each: one without a gradient, from which its decay takes a
        share, and one with the gradient 1, from which the rate of the schedule with the same
        arguments is taken."""
        arguments = {
            "Constant": (0.25,),
            "Polynomial": (0.5, 0.1, 6),
            "Linear": (0.5, 0.1, 6),
            "Exponential": (0.5, 6, 0.7),
            "InverseExponentialTimeDecay": (0.5, 1, 6, 0.7),
            "InverseSquareRootDecay": (0.5, 1.0, 2),
            "CosineDecay": (0.5, 0.1, 6),
            "PiecewiseConstant": ([0.5, 0.25, 0.1], [2, 4]),
            "MultiStep": (0.5, 0.7, [2, 4]),
            "Step": (0.5, 2, 0.7),
            "CosineAnnealing": (0.5, 6, 0.1),
            "Lambda": (0.5,),
            "CosineAnnealingWarmRestarts": (0.5, 4, 1, 0.1),
            "Multiplicative": (0.5, 0.7),
            "Cyclic": (0.1, 0.5),
            "OneCycle": (0.1, 0.5, 8),
            "Chained": None,
            "Sequential": None,
            "ScalePerParam": None,
        }
        self.assertEqual(
            {f"{n}WD" for n in arguments} | {"WeightDecayScheduler"}, set(decay.__all__)
        )
        rates = {n.removesuffix("LR").removesuffix("Scheduler"): n for n in lr_scheduler.__all__}

        class Weights(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.decaying = torch.nn.ParameterList(torch.ones(1) for _ in arguments)
                self.falling = torch.nn.ParameterList(torch.ones(1) for _ in arguments)

        def schedule(kinds, suffix, optimizer, name):
            def make(part, *values, **more):
                return getattr(kinds, rates[part] if kinds is lr_scheduler else part + "WD")(
                    optimizer, *values, **more
                )

            if arguments[name] is not None:
                make(name, *arguments[name])
            elif name == "ScalePerParam":
                make(name, make("Linear", 0.5, 0.1, 6))
            else:
                make(name, [make("Constant", 0.5, total_iters=3), make("Step", 0.25, 1, 0.5)])

        self.configure()
        model = Weights()
        cstorch.compile(model)
        optimizers = []
        for decaying, falling, name in zip(model.decaying, model.falling, arguments):
            optimizers.append(cstorch.optim.SGD([decaying], lr=1.0))
            schedule(decay, "WD", optimizers[-1], name)
            optimizers.append(cstorch.optim.SGD([falling], lr=1.0))
            schedule(lr_scheduler, "LR", optimizers[-1], name)

        @cstorch.trace
        def step(batch):
            before = torch.cat([*model.decaying, *model.falling])
            loss = sum(p.sum() * 0 for p in model.decaying) + sum(p.sum() for p in model.falling)
            (loss + batch[0].sum() * 0).backward()
            for optimizer in optimizers:
                optimizer.step()
            return before

        data = loader(torch.zeros(8, 1), batch_size=8)
        values = torch.stack(self.run_step(step, data, 8))
        shares = 1 - values[1:, : len(arguments)] / values[:-1, : len(arguments)]
        falls = values[:-1, len(arguments) :] - values[1:, len(arguments) :]
        for index, name in enumerate(arguments):
            torch.testing.assert_close(
                shares[:, index],
                falls[:, index],
                rtol=1e-4,
                atol=1e-6,
                msg=f"{name}: {shares[:, index]} {falls[:, index]}",
            )

    def plain_decay(self, p):
        made = DecayingMomentum(p, 0.1, 0.9)
        for group in made.param_groups:
            group["weight_decay"] = 0.0
        return made

    def test_of_the_program(self):
        for make in (lambda p: cstorch.optim.SGD(p, lr=0.1, momentum=0.9), self.plain_decay):
            with self.subTest(make):
                self.compare(
                    make,
                    lambda o: (OwnSchedule(o, 0.1), OwnDecay(o)),
                    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
                    ("lr", lambda i, _: 0.1 / (i + 1) ** 0.5),
                    ("weight_decay", lambda i, _: 0.2 * 0.5**i),
                )
                cstorch.finish()

    def test_last_epoch_is_where_they_go_on(self):
        falling = line(0.2, 0.01, 10)

        class Own(lr_scheduler.LRScheduler):
            def _get_closed_form_lr(self):
                return 0.2 - 0.019 * torch.clamp(self.last_epoch.float(), max=10.0)

        for schedule in (
            lambda o: lr_scheduler.LinearLR(o, 0.2, 0.01, 10, last_epoch=3),
            lambda o: Own(o, last_epoch=3),
        ):
            self.compare(
                lambda p: cstorch.optim.SGD(p, lr=0.1, momentum=0.9),
                schedule,
                lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
                ("lr", lambda i, _: falling(i + 4)),
            )
            cstorch.finish()

    def test_one_of_the_program_in_a_sequence(self):
        rate, last = line(0.01, 0.1, 4), line(0.05, 0.0, 4)

        def schedules(optimizer):
            parts = [
                lr_scheduler.LinearLR(optimizer, 0.01, 0.1, 4),
                OwnSchedule(optimizer, 0.1),
                lr_scheduler.LinearLR(None, 0.05, 0.0, 4),
            ]
            made = lr_scheduler.SequentialLR(optimizer, parts, milestones=[4, 7])
            self.assertIsInstance(made, lr_scheduler.LRScheduler)

        def value(i, _):
            return rate(i) if i < 4 else 0.1 / (i - 3) ** 0.5 if i < 7 else last(i - 7)

        for make in (lambda p: cstorch.optim.SGD(p, momentum=0.9), lambda p: OwnMomentum(p, 1, 0.9)):
            self.compare(
                make,
                schedules,
                lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
                ("lr", value),
            )
            cstorch.finish()

    def test_configured_schedules_are_instances_of_their_class(self):
        linear = {"initial_learning_rate": 0.1, "end_learning_rate": 0.0, "total_iters": 4}
        for learning_rate, kind in (
            (0.1, lr_scheduler.ConstantLR),
            ({"scheduler": "LinearLR", **linear}, lr_scheduler.LinearLR),
            ({"scheduler": "Linear", **linear}, lr_scheduler.LinearLR),
            ([{"scheduler": "Linear", **linear}, {"scheduler": "Constant"}], "SequentialLR"),
            ([{"main_scheduler": "ChainedLR", "scheduler": "Linear"}], "ChainedScheduler"),
        ):
            kind = getattr(lr_scheduler, kind) if isinstance(kind, str) else kind
            optimizer = cstorch.optim.SGD(Net().parameters(), lr=0.1)
            made = cstorch.optim.configure_lr_scheduler(optimizer, learning_rate)
            self.assertIs(type(made), kind)
            self.assertIsInstance(made, lr_scheduler.LRScheduler)

    def test_of_the_program_and_the_engine(self):
        falling = line(0.5, 0.0, 8)

        def schedules(optimizer):
            OwnSchedule(optimizer, 0.1)
            decay.LinearWD(optimizer, 0.5, 0.0, 8)

        self.compare(
            lambda p: cstorch.optim.SGD(p, momentum=0.9),
            schedules,
            lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
            ("lr", lambda i, _: 0.1 / (i + 1) ** 0.5),
            ("weight_decay", lambda i, _: falling(i)),
        )

    def test_by_tags_of_groups(self):
        falling, rate = line(1.0, 0.0, 6), line(0.1, 0.02, 10)

        def groups(parameters):
            parameters = list(parameters)
            return [
                {"params": parameters[:2], "tags": "body"},
                {"params": parameters[2:], "weight_decay": 0.1, "tags": ["head", "last"]},
            ]

        def schedules(optimizer):
            lr_scheduler.LinearLR(optimizer, 0.1, 0.02, 10)
            decay.LinearWD(optimizer, 1.0, 0.0, 6, param_group_tags="body")

        makes = (
            lambda p: cstorch.optim.SGD(groups(p), lr=0.1, momentum=0.9),
            lambda p: self.plain_decay_of(groups(p)),
        )
        for make in makes:
            with self.subTest(make):
                self.compare(
                    make,
                    schedules,
                    lambda p: torch.optim.SGD(groups(p), lr=0.1, momentum=0.9),
                    ("lr", lambda i, _: rate(i)),
                    ("weight_decay", lambda i, group: falling(i) if group == 0 else 0.1),
                )
                cstorch.finish()

    def plain_decay_of(self, groups):
        for group in groups:
            group.setdefault("weight_decay", 0.0)
        return DecayingMomentum(groups, 0.1, 0.9)

    def test_going_on_from_a_checkpoint(self):
        """Where the schedules are is a part of a checkpoint."""
        path = f"{self.folder}/half.mdl"

        def run(steps, load=False, save=False):
            self.configure(seed=5)
            torch.manual_seed(1)
            model = Net()
            cstorch.compile(model)
            optimizer = cstorch.optim.SGD(model.parameters(), momentum=0.9)
            schedules = OwnSchedule(optimizer, 0.1), decay.LinearWD(optimizer, 0.5, 0.0, 8)
            if load:
                state = cstorch.load(path)
                model.load_state_dict(state["model"])
                optimizer.load_state_dict(state["optimizer"])
                for schedule, kept in zip(schedules, state["schedules"]):
                    schedule.load_state_dict(kept)

            @cstorch.trace
            def step(batch):
                loss = F.cross_entropy(model(batch[0]), batch[1])
                loss.backward()
                optimizer.step()
                return loss

            self.run_step(step, loader(X[:64], Y[:64], batch_size=64), steps)
            if save:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                state["schedules"] = [s.state_dict() for s in schedules]
                cstorch.save(state, path)
            cstorch.finish()
            return {n: p.detach().clone() for n, p in model.named_parameters()}

        whole = run(8)
        run(4, save=True)
        for name, value in run(4, load=True).items():
            self.assertTrue(torch.equal(value, whole[name]), name)


class Refusals(Case):
    def refused(self, words, schedules, optimizer=None, kind=TraceError):
        with self.assertRaisesRegex(kind, words), warnings.catch_warnings():
            train(self, 1, optimizer=optimizer, schedule=schedules)

    def test_last_epoch(self):
        def sgd(parameters):
            return cstorch.optim.SGD(parameters, lr=0.1)

        for words, schedules in (
            ("-1, or the number", lambda o: lr_scheduler.ConstantLR(o, 0.1, last_epoch=-2)),
            ("-1, or the number", lambda o: lr_scheduler.ConstantLR(o, 0.1, last_epoch=2.5)),
            (
                "give that one last_epoch",
                lambda o: lr_scheduler.SequentialLR(
                    o, [lr_scheduler.ConstantLR(o, 0.1, 3, last_epoch=1)]
                ),
            ),
        ):
            with self.subTest(words):
                self.refused(words, schedules, sgd, ValueError)
                cstorch.finish()

    def test_two_of_one_value(self):
        def schedules(optimizer):
            lr_scheduler.LinearLR(optimizer, 0.1, 0.0, 5)
            lr_scheduler.StepLR(optimizer, 0.1, 2, 0.5)

        words = "has two schedules of lr, LinearLR and StepLR: .* by SequentialLR"
        self.refused("SGD " + words, schedules)
        cstorch.finish()
        self.refused(
            "OwnMomentum " + words, schedules, optimizer=lambda p: OwnMomentum(p, 0.1, 0.9)
        )

    def test_one_that_comes_late(self):
        made = []
        train(self, 1, schedule=made.append)
        with self.assertRaisesRegex(RuntimeError, "LinearWD: the optimizer has been in a run"):
            decay.LinearWD(made[0], 0.1, 0.0, 5)

    def test_a_tag_that_no_group_has(self):
        self.refused(
            "no parameter group of the optimizer has the tag 'head'",
            lambda o: lr_scheduler.LinearLR(o, 0.1, 0.0, 5, param_group_tags=["head"]),
            kind=CsengineError,
        )

    def test_an_optimizer_without_weight_decay(self):
        self.refused(
            "Rprop has no weight_decay",
            lambda o: decay.LinearWD(o, 0.1, 0.0, 5),
            optimizer=lambda p: cstorch.optim.Rprop(p, lr=0.1),
            kind=CsengineError,
        )

    def test_parts_of_different_values(self):
        self.refused(
            "ConstantLR is a schedule of lr, and cannot be a part of SequentialWD",
            lambda o: decay.SequentialWD(
                o, [lr_scheduler.ConstantLR(o, 0.1, 4), decay.ConstantWD(o, 0.1)]
            ),
            kind=TypeError,
        )


if __name__ == "__main__":
    unittest.main()
