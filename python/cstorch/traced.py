"""The tensor of a traced step: it has a shape and a type, and no value."""

import threading
import warnings

import torch

from cstorch import messages

# The tracer that is at work; set by cstorch.tracer.
active = None


class View:
    """How a tensor shares the elements of another one, which PyTorch's in-place operations see.

    Attributes:
        base: the tensor whose elements they are.
        read: gives the view's value of the base's.
        write: gives the base's new value of its old one and the view's new one; None: unknown.
        seen: the base's handle when the view was last read.
    """

    def __init__(self, base, read, write):
        self.base = base
        self.read = read
        self.write = write
        self.seen = base.current()


class Traced(torch.Tensor):
    """A value of the step that is being traced.

    Attributes:
        handle: the cse_tensor; NULL where the tensor has no elements.
        viewed: a View where it shares its elements with another one in PyTorch, else None.
        state: the state whose value it is, or None.
        first: the handle of a state's value before the step.
        label: how messages call it.
        asks_gradient: the program called requires_grad_ of it.
        stopped: it was computed in torch.no_grad, so that no gradient goes through it.
    """

    @staticmethod
    def __new__(cls, handle, shape, dtype):
        return torch.Tensor._make_wrapper_subclass(
            cls, shape, dtype=dtype, device="cpu", requires_grad=False
        )

    def __init__(self, handle, shape, dtype):
        self.handle = handle
        self.viewed = None
        self.state = None
        self.first = handle
        self.label = ""
        self.meta_cache = None
        self.output = None
        self.asks_gradient = False
        self.stopped = active is not None and not active.grad_enabled

    def current(self):
        """The handle of its value now: that of a view follows what was written to its base."""
        view = self.viewed
        if view is not None and view.base.current() != view.seen:
            view.seen = view.base.handle
            self.handle = view.read(view.base).handle
        return self.handle

    def is_changed(self):
        """Whether something was written to a state's value in the step."""
        return self.handle != self.first

    def as_meta(self):
        """A meta tensor of this shape and type, to ask PyTorch for its rules."""
        if self.meta_cache is None:
            self.meta_cache = torch.empty(self.shape, dtype=self.dtype, device="meta")
        return self.meta_cache

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if active is None:
            return _outside(func, args, kwargs or {})
        if active.thread != threading.get_ident():
            name = getattr(func, "__name__", func)
            raise messages.TraceError(
                f"{messages.place_text()}{name} was called on a traced tensor in another thread: "
                "a step is traced in one; compute there with tensors that have values, or do it "
                "in the thread of the step"
            )
        return active.function(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if active is None:
            raise messages.TraceError(
                f"{messages.place_text()}{func} was called on a value of a step outside of it: "
                "compute in the function that @cstorch.trace decorates, and read values in a "
                "@cstorch.step_closure"
            )
        return active.dispatch(func, args, kwargs or {})

    def __repr__(self, **_):
        value = _value_now(self)
        return described(self) if value is None else repr(value)

    def __str__(self):
        value = _value_now(self)
        return printed(self) if value is None else str(value)

    def __round__(self, *_):
        refuse_value(self, "round(x)")

    def __format__(self, spec):
        value = _value_now(self)
        return printed(self) if value is None else format(value, spec)


# ---- outside of the step ----

# What can be asked of a tensor without a value.
FORM = {
    "shape",
    "dtype",
    "device",
    "ndim",
    "layout",
    "requires_grad",
    "is_leaf",
    "size",
    "dim",
    "ndimension",
    "numel",
    "nelement",
    "__len__",
    "is_floating_point",
    "is_complex",
    "is_signed",
    "element_size",
}


def name_of(function):
    """ "item" of Tensor.item, "shape" of the function that reads this attribute."""
    name = getattr(function, "__name__", str(function))
    return getattr(function.__self__, "__name__", name) if name == "__get__" else name


def _value_now(tensor):
    """The value of what a step returned, where it is that of the step that the program is at: in
    closures, and after the loop. In the loop's body the engine is at another step."""
    if active is not None or tensor.output is None or tensor.output.is_ahead():
        return None
    return tensor.output.value()


def _outside(func, args, kwargs):
    """An attribute of a step's value after the step was traced (its shape, its type), or, of what
    the step returned, a computation with its value where there is one."""
    values = [a for a in args if isinstance(a, Traced)]
    found = [_value_now(v) for v in values]
    if values and all(value is not None for value in found):
        rest = iter(found)
        return func(*[next(rest) if isinstance(a, Traced) else a for a in args], **kwargs)
    name = name_of(func)
    if name == "detach":
        return args[0]
    if name not in FORM:
        messages.refuse(
            f"{name} of a value of the step in the body of the loop, where the step has not run: "
            f"{NOT_ALLOWED}. Compute in the function that @cstorch.trace decorates, and write "
            f"{CLOSURE}"
        )
    with torch._C.DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


# ---- texts of what has no value ----

NOT_ALLOWED = "it is not allowed to read a tensor's contents outside of a step closure"
CLOSURE = (
    "`@cstorch.step_closure` above `def show(x): print(x)`, and `show(x)` in place of this line"
)


def _instead(tensor):
    if is_traced(tensor):
        return f"{NOT_ALLOWED}: write {CLOSURE}"
    return f"{NOT_ALLOWED}: return it from the step, and give what that returns to a closure"


def _form_of(tensor):
    with torch._C.DisableTorchFunctionSubclass():
        return f"{tensor.label + ' ' if tensor.label else ''}{messages.describe(tensor)}"


def described(tensor):
    """Its form in place of its value, as debuggers and messages show it; told, since `print([x])`
    shows it as well."""
    frame = messages.user_frame()
    if frame is not None:
        warnings.warn_explicit(
            f"{messages.place_text()}the text of {_form_of(tensor)} has no value in it: "
            f"{_instead(tensor)}",
            UserWarning,
            frame.f_code.co_filename,
            frame.f_lineno,
        )
    return f"traced tensor {_form_of(tensor)}: no value here; read it in a @cstorch.step_closure"


def printed(tensor):
    """What print(x), str(x), format(x) and f"{x}" give: the error of a read. A logger would keep
    the error to itself: there its form is written, and told."""
    if messages.is_logging():
        return described(tensor)
    messages.refuse(f"print, or another text, of {_form_of(tensor)}: {_instead(tensor)}")


def is_traced(value):
    """Whether it is a tensor of the step."""
    return isinstance(value, Traced)


def refuse_value(tensor, what):
    """The error of a read: the value is not known while the step is traced."""
    name = f" ({tensor.label})" if tensor.label else ""
    raise messages.TraceError(
        f"{messages.place_text()}{what}: the value of a traced tensor {messages.describe(tensor)}"
        f"{name} is not known while the step is traced. Choose with torch.where, or read it in a "
        "@cstorch.step_closure.",
        [messages.place()],
    )
