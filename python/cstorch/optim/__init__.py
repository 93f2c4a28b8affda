"""Optimizers: the engine's by their names, and a base class for those of a program."""

from cstorch import arguments, near
from cstorch.optim import lr_scheduler, scheduler, weight_decay_scheduler
from cstorch.optim.builtin import (
    ASGD,
    SGD,
    SM3,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    AdamBase,
    Adamax,
    AdamW,
    Lamb,
    Lion,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
)
from cstorch.optim.builtin import OPTIMIZERS as _OPTIMIZERS
from cstorch.optim.convert import convert
from cstorch.optim.optimizer import Optimizer

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamBase",
    "AdamW",
    "Adamax",
    "Lamb",
    "Lion",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SM3",
    "configure_lr_scheduler",
    "configure_optimizer",
    "configure_scheduler",
    "convert",
    "lr_scheduler",
    "scheduler",
    "weight_decay_scheduler",
]


_NONE = "None"
_LEARNING_RATE = arguments.either(
    arguments.number(0),
    (lambda v: isinstance(v, dict) and v, "a dictionary with the key scheduler"),
    (
        lambda v: isinstance(v, (list, tuple)) and v and all(isinstance(one, dict) for one in v),
        "a list of such dictionaries",
    ),
)


def configure_optimizer(optimizer_type, params, **kwargs):
    """An optimizer by name, in any case, with its settings."""
    by_name = {name.lower(): kind for name, kind in _OPTIMIZERS.items()}
    if not isinstance(optimizer_type, str) or optimizer_type.lower() not in by_name:
        raise ValueError(
            f"no optimizer {optimizer_type!r}; accepted: " + ", ".join(sorted(_OPTIMIZERS))
        )
    if isinstance(kwargs.get("learning_rate"), (dict, list, tuple)):
        kwargs.pop("learning_rate")  # a schedule, which configure_lr_scheduler takes
    if "learning_rate" in kwargs:
        kwargs.setdefault("lr", kwargs.pop("learning_rate"))
    return by_name[optimizer_type.lower()](params, **kwargs)


def configure_lr_scheduler(optimizer, learning_rate, adjust_learning_rate=None):
    """A schedule of the learning rate: a number, {scheduler: NAME, ...}, or a list of these, each
    for its total_iters."""
    if adjust_learning_rate:
        raise ValueError(
            "configure_lr_scheduler() takes no adjust_learning_rate: give the parameter groups the "
            "factor (`adjust_learning_rate` of each), and the schedule {ScalePerParamLR: "
            "{scheduler: ...}}"
        )
    arguments.check(
        "configure_lr_scheduler()",
        {"optimizer": arguments.OPTIMIZER, "learning_rate": _LEARNING_RATE},
        {"optimizer": optimizer, "learning_rate": _NONE if learning_rate is None else learning_rate},
    )
    return lr_scheduler.configured(optimizer, learning_rate)


def configure_scheduler(optimizer, schedulers_params):
    return configure_lr_scheduler(optimizer, schedulers_params)


__getattr__ = near.of_module(__name__, globals())
