"""What the arguments of optimizers and schedules may be. Limits of one class alone are the engine's,
which tells them when the run begins."""

import torch

from cstorch import arguments, near, traced
from cstorch.arguments import FLAG, either, number, one_of, whole

MOST = 1_000_000


def _rate(value):
    """A number that may be a tensor of one, as torch takes it."""
    if isinstance(value, torch.Tensor):
        return value.numel() == 1 and not traced.is_traced(value) and float(value) >= 0
    return number(0, MOST)[0](value)


def _pair(least, most, words):
    is_one = number(least, most)[0]
    return (
        lambda v: isinstance(v, (list, tuple)) and len(v) == 2 and all(is_one(one) for one in v),
        words,
    )


_BELOW_1 = (lambda v: number(0)[0](v) and float(v) < 1, "a number from 0 to below 1")
_NOT_NEGATIVE = number(0, MOST)
_PART = number(0, 1)
OPTIMIZER_RULES = {
    "lr": (_rate, f"a number from 0 to {MOST}; a schedule goes to configure_lr_scheduler"),
    "betas": (
        lambda v: isinstance(v, (list, tuple)) and len(v) == 2 and all(_BELOW_1[0](b) for b in v),
        "two numbers from 0 to below 1",
    ),
    "etas": _pair(0, MOST, "two numbers, one below 1 and one above"),
    "step_sizes": _pair(0, MOST, "two numbers, the least and the largest step"),
    "eps": either(_PART, _pair(0, MOST, "two numbers (Adafactor)")),
    "eps_added_to": one_of("uncorrected", "corrected"),
    "moments": one_of("float32", "bfloat16", "int8_blocks"),
    "moments_rounding": one_of("stochastic", "nearest"),
    "momentum": _PART,
    "dampening": _PART,
    "alpha": _NOT_NEGATIVE,
    "rho": _PART,
    "beta": _BELOW_1,
    "beta1": _BELOW_1,
    "decay_rate": number(-10, 0),
    "clip_threshold": number(1e-6, MOST),
    "momentum_decay": _NOT_NEGATIVE,
    "weight_decay": _NOT_NEGATIVE,
    "lr_decay": _NOT_NEGATIVE,
    "lambd": _NOT_NEGATIVE,
    "t0": number(0),
    "initial_accumulator_value": _NOT_NEGATIVE,
    **{
        name: FLAG
        for name in (
            *("amsgrad", "maximize", "nesterov", "centered", "decoupled_weight_decay"),
            *("dampen_first_step", "correct_bias", "scale_parameter", "relative_step"),
            *("warmup_init", "adam"),
        )
    },
}

_STEPS = whole(1)
_NUMBERS = (
    lambda v: isinstance(v, (list, tuple)) and v and all(_NOT_NEGATIVE[0](one) for one in v),
    "a list of numbers of at least 0",
)
_LIST_OF_STEPS = (
    lambda v: isinstance(v, (list, tuple)) and all(whole(0)[0](one) for one in v),
    "a list of numbers of steps",
)
SCHEDULE_RULES = {
    **{
        name: _NOT_NEGATIVE
        for name in (
            *("learning_rate", "initial_learning_rate", "end_learning_rate", "power"),
            *("decay_rate", "warmup_steps"),
            *("scale", "gamma", "eta_min", "coefficient", "base_lr", "max_lr", "pct_start"),
            *("step_exponent",),
        )
    },
    **{
        name: _STEPS
        for name in (
            *("total_iters", "step_size", "T_max", "T_0", "T_mult"),
            *("step_size_up", "step_size_down", "total_steps"),
        )
    },
    "learning_rates": _NUMBERS,
    "milestones": _LIST_OF_STEPS,
    "final_div_factor": number(1e-6),
    "cycle": FLAG,
    "staircase": FLAG,
    "three_phase": FLAG,
}


def check(caller, rules, accepted, given):
    """Refuses a name that is not accepted, and a value that its rule does not accept.

    Args:
        caller: "SGD()".
        rules: see arguments.check.
        accepted: names.
        given: name -> value.
    """
    for name in given:
        if name not in accepted:
            meant = near.closest(name, accepted)
            raise TypeError(
                f"{caller} has no argument {name!r}; "
                + (f"did you mean {meant!r}? " if meant else "")
                + f"accepted: {', '.join(accepted)}"
            )
    arguments.check(caller, rules, given)
