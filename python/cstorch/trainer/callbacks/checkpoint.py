"""Which states of a trainer are saved, when, and which files stay."""

import pathlib
import re

import cstorch
from cstorch import arguments
from cstorch.trainer.callbacks.callback import Callback, CoreCallback

_RULES = {
    "steps": arguments.whole(0),
    "autoload_last_checkpoint": arguments.FLAG,
    "disable_strict_checkpoint_loading": arguments.FLAG,
    "save_initial_checkpoint": arguments.FLAG,
    "n": arguments.whole(1),
    "k": arguments.whole(1),
}


class Checkpoint(CoreCallback):
    """Saves the trainer every so many steps, and at the end.

    Args:
        steps: None and 0: never.
        autoload_last_checkpoint: fit and validate begin with the newest one in model_dir, where
            they are given none.
        disable_strict_checkpoint_loading: True takes the states of the model that are there.
        save_initial_checkpoint: saves before the first step, too.
        checkpoint_name: a name with {step}.
    """

    def __init__(
        self,
        steps=None,
        autoload_last_checkpoint=True,
        disable_strict_checkpoint_loading=False,
        save_initial_checkpoint=False,
        checkpoint_name="checkpoint_{step}.mdl",
    ):
        arguments.check("Checkpoint()", _RULES, {**locals()})
        if checkpoint_name.replace("{step}", "").count("{") or "{step}" not in checkpoint_name:
            raise ValueError(
                f"Checkpoint(): checkpoint_name is {checkpoint_name!r}; accepted: a name with "
                "{step} in it"
            )
        self.steps = steps
        self.autoload_last_checkpoint = autoload_last_checkpoint
        self.disable_strict_checkpoint_loading = disable_strict_checkpoint_loading
        self.save_initial_checkpoint = save_initial_checkpoint
        self.checkpoint_name = checkpoint_name

    def on_train_start(self, trainer, model, train_dataloader, loop, loop_idx):
        if loop_idx == 0 and self.save_initial_checkpoint:
            trainer.save_checkpoint()

    def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
        if self.steps and (trainer.global_step % self.steps == 0 or trainer.is_last_step):
            trainer.save_checkpoint()

    def get_checkpoint_path(self, ckpt_dir, step):
        """The file of a step."""
        return pathlib.Path(ckpt_dir) / self.checkpoint_name.format(step=step)

    def get_all_checkpoints(self, model_dir):
        """The files that are there, in the order of their steps."""
        before, _, after = self.checkpoint_name.partition("{step}")
        pattern = re.compile(f"{re.escape(before)}([0-9]+){re.escape(after)}")
        found = (
            (pattern.fullmatch(path.name), path)
            for path in pathlib.Path(model_dir).glob("*")
        )
        return [path for _, path in sorted((int(m.group(1)), p) for m, p in found if m)]

    def get_latest_checkpoint(self, trainer):
        """The newest of them; None: there is none."""
        found = self.get_all_checkpoints(trainer.model_dir)
        return found[-1] if found else None


class KeepNCheckpoints(Callback):
    """Of the checkpoints that this run saves, the newest n stay; None: all."""

    def __init__(self, n=None):
        arguments.check("KeepNCheckpoints()", _RULES, {"n": n})
        self.n = n
        self.paths = []

    def on_after_save_checkpoint(self, trainer, ckpt_path):
        self.paths.append(ckpt_path)
        while self.n is not None and len(self.paths) > self.n:
            self.paths.pop(0).unlink(missing_ok=True)


def _states(states):
    if isinstance(states, str):
        states = [s.strip() for s in states.split(",")]
    if not isinstance(states, (list, tuple, set)) or not all(isinstance(s, str) for s in states):
        raise TypeError(
            f"states of a checkpoint are {states!r}; accepted: 'all', names with commas between "
            "them, or a list of names"
        )
    return None if list(states) == ["all"] else list(states)


def _check_states(states, state_dict):
    unknown = [s for s in states if s not in state_dict]
    if unknown:
        raise KeyError(
            f"the checkpoint has no state {unknown[0]!r}; it has: {', '.join(sorted(state_dict))}"
        )


class LoadCheckpointStates(Callback):
    """Takes only some states of a checkpoint: "model", "optimizer", "schedulers", ..."""

    def __init__(self, load_checkpoint_states="all"):
        self.states = _states(load_checkpoint_states)

    def preprocess_checkpoint(self, trainer, state_dict):
        if self.states is None:
            return
        _check_states(self.states, state_dict)
        for name in set(state_dict) - set(self.states):
            del state_dict[name]


class SaveCheckpointState(Callback):
    """After every k-th checkpoint a file with some of its states, which stays."""

    def __init__(
        self,
        k,
        checkpoint_states="model",
        checkpoint_name="{checkpoint_states}_{ckpt_name}",
    ):
        arguments.check("SaveCheckpointState()", _RULES, {"k": k})
        self.k = k
        self.states = _states(checkpoint_states)
        self.checkpoint_name = checkpoint_name
        self.count = 0

    def on_after_save_checkpoint(self, trainer, ckpt_path):
        self.count += 1
        if self.count % self.k:
            return
        state_dict = cstorch.load(ckpt_path)
        states = list(state_dict) if self.states is None else self.states
        _check_states(states, state_dict)
        name = self.checkpoint_name.format(
            checkpoint_states="_".join(self.states or ["all"]), ckpt_name=ckpt_path.name
        )
        cstorch.save({s: state_dict[s] for s in states}, ckpt_path.parent / name)
