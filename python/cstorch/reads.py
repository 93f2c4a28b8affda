"""What the lines of a Python function read: names of outside, and attributes of them.

It is the function's code that says so, not its text: a name that is only part of an attribute
(`model.loss` beside a global `loss`), or that only a function defined inside reads, is not read.
"""

import dis
import inspect
import types

_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME"}
_ENCLOSING = {"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}
# Code inside of a function's that is run with it.
_WITHIN = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>"}


class Reads:
    """Of one function's code.

    Attributes:
        names: name -> how often it is read, of global names and those of enclosing functions.
        attributes: (name, attribute) of these and of the function's own variables.
    """

    def __init__(self, code):
        self.names = {}
        self.attributes = set()
        self._add(code)

    def _add(self, code):
        before = None  # the name that the instruction before has read
        for instruction in dis.get_instructions(code):
            kind = instruction.opname
            if kind in _ATTRIBUTE:
                if before is not None:
                    self.attributes.add((before, instruction.argval))
                before = None
            elif kind in _GLOBAL or kind in _ENCLOSING:
                before = instruction.argval
                self.names[before] = self.names.get(before, 0) + 1
            elif kind.startswith("LOAD_FAST"):  # some load two variables
                argument = instruction.argval
                before = argument[-1] if isinstance(argument, tuple) else argument
            elif kind != "CACHE":
                before = None
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType) and inner.co_name in _WITHIN:
                self._add(inner)


_known = {}


def of(function):
    """The Reads of a function; each code is looked at once."""
    code = function.__code__
    if code not in _known:
        _known[code] = Reads(code)
    return _known[code]


def enclosed(function, name):
    """(value,) of a name that the function has from outside; None where it has no such name."""
    code = function.__code__
    if name in code.co_freevars and function.__closure__:
        cell = function.__closure__[code.co_freevars.index(name)]
        try:
            return (cell.cell_contents,)
        except ValueError:  # not assigned yet
            return None
    if name in function.__globals__:
        return (function.__globals__[name],)
    return None


def texts_of(owner, method):
    """The constant texts in a method of an object's class, and in those of its methods that it
    calls by name: keys that it looks for are among them."""
    found, seen, waiting = set(), set(), [method]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for kind in type(owner).__mro__:
            function = inspect.unwrap(kind.__dict__.get(name, object))
            if isinstance(function, types.FunctionType):
                waiting += _add_texts(function.__code__, found)
    return found


def _add_texts(code, found):
    """Adds the constant texts of a function's code; returns the names that it uses."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _add_texts(constant, found)
        else:
            texts = constant if isinstance(constant, tuple) else (constant,)
            found.update(text for text in texts if isinstance(text, str))
    return names
