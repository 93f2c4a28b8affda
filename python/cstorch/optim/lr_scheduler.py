"""Schedules of the learning rate."""

from cstorch.optim.scheduler import ChainedScheduler as _Chained
from cstorch.optim.scheduler import (
    EngineScheduler,
    PiecewiseConstantScheduler,
    Scheduler,
    SequentialScheduler,
    engine_scheduler,
)


class LRScheduler(Scheduler):
    """Base class of learning rate schedules that a program writes; see Scheduler."""


POSITIONAL = {
    "ConstantLR": ("learning_rate", "total_iters"),
    "PolynomialLR": ("initial_learning_rate", "end_learning_rate", "total_iters", "power", "cycle"),
    "LinearLR": ("initial_learning_rate", "end_learning_rate", "total_iters", "cycle"),
    "ExponentialLR": ("initial_learning_rate", "total_iters", "decay_rate", "staircase"),
    "InverseExponentialTimeDecayLR": (
        "initial_learning_rate",
        "step_exponent",
        "total_iters",
        "decay_rate",
        "staircase",
    ),
    "InverseSquareRootDecayLR": ("initial_learning_rate", "scale", "warmup_steps"),
    "CosineDecayLR": ("initial_learning_rate", "end_learning_rate", "total_iters"),
    "SequentialLR": ("schedulers", "milestones"),
    "PiecewiseConstantLR": ("learning_rates", "milestones"),
    "MultiStepLR": ("initial_learning_rate", "gamma", "milestones"),
    "StepLR": ("initial_learning_rate", "step_size", "gamma"),
    "CosineAnnealingLR": ("initial_learning_rate", "T_max", "eta_min"),
    "LambdaLR": ("initial_learning_rate",),
    "CosineAnnealingWarmRestarts": ("initial_learning_rate", "T_0", "T_mult", "eta_min"),
    "MultiplicativeLR": ("initial_learning_rate", "coefficient"),
    "ChainedScheduler": ("schedulers",),
    "CyclicLR": (
        "base_lr",
        "max_lr",
        "step_size_up",
        "step_size_down",
        "mode",
        "gamma",
        "scale_mode",
    ),
    "OneCycleLR": (
        "initial_learning_rate",
        "max_lr",
        "total_steps",
        "pct_start",
        "final_div_factor",
        "three_phase",
        "anneal_strategy",
    ),
    "ScalePerParamLR": ("scheduler",),
}
_BASES = {
    "SequentialLR": (SequentialScheduler,),
    "PiecewiseConstantLR": (PiecewiseConstantScheduler,),
    "ChainedScheduler": (_Chained,),
}
for _name, _arguments in POSITIONAL.items():
    globals()[_name] = engine_scheduler(_name, _arguments, LRScheduler, *_BASES.get(_name, ()))


class _Configured(EngineScheduler):
    def __init__(self, optimizer, settings):
        self.engine_settings = settings
        Scheduler.__init__(self, optimizer)


def configured(optimizer, learning_rate):
    """What configure_lr_scheduler gives."""
    return _Configured(optimizer, learning_rate)


__all__ = ["LRScheduler", *POSITIONAL]
