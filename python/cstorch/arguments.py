"""What the arguments of functions may be, checked where they are called."""

import os

import torch


def whole(least, most=2**31 - 1):
    """An integer, of Python or NumPy, from `least` to `most`."""

    def is_good(value):
        is_whole = hasattr(value, "__index__") and not isinstance(value, bool)
        return is_whole and least <= int(value) <= most

    return is_good, f"an integer of at least {least}"


def number(least=None, most=None):
    """A number within limits, which may be a tensor of one."""
    text = "a number" + (f" of at least {least}" if least is not None else "")
    text += f", at most {most}" if most is not None else ""

    def is_good(value):
        if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
            return False
        value = float(value)
        return (least is None or value >= least) and (most is None or value <= most)

    return is_good, text


class _Words:
    """A rule of a few values: another one of their kind is a wrong value, not a wrong type."""

    def __init__(self, words):
        self.words = words

    def __call__(self, value):
        return value in self.words

    def has_kind_of(self, value):
        return any(type(value) is type(word) for word in self.words)


class _Either:
    def __init__(self, rules):
        self.rules = rules

    def __call__(self, value):
        return any(is_good(value) for is_good, _ in self.rules)

    def has_kind_of(self, value):
        return any(_has_kind_of(is_good, value) for is_good, _ in self.rules)


def _has_kind_of(is_good, value):
    return isinstance(value, (int, float)) or (
        hasattr(is_good, "has_kind_of") and is_good.has_kind_of(value)
    )


def one_of(*words):
    return _Words(words), " or ".join(map(repr, words))


def either(*rules):
    return _Either(rules), ", or ".join(text for _, text in rules)


PATH = (lambda v: isinstance(v, (str, os.PathLike)) and str(v) != "", "a path")
FLAG = (lambda v: isinstance(v, bool), "True or False")
PATHS = (
    lambda v: isinstance(v, (list, tuple)) and all(isinstance(p, (str, os.PathLike)) for p in v),
    "a list of paths",
)
LABELS = (
    lambda v: isinstance(v, (list, tuple)) and all(isinstance(p, str) and "=" in p for p in v),
    'a list of texts "NAME=VALUE"',
)
OPTIMIZER = (lambda v: isinstance(v, torch.optim.Optimizer), "an optimizer of cstorch.optim")


def check(caller, rules, given):
    """Refuses what a rule does not accept, by its name; None is what a function has by itself.

    Args:
        caller: "configure()".
        rules: name -> (function of a value, what is accepted).
        given: name -> value; names without a rule are not looked at.
    """
    for name, value in given.items():
        if value is None or name not in rules:
            continue
        is_good, accepted = rules[name]
        if not is_good(value):
            kind = ValueError if _has_kind_of(is_good, value) else TypeError
            raise kind(f"{caller}: {name} is {value!r}; accepted: {accepted}")
