"""Data loaders of a run: an input function that each input worker calls."""

import hashlib
import inspect
import itertools
import os
import pathlib
import pickle
import sys

import torch
from torch.utils import _pytree as pytree

from csengine.library import lib
from cstorch import arguments, begin_worker, calls, messages, near, worker_parent
from cstorch import session as session_module
from cstorch.execution import Execution
from cstorch.traced import Traced
from cstorch.utils.data.schedule import Schedule
from cstorch.utils.data.source import BatchForm, SampleSource

__all__ = [
    "DataExecutor",
    "DataLoader",
    "DistributedSampler",
    "Schedule",
    "SyntheticDataset",
    "compute_num_steps",
]


_STEPS = arguments.either(
    arguments.whole(0), (lambda v: isinstance(v, Schedule), "a cstorch.utils.data.Schedule")
)
_RULES = {
    "num_steps": arguments.whole(1),
    "max_steps": arguments.whole(1),
    "num_epochs": arguments.whole(1),
    "steps_per_epoch": arguments.whole(1),
    "checkpoint_steps": _STEPS,
    "activation_steps": arguments.whole(0),
    "micro_batch_size": arguments.either(arguments.whole(1), arguments.one_of("auto", "none")),
}
# Arguments of the reference's about its own hardware and its profiler: no effect here.
_HINTS = {"cs_config", "writer", "profiler_activities", "op_profiler_config"}

# Not the file itself as an argument: files among the arguments are part of the run's data.
BEGIN_WORKER = f"exec(open({begin_worker.__file__!r}).read())"


def _refuse_unknown(input_fn, kwargs):
    """What the input function does not take, and so would tell when the first step is near."""
    try:
        known = inspect.signature(input_fn).parameters.values()
    except (TypeError, ValueError):  # of a function that is not Python's
        return
    if any(p.kind is p.VAR_KEYWORD for p in known):
        return
    names = [p.name for p in known]
    own = list(inspect.signature(DataLoader.__init__).parameters)[2:]
    unknown = next((name for name in kwargs if name not in names), None)
    meant = unknown and near.closest(unknown, [*own, *names])
    if meant:
        raise TypeError(
            f"{messages.place_text()}DataLoader() has no argument {unknown!r}, and neither has the "
            f"input function, to which others are handed. Did you mean {meant!r}?"
        )


class DataLoader(near.Named):
    """The data of a run.

    input_fn(*args, **kwargs) returns a torch.utils.data.DataLoader, any iterable of batches, or a
    dataset with a batch size. It is called here once, to see what a batch is, and in each input
    worker, which are processes of their own: it and its arguments must be picklable. Of a loader
    over a data set with a length, the engine chooses the samples by their number (shuffled where
    the loader shuffles); any other iterable is read from its beginning, in order. The last batch of
    an epoch is smaller where the samples do not fill it, and left out where the loader has
    drop_last=True: as in PyTorch. The step is traced a second time for it.

    num_steps, max_steps, num_epochs and steps_per_epoch choose how many steps a loop over it has.
    micro_batch_size: samples that a step computes with at once; without it, the whole batch.
    """

    is_data_loader = True
    is_restartable = False  # a sample is found by its number: there is nothing to save
    _made = itertools.count()

    def __init__(
        self,
        input_fn,
        *args,
        num_steps=None,
        max_steps=None,
        num_epochs=None,
        steps_per_epoch=None,
        checkpoint_steps=None,
        activation_steps=None,
        micro_batch_size=None,
        **kwargs,
    ):
        if not callable(input_fn):
            raise TypeError(
                f"DataLoader() takes a function that makes the data, not "
                f"{type(input_fn).__name__}, since each input worker makes its own: write `def "
                "input_fn(): return ...` with what makes it, and DataLoader(input_fn)"
            )
        _refuse_unknown(input_fn, kwargs)
        if num_steps is not None and (num_epochs is not None or steps_per_epoch is not None):
            raise ValueError(
                "DataLoader() takes num_steps, or num_epochs and steps_per_epoch, not " "both"
            )
        arguments.check("DataLoader()", _RULES, {**locals()})
        self.input_fn = input_fn
        self.args = args
        self.kwargs = kwargs
        self.num_steps = num_steps
        self.max_steps = max_steps
        self.num_epochs = num_epochs
        self.steps_per_epoch = steps_per_epoch
        self.checkpoint_steps = checkpoint_steps
        self.activation_steps = activation_steps
        self.micro_batch_size = micro_batch_size
        self._source = None
        self.id = next(self._made)
        if session_module.current.trains():
            worker_parent.start()

    # ---- what it holds ----

    @property
    def source(self):
        """The SampleSource of this process."""
        if self._source is None:
            self._source = SampleSource(self.input_fn, self.args, self.kwargs)
        return self._source

    def state_dict(self):
        """How many samples the run has trained on: where it goes on is the engine's business."""
        return {"samples_streamed": lib.cse_global_step() * self.batch_size}

    def load_state_dict(self, state, strict=True):
        """Nothing: samples are found by the step's number."""

    @property
    def dataloader(self):
        """What the input function made in this process."""
        return self.source.loader

    @property
    def batch_size(self):
        return self.source.batch_size

    def __len__(self):
        return self.source.batches()

    def microbatches(self):
        """How many microbatches a step of a whole batch has."""
        return self.batch_size // self._micro_batch_size()

    def _micro_batch_size(self):
        """Its own, or that of cstorch.backends.csx.performance, or the whole batch."""
        return (
            self.micro_batch_size or session_module.current.micro_batch_size or self.batch_size
        )

    def settings(self):
        """The data loader's settings as the engine takes them."""
        size = self._micro_batch_size()
        if self.batch_size % size:
            raise ValueError(
                f"micro_batch_size {size} does not divide the batch size " f"{self.batch_size}"
            )
        session = session_module.current
        source = self.source
        settings = {
            "data_processor": "command",
            "command": [sys.executable, "-I", "-S", "-c", BEGIN_WORKER, self._pickled(session)],
            "batch_size": self.batch_size,
            "micro_batch_size": size,
            "shuffle": source.shuffles,
            "drop_last": source.drops_last,
            "sample_count": source.samples(),
            "streams": [
                " ".join(
                    [
                        source.form.streams[index],
                        "float32" if leaf.dtype.is_floating_point else "int32",
                        *map(str, leaf.shape),
                    ]
                )
                for index, leaf in enumerate(source.form.leaves)
                if isinstance(leaf, BatchForm.Leaf)
            ],
        }
        return settings

    def _pickled(self, session):
        """A file that input workers make their data of; its name is that of its content."""
        begins = (
            [os.path.abspath(path) for path in sys.path],
            "cstorch.as_cerebras" in sys.modules,
        )
        content = pickle.dumps(begins) + pickled(
            (self.input_fn, self.args, self.kwargs, session.settings.get("seed", 0))
        )
        folder = (
            pathlib.Path(session.settings.get("model_dir") or session_module.MODEL_DIR) / "data"
        )
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"input-{hashlib.sha256(content).hexdigest()[:16]}.pickle"
        if not path.exists():
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_bytes(content)
            temporary.replace(path)
        return str(path.resolve())

    def traced_leaves(self, step):
        """The values of a batch, its tensors as traced ones: one microbatch."""
        form = self.source.form
        size = lib.cse_step_micro_batch_size(step)
        leaves = []
        for index, leaf in enumerate(form.leaves):
            if not isinstance(leaf, BatchForm.Leaf):
                leaves.append(leaf)
                continue
            handle = lib.cse_step_input(step, form.streams[index].encode())
            made = calls.wrap(handle)
            if made.shape[0] != size:
                raise messages.TraceError(
                    f"a batch of {made.shape[0]} samples where {size} are " "expected"
                )
            made = Traced(handle, made.shape, made.dtype)
            if lib.cse_tensor_dtype(handle) != calls.c_dtype(leaf.dtype):
                made = made.to(leaf.dtype)
            leaves.append(Traced(made.handle, made.shape, leaf.dtype))
            leaves[-1].label = f"input {form.names[index]}".rstrip()
        return leaves

    # ---- the loop ----

    def steps(self):
        """How many steps a loop over it has."""
        return compute_num_steps(
            self,
            num_steps=self.num_steps,
            max_steps=self.max_steps,
            num_epochs=self.num_epochs,
            steps_per_epoch=self.steps_per_epoch,
        )

    def __iter__(self):
        return iter(DataExecutor(self))


class DataExecutor(near.Named):
    """A loop over a data loader: `for batch in DataExecutor(loader, num_steps=100)`.

    Args:
        num_steps: of this loop; None: as the loader says.
        checkpoint_steps: every so many steps states can be saved, and after the last; 0: never.
        activation_steps: step closures see every so many steps, and the last; None: each.
    """

    is_data_loader = True

    def __init__(
        self,
        dataloader=None,
        num_steps=None,
        checkpoint_steps=None,
        activation_steps=None,
        micro_batch_size=None,
        **hints,
    ):
        unknown = sorted(set(hints) - _HINTS)
        if unknown:
            raise TypeError(
                f"DataExecutor() has no argument {unknown[0]!r}; accepted: dataloader, num_steps, "
                "checkpoint_steps, activation_steps, micro_batch_size"
            )
        arguments.check("DataExecutor()", _RULES, {**locals()})
        if not getattr(dataloader, "is_data_loader", False):
            given = {"num_steps": num_steps, "checkpoint_steps": checkpoint_steps}
            rest = "".join(f", {n}={v!r}" for n, v in given.items() if v is not None)
            kind = type(dataloader)
            name = f"{kind.__module__}.{kind.__name__}".replace("builtins.", "")
            other = "" if dataloader is None else f", not {name}"
            raise TypeError(
                "DataExecutor() takes the data of the loop first, a cstorch.utils.data.DataLoader"
                + other
                + ": write `dataloader = cstorch.utils.data.DataLoader(input_fn)`, and "
                f"`cstorch.utils.data.DataExecutor(dataloader{rest})`"
            )
        self.dataloader = dataloader
        if isinstance(checkpoint_steps, Schedule):
            checkpoint_steps = checkpoint_steps.interval()
        self.num_steps = num_steps
        self.checkpoint_steps = checkpoint_steps
        self.activation_steps = activation_steps
        if isinstance(micro_batch_size, int):
            dataloader.micro_batch_size = micro_batch_size

    def __len__(self):
        return self.num_steps if self.num_steps is not None else self.dataloader.steps()

    @property
    def on_final_iteration(self):
        execution = session_module.current.execution
        return execution is not None and execution.number == execution.count

    @property
    def user_iteration(self):
        execution = session_module.current.execution
        return execution.number if execution is not None else 0

    @property
    def iteration(self):
        """The pass of the loop, from 0."""
        return max(self.user_iteration - 1, 0)

    @property
    def artifact_dir(self):
        """Where the run's files are."""
        settings = session_module.current.settings
        folder = pathlib.Path(settings.get("model_dir") or session_module.MODEL_DIR)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def __iter__(self):
        session = session_module.current
        first = [
            v
            for v in (
                self.checkpoint_steps,
                self.dataloader.checkpoint_steps,
                session.checkpoint_steps,
            )
            if v is not None
        ]
        return iter(
            Execution(
                session,
                self.dataloader,
                len(self),
                first[0] if first else 0,
                self.activation_steps or self.dataloader.activation_steps,
            )
        )


def compute_num_steps(
    dataloader,
    initial_step=0,
    num_steps=None,
    max_steps=None,
    num_epochs=None,
    steps_per_epoch=None,
    **_,
):
    """Steps of a loop: num_steps, or num_epochs of steps_per_epoch (or of the loader's length), at
    most up to the step max_steps."""
    if num_steps is None and num_epochs is not None:
        num_steps = num_epochs * (steps_per_epoch or len(dataloader))
    elif num_steps is None and steps_per_epoch is not None:
        num_steps = steps_per_epoch
    if max_steps is not None:
        left = max_steps - initial_step
        num_steps = left if num_steps is None else min(num_steps, left)
    if num_steps is None:
        num_steps = len(dataloader)
    return num_steps


def pickled(value):
    """Bytes that an input worker can make the value of: functions of the main program by their
    code, where cloudpickle is installed."""
    try:
        import cloudpickle

        return cloudpickle.dumps(value)
    except ImportError:
        pass
    try:
        content = pickle.dumps(value)
    except Exception as error:
        raise TypeError(
            f"the input function or its arguments cannot be sent to the input workers: "
            f"{error}; define it in a module (no lambda), or install cloudpickle"
        ) from error
    if b"__main__" in content:
        raise TypeError(
            "the input function or its arguments are defined in the main program, which "
            "input workers do not run: install cloudpickle, or define them in a module "
            "that the program imports"
        )
    return content


class DistributedSampler(torch.utils.data.Sampler):
    """All samples in order: which worker reads which, and how they are shuffled, is decided by the
    engine. With a batch_size it gives lists of that many, as the batch_sampler of a loader; those
    at the end that make no whole batch are left out."""

    is_in_order = True

    @property
    def leaves_out(self):
        """Whether its lists leave samples out; without lists the loader decides."""
        return self.batch_size is not None

    def __init__(
        self,
        data_source,
        shuffle=False,
        seed=None,
        shard=True,
        batch_size=None,
        drop_last=False,
        num_samples=None,
        pad_last=False,
    ):
        self.data_source = data_source
        self.shuffle = shuffle
        self.batch_size = batch_size

    def __iter__(self):
        count = len(self.data_source)
        size = self.batch_size
        if size is None:
            return iter(range(count))
        return (list(range(i, i + size)) for i in range(0, count - size + 1, size))

    def __len__(self):
        return len(self.data_source) // (self.batch_size or 1)


class SyntheticDataset(torch.utils.data.Dataset):
    """Samples of a given form: `sample_spec` is a nested structure of tensors (without the batch
    axis) or of functions of the sample's number that make them."""

    def __init__(self, sample_spec, num_samples=None):
        self.sample_spec = sample_spec
        self.num_samples = num_samples or 1000

    def __len__(self):
        return self.num_samples

    def __getitem__(self, index):
        return pytree.tree_map(
            lambda v: v(index) if callable(v) and not isinstance(v, torch.Tensor) else v,
            self.sample_spec,
        )


__getattr__ = near.of_module(__name__, globals())
