"""Schedules of weight decay."""

from cstorch.optim.scheduler import Scheduler


class WeightDecayScheduler(Scheduler):
    """Base class of weight decay schedules that a program writes, for optimizers of the program."""

    param_group_key = "weight_decay"

    def _get_closed_form(self):
        return (
            self._get_closed_form_wd()
            if hasattr(self, "_get_closed_form_wd")
            else self._get_closed_form_lr()
        )
