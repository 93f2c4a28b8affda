"""What a trainer is made of, from objects or from functions that make them."""

import torch

import cstorch
from cstorch import session as session_module
from cstorch.optim.scheduler import Scheduler
from cstorch.setup import Backend
from cstorch.trainer.callbacks import Callback

DEVICES = ("CSX", "CPU", "GPU")


def backend(given, device, model_dir):
    """The backend: given, or made for a device, or the one that the program made before."""
    if given is not None and device is not None:
        raise ValueError("Trainer() takes device or backend, not both")
    if given is not None and not isinstance(given, Backend):
        raise TypeError(f"Trainer(): backend is {given!r}; accepted: what cstorch.backend() gives")
    if device is not None and (not isinstance(device, str) or device.upper() not in DEVICES):
        raise ValueError(f"Trainer(): device is {device!r}; accepted: {', '.join(DEVICES)}")
    session = session_module.current
    if "model_dir" not in session.settings:
        cstorch.configure(model_dir=str(model_dir))
    if given is None and device is None:
        given = session.backend
    return given if given is not None else cstorch.backend(device or "CSX")


def model(given):
    """The module: given, or what a function without arguments makes."""
    made = given() if callable(given) and not isinstance(given, torch.nn.Module) else given
    if not isinstance(made, torch.nn.Module):
        raise TypeError(
            f"Trainer(): model is {made!r}; accepted: a torch.nn.Module, or a function without "
            "arguments that makes one"
        )
    return made


def optimizer(given, module):
    """The optimizer: given, or what a function of the model makes; None: validation alone."""
    if given is None or isinstance(given, cstorch.optim.Optimizer):
        return given
    is_torchs = isinstance(given, torch.optim.Optimizer)
    made = given(module) if callable(given) and not is_torchs else given
    if not isinstance(made, cstorch.optim.Optimizer):
        raise TypeError(
            f"Trainer(): optimizer is {type(made).__name__}; accepted: one of cstorch.optim "
            "(cstorch.optim.convert makes it of torch's), or a function of the model that makes it"
        )
    return made


def schedulers(given, made_optimizer):
    """The schedules, each given or what a function of the optimizer makes."""
    if given is None:
        return []
    found = []
    for one in given if isinstance(given, (list, tuple)) else [given]:
        made = one if isinstance(one, Scheduler) or not callable(one) else one(made_optimizer)
        if not isinstance(made, Scheduler):
            raise TypeError(
                f"Trainer(): a scheduler is {made!r}; accepted: one of cstorch.optim.lr_scheduler "
                "or weight_decay_scheduler, or a function of the optimizer that makes it"
            )
        found.append(made)
    return found


def sparsity(given, made_optimizer):
    """Applies an algorithm of sparsity, given or made by a function."""
    if given is None:
        return None
    made = given() if callable(given) and not hasattr(given, "apply") else given
    if not isinstance(made, cstorch.sparse.SparsityAlgorithm):
        raise TypeError(
            f"Trainer(): sparsity is {made!r}; accepted: what cstorch.sparse.configure() gives"
        )
    if made_optimizer is not None:
        made.apply(made_optimizer)
    return made


def of_kind(name, given, kind, default):
    """An argument of a kind of callback."""
    if given is None:
        return default
    if not isinstance(given, kind):
        raise TypeError(
            f"Trainer(): {name} is {given!r}; accepted: "
            f"a cstorch.trainer.callbacks.{kind.__name__}"
        )
    return given


def listed(name, given, kind, refused=()):
    """A list of callbacks of a kind."""
    given = [] if given is None else list(given)
    for one in given:
        if isinstance(one, type) and issubclass(one, kind):
            raise TypeError(f"Trainer(): {name} has the class {one.__name__}: make an object of it")
        if not isinstance(one, kind) or (refused and isinstance(one, refused)):
            what = "Logger" if kind is not Callback else "Callback"
            raise TypeError(
                f"Trainer(): {name} has {one!r}; accepted: objects of {what}, and not the "
                "trainer's own parts, which are its other arguments"
            )
    return given


def outputs_of(found):
    """What a model returned as a dictionary with the key "loss"."""
    if isinstance(found, torch.Tensor):
        return {"loss": found}
    if isinstance(found, (tuple, list)) and found and isinstance(found[0], torch.Tensor):
        return {"loss": found[0], "outputs": tuple(found[1:])}
    if isinstance(found, dict) and "loss" in found:
        return dict(found)
    raise TypeError(
        f"the trainer's model returned {type(found).__name__}; accepted: its loss, a tuple that "
        'begins with it, or a dictionary with the key "loss"'
    )
