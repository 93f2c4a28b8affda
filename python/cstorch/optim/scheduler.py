"""Schedules of an optimizer's settings: the engine's by name, and a base class for own ones."""

import itertools
import json
import typing

import torch

from csengine.library import ffi, lib
from cstorch import calls, messages, part, traced
from cstorch import session as session_module
from cstorch.optim import signatures


def _listed(words):
    return list(words) if isinstance(words, (list, tuple)) else [words]


def schedules_of(optimizer):
    """The list of its schedules."""
    return optimizer.__dict__.setdefault("_schedules", [])


def in_order(optimizer):
    """Its schedules; those for groups with certain tags come last, since they take the place of
    others."""
    return sorted(schedules_of(optimizer), key=lambda s: s.param_group_tags is not None)


def refuse_doubles(optimizer):
    """Two schedules of one value: both would move, and one would have no effect."""
    seen = {}
    for schedule in schedules_of(optimizer):
        tags = schedule.param_group_tags
        key = (schedule.param_group_key, str(tags) if tags else None)
        other = seen.setdefault(key, schedule)
        if other is not schedule:
            raise messages.TraceError(
                f"{type(optimizer).__name__} has two schedules of {key[0]}, "
                f"{type(other).__name__} and {type(schedule).__name__}: make one of them, by "
                "SequentialLR (one after the other) or ChainedScheduler (their product); a part "
                "of a schedule of your own is made with optimizer None"
            )


def configure_engine(optimizer):
    """Gives an optimizer of the engine its schedules, each of which is the engine's or has a
    counter of its own."""
    refuse_doubles(optimizer)
    parts = []
    for schedule in schedules_of(optimizer):
        if schedule._is_engines():
            made = schedule._for_engine()
            parts += made if isinstance(made, list) else [made]
        else:
            schedule._declare()
    settings = json.dumps(parts if len(parts) > 1 else parts[0] if parts else None)
    if not parts:
        return
    before = set(part.states_of("schedulers"))
    if lib.cse_configure_schedule(optimizer.handle, settings.encode()) == ffi.NULL:
        session_module.current.check()
    made = {n: s for n, s in part.states_of("schedulers").items() if n not in before}
    optimizer._clock_state = next(iter(made.values()), None)
    counts = {int(s.last_epoch) for s in schedules_of(optimizer) if s._is_engines()}
    if len(counts) > 1:
        raise ValueError(
            f"the schedules of {type(optimizer).__name__} have one counter, and different "
            f"last_epoch: {sorted(c - 1 for c in counts)}"
        )
    if counts == {0}:
        return
    for name, state in made.items():
        part.set_value(f"schedulers.{name}", state, torch.tensor(counts.pop()))


def _steps_done(last_epoch):
    if isinstance(last_epoch, bool) or not isinstance(last_epoch, int) or last_epoch < -1:
        raise ValueError(
            f"last_epoch is {last_epoch!r}; accepted: -1, or the number of the last step, from 0"
        )
    return last_epoch + 1


class Scheduler:
    """A schedule. A subclass gives its value as a tensor of self.last_epoch, the number of
    optimizer steps done: in _get_closed_form_lr (or _get_closed_form).

    Args:
        optimizer: whose setting it is.
        total_iters: steps that it is for, where others follow it.
        last_epoch: the last step that was done, counted from 0, as in torch; -1: none.
    """

    param_group_key = "lr"
    engine_settings = None  # of a schedule of the engine

    def __init__(self, optimizer, total_iters=None, last_epoch=-1, param_group_tags=None):
        self.optimizer = optimizer
        self.total_iters = total_iters
        self.param_group_tags = param_group_tags
        self.last_epoch = torch.tensor(_steps_done(last_epoch), dtype=torch.int32)
        self._declared = False
        if optimizer is None:
            return
        if getattr(optimizer, "_declared", False):
            raise RuntimeError(
                f"{type(self).__name__}: the optimizer has been in a run already, in which its "
                "schedules are fixed: make it before the first step"
            )
        schedules_of(optimizer).append(self)

    # ---- what an optimizer asks ----

    def _get_closed_form_lr(self):
        raise NotImplementedError(f"{type(self).__name__} has no _get_closed_form_lr")

    def _get_closed_form(self):
        return self._get_closed_form_lr()

    def _is_for(self, group):
        """Whether a group has one of the schedule's tags; None is that of groups without any."""
        tags = self.param_group_tags
        if tags is None:
            return True
        has = group.get("tags") or [None]
        return not set(_listed(tags)).isdisjoint(_listed(has))

    def _values(self, optimizer, group):
        """What a group's settings are in this step: name -> tensor."""
        if not self._is_for(optimizer.param_groups[group]):
            return {}
        if self.engine_settings is not None:
            return {self.param_group_key: self._at(self._clock())}
        with traced.active.again():
            return {self.param_group_key: self._get_closed_form()}

    def _at(self, step):
        """Its value after so many steps, a traced tensor, which the optimizer's counter is not."""
        if self.engine_settings is None:
            counter, self.last_epoch = self.last_epoch, step
            try:
                return self._get_closed_form()
            finally:
                self.last_epoch = counter
        return calls.wrap(
            lib.cse_schedule_value(
                traced.active.step,
                json.dumps(self.engine_settings).encode(),
                calls.operand(step, torch.int32),
            ),
            torch.float32,
        )

    def _is_engines(self):
        """Whether the engine evaluates and moves it: a schedule and an optimizer of its own."""
        engine = getattr(self.optimizer, "engine_name", None)
        return self.engine_settings is not None and engine is not None

    def _for_engine(self):
        """The settings as an optimizer of the engine takes them."""
        if self.param_group_key == "lr" and self.param_group_tags is None:
            return self.engine_settings
        ((name, settings),) = self.engine_settings.items()
        if self.param_group_tags is not None:
            settings = {**settings, "param_group_tags": _listed(self.param_group_tags)}
        if self.param_group_key != "lr":
            name = name.removesuffix("LR") + "WD"
        return {name: settings}

    def _clock(self):
        """The number of optimizer steps done, in a step. The engine counts those of its own."""
        if self._is_engines() and self.optimizer._clock_state is not None:
            return calls.wrap(lib.cse_read(self.optimizer._clock_state), torch.int32)
        return traced.active.map_in(self.last_epoch)

    def _declare(self):
        """Declares the counter of a schedule that is not the engine optimizer's own."""
        session = session_module.current
        if self._declared:
            return
        self._declared = True
        # Those of the engine's optimizers have the first numbers.
        engines = sum(
            any(s._is_engines() for s in schedules_of(o))
            for o in session.declared
            if isinstance(o, torch.optim.Optimizer)
        )
        number = engines + sum(s.name.startswith("schedulers.") for s in session.states)
        state = session.add_state(f"schedulers.{number}.last_epoch", self.last_epoch)
        if state.handle is None:
            session._declare(state)

    def _move(self):
        """One step more, after the optimizer's update."""
        clock = self._clock()
        clock.handle = lib.cse_add(clock.handle, lib.cse_constant_int(1))

    # ---- what programs call ----

    def step(self, *_, **__):
        """Nothing: the schedule moves with its optimizer's step."""

    def get_last_lr(self):
        """The learning rates that a step would use, as tensors, in a step; outside: the groups'."""
        if traced.active is None:
            return [group.get("lr") for group in self.optimizer.param_groups]
        return [
            self._values(self.optimizer, i)[self.param_group_key]
            for i in range(len(self.optimizer.param_groups))
        ]

    get_lr = get_last_lr

    def state_dict(self):
        if self._is_engines():
            return part.Part("schedulers")
        return {"last_epoch": self.last_epoch}

    def load_state_dict(self, state):
        if self._is_engines():
            part.load("schedulers", state, f"{type(self).__name__}.load_state_dict()")
        else:
            self.last_epoch.copy_(torch.as_tensor(state["last_epoch"]))


class EngineScheduler(Scheduler):
    """A schedule of the engine: `csengine list schedules NAME` gives its settings."""

    engine_name = None

    def __init__(self, optimizer, **settings):
        settings = {
            k: list(v) if isinstance(v, tuple) else v
            for k, v in settings.items()
            if v is not None
        }
        last_epoch = settings.pop("last_epoch", -1)
        tags = settings.pop("param_group_tags", None)
        children = settings.get("schedulers")
        if children is not None and _has_own(children):
            self._follow(optimizer, children, settings.get("milestones"))
            super().__init__(optimizer, None, last_epoch, tags)
            return
        if children is not None:
            settings["schedulers"] = [self._part(optimizer, c) for c in children]
        child = settings.get("scheduler")
        if isinstance(child, Scheduler):
            settings["scheduler"] = self._part(optimizer, child)
        self.engine_settings = {self.engine_name: settings}
        super().__init__(optimizer, settings.get("total_iters"), last_epoch, tags)

    def _part(self, optimizer, part):
        """The settings of a part of it, which is then no schedule of the optimizer itself."""
        if not isinstance(part, Scheduler):
            return part
        if optimizer is not None and part in schedules_of(optimizer):
            schedules_of(optimizer).remove(part)
        if part.engine_settings is None and self.engine_name != "SequentialLR":
            raise TypeError(
                f"{type(part).__name__} is a schedule of the program; it can be a part of "
                "SequentialLR, and the engine's can be one of other schedules, too"
            )
        if int(part.last_epoch) != 0:
            raise ValueError(
                f"{type(part).__name__} is a part of {type(self).__name__}, which has the steps: "
                "give that one last_epoch"
            )
        if part.param_group_key != self.param_group_key:
            raise TypeError(
                f"{type(part).__name__} is a schedule of {part.param_group_key}, and cannot be a "
                f"part of {type(self).__name__}, which is one of {self.param_group_key}: make it "
                "beside that one"
            )
        return part.engine_settings


    # ---- a sequence with schedules of the program ----

    def _follow(self, optimizer, children, milestones):
        """It is evaluated in the step as those of the program are, since one of its parts is."""
        if any(not isinstance(child, Scheduler) for child in children):
            raise TypeError(
                f"{type(self).__name__}: beside a schedule of the program, each part is a schedule"
            )
        for child in children:
            self._part(optimizer, child)
        if milestones is None:
            milestones = list(itertools.accumulate(_iterations(c) for c in children[:-1]))
        if len(milestones) != len(children) - 1:
            raise ValueError(
                f"{type(self).__name__} of {len(children)} schedules has {len(milestones)} "
                f"milestones; accepted: {len(children) - 1}"
            )
        self._children, self._begins = list(children), [0, *milestones]

    def _get_closed_form(self):
        """Of a sequence: the value of the part whose time it is; its steps count from there."""
        step = self.last_epoch
        value = None
        for child, begin in zip(self._children, self._begins):
            own = child._at(step - begin)
            value = own if value is None else torch.where(step < begin, value, own)
        return value


def _has_own(children):
    return any(isinstance(c, Scheduler) and c.engine_settings is None for c in children)


def _iterations(schedule):
    """Steps that it is for, where another one follows it."""
    if not schedule.total_iters:
        raise ValueError(
            f"{type(schedule).__name__} is followed by another schedule: give it total_iters, or "
            "SequentialLR its milestones"
        )
    return int(schedule.total_iters)


class SequentialScheduler(Scheduler):
    """Base class of schedules that follow each other."""


class PiecewiseConstantScheduler(SequentialScheduler):
    """Base class of schedules of constant pieces."""


class ChainedScheduler(Scheduler):
    """Base class of products of schedules."""


def engine_scheduler(name, positional, *bases, engine_name=None, words=None):
    """A class for one schedule of the engine.

    Args:
        positional: names of the arguments after optimizer.
        bases: base classes, the most special one last.
        engine_name: the engine's name for it; None: `name`.
        words: argument -> the engine's name for it, where that differs.
    """
    words = words or {}

    def __init__(self, optimizer, *args, **settings):
        if len(args) > len(positional):
            raise TypeError(f"{name}() takes at most {len(positional) + 1} positional arguments")
        settings.update(zip(positional, args))
        settings = {words.get(k, k): v for k, v in settings.items()}
        EngineScheduler.__init__(self, optimizer, **settings)

    children = {"schedulers": typing.List[bases[0]], "scheduler": bases[0]} if bases else {}
    signatures.give(
        __init__,
        signatures.parameter("optimizer", torch.optim.Optimizer),
        *[signatures.parameter(n, children.get(n, typing.Any), None) for n in positional],
        signatures.parameter("last_epoch", int, -1),
        signatures.parameter("param_group_tags", typing.Any, None),
    )
    return type(
        name,
        (EngineScheduler, *reversed(bases)),
        {
            "engine_name": engine_name or name,
            "__init__": __init__,
            "__doc__": EngineScheduler.__doc__,
        },
    )
