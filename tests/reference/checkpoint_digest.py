"""Digests of the tensors of tests/engine/formats/checkpoint/fixture.h, by the definition in
engine/formats/checkpoint/digest.h and Python's own BLAKE2b; check_checkpoint.c holds what this prints."""
import hashlib
import struct

floats = struct.pack("<6I", 0x3F800000, 0x80000000, 0x7F800000, 0x7FC12345, 1, 0xFF7FFFFF)
halves = struct.pack("<3H", 0x3F80, 0x7FC1, 0x8001)
integers = struct.pack("<4i", 0, -1, 2**31 - 1, -(2**31))
tensors = {
    "model.fc_layers.0.weight": ("float32", [2, 3], floats),
    "model.fc_layers.0.bias": ("bfloat16", [3], halves),
    "model.half": ("float16", [3, 1], halves),
    "model.compact": ("cbfloat16", [3], halves),
    "counts with a space": ("int32", [2, 2], integers),
    "flags": ("bool", [2], bytes([1, 0])),
    "optimizer.scale": ("float32", [], struct.pack("<f", 0.125)),
    "empty": ("float32", [0, 5], b""),
}


def blake2b(data):
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def of_tensor(name):
    dtype, shape, raw = tensors[name]
    return blake2b(f"{name}\n{dtype}\n{shape}\n".encode() + raw)


def digest(prefix):
    return blake2b("".join(of_tensor(n) for n in sorted(tensors) if n.startswith(prefix)).encode())


for prefix in ("", "model.", "none."):
    print(f"{prefix!r:10} {digest(prefix)}")
