"""save and load: nested values of Python in the engine's checkpoints."""

import json
import math
import os

import numpy
import torch

from csengine.checkpoints import Checkpoint
from csengine.library import check, ffi, lib
from cstorch import calls
from cstorch import session as session_module
from cstorch.traced import is_traced

STRUCTURE = "cstorch_structure"
PARTS = {
    "model": "CSE_PART_MODEL",
    "optimizer": "CSE_PART_OPTIMIZER",
    "schedulers": "CSE_PART_SCHEDULE",
    "grad_scaler": "CSE_PART_GRAD_SCALER",
    "states": "CSE_PART_STATES",
}


class Part:
    """All states of the optimizers, schedules or scalers: what their state_dict() is. After
    loading, what load_state_dict() takes."""

    def __init__(self, part, path=None, key=None):
        self.part = part
        self.path = path
        self.key = key

    def load_into(self, part):
        """Gives the session's states of this part the values in the file."""
        session = session_module.current
        session.open()
        if self.path is None:
            return
        saved = _open(self.path)
        try:
            check(lib.cse_load_part(saved[0], self.key.encode(), getattr(lib, PARTS[part])))
        finally:
            lib.cse_saved_close(saved)

    def __repr__(self):
        return f"states of {self.part}"


def _open(path):
    saved = ffi.new("cse_saved **")
    check(lib.cse_saved_open(os.fspath(path).encode(), saved))
    return saved


def _key(key):
    key = str(key)
    if not 1 <= len(key.encode()) <= 200 or "/" in key:
        raise ValueError(f"a key of a checkpoint is 1 to 200 bytes without '/', not {key!r}")
    return key.encode()


def _put(tree, key, value):
    """Puts a value into a branch; returns what describes it for load."""
    if isinstance(value, Part):
        lib.cse_tree_set_part(tree, key, getattr(lib, PARTS[value.part]))
        return {"part": value.part}
    if isinstance(value, dict):
        branch = lib.cse_tree_set_branch(tree, key)
        return {
            "dict": [
                [k if isinstance(k, (str, int)) else str(k), _put(branch, _key(k), v)]
                for k, v in value.items()
            ]
        }
    if isinstance(value, (list, tuple)):
        branch = lib.cse_tree_set_branch(tree, key)
        return {
            "tuple" if isinstance(value, tuple) else "list": [
                _put(branch, _key(i), v) for i, v in enumerate(value)
            ]
        }
    if isinstance(value, torch.Tensor):
        return _put_tensor(tree, key, value)
    if value is None:
        return None
    if isinstance(value, bool):
        lib.cse_tree_set_integer(tree, key, int(value))
        return "bool"
    if isinstance(value, int):
        lib.cse_tree_set_integer(tree, key, value)
    elif isinstance(value, float):
        lib.cse_tree_set_number(tree, key, value)
    elif isinstance(value, (str, os.PathLike)):
        lib.cse_tree_set_text(tree, key, os.fspath(value).encode())
    else:
        try:
            return _put_tensor(tree, key, torch.as_tensor(value))
        except Exception:
            raise TypeError(
                f"{key.decode()}: a checkpoint holds tensors, numbers, texts, lists and "
                f"dictionaries, not {type(value).__name__}"
            ) from None
    return "plain"


def _put_tensor(tree, key, tensor):
    if is_traced(tensor):
        tensor = tensor.output.value()
    session = session_module.current
    state = session.state_of(tensor)
    if state is None:  # state_dict() gives detached tensors of the same storage
        state = _by_storage(session).get((tensor.data_ptr(), tuple(tensor.shape)))
    if state is not None and state.handle is not None:
        lib.cse_tree_set_state(tree, key, state.handle)
        return {"dtype": str(tensor.dtype).removeprefix("torch.")}
    values, is_words = _stored(tensor.detach())
    described = {"dtype": str(tensor.dtype).removeprefix("torch.")}
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


# Types of which the engine's hold every value.
_HELD = {
    torch.float32: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float16: torch.float32,
    torch.int32: torch.int32,
    torch.int16: torch.int32,
    torch.int8: torch.int32,
    torch.uint8: torch.int32,
    torch.bool: torch.int32,
}


def _stored(tensor):
    """What a checkpoint holds of a tensor, and whether these are the words of its memory, since the
    engine has no type that holds each of its values, or no tensor without elements."""
    kept = _HELD.get(tensor.dtype)
    if tensor.numel() and tensor.dtype in (torch.int64, torch.float64):
        narrow = tensor.to(torch.int32 if tensor.dtype == torch.int64 else torch.float32)
        wide = narrow.to(tensor.dtype)
        if torch.equal(_bytes_of(wide), _bytes_of(tensor)):
            return narrow.contiguous(), False
    if kept is not None and tensor.numel():
        return tensor.to(kept).contiguous(), False
    content = _bytes_of(tensor)
    words = torch.zeros((content.numel() + 3) // 4 * 4, dtype=torch.uint8)
    words[: content.numel()] = content
    return words.view(torch.int32), True


def _bytes_of(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def _by_storage(session):
    return {
        (s.tensor.data_ptr(), tuple(s.tensor.shape)): s
        for s in session.states
        if s.tensor.numel() > 0
    }


def save(obj, checkpoint_file, **_):
    """Writes a nested dictionary as a checkpoint of the engine, atomically.

    Values are tensors, numbers, texts, None, lists and dictionaries; states of the run have their
    value at this moment. During an execution it works on checkpoint steps alone (in a
    @cstorch.checkpoint_closure). The program's own `csengine` reads the file, too.
    """
    if not isinstance(obj, dict):
        raise TypeError(f"save() takes a dictionary, not {type(obj).__name__}")
    session = session_module.current
    execution = session.execution
    if execution is not None and execution.loop is not None and not execution.at_checkpoint:
        every = execution.checkpoint_steps
        what = (
            f"the next checkpoint step is {execution.step + every - execution.step % every}: "
            f"save when the number of steps done, from 1, is divisible by {every} (an index "
            "that counts from 0 is one less), or in a @cstorch.checkpoint_closure"
            if every
            else "set checkpoint_steps"
        )
        raise RuntimeError(
            f"save() after step {execution.step}, which is no checkpoint step, so "
            f"that the weights of that moment cannot be read; {what}"
        )
    tree = lib.cse_tree_new()
    try:
        structure = [[k, _put(tree, _key(k), v)] for k, v in obj.items()]
        lib.cse_tree_set_text(tree, STRUCTURE.encode(), json.dumps(structure).encode())
        session.open()
        check(lib.cse_save_tree(tree, os.fspath(checkpoint_file).encode()))
    finally:
        holder = ffi.new("cse_tree **", tree)
        lib.cse_tree_destroy(holder)


class _Reader:
    """Rebuilds what save() described, of a csengine.Checkpoint."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self.entries = Checkpoint(path)

    def close(self):
        self.entries.close()

    def value(self, key):
        found = self.entries[key]
        return torch.from_numpy(found) if isinstance(found, numpy.ndarray) else found

    def build(self, described, key):
        if described is None:
            return None
        if described == "plain":
            return self.value(key)
        if described == "bool":
            return bool(self.value(key))
        if "part" in described:
            return Part(described["part"], self.path, key)
        if "dict" in described:
            return {k: self.build(d, f"{key}.{k}") for k, d in described["dict"]}
        if "list" in described or "tuple" in described:
            values = [
                self.build(d, f"{key}.{i}")
                for i, d in enumerate(described.get("list", described.get("tuple")))
            ]
            return tuple(values) if "tuple" in described else values
        dtype = getattr(torch, described["dtype"])
        if "words_of" not in described:
            return self.value(key).to(dtype)
        shape = described["words_of"]
        size = math.prod(shape) * dtype.itemsize
        if size == 0:
            return torch.empty(shape, dtype=dtype)
        return self.value(key).view(torch.uint8)[:size].clone().view(dtype).reshape(shape)

    def plain(self):
        """A checkpoint of the engine's own: model, parts, numbers."""
        result = {}
        for key in self.entries:
            top, _, rest = key.partition(".")
            if top == "model" and rest:
                result.setdefault("model", {})[rest] = self.value(key)
            elif top in PARTS and rest:
                result.setdefault(top, Part(top, self.path, top))
            else:
                result[key] = self.value(key)
        return result


def load(checkpoint_file, map_location=None, **_):
    """The values of a checkpoint that save() or the engine wrote, as nested dictionaries."""
    reader = _Reader(checkpoint_file)
    try:
        if STRUCTURE not in reader.entries:
            return reader.plain()
        return {k: reader.build(d, str(k)) for k, d in json.loads(reader.value(STRUCTURE))}
    finally:
        reader.close()
