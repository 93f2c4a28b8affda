"""What the loop's body holds of a batch: the tuples, lists and dictionaries that the data loader
makes, with a handle in the place of each tensor.

A handle has a shape and a type, and no value: the batch is read by the engine's processes, and the
body of the loop is ahead of them. It is handed to the step, alone or in any container; there it is
the traced tensor of the batch.
"""

import inspect
import warnings

import torch
from torch.utils import _pytree as pytree

from cstorch import messages
from cstorch import traced as traced_module
from cstorch.watch import PLAIN

_ROWS = {"shape", "size", "numel", "nelement", "__len__"}  # what is asked, and depends on the batch
_MOVES = {"to", "cuda", "cpu", "pin_memory", "contiguous"}


class Handle(torch.Tensor):
    """A tensor of the batch, outside of the step.

    Attributes:
        passed: the Pass of the loop whose batch it is of.
        index: its number among the leaves of the batch.
        label: how messages call it.
        knows_rows: whether it is known how many samples the batch of this pass has.
    """

    @staticmethod
    def __new__(cls, passed, index, shape, dtype, label, knows_rows=True):
        return torch.Tensor._make_wrapper_subclass(cls, shape, dtype=dtype, device="cpu")

    def __init__(self, passed, index, shape, dtype, label, knows_rows=True):
        self.passed = passed
        self.index = index
        self.label = label
        self.knows_rows = knows_rows

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if traced_module.active is not None:
            return traced_module.active.function(func, args, kwargs or {})
        name = traced_module.name_of(func)
        handle = next((v for v in pytree.tree_leaves((args, kwargs)) if type(v) is cls), None)
        if name not in traced_module.FORM or handle is None:
            _refuse(name, handle)
        if name in _ROWS and not handle.knows_rows:
            messages.refuse(
                f"{name} of {handle.label} is not known before the first step of this loop, whose "
                "batch may be the smaller one at the end of an epoch: ask for it in the step, or "
                "give the data loader drop_last=True"
            )
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        _refuse(str(func), next((v for v in pytree.tree_leaves(args) if type(v) is cls), None))

    def __repr__(self, **_):
        return traced_module.described(self)

    def __str__(self):
        return traced_module.printed(self)

    def __format__(self, spec):
        return traced_module.printed(self)


def _refuse(name, handle):
    label = "a tensor of the batch" if handle is None else handle.label
    if name in _MOVES:
        messages.refuse(
            f"{name} of {label} outside of the step: leave it out, since the engine brings batches "
            "to its processes itself; types are converted in the step"
        )
    messages.refuse(
        f"{name} of {label} outside of the step, where it has no value: compute with it in the "
        "function that @cstorch.trace decorates; to see values, return it from there and read it "
        "in a @cstorch.step_closure"
    )


class Pass:
    """One pass of the loop.

    Attributes:
        execution: the Execution that it is of.
        has_stepped: whether its step was called.
    """

    def __init__(self, execution):
        self.execution = execution
        self.has_stepped = False

    def batch(self, form, rows, most_rows):
        """The batch as the data loader makes it, of handles.

        Args:
            form: BatchForm of the data loader.
            rows: samples of the batch; None where that is not known yet.
            most_rows: samples of a whole batch.
        """
        leaves = [
            Handle(
                self,
                index,
                (most_rows if rows is None else rows, *leaf.shape),
                leaf.dtype,
                f"input {form.names[index]}".rstrip(),
                rows is not None,
            )
            if isinstance(leaf, form.Leaf)
            else leaf
            for index, leaf in enumerate(form.leaves)
        ]
        return pytree.tree_unflatten(leaves, form.spec)


# ---- what the step is given ----


def _leaves(value, path=""):
    """(path, leaf) of an argument; a leaf is what is no tuple, list or dictionary."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{index}]")
    else:
        yield path, value


class Given:
    """What the first call gave to the step. Later ones must give the same: the step has been
    traced with it.

    Args:
        function: the step.
        passed: the Pass of the call.
    """

    def __init__(self, session, function, passed, args, kwargs):
        function = inspect.unwrap(function)
        code = getattr(function, "__code__", None)
        self.names = code.co_varnames[: code.co_argcount] if code is not None else ()
        if inspect.ismethod(function):
            self.names = self.names[1:]
        self.passed = self.passed_first = passed
        self.told = set()
        self.found = self._paths(args, kwargs)
        self.copies = {
            path: value.detach().clone()
            for path, value in self.found
            if type(value) is torch.Tensor and session.state_of(value) is None
        }
        self.first = self._form(args, kwargs)

    def _paths(self, args, kwargs):
        count = len(self.names)
        names = [self.names[i] if i < count else f"argument {i}" for i in range(len(args))]
        given = [*zip(names, args), *kwargs.items()]
        return [pair for name, value in given for pair in _leaves(value, name)]

    def _form(self, args, kwargs):
        """What differs where another thing is given; it is made in each pass of the loop."""
        found = []
        for value in args:
            self._add(value, found)
        for name, value in kwargs.items():
            found.append(name)
            self._add(value, found)
        return found

    def _add(self, value, found):
        kind = type(value)
        if kind is Handle:
            if value.passed is not self.passed:
                self._refuse_other_pass(value)
            found.append((kind, value.index))
        elif isinstance(value, dict):
            found.append((kind, *value))
            for inner in value.values():
                self._add(inner, found)
        elif isinstance(value, (tuple, list)):
            found.append((kind, len(value)))
            for inner in value:
                self._add(inner, found)
        elif kind in PLAIN:
            found.append((kind, value))
        elif kind is torch.Tensor:
            found.append((kind, id(value), value._version))
        else:
            found.append(kind)

    @staticmethod
    def _refuse_other_pass(handle):
        messages.refuse(
            f"the step was given {handle.label} of another batch than that of this pass of the "
            "loop, which is the only one that it sees: to use what an earlier one held, let the "
            "step keep it in a buffer of the model"
        )

    def tell_changes(self, passed, args, kwargs, place):
        """Refuses what a later pass gives in another form, and tells other values."""
        self.passed = passed
        if self._form(args, kwargs) == self.first:
            return
        now = self._paths(args, kwargs)
        forms = [
            [(path, getattr(v, "index", None) if type(v) is Handle else None) for path, v in one]
            for one in (now, self.found)
        ]
        if forms[0] != forms[1]:
            messages.refuse(
                f"the step was given ({_told(now)}), and ({_told(self.found)}) when it was traced:"
                " it is traced once, so give it the same parts of each batch in the same order"
            )
        for (path, value), (_, first) in zip(now, self.found):
            if path not in self.told and self._differs(path, value, first):
                self.told.add(path)
                warnings.warn(
                    f"{place}the step was given another `{path}` than when it was traced: its "
                    "value is a constant of the step. Give what changes in the batch, as a tensor "
                    "with a value for each sample, or make it a tensor that is a state of the run",
                    stacklevel=4,
                )

    def _differs(self, path, value, first):
        if type(value) in PLAIN or type(first) in PLAIN:
            return type(value) is not type(first) or value != first
        if path in self.copies and isinstance(value, torch.Tensor):
            copy = self.copies[path]
            return value.dtype != copy.dtype or not torch.equal(value, copy)
        return False


def _told(leaves):
    return ", ".join(f"{path}: {v.label}" if type(v) is Handle else path for path, v in leaves)
