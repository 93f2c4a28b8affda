"""Callbacks that measure and watch a training."""

import json
import math

import torch

import cstorch
from cstorch import arguments
from cstorch.trainer.callbacks.callback import Callback
from cstorch.utils.misc import RateTracker


class CountParams(Callback):
    """Tells and logs the number of parameters."""

    def on_fit_start(self, trainer, train_dataloader, val_dataloader, loop):
        parameters = list(trainer.model.parameters())
        count = sum(p.numel() for p in parameters)
        trained = sum(p.numel() for p in parameters if p.requires_grad)
        trainer.logger.info("%d parameters, of which %d are trained", count, trained)
        trainer.log_metrics(num_params=count, num_trainable_params=trained)


class RateProfiler(Callback):
    """Logs samples a second: smoothed (local_samples_per_sec), and of all steps since the part of
    the training began (avg_samples_per_sec).

    Args:
        smooth_factor: of the rate before in the next one.
    """

    def __init__(self, smooth_factor=0.4):
        arguments.check(
            "RateProfiler()",
            {"smooth_factor": arguments.number(0, 1)},
            {"smooth_factor": smooth_factor},
        )
        self.tracker = RateTracker(smooth_factor)
        self.seen = 0

    def on_train_start(self, trainer, model, train_dataloader, loop, loop_idx):
        self.tracker.reset()
        self.seen = trainer.global_step
        self.batch_size = train_dataloader.batch_size

    def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
        self._look(trainer, trainer.global_step)

    @cstorch.step_closure
    def _look(self, trainer, step):
        self.tracker.add((step - self.seen) * self.batch_size)
        self.seen = step
        trainer.log_metrics_dict(
            {
                "local_samples_per_sec": self.tracker.rate(),
                "avg_samples_per_sec": self.tracker.global_rate(),
            },
            step=step,
        )


class DurationProfiler(Callback):
    """Logs the seconds that are left (time_remaining), by the steps so far."""

    def __init__(self):
        self.tracker = RateTracker()

    def on_fit_start(self, trainer, train_dataloader, val_dataloader, loop):
        self.begun = trainer.global_step
        self.total = loop.total_steps
        self.tracker.reset()

    def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
        self._look(trainer, trainer.global_step)

    @cstorch.step_closure
    def _look(self, trainer, step):
        done = step - self.begun
        left = (self.total - done) * self.tracker.elapsed_seconds() / max(done, 1)
        trainer.log_metrics_dict({"time_remaining": left}, step=step)


class SavePerformanceData(Callback):
    """Writes samples a second and steps to MODEL_DIR/performance.json when the training ends."""

    def __init__(self):
        self.tracker = RateTracker()
        self.steps = 0

    def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
        self.steps += 1

    def on_fit_start(self, trainer, train_dataloader, val_dataloader, loop):
        self.tracker.reset()
        self.batch_size = train_dataloader.batch_size

    def on_fit_end(self, trainer, loop):
        self.tracker.add(self.steps * self.batch_size)
        found = {
            "steps": self.steps,
            "seconds": self.tracker.elapsed_seconds(),
            "samples_per_sec": self.tracker.global_rate(),
        }
        (trainer.model_dir / "performance.json").write_text(json.dumps(found) + "\n")


class CheckLoss(Callback):
    """Ends the training when a logged loss is not finite. (The engine does so for any step.)"""

    def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
        self._check(outputs["loss"], trainer.global_step)

    @cstorch.step_closure
    def _check(self, loss, step):
        if not math.isfinite(float(loss)):
            raise ValueError(f"the loss of step {step} is {float(loss)}")


class NaNChecker(Callback):
    """Ends the training at a checkpoint step at which a parameter has an element that is not
    finite."""

    def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
        self._check(model, trainer.global_step)

    @cstorch.checkpoint_closure
    def _check(self, model, step):
        for name, parameter in model.named_parameters():
            if not torch.isfinite(parameter).all():
                raise ValueError(f"{name} has an element that is not finite after step {step}")


class ComputeNorm(Callback):
    """Logs the 2-norm of all gradients, unscaled and before clipping (model_wise_grad_norm), and of
    all parameters before the step (model_wise_params_norm)."""

    def on_before_optimizer_step(self, trainer, model, optimizer):
        parameters = [p for p in model.parameters() if p.requires_grad]
        gradients = [p.grad for p in parameters if p.grad is not None]
        trainer.log_metrics(
            model_wise_grad_norm=_norm(gradients), model_wise_params_norm=_norm(parameters)
        )


def _norm(tensors):
    return torch.sqrt(sum((t.float() ** 2).sum() for t in tensors))


class LogOptimizerParamGroup(Callback):
    """Logs settings of each group of the optimizer: lr/0, weight_decay/1.

    Args:
        keys: the name of a setting, or a list of names.
    """

    def __init__(self, keys):
        self.keys = [keys] if isinstance(keys, str) else list(keys)

    def on_before_optimizer_step(self, trainer, model, optimizer):
        values = {}
        scheduled = {s.param_group_key: s for s in trainer.schedulers}
        for key in self.keys:
            for index, group in enumerate(optimizer.param_groups):
                if key in scheduled:
                    values[f"{key}/{index}"] = scheduled[key].get_last_lr()[index]
                elif isinstance(group.get(key), (int, float)):
                    values[f"{key}/{index}"] = float(group[key])
                else:
                    raise KeyError(
                        f"LogOptimizerParamGroup(): group {index} has no number {key!r}; it has: "
                        + ", ".join(sorted(k for k in group if k != "params"))
                    )
        trainer.log_metrics(**values)


class ModelEvalMetrics(Callback):
    """Logs the metrics that the model has among its modules after each validation, as val_NAME.
    Each trainer has one."""

    @staticmethod
    def _metrics(model):
        return [m for m in model.modules() if isinstance(m, cstorch.metrics.Metric)]

    def on_validate_start(self, trainer, model, val_dataloader, loop):
        for metric in self._metrics(model):
            metric.reset()

    def on_validate_end(self, trainer, model, loop):
        found = {m.name: float(m) for m in self._metrics(model) if m.num_updates}
        if found:
            trainer.log_validation(**found)


class EarlyStopping(Callback):
    """Ends the training when a logged value has not been better than its best by more than min_delta
    for `patience` validations in a row.

    Args:
        monitor: the value's name, as "val_loss".
        mode: "min" or "max"; None: "min" for losses.
    """

    def __init__(self, monitor="val_loss", patience=3, min_delta=0.0, mode=None):
        rules = {
            "patience": arguments.whole(1),
            "min_delta": arguments.number(0),
            "mode": arguments.one_of("min", "max"),
        }
        arguments.check("EarlyStopping()", rules, {**locals()})
        self.monitor = monitor
        self.patience = patience
        self.min_delta = min_delta
        self.sign = 1 if (mode or ("min" if monitor.endswith("loss") else "max")) == "min" else -1
        self.best = math.inf
        self.waited = 0

    def on_validate_end(self, trainer, model, loop):
        if self.monitor not in trainer.metrics:
            raise KeyError(
                f"EarlyStopping(): nothing logged {self.monitor!r}; logged were: "
                + ", ".join(sorted(trainer.metrics))
            )
        value = self.sign * trainer.metrics[self.monitor]
        if value < self.best - self.min_delta:
            self.best, self.waited = value, 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            trainer.early_exit.should_exit = True
