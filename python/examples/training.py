"""Training with the whole API: model, optimizer, schedule, gradient scaler, checkpoints, closures.

    python training.py [--num_steps 200] [--num_csx 2] [--checkpoint_path FILE]

Trains the network of fashion_mnist.py.
"""

import argparse
import torch
from fashion_mnist import Network, dataloader_fn

import cstorch

parser = argparse.ArgumentParser()
parser.add_argument("--data_dir", default="/usr/share/datasets/fashion-mnist")
parser.add_argument("--model_dir", default="model_dir/training_py")
parser.add_argument("--checkpoint_path")
parser.add_argument("--num_steps", type=int, default=200)
parser.add_argument("--num_csx", type=int, default=2)
parser.add_argument("--loss_scale", default="dynamic")
options = parser.parse_args()

checkpoint_steps = 100
cstorch.configure(
    model_dir=options.model_dir,
    checkpoint_steps=checkpoint_steps,
    num_csx=options.num_csx,
    num_workers_per_csx=1,
    job_labels=["example=training"],
    seed=1,
)

torch.manual_seed(1)


model: torch.nn.Module = Network()
compiled_model = cstorch.compile(model, backend="wse_ws")

loss_fn: torch.nn.Module = torch.nn.CrossEntropyLoss()

optimizer: cstorch.optim.Optimizer = cstorch.optim.configure_optimizer(
    optimizer_type="SGD", params=model.parameters(), lr=0.1, momentum=0.9
)
lr_scheduler: cstorch.optim.lr_scheduler.LRScheduler = cstorch.optim.configure_lr_scheduler(
    optimizer,
    learning_rate=[
        {
            "scheduler": "LinearLR",
            "initial_learning_rate": 0.01,
            "end_learning_rate": 0.1,
            "total_iters": 50,
        },
        {
            "scheduler": "CosineDecayLR",
            "initial_learning_rate": 0.1,
            "end_learning_rate": 0.001,
            "total_iters": 1000,
        },
    ],
)

loss_scale = options.loss_scale if options.loss_scale == "dynamic" else float(options.loss_scale)
grad_scaler = None
if loss_scale != 0.0:
    grad_scaler = cstorch.amp.GradScaler(loss_scale=loss_scale)


@cstorch.step_closure
def save_checkpoint(step):
    checkpoint_file = f"{options.model_dir}/checkpoint_{step}.mdl"

    state_dict = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    if lr_scheduler:
        state_dict["lr_scheduler"] = lr_scheduler.state_dict()
    if grad_scaler:
        state_dict["grad_scaler"] = grad_scaler.state_dict()

    state_dict["global_step"] = step

    cstorch.save(state_dict, checkpoint_file)
    print(f"saved {checkpoint_file}")


global_step = 0

# Load checkpoint if provided
if options.checkpoint_path is not None:
    state_dict = cstorch.load(options.checkpoint_path)

    model.load_state_dict(state_dict["model"])
    optimizer.load_state_dict(state_dict["optimizer"])
    if lr_scheduler:
        lr_scheduler.load_state_dict(state_dict["lr_scheduler"])
    if grad_scaler:
        grad_scaler.load_state_dict(state_dict["grad_scaler"])

    global_step = state_dict.get("global_step", 0)

dataloader = cstorch.utils.data.DataLoader(
    dataloader_fn,
    options.data_dir,
    "train",
    batch_size=500,
    shuffle=True,
    num_steps=options.num_steps,
    micro_batch_size=125,
)


@cstorch.compile_step
def training_step(batch):
    inputs, targets = batch
    outputs = compiled_model(inputs)
    loss = loss_fn(outputs, targets)

    cstorch.amp.optimizer_step(loss, optimizer, grad_scaler, max_gradient_norm=1.0)

    return loss


@cstorch.step_closure
def post_training_step(step, loss: torch.Tensor):
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.6f}")


for i, batch in enumerate(dataloader, start=global_step + 1):
    loss = training_step(batch)

    post_training_step(i, loss)

    # Can only save checkpoint on predetermined steps
    if i % checkpoint_steps == 0:
        save_checkpoint(i)
