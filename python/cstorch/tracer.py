"""The tracer: each PyTorch call of a step becomes calls of the engine.

Two layers see a call. A function mode sees what the program wrote (torch.nn.functional.linear,
Tensor.add_, Tensor.backward): the table of cstorch.composites maps what the engine computes as one
operation. What is not in it is executed by PyTorch down to its primitive operations (aten), which
Traced.__torch_dispatch__ sees: the table of cstorch.aten maps these; others are decomposed by
PyTorch's own rules until they are. Tensors with values that meet no traced one are computed with at
once, and become constants where they meet one.

Parameters, buffers and optimizer states stay the program's own tensors: wherever one is an
argument, its traced counterpart takes its place, which reads the state at first and holds what was
last assigned to it.
"""

import threading
import types
import weakref

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode

from csengine.library import lib
from cstorch import aten, calls, clock, composites, messages, regions, traps
from cstorch import traced as traced_module
from cstorch.batch import Handle
from cstorch.origins import Origins
from cstorch.traced import Traced

# Names that Python functions of PyTorch ask whether an argument overrides them.
_ASKING = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


def _summed(handle):
    """The sum over the batch, as float32."""
    return lib.cse_batch_sum(lib.cse_cast(handle, lib.CSE_FLOAT32))


def contains_traced(value):
    """Whether there is a traced tensor in nested arguments."""
    if isinstance(value, Traced):
        return True
    if isinstance(value, (list, tuple)):
        return any(contains_traced(v) for v in value)
    if isinstance(value, dict):
        return any(contains_traced(v) for v in value.values())
    return False


class FunctionMode(TorchFunctionMode):
    """Gives each PyTorch call of a thread to the tracer."""

    def __init__(self, tracer):
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.tracer.function(func, args, kwargs or {})


class Tracer:
    """One step while it is traced.

    Attributes:
        step: the cse_step.
        session: the cstorch.session.Session.
        gradients: state name -> traced gradient, as `.grad` of its parameter gives it.
        thread: the one that traces.
        grad_enabled: as torch.is_grad_enabled says it to the program. PyTorch's own is off, since
            gradients are the engine's; what is computed while this one is off is `stopped`.
    """

    def __init__(self, session, step, microbatches):
        self.session = session
        self.step = step
        self.thread = threading.get_ident()
        self.microbatches = microbatches
        self.grad_enabled = True
        self.traced_states = {}
        self.gradients = {}
        self.streams = {}
        self.scopes = []
        self.unsupported = {}
        self.passed = None  # the Pass of the loop in which it is traced first
        self.origins = Origins()
        self.inputs = []  # the leaves of the batch
        self.keep = []  # objects that callbacks of the engine point to
        self._bodies = {}
        self._busy = set()
        self._decomposed = None  # the operation of the program that is taken apart
        self._names = {}
        self.made = {}  # id -> weak reference, of constants that the step itself has made
        self.replaced = {}  # id -> (such a constant, the traced value that was written to it)

    # ---- what takes the place of the program's tensors ----

    def traced_state(self, state):
        """The traced value of a state at this place of the step."""
        found = self.traced_states.get(state.name)
        if found is None:
            found = calls.wrap(lib.cse_read(state.handle), state.tensor.dtype)
            found.state = state
            found.stopped = False
            found.label = state.name
            found.first = found.handle
            self.traced_states[state.name] = found
        return found

    def map_in(self, value):
        """Arguments with traced values in the place of states."""
        if isinstance(value, torch.Tensor):
            if isinstance(value, Traced):
                return value
            if type(value) is Handle:
                return self.input_of(value)
            if id(value) in self.replaced:
                return self.replaced[id(value)][1]
            state = self.session.state_of(value)
            if state is not None:
                return self.traced_state(state)
            if isinstance(value, torch.nn.Parameter) and value.requires_grad:
                raise messages.TraceError(
                    f"{messages.place_text()}a parameter {messages.describe(value)} belongs to no "
                    "compiled model: give the module that holds it to cstorch.compile before the "
                    "step",
                    [messages.place()],
                )
            return value
        if type(value) is tuple:
            return tuple(self.map_in(v) for v in value)
        if type(value) is list:
            return [self.map_in(v) for v in value]
        if type(value) is dict:
            return {k: self.map_in(v) for k, v in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*[self.map_in(v) for v in value])
        return value

    def input_of(self, handle):
        """The traced tensor of the batch that a handle of the loop's body stands for."""
        if handle.passed is not self.passed:
            traps.refuse(
                f"{handle.label} is of another batch than that of this pass of the loop, which is "
                "the only one that the step sees"
            )
        return self.inputs[handle.index]

    def written(self, constant):
        """The traced value that takes the place of a constant which the step has made, and to
        which something is written; None for tensors from outside."""
        made = self.made.get(id(constant))
        if made is None or made() is not constant or constant._is_view():
            return None
        traced = calls.wrap(calls.operand(constant), constant.dtype)
        self.replaced[id(constant)] = (constant, traced)
        return traced

    # ---- calls ----

    def at(self):
        """Tells the engine where the program is, for its messages."""
        frame = messages.user_frame()
        if frame is not None:
            lib.cse_at(frame.f_code.co_filename.encode(), frame.f_lineno)

    def _body(self, func):
        """A Python function of PyTorch that takes its arguments as they are; None for others."""
        if func not in self._bodies:
            body = None
            asks = getattr(getattr(func, "__code__", None), "co_names", ())
            if isinstance(func, types.FunctionType) and any(n in asks for n in _ASKING):
                seen = dict(func.__globals__)
                seen.update({n: lambda *_: False for n in _ASKING})
                body = types.FunctionType(
                    func.__code__, seen, func.__name__, func.__defaults__, func.__closure__
                )
                body.__kwdefaults__ = func.__kwdefaults__
            self._bodies[func] = body
        return self._bodies[func]

    def function(self, func, args, kwargs):
        """A call as the program wrote it."""
        if func is torch._C._set_grad_enabled:
            self.grad_enabled = bool(args[0])
            return None
        args, kwargs = self.map_in(tuple(args)), self.map_in(dict(kwargs))
        for value in (*args, *kwargs.values()):
            clock.check_number(value)
        rule = composites.RULES.get(func)
        made = traps.CREATION.get(func)
        if made is not None:
            self.at()
            result = made(*args, **kwargs)
            if result is not NotImplemented:
                return result
        has_traced = contains_traced(args) or contains_traced(kwargs)
        if rule is not None and has_traced:
            self.at()
            result = self._by_rule(func, rule, args, kwargs)
            if result is not NotImplemented:
                self.origins.note(func, args, kwargs, result)
                return result
        if func is torch.Tensor.backward and not has_traced:
            traps.refuse(
                "backward of a loss that is a constant of the step: it depends on no parameter and "
                "on nothing of the batch"
            )
        if has_traced and torch.is_autocast_enabled("cpu"):
            traps.refuse(
                "torch.autocast has no effect on a step, whose types the engine's precision "
                "chooses: leave it out, and use cstorch.amp.set_half_dtype or the setting precision"
            )
        if has_traced and getattr(func, "__name__", "").startswith("_foreach_"):
            return composites.for_each(func.__name__, args, kwargs)
        body = self._body(func) if has_traced else None
        if body is not None and func not in self._busy:
            self._busy.add(func)
            try:
                with FunctionMode(self):
                    return body(*args, **kwargs)
            finally:
                self._busy.discard(func)
        if body is not None and getattr(torch.Tensor, func.__name__, None) is func:
            # A method that calls the one of its base class.
            func = getattr(torch._C.TensorBase, func.__name__, func)
        try:
            with traps.drawing(func, args, kwargs, has_traced):
                with torch._C.DisableTorchFunctionSubclass():
                    result = func(*args, **kwargs)
            if not has_traced and type(result) is torch.Tensor:
                self.made[id(result)] = weakref.ref(result)
            return result
        except TypeError as error:
            if has_traced:
                raise self._argument_error(func, error) from error
            raise

    def _by_rule(self, func, rule, args, kwargs):
        try:
            return rule(*args, **kwargs)
        except TypeError as error:
            raise self._argument_error(func, error) from error

    def _argument_error(self, func, error):
        if isinstance(error, messages.TraceError):
            return error
        name = getattr(func, "__name__", str(func))
        return messages.ArgumentError(f"{messages.place_text()}{name}: {error}", [messages.place()])

    def dispatch(self, func, args, kwargs):
        """A primitive operation."""
        rule = aten.rule_of(func)
        if rule is not None:
            self.at()
            result = self._by_rule(func, rule, self.map_in(tuple(args)), self.map_in(dict(kwargs)))
            if result is not NotImplemented:
                self.origins.note(func, args, kwargs, result)
                return result
        if func._schema.is_mutable:
            return aten.in_place(self, func, args, kwargs)
        outermost, self._decomposed = self._decomposed, self._decomposed or (func, args)
        try:
            decomposed = aten.decompose(func, args, kwargs)
        finally:
            self._decomposed = outermost
        if decomposed is not NotImplemented:
            return decomposed
        return self.refuse(func, args, kwargs)

    def refuse(self, func, args, kwargs):
        """Notes an operation that the engine has not, and goes on with zeros for its result, so
        that all of a step are told together."""
        said, said_args = self._decomposed or (func, args)
        described = ", ".join(
            messages.describe(a) for a in said_args if isinstance(a, torch.Tensor)
        )
        where = messages.place()
        name = str(said).removesuffix(".default")
        self.unsupported.setdefault((where, name), described)
        try:
            with torch._C.DisableTorchFunction():
                metas = torch.utils._pytree.tree_map(
                    lambda v: v.as_meta() if isinstance(v, Traced) else v, (args, kwargs)
                )
                result = func(*metas[0], **metas[1])
        except Exception:  # a shape that depends on values
            self.raise_unsupported()
        return torch.utils._pytree.tree_map(self._placeholder, result)

    def _placeholder(self, value):
        if not isinstance(value, torch.Tensor):
            return value
        if calls.numel(value) == 0:
            return calls.empty(value.shape, value.dtype)
        return calls.wrap(
            calls.cast_handle(lib.cse_full(calls.c_shape(value.shape), 0.0), value.dtype),
            value.dtype,
        )

    def raise_unsupported(self):
        """Raises what refuse noted, if anything."""
        if not self.unsupported:
            return
        lines = [
            f"{messages.place_text(where)}{name} is not supported on {described or 'this'}"
            f"{aten.nearest(name)}"
            for (where, name), described in self.unsupported.items()
        ]
        raise messages.UnsupportedError(
            "\n".join(lines) + "\ncstorch.ops() lists what is supported",
            [where for where, _ in self.unsupported],
        )

    # ---- names ----

    def stream(self, kind):
        """A name for random numbers: the module's path and which call of it this is."""
        scope = ".".join(self.scopes)
        key = (scope, kind)
        count = self.streams[key] = self.streams.get(key, -1) + 1
        return f"{scope + '.' if scope else ''}{kind}{count if count else ''}".encode()

    def enter_module(self, module, _args=None):
        """A module's forward begins."""
        self.refuse_module(module)
        name = self.session.module_name(module)
        inner = name
        for scope in reversed(self._open):
            if scope and name.startswith(scope + "."):
                inner = name[len(scope) + 1 :]
                break
        self._open.append(name)
        self.scopes.append(inner)
        if inner:
            lib.cse_scope_enter(self.step, inner.encode())

    def leave_module(self, _module, _args=None, _result=None):
        """A module's forward is over."""
        inner = self.scopes.pop()
        self._open.pop()
        if inner:
            lib.cse_scope_leave(self.step, inner.encode())

    def refuse_module(self, module):
        """What a module does beside its forward, and what no trace sees."""
        kind = type(module).__name__
        if kind == "OptimizedModule":
            traps.refuse(
                "a model of torch.compile cannot be traced, since the engine compiles the step: "
                "give the model itself to cstorch.compile and call that"
            )
        if isinstance(module, torch.jit.ScriptModule):
            traps.refuse(
                "a model of torch.jit cannot be traced, since its operations are not Python's: "
                "give the module that it was made of to cstorch.compile and call that"
            )
        if module._backward_hooks or module._backward_pre_hooks:
            traps.refuse(
                f"{kind} has a backward hook, which is not called: gradients are the engine's. "
                "Change p.grad after backward, or write a torch.autograd.Function"
            )

    def refuse_optimizer(self, optimizer, _args, _kwargs):
        """torch.optim keeps its step counter outside of the step: bias corrections would stay those
        of the first step, without a word."""
        if isinstance(optimizer, self.session.optimizer_type):
            return
        name = type(optimizer).__name__
        raise messages.TraceError(
            f"{messages.place_text()}torch.optim.{name} cannot be traced: its counters are "
            f"Python's. Use cstorch.optim.{name}, or cstorch.optim.convert(optimizer) before the "
            "loop",
            [messages.place()],
        )

    # ---- the trace ----

    def __enter__(self):
        from torch.nn.modules import module as modules

        self._open = []
        self.grad_enabled = True
        self._entered = [
            torch.no_grad(),
            traps.Traps(self),
            FunctionMode(self),
            composites.Replaced(self),
        ]
        self._hooks = [
            modules.register_module_forward_pre_hook(self.enter_module),
            modules.register_module_forward_hook(self.leave_module, always_call=True),
            register_optimizer_step_pre_hook(self.refuse_optimizer),
        ]
        traced_module.active = self
        self._grad_was = torch.is_grad_enabled()
        for context in self._entered:
            context.__enter__()
        self._leave_regions = regions.enter_outer(self.step)
        return self

    def __exit__(self, *error):
        for hook in self._hooks:
            hook.remove()
        try:
            self._leave_regions()
            for context in reversed(self._entered):
                context.__exit__(*error)
        finally:
            torch.set_grad_enabled(self._grad_was)
            traced_module.active = None
        return False

    def again(self):
        """The function mode, for callbacks that the engine makes while it is off."""
        return FunctionMode(self)

    # ---- values that leave the step ----

    def whole(self, value, what):
        """The handle of a value of the whole step; what depends on the microbatch is the value of
        the batch only where the batch is one microbatch."""
        handle = calls.operand(value)
        if not lib.cse_tensor_is_batch(handle):
            return handle
        if self.microbatches > 1:
            raise messages.TraceError(
                f"{what} {messages.describe(value)} depends on the microbatch, and a step has "
                f"{self.microbatches}: sum it over the batch with cstorch.batch_sum(x), or take the"
                " mean with cstorch.batch_mean(x), or leave out micro_batch_size"
            )
        dtype = lib.cse_tensor_dtype(handle)
        if dtype == lib.CSE_FLOAT32:
            return lib.cse_batch_sum(handle)
        if dtype != lib.CSE_INT32:
            return lib.cse_cast(_summed(handle), dtype)
        # float32 holds each half of 32 bits.
        count = lib.cse_constant_int(1 << 16)
        high = lib.cse_cast(_summed(lib.cse_floor_divide(handle, count)), dtype)
        low = lib.cse_cast(_summed(lib.cse_remainder(handle, count)), dtype)
        return lib.cse_add(lib.cse_mul(high, count), low)

    def take_buffers(self, assigns=True):
        """Buffers of models to which the step assigned a value (`self.mean = ...`) are states: the
        module gets its own tensor again, and the state the value, unless the trace has failed."""
        for model in self.session.models:
            for path, module in model.module.named_modules():
                for name, value in module._buffers.items():
                    full = f"{path + '.' if path else ''}{name}"
                    tensor = model.buffers.get(full)
                    if not isinstance(value, Traced) or tensor is None:
                        continue
                    module._buffers[name] = tensor
                    if not assigns:
                        continue
                    if value.shape != tensor.shape:
                        traps.refuse(
                            f"the buffer {full} is {messages.describe(tensor)}, and the step gives "
                            f"it {messages.describe(value)}: a state keeps its shape"
                        )
                    state = self.traced_state(self.session.state_of(tensor))
                    state.handle = calls.cast_handle(calls.operand(value), tensor.dtype)

    def assign_states(self):
        """Gives the states what the step assigned to them."""
        for value in self.traced_states.values():
            if not value.is_changed():
                continue
            handle = self.whole(value, f"the new value of {value.state.name}")
            lib.cse_assign(value.state.handle, calls.cast_handle(handle, value.state.tensor.dtype))
