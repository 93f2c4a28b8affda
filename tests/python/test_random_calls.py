"""Random sequences of a program's calls on cstorch, beside the same program in PyTorch.

CSE_RANDOM_CALLS: how many calls; CSE_RANDOM_SEED: the number of the first sequence. A failing
sequence is printed as Python, as short as it could be made; `begin` and the calls are those here.
"""

import copy
import json
import os
import pickle
import random
import struct
import sys
import unittest

import numpy
import torch

import cstorch
from call_pair import Pair
from nested_values import random_value, same
from programs import Case
from random_calls import Sequences, Table, one_of

CALLS = int(os.environ.get("CSE_RANDOM_CALLS", "60"))
SEED = int(os.environ.get("CSE_RANDOM_SEED", "1"))
LENGTH = 30  # calls of a sequence

table = Table()

# ---- changes of tensors ----


def in_numpy(tensor):
    tensor.detach().numpy()[...] *= numpy.float32(0.5)


def in_a_view(tensor):
    tensor.detach().reshape(-1)[0] = 3.0


def by_another_tensor(tensor):
    tensor.data = tensor.detach() * 2


def by_part_of_a_vector(tensor):
    """As torch.nn.utils.vector_to_parameters does."""
    vector = torch.arange(tensor.numel() + 3.0) * 0.25
    tensor.data = vector[1 : 1 + tensor.numel()].view_as(tensor)


def without_gradients(tensor):
    with torch.no_grad():
        tensor.mul_(0.75)


HOW = {
    "without_gradients": without_gradients,
    "data_mul": lambda t: t.data.mul_(0.9),
    "data_copy": lambda t: t.data.copy_(torch.ones_like(t)),
    "data_index": lambda t: t.data.view(-1).__setitem__(-1, -0.5),
    "detach_add": lambda t: t.detach().add_(0.125),
    "constant": lambda t: torch.nn.init.constant_(t, 0.25),
    "negative_zero": lambda t: t.data.fill_(-0.0),
    "in_numpy": in_numpy,
    "in_a_view": in_a_view,
    "by_another_tensor": by_another_tensor,
    "by_part_of_a_vector": by_part_of_a_vector,
}
PARAMETERS = ("first.weight", "first.bias", "norm.weight", "norm.bias", "last.weight", "last.bias")
BUFFERS = ("norm.running_mean", "norm.running_var", "factor", "hidden")


@table.call(one_of(*HOW), one_of(*PARAMETERS, *BUFFERS), often=8)
def change(pair, how, name):
    for tensor in pair.tensors(name):
        HOW[how](tensor)
        if name.endswith("var"):
            tensor.data.abs_()


@table.call(one_of("count", "norm.num_batches_tracked"), one_of(1, -3, 2**31 - 1000))
def change_integers(pair, name, value):
    for tensor in pair.tensors(name):
        tensor.fill_(value)


@table.call(one_of(0.0, 1.0078125, 1e30))
def change_marks(pair, value):
    for module in pair.modules():
        module.marks.fill_(value)


@table.call(often=2, possible=lambda pair: pair.refusal() is not None)
def put_back(pair):
    """The states that may not be changed are as they were."""
    with torch.no_grad():
        for module in pair.modules():
            for name, tensor in module.state_dict().items():
                if name in pair.at_lock:
                    tensor.copy_(pair.at_lock[name])
    if pair.settings["kind"] == "own":
        for name, slots in pair.twin.slots.items():
            for slot in slots:
                kept = pair.at_lock[f"{name}.{slot}"]
                pair.optimizer.state_dict()["state"][name][slot].copy_(kept)
                slots[slot] = kept.clone()
        if pair.schedule is not None:
            pair.schedule.load_state_dict({"last_epoch": pair.at_lock["schedule"]})
            pair.twin.counter = pair.at_lock["schedule"].clone()


@table.call(one_of(*PARAMETERS), one_of(True, False))
def require_gradients(pair, name, requires):
    for tensor in pair.tensors(name):
        tensor.requires_grad_(requires)


@table.call(one_of("first", "norm", "last"), one_of(True, False))
def require_gradients_of_module(pair, name, requires):
    for module in pair.modules():
        module.get_submodule(name).requires_grad_(requires)


@table.call(one_of(True, False))
def set_mode(pair, training):
    for module in pair.modules():
        module.train(training)


@table.call(one_of(0.01, 0.1, 0.0), possible=lambda pair, _: pair.schedule is None)
def set_rate(pair, rate):
    pair.optimizer.param_groups[0]["lr"] = pair.twin.rate = rate


@table.call()
def zero_gradients(pair):
    pair.model.zero_grad()
    pair.optimizer.zero_grad()


# ---- state_dicts in memory ----


def is_locked(pair, *_):
    """The engine's own states are refused where they are set."""
    return "checkpoint on its last step" if pair.at_lock is not None else None


@table.call(one_of(0.5, -1.0), one_of("", "first", "norm", "last"))
def load_module(pair, factor, name):
    """A state_dict of other values, into the model or a part of it."""
    for module in pair.modules():
        part = module.get_submodule(name)
        part.load_state_dict(
            {k: (v * factor).abs().to(v.dtype) for k, v in part.state_dict().items()}
        )


@table.call(one_of(*PARAMETERS))
def load_one_parameter(pair, name):
    value = torch.full_like(pair.tensors(name)[1], 0.5)
    for module in pair.modules():
        module.load_state_dict({name: value}, strict=False)


@table.call(one_of(0.5, -0.75))
def load_safetensors(pair, factor):
    """The model's weights from a file of another program."""
    state = {k: (v * factor).abs() for k, v in pair.twin.module.state_dict().items()}
    state = {k: v.to(pair.tensors(k)[1].dtype) for k, v in state.items()}
    path = pair.path("weights.safetensors")
    write_safetensors(path, state)
    pair.model.load_state_dict(cstorch.load(path))
    pair.twin.module.load_state_dict(state)


SAFETENSORS = {torch.float32: "F32", torch.int64: "I64", torch.bfloat16: "BF16"}


def write_safetensors(path, state):
    header, content = {}, b""
    for name, value in state.items():
        elements = bytes(value.contiguous().reshape(-1).view(torch.uint8).tolist())
        header[name] = {
            "dtype": SAFETENSORS[value.dtype],
            "shape": list(value.shape),
            "data_offsets": [len(content), len(content) + len(elements)],
        }
        content += elements
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + content)


@table.call(one_of("first.weight", "norm.bias", "last.weight"))
def assign_a_parameter(pair, name):
    """Another parameter in the place of one is refused, until that one is back."""
    module, _, last = name.rpartition(".")
    module = pair.model.get_submodule(module)
    kept = getattr(module, last)
    value = torch.full_like(kept.detach(), 0.75)
    pair.model.load_state_dict({name: value}, strict=False, assign=True)
    with pair.test.assertRaisesRegex(RuntimeError, f"{name} is not the parameter.*assign=True"):
        cstorch.save(pair.state_dicts(), pair.path("refused"))
    setattr(module, last, kept)


@table.call()
def load_metric(pair):
    """A metric has no part in state_dicts, and takes none."""
    pair.test.assertEqual(dict(pair.metric.state_dict()), {})
    pair.metric.load_state_dict(pair.metric.state_dict())
    with pair.test.assertRaisesRegex(RuntimeError, "Unexpected key.*total"):
        pair.metric.load_state_dict({"total": torch.zeros(())})


def is_engines(pair, *_):
    """Whether the optimizer is one of the engine."""
    return pair.settings["kind"] != "own"


@table.call(
    one_of(0.5, 0.25), refused=lambda pair, _: is_locked(pair) if is_engines(pair) else None
)
def load_optimizer(pair, factor):
    """Other values of the slots that have the shape of their parameter."""

    def changed(values):
        return {k: v * factor if v.dim() else v.clone() for k, v in values.items()}

    state = pair.optimizer.state_dict()
    loaded = {**state, "state": {n: changed(v) for n, v in state["state"].items()}}
    pair.optimizer.load_state_dict(loaded)
    pair.twin.slots = {n: changed(v) for n, v in pair.twin.slots.items()}


@table.call(
    one_of(0, 3, 7),
    possible=lambda pair, _: pair.schedule is not None,
    refused=lambda pair, _: is_locked(pair) if is_engines(pair) else None,
)
def load_schedule(pair, steps):
    (name,) = pair.schedule.state_dict()
    value = torch.tensor(steps, dtype=torch.int32)
    pair.schedule.load_state_dict({name: value})
    pair.twin.counter = value.clone()


@table.call(one_of(2.0, 8.0), possible=lambda pair, _: pair.scaler is not None, refused=is_locked)
def load_scaler(pair, scale):
    state = copy.deepcopy(pair.scaler.state_dict())
    state["loss_scale"] = torch.tensor(scale)
    pair.scaler.load_state_dict(state)
    pair.twin.scaler["loss_scale"] = torch.tensor(scale)


@table.call(one_of(0, 1, 5, 6), refused=is_locked)
def set_step(pair, step):
    cstorch.set_global_step(step)
    pair.twin.step, pair.twin.has_place = step, True


# ---- copies ----


@table.call()
def copy_model(pair):
    """A copy has the values and is no state: its changes change nothing else."""
    copied = copy.deepcopy(pair.model)
    pickled = pickle.loads(pickle.dumps(pair.model))
    for other in (copied, pickled):
        for name, value in pair.twin.module.state_dict().items():
            pair.exact(other.state_dict()[name], value, name)
        with torch.no_grad():
            other.first.weight.mul_(3)


@table.call()
def copy_states(pair):
    wanted = pair.twin.snapshot()
    pair.compare_saved(copy.deepcopy(pair.state_dicts()), wanted)
    pair.compare_saved(pickle.loads(pickle.dumps(pair.state_dicts())), wanted)


@table.call()
def compute_outside(pair):
    """A model is an ordinary module outside of the step."""
    found, wanted = [module(torch.ones(2, 3)) for module in pair.modules()]
    pair.exact(found, wanted, "output")


# ---- files ----

FILES = ("a", "b")
file_name = one_of(*FILES)


def _saved(pair, form):
    content = {**pair.state_dicts(), "user": pair.value}
    return copy.deepcopy(content) if form == "copy" else content


@table.call(
    file_name,
    one_of("engine", "engine", "copy", "torch"),
    often=4,
    refused=lambda pair, _, form: None if form == "torch" else pair.refusal(),
)
def save(pair, name, form):
    """All states and a nested value; "copy": of tensors that are no states of the run."""
    (torch if form == "torch" else cstorch).save(_saved(pair, form), pair.path(name))
    pair.files[name] = ("torch" if form == "torch" else "engine", pair.twin.snapshot(), pair.value)


@table.call(one_of(*range(200)))
def set_value(pair, seed):
    pair.value = random_value(random.Random(seed))


def is_saved(pair, name, *_):
    return name in pair.files


@table.call(file_name, one_of("lazily", "at_once"), possible=is_saved, often=2)
def read(pair, name, how):
    """A file has what it was given, whatever was done since."""
    form, wanted, value = pair.files[name]
    found = _read(pair, name, how)
    pair.compare_saved(found, wanted)
    if not same(found["user"], value):
        raise AssertionError(f"{found['user']} is not {value}")


def _read(pair, name, how):
    if pair.files[name][0] == "torch" and how == "at_once":
        return torch.load(pair.path(name), weights_only=False)
    if pair.files[name][0] == "torch":
        return cstorch.load(pair.path(name), weights_only=False)
    return cstorch.load(pair.path(name), map_location="cpu" if how == "at_once" else None)


@table.call(
    file_name,
    file_name,
    one_of("engine", "torch"),
    possible=is_saved,
    refused=lambda pair, *given: None if given[-1] == "torch" else pair.refusal(),
)
def convert(pair, name, other, form):
    """A file is loaded and saved again."""
    if form == "torch":
        torch.save(_read(pair, name, "at_once"), pair.path(other))
    else:
        cstorch.save(_read(pair, name, "lazily"), pair.path(other))
    pair.files[other] = (form, *pair.files[name][1:])


@table.call(file_name, one_of("lazily", "at_once"), possible=is_saved, often=2)
def load_model(pair, name, how):
    pair.model.load_state_dict(_read(pair, name, how)["model"])
    pair.twin.module.load_state_dict(pair.files[name][1]["model"])


@table.call(
    file_name, one_of("lazily", "at_once"), possible=is_saved, often=2, refused=is_locked
)
def load_states(pair, name, how):
    """Everything but the model, and the global step."""
    found, wanted = _read(pair, name, how), copy.deepcopy(pair.files[name][1])
    cstorch.set_global_step(found["step"])
    pair.optimizer.load_state_dict(found["optimizer"])
    if pair.schedule is not None:
        pair.schedule.load_state_dict(found["schedule"])
    if pair.scaler is not None:
        pair.scaler.load_state_dict(found["scaler"])
    twin = pair.twin
    twin.slots, twin.rate, twin.counter, twin.scaler = (
        wanted[n] for n in ("optimizer", "rate", "schedule", "scaler")
    )
    twin.step, twin.has_place = wanted["step"], True


@table.call(often=0.5)
def begin_again(pair):
    """Fresh objects in a fresh session; the old ones are gone."""
    pair.fresh()


@table.call(file_name, one_of("lazily", "at_once"), possible=is_saved)
def resume(pair, name, how):
    pair.fresh()
    load_model(pair, name, how)
    load_states(pair, name, how)


# ---- executions ----


def is_frozen(pair):
    return not any(p.requires_grad for p in pair.twin.module.parameters())


def refused_training(pair, *_):
    return "require|gradient" if is_frozen(pair) and not pair.refusal() else pair.refusal()


@table.call(one_of(1, 2, 3), one_of(0, 1, 1, 2), often=1.5, refused=refused_training)
def train(pair, steps, checkpoint_steps):
    pair.train(steps, checkpoint_steps)


@table.call(one_of(1, 2, 3), file_name, refused=refused_training)
def train_and_save(pair, steps, name):
    """A checkpoint closure saves in each step; the file of the last one stays."""
    saved = []

    @cstorch.checkpoint_closure
    def save_in_step():
        cstorch.save(_saved(pair, "engine"), pair.path(name))
        saved.append(cstorch.load(pair.path(name))["step"])

    first = pair.twin.step + 1
    pair.train(steps, 1, save_in_step)
    pair.test.assertEqual(saved, list(range(first, first + steps)))
    pair.files[name] = ("engine", pair.twin.snapshot(), pair.value)


@table.call(one_of(1, 2), refused=lambda pair, _: pair.refusal())
def evaluate(pair, steps):
    pair.evaluate(steps)


class RandomCalls(Case):
    def test_both_sides_are_the_same_after_each_call(self):
        sequences = Sequences(table, lambda seed: Pair(self, seed))
        failures, seed = [], SEED
        while sequences.calls < CALLS:
            if CALLS > 1000:  # where a crash would leave nothing else
                print(f"sequence {seed}", flush=True)
            failure = sequences.random(seed, LENGTH)
            if failure is not None:
                failures.append(failure)
                print(failure, file=sys.stderr, flush=True)
            seed += 1
        print(f"{sequences.calls} calls in sequences {SEED} to {seed - 1}: {len(failures)} fail")
        self.assertEqual(len(failures), 0, "see above")


if __name__ == "__main__":
    unittest.main()
