"""The trainer: a loop over executions of cstorch, which calls hooks.

A training is cut where validations are due; each piece is one execution, and so is each
validation. What is written here runs in Python, but for training_step and validation_step, which
are traced.
"""

import contextlib
import pathlib
import warnings
import weakref

import torch

import cstorch
from csengine import library
from csengine.library import lib
from cstorch import execution, part, traced
from cstorch.trainer import parts
from cstorch.trainer.callbacks import (
    GLOBAL_CALLBACK_REGISTRY,
    Callback,
    Checkpoint,
    CoreCallback,
    Logging,
    LoopCallback,
    ModelEvalMetrics,
    Precision,
    TrainingLoop,
    ValidationCallback,
    ValidationLoop,
)
from cstorch.trainer.callbacks.callback import HOOKS
from cstorch.trainer.early_exit import EarlyExit
from cstorch.trainer.loggers import Logger
from cstorch.utils.data import DataExecutor, DataLoader


def _record(values):
    """Makes them points of series of the run's store, where the pages show them. The run has the
    loss of its steps by itself."""
    for name, value in values.items():
        if name != "loss" and lib.cse_log_scalar(name.encode(), value) != lib.CSE_OK:
            warnings.warn(f"the run's store has no {name!r}: {library.error()}", stacklevel=2)


def _finalize(callbacks):
    for callback in callbacks:
        callback.finalize()


class Trainer:
    """Trains and validates a model.

    Args:
        device: "CSX", "CPU" or "GPU": all are this engine; or
        backend: what cstorch.backend() gives.
        model_dir: where all files of the run are.
        model: a torch.nn.Module that takes a batch and returns its loss, a tuple that begins with
            it, or a dictionary with the key "loss"; or a function that makes it.
        optimizer: of cstorch.optim, or a function of the model that makes it; None: validation
            alone.
        schedulers: of cstorch.optim, or functions of the optimizer that make them.
        precision: a MixedPrecision; None: float32.
        sparsity: what cstorch.sparse.configure() gives.
        loop: a TrainingLoop; None: one epoch.
        checkpoint: a Checkpoint; None: nothing is saved.
        logging: a Logging; None: each step.
        callbacks, loggers: objects, called in this order.
        seed: of weights, shuffling and dropout.
        autorestart: None; a server of csengine starts jobs again.

    Attributes:
        global_step: training steps done.
        metrics: the last value of each name that was logged.
    """

    def __init__(
        self,
        device=None,
        backend=None,
        model_dir="./model_dir",
        model=None,
        optimizer=None,
        schedulers=None,
        precision=None,
        sparsity=None,
        loop=None,
        checkpoint=None,
        logging=None,
        callbacks=None,
        loggers=None,
        seed=None,
        autorestart=None,
    ):
        if autorestart is not None:
            raise ValueError(
                "Trainer(): autorestart is given; accepted: None: a job of `csengine serve` that "
                "was killed is started again"
            )
        self.model_dir = self.artifact_dir = pathlib.Path(model_dir)
        self.precision = parts.of_kind("precision", precision, Precision, None)
        self.loop = parts.of_kind("loop", loop, LoopCallback, TrainingLoop(num_epochs=1))
        self.checkpoint = parts.of_kind("checkpoint", checkpoint, Checkpoint, Checkpoint())
        self.logging = parts.of_kind("logging", logging, Logging, Logging())
        self.loggers = parts.listed("loggers", loggers, Logger)
        own = parts.listed("callbacks", callbacks, Callback, (CoreCallback, Logger))
        self.early_exit = EarlyExit()
        self.executor = None
        self.global_step = 0
        self.metrics = {}
        self._scopes = []
        self._last_step = None
        if not any(isinstance(c, ModelEvalMetrics) for c in own):
            own = [ModelEvalMetrics(), *own]
        core = [self.precision, self.loop, self.logging]
        if isinstance(self.loop, TrainingLoop):
            core.append(self.loop.val_loop)
        # The checkpoint comes last: it has what the others do in the same hook.
        self.callbacks = [c for c in core if c is not None]
        self.callbacks += [*own, *self.loggers, self.checkpoint]
        self.call("pre_setup")
        self._make(device, backend, model, optimizer, schedulers, sparsity, seed)
        self.call("setup")
        self.call("post_setup")
        self._finalizer = weakref.finalize(self, _finalize, self.callbacks)

    def _make(self, device, backend, model, optimizer, schedulers, sparsity, seed):
        self.backend = parts.backend(backend, device, self.model_dir)
        if seed is not None:
            cstorch.configure(seed=seed)
            torch.manual_seed(seed)
        self.model = parts.model(model)
        self.compiled_model = cstorch.compile(self.model, self.backend)
        self.optimizer = parts.optimizer(optimizer, self.model)
        if self.optimizer is None and schedulers:
            raise ValueError("Trainer(): schedulers need an optimizer")
        self.schedulers = parts.schedulers(schedulers, self.optimizer)
        self.sparsity = parts.sparsity(sparsity, self.optimizer)

    # ---- callbacks ----

    @property
    def all_callbacks(self):
        """Its callbacks, and those that are registered for all trainers."""
        return [*self.callbacks, *GLOBAL_CALLBACK_REGISTRY.values()]

    def get_callbacks(self, callback_type):
        """Those of a class."""
        return [c for c in self.all_callbacks if isinstance(c, callback_type)]

    def get_callback(self, callback_type):
        """The first of them; None where there is none."""
        return next(iter(self.get_callbacks(callback_type)), None)

    @property
    def validation_callbacks(self):
        """Those with a validation of their own."""
        return self.get_callbacks(ValidationCallback)

    def call(self, hook_name, *args, **kwargs):
        """Calls a hook of all callbacks."""
        if hook_name not in HOOKS:
            raise AttributeError(
                f"Trainer.call(): no hook {hook_name!r}; accepted: {', '.join(sorted(HOOKS))}"
            )
        for callback in self.all_callbacks:
            getattr(callback, hook_name)(self, *args, **kwargs)

    @contextlib.contextmanager
    def _on_exception(self, what):
        try:
            yield
        except Exception as error:
            self.call(f"on_{what}_exception", error)
            raise

    # ---- what callbacks ask ----

    @property
    def logger(self):
        """The logger of Python for lines."""
        return self.logging.logger

    @property
    def is_tracing(self):
        """Whether a step is being traced."""
        return traced.active is not None

    @property
    def is_log_step(self):
        """Whether values of this step are logged."""
        trains = self.executor is not None and self.model.training
        due = self.global_step % self.logging.log_steps == 0
        return not trains or due or self.is_last_step

    @property
    def is_first_iteration(self):
        """Whether the loop is in its first pass."""
        return self.executor is not None and self.executor.iteration == 0

    @property
    def is_final_iteration(self):
        """Whether it is in its last one."""
        return self.executor is not None and self.executor.on_final_iteration

    @property
    def is_last_step(self):
        """Whether the training ends with this step."""
        return self.global_step == self._last_step

    # ---- values ----

    def log_metrics(self, **metrics):
        """Gives values to all loggers: numbers, or tensors of the step, whose values follow."""
        self.log_metrics_dict(metrics)

    def log_metrics_dict(self, metrics, step=None, dest=None):
        """The same of a dictionary.

        Args:
            step: whose values they are; None: the present one's.
            dest: names of the loggers; None: all.
        """
        known = [logger.name for logger in self.loggers]
        dest = known if dest is None else [dest] if isinstance(dest, str) else list(dest)
        unknown = [name for name in dest if name not in known]
        if unknown:
            raise ValueError(
                f"log_metrics_dict(): no logger {unknown[0]!r}; accepted: {', '.join(known)}"
            )
        prefix = "".join(f"{scope}/" for scope in self._scopes)
        self._log({f"{prefix}{k}": v for k, v in metrics.items()}, step, dest)

    @cstorch.step_closure
    def _log(self, metrics, step, dest):
        if not self.is_log_step:
            return
        values = {name: float(value) for name, value in metrics.items()}
        self.metrics.update(values)
        if step is None:
            _record(values)
        for logger in self.loggers:
            if logger.name in dest:
                logger.log_metrics(values, step=self.global_step if step is None else step)

    def log_validation(self, **metrics):
        """Values of a validation: val_NAME, or of one of several data loaders validate_0/NAME."""
        before = "" if self._scopes else "val_"
        self.log_metrics(**{f"{before}{name}": value for name, value in metrics.items()})

    @contextlib.contextmanager
    def name_scope(self, name):
        """Names that are logged in the block begin with it and a slash."""
        self._scopes.append(name)
        try:
            yield name
        finally:
            self._scopes.pop()

    # ---- the steps ----

    def forward(self, batch):
        """The model's outputs of a batch, as a dictionary."""
        context = contextlib.nullcontext()
        if self.precision is not None:
            context = self.precision.autocast_context_manager()
        with context:
            args, kwargs = [batch], {}
            self.call("on_before_forward", self.model, batch, args, kwargs)
            outputs = parts.outputs_of(self.compiled_model(*args, **kwargs))
            self.call("on_after_forward", self.model, outputs, batch)
            return outputs

    def backward(self, outputs):
        """The gradients of the loss."""
        self.call("on_before_backward", self.model, outputs)
        if self.precision is None:
            outputs["loss"].backward()
        else:
            self.precision.backward(outputs["loss"])
        self.call("on_after_backward", self.model, outputs)

    def optimizer_step(self):
        """Clips the gradients and makes the optimizer's step."""
        self.call("on_before_optimizer_step", self.model, self.optimizer)
        if self.precision is None:
            self.optimizer.step()
        else:
            self.precision.clip_gradients(self.optimizer)
            self.precision.optimizer_step(self.optimizer)
        self.call("on_after_optimizer_step", self.model, self.optimizer)

    def optimizer_zero_grad(self):
        """Forgets the gradients."""
        self.call("on_before_optimizer_zero_grad", self.model, self.optimizer)
        self.optimizer.zero_grad()
        self.call("on_after_optimizer_zero_grad", self.model, self.optimizer)

    def schedulers_step(self):
        """The schedules' steps."""
        for scheduler in self.schedulers:
            self.call("on_before_scheduler_step", self.model, self.optimizer, scheduler)
            scheduler.step()
            self.call("on_after_scheduler_step", self.model, self.optimizer, scheduler)

    def training_step(self, batch):
        """A whole training step, which fit has traced."""
        self.call("on_train_step_start", self.model, batch)
        outputs = self.forward(batch)
        self.backward(outputs)
        self.optimizer_step()
        self.optimizer_zero_grad()
        self.schedulers_step()
        self.call("on_train_step_end", self.model, outputs, batch)
        return outputs

    def validation_step(self, batch):
        """A whole validation step."""
        with torch.no_grad():
            self.call("on_validate_step_start", self.model, batch)
            outputs = self.forward(batch)
            self.call("on_validate_step_end", self.model, outputs, batch)
            return outputs

    # ---- training ----

    def fit(self, train_dataloader, val_dataloader=None, ckpt_path=...):
        """Trains, with validations where the loop says so.

        Args:
            val_dataloader: a data loader or a list of them; None: no validation.
            ckpt_path: the checkpoint to begin with; None: none; left out: the newest in model_dir.
        """
        if not isinstance(self.loop, TrainingLoop):
            raise TypeError(
                f"Trainer.fit() needs a TrainingLoop; loop is a {type(self.loop).__name__}"
            )
        if self.optimizer is None:
            raise ValueError("Trainer.fit() needs an optimizer, and Trainer() was given none")
        loop = self.loop
        val_dataloaders = _loaders("Trainer.fit()", val_dataloader)
        self.early_exit.should_exit = False
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._on_exception("fit"))
            self.call("on_enter_fit", stack, train_dataloader, val_dataloader, loop)
            self.load_checkpoint(ckpt_path)
            self.call("on_fit_start", train_dataloader, val_dataloader, loop)
            self._last_step = self.global_step + loop.total_steps
            pieces = loop.pieces()
            for index, steps in enumerate(pieces):
                self._train(train_dataloader, loop, index, steps)
                if self.early_exit.should_exit:
                    break
                if loop.eval_frequency:
                    self._validate_each(val_dataloaders, None)
                    self.call("run_validation", index, index == len(pieces) - 1)
                if self.early_exit.should_exit:
                    break
            self.call("on_fit_end", loop)
            self._flush()

    def _train(self, train_dataloader, loop, loop_idx, steps):
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._on_exception("train"))
            self.call("on_enter_train", stack, train_dataloader, loop, loop_idx)
            self.model.train()
            self.call("on_train_start", self.model, train_dataloader, loop, loop_idx)
            step = execution.trace(self.training_step)
            # The last step is one to take states at, so that another checkpoint can be loaded.
            self.executor = DataExecutor(
                train_dataloader, num_steps=steps, checkpoint_steps=self.checkpoint.steps or steps
            )
            for index, batch in enumerate(self.executor):
                self.call("on_train_batch_start", self.model, batch, index)
                outputs = step(batch)
                self.call("on_train_batch_end", self.model, outputs, batch, index)
                self.log_metrics(loss=outputs["loss"])
                if self.early_exit.should_exit:
                    break
            self.executor = None
            self.call("on_train_end", self.model, loop, loop_idx)

    # ---- validation ----

    def validate(self, val_dataloader=None, ckpt_path=..., loop=None):
        """Validates: logs val_loss, the mean of the batches' losses, and the model's metrics.

        Args:
            val_dataloader: a data loader, or a list of them.
            ckpt_path: as of fit.
            loop: a ValidationLoop; None: the trainer's.
        """
        found = _loaders("Trainer.validate()", val_dataloader)
        if not found:
            raise TypeError("Trainer.validate() needs a val_dataloader")
        self.load_checkpoint(ckpt_path)
        self._validate_each(found, loop)
        self._flush()

    def validate_all(self, val_dataloaders=None, ckpt_paths=..., loop=None):
        """Validates several checkpoints, which are files, or patterns of files."""
        found = _loaders("Trainer.validate_all()", val_dataloaders)
        paths = [ckpt_paths] if ckpt_paths is ... or ckpt_paths is None else _files(ckpt_paths)
        with contextlib.ExitStack() as stack:
            self.call("on_enter_validate_all", stack, found, loop, paths)
            for path in paths:
                self.load_checkpoint(path)
                self._validate_each(found, loop)
                self.call("run_validation", None, True)
            self._flush()

    def _validate_each(self, val_dataloaders, loop):
        for index, loader in enumerate(val_dataloaders):
            scope = contextlib.nullcontext()
            if len(val_dataloaders) > 1:
                scope = self.name_scope(f"validate_{index}")
            with scope:
                self._validate(loader, self._validation_loop(loop))

    def _validation_loop(self, given):
        loop = self.loop if given is None else given
        loop = getattr(loop, "val_loop", loop)
        if not isinstance(loop, ValidationLoop):
            raise TypeError(f"Trainer: loop is {loop!r}; accepted: a ValidationLoop")
        return loop

    def _validate(self, loader, loop):
        losses = []

        @cstorch.step_closure
        def keep(loss):
            losses.append(float(loss))

        with contextlib.ExitStack() as stack:
            stack.enter_context(self._on_exception("validate"))
            if loop not in self.callbacks:
                self.callbacks.append(loop)
                stack.callback(self.callbacks.remove, loop)
            self.call("on_enter_validate", stack, loader, loop)
            self.model.eval()
            stack.callback(self.model.train)
            self.call("on_validate_start", self.model, loader, loop)
            step = execution.trace(self.validation_step)
            count = loop.eval_steps
            self.executor = DataExecutor(loader, num_steps=count, checkpoint_steps=count)
            for index, batch in enumerate(self.executor):
                self.call("on_validate_batch_start", self.model, batch, index)
                outputs = step(batch)
                self.call("on_validate_batch_end", self.model, outputs, batch, index)
                keep(outputs["loss"])
                if self.early_exit.should_exit:
                    break
            self.executor = None
            self.log_validation(loss=sum(losses) / len(losses))
            self.call("on_validate_end", self.model, loop)

    # ---- checkpoints ----

    @cstorch.checkpoint_closure
    def save_checkpoint(self):
        """Saves all states: in a loop after the steps at which a checkpoint can be taken."""
        self.model_dir.mkdir(parents=True, exist_ok=True)
        state_dict = {"model": self.model.state_dict()}
        if self.optimizer is not None:
            state_dict["optimizer"] = self.optimizer.state_dict()
        if self.schedulers:
            state_dict["schedulers"] = part.Part("schedulers")
        self.call("on_save_checkpoint", state_dict)
        self.call("postprocess_checkpoint", state_dict)
        path = self.checkpoint.get_checkpoint_path(self.model_dir, self.global_step)
        cstorch.save(state_dict, path)
        self.logger.info("saved checkpoint %s", path)
        self.call("on_after_save_checkpoint", path)

    def load_checkpoint(self, ckpt_path=None):
        """Takes the states of a checkpoint; `...`: the newest of model_dir, where the checkpoint's
        autoload_last_checkpoint says so."""
        if ckpt_path is ...:
            wants = self.checkpoint.autoload_last_checkpoint
            ckpt_path = self.checkpoint.get_latest_checkpoint(self) if wants else None
        self.call("on_before_load_checkpoint", ckpt_path)
        if ckpt_path is None or not self.backend.is_e2e_execution:
            return
        state_dict = cstorch.load(ckpt_path)
        self.call("preprocess_checkpoint", state_dict)
        if "model" in state_dict:
            strict = not self.checkpoint.disable_strict_checkpoint_loading
            self.model.load_state_dict(state_dict["model"], strict=strict)
        if self.optimizer is not None and "optimizer" in state_dict:
            self.optimizer.load_state_dict(state_dict["optimizer"])
        if self.schedulers and "schedulers" in state_dict:
            part.load("schedulers", state_dict["schedulers"], "Trainer.load_checkpoint()")
        self.call("on_load_checkpoint", state_dict)
        if self.optimizer is not None and "global_step" in state_dict:
            cstorch.set_global_step(self.global_step)
        self.logger.info("loaded checkpoint %s", ckpt_path)

    def _flush(self):
        for logger in self.loggers:
            logger.flush()


def _loaders(caller, given):
    """One or several data loaders as a list."""
    found = [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    for loader in found:
        if not isinstance(loader, DataLoader):
            raise TypeError(
                f"{caller} validates a cstorch.utils.data.DataLoader, not "
                f"{type(loader).__name__}: DataLoader(make_loader)"
            )
    return found


def _files(patterns):
    """The files of paths and patterns, each of which must be there."""
    found = []
    for pattern in patterns if isinstance(patterns, (list, tuple)) else [patterns]:
        path = pathlib.Path(pattern)
        files = sorted(path.parent.glob(path.name))
        if not files:
            raise FileNotFoundError(f"no checkpoint {pattern}")
        found += files
    return found
