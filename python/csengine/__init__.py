"""csengine: runs of the training engine from Python, without PyTorch.

    import csengine

    run = csengine.run("config.yaml", num_csx=2, num_steps=100)
    for point in run.metrics("loss"):          # live, to the end of the run
        print(point.step, point.value)
    print(run.state, run.checkpoints()[-1].path)

    with csengine.Checkpoint(run.checkpoints()[-1].path) as checkpoint:
        weight = checkpoint["model.fc_layers.0.weight"]     # a numpy array, read now

`csengine.Client` speaks to a server (`csengine serve`). `cstorch` is the PyTorch front end.
"""

from csengine.client import Client, ClientError, Job
from csengine.moments import Moment
from csengine.program import CommandError, call, compare, run
from csengine.runs import CheckpointFile, Point, Run

__all__ = [
    "Checkpoint",
    "CheckpointFile",
    "Client",
    "ClientError",
    "CommandError",
    "CsengineError",
    "Job",
    "Moment",
    "Point",
    "Run",
    "call",
    "compare",
    "run",
]
__version__ = "0.1.0"


def open(model_dir):  # not in __all__: `import *` keeps Python's own
    """The run in a folder, over or not, as a csengine.Run."""
    return Run(model_dir)


def __getattr__(name):
    # What needs the client library is loaded when it is used.
    if name == "Checkpoint":
        from csengine.checkpoints import Checkpoint

        return Checkpoint
    if name == "CsengineError":
        from csengine.library import CsengineError

        return CsengineError
    raise AttributeError(f"module 'csengine' has no attribute {name!r}")
