"""The format in which a trainer computes, loss scaling, clipping."""

import contextlib
import warnings

import torch

from cstorch import amp, arguments
from cstorch import precision as precision_module
from cstorch.trainer.callbacks.callback import Callback

_RULES = {
    "enabled": arguments.FLAG,
    "fp16_type": arguments.one_of("float16", "bfloat16", "cbfloat16"),
    "loss_scaling_factor": arguments.either(arguments.number(0), arguments.one_of("dynamic")),
    "initial_loss_scale": arguments.number(0),
    "steps_per_increase": arguments.whole(1),
    "min_loss_scale": arguments.number(0),
    "max_loss_scale": arguments.number(0),
    "max_gradient_norm": arguments.number(0),
    "max_gradient_value": arguments.number(0),
    "log_loss_scale": arguments.FLAG,
}


class Precision(Callback):
    """Base class: how the gradients of a loss are taken and the optimizer's step is made."""

    def autocast_context_manager(self):
        """Around the forward pass."""
        return contextlib.nullcontext()

    def backward(self, loss):
        """Takes the gradients."""
        loss.backward()

    def clip_gradients(self, optimizer):
        """Clips them."""

    def optimizer_step(self, optimizer):
        """Makes the optimizer's step."""
        optimizer.step()


class MixedPrecision(Precision):
    """The section `precision` of a configuration, with its names, defaults and one rule: the run
    computes in fp16_type; with enabled=True alone in bfloat16; else, and with enabled=False, in
    float32.

    Args:
        enabled: False: float32, whatever else is given.
        fp16_type: "float16", "bfloat16" or "cbfloat16".
        precision_opt_level: of the model: 0, 1 or 2; None: 1.
        loss_scaling_factor: "dynamic", or the number that the loss is multiplied by.
        initial_loss_scale, steps_per_increase, min_loss_scale, max_loss_scale: of the dynamic one.
        max_gradient_norm, max_gradient_value: gradients are clipped to one of them.
        log_loss_scale: logs loss_scale at the end of each part of the training.
    """

    def __init__(
        self,
        enabled=None,
        fp16_type=None,
        precision_opt_level=None,
        loss_scaling_factor=1.0,
        initial_loss_scale=None,
        steps_per_increase=2000,
        min_loss_scale=None,
        max_loss_scale=None,
        max_gradient_norm=None,
        max_gradient_value=None,
        log_loss_scale=None,
    ):
        arguments.check("MixedPrecision()", _RULES, {**locals()})
        precision_module.check_level("MixedPrecision(): precision_opt_level", precision_opt_level)
        for name in ("max_gradient_norm", "max_gradient_value"):
            if locals()[name] == 0:
                raise ValueError(f"MixedPrecision(): {name} is 0; accepted: a number above 0")
        if max_gradient_norm is not None and max_gradient_value is not None:
            raise ValueError(
                "MixedPrecision(): max_gradient_norm and max_gradient_value exclude each other; "
                "keep one"
            )
        self.place = precision_module.here("MixedPrecision")
        self.enabled = enabled
        self.fp16_type = fp16_type
        self.precision_opt_level = precision_opt_level
        self.loss_scaling_factor = loss_scaling_factor
        self.scaling = {
            "init_scale": initial_loss_scale,
            "steps_per_increase": steps_per_increase,
            "min_loss_scale": min_loss_scale,
            "max_loss_scale": max_loss_scale,
        }
        self.max_gradient_norm = max_gradient_norm
        self.max_gradient_value = max_gradient_value
        self.log_loss_scale = log_loss_scale
        self.scaler = None

    def setup(self, trainer):
        for name in ("enabled", "fp16_type"):
            if getattr(self, name) is not None:
                precision_module.give(name, getattr(self, name), "MixedPrecision", self.place)
        if self.precision_opt_level is not None:
            precision_module.give_level(self.precision_opt_level, "MixedPrecision", self.place)
        factor = self.loss_scaling_factor
        if factor == "dynamic":
            self.scaler = amp.GradScaler("dynamic", overflow_tolerance=0.0, **self.scaling)
        elif factor not in (0, 1):
            self.scaler = amp.GradScaler(factor)
        if self.scaler is None and self.log_loss_scale:
            warnings.warn(
                "MixedPrecision(): log_loss_scale has no effect, since the loss is not scaled",
                stacklevel=2,
            )

    def backward(self, loss):
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()

    def on_before_optimizer_step(self, trainer, model, optimizer):
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)

    def clip_gradients(self, optimizer):
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        if self.max_gradient_norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters, self.max_gradient_norm)
        elif self.max_gradient_value is not None:
            torch.nn.utils.clip_grad_value_(parameters, self.max_gradient_value)

    def optimizer_step(self, optimizer):
        if self.scaler is None:
            optimizer.step()
            return
        self.scaler.step(optimizer)
        self.scaler.update()

    def on_train_end(self, trainer, model, loop, loop_idx):
        if self.scaler is not None and self.log_loss_scale:
            trainer.log_metrics(loss_scale=self.scaler.get_scale())

    def on_save_checkpoint(self, trainer, state_dict):
        if self.scaler is not None:
            state_dict["grad_scaler"] = self.scaler.state_dict()

    def on_load_checkpoint(self, trainer, state_dict):
        if self.scaler is not None and "grad_scaler" in state_dict:
            self.scaler.load_state_dict(state_dict["grad_scaler"])
