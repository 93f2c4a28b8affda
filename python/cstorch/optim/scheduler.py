"""Schedules of an optimizer's settings: the engine's by name, and a base class for own ones."""

import json
import typing

import torch

from csengine.library import ffi, lib
from cstorch import calls
from cstorch import session as session_module
from cstorch import traced
from cstorch.checkpoint import Part
from cstorch.optim import signatures


class Scheduler:
    """A schedule. A subclass gives its value as a tensor of self.last_epoch, the number of
    optimizer steps done: in _get_closed_form_lr (or _get_closed_form).

    Args:
        optimizer: whose setting it is.
        total_iters: steps that it is for, where others follow it.
        last_epoch: -1 begins at 0.
    """

    param_group_key = "lr"
    engine_settings = None  # of a schedule of the engine

    def __init__(self, optimizer, total_iters=None, last_epoch=-1, param_group_tags=None):
        self.optimizer = optimizer
        self.total_iters = total_iters
        self.param_group_tags = param_group_tags
        self.last_epoch = torch.tensor(
            last_epoch + 1 if last_epoch < 0 else last_epoch, dtype=torch.int32
        )
        self._attached = False
        if optimizer is not None:
            optimizer._scheduler = self

    # ---- what an optimizer asks ----

    def _get_closed_form_lr(self):
        raise NotImplementedError(f"{type(self).__name__} has no _get_closed_form_lr")

    def _get_closed_form(self):
        return self._get_closed_form_lr()

    def _values(self, optimizer, group):
        if self.engine_settings is not None:
            return {
                self.param_group_key: calls.wrap(
                    lib.cse_schedule_value(
                        traced.active.step,
                        json.dumps(self.engine_settings).encode(),
                        calls.operand(self._clock(), torch.int32),
                    ),
                    torch.float32,
                )
            }
        with traced.active.again():
            return {self.param_group_key: self._get_closed_form()}

    def _clock(self):
        return traced.active.map_in(self.last_epoch)

    def _declare(self):
        """Called when the session is opened."""
        session = session_module.current
        engine = getattr(self.optimizer, "handle", None)
        if self._attached:
            return
        self._attached = True
        if self.engine_settings is not None and engine is not None:
            if (
                lib.cse_configure_schedule(engine, json.dumps(self.engine_settings).encode())
                == ffi.NULL
            ):
                session.check()
            return
        number = sum(s.name.startswith("schedulers.") for s in session.states)
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
        if self.engine_settings is not None and getattr(self.optimizer, "handle", None) is not None:
            return Part("schedulers")
        return {"last_epoch": self.last_epoch}

    def load_state_dict(self, state):
        if hasattr(state, "load_into"):
            state.load_into("schedulers")
        else:
            self.last_epoch.copy_(torch.as_tensor(state["last_epoch"]))


class EngineScheduler(Scheduler):
    """A schedule of the engine: `csengine list schedules NAME` gives its settings."""

    engine_name = None

    def __init__(self, optimizer, **settings):
        settings = {
            k: list(v) if isinstance(v, tuple) else v
            for k, v in settings.items()
            if v is not None and k not in ("last_epoch", "param_group_tags")
        }
        children = settings.get("schedulers")
        if children is not None:
            settings["schedulers"] = [_engine_settings(c) for c in children]
        child = settings.get("scheduler")
        if isinstance(child, Scheduler):
            settings["scheduler"] = _engine_settings(child)
        self.engine_settings = {self.engine_name: settings}
        super().__init__(optimizer, total_iters=settings.get("total_iters"))


def _engine_settings(part):
    if not isinstance(part, Scheduler):
        return part
    if part.engine_settings is None:
        raise TypeError(
            f"{type(part).__name__} is a schedule of the program; only those of the "
            "engine can be parts of another one"
        )
    return part.engine_settings


class SequentialScheduler(Scheduler):
    """Base class of schedules that follow each other."""


class PiecewiseConstantScheduler(SequentialScheduler):
    """Base class of schedules of constant pieces."""


class ChainedScheduler(Scheduler):
    """Base class of products of schedules."""


def engine_scheduler(name, positional, *bases):
    """A class for one schedule of the engine; `positional` names the arguments after optimizer."""

    def __init__(self, optimizer, *args, **settings):
        if len(args) > len(positional):
            raise TypeError(f"{name}() takes at most {len(positional) + 1} positional arguments")
        EngineScheduler.__init__(self, optimizer, **dict(zip(positional, args)), **settings)

    children = {"schedulers": typing.List[bases[0]], "scheduler": bases[0]} if bases else {}
    signatures.give(
        __init__,
        signatures.parameter("optimizer", torch.optim.Optimizer),
        *[signatures.parameter(n, children.get(n, typing.Any), None) for n in positional],
        signatures.parameter("param_group_tags", typing.Any, None),
    )
    return type(
        name,
        (EngineScheduler, *reversed(bases)),
        {"engine_name": name, "__init__": __init__, "__doc__": EngineScheduler.__doc__},
    )
