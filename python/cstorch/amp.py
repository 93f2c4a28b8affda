"""Mixed precision: the run's half type, loss scaling, the update of a step."""

import contextlib
import json
import warnings

import torch

from csengine.library import ffi, lib
from cstorch import arguments, calls, messages, near, part, precision, traced
from cstorch import session as session_module
from cstorch.traced import is_traced

_HALVES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "cbfloat16": torch.float16,
    torch.float16: torch.float16,
    torch.bfloat16: torch.bfloat16,
}


def set_half_dtype(dtype):
    """The 16-bit type of the run: "float16", "bfloat16" or "cbfloat16" (or torch's). Products and
    activations are computed in it where the precision says so."""
    if not isinstance(dtype, (str, torch.dtype)) or dtype not in _HALVES:
        raise ValueError(f"no half type {dtype!r}; accepted: float16, bfloat16, cbfloat16")
    name = dtype if isinstance(dtype, str) else str(dtype).removeprefix("torch.")
    known = session_module.current.precision.get("fp16_type")
    precision.give("fp16_type", name, "cstorch.amp.set_half_dtype")
    if known not in (None, name):
        warnings.warn(
            f"set_half_dtype() was called again: the half type of the whole run was {known} and is "
            f"{name} now; what get_half_dtype() told before is no longer true. Call it once, before"
            " the model is made",
            stacklevel=2,
        )
    return _HALVES[dtype]


def get_half_dtype():
    """torch's type for the run's half type (float16 for cbfloat16, which torch has not); bfloat16
    where none was set."""
    return _HALVES[precision.half_dtype()]


def get_half_dtype_str():
    return precision.half_dtype()


def get_floating_point_dtype():
    """The type of activations: the half type with mixed precision, else float32."""
    return get_half_dtype() if mixed_precision() else torch.float32


def get_floating_point_dtype_str():
    return str(get_floating_point_dtype()).removeprefix("torch.")


def mixed_precision():
    """Whether the run computes in a 16-bit type: one was set and not switched off, or mixed
    precision was enabled."""
    return precision.is_mixed()


def enable_mixed_precision(enable=True):
    """Computes in the half type, bfloat16 where none is set; False: in float32, whatever is set."""
    arguments.check("enable_mixed_precision()", {"enable": arguments.FLAG}, {"enable": enable})
    if session_module.current.is_open and enable == mixed_precision():
        return
    precision.give("enabled", bool(enable), "cstorch.amp.enable_mixed_precision")


def is_cbfloat16_tensor(_tensor):
    """False: a step's types are torch's; cbfloat16 is chosen by the run's precision."""
    return False


@contextlib.contextmanager
def autocast(device_type=None, dtype=None, enabled=True, cache_enabled=None):
    """Does nothing to the traced operations: the engine's precision places casts."""
    yield


_RULES = {
    "loss_scale": arguments.either(arguments.number(0), arguments.one_of("dynamic")),
    "init_scale": arguments.number(0),
    "steps_per_increase": arguments.whole(1),
    "min_loss_scale": arguments.number(0),
    "max_loss_scale": arguments.number(0),
    "overflow_tolerance": arguments.number(0, 1),
    "max_gradient_norm": arguments.number(0),
    "max_gradient_value": arguments.number(0),
    "max_gradient_val": arguments.number(0),
    "optimizer": arguments.OPTIMIZER,
    "growth_interval": arguments.whole(1),
}


class GradScaler(near.Named):
    """Loss scaling: scale, unscale_, step, update, as torch.amp.GradScaler.

    Args:
        loss_scale: "dynamic", or the scale; 0: none.
        init_scale, steps_per_increase, min_loss_scale, max_loss_scale, overflow_tolerance: of the
            dynamic scale.
        max_gradient_norm: clips gradients that the step does not clip otherwise.
    """

    def __init__(
        self,
        loss_scale=0.0,
        init_scale=None,
        steps_per_increase=None,
        min_loss_scale=None,
        max_loss_scale=None,
        overflow_tolerance=0.05,
        max_gradient_norm=None,
    ):
        arguments.check("GradScaler()", _RULES, {**locals()})
        given = {
            "loss_scale": loss_scale,
            "init_scale": init_scale,
            "steps_per_increase": steps_per_increase,
            "min_loss_scale": min_loss_scale,
            "max_loss_scale": max_loss_scale,
            "overflow_tolerance": overflow_tolerance,
            "max_gradient_norm": max_gradient_norm,
        }
        self.settings = {k: v for k, v in given.items() if v is not None}
        self.handle = None
        session_module.current.declared.append(self)

    def _declare(self):
        if self.handle is None:
            self.handle = lib.cse_grad_scaler_new(json.dumps(self.settings).encode())
            if self.handle == ffi.NULL:
                session_module.current.check()

    def scale(self, loss):
        """The loss times the scale."""
        if not is_traced(loss):
            return loss
        return calls.wrap(
            lib.cse_grad_scaler_scale(self.handle, calls.operand(loss, torch.float32)),
            torch.float32,
        )

    def unscale_(self, optimizer):
        """Divides the gradients of the optimizer's parameters by the scale."""
        if getattr(optimizer, "_unscaled", None) is traced.active:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()"
            )
        self._unscale(optimizer)

    def _unscale(self, optimizer):
        gradients = optimizer._gradients()
        if not gradients or getattr(optimizer, "_unscaled", None) is traced.active:
            return
        array = ffi.new("cse_tensor *[]", [g.handle for g in gradients])
        lib.cse_grad_scaler_unscale(self.handle, array, len(gradients))
        for gradient, handle in zip(gradients, array):
            gradient.handle = handle
        optimizer._unscaled = traced.active

    def step(self, optimizer, *_, **__):
        """The optimizer's step, unless a gradient is not finite."""
        self._unscale(optimizer)
        optimizer._step_if_finite(self)

    def update(self, new_scale=None):
        """Moves the scale."""
        lib.cse_grad_scaler_update(self.handle)

    def get_scale(self):
        """The scale, between executions; 1 where there is none."""
        if traced.active is not None:
            raise messages.TraceError(
                f"{messages.place_text()}get_scale() was called in a step, in which the scale has "
                "no value yet: call it after the loop, or scale a loss of 1 by scale()",
                [messages.place()],
            )
        scale = self.settings.get("loss_scale", 0.0)
        if scale == "dynamic":
            return float(self.state_dict()["loss_scale"])
        return float(scale) if self.is_enabled() else 1.0

    def get_growth_factor(self):
        """What the dynamic scale is multiplied by after steps_per_increase steps without an
        overflow."""
        return 2.0

    def get_backoff_factor(self):
        """What it is multiplied by after too many overflows."""
        return 0.5

    def get_growth_interval(self):
        """Steps without an overflow after which the scale grows."""
        return self.settings.get("steps_per_increase", 2000)

    def is_enabled(self):
        """Whether losses are scaled."""
        return self.settings.get("loss_scale", 0.0) != 0

    def state_dict(self):
        return part.Part("grad_scaler")

    def load_state_dict(self, state):
        part.load("grad_scaler", state, "GradScaler.load_state_dict()")


def optimizer_step(
    loss,
    optimizer,
    grad_scaler=None,
    max_gradient_norm=None,
    max_gradient_value=None,
    max_gradient_val=None,
):
    """The whole update of a step: gradients, unscaling, clipping, the optimizer, the scale.
    max_gradient_val is another name of max_gradient_value."""
    arguments.check("optimizer_step()", _RULES, {**locals()})
    if max_gradient_val is not None and max_gradient_value is not None:
        raise ValueError("optimizer_step() takes max_gradient_value or max_gradient_val, not both")
    max_gradient_value = max_gradient_val if max_gradient_value is None else max_gradient_value
    if max_gradient_norm is not None and max_gradient_value is not None:
        raise ValueError("optimizer_step() takes max_gradient_norm or max_gradient_value, not both")
    optimizer.zero_grad()
    scaled = loss if grad_scaler is None else grad_scaler.scale(loss)
    scaled.backward()
    if grad_scaler is not None:
        grad_scaler.unscale_(optimizer)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if max_gradient_norm:
        torch.nn.utils.clip_grad_norm_(parameters, max_gradient_norm)
    elif max_gradient_value:
        torch.nn.utils.clip_grad_value_(parameters, max_gradient_value)
    if grad_scaler is not None:
        grad_scaler.step(optimizer)
        grad_scaler.update()
    else:
        optimizer.step()


__getattr__ = near.of_module(__name__, globals())
