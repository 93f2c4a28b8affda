"""Precision optimization levels of regions."""

import functools

from csengine.library import ffi, lib
from cstorch import session as session_module
from cstorch import traced

_level = []


class pol:
    """cstorch.pol(level=1): what is traced in the block (or in the decorated forward), and its
    gradients, have this level.

    Args:
        level: 0 (all in float32 sums) to 2; None keeps that of the enclosing block.
        bwd_level: of the backward pass; None: as level.
        enable_fwd, enable_bwd: False leaves the level of that pass as it is outside.
    """

    def __init__(self, level=None, bwd_level=None, enable_fwd=True, enable_bwd=True):
        for value in (level, bwd_level):
            if value is not None and value not in (0, 1, 2):
                raise ValueError(f"a precision optimization level is 0, 1 or 2, not {value!r}")
        self.options = {
            "level": -1 if level is None else level,
            "bwd_level": -1 if bwd_level is None else bwd_level,
            "enable_fwd": enable_fwd,
            "enable_bwd": enable_bwd,
        }

    def __enter__(self):
        _level.append(self.options["level"])
        if traced.active is not None:
            lib.cse_pol_enter(traced.active.step, ffi.new("cse_pol_options *", self.options)[0])
        return self

    def __exit__(self, *_):
        _level.pop()
        if traced.active is not None:
            lib.cse_pol_leave(traced.active.step)
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            with pol(**{k: None if v == -1 else v for k, v in self.options.items()}):
                return function(*args, **kwargs)

        return inner


def current_pol():
    """The level of the innermost block, or the run's."""
    for level in reversed(_level):
        if level >= 0:
            return level
    return int(session_module.current.precision.get("precision_opt_level", 1))
