"""The reference's modules that have no counterpart in the same place of cstorch, and their names.

MODULES is the table that cstorch.as_cerebras answers imports from: what a program of the ModelZoo
imports to be able to run, as the least that means the same here. What describes other hardware
(annotations for its compiler, telemetry of its cluster) does nothing.
"""

import dataclasses
import enum
import importlib
import logging
import os
import pathlib
import re
import types
import typing

import torch
from torch.utils import _pytree as pytree

from cstorch import backends, execution, metrics, setup, sparse
from cstorch.session import Session
from cstorch.utils import data, misc
from cstorch.utils.data.schedule import Schedule

# ---- cerebras.appliance: logs, files, errors ----


class ClassLogger:
    """A base class whose instances have a logger of the class's name."""

    logger = logging.getLogger("cerebras")


def named_class_logger(name=None):
    """Decorates a class: its logger has this name."""

    def decorate(kind):
        kind.logger = logging.getLogger(name if isinstance(name, str) else kind.__name__)
        return kind

    return decorate if name is None or isinstance(name, str) else decorate(name)


def get_level_name(level):
    """The number of a level's name."""
    found = logging.getLevelName(str(level).upper())
    if not isinstance(found, int):
        raise ValueError(f"no level of logging {level!r}; accepted: DEBUG, INFO, WARNING, ERROR")
    return found


def create_symlink(link, target, **_):
    """A symbolic link in the place of one that is there."""
    link = pathlib.Path(link)
    if link.is_symlink():
        link.unlink()
    link.symlink_to(target)


def bytes_to_human(count, *_, **__):
    """ "1.5 GiB" """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            break
        count /= 1024
    else:
        unit = "TiB"
    return f"{count:.4g} {unit}"


def retrieve_all_subclasses(kind, condition=None):
    """All classes that derive from one, at any depth."""
    for child in kind.__subclasses__():
        if condition is None or condition(child):
            yield child
        yield from retrieve_all_subclasses(child, condition)


class ApplianceError(RuntimeError):
    """An error of a run."""


_ERRORS = {
    name: type(name, (ApplianceError,), {"__doc__": "An error of the reference's system."})
    for name in (
        "ApplianceCompilationError",
        "ApplianceDeadlockError",
        "ApplianceNanError",
        "ApplianceUnknownError",
        "ClusterJobCancelledByCsctl",
    )
}


class Storage:
    """Where checkpoints lie: paths of this machine."""

    @staticmethod
    def is_valid_path(path):
        return "://" not in str(path)

    @staticmethod
    def path_exists(path):
        return os.path.exists(path)

    @classmethod
    def get(cls, path):
        return cls

    @staticmethod
    def delete(path):
        os.unlink(path)


def _nothing(*_, **__):
    """Does nothing here."""


class Inert:
    """An object whose methods do nothing."""

    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing


# ---- cerebras.pytorch: annotations, settings, nested tensors ----


class Setting:
    """A group of settings of the reference's compiler: they are kept, and change nothing."""

    def __init__(self, **values):
        vars(self).update(values)


class AnnotationMode:
    """What a kernel annotation says; the engine's compiler needs none."""

    class Config(Setting):
        pass

    class Attribute(Setting):
        def __init__(self, name=None, *values, **more):
            super().__init__(name=name, values=values, **more)


class Annotation:
    """A decorator and a context manager that changes nothing."""

    def __init__(self, *_, **__):
        pass

    def __call__(self, function):
        return function

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def _leaves(value):
    """(keys, leaf) of each leaf in nested values."""
    for path, leaf in pytree.tree_flatten_with_path(value)[0]:
        yield [getattr(k, "key", getattr(k, "idx", getattr(k, "name", k))) for k in path], leaf


def visit_torch_tensors(value, scope=None, **_):
    """(path, tensor) of each tensor in nested values; `scope` begins each path."""
    for keys, leaf in _leaves(value):
        if isinstance(leaf, torch.Tensor):
            yield [*(scope or []), *keys], leaf


def recurse_spec(spec, scope=None):
    """The path of each leaf of what torch's pytree says of nested values, as texts."""
    for keys, _ in _leaves(pytree.tree_unflatten(range(spec.num_leaves), spec)):
        yield [*(scope or []), *map(str, keys)]


def infer_batch_size(batch):
    """Samples of a batch: the first axis of its tensors."""
    for leaf in pytree.tree_leaves(batch):
        if isinstance(leaf, torch.Tensor) and leaf.dim() > 0:
            return leaf.shape[0]
    return None


def convert_glob_to_regex(pattern):
    """A compiled regular expression of a pattern with * and ?."""
    return re.compile(
        "(.*\\.)?"
        + "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern)
        + "(\\..*)?"
    )


def make_param_filter(patterns):
    """A function of (name, parameter) that says whether one of the patterns has the name."""
    patterns = [patterns] if isinstance(patterns, str) else list(patterns)
    compiled = [convert_glob_to_regex(p) for p in patterns]
    return lambda name, parameter=None: any(c.fullmatch(name) for c in compiled)


def default_sparse_param_filter(name, parameter):
    """Whether a parameter is a matrix of the body: no bias, no norm, no embedding."""
    return parameter.dim() >= 2 and not any(
        part in name for part in ("embedding", "norm", "lm_head", "pos_embed")
    )


PAD_INDEX = -1  # of a sample that fills a batch: none does here


class BackendType(enum.Enum):
    """Kinds of backends: all are this engine."""

    CPU = enum.auto()
    GPU = enum.auto()
    CSX = enum.auto()

    @classmethod
    def from_str(cls, name):
        return cls[name.upper()]

    @property
    def is_csx(self):
        return self is BackendType.CSX


def get_backend_args(*_, **__):
    """The class of the arguments of cstorch.backend."""
    return {
        name: (object, None)
        for name in (*Session.FIELDS, "artifact_dir", "cluster_config")
        if name not in ("precision", "seed")
    }


@dataclasses.dataclass
class TaskSpec:
    """One of the processes that read data, as the reference describes it."""

    rank: int
    local_rank: int
    wse_id: int
    node_name: str
    roles: list = None


@dataclasses.dataclass
class ClusterSpec:
    """All processes that read data, and which of them this is."""

    tasks: list
    rank: int
    num_csx: int
    num_workers_per_csx: int

    def num_tasks(self):
        return len(self.tasks)

    def task(self, rank=None):
        return self.tasks[self.rank if rank is None else rank]


def service_resolver():
    """One process that reads all data: the engine divides samples among its input workers, so
    that a data set must not."""
    return types.SimpleNamespace(
        cluster_spec=ClusterSpec([TaskSpec(0, 0, 0, "localhost")], 0, 1, 1)
    )


def one_hot(tensor, num_classes=-1, dtype=torch.float32):
    return torch.nn.functional.one_hot(tensor, num_classes).to(dtype)


def summary_writer(*args, base_step=None, **kwargs):
    """PyTorch's writer of TensorBoard's files."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(*args, **kwargs)
    writer.cs_events_dir = writer.log_dir  # events of the reference's own kinds: none here
    return writer


def refusal(name, why):
    """A function that tells why there is none."""

    def refuse(*_, **__):
        raise NotImplementedError(f"{name}: {why}")

    refuse.__name__ = name.rpartition(".")[2]
    return refuse


_INFERENCE = (
    "not possible in a step of cstorch; `csengine generate` writes text with a trained model"
)

_VERSION = "2.10.0"

_STORAGE = {
    name: type(name, (Storage,), {})
    for name in (
        "StorageReader",
        "StorageWriter",
        "StorageDeleter",
        "H5Reader",
        "S3Reader",
        "S3Writer",
    )
}
for _name in ("S3Reader", "S3Writer"):
    _STORAGE[_name].is_valid_path = staticmethod(lambda path: False)

# Module -> name -> what it is.
MODULES = {
    "cerebras.appliance": {"logger": logging.getLogger("cerebras")},
    "cerebras.appliance.cluster": {},
    "cerebras.appliance.cluster.client": {"TelemetryClient": Inert},
    "cerebras.appliance.environment": {"appliance_environ": {}},
    "cerebras.appliance.errors": {"ApplianceError": ApplianceError, **_ERRORS},
    "cerebras.appliance.log": {
        "ClassLogger": ClassLogger,
        "named_class_logger": named_class_logger,
        "get_level_name": get_level_name,
        "wsc_logger": logging.getLogger("cerebras.cluster"),
        "collect_wsc_log_settings": dict,
    },
    "cerebras.appliance.storage": _STORAGE,
    "cerebras.appliance.storage.base_storage": _STORAGE,
    "cerebras.appliance.utils": {},
    "cerebras.appliance.utils.classes": {"retrieve_all_subclasses": retrieve_all_subclasses},
    "cerebras.appliance.utils.debug_args": {
        "DebugArgs": Inert,
        "get_debug_args": Inert,
        "update_debug_args_from_keys": _nothing,
        "write_debug_args": _nothing,
    },
    "cerebras.appliance.utils.file": {"create_symlink": create_symlink},
    "cerebras.appliance.utils.ini": {"set_ini": _nothing, "set_default_ini": _nothing},
    "cerebras.appliance.utils.units": {"bytes_to_human": bytes_to_human},
    "cerebras.pytorch.backend": {
        "Backend": setup.Backend,
        "BackendType": BackendType,
        "current_backend_impl": setup.current_backend,
        "get_backend_args": get_backend_args,
        "use_cs": setup.use_cs,
    },
    "cerebras.pytorch.backend.ltc_backend": {"register_after_tensor_to_cpu": execution.on_value},
    "cerebras.pytorch.cirh": {
        "FusedTopK": refusal("cirh.FusedTopK", _INFERENCE),
        "FusedTopP": refusal("cirh.FusedTopP", _INFERENCE),
    },
    "cerebras.pytorch.core": {},
    "cerebras.pytorch.core.annotation": {
        "AnnotationMode": AnnotationMode,
        "create_annotation": Annotation,
    },
    "cerebras.pytorch.distributed.cluster_resolver": {
        "ClusterSpec": ClusterSpec,
        "TaskSpec": TaskSpec,
    },
    "cerebras.pytorch.experimental.listener": {"register_traced_tensor_hook": lambda *_: Inert()},
    "cerebras.pytorch.lib": {},
    "cerebras.pytorch.lib.cerebras_pytorch_lib": {"set_attribute": _nothing},
    "cerebras.pytorch.metrics.metric": {"Metric": metrics.Metric},
    "cerebras.pytorch.nn.functional": {
        "one_hot": one_hot,
        "sparse_matmul": refusal("nn.functional.sparse_matmul", "cstorch has no such operation"),
        "sparse_act_matmul": refusal(
            "nn.functional.sparse_act_matmul", "cstorch has no such operation"
        ),
    },
    "cerebras.pytorch.profiler": {
        "profile": refusal(
            "profiler.profile", "the times of a run are in its dashboard (`csengine open`)"
        ),
        "schedule": refusal(
            "profiler.schedule", "the times of a run are in its dashboard (`csengine open`)"
        ),
    },
    "cerebras.pytorch.sparse.configure": {
        "configure": sparse.configure,
        "default_sparse_param_filter": default_sparse_param_filter,
    },
    "cerebras.pytorch.storage": {},
    "cerebras.pytorch.storage.constants": {"__CSTORCH_VERSION__": _VERSION},
    "cerebras.pytorch.storage.serializers": {
        "use_external_link": refusal("storage.use_external_link", "no external links in files"),
        "cache_deferred_tensors": refusal("storage.cache_deferred_tensors", "no such cache"),
    },
    "cerebras.pytorch.utils.benchmark": {
        "benchmark_dataloader": refusal(
            "utils.benchmark",
            "how long a run waits for its data is in its dashboard (`csengine open`)",
        )
    },
    "cerebras.pytorch.utils.call_once": {"call_once": misc.call_once},
    "cerebras.pytorch.utils.data.data_executor": {
        "DataExecutor": data.DataExecutor,
        "MbsSetting": object,
    },
    "cerebras.pytorch.utils.data.sampler": {
        "DistributedSampler": data.DistributedSampler,
        "pad_index": PAD_INDEX,
    },
    "cerebras.pytorch.utils.data.utils": {
        "Schedule": Schedule,
        "infer_batch_size": infer_batch_size,
    },
    "cerebras.pytorch.utils.kernel": {"kernel_annotater": Annotation},
    "cerebras.pytorch.utils.nest": {
        "recurse_spec": recurse_spec,
        "visit_torch_tensors": visit_torch_tensors,
    },
    "cerebras.pytorch.utils.num_kv_groups": {"groups_annotater": Annotation},
    "cerebras.pytorch.utils.tensorboard": {"SummaryWriter": summary_writer},
    "cerebras.pytorch.utils.tracker": {"RateTracker": misc.RateTracker},
    "cerebras.pytorch.utils.utils": {
        "FilterCallable": object,
        "convert_glob_to_regex": convert_glob_to_regex,
        "make_param_filter": make_param_filter,
    },
}

# Names that cstorch's own modules have only for programs of the reference.
ADDED = {
    "cerebras.pytorch": {
        "__version__": _VERSION,
        "_generating_docs": False,
        "add_debug_name": _nothing,
        "get_debug_name": lambda module: "",
        "current_backend": setup.current_backend,
        # cerebras.pytorch.experimental is cstorch as well.
        "Compression": Inert,
        "start_implicit_loop": refusal("experimental.start_implicit_loop", _INFERENCE),
        "update_implicit_loop": refusal("experimental.update_implicit_loop", _INFERENCE),
        "get_loop_iteration_slice": refusal("experimental.get_loop_iteration_slice", _INFERENCE),
    },
    "cerebras.pytorch.nn": {
        "SelectiveGrad": refusal("nn.SelectiveGrad", "cstorch has no such operation")
    },
    "cerebras.pytorch.optim.optimizer": {"ParamsT": typing.Any},
    "cerebras.pytorch.sparse": {"Group": sparse.SparsityAlgorithm},
    "cerebras.pytorch.distributed": {
        "get_streaming_batch_size": lambda effective_batch_size, *, global_rank=None: (
            effective_batch_size
        ),
        "service_resolver": service_resolver,
    },
}


def made(name, previous=None):
    """The module `name` of the table; where a function had its name, it may be called as well."""
    module = _CallableModule(name) if callable(previous) else types.ModuleType(name)
    if callable(previous):
        module.called = previous
    vars(module).update(MODULES[name])
    return module


class _CallableModule(types.ModuleType):
    def __call__(self, *args, **kwargs):
        return self.called(*args, **kwargs)


def add_names():
    """Gives cstorch's modules the names of ADDED, and the modules of the table."""
    backends.csx.debug.debug_args = Inert()
    for name, values in ADDED.items():
        module = importlib.import_module("cstorch" + name.removeprefix("cerebras.pytorch"))
        for key, value in values.items():
            if key not in vars(module):
                setattr(module, key, value)
    for name in MODULES:
        importlib.import_module(name)
