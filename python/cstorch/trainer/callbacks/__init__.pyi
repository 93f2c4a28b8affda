import contextlib
import pathlib
import os
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from cstorch.trainer import Trainer

_Path = str | os.PathLike[str]

__all__: list[str]
GLOBAL_CALLBACK_REGISTRY: OrderedDict[int, Callback]

def register_global_callback(callback: Any) -> Any: ...

class Callback:
    def pre_setup(self, trainer: Trainer) -> None: ...
    def setup(self, trainer: Trainer) -> None: ...
    def post_setup(self, trainer: Trainer) -> None: ...
    def finalize(self) -> None: ...
    def on_enter_fit(
        self,
        trainer: Trainer,
        stack: contextlib.ExitStack,
        train_dataloader: Any,
        val_dataloader: Any,
        loop: Any,
    ) -> None: ...
    def on_fit_start(
        self,
        trainer: Trainer,
        train_dataloader: Any,
        val_dataloader: Any,
        loop: Any,
    ) -> None: ...
    def on_fit_end(self, trainer: Trainer, loop: Any) -> None: ...
    def on_fit_exception(self, trainer: Trainer, exception: Exception) -> None: ...
    def on_enter_train(
        self,
        trainer: Trainer,
        stack: contextlib.ExitStack,
        train_dataloader: Any,
        loop: Any,
        loop_idx: int | None,
    ) -> None: ...
    def on_train_start(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        train_dataloader: Any,
        loop: Any,
        loop_idx: int | None,
    ) -> None: ...
    def on_train_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        loop: Any,
        loop_idx: int | None,
    ) -> None: ...
    def on_train_exception(self, trainer: Trainer, exception: Exception) -> None: ...
    def on_train_batch_start(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        batch: Any,
        batch_idx: int,
    ) -> None: ...
    def on_train_batch_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
        batch_idx: int,
    ) -> None: ...
    def on_train_step_start(self, trainer: Trainer, model: torch.nn.Module, batch: Any) -> None: ...
    def on_train_step_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
    ) -> None: ...
    def on_validate_step_start(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        batch: Any,
    ) -> None: ...
    def on_validate_step_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
    ) -> None: ...
    def on_before_forward(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        batch: Any,
        args: list[Any],
        kwargs: dict[str, Any],
    ) -> None: ...
    def on_after_forward(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
    ) -> None: ...
    def on_before_backward(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
    ) -> None: ...
    def on_after_backward(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
    ) -> None: ...
    def on_before_optimizer_step(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
    ) -> None: ...
    def on_after_optimizer_step(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
    ) -> None: ...
    def on_before_optimizer_zero_grad(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
    ) -> None: ...
    def on_after_optimizer_zero_grad(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
    ) -> None: ...
    def on_before_scheduler_step(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        scheduler: Any,
    ) -> None: ...
    def on_after_scheduler_step(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        scheduler: Any,
    ) -> None: ...
    def run_validation(self, trainer: Trainer, loop_idx: int | None, is_last: bool) -> None: ...
    def on_enter_validate(
        self,
        trainer: Trainer,
        stack: contextlib.ExitStack,
        val_dataloader: Any,
        loop: Any,
    ) -> None: ...
    def on_validate_start(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        val_dataloader: Any,
        loop: Any,
    ) -> None: ...
    def on_validate_end(self, trainer: Trainer, model: torch.nn.Module, loop: Any) -> None: ...
    def on_validate_exception(self, trainer: Trainer, exception: Exception) -> None: ...
    def on_validate_batch_start(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        batch: Any,
        batch_idx: int,
    ) -> None: ...
    def on_validate_batch_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
        batch_idx: int,
    ) -> None: ...
    def on_enter_validate_all(
        self,
        trainer: Trainer,
        stack: contextlib.ExitStack,
        val_dataloaders: Any,
        loop: Any,
        ckpt_paths: Any,
    ) -> None: ...
    def on_save_checkpoint(self, trainer: Trainer, state_dict: dict[str, Any]) -> None: ...
    def postprocess_checkpoint(self, trainer: Trainer, state_dict: dict[str, Any]) -> None: ...
    def on_after_save_checkpoint(self, trainer: Trainer, ckpt_path: Any) -> None: ...
    def on_before_load_checkpoint(self, trainer: Trainer, ckpt_path: Any) -> None: ...
    def preprocess_checkpoint(self, trainer: Trainer, state_dict: dict[str, Any]) -> None: ...
    def on_load_checkpoint(self, trainer: Trainer, state_dict: dict[str, Any]) -> None: ...

class CoreCallback(Callback): ...

class ValidationCallback(Callback):
    def run_validation(self, trainer: Trainer, loop_idx: int | None, is_last: bool) -> None: ...

class LoopCallback(CoreCallback): ...

class Precision(Callback):
    def autocast_context_manager(self) -> AbstractContextManager[Any]: ...
    def backward(self, loss: torch.Tensor) -> None: ...
    def clip_gradients(self, optimizer: torch.optim.Optimizer) -> None: ...
    def optimizer_step(self, optimizer: torch.optim.Optimizer) -> None: ...

class CheckLoss(Callback):
    def on_train_batch_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
        batch_idx: int,
    ) -> None: ...

class Checkpoint(CoreCallback):
    def __init__(
        self,
        steps: int | None = None,
        autoload_last_checkpoint: bool = True,
        disable_strict_checkpoint_loading: bool = False,
        save_initial_checkpoint: bool = False,
        checkpoint_name: str = "checkpoint_{step}.mdl",
    ) -> None: ...
    def on_train_start(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        train_dataloader: Any,
        loop: Any,
        loop_idx: int | None,
    ) -> None: ...
    def on_train_batch_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
        batch_idx: int,
    ) -> None: ...
    def get_checkpoint_path(self, ckpt_dir: _Path, step: int) -> pathlib.Path: ...
    def get_all_checkpoints(self, model_dir: _Path) -> list[pathlib.Path]: ...
    def get_latest_checkpoint(self, trainer: Trainer) -> pathlib.Path | None: ...

class ComputeNorm(Callback):
    def on_before_optimizer_step(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
    ) -> None: ...

class CountParams(Callback):
    def on_fit_start(
        self,
        trainer: Trainer,
        train_dataloader: Any,
        val_dataloader: Any,
        loop: Any,
    ) -> None: ...

class DurationProfiler(Callback):
    def __init__(self) -> None: ...
    def on_fit_start(
        self,
        trainer: Trainer,
        train_dataloader: Any,
        val_dataloader: Any,
        loop: Any,
    ) -> None: ...
    def on_train_batch_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
        batch_idx: int,
    ) -> None: ...

class EarlyStopping(Callback):
    def __init__(
        self,
        monitor: str = "val_loss",
        patience: int = 3,
        min_delta: float = 0.0,
        mode: str | None = None,
    ) -> None: ...
    def on_validate_end(self, trainer: Trainer, model: torch.nn.Module, loop: Any) -> None: ...

class GlobalFlags(Callback):
    def setup(self, trainer: Trainer) -> None: ...

class KeepNCheckpoints(Callback):
    def __init__(self, n: int | None = None) -> None: ...
    def on_after_save_checkpoint(self, trainer: Trainer, ckpt_path: Any) -> None: ...

class LoadCheckpointStates(Callback):
    def __init__(self, load_checkpoint_states: str | Sequence[str] = "all") -> None: ...
    def preprocess_checkpoint(self, trainer: Trainer, state_dict: dict[str, Any]) -> None: ...

class LogOptimizerParamGroup(Callback):
    def __init__(self, keys: str | Sequence[str]) -> None: ...
    def on_before_optimizer_step(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
    ) -> None: ...

class Logging(CoreCallback):
    def __init__(self, log_steps: int = 1, log_level: str = "INFO") -> None: ...
    def pre_setup(self, trainer: Trainer) -> None: ...

class MixedPrecision(Precision):
    def __init__(
        self,
        enabled: bool | None = None,
        fp16_type: str | None = None,
        precision_opt_level: int | None = None,
        loss_scaling_factor: float | str = 1.0,
        initial_loss_scale: float | None = None,
        steps_per_increase: int = 2000,
        min_loss_scale: float | None = None,
        max_loss_scale: float | None = None,
        max_gradient_norm: float | None = None,
        max_gradient_value: float | None = None,
        log_loss_scale: bool | None = None,
    ) -> None: ...
    def setup(self, trainer: Trainer) -> None: ...
    def backward(self, loss: torch.Tensor) -> None: ...
    def on_before_optimizer_step(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
    ) -> None: ...
    def clip_gradients(self, optimizer: torch.optim.Optimizer) -> None: ...
    def optimizer_step(self, optimizer: torch.optim.Optimizer) -> None: ...
    def on_train_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        loop: Any,
        loop_idx: int | None,
    ) -> None: ...
    def on_save_checkpoint(self, trainer: Trainer, state_dict: dict[str, Any]) -> None: ...
    def on_load_checkpoint(self, trainer: Trainer, state_dict: dict[str, Any]) -> None: ...

class ModelEvalMetrics(Callback):
    def on_validate_start(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        val_dataloader: Any,
        loop: Any,
    ) -> None: ...
    def on_validate_end(self, trainer: Trainer, model: torch.nn.Module, loop: Any) -> None: ...

class NaNChecker(Callback):
    def on_train_batch_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
        batch_idx: int,
    ) -> None: ...

class RateProfiler(Callback):
    def __init__(self, smooth_factor: float = 0.4) -> None: ...
    def on_train_start(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        train_dataloader: Any,
        loop: Any,
        loop_idx: int | None,
    ) -> None: ...
    def on_train_batch_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
        batch_idx: int,
    ) -> None: ...

class SaveCheckpointState(Callback):
    def __init__(
        self,
        k: int,
        checkpoint_states: str | Sequence[str] = "model",
        checkpoint_name: str = "{checkpoint_states}_{ckpt_name}",
    ) -> None: ...
    def on_after_save_checkpoint(self, trainer: Trainer, ckpt_path: Any) -> None: ...

class SavePerformanceData(Callback):
    def __init__(self) -> None: ...
    def on_train_batch_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
        batch_idx: int,
    ) -> None: ...
    def on_fit_start(
        self,
        trainer: Trainer,
        train_dataloader: Any,
        val_dataloader: Any,
        loop: Any,
    ) -> None: ...
    def on_fit_end(self, trainer: Trainer, loop: Any) -> None: ...

class ScopedTrainFlags(Callback):
    def __init__(self, **flags: Any) -> None: ...
    def on_enter_train(
        self,
        trainer: Trainer,
        stack: contextlib.ExitStack,
        train_dataloader: Any,
        loop: Any,
        loop_idx: int | None,
    ) -> None: ...

class ScopedValidateFlags(Callback):
    def __init__(self, **flags: Any) -> None: ...
    def on_enter_validate(
        self,
        trainer: Trainer,
        stack: contextlib.ExitStack,
        val_dataloader: Any,
        loop: Any,
    ) -> None: ...

class TrainingLoop(LoopCallback):
    def __init__(
        self,
        num_steps: int | None = None,
        max_steps: int | None = None,
        num_epochs: int | None = None,
        steps_per_epoch: int | None = None,
        eval_frequency: int | float | None = 1.0,
        eval_steps: int | None = None,
        grad_accum_steps: int = 1,
    ) -> None: ...
    def pieces(self) -> list[int]: ...
    def on_fit_start(
        self,
        trainer: Trainer,
        train_dataloader: Any,
        val_dataloader: Any,
        loop: Any,
    ) -> None: ...
    def on_train_batch_end(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        outputs: dict[str, Any],
        batch: Any,
        batch_idx: int,
    ) -> None: ...
    def on_save_checkpoint(self, trainer: Trainer, state_dict: dict[str, Any]) -> None: ...
    def on_load_checkpoint(self, trainer: Trainer, state_dict: dict[str, Any]) -> None: ...

class ValidationLoop(LoopCallback):
    def __init__(self, eval_steps: int | None = None, hook: str = "validate") -> None: ...
    def on_validate_start(
        self,
        trainer: Trainer,
        model: torch.nn.Module,
        val_dataloader: Any,
        loop: Any,
    ) -> None: ...
