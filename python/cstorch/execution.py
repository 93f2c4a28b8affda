"""Executions: the loop over a data loader, the traced step, and closures.

The first pass through the loop's body traces the step; the engine runs it from then on, and has it
traced again for a last batch that is smaller. Each later
pass gets the same values of the step to hold, and closures are called with real ones after the
body, in the order of their calls, on activation steps (checkpoint closures: on checkpoint steps).
"""

import collections
import functools
import json
import math
import pathlib

import torch
from torch.utils import _pytree as pytree
from torch.utils.hooks import RemovableHandle

from csengine import library
from csengine.library import check, ffi, lib, text
from cstorch import calls, messages
from cstorch import session as session_module
from cstorch import traced as traced_module
from cstorch.batch import Given, Handle, Pass
from cstorch.traced import Traced, is_traced
from cstorch.tracer import Tracer
from cstorch.watch import PLAIN, Watch

WAIT_MS = 100  # between looks for signals

# Functions of (tensor, name), called after a closure got the value of a traced tensor.
_value_hooks = collections.OrderedDict()  # a dict has no weak reference


class Output:
    """A value of the step that leaves it."""

    def __init__(self, execution, handle, dtype):
        self.execution = execution
        self.dtype = dtype
        self.form = ffi.new("cse_shape *"), ffi.new("cse_dtype *")
        self.stands_for(handle)

    def stands_for(self, handle):
        """It is this value of the step from now on."""
        self.handle = handle
        self.kept = None  # (sizes, type, bytes) of its value, the same in each step of a trace

    def is_ahead(self):
        """Whether the body of the loop runs: the values that there are are those of an earlier
        step than the one that the program is at."""
        return self.execution.is_running and not self.execution.delivering

    def value(self):
        """A tensor with the value of the step that closures see, or the last one; None before."""
        view = lib.cse_output_view(self.handle, *self.form)
        if view == ffi.NULL:
            return self.execution.last_values.get(id(self))
        if self.kept is None:
            shape, dtype = self.form
            sizes = tuple(shape.dims[0 : shape.rank])
            size = math.prod(sizes) * lib.cse_dtype_size(dtype[0])
            self.kept = sizes, calls.TORCH_DTYPES[dtype[0]], size
        sizes, kept, size = self.kept
        value = torch.frombuffer(bytearray(ffi.buffer(view, size)), dtype=kept).reshape(sizes)
        return value if kept == self.dtype else value.to(self.dtype)


class Execution:
    """One pass over a data loader, from the first step to the last.

    Attributes:
        step: number of the step whose body runs, from 1; with training, over the whole run.
    """

    def __init__(self, session, loader, count, checkpoint_steps=0, activation_steps=0):
        self.session = session
        self.loader = loader
        self.count = count
        self.checkpoint_steps = checkpoint_steps or 0
        self.activation_steps = activation_steps or 0
        self.loop = None
        self.error = None
        self.trained = False
        self.tracer = None
        self.function = None
        self.results = None
        self.pending = []
        self.traced_closures = []
        self.outputs = []  # of the first trace; later ones have the same in the same order
        self.traces = self.output_count = 0
        self.batch_size = loader.batch_size  # of the trace
        self.passed = None  # the Pass of the loop that runs
        self.last_values = {}
        self.at_checkpoint = self.at_activation = False
        self.delivering = False
        self.event = None
        self.step = 0
        self.keep = []

    @property
    def artifact_dir(self):
        """Where the run's files are."""
        folder = pathlib.Path(self.session.settings.get("model_dir") or session_module.MODEL_DIR)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def is_running(self):
        """Whether the program is in its loop."""
        return self.session.execution is self

    # ---- the loop ----

    def __iter__(self):
        if self.session.execution is not None:
            raise RuntimeError(
                "a loop over a data loader is inside of another one: executions come "
                "one after the other; end the outer loop first"
            )
        self.session.execution = self
        finished = False
        try:
            for number in range(1, self.count + 1):
                self.number = number
                self.passed = Pass(self)
                yield self.passed.batch(
                    self.loader.source.form, self._rows(), self.loader.batch_size
                )
                if not self._after_body():
                    break
            finished = True
        except GeneratorExit:
            # `break`: the step that this pass has called is done, and seen as all others are.
            if self.loop is not None and self.passed.has_stepped:
                self._after_body()
            raise
        finally:
            self.end(raising=finished)

    def _rows(self):
        """Samples of the batch of this pass; None where the first step decides it: whether it
        trains, and so goes on where training was."""
        source, whole = self.loader.source, self.loader.batch_size
        left = source.samples() % whole
        if left == 0 or source.drops_last:
            return whole
        places = {self.start} if self.loop is not None else {0, self._global_step()}
        found = {left if (p + self.number) % source.batches() == 0 else whole for p in places}
        return found.pop() if len(found) == 1 else None

    def _global_step(self):
        return lib.cse_global_step() if self.session.is_open else 0

    def _after_body(self):
        """The body of the loop is over: waits for its step, where there is something to see, and
        calls the closures. False: the execution is over."""
        if self.loop is None:
            raise messages.TraceError(
                "the body of the loop called no function that @cstorch.trace (or "
                "@cstorch.compile_step) decorates, so that there is no step to run"
            )
        if not self.passed.has_stepped:
            raise messages.TraceError(
                f"{self.watch.place()}the body of the loop did not call the step in pass "
                f"{self.number}, and the engine runs one in each pass: call it in each, and choose "
                "in it with torch.where, or leave samples out in the data set"
            )
        if self.session.settings.get("validate_only") or self.session.settings.get("compile_only"):
            self.pending.clear()
            return self._next() != "end"
        step = self.start + self.number
        if self.event is None or self.event < step:
            found = self._next()
            if found == "end":
                return False
            self.event = lib.cse_execution_step(self.loop)
            self.at_activation = lib.cse_execution_at_activation(self.loop)
            self.at_checkpoint = lib.cse_execution_at_checkpoint(self.loop)
        self.step = step
        pending, self.pending = self.pending, []
        if self.event == step:
            self._deliver(self.traced_closures + pending)
        return True

    def _next(self):
        while True:
            found = lib.cse_execution_next(self.loop, WAIT_MS)
            if found == lib.CSE_NEXT_STEP:
                return "step"
            if found == lib.CSE_NEXT_END:
                return "end"
            if found == lib.CSE_NEXT_FAILED:
                self._fail()

    def _fail(self):
        failure = self.error
        loop = ffi.new("cse_loop **", self.loop)
        self.loop = None
        status = lib.cse_execution_end(loop)
        if failure is not None:
            self.error = None
            raise failure
        raise library.error(status)

    def _deliver(self, closures):
        self.delivering = True
        pulled = False
        try:
            for closure in closures:
                if closure.on_checkpoint and not self.at_checkpoint:
                    continue
                if not closure.on_checkpoint and not self.at_activation:
                    continue
                if self.at_checkpoint and not pulled:
                    self.session.read_states()
                    pulled = True
                closure.call()
            if pulled:
                self.watch.after_checkpoint()
        finally:
            self.delivering = False

    def end(self, raising=True):
        """Ends the execution; before its last step it stops after the step in flight."""
        if self.session.execution is not self:
            return
        self.session.execution = None
        self.session.last_execution = self
        if self.loop is None:
            return
        for output in self.outputs:
            value = output.value() if isinstance(output, Output) else None
            if value is not None:
                self.last_values[id(output)] = value
        loop = ffi.new("cse_loop **", self.loop)
        self.loop = None
        status = lib.cse_execution_end(loop)
        self.session.read_states()
        for metric in self.session.metrics:
            metric._keep_value()
        if raising:
            check(status)

    # ---- the trace ----

    def call_step(self, function, args, kwargs):
        """What a call of the traced function in the loop's body returns."""
        if self.loop is not None and self.function is not function:
            messages.refuse(
                f"a loop has one traced function: {function.__name__} was called, and "
                f"{self.function.__name__} was before; make one function of both"
            )
        if self.passed.has_stepped:
            messages.refuse(
                f"{function.__name__} was called a second time in one pass of the loop, which is "
                "one step: call it once; what is to be done twice in a step is done in it"
            )
        self.passed.has_stepped = True
        if self.loop is None:
            return self.begin(function, args, kwargs)
        self.given.tell_changes(self.passed, args, kwargs, self.watch.place())
        self.watch.after_step()
        return self.results

    def begin(self, function, args, kwargs):
        """Traces the step and begins to run it."""
        self.function = function
        self.session.begin()
        # The engine's workers must find the values that the program's tensors have now.
        self.session.write_states()
        self.start = lib.cse_global_step()
        options = {
            "num_steps": self.count,
            "checkpoint_steps": self.checkpoint_steps,
            "activation_steps": self.activation_steps,
        }
        kept = ffi.new("char[]", json.dumps(self.loader.settings()).encode())
        options["input"] = kept
        executor = lib.cse_executor_new(ffi.new("cse_executor_options *", options))
        if executor == ffi.NULL:
            self.session.check()
        handle = ffi.new_handle(self)
        self.keep += [handle, kept]
        self.arguments = (args, kwargs)
        self.given = Given(self.session, function, self.passed, args, kwargs)
        self.loop = lib.cse_execution_begin(executor, lib.csengine_trace_step, handle)
        if self.error is not None:
            self._fail()
        if self.loop == ffi.NULL:
            self.loop = None
            self.session.check()
            raise library.error()
        if self.tracer is None:  # the data loader was refused before the step was asked for
            self._fail()
        self.session.has_place |= self.trained
        if not self.trained:
            self.start = 0
        return self.results

    def trace(self, step):
        """Called by the engine: runs the program's function on traced values."""
        args, kwargs = self.arguments
        self.batch_size = lib.cse_step_batch_size(step)
        microbatches = self.batch_size // lib.cse_step_micro_batch_size(step)
        tracer = Tracer(self.session, step, microbatches)
        tracer.passed = self.given.passed_first
        self.tracer = tracer
        first_results, first_closures = self.results, self.traced_closures
        self.traced_closures = []
        self.output_count = 0
        self.traces += 1
        try:
            with tracer:
                tracer.inputs = self.loader.traced_leaves(step)
                args, kwargs = pytree.tree_map_only(Handle, tracer.input_of, (args, kwargs))
                self.watch = Watch(self.session, self.function, args)
                results = self.function(*args, **kwargs)
                self.watch.after_trace()
                tracer.raise_unsupported()
                tracer.take_buffers()
                tracer.assign_states()
                for metric in self.session.metrics:
                    metric._leave_step(tracer)
                self.results = pytree.tree_map(lambda v: self.output_of(tracer, v), results)
                self.watch.hand_on([v for c in self.traced_closures for v in c.changeable()])
                for closure in self.traced_closures:
                    closure.prepare(self, tracer)
                if self.traces > 1:
                    self._take_as_first(first_results, first_closures)
            self.trained = bool(tracer.gradients) or getattr(tracer, "trains", False)
            if self.trained:
                lib.cse_step_train(step)
            scalar = self._loss(results)
            return scalar if scalar is not None else ffi.NULL
        except BaseException as error:  # noqa: B902 - it goes on in the caller
            self.error = error
            self.trained = False
            tracer.take_buffers(assigns=False)
            return lib.cse_step_input(step, b"the step was not traced")

    def _take_as_first(self, results, closures):
        """What the program holds of the step are values of its first trace: they are those of this
        one from now on."""
        if self.output_count != len(self.outputs) or len(closures) != len(self.traced_closures):
            raise messages.TraceError(
                "the step hands out other values for the last batch of an epoch, which is smaller, "
                "than for the others: let it return and show the same whatever the batch's size "
                "is, or give the data loader drop_last=True"
            )
        self.results, self.traced_closures = results, closures

    def _leave(self, handle, dtype, why=None):
        """The output for a value that leaves the step; why: what is told where it cannot."""
        index = self.output_count
        self.output_count += 1
        if index == len(self.outputs):
            self.outputs.append(Output(self, handle, dtype) if why is None else Unreadable(why))
        output = self.outputs[index] if index < len(self.outputs) else Unreadable(why)
        if why is None and isinstance(output, Output):
            output.stands_for(handle)
        return output

    def _loss(self, results):
        """The first scalar float that the function returned: it is watched."""
        for value in pytree.tree_leaves(results):
            if (
                is_traced(value)
                and value.dim() == 0
                and value.dtype == torch.float32
                and value.handle is not None
            ):
                return value.current()
        return None

    def output_of(self, tracer, value):
        """The same value as one that closures can read."""
        if type(value) is Handle:
            value = tracer.input_of(value)
        elif isinstance(value, torch.Tensor) and id(value) in tracer.replaced:
            value = tracer.replaced[id(value)][1]
        if not is_traced(value):
            if isinstance(value, torch.Tensor) and self.session.state_of(value) is not None:
                value = tracer.traced_state(self.session.state_of(value))
            else:
                return value
        if value.output is not None:
            return value
        handle = value.current()
        scalar_mean = value.dim() == 0 and value.dtype == torch.float32
        if not (scalar_mean and lib.cse_tensor_is_batch(handle)):
            try:
                handle = tracer.whole(value, "the value that leaves the step,")
            except messages.TraceError as error:
                value.output = self._leave(None, value.dtype, str(error))
                return value
        kept = lib.cse_step_output(tracer.step, ffi.NULL, handle)
        if kept == ffi.NULL:
            raise messages.TraceError(text(lib.cse_error_message()) or "")
        result = Traced(handle, value.shape, value.dtype)
        result.label = value.label
        result.output = self._leave(kept, value.dtype)
        return result


class Unreadable:
    """What leaves the step and has no one value: reading it tells why."""

    def __init__(self, why):
        self.why = why

    def is_ahead(self):
        return False

    def value(self):
        raise messages.TraceError(self.why)


# ---- the decorators ----


def _refuse_no_function(function, name, what):
    """Decorators are written without brackets, of a function."""
    if function is None:
        raise TypeError(f"@cstorch.{name} is written without brackets: `@cstorch.{name}`")
    if isinstance(function, torch.nn.Module) or not callable(function):
        raise TypeError(
            f"@cstorch.{name} decorates {what}, not a {type(function).__name__}"
            + (": give a model to cstorch.compile" if isinstance(function, torch.nn.Module) else "")
        )


def trace(function=None):
    """Decorates the step: its body is traced once, in the first pass through the loop, and run by
    the engine for each step. Returns what the body returns; read values in a step closure."""

    _refuse_no_function(function, "trace", "the function that is the step")

    @functools.wraps(function)
    def step(*args, **kwargs):
        session = session_module.current
        execution = session.execution
        _refuse_loader(function, args, kwargs)
        if traced_module.active is not None:
            return function(*args, **kwargs)
        if execution is None:
            raise messages.TraceError(
                f"{messages.place_text()}{function.__name__} was called outside of a loop over a "
                "data loader: `for batch in executor: " + function.__name__ + "(batch)`",
                [messages.place()],
            )
        return execution.call_step(function, args, kwargs)

    step.__wrapped__ = function
    return step


def _refuse_loader(function, args, kwargs):
    for value in (*args, *kwargs.values()):
        if getattr(value, "is_data_loader", False):
            raise messages.TraceError(
                f"{messages.place_text()}{function.__name__} was called with the data loader; pass "
                f"the batch: `for batch in dataloader: {function.__name__}(batch)`",
                [messages.place()],
            )


compile_step = trace


class Closure:
    """One call of a closure, which waits for its step."""

    def __init__(self, function, args, kwargs, on_checkpoint):
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.on_checkpoint = on_checkpoint

    def prepare(self, execution, tracer):
        """The values that it asks for leave the step."""

        def leaves(value):
            return _mapped(lambda v: execution.output_of(tracer, v), value)

        self.args = tuple(map(leaves, self.args))
        self.kwargs = {name: leaves(value) for name, value in self.kwargs.items()}

    def changeable(self):
        """What it was given and may change."""
        given = (*self.args, *self.kwargs.values())
        return [v for v in given if not isinstance(v, (torch.Tensor, *PLAIN, type(None)))]

    def call(self):
        _called(self.function, [*map(_with_values, self.args)], _named_values(self.kwargs))


def _real(value):
    if not is_traced(value):
        return value
    if value.output is None:
        raise messages.TraceError(
            "a closure was given a value that the step neither returned nor "
            "gave to a closure: return it from the traced function"
        )
    found = value.output.value()
    for hook in list(_value_hooks.values()) if _value_hooks else ():
        hook(found, value.label)
    return found


def _mapped(function, value):
    """Nested values with the function's results in the place of the leaves; itself where these are
    the same, so that a closure that changes a list of the program changes that one."""
    kind = type(value)
    if kind in (list, tuple):
        found = kind([_mapped(function, v) for v in value])
        return value if all(a is b for a, b in zip(found, value)) else found
    if kind is dict:
        found = {key: _mapped(function, v) for key, v in value.items()}
        return value if all(v is value[key] for key, v in found.items()) else found
    return pytree.tree_map(function, value)


def _with_values(value):
    """An argument of a closure with values in the place of traced tensors. Few arguments are
    nested, and to take them apart costs more than all the rest of a call."""
    if isinstance(value, Traced):
        return _real(value)
    if isinstance(value, tuple) or type(value) in pytree.SUPPORTED_NODES:
        return _mapped(_real, value)
    return value


def _named_values(kwargs):
    return {name: _with_values(value) for name, value in kwargs.items()} if kwargs else kwargs


def on_value(hook):
    """Calls hook(tensor, name) each time a closure is given the value of a traced tensor, before
    the closure itself is called. Returns a handle, whose remove() ends that."""
    handle = RemovableHandle(_value_hooks)
    _value_hooks[handle.id] = hook
    return handle


def _called(function, args, kwargs):
    """Calls a closure; a count that it forgets to declare is told with the line to write."""
    try:
        return function(*args, **kwargs)
    except UnboundLocalError as error:
        place = error.__traceback__
        while place.tb_next is not None:
            place = place.tb_next
        code = place.tb_frame.f_code
        name = next((n for n in code.co_varnames if f"'{n}'" in str(error)), None)
        if name in getattr(function, "__globals__", {}) and code is function.__code__:
            error.args = (
                f"{error}: {code.co_name} assigns {name}, which makes it a variable of its own: "
                f"write `global {name}` as its first line",
            )
        raise


def _closure(function, on_checkpoint):
    _refuse_no_function(
        function,
        "checkpoint_closure" if on_checkpoint else "step_closure",
        "a function that sees values",
    )

    @functools.wraps(function)
    def closure(*args, **kwargs):
        execution = session_module.current.execution
        if execution is None or execution.delivering:
            return _called(function, [*map(_with_values, args)], _named_values(kwargs))
        waiting = Closure(function, args, kwargs, on_checkpoint)
        if traced_module.active is not None:
            execution.traced_closures.append(waiting)
        else:
            execution.pending.append(waiting)
        return None

    closure.is_step_closure = True
    return closure


def step_closure(function=None):
    """Decorates a function that sees values: a call waits until its step is done, on activation
    steps; traced arguments become tensors with values."""
    return _closure(function, False)


def checkpoint_closure(function=None):
    """The same for checkpoint steps alone, on which states can be read and saved."""
    return _closure(function, True)


# ---- what the engine calls ----


@ffi.def_extern()
def csengine_trace_step(step, self):
    return ffi.from_handle(self).trace(step)


@ffi.def_extern()
def csengine_trace_backward(self, request):
    try:
        ffi.from_handle(self)(request)
    except BaseException as error:  # noqa: B902 - it goes on in the caller
        execution = session_module.current.execution
        if execution is not None and execution.error is None:
            execution.error = error
        lib.cse_item(request.outputs[0])


@ffi.def_extern()
def csengine_choose_elements(self, request):
    ffi.from_handle(self)(request)
