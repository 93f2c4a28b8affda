"""How values of the step came to be, where a metric must know: a mean is no sum, and scores are no
classes, though their shapes and types are the same."""

import torch

from csengine.library import ffi
from cstorch import messages
from cstorch.traced import Traced

MEAN, QUOTIENT, WHOLE, IGNORING = "mean", "quotient", "whole", "ignoring"

_CASTS = {"_to_copy", "convert", "to", "float", "type", "type_as"}
_ROUNDED = {"round", "floor", "ceil", "trunc", "sign"}
# What gives the same values again.
_SAME = {"detach", "alias", "clone", "contiguous", "view", "reshape", "squeeze", "unsqueeze"}
_AVERAGING = ("cross_entropy", "nll_loss", "_loss", "binary_cross_entropy_with_logits")
_SUMMED = {"sum", "none"}


def _key(handle):
    return int(ffi.cast("uintptr_t", handle))


class Origins:
    """Of the values of one step, by their handles: what is computed of one is another."""

    def __init__(self):
        self.found = {}

    def of(self, value, what):
        """What is known of a value: where it was made, or the class that a loss ignores; None."""
        if not isinstance(value, Traced):
            return None
        return self.found.get((_key(value.current()), what))

    def note(self, func, args, kwargs, result):
        """A call gave this result."""
        name = getattr(func, "__name__", "").partition(".")[0]
        is_cast = name in _CASTS or name in _ROUNDED
        averages = name.endswith(_AVERAGING)
        is_noted = is_cast or averages or name in ("mean", "div") or name in _SAME
        if not is_noted or type(result) is not Traced:
            return
        if (name in _SAME or name in _CASTS) and type(args[0]) is Traced:
            self._keep_all(args[0], result)
        with torch._C.DisableTorchFunction():
            if name in _SAME:
                return
            if is_cast:
                if name in _ROUNDED or not args[0].dtype.is_floating_point:
                    self._keep(result, WHOLE, True)
                return
            if averages:
                ignored = kwargs.get("ignore_index")
                if ignored not in (None, -100):
                    self._keep(result, IGNORING, ignored)
                if _SUMMED & {v for v in (*args, *kwargs.values()) if isinstance(v, str)}:
                    return
            if result.dim() == 0:
                self._note_scalar(name, args, result)

    def _note_scalar(self, name, args, result):
        if name == "div":
            by = args[1]
            if isinstance(by, torch.Tensor) or by != 1:
                self._keep(result, QUOTIENT, messages.place_text())
        elif args[0].shape.numel() > 1:
            self._keep(result, MEAN, messages.place_text())

    def _keep_all(self, value, result):
        for what in (MEAN, QUOTIENT, WHOLE, IGNORING):
            known = self.found.get((_key(value.handle), what))
            if known is not None:
                self._keep(result, what, known)

    def _keep(self, result, what, value):
        self.found[_key(result.handle), what] = value
