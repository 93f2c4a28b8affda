"""How many steps a training and a validation have."""

import math

from cstorch import arguments
from cstorch.trainer.callbacks.callback import CoreCallback
from cstorch.utils.data import DataLoader, compute_num_steps

MAX_STEPS = 2**31 - 1
_RULES = {
    "num_steps": arguments.whole(1, MAX_STEPS),
    "max_steps": arguments.whole(1, MAX_STEPS),
    "num_epochs": arguments.whole(1, MAX_STEPS),
    "steps_per_epoch": arguments.whole(1, MAX_STEPS),
    "eval_frequency": arguments.number(0),
    "eval_steps": arguments.whole(1, MAX_STEPS),
}


class LoopCallback(CoreCallback):
    """Base class of loops."""


class ValidationLoop(LoopCallback):
    """A validation: eval_steps batches of each data loader; None: all."""

    def __init__(self, eval_steps=None, hook="validate"):
        arguments.check("ValidationLoop()", _RULES, {"eval_steps": eval_steps})
        if hook != "validate":
            raise ValueError(f"ValidationLoop(): hook is {hook!r}; accepted: 'validate'")
        self.max_eval_steps = eval_steps
        self.eval_steps = eval_steps

    def on_validate_start(self, trainer, model, val_dataloader, loop):
        if loop is self:
            self.eval_steps = compute_num_steps(val_dataloader, num_steps=self.max_eval_steps)


class TrainingLoop(LoopCallback):
    """A training.

    Args:
        num_steps: steps from where it starts.
        max_steps: the step at which it ends.
        num_epochs, steps_per_epoch: the same as epochs.
        eval_frequency: steps between validations; a fraction below 1: of the training; 1.0: one at
            the end; 0 and None: none.
        eval_steps: of each validation.
        grad_accum_steps: 1; a data loader's micro_batch_size computes a batch in parts.
    """

    def __init__(
        self,
        num_steps=None,
        max_steps=None,
        num_epochs=None,
        steps_per_epoch=None,
        eval_frequency=1.0,
        eval_steps=None,
        grad_accum_steps=1,
    ):
        arguments.check("TrainingLoop()", _RULES, {**locals()})
        if num_steps is not None and num_epochs is not None:
            raise ValueError("TrainingLoop() takes num_steps or num_epochs, not both")
        if grad_accum_steps != 1:
            raise ValueError(
                f"TrainingLoop(): grad_accum_steps is {grad_accum_steps!r}; accepted: 1: give the "
                "data loader the whole batch, and micro_batch_size to compute it in parts"
            )
        if isinstance(eval_frequency, float) and eval_frequency > 1:
            raise ValueError(
                f"TrainingLoop(): eval_frequency is {eval_frequency!r}; accepted: a whole number "
                "of steps, or a fraction of at most 1.0"
            )
        self.num_steps = num_steps
        self.max_steps = max_steps
        self.num_epochs = num_epochs
        self.steps_per_epoch = steps_per_epoch
        self.eval_frequency = eval_frequency
        self.val_loop = ValidationLoop(eval_steps)
        self.total_steps = 0

    def pieces(self):
        """Steps between the validations, in order: [40, 40, 20]."""
        total, every = self.total_steps, self.eval_frequency
        if not every or total == 0:
            return [total] if total else []
        if isinstance(every, float):
            every = max(math.ceil(every * total), 1)
        return [min(every, total - at) for at in range(0, total, every)]

    def on_fit_start(self, trainer, train_dataloader, val_dataloader, loop):
        if loop is not self:
            return
        if not isinstance(train_dataloader, DataLoader):
            raise TypeError(
                "Trainer.fit() takes a cstorch.utils.data.DataLoader, not "
                f"{type(train_dataloader).__name__}: DataLoader(make_loader)"
            )
        self.total_steps = max(
            compute_num_steps(
                train_dataloader,
                initial_step=trainer.global_step,
                num_steps=self.num_steps,
                max_steps=self.max_steps,
                num_epochs=self.num_epochs,
                steps_per_epoch=self.steps_per_epoch,
            ),
            0,
        )

    def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
        trainer.global_step += 1

    def on_save_checkpoint(self, trainer, state_dict):
        state_dict["global_step"] = trainer.global_step

    def on_load_checkpoint(self, trainer, state_dict):
        trainer.global_step = int(state_dict.get("global_step", 0))
