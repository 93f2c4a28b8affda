"""Where a trainer's values go. Each value is in the run's own store besides, where the pages show
it."""

import abc
import csv
import json
import time

from cstorch.trainer.callbacks.callback import Callback

__all__ = ["CSVLogger", "JSONLLogger", "Logger", "ProgressLogger", "TensorBoardLogger"]


class Logger(Callback, abc.ABC):
    """The base class of loggers: a callback with log_metrics."""

    @property
    def name(self):
        """By which trainer.log_metrics_dict(dest=...) chooses it."""
        return type(self).__name__

    def flush(self):
        """Writes what waits."""

    @abc.abstractmethod
    def log_metrics(self, metrics, step):
        """Takes values: name -> number, of a step."""


def _line(metrics, step):
    return f"step {step}: " + ", ".join(f"{k} {v:.6g}" for k, v in metrics.items())


class ProgressLogger(Logger):
    """A line in the trainer's log for the values of a step."""

    def setup(self, trainer):
        self.log = trainer.logger

    def log_metrics(self, metrics, step):
        self.log.info(_line(metrics, step))


class TensorBoardLogger(Logger):
    """Event files in MODEL_DIR/summary_dir (events). Needs the package tensorboard."""

    def __init__(self, summary_dir=None, legacy_event_dirs=False):
        if legacy_event_dirs:
            raise ValueError("TensorBoardLogger(): legacy_event_dirs is True; accepted: False")
        self.summary_dir = summary_dir

    def setup(self, trainer):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ImportError(
                "TensorBoardLogger needs the package tensorboard: install it, or use CSVLogger"
            ) from error
        folder = trainer.model_dir / "events" if self.summary_dir is None else self.summary_dir
        self.writer = SummaryWriter(str(folder))

    def log_metrics(self, metrics, step):
        for name, value in metrics.items():
            self.writer.add_scalar(name, value, step)

    def flush(self):
        self.writer.flush()

    def finalize(self):
        if hasattr(self, "writer"):
            self.writer.close()


class _FileLogger(Logger):
    file_name = None

    def setup(self, trainer):
        trainer.model_dir.mkdir(parents=True, exist_ok=True)
        path = trainer.model_dir / self.file_name
        self.is_new = not path.exists() or path.stat().st_size == 0
        self.file = path.open("a", newline="")

    def flush(self):
        self.file.flush()

    def finalize(self):
        if hasattr(self, "file"):
            self.file.close()


class CSVLogger(_FileLogger):
    """MODEL_DIR/metrics.csv: step, time_s, name, value."""

    file_name = "metrics.csv"

    def log_metrics(self, metrics, step):
        writer = csv.writer(self.file)
        if self.is_new:
            writer.writerow(["step", "time_s", "name", "value"])
            self.is_new = False
        for name, value in metrics.items():
            writer.writerow([step, f"{time.time():.3f}", name, repr(value)])


class JSONLLogger(_FileLogger):
    """MODEL_DIR/metrics.jsonl: the same as one JSON object a line."""

    file_name = "metrics.jsonl"

    def log_metrics(self, metrics, step):
        for name, value in metrics.items():
            row = {"step": step, "time_s": round(time.time(), 3), "name": name, "value": value}
            self.file.write(json.dumps(row) + "\n")
