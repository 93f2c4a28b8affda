"""What a callback is: the hooks that a trainer calls, in the order of a run.

Hooks whose name holds `step` (on_train_step_start), and those of forward, backward, optimizer and
scheduler, are called while the step is traced, once for each trace: tensors have no values there.
Hooks of a batch are called in each pass of the loop, outside of the step; what they pass to
trainer.log_metrics, or to a function under @cstorch.step_closure, has values.
"""

import collections
import inspect

from torch.utils.hooks import RemovableHandle


class Callback:
    """The base class of callbacks: each hook does nothing."""

    # ---- the trainer ----

    def pre_setup(self, trainer):
        """Before anything of the trainer is made."""

    def setup(self, trainer):
        """Makes what the callback needs."""

    def post_setup(self, trainer):
        """The trainer is made."""

    def finalize(self):
        """The trainer is not needed any more."""

    # ---- fit ----

    def on_enter_fit(self, trainer, stack, train_dataloader, val_dataloader, loop):
        """Before a training; `stack` is a contextlib.ExitStack that ends with it."""

    def on_fit_start(self, trainer, train_dataloader, val_dataloader, loop):
        """The checkpoint is loaded."""

    def on_fit_end(self, trainer, loop):
        """The training is over."""

    def on_fit_exception(self, trainer, exception):
        """It failed."""

    # ---- training, between two validations ----

    def on_enter_train(self, trainer, stack, train_dataloader, loop, loop_idx):
        """Before the steps up to the next validation."""

    def on_train_start(self, trainer, model, train_dataloader, loop, loop_idx):
        """Before the first of them."""

    def on_train_end(self, trainer, model, loop, loop_idx):
        """After the last of them: the model has its values."""

    def on_train_exception(self, trainer, exception):
        """One of them failed."""

    def on_train_batch_start(self, trainer, model, batch, batch_idx):
        """Before a step."""

    def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
        """After a step."""

    # ---- inside of a step ----

    def on_train_step_start(self, trainer, model, batch):
        """The training step begins."""

    def on_train_step_end(self, trainer, model, outputs, batch):
        """It ends."""

    def on_validate_step_start(self, trainer, model, batch):
        """The validation step begins."""

    def on_validate_step_end(self, trainer, model, outputs, batch):
        """It ends."""

    def on_before_forward(self, trainer, model, batch, args, kwargs):
        """Before the model is called with args (a list) and kwargs, which may be changed."""

    def on_after_forward(self, trainer, model, outputs, batch):
        """After it was called."""

    def on_before_backward(self, trainer, model, outputs):
        """Before the gradients are taken."""

    def on_after_backward(self, trainer, model, outputs):
        """After they were taken."""

    def on_before_optimizer_step(self, trainer, model, optimizer):
        """Before gradients are clipped and the optimizer's step."""

    def on_after_optimizer_step(self, trainer, model, optimizer):
        """After it."""

    def on_before_optimizer_zero_grad(self, trainer, model, optimizer):
        """Before gradients are forgotten."""

    def on_after_optimizer_zero_grad(self, trainer, model, optimizer):
        """After it."""

    def on_before_scheduler_step(self, trainer, model, optimizer, scheduler):
        """Before a schedule's step."""

    def on_after_scheduler_step(self, trainer, model, optimizer, scheduler):
        """After it."""

    # ---- validation ----

    def run_validation(self, trainer, loop_idx, is_last):
        """A validation of the callback's own, after those of the data loaders."""

    def on_enter_validate(self, trainer, stack, val_dataloader, loop):
        """Before a validation; `stack` ends with it."""

    def on_validate_start(self, trainer, model, val_dataloader, loop):
        """The checkpoint is loaded."""

    def on_validate_end(self, trainer, model, loop):
        """It is over: metrics have their values."""

    def on_validate_exception(self, trainer, exception):
        """It failed."""

    def on_validate_batch_start(self, trainer, model, batch, batch_idx):
        """Before a step."""

    def on_validate_batch_end(self, trainer, model, outputs, batch, batch_idx):
        """After a step."""

    def on_enter_validate_all(self, trainer, stack, val_dataloaders, loop, ckpt_paths):
        """Before the validations of several checkpoints."""

    # ---- checkpoints ----

    def on_save_checkpoint(self, trainer, state_dict):
        """Adds to what is saved."""

    def postprocess_checkpoint(self, trainer, state_dict):
        """Changes it before it is written."""

    def on_after_save_checkpoint(self, trainer, ckpt_path):
        """It is written."""

    def on_before_load_checkpoint(self, trainer, ckpt_path):
        """Before a checkpoint is read; None: there is none."""

    def preprocess_checkpoint(self, trainer, state_dict):
        """Changes what was read."""

    def on_load_checkpoint(self, trainer, state_dict):
        """Takes what was read."""

    # ---- for all trainers ----

    def __enter__(self):
        self._handle = register_global_callback(self)
        return self

    def __exit__(self, *_):
        self._handle.remove()
        return False


class CoreCallback(Callback):
    """Base class of the trainer's own parts, which are given by its arguments alone."""


class ValidationCallback(Callback):
    """A callback with a validation of its own (run_validation)."""

    def run_validation(self, trainer, loop_idx, is_last):
        raise NotImplementedError(f"{type(self).__name__} has no run_validation")


HOOKS = frozenset(
    name
    for name, value in vars(Callback).items()
    if inspect.isfunction(value) and not name.startswith("_")
)

GLOBAL_CALLBACK_REGISTRY = collections.OrderedDict()


def register_global_callback(callback):
    """Has all trainers call it; returns a handle, whose remove() ends that. Of a class, an object is
    made, and the class returned: so it is a decorator, too."""
    made = callback() if inspect.isclass(callback) else callback
    if not isinstance(made, Callback):
        raise TypeError(f"register_global_callback() takes a Callback, not {callback!r}")
    handle = RemovableHandle(GLOBAL_CALLBACK_REGISTRY)
    GLOBAL_CALLBACK_REGISTRY[handle.id] = made
    return callback if inspect.isclass(callback) else handle
