"""Names that are not there: which one was meant, and the line with it."""

import difflib
import linecache

from cstorch import messages


def closest(name, names):
    """The name that was probably meant, or None."""
    known = {n.lower(): n for n in list(names) if not n.startswith("_")}
    found = difflib.get_close_matches(name.lower(), known, 1, 0.6)
    return known[found[0]] if found else None


def line_with(name, meant):
    """The program's line with the other name in its place; None where the line is not known."""
    frame = messages.user_frame()
    if frame is None:
        return None
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    before, found, after = line.partition(name)
    return f"{before}{meant}{after}" if found else None


def absent(owner, name, names):
    """The AttributeError of a name that an object or a module has not.

    Args:
        owner: "'SGD' object" or "module 'cstorch'".
        names: those that there are.
    """
    text = f"{owner} has no attribute {name!r}"
    meant = None if name.startswith("_") else closest(name, names)
    if meant is not None:
        line = line_with(name, meant)
        text = f"{messages.place_text()}{text}. Did you mean {meant!r}?" + (
            f" Write `{line}`" if line else ""
        )
    error = AttributeError(text)
    error.name = name  # so that Python adds no guess of its own
    return error


class Named:
    """Says of a misspelt attribute which one was meant."""

    def __getattr__(self, name):
        names = [*dir(type(self)), *object.__getattribute__(self, "__dict__")]
        raise absent(f"{type(self).__name__!r} object", name, names)


def of_module(name, names):
    """The __getattr__ of a module that has these names."""

    def find(asked):
        raise absent(f"module {name!r}", asked, names)

    return find
