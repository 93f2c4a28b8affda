"""A whole training: the calls of the document's full example, in their order, in a program of our
own. What the document leaves open is filled in; its slips are mended: the step is given the batch,
and passes are counted from 1, as checkpoint steps are.

    training.py MODEL_DIR [CHECKPOINT]
"""

import sys

import torch
from digits import Network, dataloader_fn

import cstorch

model_dir, checkpoint_path = (*sys.argv[1:], None)[:2]

# Before the model is made
checkpoint_steps = 100
cstorch.configure(
    checkpoint_steps=checkpoint_steps,
    mgmt_address="cluster-server:443",
    model_dir=model_dir,
)

torch.manual_seed(1)
model: torch.nn.Module = Network()
compiled_model = cstorch.compile(model, backend="wse_ws")

loss_fn: torch.nn.Module = torch.nn.CrossEntropyLoss()

optimizer: cstorch.optim.Optimizer = cstorch.optim.configure_optimizer(
    optimizer_type="SGD", params=model.parameters(), lr=0.1, momentum=0.5
)
lr_scheduler: cstorch.optim.lr_scheduler.LRScheduler = cstorch.optim.configure_lr_scheduler(
    optimizer,
    learning_rate={
        "scheduler": "LinearLR",
        "initial_learning_rate": 0.1,
        "end_learning_rate": 0.02,
        "total_iters": 300,
    },
)

loss_scale = "dynamic"
grad_scaler = None
if loss_scale != 0.0:
    grad_scaler = cstorch.amp.GradScaler(loss_scale=loss_scale)


@cstorch.step_closure
def save_checkpoint(step):
    checkpoint_file = f"{model_dir}/checkpoint_{step}.mdl"

    state_dict = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    if lr_scheduler:
        state_dict["lr_scheduler"] = lr_scheduler.state_dict()
    if grad_scaler:
        state_dict["grad_scaler"] = grad_scaler.state_dict()

    state_dict["global_step"] = step

    cstorch.save(state_dict, checkpoint_file)


global_step = 0

if checkpoint_path is not None:
    state_dict = cstorch.load(checkpoint_path)

    model.load_state_dict(state_dict["model"])
    optimizer.load_state_dict(state_dict["optimizer"])
    if lr_scheduler:
        lr_scheduler.load_state_dict(state_dict["lr_scheduler"])
    if grad_scaler:
        grad_scaler.load_state_dict(state_dict["grad_scaler"])

    global_step = state_dict.get("global_step", 0)

dataloader = cstorch.utils.data.DataLoader(
    dataloader_fn, "train", num_steps=300 - global_step, batch_size=40
)


@cstorch.compile_step
def training_step(batch):
    inputs, targets = batch
    outputs = compiled_model(inputs)
    loss = loss_fn(outputs, targets)

    cstorch.amp.optimizer_step(loss, optimizer, grad_scaler, max_gradient_norm=1.0)

    return loss


@cstorch.step_closure
def post_training_step(loss: torch.Tensor):
    print("Loss: ", loss.item())


for i, batch in enumerate(dataloader, start=global_step + 1):
    loss = training_step(batch)

    post_training_step(loss)

    if i % checkpoint_steps == 0:
        save_checkpoint(i)
