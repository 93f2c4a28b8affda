"""What the engine's optimizers have in common with torch.optim's of the same name."""

import inspect

import torch

# Settings that both have.
SHARED = {
    torch.optim.Adadelta: "lr rho eps weight_decay maximize",
    torch.optim.Adagrad: "lr lr_decay weight_decay initial_accumulator_value eps maximize",
    torch.optim.Adam: "lr betas eps weight_decay amsgrad maximize decoupled_weight_decay",
    torch.optim.AdamW: "lr betas eps weight_decay amsgrad maximize",
    torch.optim.Adamax: "lr betas eps weight_decay maximize",
    torch.optim.ASGD: "lr lambd alpha t0 weight_decay maximize",
    torch.optim.NAdam: "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize",
    torch.optim.RAdam: "lr betas eps weight_decay decoupled_weight_decay maximize",
    torch.optim.RMSprop: "lr alpha eps weight_decay momentum centered maximize",
    torch.optim.Rprop: "lr etas step_sizes maximize",
    torch.optim.SGD: "lr momentum dampening weight_decay nesterov maximize",
}
# What makes the engine's rule PyTorch's.
RULE = {
    torch.optim.Adam: {"eps_added_to": "corrected"},
    torch.optim.AdamW: {"eps_added_to": "corrected"},
    torch.optim.SGD: {"dampen_first_step": False},
}


def defaults(name):
    """What the settings of an optimizer are where a program gives none: torch's for its class of
    this name, and the engine's own for those that torch has not."""
    kind = next((k for k in SHARED if k.__name__ == name), None)
    if kind is None:
        return {}
    parameters = inspect.signature(kind).parameters
    given = {n: parameters[n].default for n in SHARED[kind].split()}
    return {**given, **RULE.get(kind, {})}
