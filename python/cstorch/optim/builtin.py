"""The engine's optimizers. Their rule and states are the engine's; here are names and settings."""

import json
import typing

import torch

from csengine.library import ffi, lib
from cstorch import calls, messages, part, traced
from cstorch import session as session_module
from cstorch.optim import param_groups, signatures, torch_rules, values
from cstorch.optim.optimizer import Optimizer
from cstorch.optim.scheduler import configure_engine, in_order

# Settings of PyTorch's constructors that choose how it computes the same numbers.
_IGNORED = ("foreach", "fused", "capturable", "param_names")
# Words about a group, beside its settings.
_OF_GROUPS = ("tags", "name", "adjust_learning_rate")
# Settings that a step takes from the groups; the engine keeps the others from the first step on.
_OF_STEPS = ("lr", "weight_decay")


def _plain(name, value):
    """The value of a setting as the engine reads it: numbers of tensors and of NumPy as numbers."""
    if isinstance(value, (list, tuple)):
        return [_plain(name, one) for one in value]
    if isinstance(value, torch.Tensor) and (value.numel() != 1 or traced.is_traced(value)):
        raise TypeError(
            f"the optimizer's setting {name} is a tensor {messages.describe(value)}; accepted: a "
            "number, or a tensor of one"
        )
    return value.item() if hasattr(value, "item") else value


def _as_number(value):
    """A tensor or NumPy's number as a number of Python, also in lists and tuples."""
    if type(value) in (list, tuple):
        return type(value)(_as_number(one) for one in value)
    return value.item() if hasattr(value, "item") else value


class EngineOptimizer(Optimizer):
    """An optimizer of the engine.

    Args:
        params: parameters, or dictionaries of groups with settings of their own.
        settings: as `csengine list optimizers NAME` gives them; lr is a number.
    """

    engine_name = None
    _required = {}  # rule and states are the engine's

    def __init__(self, params, **settings):
        if self.engine_name is None:
            raise TypeError(
                f"{type(self).__name__} has no rule: take one of {', '.join(OPTIMIZERS)}, or "
                "derive from cstorch.optim.Optimizer, whose step() is yours"
            )
        self.handle = None
        self._made = []  # settings of the groups when the engine made the optimizer
        settings = {k: v for k, v in settings.items() if v is not None}
        self._check(settings)
        settings = {k: v for k, v in settings.items() if k not in (*_IGNORED, *_OF_GROUPS)}
        settings = {**torch_rules.defaults(self.engine_name), **settings}
        settings.setdefault("lr", None)  # programs look for it in the groups
        super().__init__(params, settings)

    def _check(self, settings, caller=None):
        given = {
            k: v
            for k, v in settings.items()
            if k not in (*_IGNORED, *_OF_GROUPS, "params", "initial_lr")
            and not (k == "differentiable" and not v)
        }
        names = ("lr", *SETTINGS[self.engine_name].split())
        caller = caller or f"{type(self).__name__}()"
        values.check(caller, values.OPTIMIZER_RULES, names, given)

    def add_param_group(self, param_group):
        """Adds a group, before the first step."""
        if isinstance(param_group, dict):
            self._check({k: v for k, v in param_group.items() if v is not None})
        super().add_param_group(param_group)

    def _settings(self, group):
        return {
            name: _plain(name, value)
            for name, value in group.items()
            if name not in ("params", "initial_lr", *_IGNORED, *_OF_GROUPS)
            and value is not None
            and not (name == "differentiable" and value is False)
        }

    def _declare(self):
        if self.handle is not None:
            configure_engine(self)  # of a schedule that was made after a state_dict() was read
            session_module.current.check()
            return
        self._refuse_torch_schedule()
        session = session_module.current
        names = dict(self._names())
        groups = [self._settings(group) for group in self.param_groups]
        self._made = [dict(settings) for settings in groups]
        if any(s.param_group_key == "lr" and not s._is_engines() for s in self._schedules):
            for settings in groups:
                settings.setdefault("lr", 0.0)  # the program's schedule gives it in each step
        has_words = any(g.get(word) is not None for g in self.param_groups for word in _OF_GROUPS)
        if has_words and all(group["params"] for group in self.param_groups):
            self._make(list(names), {"params": self._described(groups, names)})
        else:
            self._make(self.param_groups[0]["params"], groups[0])
            for group, settings in list(zip(self.param_groups, groups))[1:]:
                lib.cse_optimizer_add_group(
                    self.handle,
                    *self._states(group["params"]),
                    json.dumps(
                        {k: v for k, v in settings.items() if groups[0].get(k) != v}
                    ).encode(),
                )
        self._declared = True
        configure_engine(self)
        session.check()

    @staticmethod
    def _states(parameters):
        states = [session_module.current.state_of(p).handle for p in parameters]
        return ffi.new("cse_state *[]", states or [ffi.NULL]), len(states)

    def _make(self, parameters, settings):
        self.handle = lib.cse_optimizer_new(
            self.engine_name.encode(), *self._states(parameters), json.dumps(settings).encode()
        )
        if self.handle == ffi.NULL:
            session_module.current.check()

    def _described(self, groups, names):
        """Groups with names, tags or factors, as the engine's setting `params` has them."""
        return [
            {
                **settings,
                **{word: group[word] for word in _OF_GROUPS if group.get(word) is not None},
                "params": [names[p] for p in group["params"]],
            }
            for group, settings in zip(self.param_groups, groups)
        ]

    def step(self, closure=None):
        """Traces the update with the gradients of its parameters."""
        self._apply(None)

    step.is_checked = True
    step.hooked = True

    def _apply(self, scaler):
        tracer = traced.active
        if tracer is None:
            raise messages.TraceError(
                f"{messages.place_text()}{type(self).__name__}.step() was called outside of a step:"
                " call it in the function that @cstorch.trace decorates",
                [messages.place()],
            )
        tracer.trains = True
        session = session_module.current
        if self.handle is None:
            raise messages.TraceError(
                f"{messages.place_text()}the optimizer was made inside of the "
                "step: make it before the loop",
                [messages.place()],
            )
        by_handle = {s.handle: s for s in session.states}
        gradients = []
        for index in range(lib.cse_optimizer_parameter_count(self.handle)):
            state = by_handle[lib.cse_optimizer_parameter_at(self.handle, index)]
            value = tracer.traced_states.get(state.name)
            if value is not None and value.is_changed():
                raise messages.TraceError(
                    f"{messages.place_text()}{state.name} was changed in the step before "
                    f"{type(self).__name__}.step(), which updates the value before the step: "
                    "change it after, or write an optimizer of your own",
                    [messages.place()],
                )
            gradient = tracer.gradients.get(state.name)
            gradients.append(ffi.NULL if gradient is None else gradient.handle)
        if all(gradient == ffi.NULL for gradient in gradients):
            raise messages.TraceError(
                f"{messages.place_text()}{type(self).__name__}.step() changes nothing, since no "
                "parameter has a gradient: call loss.backward() before it, and zero_grad() after",
                [messages.place()],
            )
        self._take_changed_settings()
        own = [s for s in in_order(self) if not s._is_engines()]
        for schedule in own:
            for group in range(lib.cse_optimizer_group_count(self.handle)):
                for name, value in schedule._values(self, group).items():
                    self._set_value(name, group, calls.operand(value, torch.float32))
        array = ffi.new("cse_tensor *[]", gradients or [ffi.NULL])
        tracer.at()
        if scaler is None:
            lib.cse_optimizer_apply(self.handle, array)
        else:
            lib.cse_grad_scaler_step(scaler.handle, self.handle, array)
        for schedule in own:
            schedule._move()
        tracer.traced_states = {n: s for n, s in tracer.traced_states.items() if s.is_changed()}

    def _take_changed_settings(self):
        """What the program has written into its groups since the engine made the optimizer, as
        `group["lr"] = 0.01` between two loops, holds in this step; a schedule has its own value."""
        for index, (group, made) in enumerate(zip(self.param_groups, self._made)):
            now = self._settings(group)
            for name in sorted({*now, *made}):
                if now.get(name) == made.get(name) or self._has_schedule(name, group):
                    continue
                if name not in _OF_STEPS or name not in now:
                    raise messages.TraceError(
                        f"{messages.place_text()}{type(self).__name__}.param_groups[{index}]"
                        f"[{name!r}] is {now.get(name)!r}, and was {made.get(name)!r} in the first "
                        "run; lr and weight_decay alone may change between runs: put it back, or "
                        "make another optimizer after cstorch.finish()"
                    )
                factor = group.get("adjust_learning_rate") if name == "lr" else None
                value = now[name] * (1.0 if factor is None else factor)
                self._set_value(name, index, calls.operand(value, torch.float32))

    def _has_schedule(self, name, group):
        return any(s.param_group_key == name and s._is_for(group) for s in in_order(self))

    def _set_value(self, name, group, value):
        """What a schedule of the program gives in this step, or the program itself."""
        set_value = {
            "lr": lib.cse_optimizer_set_rate,
            "weight_decay": lib.cse_optimizer_set_weight_decay,
        }.get(name)
        if set_value is None:
            raise messages.TraceError(
                f"{messages.place_text()}a schedule of {name}: those of the engine's optimizers "
                "are of lr and weight_decay",
                [messages.place()],
            )
        set_value(self.handle, group, value)

    def _step_if_finite(self, scaler):
        self._apply(scaler)

    def state_dict(self):
        saved = param_groups.saved(self, self._parameter_keys())
        settings = [{k: _as_number(v) for k, v in group.items()} for group in saved]
        return part.Part("optimizer", settings)

    def load_state_dict(self, state_dict):
        """Gives states and groups the saved values. Before the engine has made the optimizer these
        may be other settings of any name, from then on of lr and weight_decay."""
        what = f"{type(self).__name__}.load_state_dict()"
        part.refuse_other_types(what, state_dict)
        loaded = param_groups.fitting(what, self, self._parameter_keys(), state_dict) or []
        for index, (group, settings) in enumerate(zip(self.param_groups, loaded)):
            self._refuse_settings(f"{what}: param_groups[{index}]", index, group, settings)
        before = [dict(group) for group in self.param_groups]
        for group, settings in zip(self.param_groups, loaded):
            group.update(settings)
        try:
            part.load("optimizer", state_dict, what)
        except Exception:
            self._put_back(before)
            raise

    def _refuse_settings(self, what, index, group, settings):
        """Names and values that the optimizer has not, and those that it has no longer."""
        self._check({k: v for k, v in settings.items() if v is not None}, what)
        if self.handle is None:
            return
        merged = {**group, **settings}
        now, made = self._settings(merged), dict(self._made[index])
        for word in _OF_GROUPS:
            now[word], made[word] = merged.get(word), group.get(word)
        for name in sorted({*now, *made}):
            value, was = now.get(name), made.get(name)
            takes = name in _OF_STEPS and (name in now or self._has_schedule(name, group))
            if value != was and not takes:
                raise ValueError(
                    f"{what} was saved with {name}={value!r}, and the engine has made the "
                    f"optimizer with {was!r}; lr and weight_decay alone may change from then on: "
                    "load before the first step, and before another state_dict() is read or loaded"
                )

    def _put_back(self, before):
        """The groups as they were, in what the engine has not been given."""
        for group, was in zip(self.param_groups, before):
            fixed = {} if self.handle is None else dict(group)
            group.clear()
            group.update({**was, **{k: v for k, v in fixed.items() if k not in _OF_STEPS}})


def _optimizer(name, names):
    def __init__(self, params, lr=None, *positional, **settings):
        if len(positional) > len(names):
            raise TypeError(
                f"{name}() takes at most {len(names) + 2} positional arguments: params, lr, "
                + ", ".join(names)
            )
        for one, value in zip(names, positional):
            if one in settings:
                raise TypeError(f"{name}() was given {one} twice, by its place and by its name")
            settings[one] = value
        EngineOptimizer.__init__(self, params, **{"lr": lr, **settings})

    signatures.give(
        __init__,
        signatures.parameter("params", typing.Any),
        signatures.parameter("lr", typing.Optional[float], torch_rules.defaults(name).get("lr")),
        *signatures.settings(names),
    )
    return type(
        name,
        (EngineOptimizer,),
        {"engine_name": name, "__init__": __init__, "__doc__": EngineOptimizer.__doc__},
    )


# Names of each one's settings, first torch's in the order of its arguments; `csengine list optimizers NAME` says what they are.
SETTINGS = {
    "Adadelta": "rho eps weight_decay maximize moments moments_rounding",
    "Adafactor": "eps clip_threshold decay_rate beta1 weight_decay scale_parameter relative_step "
    "warmup_init moments moments_rounding",
    "Adagrad": "lr_decay weight_decay initial_accumulator_value eps maximize moments "
    "moments_rounding",
    "Adam": "betas eps weight_decay amsgrad maximize decoupled_weight_decay eps_added_to "
    "correct_bias moments moments_rounding",
    "Adamax": "betas eps weight_decay maximize moments moments_rounding",
    "AdamW": "betas eps weight_decay amsgrad maximize eps_added_to correct_bias moments "
    "moments_rounding",
    "ASGD": "lambd alpha t0 weight_decay maximize",
    "Lamb": "betas eps weight_decay adam moments moments_rounding",
    "Lion": "betas weight_decay moments moments_rounding",
    "NAdam": "betas eps weight_decay momentum_decay decoupled_weight_decay maximize moments "
    "moments_rounding",
    "RAdam": "betas eps weight_decay decoupled_weight_decay maximize moments moments_rounding",
    "RMSprop": "alpha eps weight_decay momentum centered maximize moments moments_rounding",
    "Rprop": "etas step_sizes maximize",
    "SGD": "momentum dampening weight_decay nesterov maximize dampen_first_step moments "
    "moments_rounding",
    "SM3": "momentum beta eps moments moments_rounding",
}
OPTIMIZERS = {name: _optimizer(name, names.split()) for name, names in SETTINGS.items()}
(
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    ASGD,
    Lamb,
    Lion,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
    SGD,
    SM3,
) = OPTIMIZERS.values()
AdamBase = EngineOptimizer
