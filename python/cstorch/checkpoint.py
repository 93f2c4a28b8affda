"""save and load: nested values of Python in the engine's checkpoints, and torch's own files."""

import json
import math
import os

import torch

from csengine.checkpoints import Checkpoint
from csengine.library import check, ffi, lib
from cstorch import session as session_module
from cstorch.part import SavedPart
from cstorch.saved_tensor import SavedTensor
from cstorch.structure import Reader, Writer

STRUCTURE = "cstorch_structure"
# Arguments of torch.save and torch.load that choose how a pickle is written or read.
_OF_PICKLES = {
    "pickle_module",
    "pickle_protocol",
    "_use_new_zipfile_serialization",
    "_disable_byteorder_record",
}


def save(obj, checkpoint_file, **settings):
    """Writes nested values as a checkpoint of the engine, atomically, as torch.save does.

    Values are tensors of any type, numbers, texts, bytes, None, lists, tuples and dictionaries;
    states of the run have their value at this moment. During an execution it works on checkpoint
    steps alone (in a @cstorch.checkpoint_closure). `csengine` itself reads the file, too. Settings
    of torch.save about pickles have no effect.
    """
    unknown = sorted(set(settings) - _OF_PICKLES)
    if unknown:
        raise TypeError(f"save() has no argument {unknown[0]!r}; accepted: obj, checkpoint_file")
    session = session_module.current
    _refuse_between_checkpoints(session.execution)
    session.open()
    if session.execution is None or session.execution.loop is None:
        session.write_states()
    tree = lib.cse_tree_new()
    try:
        writer = Writer()
        if type(obj) is dict:
            structure = writer.entries(tree, "", obj)
        else:
            structure = {"value": writer.entries(tree, "", {"value": obj})}
        lib.cse_tree_set_text(tree, STRUCTURE.encode(), json.dumps(structure).encode())
        check(lib.cse_save_tree(tree, os.fspath(checkpoint_file).encode()))
    finally:
        holder = ffi.new("cse_tree **", tree)
        lib.cse_tree_destroy(holder)


def _refuse_between_checkpoints(execution):
    if execution is None or execution.loop is None or execution.at_checkpoint:
        return
    every = execution.checkpoint_steps
    what = (
        f"the next checkpoint step is {execution.step + every - execution.step % every}: "
        f"save when the number of steps done, from 1, is divisible by {every}; of an index i that "
        f"counts from 0: `if (i + 1) % {every} == 0:`. Or save in a @cstorch.checkpoint_closure, "
        "which is called at these steps alone"
        if every
        else "set checkpoint_steps"
    )
    raise RuntimeError(
        f"save() after step {execution.step}, which is no checkpoint step, so "
        f"that the weights of that moment cannot be read; {what}"
    )


def load(checkpoint_file, map_location=None, **settings):
    """What save() or torch.save wrote, as nested values; of the engine's own checkpoints, nested
    dictionaries. Files of safetensors are a dictionary of tensors.

    Tensors of the engine's checkpoints are read when they are needed; with a map_location, at once.
    """
    with open(checkpoint_file, "rb") as file:
        begin = file.read(9)
    if begin[:2] == b"PK" or begin[:1] == b"\x80":
        return torch.load(checkpoint_file, map_location=map_location, **settings)
    unknown = sorted(set(settings) - {"mmap", "weights_only", "pickle_module"})
    if unknown:
        raise TypeError(
            f"load() has no argument {unknown[0]!r}; accepted: checkpoint_file, map_location"
        )
    if begin[8:9] == b"{":
        return _from_safetensors(checkpoint_file)
    found = _from_checkpoint(checkpoint_file)
    return found if map_location is None else _at(found, map_location)


def _from_checkpoint(path):
    reader = Reader(Checkpoint(path))
    if STRUCTURE not in reader.entries:
        return reader.plain()
    structure = json.loads(reader.entries[STRUCTURE])
    if isinstance(structure, dict):
        return reader.dictionary(structure["value"], "")["value"]
    return reader.dictionary(structure, "")


def _at(value, location):
    """The value with its tensors in memory, at a device."""
    if isinstance(value, SavedTensor):
        return value.clone().to(location if isinstance(location, (str, torch.device)) else "cpu")
    if isinstance(value, dict):
        found = type(value)((k, _at(v, location)) for k, v in value.items())
        if isinstance(value, SavedPart):
            found.global_step = value.global_step
        return found
    if type(value) in (list, tuple):
        return type(value)(_at(v, location) for v in value)
    return value


# https://huggingface.co/docs/safetensors: a size, a header of JSON, elements.
_SAFETENSORS = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
}


def _from_safetensors(path):
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size - 8:
            raise ValueError(f"{path}: its header of {length} bytes does not fit into the file")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    content = torch.from_file(os.fspath(path), size=size, dtype=torch.uint8)[8 + length :]
    return {name: _safetensor(path, name, one, content) for name, one in header.items()}


def _safetensor(path, name, one, content):
    dtype = _SAFETENSORS.get(one["dtype"])
    first, end = one["data_offsets"]
    if dtype is None:
        raise ValueError(
            f"{path}: {name} has the type {one['dtype']}; accepted: {', '.join(_SAFETENSORS)}"
        )
    if not 0 <= first <= end <= content.numel():
        raise ValueError(f"{path}: {name} lies outside of the file")
    shape = one["shape"]
    if math.prod(shape) * dtype.itemsize != end - first:
        raise ValueError(f"{path}: {name} of shape {shape} has not {end - first} bytes")
    return SavedTensor(shape, dtype, lambda: content[first:end].clone().view(dtype).reshape(shape))
