"""What would pass in silence while a step is traced, and be wrong: numbers that chance or a clock
gives, which would be the same in each step, and what Python changes, which would change once.

Random numbers of torch by a shape become random numbers of the step. Numbers of `random` and
`numpy.random` are refused, numbers of a clock (cstorch.clock) where they meet a tensor. Dates, other
random numbers, and numbers of the model's modules that change are told about.
"""

import contextlib
import datetime
import random
import sys
import time
import warnings

import numpy
import torch
from torch._functorch import eager_transforms
from torch.utils import _pytree as pytree

from csengine.library import lib
from cstorch import calls, clock, messages
from cstorch import traced as traced_module
from cstorch.traced import Traced
from cstorch.watch import tensor_summary

# ---- random numbers of torch ----


def _sizes(args, kwargs):
    size = kwargs.get("size", args)
    if len(size) == 1 and isinstance(size[0], (list, tuple)):
        size = size[0]
    return tuple(int(s) for s in size)


def _random(name, call, *more):
    def rule(*args, generator=None, out=None, dtype=None, **kwargs):
        tracer = traced_module.active
        sizes = _sizes(args, kwargs)
        if generator is not None or out is not None:
            refuse(
                f"torch.{name} with {'generator' if generator is not None else 'out'}= is not "
                "supported: the random numbers of a step are the engine's, of the run's seed"
            )
        if not sizes:
            warnings.warn(
                f"{messages.place_text()}torch.{name}() of no axes was drawn once, while the step "
                "was traced, and is the same in each step; torch.rand(1) is drawn in each",
                stacklevel=2,
            )
            return NotImplemented
        if tracer.microbatches > 1:
            refuse(
                f"torch.{name}({list(sizes)}) in a step of {tracer.microbatches} microbatches "
                f"would be the same in each of them: use torch.{name}_like(x) of a tensor of "
                "the batch"
            )
        made = call(calls.c_shape(sizes), tracer.stream(more[0]), *more[1:])
        made = calls.wrap(made, torch.float32)
        return made if dtype in (None, torch.float32) else made.to(dtype)

    return rule


def _not_random(name, instead):
    def rule(*_, **__):
        refuse(f"torch.{name} would be drawn once, while the step is traced: {instead}")

    return rule


def refuse(what):
    """Raises the error of a line that cannot be traced."""
    raise messages.TraceError(f"{messages.place_text()}{what}", [messages.place()])


def _of_traced(name, instead):
    def rule(*args, **_):
        leaves = pytree.tree_leaves(args)
        for value in leaves:
            clock.check_number(value)
        if any(isinstance(v, Traced) for v in leaves):
            refuse(f"torch.{name} of tensors of the step, whose values are not known: {instead}")
        return NotImplemented

    return rule


def _as_tensor(data, dtype=None, device=None):
    """A tensor of the step is one already."""
    if isinstance(data, Traced):
        return data if dtype is None else data.to(dtype)
    return _of_traced("as_tensor", "use torch.stack([a, b])")(data)


# Random numbers that PyTorch draws for a tensor with values.
_DRAWS = {
    "normal_",
    "uniform_",
    "bernoulli_",
    "exponential_",
    "random_",
    "geometric_",
    "cauchy_",
    "log_normal_",
    "normal",
    "bernoulli",
    "multinomial",
    "poisson",
    "rand_like",
    "randn_like",
    "randint_like",
    "dropout",
    "alpha_dropout",
}


@contextlib.contextmanager
def drawing(func, args, kwargs, has_traced):
    """Around a call: random numbers that are drawn for a constant of the step are refused."""
    name = getattr(func, "__name__", "")
    made = args and isinstance(args[0], torch.nn.Parameter)  # a new module's, refused elsewhere
    if has_traced or name not in _DRAWS or made:
        yield
        return
    generator = kwargs.get("generator") or torch.default_generator
    before = generator.get_state()
    yield
    if not torch.equal(before, generator.get_state()):
        refuse(
            f"{name} of a tensor that is a constant of the step would be drawn once, while it is "
            "traced: use torch.rand or torch.randn of a shape, or rand_like of a tensor of the step"
        )


# Functions of torch that make tensors of nothing traced.
CREATION = {
    torch.tensor: _of_traced("tensor", "use torch.stack([a, b])"),
    torch.as_tensor: _as_tensor,
    torch.rand: _random("rand", lib.cse_random_uniform, "uniform", 0.0, 1.0),
    torch.randn: _random("randn", lib.cse_random_normal, "normal", 0.0, 1.0),
    torch.randint: _not_random(
        "randint", "use (torch.rand(size) * high).int(), or make it in the data set"
    ),
    torch.randperm: _not_random("randperm", "use torch.rand(n).argsort(), or the data set"),
}

# ---- what cannot be in a step ----


def _no_seed(name):
    return lambda *_: refuse(
        f"torch.{name} has no effect on a step, whose random numbers are the engine's: "
        "set cstorch.configure(seed=...)"
    )


def _no_transform(*_, **__):
    refuse(
        "torch.func.grad, vjp, jvp and what is made of them are not supported in a step: use "
        "loss.backward(), torch.autograd.grad(loss, parameters), or a torch.autograd.Function"
    )


def _no_control(name):
    return lambda *_, **__: refuse(
        f"torch.{name} chooses by a value of the step, which is not known while it is traced: "
        "compute both and choose with torch.where"
    )


def _no_compiler(name):
    return lambda *_, **__: refuse(
        f"{name} in a step: the engine compiles the whole step; call the module itself"
    )


def _no_dlpack(*_, **__):
    refuse(
        "to_dlpack(x): a tensor of the step has no memory while it is traced; read it in a "
        "@cstorch.step_closure"
    )


def _no_collective(name):
    return lambda *_, **__: refuse(
        f"torch.distributed.{name} in a step: the engine adds up gradients over all replicas; "
        "leave it out, or use cstorch.batch_sum(x) for a sum over the batch"
    )


COLLECTIVES = ("all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter", "barrier")


class Reads:
    """Sees, around a trace, calls of C functions that give something else at each time: dates,
    and random numbers that the operating system or a generator of the step's own gives. They are
    told, since what they gave is a constant of the step; clocks and the generators that all share
    are watched where they meet a tensor."""

    NAMES = {
        "now": "datetime.now()",
        "utcnow": "datetime.utcnow()",
        "today": "date.today()",
        "localtime": "time.localtime()",
        "gmtime": "time.gmtime()",
        "ctime": "time.ctime()",
        "urandom": "os.urandom()",
        "getrandom": "os.getrandom()",
        "random": "a number of a random.Random",
        "getrandbits": "a number of a random.Random",
    }
    # Modules that make what they give of such numbers.
    THROUGH = ("uuid", "secrets", "random")

    def __init__(self, other, drawn):
        self.other = other  # a profiler of the program, which goes on instead
        self.drawn = drawn
        self.told = set()

    def begin(self):
        if self.other is None:
            sys.setprofile(self.see)

    def end(self):
        if self.other is None:
            sys.setprofile(None)

    def see(self, frame, event, function):
        """Called by Python for each call, and each return of one."""
        if event != "c_call" or function.__name__ not in self.NAMES:
            return
        owner = function.__self__
        if isinstance(owner, random.Random):
            if owner is random._inst:
                self.drawn.setdefault("random", messages.place_text())
                return
        elif not (isinstance(owner, type) and issubclass(owner, datetime.date)) and (
            getattr(owner, "__name__", "") not in ("time", "posix")
        ):
            return
        if messages.is_inner(frame.f_code.co_filename):
            while frame is not None and frame.f_globals.get("__name__") in self.THROUGH:
                frame = frame.f_back
            if frame is None or messages.is_inner(frame.f_code.co_filename):
                return
        self.tell(frame, self.NAMES[function.__name__])

    def tell(self, frame, what):
        code = frame.f_code
        where = (code.co_filename, frame.f_lineno, code.co_name)
        if (where, what) in self.told or messages.is_installed(code.co_filename):
            return
        self.told.add((where, what))
        warnings.warn_explicit(
            f"{messages.place_text(where)}{what} is read once, while the step is traced, and is "
            "the same in each step: read it in the loop's body, or give it to the step in its "
            "batch; torch.rand is drawn in each step",
            UserWarning,
            code.co_filename,
            frame.f_lineno,
        )


# ---- what is watched while a step is traced ----


class Traps:
    """Around a trace: clocks give marked numbers, and generators of Python are watched."""

    CLOCKS = tuple(
        name + unit
        for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
        for unit in ("", "_ns")
    )
    GENERATORS = {
        random: (
            "random",
            "randint",
            "uniform",
            "gauss",
            "choice",
            "choices",
            "randrange",
            "sample",
            "shuffle",
            "normalvariate",
        ),
        numpy.random: (
            "rand",
            "randn",
            "random",
            "randint",
            "uniform",
            "normal",
            "choice",
            "permutation",
            "shuffle",
            "random_sample",
        ),
    }

    def __init__(self, tracer):
        self.tracer = tracer

    def __enter__(self):
        self.saved = []
        self.drawn = {}
        for name in self.CLOCKS:
            self._replace(time, name, self._clock(getattr(time, name)))
        for owner, names in self.GENERATORS.items():
            for name in names:
                self._replace(owner, name, self._generator(owner, getattr(owner, name)))
        self._replace(torch, "manual_seed", _no_seed("manual_seed"))
        self._replace(
            torch.amp.GradScaler,
            "scale",
            lambda *_: refuse(
                "torch.amp.GradScaler keeps its scale in Python: use cstorch.amp.GradScaler, and "
                "cstorch.amp.optimizer_step or its own methods of the same names"
            ),
        )
        tracer = self.tracer
        self._replace(torch, "is_grad_enabled", lambda: tracer.grad_enabled)
        self._replace(torch.inference_mode, "__enter__", self._enter_inference)
        self._replace(torch.inference_mode, "__exit__", self._leave_inference)
        self._replace(torch, "seed", _no_seed("seed"))
        for name in ("grad_increment_nesting", "jvp_increment_nesting"):
            self._replace(eager_transforms, name, _no_transform)
        self._replace(torch, "cond", _no_control("cond"))
        self._replace(torch.jit, "script", _no_compiler("torch.jit.script"))
        self._replace(torch.jit, "trace", _no_compiler("torch.jit.trace"))
        self._replace(torch.utils.dlpack, "to_dlpack", _no_dlpack)
        if torch.distributed.is_available():
            for name in COLLECTIVES:
                self._replace(torch.distributed, name, _no_collective(name))
        self.read = Reads(sys.getprofile(), self.drawn)
        self.read.begin()
        self.before = self._generators()
        self.numbers = self._numbers()
        return self

    def _replace(self, owner, name, value):
        self.saved.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    @property
    def _enter_inference(self):
        def enter(mode):
            mode.before = self.tracer.grad_enabled
            self.tracer.grad_enabled = mode.before and not mode.mode

        return enter

    @property
    def _leave_inference(self):
        def leave(mode, *_):
            self.tracer.grad_enabled = mode.before

        return leave

    def _clock(self, function):
        def read():
            inner = messages.is_inner(messages.caller_place(1)[0])  # Python's own library
            return function() if inner else clock.marked(function())

        return read

    def _generator(self, owner, function):
        def draw(*args, **kwargs):
            self.drawn.setdefault(owner.__name__, messages.place_text())
            return function(*args, **kwargs)

        return draw

    def _generators(self):
        return {"random": random.getstate(), "numpy.random": repr(numpy.random.get_state()[1:3])}

    def _numbers(self):
        found = {}
        for model in self.tracer.session.models:
            for path, module in model.module.named_modules():
                for name, value in vars(module).items():
                    if name.startswith("_"):
                        continue
                    if type(value) is torch.Tensor:
                        value = tensor_summary(value)
                    elif isinstance(value, Traced):
                        value = None
                    elif type(value) not in (int, float):
                        continue
                    found[f"{path + '.' if path else ''}{name}"] = value
        return found

    def __exit__(self, kind, *_):
        self.read.end()
        for owner, name, value in self.saved:
            setattr(owner, name, value)
        if kind is not None:
            return False
        after = self._generators()
        for name, state in self.before.items():
            if after[name] != state:
                raise messages.TraceError(
                    f"{self.drawn.get(name, '')}the step draws numbers of Python's `{name}`, which "
                    "would be those of the trace in each step: use torch.rand (drawn in each step),"
                    " or draw in the data set or before the loop",
                    [messages.place()],
                )
        now = self._numbers()
        changed = [n for n, v in self.numbers.items() if now.get(n, v) != v]
        if changed:
            warnings.warn(
                f"{messages.place_text()}{', '.join(changed)} of the model changed while the step "
                "was traced: the body runs once, so that it will not change again; make it a "
                "buffer (register_buffer), which tensor operations change",
                stacklevel=2,
            )
        return False
