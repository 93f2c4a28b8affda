"""Regions of a step with a precision of their own: its level, and whether GraphAMP retypes it."""

from csengine.library import ffi, lib
from cstorch import precision
from cstorch.regions import Region

_level = []


class pol(Region):
    """cstorch.pol(level=1): what is traced in the block (or in the decorated function or layer), and
    its gradients, have this level.

    Args:
        level: 0 (all in float32 sums) to 2; None keeps that of the enclosing block.
        bwd_level: of the backward pass; None: as level.
        enable_fwd, enable_bwd: False leaves the level of that pass as it is outside.
    """

    def __init__(self, level=None, bwd_level=None, enable_fwd=True, enable_bwd=True):
        precision.check_level("pol(): level", level)
        precision.check_level("pol(): bwd_level", bwd_level)
        self.options = {
            "level": -1 if level is None else level,
            "bwd_level": -1 if bwd_level is None else bwd_level,
            "enable_fwd": enable_fwd,
            "enable_bwd": enable_bwd,
        }

    def _again(self):
        return pol(**{k: None if v == -1 else v for k, v in self.options.items()})

    def _enter(self, step):
        lib.cse_pol_enter(step, ffi.new("cse_pol_options *", self.options)[0])

    def _leave(self, step):
        lib.cse_pol_leave(step)

    def __enter__(self):
        _level.append(self.options["level"])
        return super().__enter__()

    def __exit__(self, *_):
        _level.pop()
        return super().__exit__(*_)


def current_pol():
    """The level of the innermost block, or the run's."""
    for level in reversed(_level):
        if level >= 0:
            return level
    return precision.level()


class disable_graphamp(Region):
    """cstorch.disable_graphamp(): GraphAMP leaves the types of what is traced in the block (or in the
    decorated function or layer), and of its gradients, as the program writes them."""

    def _again(self):
        return disable_graphamp()

    def _enter(self, step):
        lib.cse_graphamp_disable(step)

    def _leave(self, step):
        lib.cse_graphamp_restore(step)
