"""A whole evaluation: the calls of the document's full example, in their order, in a program of our
own. Its slips are mended: both totals are global, and no bracket is left over.

    evaluation.py MODEL_DIR CHECKPOINT
"""

import sys

import torch
from digits import Network, dataloader_fn

import cstorch
import cstorch.metrics as metrics

model_dir, checkpoint_path = sys.argv[1:]

cstorch.configure(mgmt_address="cluster-server:443", model_dir=model_dir)

model: torch.nn.Module = Network()
compiled_model = cstorch.compile(model, backend="wse_ws")
compiled_model.eval()

loss_fn: torch.nn.Module = torch.nn.CrossEntropyLoss()

accuracy = metrics.AccuracyMetric("accuracy", compute_on_system=True)

state_dict = cstorch.load(checkpoint_path)
model.load_state_dict(state_dict["model"])

dataloader = cstorch.utils.data.DataLoader(dataloader_fn, "test", num_steps=100, batch_size=40)


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

print(f"Eval Loss: {total_loss / total_steps}")
print(f"Eval Accuracy: {float(accuracy)}")
