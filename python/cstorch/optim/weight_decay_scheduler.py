"""Schedules of weight decay."""

import typing

import torch

from cstorch.optim import signatures
from cstorch.optim.scheduler import Scheduler


class WeightDecayScheduler(Scheduler):
    """Base class of weight decay schedules that a program writes, for optimizers of the program."""

    param_group_key = "weight_decay"

    def _get_closed_form(self):
        return (
            self._get_closed_form_wd()
            if hasattr(self, "_get_closed_form_wd")
            else self._get_closed_form_lr()
        )


def _decay(name, positional):
    """A schedule of the engine for the weight decay of a program's optimizer."""

    def __init__(self, optimizer, *args, **settings):
        given = {**dict(zip(positional, args)), **settings}
        if getattr(optimizer, "engine_name", None) is not None:
            raise NotImplementedError(
                f"{name}: the weight decay of {optimizer.engine_name} follows a schedule in a "
                "configuration (docs/pytorch.md); in a program, derive an optimizer from "
                "cstorch.optim.Optimizer"
            )
        renamed = {
            "initial_val": "initial_learning_rate",
            "end_val": "end_learning_rate",
            "val": "learning_rate",
        }
        self.engine_settings = {
            name.replace("WD", "LR"): {
                renamed.get(k, k): v
                for k, v in given.items()
                if v is not None and k not in ("last_epoch", "param_group_tags")
            }
        }
        Scheduler.__init__(self, optimizer)

    signatures.give(
        __init__,
        signatures.parameter("optimizer", torch.optim.Optimizer),
        *[signatures.parameter(n, typing.Any, None) for n in positional],
        signatures.parameter("param_group_tags", typing.Any, None),
    )
    return type(name, (WeightDecayScheduler,), {"__init__": __init__, "__doc__": _decay.__doc__})


ConstantWD = _decay("ConstantWD", ("val", "total_iters"))
LinearWD = _decay("LinearWD", ("initial_val", "end_val", "total_iters"))
CosineDecayWD = _decay("CosineDecayWD", ("initial_val", "end_val", "total_iters"))
