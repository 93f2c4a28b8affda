"""The session: what cstorch.configure and cstorch.backend set, and the states of all models.

There is one in a process, as in the engine. The engine's session is opened when it is first needed,
so that configure may be called at any time before.
"""

import dataclasses
import json
import os
import sys
import warnings
import weakref

import torch

from csengine import program
from csengine.library import check, ffi, lib
from cstorch import arguments, calls, messages, precision

MODEL_DIR = "./model_dir"


@dataclasses.dataclass(eq=False)
class State:
    """A tensor of the program that is carried from step to step.

    Attributes:
        name: its name in checkpoints, as "model.fc1.weight".
        tensor: the program's tensor.
        trainable: whether gradients are taken with respect to it.
        shape: of the tensor when it was declared.
        handle: the engine's cse_state; None until the session is open.
        version: of the tensor's content, when both were last equal; -1: they never were.
    """

    name: str
    tensor: torch.Tensor
    trainable: bool
    shape: tuple
    handle: object = None
    version: int = -1


def _text(value):
    return ffi.NULL if value is None else ffi.new("char[]", os.fspath(value).encode())


def _held(state):
    """The state's values as they lie in the engine, flat, as words; None where it has none to
    read at this moment."""
    size = calls.numel(state.tensor) * 4
    view = lib.cse_state_view(state.handle)
    if view == ffi.NULL:
        return None
    if size == 0:
        return torch.empty(0, dtype=torch.int32)
    return torch.frombuffer(ffi.buffer(view, size), dtype=torch.int32)


def _engine_form(state):
    """The values of the program's tensor in the type that the engine has for them, flat."""
    values = state.tensor.detach()
    if tuple(values.shape) != state.shape:
        raise RuntimeError(
            f"{state.name} has shape {list(values.shape)} now, and had {list(state.shape)} when "
            "it became a state of the run: give it values of the same shape"
        )
    if values.dtype == torch.int64 and values.numel():
        calls.refuse_beyond_int32(int(values.min()), int(values.max()))
    dtype = torch.float32 if values.dtype.is_floating_point else torch.int32
    return values.to(dtype).contiguous().reshape(-1)


class Session:
    """See the module.

    Attributes:
        states: State objects in the order of their declaration.
        settings: what configure was given.
        precision: what cstorch.amp was told, as the setting `precision`.
        checkpoint_steps: of loops that are given none.
        declared: optimizers, gradient scalers and sparsity, in the order in which they were made;
            each declares its states when the session is opened (_declare).
    """

    FIELDS = (
        "model_dir",
        "compile_dir",
        "compile_only",
        "validate_only",
        "num_csx",
        "num_workers_per_csx",
        "max_wgt_servers",
        "binding",
        "audit_fraction",
        "tiling_accum",
        "preset",
        "precision_opt_level",
        "weight_grad_reduce",
        "weight_update",
        "precision",
        "numerics",
        "recompute",
        "states",
        "portable",
        "seed",
        "job_labels",
        "job_priority",
        "job_time_sec",
        "dashboard",
        "no_run_store",
    )
    RULES = {
        "model_dir": arguments.PATH,
        "compile_dir": arguments.PATH,
        "compile_only": arguments.FLAG,
        "validate_only": arguments.FLAG,
        "checkpoint_steps": arguments.whole(0),
        "num_csx": arguments.whole(1),
        "num_workers_per_csx": arguments.whole(1),
        "max_wgt_servers": arguments.whole(0),
        "binding": arguments.one_of("auto", "cores", "none"),
        "audit_fraction": arguments.number(0, 1),
        "transfer_processes": arguments.whole(1),
        "max_act_per_csx": arguments.whole(1),
        "num_act_servers": arguments.whole(1),
        "mount_dirs": arguments.PATHS,
        "python_paths": arguments.PATHS,
        "job_labels": arguments.LABELS,
        "job_time_sec": arguments.number(0),
        "seed": arguments.whole(0, 2**63 - 1),
        "tiling_accum": arguments.one_of("fp32", "bf16", "bf16sr"),
        "preset": arguments.one_of("mp0", "mp1", "mp2", "mp3", "mp4"),
        "weight_grad_reduce": arguments.one_of("fp32", "bf16", "bf16sr", "fp16", "cb16"),
        "weight_update": arguments.one_of("fp32", "bf16", "bf16sr", "bf16_kahan"),
        "precision_opt_level": arguments.one_of(0, 1, 2),
        "portable": arguments.FLAG,
        "no_run_store": arguments.FLAG,
    }
    # Settings of other hardware or of other ways to start processes: no effect here.
    HINTS = (
        "transfer_processes",
        "max_act_per_csx",
        "mgmt_address",
        "mgmt_namespace",
        "credentials_path",
        "disable_version_check",
        "num_act_servers",
    )

    # Folders, which this process and the input workers see as they are.
    FOLDERS = ("mount_dirs", "python_paths")

    def __init__(self):
        self.settings = {}
        self.precision = {}
        self.precision_places = {}  # name in `precision` -> where it was given
        self.level = None  # precision optimization level that was given beside `precision`
        self.micro_batch_size = None  # of data loaders that are given none
        self.folders = {}
        self.checkpoint_steps = 0
        self.has_checkpoint_steps = False
        self.is_open = False
        self.has_place = False  # whether a step to go on after was set, or steps were made
        self.states = []
        self.models = []
        self.metrics = []
        self.declared = []
        self.backend = None
        self.execution = None
        self.last_execution = None
        self._by_tensor = {}
        self._by_name = {}
        self._modules = weakref.WeakKeyDictionary()

    # ---- settings ----

    def configure(self, **settings):
        """Sets what the session is opened with."""
        known = (*self.FIELDS, *self.HINTS, *self.FOLDERS, "checkpoint_steps")
        unknown = [n for n in settings if n not in known]
        if unknown:
            raise TypeError(
                f"configure() has no argument {unknown[0]!r}; accepted: "
                + ", ".join(sorted((*self.FIELDS, *self.FOLDERS, "checkpoint_steps")))
            )
        arguments.check("configure()", self.RULES, settings)
        self._refuse_again(settings)
        self._take_folders({n: settings[n] for n in self.FOLDERS if settings.get(n)})
        if settings.get("checkpoint_steps") is not None:
            self.checkpoint_steps = int(settings["checkpoint_steps"])
            self.has_checkpoint_steps = True
        hints = [n for n, v in settings.items() if n in self.HINTS and v is not None]
        if hints:
            warnings.warn(
                "without effect here, since they describe other hardware: " + ", ".join(hints),
                stacklevel=4,
            )
        given = {n: v for n, v in settings.items() if v is not None and n in self.FIELDS}
        if "precision_opt_level" in given:
            level = given.pop("precision_opt_level")
            precision.give_level(level, "precision_opt_level", precision.here("cstorch.configure"))
        if "precision" in given:
            self.precision_places["precision"] = precision.here("cstorch.configure")
        self.settings.update(given)

    def _refuse_again(self, settings):
        """A process has one run, whose settings are given once; they may be said again."""
        known = {**self.settings, **self.folders}
        if self.has_checkpoint_steps:
            known["checkpoint_steps"] = self.checkpoint_steps
        if self.level is not None:
            known["precision_opt_level"] = self.level
        for name, value in settings.items():
            if value is None or name in self.HINTS or (name in known and known[name] == value):
                continue
            if self.is_open:
                raise RuntimeError(
                    "configure() was called after the first execution, or after a state_dict() "
                    f"was read, with {name}={value!r}: a process has one session, whose settings "
                    "stay; start another process, or call cstorch.finish() first"
                )
            if name in known:
                raise RuntimeError(
                    f"configure() was called again, with {name}={value!r}, which is "
                    f"{known[name]!r} since the call before: give each setting once, for all runs "
                    "of the process; or call cstorch.finish() first"
                )

    def _take_folders(self, given):
        """python_paths come first among the folders that modules are imported from, here and in
        input workers. What lies in mount_dirs is where it is."""
        for name, folders in given.items():
            missing = [f for f in folders if not os.path.isdir(f)]
            if missing:
                raise ValueError(
                    f"configure(): {name}: there is no folder {os.fspath(missing[0])!r}; accepted: "
                    "a list of folders that exist"
                )
        if "mount_dirs" in given:
            warnings.warn(
                "mount_dirs: nothing has to be mounted, since all processes of a run see this "
                "machine's files; a data set opens its files by the paths that it is given",
                stacklevel=5,
            )
        wanted = [os.path.abspath(f) for f in given.get("python_paths", ())]
        sys.path[1:1] = [f for f in wanted if f not in sys.path]
        self.folders.update(given)

    def trains(self):
        """Whether steps are run, and not compiled or checked alone."""
        return not (self.settings.get("compile_only") or self.settings.get("validate_only"))

    def _labels(self, labels):
        kept = [_text(label) for label in labels]
        self._kept += kept
        return ffi.new("char *[]", [*kept, ffi.NULL])

    def open(self):
        """Opens the engine's session, and declares the states that there are by now."""
        if not self.is_open:
            self._open()
        for state in self.states:
            if state.handle is None:
                self._declare(state)
        for model in self.models:
            model.declare()
        for one in sorted(self.declared, key=lambda d: hasattr(d, "optimizers")):
            one._declare()  # sparsity last, which looks for its optimizers
        for metric in self.metrics:
            metric._open()

    def begin(self):
        """The same for an execution, from which on optimizers stay as they are."""
        self.open()
        for one in self.declared:
            if isinstance(one, self.optimizer_type):
                one._has_begun = True

    def _open(self):
        values = dict(self.settings)
        self._kept = []
        fields = {}
        for name, value in values.items():
            if name == "job_labels":
                value = self._labels(value)
            elif name in ("precision", "numerics", "recompute", "states", *precision.OF_CONFIGURE):
                continue
            elif isinstance(value, (str, os.PathLike)):
                value = _text(value)
            fields[name] = value
            self._kept.append(value)
        text, place = precision.for_engine(self)
        if place is not None:
            fields["precision_origin"] = _text(place)
        for name, value in (
            ("precision", text),
            ("numerics", values.get("numerics")),
            ("recompute", values.get("recompute")),
            ("states", values.get("states")),
        ):
            if value:
                fields[name] = _text(value if isinstance(value, str) else json.dumps(value))
        executable = program.find()
        if executable is not None:
            fields["worker_executable"] = _text(executable)
        check(lib.cse_configure(ffi.new("cse_configuration *", fields)))
        self.is_open = True

    def set_global_step(self, step):
        """Where training goes on, in its data and schedules."""
        arguments.check("set_global_step()", {"step": arguments.whole(0, 2**62)}, {"step": step})
        if self.execution is not None:
            raise RuntimeError(
                "set_global_step() was called in a loop over a data loader, whose steps are "
                "numbered already: call it before the loop"
            )
        self.open()
        check(lib.cse_set_global_step(step))
        self.has_place = True

    def finish(self):
        """Releases the engine's session and forgets all states."""
        if self.execution is not None:
            self.execution.end()
        if self.is_open:
            lib.cse_finish()
        self.__init__()

    def check(self):
        """Raises the session's first failure."""
        check(lib.cse_session_status())

    # ---- states ----

    def add_state(self, name, tensor, trainable=False):
        """Declares a tensor of the program as a state."""
        known = self.state_of(tensor)
        if known is not None:
            return known
        if name in self._by_name:
            raise ValueError(f"two states have the name {name!r}")
        if tensor.dtype not in (torch.float32, torch.int32, torch.int64):
            raise messages.TraceError(
                f"{name} is {messages.describe(tensor)}; states are float32, int32 or int64: "
                + (
                    "convert the model with .float(); precision is chosen by cstorch.amp and the "
                    "configuration"
                    if tensor.dtype.is_floating_point
                    else "convert it"
                )
            )
        state = State(name, tensor, trainable, tuple(tensor.shape))
        self.states.append(state)
        self._by_tensor[id(tensor)] = state
        self._by_name[name] = state
        return state

    def state_of(self, tensor):
        """The state of a tensor of the program, or None."""
        return self._by_tensor.get(id(tensor))

    def state_at(self, tensor):
        """The state whose tensor has the same elements in memory, or None."""
        for state in self.states:
            if state.tensor.data_ptr() == tensor.data_ptr() and tensor.numel() > 0:
                if state.tensor.shape == tensor.shape and state.tensor.dtype == tensor.dtype:
                    return state
        return None

    def state_named(self, name):
        """The state of that name, or None."""
        return self._by_name.get(name)

    def trainable_candidates(self):
        """States of parameters, whether they are trained or not."""
        return [s for s in self.states if s.trainable]

    def trainable_states(self):
        return [s for s in self.states if s.trainable and s.tensor.requires_grad]

    def _declare(self, state):
        with torch._C.DisableTorchFunction():
            shape = calls.c_shape(state.tensor.shape)
        state.handle = lib.cse_state_new(
            state.name.encode(),
            shape,
            calls.c_dtype(state.tensor.dtype),
            ffi.new("cse_initializer *", {"kind": lib.CSE_INIT_CONSTANT})[0],
        )
        if state.handle == ffi.NULL:
            self.check()

    def write_states(self):
        """Gives the engine the states that the program changed since they were last equal. What
        counts is the content: writes through `.data` or NumPy's views leave no other trace. A
        state that the engine keeps otherwise, as rounded, has its values in the program, too."""
        for model in self.models:
            model.refuse_replaced()
        for state in self.states:
            if state.handle is not None and not self.is_equal(state):
                values = _engine_form(state)
                check(
                    lib.cse_state_set(
                        state.handle, ffi.from_buffer(values.numpy()), values.numel() * 4
                    )
                )
                state.version = state.tensor._version
                if not self.is_equal(state):
                    self._read(state)

    def is_equal(self, state):
        """Whether the program's tensor and the engine's state hold the same bits."""
        if state.version == -1:
            return False
        held = _held(state)
        if held is None:  # nothing can be read now: what is known is whether torch saw a write
            return state.version == state.tensor._version
        if not torch.equal(held, _engine_form(state).view(torch.int32)):
            return False
        state.version = state.tensor._version
        return True

    def read_states(self):
        """Gives the program's tensors the values that the engine has; False where it has none."""
        return all(self._read(state) for state in self.states if state.handle is not None)

    def _read(self, state):
        held = _held(state)
        if held is None:
            return False
        values = held.view(torch.float32) if state.tensor.dtype.is_floating_point else held
        with torch.no_grad():
            state.tensor.copy_(values.reshape(state.tensor.shape))
        state.version = state.tensor._version
        return True

    # ---- modules ----

    def add_model(self, model):
        self.models.append(model)
        for name, module in model.module.named_modules():
            self._modules[module] = f"{model.prefix}.{name}" if name else model.prefix

    def module_name(self, module):
        """The dotted name of a module of a model, as "model.fc1"; "" for others."""
        return self._modules.get(module, "")


class Model:
    """A module whose parameters are states."""

    def __init__(self, session, module, prefix):
        self.module = module
        self.handle = None
        self.session = session
        self.prefix = prefix
        self.parameters = []
        self.buffers = {}  # dotted name -> the tensor that is a state
        for name, parameter in module.named_parameters():
            self.parameters.append(session.add_state(f"{prefix}.{name}", parameter, True))
        kept = set(module.state_dict(keep_vars=True))
        for name, buffer in module.named_buffers():
            if name in kept and buffer.dtype in (torch.float32, torch.int32, torch.int64):
                session.add_state(f"{prefix}.{name}", buffer)
                self.buffers[name] = buffer
        session.add_model(self)

    def refuse_replaced(self):
        """A parameter that took the place of one would be no state of the run."""
        now = dict(self.module.named_parameters())
        for state in self.parameters:
            tensor = now.get(state.name.removeprefix(f"{self.prefix}."))
            if tensor is not state.tensor:
                raise RuntimeError(
                    f"{state.name} is not the parameter that cstorch.compile saw, but "
                    f"{'none' if tensor is None else 'another one'}: copy values into it, with "
                    ".copy_() or load_state_dict() without assign=True"
                )

    def declare(self):
        if self.handle is not None:
            return
        states = [s.handle for s in self.parameters]
        self.handle = lib.cse_compile(
            lib.cse_model_from_states(
                type(self.module).__name__.encode(),
                ffi.new("cse_state *[]", states or [ffi.NULL]),
                len(states),
            )
        )


current = Session()


def reset_after_fork():
    """A child of fork has no session: the workers and the memory are its parent's."""
    current.execution = None
    current.is_open = False


os.register_at_fork(after_in_child=reset_after_fork)
