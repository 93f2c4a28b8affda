"""Metrics of an evaluation: the engine's, and a base class for those of a program."""

import json

import torch

from csengine.library import check, ffi, lib
from cstorch import arguments, calls, messages, near, required
from cstorch import session as session_module
from cstorch import traced
from cstorch.metrics import given

__all__ = [
    "AccuracyMetric",
    "DiceCoefficientMetric",
    "FBetaScoreMetric",
    "MeanMetric",
    "Metric",
    "MeanIOUMetric",
    "PerplexityMetric",
    "PrecisionAtKMetric",
    "RecallAtKMetric",
    "compute_all_metrics",
    "get_all_metrics",
]


_RULES = {
    "name": (lambda v: isinstance(v, str) and v != "", "a text"),
    "compute_on_system": (
        lambda v: v is True,
        "True: a metric is computed by the processes that train, from traced values",
    ),
}


_REQUIRED = {
    "update|__call__": "changes the states by the values of a step",
    "compute|__call__": "gives the metric's value, a tensor made of the states",
}


class Metric(torch.nn.Module):
    """A metric that a program writes: states in init_state, tensor operations in update.

    A subclass registers tensors (self.register_state("total", torch.zeros(()))), changes them in
    update(*args), and returns its value in compute(). What depends on the batch is summed over it
    by cstorch.batch_sum where a step has several microbatches. As an attribute of a model it is one
    of its modules, which has no parameters and no part in checkpoints of the model.

    """

    def __init__(self, name=None, compute_on_system=True):
        super().__init__()
        required.check(self, Metric, _REQUIRED)
        arguments.check(f"{type(self).__name__}()", _RULES, {**locals()})
        self._num_updates = 0
        self.name = name or type(self).__name__
        self._states = {}
        self._output = None
        self._kept = None
        session = session_module.current
        self.init_state()
        session.metrics.append(self)

    @property
    def num_updates(self):
        """How often traced steps have called it since it was reset."""
        return self._num_updates

    def init_state(self):
        pass

    def _open(self):
        """Called when the session is opened."""

    def reset(self):
        """The states as they were at first."""
        self._num_updates = 0
        with torch.no_grad():
            for name, first in self._states.items():
                getattr(self, name).copy_(first)

    def register_state(self, name, tensor, persistent=False):
        self._states[name] = tensor.clone()
        setattr(self, name, tensor)
        session_module.current.add_state(f"metrics.{self.name}.{name}", tensor)

    def update(self, *args, **kwargs):
        """Changes the states by the values of a step."""
        raise NotImplementedError

    def compute(self):
        """The value, a tensor made of the states."""
        raise NotImplementedError

    def __call__(self, *args, **kwargs):
        if traced.active is None:
            raise messages.TraceError(
                f"{messages.place_text()}the metric {self.name} was called " "outside of a step",
                [messages.place()],
            )
        self._num_updates += 1
        with traced.active.again():
            self.update(*args, **kwargs)
            self._value = self.compute()
        self._tracer = traced.active
        return self._value

    def _leave_step(self, tracer):
        if getattr(self, "_tracer", None) is tracer:
            self._output = session_module.current.execution.output_of(tracer, self._value)

    def _keep_value(self):
        if self._output is not None and self._output.output is not None:
            value = self._output.output.value()
            if value is not None:
                self._kept = float(value)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            names = [*dir(type(self)), *self.__dict__]
            raise near.absent(f"{type(self).__name__!r} object", name, names) from None

    def __float__(self):
        self._keep_value()
        if self._kept is None:
            raise RuntimeError(
                f"the metric {self.name} has no value yet: it has one after a step "
                "that updates it"
            )
        return self._kept


class EngineMetric(Metric):
    """A metric of the engine (`csengine list metrics`)."""

    engine_name = None
    arguments = ()
    required = 0  # of the arguments
    check = ""  # the method of given.Given that looks at them
    aliases = {}  # other names of arguments

    def __init__(self, name=None, compute_on_system=True, **settings):
        self.settings = settings
        self.handle = None
        super().__init__(self.engine_name if name is None else name, compute_on_system)

    def _open(self):
        if self.handle is None:
            self.handle = lib.cse_configure_metric(
                self.engine_name.encode(), self.name.encode(), json.dumps(self.settings).encode()
            )
            if self.handle == ffi.NULL:
                session_module.current.check()

    def reset(self):
        self._num_updates = 0
        if self.handle is not None:
            check(lib.cse_metric_reset(self.handle))

    def __call__(self, *args, **kwargs):
        if traced.active is None:
            raise messages.TraceError(
                f"{messages.place_text()}the metric {self.name} was called outside of a step",
                [messages.place()],
            )
        self._num_updates += 1
        kwargs.pop("dtype", None)  # the engine's totals are exact
        for name, own in self.aliases.items():
            if name in kwargs:
                kwargs[own] = kwargs.pop(name)
        found = given.Given(self, self.arguments, self.required, args, kwargs)
        values = found.checked(self.check)
        traced.active.at()
        handles = [self._operand(i, value) for i, value in enumerate(values)]
        return calls.wrap(
            lib.cse_metric_update_array(
                self.handle, ffi.new("cse_tensor *[]", handles), len(handles)
            ),
            torch.float32,
        )

    def _operand(self, index, value):
        is_class = self.arguments[index] in ("labels", "predictions")
        return calls.operand(value, torch.int32 if is_class else torch.float32)

    def _leave_step(self, tracer):
        pass

    def _keep_value(self):
        pass

    def compute(self):
        return float(self)

    def __float__(self):
        value = ffi.new("double *")
        if self.handle is None:
            raise RuntimeError(f"the metric {self.name} has no value before the first step")
        check(lib.cse_metric_value(self.handle, value))
        return value[0]


def _metric(name, engine_name, check, required, *arguments, **aliases):
    return type(
        name,
        (EngineMetric,),
        {
            "engine_name": engine_name,
            "check": check,
            "required": required,
            "arguments": arguments,
            "aliases": aliases,
            "__doc__": EngineMetric.__doc__,
        },
    )


def _of_classes(name, engine_name):
    return _metric(name, engine_name, "check_classes", 2, "labels", "predictions", "weights")


def _of_scores(name, engine_name):
    return _metric(
        name, engine_name, "check_scores", 2, "labels", "scores", "weights", predictions="scores"
    )


AccuracyMetric = _of_classes("AccuracyMetric", "accuracy")
PerplexityMetric = _metric(
    "PerplexityMetric", "perplexity", "check_perplexity", 2, "labels", "loss", "weights"
)
MeanMetric = _metric("MeanMetric", "mean", "check_mean", 1, "value", "weight", weights="weight")
DiceCoefficientMetric = _of_classes("DiceCoefficientMetric", "dice")
MeanIOUMetric = _of_classes("MeanIOUMetric", "mean_iou")
FBetaScoreMetric = _of_classes("FBetaScoreMetric", "f_beta")
PrecisionAtKMetric = _of_scores("PrecisionAtKMetric", "precision_at_k")
RecallAtKMetric = _of_scores("RecallAtKMetric", "recall_at_k")


def get_all_metrics():
    """Name -> metric of all there are."""
    return {m.name: m for m in session_module.current.metrics}


def compute_all_metrics():
    """Name -> value."""
    return {m.name: float(m) for m in session_module.current.metrics}


__getattr__ = near.of_module(__name__, globals())
