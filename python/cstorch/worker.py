"""An input worker's program: answers the engine's requests for samples from a Python data set.

    python -m cstorch.worker FILE.pickle

Most are forked of a process that has imported PyTorch already (begin_worker, worker_parent).
A request is a line of JSON with numbers of samples and their epochs, an answer is safetensors, as
docs/data.md describes for the input function `command`.
"""

import json
import mmap
import os
import pickle
import struct
import sys
import traceback

_TYPES = {"float32": "F32", "int32": "I32", "int64": "I64"}


def converted(name, tensor):
    """The values of an input in a type that the engine reads, each of them exact but for the
    rounding of float64."""
    import torch

    if tensor.dtype.is_floating_point:
        kept = tensor.to(torch.float32)
        if tensor.dtype == torch.float64 and not torch.equal(kept.isinf(), tensor.isinf()):
            raise ValueError(
                f"input {name} has {tensor[kept.isinf() & ~tensor.isinf()][0].item()}, which is "
                "beyond float32: scale it"
            )
        return kept
    if tensor.dtype in (torch.int32, torch.int64):
        return tensor  # the engine refuses what is beyond 32 bits
    if tensor.dtype in (torch.bool, torch.int8, torch.int16, torch.uint8):
        return tensor.to(torch.int32)
    raise ValueError(
        f"input {name} is {str(tensor.dtype).removeprefix('torch.')}; accepted: floating-point "
        "types, bool, uint8, int8, int16, int32, int64"
    )


def answer(source, request):
    """The bytes that answer a request."""
    values = source.read(request["samples"], request["epochs"])
    header = {"__metadata__": {"sample_count": str(source.samples())}}
    body = []
    offset = 0
    for name, tensor in values:
        array = converted(name, tensor).contiguous().numpy()
        header[name] = {
            "dtype": _TYPES[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
        body.append(array)
    head = json.dumps(header).encode()
    return [struct.pack("<Q", len(head)), head, *body]


class Answers:
    """Where answers go: into the memory that the engine has given for them, where it has."""

    _IN_MEMORY = 1 << 63

    def __init__(self):
        self.socket = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)  # what the data set prints is no answer
        self.file = int(os.environ.pop("CSENGINE_ANSWER_MEMORY", "-1"))
        if self.file >= 0:
            os.set_inheritable(self.file, False)
        self.memory = None

    def write(self, parts):
        """Writes the bytes of an answer."""
        parts = [memoryview(part).cast("B") for part in parts if len(part)]
        size = sum(len(part) for part in parts)
        if self.file < 0:
            self._send(struct.pack("<Q", size))
            for part in parts:
                self._send(part)
            return
        if self.memory is None or len(self.memory) < size:
            self.memory = None
            os.ftruncate(self.file, -size % mmap.PAGESIZE + size)
            self.memory = mmap.mmap(self.file, 0)
        at = 0
        for part in parts:
            self.memory[at : at + len(part)] = part
            at += len(part)
        self._send(struct.pack("<Q", size | self._IN_MEMORY))

    def _send(self, part):
        view = memoryview(part)
        while len(view):
            view = view[self.socket.write(view) :]


def main():
    requests = sys.stdin.buffer
    answers = Answers()
    with open(sys.argv[1], "rb") as file:
        # The module path first: what follows imports the modules of the input function.
        sys.path[:], answers_imports = pickle.load(file)
        content = file.read()
    import torch

    torch.set_num_threads(1)
    if answers_imports:
        import cstorch.as_cerebras  # noqa: F401
    from cstorch import distributed
    from cstorch.utils.data.source import SampleSource

    distributed._worker = (0, 1)
    input_fn, args, kwargs, seed = pickle.loads(content)
    source = SampleSource(input_fn, args, kwargs, seed)
    for line in requests:
        answers.write(answer(source, json.loads(line)))
    return 0


def run():
    """Answers requests until there are no more; the exit code of the process."""
    try:
        return main()
    except KeyboardInterrupt:
        return 130
    except Exception:
        traceback.print_exc()
        return 65


if __name__ == "__main__":
    sys.exit(run())
