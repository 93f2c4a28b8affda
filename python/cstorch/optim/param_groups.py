"""The groups of an optimizer in its state_dict(): their settings, and their parameters."""

import collections.abc
import warnings

import torch

from cstorch import structure
from cstorch.part import MEMBERS


def copied(value):
    """A value of a group that shares nothing with it that could be changed in place."""
    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            return value.clone()
    if type(value) in (list, tuple):
        return type(value)(copied(one) for one in value)
    if type(value) is dict:
        return {k: copied(v) for k, v in value.items()}
    return value


def saved(optimizer, names):
    """What state_dict()["param_groups"] is: as in torch, where param_names has the keys of "state".

    Args:
        names: parameter -> its key in "state".
    """
    found, count = [], 0
    for index, group in enumerate(optimizer.param_groups):
        settings = {k: v for k, v in group.items() if k not in MEMBERS}
        left_out = [k for k, v in settings.items() if not structure.holds(v)]
        if left_out:
            warnings.warn(
                f"{type(optimizer).__name__}.state_dict() has no {left_out[0]!r} of "
                f"param_groups[{index}], which is a {type(settings[left_out[0]]).__name__}: a "
                "checkpoint holds tensors, numbers, texts, bytes, None, and lists, tuples and "
                "dictionaries of them",
                stacklevel=3,
            )
        size = len(group["params"])
        found.append(
            {
                **{k: copied(v) for k, v in settings.items() if k not in left_out},
                "params": list(range(count, count + size)),
                "param_names": [names[p] for p in group["params"]],
            }
        )
        count += size
    return found


def fitting(what, optimizer, names, state_dict):
    """The settings of each group in a state_dict, which has as many groups, of the same parameters;
    None if it has no groups, as a checkpoint of the engine's own.

    Args:
        what: whose method was called, for messages.
        names: parameter -> its key in "state".
    """
    groups = state_dict.get("param_groups")
    if groups is None:
        _tell_what_stays(what, optimizer)
        return None
    if not isinstance(groups, (list, tuple)) or not all(
        isinstance(group, collections.abc.Mapping) for group in groups
    ):
        raise TypeError(f"{what}: its param_groups are no list of dictionaries")
    if len(groups) != len(optimizer.param_groups):
        raise ValueError(
            f"{what}: {len(groups)} groups were saved, and there are {len(optimizer.param_groups)}"
        )
    for index, (group, given) in enumerate(zip(optimizer.param_groups, groups)):
        _refuse_other_members(
            f"{what}: param_groups[{index}]", [names[p] for p in group["params"]], given
        )
    return [{k: copied(v) for k, v in given.items() if k not in MEMBERS} for given in groups]


def _refuse_other_members(what, own, given):
    known = given.get("param_names")
    if known is not None and sorted(map(str, known)) != sorted(own):
        lost = [n for n in known if n not in own]
        new = [n for n in own if n not in known]
        words = [
            f"{verdict} {', '.join(map(str, names[:3]))}{' ...' if len(names) > 3 else ''}"
            for verdict, names in (("was saved with", lost), ("has here", new))
            if names
        ]
        raise ValueError(
            f"{what} {'; '.join(words)}: make the groups as they were when they were saved"
        )
    members = given.get("params")
    if members is not None and len(members) != len(own):
        raise ValueError(
            f"{what} was saved with {len(members)} parameters, and has {len(own)}: make the groups "
            "as they were when they were saved"
        )


def _tell_what_stays(what, optimizer):
    """A program that changed a setting by hand may expect that loading puts it back."""
    changed = [
        f"{name} of param_groups[{index}] stays {group[name]!r}"
        for index, (group, first) in enumerate(zip(optimizer.param_groups, optimizer._first_groups))
        for name in first
        if not _is_same(group.get(name), first[name])
    ]
    if changed:
        warnings.warn(f"{what}: it has no param_groups, so {', '.join(changed)}", stacklevel=4)


def _is_same(value, other):
    if isinstance(value, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.equal(value, other)
    return repr(value) == repr(other)  # arrays of NumPy have no plain ==
