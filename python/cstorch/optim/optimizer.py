"""The base of optimizers that a program writes: states in preinitialize, tensor operations in
step."""

import inspect

import torch

from csengine.library import lib
from cstorch import arguments, calls, messages, near, part, required
from cstorch import session as session_module
from cstorch import traced
from cstorch.optim import param_groups
from cstorch.optim.scheduler import in_order, refuse_doubles

# PyTorch's own method is inside of one that imports its compiler, which takes seconds.
_add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)

# What the document says that a subclass defines.
REQUIRED = {
    "preinitialize": "makes its states, self.state[p][NAME], or is empty where it has none",
    "step": "updates the parameters, by tensor operations",
    "state_names_to_sparsify": "gives the list of names of the states that sparsity masks",
}
_RULES = {
    "defaults": (lambda v: isinstance(v, dict), "a dictionary of settings"),
    "enable_global_step": arguments.FLAG,
}


class Optimizer(near.Named, torch.optim.Optimizer):
    """Base class of optimizers whose step is traced.

    A subclass makes its states in preinitialize (self.state[p]["momentum"] = torch.zeros_like(p))
    and writes its step with tensor operations; Python's conditions may not depend on tensors.
    `self.param_groups[i]["lr"]` is a number, or what the learning rate schedule gives.

    Args:
        params: parameters, or dictionaries of groups.
        defaults: settings of groups.
        enable_global_step: keep a step counter in self.state[p]["step"] of each parameter.
    """

    _required = REQUIRED

    def __init__(self, params, defaults, enable_global_step=False):
        if isinstance(params, torch.nn.Module):
            raise TypeError(
                f"{type(self).__name__}() takes the parameters of a model, not the model: "
                f"{type(self).__name__}(model.parameters(), ...)"
            )
        required.check(self, Optimizer, self._required)
        arguments.check(f"{type(self).__name__}()", _RULES, {**locals()})
        self.enable_global_step = enable_global_step
        self._schedules = []
        self._sparsity = self._finite = None
        self._declared = self._stepping = self._initialized = False
        self._is_scheduled = self._has_begun = False
        self._first_groups = []  # settings of the groups when they were added
        super().__init__(params, defaults)
        self._initialize()
        self._initialized = True
        session_module.current.declared.append(self)

    def _initialize(self):
        """The states of all parameters; those that a parameter has already stay."""
        kept = {parameter: dict(values) for parameter, values in self.state.items()}
        with torch.no_grad():
            if self.enable_global_step:
                for group in self.param_groups:
                    for parameter in group["params"]:
                        self.state[parameter]["step"] = torch.zeros((), dtype=torch.float32)
            self.preinitialize()
        for parameter, values in kept.items():
            self.state[parameter].update(values)

    def add_param_group(self, param_group):
        """Adds a group, before the first step."""
        if self._declared:
            raise RuntimeError(
                f"{type(self).__name__}.add_param_group: the optimizer has been in a run already, "
                "or its state_dict() was read, after which its parameters are fixed: add groups "
                "before that, and before the first step"
            )
        _add_param_group(self, param_group)
        settings = {k: v for k, v in self.param_groups[-1].items() if k not in part.MEMBERS}
        self._first_groups.append({k: param_groups.copied(v) for k, v in settings.items()})
        if self._initialized:
            self._initialize()

    def _refuse_torch_schedule(self):
        """A schedule of PyTorch counts in Python, where no step sees it."""
        if getattr(self.step, "_wrapped_by_lr_sched", False):
            raise messages.TraceError(
                f"{type(self).__name__} has a schedule of torch.optim.lr_scheduler, which has no "
                "effect on a step: use the one of its name in cstorch.optim.lr_scheduler"
            )

    def preinitialize(self):
        """Makes the optimizer's states; nowhere else may a state be made."""

    def state_names_to_sparsify(self):
        """Names of the states that sparsity masks with their parameter."""
        return []

    def _sparse_states(self):
        """The same, checked: each is a state of some parameter."""
        names = self.state_names_to_sparsify()
        known = sorted({key for values in self.state.values() for key in values})
        is_list = isinstance(names, (list, tuple, set)) and all(isinstance(n, str) for n in names)
        wrong = [n for n in names if n not in known] if is_list else [names]
        if wrong:
            raise messages.TraceError(
                f"{type(self).__name__}.state_names_to_sparsify() gave {wrong[0]!r}; accepted: a "
                f"list of names of its states, which are: {', '.join(known) or 'none'}"
            )
        return list(names)

    def increment_global_step(self, p):
        """In a step: counts one for the parameter, and gives the count, a float32 scalar."""
        if not self.enable_global_step:
            raise RuntimeError(
                f"{type(self).__name__}.increment_global_step: there is no counter; give "
                "super().__init__() enable_global_step=True"
            )
        if p not in self.state:
            raise ValueError(
                f"{type(self).__name__}.increment_global_step: {messages.describe(p)} is no "
                "parameter of the optimizer; accepted: those of self.param_groups"
            )
        return self.state[p]["step"].add_(1.0)

    # ---- states ----

    def _names(self):
        session = session_module.current
        for group in self.param_groups:
            for parameter in group["params"]:
                state = session.state_of(parameter)
                if state is None:
                    raise messages.TraceError(
                        f"{type(self).__name__}: a parameter {messages.describe(parameter)} belongs"
                        " to no compiled model: call cstorch.compile(model) before the first step"
                    )
                yield parameter, state.name

    def _declare(self):
        self._refuse_torch_schedule()
        if not self._declared:
            self._declare_states()
        refuse_doubles(self)
        for schedule in self._schedules:
            schedule._declare()

    def _declare_states(self):
        self._declared = True
        session = session_module.current
        for parameter, name in list(self._names()):
            for key, value in self.state[parameter].items():
                if isinstance(value, torch.Tensor):
                    state = session.add_state(
                        f"optimizer.{name.removeprefix('model.')}.{key}", value
                    )
                    if state.handle is None:
                        session._declare(state)

    def _check_new_states(self):
        for parameter, name in self._names():
            for key, value in self.state[parameter].items():
                if (
                    isinstance(value, torch.Tensor)
                    and session_module.current.state_of(value) is None
                ):
                    raise messages.TraceError(
                        f"optimizer state {key!r} of {name.removeprefix('model.')} was created "
                        "inside the step; create it in preinitialize()"
                    )

    def _state_tensors(self):
        """(values of a parameter, key, tensor there) of all that are states of the run."""
        session = session_module.current
        return [
            (values, key, value)
            for values in (self.state[parameter] for parameter, _ in self._names())
            for key, value in values.items()
            if isinstance(value, torch.Tensor) and session.state_of(value) is not None
        ]

    # ---- in a step ----

    def zero_grad(self, set_to_none=True):
        if traced.active is not None:
            for parameter, name in self._names():
                traced.active.gradients.pop(name, None)

    def _gradients(self):
        tracer = traced.active
        return [tracer.gradients[name] for _, name in self._names() if name in tracer.gradients]

    def _step_if_finite(self, scaler):
        """The step, undone where a gradient is not finite."""
        tracer = traced.active
        finite = calls.wrap(lib.cse_grad_scaler_finite(scaler.handle), torch.bool)
        self._finite = finite
        before = {}
        session = session_module.current
        for parameter, _ in self._names():
            tensors = [
                parameter,
                *[v for v in self.state[parameter].values() if isinstance(v, torch.Tensor)],
            ]
            for tensor in tensors:
                now = tracer.traced_state(session.state_of(tensor))
                before[now.state.name] = (now, now.handle)
        try:
            self.step()
        finally:
            self._finite = None
        for now, handle in before.values():
            if now.handle != handle:
                now.handle = lib.cse_where(finite.handle, now.handle, handle)

    def _parameter_keys(self):
        """parameter -> its key in state_dict()["state"]."""
        return {p: name.removeprefix("model.") for p, name in self._names()}

    def state_dict(self):
        names = self._parameter_keys()
        states = {
            "state": {names[p]: dict(values) for p, values in self.state.items()},
            "param_groups": param_groups.saved(self, names),
        }
        return part.OwnPart(states)

    def load_state_dict(self, state_dict):
        """Gives states and groups the saved values. All names must be those of this optimizer."""
        what = f"{type(self).__name__}.load_state_dict()"
        part.refuse_other_types(what, state_dict)
        own = {
            f"{name.removeprefix('model.')}.{key}": value
            for parameter, name in self._names()
            for key, value in self.state[parameter].items()
            if isinstance(value, torch.Tensor)
        }
        given = {
            name: value
            for name, value in part.flat("optimizer", state_dict).items()
            if isinstance(value, torch.Tensor)
        }
        part.refuse_other_names(what, own, given)
        for name, value in given.items():
            if value.shape != own[name].shape:
                raise ValueError(
                    f"{what}: {name} has shape {list(value.shape)}, not {list(own[name].shape)}"
                )
        loaded = param_groups.fitting(what, self, self._parameter_keys(), state_dict)
        for group, settings in zip(self.param_groups, loaded or ()):
            group.update(settings)
        with torch.no_grad():
            for name, value in given.items():
                own[name].copy_(value)
        part.go_on_after(state_dict)

    @classmethod
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        step = cls.__dict__.get("step")
        if step is not None and not getattr(step, "is_checked", False):
            cls.step = _checked(step)


def _take_states(tracer, tensors):
    """What the step put in the place of a state (`state["step"] += 1`) is the state's value."""
    for values, key, tensor in tensors:
        value = values.get(key)
        if value is tensor:
            continue
        state = tracer.traced_state(session_module.current.state_of(tensor))
        if not traced.is_traced(value):
            raise messages.TraceError(
                f"{state.label} was replaced in the step by {messages.describe(value)}, which the "
                "step did not compute; change it in place, with .copy_() or another operation of "
                "that form"
            )
        if value.shape != tensor.shape:
            raise messages.TraceError(
                f"{state.label} is {messages.describe(tensor)}, and the step gives it "
                f"{messages.describe(value)}: a state keeps its shape"
            )
        state.handle = calls.cast_handle(calls.operand(value), tensor.dtype)


def _checked(step):
    """The step of a subclass, with the learning rate of its schedule, and a check of new states."""

    def checked(self, *args, **kwargs):
        tracer = traced.active
        if tracer is None:
            raise messages.TraceError(
                f"{messages.place_text()}{type(self).__name__}.step() was called outside of a step:"
                " call it in the function that @cstorch.trace decorates",
                [messages.place()],
            )
        if self._stepping:  # a subclass calls the step of its base class
            return step(self, *args, **kwargs)
        tracer.trains = True
        saved = []
        for schedule in in_order(self):
            for index, group in enumerate(self.param_groups):
                for name, value in schedule._values(self, index).items():
                    saved.append((group, name, group.get(name)))
                    group[name] = value
        tensors = self._state_tensors()
        self._stepping = True
        mask = None
        try:
            with tracer.again():
                if self._sparsity is not None:
                    mask = self._sparsity._begin_update(self)
                    mask()
                result = step(self, *args, **kwargs)
            _take_states(tracer, tensors)
        finally:
            self._stepping = False
            for group, name, value in reversed(saved):
                group[name] = value
            for values, key, tensor in tensors:
                values[key] = tensor
        self._check_new_states()
        if mask is not None:
            mask()
        for schedule in self._schedules:
            schedule._move()
        return result

    checked.is_checked = True
    checked.hooked = True
    return checked


session_module.Session.optimizer_type = Optimizer
