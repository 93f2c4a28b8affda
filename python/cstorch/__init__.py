"""cstorch: PyTorch models and training loops on csengine.

    import torch
    import cstorch

    backend = cstorch.backend("CSX")
    model = cstorch.compile(torch.nn.Linear(16, 4), backend)
    optimizer = cstorch.optim.SGD(model.parameters(), lr=0.1)
    dataloader = cstorch.utils.data.DataLoader(input_fn, 64)

    @cstorch.trace
    def training_step(batch):
        inputs, targets = batch
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    @cstorch.step_closure
    def print_loss(loss):
        print(loss.item())

    for batch in cstorch.utils.data.DataExecutor(dataloader, num_steps=100):
        print_loss(training_step(batch))

Each step is traced once into the engine's graph and runs in the engine's processes; what is written
outside of the decorated function is ordinary Python.
"""

from csengine.library import CsengineError
from cstorch import amp, backends, distributed, metrics, near, nn, optim, sparse, utils
from cstorch.checkpoint import load, save
from cstorch.execution import checkpoint_closure, compile_step, step_closure, trace
from cstorch.messages import TraceError, UnsupportedError
from cstorch.numbers import batch_mean, batch_sum, from_numpy, make_constant, to_numpy
from cstorch.pol import current_pol, disable_graphamp, pol
from cstorch.setup import (
    backend,
    compile,
    configure,
    current_executor,
    current_torch_device,
    finish,
    global_step,
    name_scope,
    ops,
    set_global_step,
    use_cs,
)

__all__ = [
    "CsengineError",
    "TraceError",
    "UnsupportedError",
    "amp",
    "backend",
    "backends",
    "batch_mean",
    "batch_sum",
    "checkpoint_closure",
    "compile",
    "compile_step",
    "configure",
    "current_executor",
    "current_pol",
    "current_torch_device",
    "disable_graphamp",
    "distributed",
    "finish",
    "from_numpy",
    "global_step",
    "load",
    "make_constant",
    "metrics",
    "name_scope",
    "nn",
    "ops",
    "optim",
    "pol",
    "save",
    "set_global_step",
    "sparse",
    "step_closure",
    "to_numpy",
    "trace",
    "use_cs",
    "utils",
]


__getattr__ = near.of_module(__name__, globals())
