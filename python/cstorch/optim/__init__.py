"""Optimizers: the engine's by their names, and a base class for those of a program."""

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


def configure_optimizer(optimizer_type, params, **kwargs):
    """An optimizer by name, in any case, with its settings."""
    by_name = {name.lower(): kind for name, kind in _OPTIMIZERS.items()}
    if optimizer_type.lower() not in by_name:
        raise ValueError(
            f"no optimizer {optimizer_type!r}; accepted: " + ", ".join(sorted(_OPTIMIZERS))
        )
    if "learning_rate" in kwargs and not isinstance(kwargs["learning_rate"], (int, float)):
        kwargs.pop("learning_rate")
    if "learning_rate" in kwargs:
        kwargs.setdefault("lr", kwargs.pop("learning_rate"))
    return by_name[optimizer_type.lower()](params, **kwargs)


def configure_lr_scheduler(optimizer, learning_rate, adjust_learning_rate=None):
    """A schedule of the learning rate: a number, {scheduler: NAME, ...}, or a list of these, each
    for its total_iters."""
    return lr_scheduler.configured(optimizer, learning_rate)


def configure_scheduler(optimizer, schedulers_params):
    return configure_lr_scheduler(optimizer, schedulers_params)


def convert(optimizer):
    """The engine's counterpart of a torch.optim optimizer: SGD, Adam, AdamW, with its settings."""
    import torch

    name = type(optimizer).__name__
    if not isinstance(optimizer, torch.optim.Optimizer) or name not in ("SGD", "Adam", "AdamW"):
        raise TypeError(f"convert() takes a torch.optim SGD, Adam or AdamW, not {name}")
    groups = []
    names = {
        "SGD": ("lr", "momentum", "dampening", "weight_decay", "nesterov"),
        "Adam": ("lr", "betas", "eps", "weight_decay", "amsgrad"),
        "AdamW": ("lr", "betas", "eps", "weight_decay", "amsgrad"),
    }[name]
    for group in optimizer.param_groups:
        groups.append({"params": group["params"], **{n: group[n] for n in names}})
    more = {} if name == "SGD" else {"eps_added_to": "corrected"}
    return _OPTIMIZERS[name](groups, **more)
