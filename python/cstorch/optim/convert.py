"""The engine's counterparts of torch.optim's optimizers.

Each setting of each group is taken over, or is one of those that choose how PyTorch computes the
same numbers, or is refused by its name."""

import torch

from cstorch.optim.builtin import OPTIMIZERS
from cstorch.optim.torch_rules import RULE, SHARED

# How PyTorch computes: with which kernels, and under which names it saves.
_SAME_NUMBERS = ("params", "param_names", "foreach", "fused", "capturable")


def convert(optimizer):
    """The engine's counterpart of a new torch.optim optimizer, with its groups and settings.

    Raises TypeError for a class that has none, ValueError for a setting that has none, and for what
    would be lost: steps that were made, a schedule, hooks.
    """
    kind = type(optimizer)
    if kind not in SHARED:
        raise TypeError(
            f"convert() has no counterpart of {kind.__module__}.{kind.__qualname__}; accepted: "
            + ", ".join(sorted(f"torch.optim.{k.__name__}" for k in SHARED))
        )
    _refuse_what_is_lost(optimizer)
    groups = [_converted(kind, group) for group in optimizer.param_groups]
    return OPTIMIZERS[kind.__name__](groups, **RULE.get(kind, {}))


def _converted(kind, group):
    shared = SHARED[kind].split()
    for name, value in group.items():
        is_own = kind is torch.optim.AdamW and name == "decoupled_weight_decay" and value is True
        is_off = name == "differentiable" and not value
        if name not in shared and name not in _SAME_NUMBERS and not is_own and not is_off:
            raise ValueError(
                f"convert(): {name}={value!r} of torch.optim.{kind.__name__} has no counterpart: "
                f"leave it out; accepted: {', '.join(shared)}"
            )
    return {"params": group["params"], **{name: group[name] for name in shared if name in group}}


def _refuse_what_is_lost(optimizer):
    name = type(optimizer).__name__
    if any("initial_lr" in group for group in optimizer.param_groups):
        raise ValueError(
            f"convert(): torch.optim.{name} has a schedule of torch.optim.lr_scheduler, which does "
            "not move the engine's: convert the optimizer first, and give it one of "
            "cstorch.optim.lr_scheduler"
        )
    if any(float(state.get("step", 1)) > 0 for state in optimizer.state.values() if state):
        raise ValueError(
            f"convert(): torch.optim.{name} has made steps, and its moments would be lost: convert "
            "a new one"
        )
    hooks = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
    if any(getattr(optimizer, kept, None) for kept in hooks):
        raise ValueError(
            f"convert(): torch.optim.{name} has hooks of its step, which would not be called: "
            "write what they do into the step"
        )
