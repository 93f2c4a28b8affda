"""Schedules of weight decay."""

from cstorch.optim import lr_scheduler
from cstorch.optim.scheduler import (
    ChainedScheduler,
    PiecewiseConstantScheduler,
    Scheduler,
    SequentialScheduler,
    engine_scheduler,
)


class WeightDecayScheduler(Scheduler):
    """Base class of weight decay schedules that a program writes: a subclass gives its value as a
    tensor of self.last_epoch in _get_closed_form. See Scheduler."""

    param_group_key = "weight_decay"

    _closed_forms = ("_get_closed_form_wd", "_get_closed_form_lr")


# The reference's words for a schedule's values, and those of the learning rate's schedule.
_WORDS = {
    "val": "learning_rate",
    "vals": "learning_rates",
    "initial_val": "initial_learning_rate",
    "end_val": "end_learning_rate",
    "base_val": "base_lr",
    "max_val": "max_lr",
}
_OWN_WORDS = {rate: value for value, rate in _WORDS.items()}
_BASES = {
    "SequentialLR": (SequentialScheduler,),
    "PiecewiseConstantLR": (PiecewiseConstantScheduler,),
    "ChainedScheduler": (ChainedScheduler,),
}


def _name_of(rate_name):
    return rate_name.removesuffix("LR").removesuffix("Scheduler") + "WD"


for _rate_name, _arguments in lr_scheduler.POSITIONAL.items():
    globals()[_name_of(_rate_name)] = engine_scheduler(
        _name_of(_rate_name),
        tuple(_OWN_WORDS.get(a, a) for a in _arguments),
        WeightDecayScheduler,
        *_BASES.get(_rate_name, ()),
        engine_name=_rate_name,
        words=_WORDS,
    )

__all__ = ["WeightDecayScheduler", *map(_name_of, lr_scheduler.POSITIONAL)]
