"""Weight sparsity of an optimizer of the engine."""

import json

from csengine.library import lib
from cstorch import session as session_module


class SparsityAlgorithm:
    """Sparsity by the engine's algorithms static, gmp, set and rigl.

    Args:
        algorithm: the name.
        settings: sparsity, update, param_filter, ... as in docs/sparsity.md.
    """

    def __init__(self, algorithm="static", **settings):
        self.settings = {"algorithm": algorithm, **settings}
        self.optimizer = None

    def apply(self, target):
        """Makes the optimizer's parameters sparse."""
        if hasattr(target, "param_groups"):
            self.optimizer = target
            session_module.current.declared.append(self)
        return target

    def _declare(self):
        if not getattr(self, "declared", False):
            self.declared = True
            lib.cse_configure_sparsity(self.optimizer.handle, json.dumps(self.settings).encode())


def _algorithm(name):
    def __init__(self, sparsity=None, **settings):
        SparsityAlgorithm.__init__(self, name.lower(), sparsity=sparsity, **settings)

    return type(name, (SparsityAlgorithm,), {"__init__": __init__})


Static, GMP, SET, RigL = (_algorithm(name) for name in ("Static", "GMP", "SET", "RigL"))


def configure(settings):
    """A SparsityAlgorithm of a number or a dictionary."""
    if isinstance(settings, (int, float)):
        return SparsityAlgorithm(sparsity=settings)
    return SparsityAlgorithm(**settings)
