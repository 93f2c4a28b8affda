"""configure, backend, compile: what is set up before the first step."""

import contextlib

import torch

from csengine.library import check, lib
from cstorch import arguments, near, traced, worker_parent
from cstorch import session as session_module
from cstorch.distributed import ClusterConfig
from cstorch.session import Model


BACKENDS = ("CSX", "CPU", "GPU", "WSE_WS")


def configure(**settings):
    """Sets how the run is executed: model_dir, compile_dir, compile_only, validate_only, num_csx,
    num_workers_per_csx, max_wgt_servers, checkpoint_steps, seed, job_labels, ...; precision (a
    dictionary with the names of a configuration's section), or of it tiling_accum, preset,
    precision_opt_level, weight_grad_reduce and weight_update by themselves.

    Before the first execution, each setting once. checkpoint_steps is the default of the data
    loaders. Modules are imported from the folders of python_paths, too, here and in input workers;
    those of mount_dirs must exist, and are seen as they are. Settings of other hardware
    (transfer_processes, ...) have no effect.
    """
    session = session_module.current
    session.configure(**settings)
    if session.trains():
        worker_parent.start()


class Cluster:
    """The cluster of a backend: this machine, or what the configuration names."""

    workflow_id = None
    client = None

    def __init__(self, backend):
        self.config = backend

    def start_workflow(self, **_):
        return True

    def stop_workflow(self, **_):
        pass

    def check_storage_connectivity(self, *_, **__):
        pass


class Backend(near.Named):
    """What cstorch.backend gives: a name, and where tensors are made."""

    appliance = None  # of the reference: none

    def __init__(self, name, artifact_dir=None, **settings):
        self.name = name
        self.device = torch.device("cpu")
        self.torch_device = torch.device("cpu")
        self.is_csx = name.upper() in ("CSX", "WSE_WS")
        self.is_cpu = name.upper() == "CPU"
        self.is_gpu = name.upper() == "GPU"
        self._artifact_dir = artifact_dir
        self.cluster = Cluster(self)
        cluster = settings.pop("cluster_config", None)
        if cluster is not None and not isinstance(cluster, ClusterConfig):
            raise TypeError(
                f"backend(): cluster_config is {cluster!r}; accepted: "
                "cstorch.distributed.ClusterConfig(...)"
            )
        if cluster is not None:
            settings = {**cluster.settings(), **settings}
        configure(**settings)
        session_module.current.backend = self

    @property
    def artifact_dir(self):
        """Where the run's files are: its model_dir, where none is configured."""
        return self._artifact_dir

    @artifact_dir.setter
    def artifact_dir(self, path):
        arguments.check("backend", {"artifact_dir": arguments.PATH}, {"artifact_dir": path})
        session = session_module.current
        if path is not None and session.is_open and path != self._artifact_dir:
            raise RuntimeError(
                "backend.artifact_dir was set after the first execution, whose files have their "
                "place: set it before"
            )
        self._artifact_dir = path
        if path is not None and not session.is_open and "model_dir" not in session.settings:
            session.settings["model_dir"] = str(path)

    @property
    def is_tracing(self):
        """Whether a step is being traced."""
        return traced.active is not None

    @property
    def _impl(self):
        return self

    @property
    def is_e2e_execution(self):
        """Whether steps are run, and not compiled or checked alone."""
        return session_module.current.trains()

    def __repr__(self):
        return f"cstorch.backend({self.name!r})"


def backend(backend_type="CSX", artifact_dir=None, *, model_dir=None, **settings):
    """The backend by name; "CSX", "CPU" and "GPU" all mean this engine. `settings` as those of
    configure, or cluster_config=ClusterConfig(...)."""
    backend_type = getattr(backend_type, "name", backend_type)
    if not isinstance(backend_type, str) or backend_type.upper() not in BACKENDS:
        raise ValueError(f"no backend {backend_type!r}; accepted: CSX, CPU")
    where = model_dir or artifact_dir
    return Backend(
        backend_type, artifact_dir, **({"model_dir": str(where)} if where else {}), **settings
    )


def current_backend(raise_exception=True, raise_warning=True):
    """The backend that was made last; None (or an error) where none was."""
    found = session_module.current.backend
    if found is None and raise_exception:
        raise RuntimeError("no backend was made: call cstorch.backend(...) first")
    return found


def compile(model, backend=None):
    """Prepares a module for tracing: its parameters and buffers become states of the run, named
    model.NAME in checkpoints. Returns the module. Nothing is compiled before the first step."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"compile() takes a torch.nn.Module, not {type(model).__name__}")
    if hasattr(model, "_orig_mod"):
        model = model._orig_mod
    if isinstance(model, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
        model = model.module
    _check_backend(backend)
    session = session_module.current
    if session.trains():
        worker_parent.start()
    if not hasattr(model, "device"):
        model.device = torch.device("cpu")  # where a program finds its tensors
    known = [m for m in session.models if m.module is model]
    if not known:
        count = len(session.models)
        Model(session, model, "model" if count == 0 else f"model{count}")
    return model


def _check_backend(backend):
    """compile()'s second argument is a backend, or the name of one."""
    if backend is None or isinstance(backend, Backend):
        return
    if not isinstance(backend, str) or backend.upper() not in BACKENDS:
        raise ValueError(
            f"compile(): backend is {backend!r}; accepted: what cstorch.backend() gives, or "
            + ", ".join(map(repr, BACKENDS))
        )


def use_cs():
    """True: steps are traced and run by the engine."""
    return True


@contextlib.contextmanager
def name_scope(name):
    """A scope of the step: names of operations in the block begin with it."""
    tracer = traced.active
    if tracer is None:
        yield name
        return
    tracer.scopes.append(name)
    lib.cse_scope_enter(tracer.step, name.encode())
    try:
        yield name
    finally:
        lib.cse_scope_leave(tracer.step, name.encode())
        tracer.scopes.pop()


def current_torch_device():
    """Where tensors of a program are."""
    return torch.device("cpu")


def current_executor():
    """The execution whose loop runs; None outside of any."""
    return session_module.current.execution


def finish():
    """Ends the session: states, models and settings are forgotten, and another one may begin."""
    session_module.current.finish()


def global_step():
    """Training steps done so far, those of a loaded checkpoint included."""
    return lib.cse_global_step() if session_module.current.is_open else 0


def set_global_step(step):
    """Where training goes on, in its data and schedules: after states were loaded."""
    session_module.current.set_global_step(step)


def ops():
    """Names of the PyTorch functions and primitive operations that a step may use."""
    from cstorch import aten, composites

    composite = {getattr(f, "__name__", str(f)) for f in composites.RULES}
    return sorted(composite | set(aten.ops()))
