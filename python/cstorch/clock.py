"""Numbers that a clock gave while a step was traced: as constants of the step they would be the same
in each."""

import warnings

from cstorch import messages


class ClockNumber(float):
    """A number that a clock gave, and what is computed of it."""


class ClockCount(int):
    """The same of a clock that counts nanoseconds."""


def marked(value):
    """A number that a clock gave as one that is known to be."""
    if isinstance(value, float):
        return ClockNumber(value)
    return ClockCount(value) if type(value) is int else value


def _operation(base, name):
    method = getattr(base, name)

    def operation(self, *others):
        return marked(method(self, *others))

    return operation


for _class, _base in ((ClockNumber, float), (ClockCount, int)):
    for _name in ("add", "sub", "mul", "truediv", "mod", "floordiv", "pow"):
        for _full in (f"__{_name}__", f"__r{_name}__"):
            setattr(_class, _full, _operation(_base, _full))
    for _full in ("__neg__", "__pos__", "__abs__", "__round__"):
        setattr(_class, _full, _operation(_base, _full))


def _decision(base, name):
    method = getattr(base, name)

    def compare(self, other):
        _warn("a number of a clock decides something")
        return method(self, other)

    return compare


def _as_int(self):
    _warn("a number of a clock was made an int")
    return float.__int__(self)


for _class, _base in ((ClockNumber, float), (ClockCount, int)):
    for _full in ("__lt__", "__le__", "__gt__", "__ge__"):
        setattr(_class, _full, _decision(_base, _full))
ClockNumber.__int__ = ClockNumber.__trunc__ = _as_int


def _warn(what):
    filename, line, function = messages.caller_place(2)
    if messages.is_installed(filename):  # a library measures time
        return
    warnings.warn(
        f"{messages.place_text((filename, line, function))}{what} in the step, which happens once, "
        "while it is traced: do it in the loop's body or in a @cstorch.step_closure",
        stacklevel=3,
    )


def check_number(value):
    """Refuses a number of a clock as a constant of the step."""
    if isinstance(value, (ClockNumber, ClockCount)):
        raise messages.TraceError(
            f"{messages.place_text()}a number of a clock would be the same in each step: give it "
            "to the step in its batch, or use cstorch.global_step() in a closure",
            [messages.place()],
        )
