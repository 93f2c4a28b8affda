"""Schedules of the learning rate."""

from cstorch import near
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


class _Configured(EngineScheduler, LRScheduler):
    """A schedule that no class here is named after; the engine says what it accepts."""


def _name_of(learning_rate):
    """The schedule that a configuration names, as far as its form tells."""
    if isinstance(learning_rate, (list, tuple)):
        parts = [p for p in learning_rate if isinstance(p, dict)]
        chained = any(str(p.get("main_scheduler")).lower().startswith("chained") for p in parts)
        return "ChainedScheduler" if chained else "SequentialLR"
    if not isinstance(learning_rate, dict):
        return "ConstantLR"
    return str(learning_rate.get("scheduler", next(iter(learning_rate), "")))


def configured(optimizer, learning_rate):
    """What configure_lr_scheduler gives: an instance of the class that the configuration names. The
    engine reads the configuration as it does in a file."""
    if isinstance(learning_rate, dict) and "scheduler" not in learning_rate:
        if len(learning_rate) != 1 or not isinstance(next(iter(learning_rate.values())), dict):
            raise ValueError(
                "configure_lr_scheduler(): a dictionary has the key 'scheduler', the name of the "
                f"schedule, beside its arguments; this one has {list(learning_rate)}"
            )
    name = _name_of(learning_rate).lower()
    kinds = {kind.lower(): globals()[kind] for kind in POSITIONAL}
    kind = kinds.get(name) or kinds.get(f"{name}lr") or _Configured
    made = kind.__new__(kind)
    made.engine_settings = learning_rate
    Scheduler.__init__(made, optimizer)
    return made


__all__ = ["LRScheduler", *POSITIONAL]


__getattr__ = near.of_module(__name__, globals())
