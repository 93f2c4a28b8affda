"""Flags of cstorch.backends by their dotted names: "csx.precision.optimization_level"."""

from cstorch import backends
from cstorch.trainer.callbacks.callback import Callback


def _group(path):
    """(the group of flags, the flag's own name)."""
    *groups, name = path.split(".")
    found = backends
    for group in groups:
        found = getattr(found, group, None)
    if not groups or groups[0] != "csx" or not isinstance(found, backends.Flags):
        raise AttributeError(
            f"no flag {path!r}; accepted: csx.precision.optimization_level, "
            "csx.performance.micro_batch_size, and those of `csengine list hints`"
        )
    return found, name


class _Flags(Callback):
    def __init__(self, **flags):
        for path in flags:
            group, name = _group(path)
            if not hasattr(type(group), name):
                setattr(group, name, None)  # refuses it, with what is accepted
        self.flags = flags

    def _set(self, flags=None):
        before = {}
        for path, value in (self.flags if flags is None else flags).items():
            group, name = _group(path)
            before[path] = getattr(group, name)
            setattr(group, name, value)
        return before


class GlobalFlags(_Flags):
    """Sets flags for the whole run: GlobalFlags(**{"csx.precision.optimization_level": 0})."""

    def setup(self, trainer):
        self._set()


class _Scoped(_Flags):
    def _enter(self, stack):
        before = self._set()
        stack.callback(self._set, before)


class ScopedTrainFlags(_Scoped):
    """The same while training. The level of the model is one of a run: GlobalFlags sets it."""

    def __init__(self, **flags):
        _refuse_level(type(self).__name__, flags)
        super().__init__(**flags)

    def on_enter_train(self, trainer, stack, train_dataloader, loop, loop_idx):
        self._enter(stack)


class ScopedValidateFlags(_Scoped):
    """The same while validating."""

    def __init__(self, **flags):
        _refuse_level(type(self).__name__, flags)
        super().__init__(**flags)

    def on_enter_validate(self, trainer, stack, val_dataloader, loop):
        self._enter(stack)


def _refuse_level(name, flags):
    level = "csx.precision.optimization_level"
    if level in flags:
        raise ValueError(
            f"{name}(): {level} is one of the whole run in a program: use GlobalFlags, or "
            "cstorch.pol around a part of the model"
        )
