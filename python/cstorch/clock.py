"""Numbers that a clock gave while a step was traced: as constants of the step they would be the same
in each."""

from cstorch import messages


class ClockNumber(float):
    """A number that a clock gave, and what is computed of it."""


def _of_clock(name):
    base = getattr(float, name)

    def operation(self, *others):
        result = base(self, *others)
        return ClockNumber(result) if isinstance(result, float) else result

    return operation


for _name in ("add", "sub", "mul", "truediv", "mod", "floordiv"):
    for _full in (f"__{_name}__", f"__r{_name}__"):
        setattr(ClockNumber, _full, _of_clock(_full))
for _full in ("__neg__", "__pos__", "__abs__"):
    setattr(ClockNumber, _full, _of_clock(_full))


def check_number(value):
    """Refuses a number of a clock as a constant of the step."""
    if isinstance(value, ClockNumber):
        raise messages.TraceError(
            f"{messages.place_text()}a number of a clock would be the same in each step: give it to the step in its batch, "
            "or use cstorch.global_step() in a closure",
            [messages.place()],
        )
