"""States of the engine's optimizers, schedules and gradient scalers, as a program sees them."""

import collections
import collections.abc
import copy

import torch

from csengine.library import check, ffi, lib, text
from cstorch import calls
from cstorch import session as session_module

PARTS = {
    "model": "CSE_PART_MODEL",
    "optimizer": "CSE_PART_OPTIMIZER",
    "schedulers": "CSE_PART_SCHEDULE",
    "grad_scaler": "CSE_PART_GRAD_SCALER",
    "states": "CSE_PART_STATES",
}
# In a group of a state_dict(): its parameters, as numbers and as keys of "state".
MEMBERS = ("params", "param_names")


def handle_of(part):
    """The engine's number of a part."""
    return getattr(lib, PARTS[part])


def states_of(part):
    """name in the part -> cse_state, of those that the engine has by now."""
    count = lib.cse_part_states(handle_of(part), ffi.NULL, 0)
    found = ffi.new("cse_state *[]", max(count, 1))
    lib.cse_part_states(handle_of(part), found, count)
    names = [text(lib.cse_state_name_view(found[i])) for i in range(count)]
    return {name.removeprefix(f"{part}."): found[i] for i, name in enumerate(names)}


def _open_states(part):
    """The same, of all that the program has made."""
    session_module.current.open()
    return states_of(part)


def _bytes(tensor):
    """The memory of a contiguous tensor; NumPy has no bfloat16."""
    return ffi.from_buffer(tensor.reshape(-1).view(torch.uint8).numpy())


def _value(state):
    """A copy of a state's values."""
    shape = lib.cse_state_shape(state)
    value = torch.empty(
        tuple(shape.dims[0 : shape.rank]), dtype=calls.TORCH_DTYPES[lib.cse_state_dtype(state)]
    )
    size = value.numel() * value.element_size()
    check(lib.cse_state_get(state, _bytes(value), size))
    return value


def nested(part, values):
    """The values of a part as its state_dict() has them: those of an optimizer stand below their
    parameter, as in torch."""
    if part != "optimizer":
        return dict(values)
    state = {}
    for name, value in values.items():
        parameter, _, slot = name.rpartition(".")
        state.setdefault(parameter, {})[slot] = value
    return {"state": state}


def flat(part, values):
    """The other way."""
    if part != "optimizer":
        return dict(values)
    return {
        f"{parameter}.{slot}": value
        for parameter, slots in values.get("state", {}).items()
        for slot, value in slots.items()
    }


def _pickled(values):
    """As what pickle saves a mapping: a dictionary that torch.load takes for mere weights."""
    return collections.OrderedDict, (), None, None, iter(values.items())


class SavedPart(dict):
    """The state_dict() of a part in a checkpoint.

    Attributes:
        global_step: training steps done when it was saved.
    """

    global_step = 0

    def __reduce__(self):
        return _pickled(self)

    def __deepcopy__(self, memo):
        found = SavedPart(copy.deepcopy(dict(self), memo))
        found.global_step = self.global_step
        return found


class OwnPart(dict):
    """The state_dict() of an optimizer that the program wrote."""

    def __reduce__(self):
        return _pickled(self)


class Part(collections.abc.Mapping):
    """What state_dict() gives: all states of the optimizers, schedules or scalers of the run. Each
    look at it reads their present values; a checkpoint has those of the moment in which it is
    saved; torch.save and copy.deepcopy make a dictionary of tensors of it.

    Args:
        groups: settings of an optimizer's groups when state_dict() was called, as in torch.
    """

    def __init__(self, part, groups=None):
        self.part = part
        self.groups = groups

    def _now(self):
        values = {name: _value(state) for name, state in _open_states(self.part).items()}
        found = nested(self.part, values)
        return found if self.groups is None else {**found, "param_groups": self.groups}

    def __getitem__(self, key):
        if key == "param_groups" and self.groups is not None:
            return self.groups
        return self._now()[key]

    def __contains__(self, key):
        return key in self._keys()

    def __iter__(self):
        return iter(self._keys())

    def __len__(self):
        return len(self._keys())

    def _keys(self):
        """The keys alone, for which no value is read."""
        if self.part != "optimizer":
            return list(_open_states(self.part))
        return ["state"] if self.groups is None else ["state", "param_groups"]

    def __reduce__(self):
        return _pickled(self._now())

    def __deepcopy__(self, memo):
        found = self._now()
        if self.groups is not None:
            found["param_groups"] = copy.deepcopy(self.groups, memo)
        return found

    def __repr__(self):
        return f"states of {self.part}"


def go_on_after(state_dict):
    """Training goes on, in its data and its schedules, where the states of an optimizer were saved;
    a program that wants another place calls cstorch.set_global_step."""
    session = session_module.current
    step = getattr(state_dict, "global_step", 0)
    if step and not session.has_place:
        session.set_global_step(step)


def refuse_other_names(what, states, values):
    """What is loaded must have a value of each state, and nothing else."""
    missing = [n for n in states if n not in values]
    unknown = [n for n in values if n not in states]
    if missing or unknown:
        raise ValueError(
            f"{what}: "
            + "; ".join(
                f"{verdict} {', '.join(names[:3])}{' ...' if len(names) > 3 else ''}"
                for verdict, names in (("it lacks", missing), ("nothing here is", unknown))
                if names
            )
            + ": the optimizer, the schedules and the model must be those that were saved"
        )


def refuse_other_types(what, state_dict):
    """What is loaded must be a dictionary."""
    if not isinstance(state_dict, collections.abc.Mapping):
        raise TypeError(f"{what} takes a state_dict(), not {type(state_dict).__name__}")


def load(part, state_dict, what):
    """Gives the session's states of a part the values of a state_dict.

    Args:
        what: whose method was called, for messages.
    """
    refuse_other_types(what, state_dict)
    if isinstance(state_dict, Part):
        if state_dict.part != part:
            raise ValueError(f"{what} was given the states of {state_dict.part}")
        return  # they are the session's own
    states = _open_states(part)
    values = flat(part, state_dict)
    refuse_other_names(what, states, values)
    go_on_after(state_dict)
    for name, state in states.items():
        sizes = tuple(values[name].shape)
        shape = lib.cse_state_shape(state)
        if sizes != tuple(shape.dims[0 : shape.rank]):
            raise ValueError(
                f"{what}: {name} has shape {list(sizes)}, not {shape.dims[0 : shape.rank]}"
            )
    for name, state in states.items():
        set_value(f"{part}.{name}", state, values[name])


def set_value(name, state, value):
    """Gives a state its value, of the same shape: the program's tensor, where it has one."""
    own = session_module.current.state_named(name)
    if own is not None:  # a tensor of the program: of an optimizer or a schedule of its own
        with torch.no_grad():
            own.tensor.copy_(value)
        return
    kept = torch.empty(tuple(value.shape), dtype=calls.TORCH_DTYPES[lib.cse_state_dtype(state)])
    kept.copy_(value)
    size = kept.numel() * kept.element_size()
    check(lib.cse_state_set(state, _bytes(kept), size))
