"""Regions of a step: blocks whose operations are marked while they are traced.

A region that is opened before the step is traced, as around the loop, holds for the whole step:
each trace begins by entering it (enter_outer).
"""

import functools

import torch

from cstorch import traced

_outer = []  # regions that are open outside of any trace


class Region:
    """A block (`with`), and a decorator of a function or a layer.

    A subclass has _enter(step) and _leave(step), and _again(), a new region with its settings.
    """

    def _enter(self, step):
        raise NotImplementedError

    def _leave(self, step):
        raise NotImplementedError

    def _again(self):
        raise NotImplementedError

    def __enter__(self):
        if traced.active is None:
            _outer.append(self)
        else:
            self._enter(traced.active.step)
        return self

    def __exit__(self, *_):
        if traced.active is not None:
            self._leave(traced.active.step)
        elif self in _outer:
            _outer.remove(self)
        return False

    def __call__(self, function):
        name = type(self).__name__
        if isinstance(function, type) or not callable(function):
            raise TypeError(
                f"{name}() decorates a function or a layer, not {function!r}: decorate the "
                "class's forward"
            )

        def inner(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)

        if isinstance(function, torch.nn.Module):
            return inner
        return functools.wraps(function)(inner)


def enter_outer(step):
    """Enters the regions that were open before the step is traced; gives what leaves them."""
    regions = list(_outer)
    for region in regions:
        region._enter(step)
    return lambda: [region._leave(step) for region in reversed(regions)]
