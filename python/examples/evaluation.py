"""Evaluation of a checkpoint with a metric.

python evaluation.py CHECKPOINT
"""

import argparse
import torch
from fashion_mnist import Network, dataloader_fn

import cstorch
import cstorch.metrics as metrics

parser = argparse.ArgumentParser()
parser.add_argument("checkpoint")
parser.add_argument("--data_dir", default="/usr/share/datasets/fashion-mnist")
parser.add_argument("--model_dir", default="model_dir/evaluation_py")
options = parser.parse_args()

cstorch.configure(model_dir=options.model_dir)


model: torch.nn.Module = Network()
compiled_model = cstorch.compile(model, backend="wse_ws")
compiled_model.eval()

loss_fn: torch.nn.Module = torch.nn.CrossEntropyLoss()

accuracy = metrics.AccuracyMetric("accuracy", compute_on_system=True)

state_dict = cstorch.load(options.checkpoint)
model.load_state_dict(state_dict["model"])

dataloader = cstorch.utils.data.DataLoader(
    dataloader_fn, options.data_dir, "t10k", batch_size=500, num_steps=20
)


@cstorch.compile_step
def evaluation_step(batch):
    inputs, targets = batch
    outputs = compiled_model(inputs)
    loss = loss_fn(outputs, targets)

    accuracy(labels=targets.clone(), predictions=outputs.argmax(-1).int())

    return loss


total_loss = 0
total_steps = 0


@cstorch.step_closure
def post_eval_step(loss: torch.Tensor):
    global total_loss, total_steps

    total_loss += loss.item()
    total_steps += 1


with torch.no_grad():
    for batch in dataloader:
        loss = evaluation_step(batch)

        post_eval_step(loss)

print(f"Eval Accuracy: {float(accuracy)}")
print(f"Eval Loss: {total_loss / total_steps}")
