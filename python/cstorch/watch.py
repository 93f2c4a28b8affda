"""Python's own values that a step reads: they are constants of the step, and what changes is told."""

import inspect
import random
import types
import warnings

import numpy
import torch

from cstorch import messages, reads
from cstorch.traced import Traced

PLAIN = (int, float, bool, str)
# What to do about what changed between two steps, by the end of its name.
INSTEAD = {
    "['lr']": "use a schedule of cstorch.optim.lr_scheduler",
    "['weight_decay']": "use a schedule of cstorch.optim.weight_decay_scheduler",
    ".training": "a loop of its own evaluates, after model.eval()",
    ".requires_grad": "freeze parameters before the loop, in which the step is traced",
}
MOST_ITEMS = 1000  # of a list or dictionary that is watched
FIRST_STEPS = 16  # after each of them is looked; later after steps 32, 64, 128, ...


def tensor_summary(tensor):
    """What differs after a tensor was written to, or another one took its place."""
    return (torch.Tensor, id(tensor), None if tensor.is_inference() else tensor._version)


def _summary(value):
    """What can be compared of a value that a step may read; None for others."""
    if isinstance(value, PLAIN):
        return (type(value), value)
    if isinstance(value, numpy.random.Generator):
        return (type(value), str(value.bit_generator.state))
    if isinstance(value, random.Random):
        return (type(value), hash(value.getstate()))
    if isinstance(value, torch.Tensor) and not isinstance(value, Traced):
        return tensor_summary(value)
    if isinstance(value, Traced):
        return (Traced,)
    if isinstance(value, (list, dict, set)) and len(value) <= MOST_ITEMS:
        items = value.items() if isinstance(value, dict) else ((None, v) for v in value)
        return (type(value), [(k, v if isinstance(v, PLAIN) else id(v)) for k, v in items])
    return None


class Watch:
    """The numbers, texts, lists and dictionaries that a function, and those of the program that it
    calls by a name, read by a name: global ones, those of the enclosing function, and attributes of
    both."""

    def __init__(self, session, function, args):
        self.session = session
        self.function = inspect.unwrap(function)
        self.owner = getattr(self.function, "__self__", None)
        self.function = getattr(self.function, "__func__", self.function)
        code = getattr(self.function, "__code__", None)
        is_method = args and code is not None and code.co_varnames[:1] == ("self",)
        if is_method and self.owner is None:
            self.owner = args[0]
        self.told = set()
        self.steps = 0
        self.handed_on = {}  # id -> how often the step gave it to a closure
        self.kept = []  # these values, so that their ids stay theirs
        self.values = self._look()

    def place(self):
        code = self.function.__code__
        return messages.place_text((code.co_filename, code.co_firstlineno, code.co_name))

    def _objects(self, function, seen):
        """(name, value, attributes that are read of it) of what the function and those that it
        calls read. Closures run outside of the step: what they read is their business."""
        if not isinstance(function, types.FunctionType) or function in seen or len(seen) > 50:
            return
        if messages.is_installed(function.__code__.co_filename):
            return
        seen.add(function)
        read = reads.of(function)
        for name, count in read.names.items():
            found = reads.enclosed(function, name)
            if found is None:
                continue
            value = found[0]
            if self.handed_on.get(id(value), 0) >= count:  # a closure gets it, and nothing else
                continue
            yield name, value, {a for n, a in read.attributes if n == name}
            if callable(value) and not getattr(value, "is_step_closure", False):
                yield from self._objects(inspect.unwrap(value), seen)

    def _read(self):
        found = {}
        objects = list(self._objects(self.function, set()))
        if self.owner is not None:
            own = reads.of(self.function).attributes
            objects.append(("self", self.owner, {a for n, a in own if n == "self"}))
        for name, value, attributes in objects:
            if isinstance(value, torch.Tensor) and self.session.state_of(value) is not None:
                continue
            summary = _summary(value)
            if summary is not None:
                found[name] = summary
            elif not isinstance(value, (type, types.ModuleType, torch.Tensor)):
                kept = getattr(value, "__dict__", {})
                for attribute in sorted(attributes & set(kept)):
                    summary = _summary(kept[attribute])
                    if summary is not None:
                        found[f"{name}.{attribute}"] = summary
        return found

    def hand_on(self, values):
        """The step gave these to its closures, which may change them: to hand something on is not
        to read it."""
        for value in values:
            self.handed_on[id(value)] = self.handed_on.get(id(value), 0) + 1
        self.kept += values
        self.values = self._look()

    def _look(self):
        """What the step and its optimizers and models read. It is no part of a trace."""
        with torch._C.DisableTorchFunction():
            return self._everything()

    def _everything(self):
        found = self._read()
        for optimizer in self.session.declared:
            for index, group in enumerate(getattr(optimizer, "param_groups", ())):
                read = self._keys_of(optimizer)
                for name, value in group.items():
                    if read is not None and name not in read:
                        continue
                    where = f"{type(optimizer).__name__}.param_groups[{index}][{name!r}]"
                    if isinstance(value, PLAIN) and name != "initial_lr":
                        found[where] = (type(value), value)
                    elif isinstance(value, torch.Tensor) and not isinstance(value, Traced):
                        found[where] = (torch.Tensor, value.tolist())
        for model in self.session.models:
            modes = [m.training for m in model.module.modules()]
            found[f"{type(model.module).__name__}.training"] = (bool, modes)
        for state in self.session.trainable_candidates():
            found[f"{state.name}.requires_grad"] = (bool, state.tensor.requires_grad)
        return found

    @staticmethod
    def _keys_of(optimizer):
        """Keys of groups that a user's optimizer may read in its step; None: each."""
        kind = type(optimizer)
        if messages.is_inner(inspect.unwrap(kind.step).__code__.co_filename):
            return set(optimizer.defaults)
        return reads.texts_of(optimizer, "step")

    def changed(self):
        """Names of what differs from the last look, each once."""
        now = self._look()
        found = [
            n
            for n, v in now.items()
            if n in self.values and self.values[n] != v and n not in self.told
        ]
        self.told.update(found)
        self.values = now
        return found

    def _written(self):
        """Names of states whose tensors the program has written to since they were last those of
        the engine."""
        return [
            s.name
            for s in self.session.states
            if s.handle is not None and s.version not in (-1, s.tensor._version)
        ]

    def after_checkpoint(self):
        """Tells what closures left changed. Only now can contents be compared: one that puts back
        what it changed, as for a save of averaged weights, has changed nothing."""
        self._tell_written([s.name for s in self.session.states if not self.session.is_equal(s)])

    def _tell_written(self, names):
        told = [n for n in names if n not in self.told][:3]
        self.told.update(told)
        for name in told:
            warnings.warn(
                f"{self.place()}{name} was changed between two steps, which the engine does not "
                "see while the loop runs: change it in the step, or before the loop",
                stacklevel=5,
            )

    def after_trace(self):
        """Tells what the step itself changed."""
        for name in self.changed():
            warnings.warn(
                f"{self.place()}the step changes `{name}`, which happens once, while it is traced:"
                " change it in the loop's body or in a @cstorch.step_closure, or make it a tensor "
                "that is a state of the run",
                stacklevel=5,
            )

    def after_step(self):
        """Tells what changed between steps. A look takes some ten microseconds, which is much for
        small steps; what changes once is seen by the next look as well."""
        self.steps += 1
        if self.steps > FIRST_STEPS and self.steps & (self.steps - 1):
            return
        self._tell_written(self._written())
        for name in self.changed():
            instead = next((i for end, i in INSTEAD.items() if name.endswith(end)), None)
            warnings.warn(
                f"{self.place()}the step reads `{name}`, which has changed since the step was "
                "traced: its value is a constant of the step. "
                + (
                    f"It stays as it was: {instead}"
                    if instead
                    else "Give what changes to the step in its batch, or make it a tensor that is "
                    "a state of the run"
                ),
                stacklevel=4,
            )
