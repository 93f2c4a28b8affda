"""What is told about a user's program: where in it, what was wrong, what to do."""

import os
import sys

import torch

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = os.path.join(_LIBRARY, "site-packages") + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


class TraceError(RuntimeError):
    """A step that cannot be traced. `places` are the user's (file, line, function)."""

    def __init__(self, message, places=()):
        super().__init__(message)
        self.places = list(places)


class ArgumentError(TraceError, TypeError):
    """A call with wrong arguments."""


class UnsupportedError(TraceError):
    """Operations without a counterpart in the engine: all of a step together."""


def is_inner(filename):
    """Whether a source file belongs to torch, this package or Python's own library."""
    return filename.startswith((_OWN, _TORCH, "<frozen")) or (
        filename.startswith(_LIBRARY) and not filename.startswith(_INSTALLED)
    )


def is_installed(filename):
    """Whether a source file is no part of the user's program: a package that is installed, too."""
    return is_inner(filename) or "site-packages" in filename or "dist-packages" in filename


def user_frame():
    """The innermost frame of the user's program; None outside of any."""
    frame = sys._getframe(1)
    while frame is not None and is_inner(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def is_logging():
    """Whether the program's line has called Python's logging."""
    frame = sys._getframe(1)
    while frame is not None and is_inner(frame.f_code.co_filename):
        if frame.f_globals.get("__name__", "").partition(".")[0] == "logging":
            return True
        frame = frame.f_back
    return False


def place():
    """("model.py", 11, "forward") of the user's program."""
    frame = user_frame()
    if frame is None:
        return ("", 0, "")
    return (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def caller_place(depth):
    """The same of the function that is `depth` calls above the one that asks."""
    frame = sys._getframe(depth + 1)
    return (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def place_text(where=None):
    """ "model.py:11 in forward: ", or "" where no frame is known."""
    filename, line, function = where or place()
    return f"{os.path.basename(filename)}:{line} in {function}: " if line else ""


def refuse(what):
    """Raises the error of a line of the program."""
    raise TraceError(f"{place_text()}{what}", [place()])


def describe(tensor):
    """ "[8, 128] int64" of any tensor."""
    return f"{list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
