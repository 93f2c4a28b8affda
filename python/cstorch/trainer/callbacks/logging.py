"""When a trainer logs, and the logger of Python that it writes its lines to."""

import logging
import sys

from cstorch import arguments
from cstorch.trainer.callbacks.callback import CoreCallback

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class Logging(CoreCallback):
    """Values are logged every log_steps steps and at the last one; log_level is that of the
    trainer's lines (trainer.logger)."""

    def __init__(self, log_steps=1, log_level="INFO"):
        arguments.check("Logging()", {"log_steps": arguments.whole(1)}, {"log_steps": log_steps})
        if log_level not in LEVELS:
            raise ValueError(
                f"Logging(): log_level is {log_level!r}; accepted: {', '.join(LEVELS)}"
            )
        self.log_steps = log_steps
        self.log_level = log_level
        self.logger = logging.getLogger("cstorch.trainer")

    def pre_setup(self, trainer):
        self.logger.setLevel(self.log_level)
        if not self.logger.handlers and not logging.getLogger().handlers:
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
            self.logger.addHandler(handler)
