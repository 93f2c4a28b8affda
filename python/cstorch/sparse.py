"""Weight sparsity: the engine's algorithms, of its optimizers and of those of a program."""

import json
import warnings

import torch

from csengine.library import ffi, lib
from cstorch import arguments, calls, traced
from cstorch import session as session_module
from cstorch.arguments import either, number, one_of

ALGORITHMS = ("static", "gmp", "set", "rigl")
_TYPED = (lambda v: isinstance(v, dict) and "type" in v, "a schedule {type: ...}")
_NUMBERS = (
    lambda v: isinstance(v, (list, tuple)) and all(number(0, 1)[0](one) for one in v),
    "a list of numbers from 0 to 1",
)
_PART = (lambda v: number(0)[0](v) and float(v) < 1, "a number from 0 to below 1")
_PATTERNS = (
    lambda v: isinstance(v, str)
    or callable(v)
    or (isinstance(v, (list, tuple)) and v and all(isinstance(p, str) for p in v)),
    "a pattern of names, a list of patterns, or a function of (name, parameter)",
)
RULES = {
    "algorithm": one_of(*ALGORITHMS),
    "sparsity": either(_PART, _TYPED, _NUMBERS),
    "schedule": either(_PART, _TYPED, _NUMBERS),
    "init_method": one_of("random", "topk", "from_zeros", "checkerboard"),
    "param_filter": _PATTERNS,
    "drop_fraction": either(number(0, 1), _TYPED, _NUMBERS),
    "update": (
        lambda v: isinstance(v, dict) and ("freq" in v or "steps" in v),
        "{freq: STEPS, start: STEP, stop: STEP} or {steps: [...]}",
    ),
}


def _checked(algorithm="static", /, **settings):
    """The settings of one group, without those that are None."""
    algorithm = algorithm.lower() if isinstance(algorithm, str) else algorithm
    given = {"algorithm": algorithm, **settings}
    for name in given:
        if name not in RULES:
            raise TypeError(f"sparsity has no argument {name!r}; accepted: {', '.join(RULES)}")
    arguments.check("sparsity", RULES, given)
    if given.get("sparsity") is not None and given.get("schedule") is not None:
        raise ValueError("sparsity: sparsity and schedule mean the same: give one of them")
    return {name: value for name, value in given.items() if value is not None}


class SparsityAlgorithm:
    """Sparsity by the engine's algorithms static, gmp, set and rigl.

    Args:
        algorithm: the name.
        settings: sparsity, update, param_filter, ... as in docs/sparsity.md; param_filter may be a
            function of (name, parameter), too.
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__module__ != __name__:
            raise TypeError(
                f"{cls.__name__}: algorithms of your own are not offered; accepted: "
                f"cstorch.sparse.configure({{'algorithm': ...}}) with {', '.join(ALGORITHMS)}, or "
                "a mask of your own, a buffer of the model that its forward multiplies by"
            )

    def __init__(self, algorithm="static", **settings):
        self.settings = _checked(algorithm, **settings)
        self._begin([self.settings])

    def _begin(self, groups):
        self._groups = groups  # each parameter belongs to the first that chooses it
        self.modules = []
        self.optimizers = []
        self._handles = {}  # optimizer -> its cse_optimizer, or its cse_sparsity
        self._noted = self._warned = False

    def apply(self, target):
        """Makes weights sparse: those of an optimizer, or those of a model, which its optimizers
        update. Both may be given, in calls of their own, before the first step."""
        if isinstance(target, torch.nn.Module):
            self.modules.append(target)
        elif isinstance(target, session_module.Session.optimizer_type):
            if getattr(target, "_has_begun", False):
                raise RuntimeError(
                    f"sparsity: {type(target).__name__} has been in a run already, in which its "
                    "masks are fixed: call apply() before the first step"
                )
            if target not in self.optimizers:
                self.optimizers.append(target)
        else:
            raise TypeError(
                f"sparsity: apply() was given {type(target).__name__}; accepted: a torch.nn.Module,"
                " or an optimizer of cstorch.optim"
            )
        if not self._noted:
            self._noted = True
            session_module.current.declared.append(self)
        return target

    # ---- when the session is opened ----

    def _declare(self):
        """Of each optimizer once; those that update a parameter of a module belong to it."""
        session = session_module.current
        parameters = {id(p) for module in self.modules for p in module.parameters()}
        chosen = list(self.optimizers)
        for one in session.declared:
            if isinstance(one, session_module.Session.optimizer_type) and one not in chosen:
                if any(id(p) in parameters for p in _parameters(one)):
                    chosen.append(one)
        for optimizer in chosen:
            if optimizer not in self._handles:
                self._refuse_part(optimizer, parameters)
                self._handles[optimizer] = self._configured(session, optimizer)
        if not chosen and not self._warned:
            self._warned = True
            warnings.warn(
                "a sparsity has no effect: it was applied to a module that no optimizer of "
                "cstorch.optim updates; its weights are computed with as they are",
                stacklevel=2,
            )

    def _refuse_part(self, optimizer, parameters):
        if self.modules and any(id(p) not in parameters for p in _parameters(optimizer)):
            raise ValueError(
                f"sparsity: {type(optimizer).__name__} updates parameters beside those of the "
                "module that apply() was given: give it the whole model, and choose parameters by "
                "param_filter"
            )

    def _configured(self, session, optimizer):
        chosen = list(_parameters(optimizer))
        text = json.dumps([_named(g, chosen) for g in self._groups], default=float).encode()
        if getattr(optimizer, "engine_name", None) is not None:
            lib.cse_configure_sparsity(optimizer.handle, text)
            session.check()
            return optimizer.handle
        if optimizer._sparsity is not None:
            raise ValueError(
                f"sparsity: {type(optimizer).__name__} has one already; give one, whose "
                "param_filter chooses all sparse parameters"
            )
        states = [session.state_of(p) for p in chosen]
        optimizer._sparse_states()
        array = ffi.new("cse_state *[]", [s.handle for s in states] or [ffi.NULL])
        handle = lib.cse_sparsity_new(array, len(states), text)
        session.check()
        optimizer._sparsity = self
        return handle

    # ---- in the step of an optimizer of the program ----

    def _begin_update(self, optimizer):
        """Masks the gradients, and moves the masks on. Returns a function that masks parameters
        and states, to be called before the update and after it."""
        tracer, session = traced.active, session_module.current
        finite = ffi.NULL if optimizer._finite is None else optimizer._finite.handle
        parameters = list(_parameters(optimizer))
        names = [session.state_of(p).name for p in parameters]
        gradients = [tracer.gradients.get(name) for name in names]
        array = ffi.new(
            "cse_tensor *[]", [ffi.NULL if g is None else g.current() for g in gradients]
        )
        kept = ffi.new("cse_tensor *[]", len(parameters))
        lib.cse_sparsity_step(self._handles[optimizer], finite, array, kept)
        for gradient, handle in zip(gradients, array):
            if gradient is not None:
                gradient.handle = handle
        masks = [calls.wrap(k, torch.bool) if k != ffi.NULL else None for k in kept]
        words = optimizer._sparse_states()

        def mask():
            for parameter, kept in zip(parameters, masks):
                if kept is None:
                    continue
                own = optimizer.state[parameter]
                for tensor in (parameter, *[own[w] for w in words if w in own]):
                    if tensor.shape == parameter.shape:
                        value = tracer.traced_state(session.state_of(tensor))
                        value.handle = lib.cse_where(
                            kept.handle, value.handle, lib.cse_constant(0.0)
                        )

        return mask


def _named(group, parameters):
    """Its settings with the names that a filter which is a function chooses."""
    wanted = group.get("param_filter")
    if not callable(wanted):
        return group
    session = session_module.current
    names = {session.state_of(p).name.removeprefix("model."): p for p in parameters}
    chosen = [name for name, parameter in names.items() if wanted(name, parameter)]
    if not chosen:
        raise ValueError(
            "sparsity: param_filter chooses none of the optimizer's parameters; they are: "
            + ", ".join(names)
        )
    return {**group, "param_filter": chosen}


def _parameters(optimizer):
    return (p for group in optimizer.param_groups for p in group["params"])


class _Named(SparsityAlgorithm):
    """One algorithm; arguments are those of SparsityAlgorithm.

    Args:
        sparsity: part of the elements that are zero, from 0 to below 1, or a schedule.
    """

    def __init__(self, sparsity=None, **settings):
        if "algorithm" in settings:
            raise TypeError(f"{type(self).__name__} has no argument 'algorithm'")
        super().__init__(type(self).__name__, sparsity=sparsity, **settings)


class Static(_Named):
    """Masks do not change."""


class GMP(_Named):
    """Gradual magnitude pruning: the smallest weights go out of use as the schedule says."""


class SET(_Named):
    """Some of the smallest weights go out of use, and as many come into use at random."""


class RigL(_Named):
    """The same, where the gradient is largest."""


def _checked_group(settings):
    settings = dict(settings)
    return _checked(settings.pop("algorithm", "static"), **settings)


def configure(settings):
    """A SparsityAlgorithm of a number, a dictionary, or a list of dictionaries, each of which is
    for the parameters that those before it left."""
    is_list = isinstance(settings, (list, tuple)) and settings
    if is_list and all(isinstance(one, dict) for one in settings):
        made = SparsityAlgorithm.__new__(SparsityAlgorithm)
        made.settings = [_checked_group(one) for one in settings]
        made._begin(made.settings)
        return made
    if isinstance(settings, dict):
        return SparsityAlgorithm(**settings)
    if isinstance(settings, (int, float)) and not isinstance(settings, bool):
        return SparsityAlgorithm(sparsity=settings)
    raise TypeError(
        f"sparse.configure(): settings is {settings!r}; accepted: a number from 0 to below 1, a "
        "dictionary of settings, or a list of them"
    )
