import logging
import os
import pathlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from cstorch.trainer.callbacks import (
    Callback,
    Checkpoint,
    Logging,
    LoopCallback,
    Precision,
)
from cstorch.trainer.loggers import Logger

_Path = str | os.PathLike[str]

__all__: list[str]

class Trainer:
    model_dir: pathlib.Path
    model: torch.nn.Module
    global_step: int
    metrics: dict[str, float]
    def __init__(
        self,
        device: str | None = None,
        backend: Any = None,
        model_dir: _Path = "./model_dir",
        model: Any = None,
        optimizer: Any = None,
        schedulers: Any = None,
        precision: Precision | None = None,
        sparsity: Any = None,
        loop: LoopCallback | None = None,
        checkpoint: Checkpoint | None = None,
        logging: Logging | None = None,
        callbacks: Sequence[Callback] | None = None,
        loggers: Sequence[Logger] | None = None,
        seed: int | None = None,
        autorestart: Any = None,
    ) -> None: ...
    @property
    def all_callbacks(self) -> list[Callback]: ...
    def get_callbacks(self, callback_type: Any) -> list[Callback]: ...
    def get_callback(self, callback_type: Any) -> Callback | None: ...
    @property
    def validation_callbacks(self) -> list[Callback]: ...
    def call(self, hook_name: str, *args: Any, **kwargs: Any) -> None: ...
    @property
    def logger(self) -> logging.Logger: ...
    @property
    def is_tracing(self) -> bool: ...
    @property
    def is_log_step(self) -> bool: ...
    @property
    def is_first_iteration(self) -> bool: ...
    @property
    def is_final_iteration(self) -> bool: ...
    @property
    def is_last_step(self) -> bool: ...
    def log_metrics(self, **metrics: Any) -> None: ...
    def log_metrics_dict(
        self,
        metrics: dict[str, Any],
        step: int | None = None,
        dest: Any = None,
    ) -> None: ...
    def log_validation(self, **metrics: Any) -> None: ...
    def name_scope(self, name: str) -> AbstractContextManager[str]: ...
    def forward(self, batch: Any) -> dict[str, Any]: ...
    def backward(self, outputs: dict[str, Any]) -> None: ...
    def optimizer_step(self) -> None: ...
    def optimizer_zero_grad(self) -> None: ...
    def schedulers_step(self) -> None: ...
    def training_step(self, batch: Any) -> dict[str, Any]: ...
    def validation_step(self, batch: Any) -> dict[str, Any]: ...
    def fit(
        self,
        train_dataloader: Any,
        val_dataloader: Any = None,
        ckpt_path: Any = ...,
    ) -> None: ...
    def validate(
        self,
        val_dataloader: Any = None,
        ckpt_path: Any = ...,
        loop: LoopCallback | None = None,
    ) -> None: ...
    def validate_all(
        self,
        val_dataloaders: Any = None,
        ckpt_paths: Any = ...,
        loop: LoopCallback | None = None,
    ) -> None: ...
    def save_checkpoint(self) -> None: ...
    def load_checkpoint(self, ckpt_path: Any = None) -> None: ...
