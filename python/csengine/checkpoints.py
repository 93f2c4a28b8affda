"""Checkpoints as mappings of numpy arrays, each read when it is asked for."""

import collections.abc
import os

import numpy

from csengine.library import check, ffi, lib

_TYPES = {
    lib.CSE_FLOAT32: numpy.float32,
    lib.CSE_INT32: numpy.int32,
    lib.CSE_FLOAT16: numpy.float16,
    lib.CSE_BOOL: numpy.bool_,
}


class Checkpoint(collections.abc.Mapping):
    """A checkpoint that the engine, cse_save_tree or cstorch.save wrote.

    Keys are the names of tensors and values ("model.fc1.weight", "global_step"). A tensor is read
    and verified by its digest when it is asked for. bfloat16 and cbfloat16 come as uint16 of their
    bits.
    """

    def __init__(self, path):
        self._saved = ffi.new("cse_saved **")
        check(lib.cse_saved_open(os.fspath(path).encode(), self._saved))
        self.path = os.fspath(path)
        self._entries = {}
        for index in range(lib.cse_saved_count(self._saved[0])):
            entry = lib.cse_saved_at(self._saved[0], index)
            self._entries[ffi.string(entry.key).decode()] = (
                entry.kind,
                tuple(entry.shape.dims[i] for i in range(entry.shape.rank)),
                entry.dtype,
            )
        # It is in every checkpoint, and not listed.
        self._entries.setdefault("global_step", (lib.CSE_SAVED_INTEGER, (), lib.CSE_INT32))

    def close(self):
        if self._saved[0] != ffi.NULL:
            lib.cse_saved_close(self._saved)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_saved", None) is not None:
            self.close()

    def __iter__(self):
        return iter(self._entries)

    def __len__(self):
        return len(self._entries)

    def shape(self, key):
        """The shape of a tensor, without reading it."""
        return self._entries[key][1]

    def is_tensor(self, key):
        """Whether a key is that of a tensor, and not of a number or a text."""
        return self._entries[key][0] == lib.CSE_SAVED_TENSOR

    def form(self, key):
        """Shape and type of a tensor as an array, without reading it."""
        _, shape, dtype = self._entries[key]
        return shape, _TYPES.get(dtype, numpy.uint16)

    def __getitem__(self, key):
        if self._saved[0] == ffi.NULL:
            raise ValueError(f"{self.path} is closed")
        kind, shape, dtype = self._entries[key]
        name = key.encode()
        if kind == lib.CSE_SAVED_TENSOR:
            values = numpy.empty(shape, dtype=_TYPES.get(dtype, numpy.uint16))
            if values.size:
                check(
                    lib.cse_saved_read(
                        self._saved[0],
                        name,
                        0,
                        values.size,
                        ffi.from_buffer(values.reshape(-1).view(numpy.uint8)),
                    )
                )
            return values
        call, kept = {
            lib.CSE_SAVED_INTEGER: (lib.cse_saved_integer, "int64_t *"),
            lib.CSE_SAVED_NUMBER: (lib.cse_saved_number, "double *"),
            lib.CSE_SAVED_TEXT: (lib.cse_saved_text, "char **"),
        }[kind]
        found = ffi.new(kept)
        check(call(self._saved[0], name, found))
        return ffi.string(found[0]).decode() if kind == lib.CSE_SAVED_TEXT else found[0]

    def __repr__(self):
        return f"csengine.Checkpoint({self.path!r}, {len(self)} entries)"
