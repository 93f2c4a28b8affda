"""Nested values of Python in a tree of the engine's: tensors and numbers stand under keys of their
own, which every reader of checkpoints sees, and a description says how they were nested.

A described value is JSON: None, "plain" (it stands under the key as it is), or an object with one
of these members.
  dict, list, tuple   what is in it: [described, key in the tree], in a dictionary after its key;
                      of: "optimizer" for the states of one that the program wrote;
                      members: which parameters each of an optimizer's groups has
  dtype               a tensor; words_of: its shape, where the words of its memory are stored
  part                states of the engine; param_groups: of an optimizer, as _in_json gives them
  integer, complex, bytes, text, torch   a value that the description itself holds
"""

import base64
import collections
import math
import os

import numpy
import torch

from csengine.library import ffi, lib
from cstorch import calls
from cstorch import part as part_module
from cstorch import session as session_module
from cstorch.part import MEMBERS, Part
from cstorch.saved_tensor import SavedTensor
from cstorch.traced import is_traced

MOST_KEY = 200  # bytes
# Types of the engine that hold the values of others, most of those of 64 bits.
_HELD = {
    torch.float64: torch.float32,
    torch.int64: torch.int32,
    torch.float32: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float16: torch.float32,
    torch.int32: torch.int32,
    torch.int16: torch.int32,
    torch.int8: torch.int32,
    torch.uint8: torch.int32,
    torch.bool: torch.int32,
}


# Types of values, beside dictionaries, lists and tuples of them.
_TYPES = (
    *(torch.Tensor, torch.dtype, torch.device, numpy.ndarray, numpy.generic),
    *(bool, int, float, complex, str, bytes, bytearray, os.PathLike),
)


def _is_good(key):
    """Whether the engine takes it as a key."""
    return 1 <= len(key.encode(errors="replace")) <= MOST_KEY and not any(
        c == "/" or ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) < 0xE000 for c in key
    )


def _key_described(key):
    """A dictionary's key as JSON: a text as it is, others with their type."""
    if isinstance(key, str):
        return key
    if isinstance(key, tuple):
        return {"tuple": [_key_described(one) for one in key]}
    if isinstance(key, float):
        return {"float": key.hex()}
    if key is None or isinstance(key, (bool, int)):
        return {"value": key}
    raise TypeError(
        f"a dictionary's key {key!r} is a {type(key).__name__}; a checkpoint has keys that are "
        "texts, numbers, None or tuples of them"
    )


def _key_of(described):
    if not isinstance(described, dict):
        return described
    if "tuple" in described:
        return tuple(_key_of(one) for one in described["tuple"])
    return float.fromhex(described["float"]) if "float" in described else described["value"]


def holds(value):
    """Whether a checkpoint holds a value, as far as its type tells."""
    if isinstance(value, dict):
        return all(holds(one) for one in value.values())
    if isinstance(value, (list, tuple)):
        return all(holds(one) for one in value)
    return value is None or isinstance(value, _TYPES)


def _in_json(value):
    """Settings of groups as JSON that tells lists from tuples."""
    if isinstance(value, dict):
        return {"dict": [[_key_described(k), _in_json(v)] for k, v in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_in_json(one) for one in value]}
    return [_in_json(one) for one in value] if isinstance(value, list) else value


def _from_json(described):
    if isinstance(described, list):
        return [_from_json(one) for one in described]
    if not isinstance(described, dict):
        return described
    if "tuple" in described:
        return tuple(_from_json(one) for one in described["tuple"])
    return {_key_of(k): _from_json(v) for k, v in described["dict"]}


def _without_members(states):
    """The state_dict() of an optimizer without the parameters of its groups, and these: the tree
    would have a key for each number."""
    groups = states.get("param_groups")
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        return states, None
    members = [
        {
            key: group[key]
            for key in MEMBERS
            if isinstance(group.get(key), list) and {type(v) for v in group[key]} <= {int, str}
        }
        for group in groups
    ]
    kept = [
        {k: v for k, v in group.items() if k not in taken} for group, taken in zip(groups, members)
    ]
    return {**states, "param_groups": kept}, members


class Writer:
    """Puts values into a tree."""

    def __init__(self):
        self.used = set()  # keys of the tree, each with its branches

    def _entry(self, tree, prefix, wanted, value):
        """Puts a value below a branch; returns its description and its key."""
        base = key = wanted if _is_good(wanted) else "value"
        if not isinstance(value, (dict, list, tuple)):
            number = 1
            while prefix + key in self.used:  # as of 1 and "1", of "a.b" and of b in a
                number += 1
                key = f"{base[: MOST_KEY // 4]}~{number}"
            self.used.add(prefix + key)
        return self._put(tree, key.encode(), value, f"{prefix}{key}."), key

    def entries(self, tree, prefix, mapping):
        """Puts the entries of a dictionary below a branch; returns what describes them."""
        return [
            [_key_described(k), *self._entry(tree, prefix, str(k), v)] for k, v in mapping.items()
        ]

    def _put(self, tree, key, value, prefix):
        if isinstance(value, Part):
            lib.cse_tree_set_part(tree, key, part_module.handle_of(value.part))
            groups = value.groups
            described = {} if groups is None else {"param_groups": _in_json(groups)}
            return {"part": value.part, **described}
        if isinstance(value, dict):
            branch, members = lib.cse_tree_set_branch(tree, key), None
            if isinstance(value, (part_module.OwnPart, part_module.SavedPart)):
                inner, members = _without_members(value)
            else:
                inner = value
            described = {"dict": self.entries(branch, prefix, inner)}
            if members is not None:
                described["members"] = members
            if isinstance(value, part_module.OwnPart):
                described["of"] = "optimizer"
            is_ordered = isinstance(value, collections.OrderedDict)
            return {**described, "ordered": True} if is_ordered else described
        if isinstance(value, (list, tuple)):
            branch = lib.cse_tree_set_branch(tree, key)
            inner = [self._entry(branch, prefix, str(i), v) for i, v in enumerate(value)]
            return {"tuple" if isinstance(value, tuple) else "list": inner}
        if isinstance(value, torch.Tensor):
            return _put_tensor(tree, key, value)
        return _put_plain(tree, key, value)


def _put_plain(tree, key, value):
    if value is None:
        return None
    if isinstance(value, bool):
        lib.cse_tree_set_integer(tree, key, int(value))
        return "bool"
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        lib.cse_tree_set_integer(tree, key, value)
        return "plain"
    if isinstance(value, int):
        return {"integer": str(value)}
    if isinstance(value, float):
        lib.cse_tree_set_number(tree, key, value)
        return "plain"
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, (torch.dtype, torch.device)):
        return {"torch": str(value), "kind": type(value).__name__}
    if isinstance(value, (str, os.PathLike)):
        return _put_text(tree, key, os.fspath(value))
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return _put_tensor(tree, key, torch.as_tensor(value))
    raise TypeError(
        f"{key.decode()}: a checkpoint holds tensors, numbers, texts, bytes, None, lists, tuples "
        f"and dictionaries, not {type(value).__name__}"
    )


def _put_text(tree, key, value):
    """A text with a zero or half of a surrogate pair is none that the engine can hold."""
    if "\0" in value or any(0xD800 <= ord(c) < 0xE000 for c in value):
        return {"text": value}
    lib.cse_tree_set_text(tree, key, value.encode())
    return "plain"


def _put_tensor(tree, key, tensor):
    if is_traced(tensor):
        tensor = tensor.output.value()
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise TypeError(
            f"{key.decode()} is a {'quantized' if tensor.is_quantized else tensor.layout} tensor; "
            "a checkpoint holds dense ones: to_dense() or dequantize() makes one"
        )
    session = session_module.current
    state = session.state_of(tensor)
    if state is None:  # state_dict() gives detached tensors of the same storage
        state = session.state_at(tensor)
    described = {"dtype": str(tensor.dtype).removeprefix("torch.")}
    if state is not None and state.handle is not None and session.is_equal(state):
        lib.cse_tree_set_state(tree, key, state.handle)
        return described
    values, is_words = _stored(tensor.detach())
    if is_words:
        described["words_of"] = list(tensor.shape)
    if values.numel():
        lib.cse_tree_set_array(
            tree,
            key,
            calls.c_shape(values.shape),
            calls.C_DTYPES[values.dtype],
            ffi.from_buffer(values.reshape(-1).numpy()),
        )
    return described


def _stored(tensor):
    """What a checkpoint holds of a tensor, and whether these are the words of its memory, since the
    engine has no type that holds each of its values, or no tensor without elements."""
    content = _bytes_of(tensor)
    if tensor.dtype in _HELD and tensor.numel():
        held = tensor.to(_HELD[tensor.dtype]).contiguous()
        if held.dtype == tensor.dtype or torch.equal(_bytes_of(held.to(tensor.dtype)), content):
            return held, False
    words = torch.zeros((content.numel() + 3) // 4 * 4, dtype=torch.uint8)
    words[: content.numel()] = content
    return words.view(torch.int32), True


def _bytes_of(tensor):
    return tensor.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


class Reader:
    """Rebuilds what a Writer described.

    Args:
        entries: a csengine.Checkpoint. Its tensors are read when they are needed.
    """

    def __init__(self, entries):
        self.entries = entries

    def tensor(self, key, dtype=None, words_of=None):
        """A tensor under a key; words_of: its shape, where its memory's words are stored."""

        def read():
            found = torch.from_numpy(self.entries[key])
            if words_of is not None:
                size = math.prod(words_of) * dtype.itemsize
                return found.view(torch.uint8)[:size].clone().view(dtype).reshape(words_of)
            return found if dtype is None else found.to(dtype)

        if words_of is not None and math.prod(words_of) == 0:
            return torch.empty(words_of, dtype=dtype)
        form = self.entries.form(key)
        return SavedTensor(
            form[0] if words_of is None else words_of,
            dtype or torch.from_numpy(numpy.empty(0, form[1])).dtype,
            read,
        )

    def value(self, key):
        """What stands under a key of the engine's own."""
        return self.tensor(key) if self.entries.is_tensor(key) else self.entries[key]

    def dictionary(self, entries, prefix):
        found = {}
        for name, described, *stored in entries:  # earlier files have the name alone
            key = stored[0] if stored else str(name)
            found[_key_of(name)] = self.build(described, prefix + key)
        return found

    def build(self, described, key):
        if described is None:
            return None
        if described in ("plain", "bool"):
            found = self.value(key)
            return bool(found) if described == "bool" else found
        if "part" in described:
            found = self.part(described["part"], key)
            if "param_groups" in described:
                found["param_groups"] = _from_json(described["param_groups"])
            return found
        if "dict" in described:
            found = self.dictionary(described["dict"], f"{key}.")
            if "members" in described:
                for group, members in zip(found["param_groups"], described["members"]):
                    group.update(members)
            if described.get("of") == "optimizer":
                found = part_module.SavedPart(found)
                found.global_step = self.entries["global_step"]
            return collections.OrderedDict(found) if described.get("ordered") else found
        if "list" in described or "tuple" in described:
            inner = described.get("list", described.get("tuple"))
            found = [self._item(one, f"{key}.", i) for i, one in enumerate(inner)]
            return tuple(found) if "tuple" in described else found
        if "dtype" in described:
            return self.tensor(key, getattr(torch, described["dtype"]), described.get("words_of"))
        return _inline(described)

    def _item(self, described, prefix, index):
        if isinstance(described, list):  # earlier files have the description alone
            return self.build(described[0], prefix + described[1])
        return self.build(described, f"{prefix}{index}")

    def part(self, part, key):
        """The states of a part of the engine, as its state_dict() has them."""
        names = [n for n in self.entries if n.startswith(f"{key}.")]
        values = {n[len(key) + 1 :]: self.value(n) for n in names}
        found = part_module.SavedPart(part_module.nested(part, values))
        if part == "optimizer":
            found.global_step = self.entries["global_step"]
        return found

    def plain(self):
        """A checkpoint of the engine's own: model, parts, numbers."""
        result = {}
        for key in self.entries:
            top, _, rest = key.partition(".")
            if top == "model" and rest:
                result.setdefault("model", {})[rest] = self.value(key)
            elif top in part_module.PARTS and rest:
                if top not in result:
                    result[top] = self.part(top, top)
            else:
                result[key] = self.value(key)
        return result


def _inline(described):
    if "integer" in described:
        return int(described["integer"])
    if "complex" in described:
        return complex(*map(float.fromhex, described["complex"]))
    if "bytes" in described:
        return base64.b64decode(described["bytes"])
    if "text" in described:
        return described["text"]
    if described.get("kind") == "device":
        return torch.device(described["torch"])
    return getattr(torch, described["torch"].removeprefix("torch."))
