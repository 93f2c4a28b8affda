#!/bin/sh
# Python's h5py opens a checkpoint and shows the PyTorch names, shapes, types and values; the
# digests can be recomputed from what it shows. Skipped where h5py is not installed (PYTHON names
# another interpreter).
set -eu
# The first python3 in PATH may not be Debian's, which python3-h5py belongs to.
python=
for choice in ${PYTHON:-} python3 /usr/bin/python3; do
    if "$choice" -c 'import h5py, numpy' 2>/dev/null; then
        python=$choice
        break
    fi
done
[ -n "$python" ] || { echo "h5py is not there: skipped"; exit 77; }
writer=$top_builddir/tests/engine/formats/checkpoint/check_checkpoint_writer
[ -x "$writer" ] || { echo "$writer is not built (Check is missing): skipped"; exit 77; }
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$writer" "$directory/checkpoint_1.mdl"
"$python" - "$directory/checkpoint_1.mdl" <<'PYTHON'
import hashlib
import sys

import h5py
import numpy

with h5py.File(sys.argv[1], "r") as file:
    assert sorted(file) == sorted([
        "model.fc_layers.0.weight", "model.fc_layers.0.bias", "model.half", "model.compact",
        "counts with a space", "flags", "optimizer.scale", "empty"]), list(file)
    weight = file["model.fc_layers.0.weight"]
    assert weight.shape == (2, 3) and weight.dtype == numpy.float32
    assert weight[...].view(numpy.uint32).ravel().tolist() == [
        0x3F800000, 0x80000000, 0x7F800000, 0x7FC12345, 1, 0xFF7FFFFF]
    # bfloat16 0x3f80 is 1; 0x3f80 as 1-6-9 with bias 31 is 2**0 * (1 + 0x180/512) = 1.75.
    assert file["model.fc_layers.0.bias"][0] == 1.0
    assert file["model.compact"][0] == 1.75
    assert file["model.half"].dtype == numpy.float16
    assert file["counts with a space"][...].tolist() == [[0, -1], [2**31 - 1, -(2**31)]]
    assert file["flags"].dtype == bool and file["flags"][...].tolist() == [True, False]
    assert file["optimizer.scale"][()] == 0.125 and file["optimizer.scale"].shape == ()
    assert file["empty"].shape == (0, 5)
    assert file.attrs["global_step"] == 1234567890123 and file.attrs["seed"] == 2**64 - 1
    assert file.attrs["samples_seen"] == 42 and file.attrs["model_name"] == b"fc_mnist"
    for name in ("model.fc_layers.0.weight", "counts with a space", "optimizer.scale", "empty"):
        data = file[name]
        text = f"{name}\n{data.attrs['dtype'].decode()}\n{list(data.shape)}\n".encode()
        digest = hashlib.blake2b(text + data[...].tobytes(), digest_size=32).hexdigest()
        assert digest.encode() == data.attrs["blake2b"], name
print("h5py", h5py.__version__, "reads it")
PYTHON
