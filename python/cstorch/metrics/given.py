"""What a metric of the engine is given: the arguments by their names, and whether they are what the
metric takes. Shapes alone do not say it: they broadcast, and a mean has the shape of a sum."""

import warnings

import torch

from cstorch import messages, origins, traced
from cstorch.traced import is_traced

SUM = (
    "the sum of the losses over the tokens (reduction='sum'), or the loss of each token "
    "(reduction='none')"
)


class Given:
    """The arguments of one call.

    Args:
        metric: whose call it is.
        names: of the arguments, in their order; those from `required` on may be missing.
    """

    def __init__(self, metric, names, required, args, kwargs):
        self.kind = type(metric).__name__
        self.names = names
        self.required = required
        self.values = self._by_name(args, kwargs)

    def refuse(self, what):
        accepted = ", ".join(self.names[: self.required])
        optional = "".join(f"[, {name}]" for name in self.names[self.required :])
        messages.refuse(f"{self.kind}: {what}; it takes ({accepted}{optional})")

    def _by_name(self, args, kwargs):
        values = dict(zip(self.names, args))
        unknown = [name for name in kwargs if name not in self.names]
        if unknown:
            messages.refuse(
                f"{self.kind}: unknown arguments {', '.join(unknown)}; accepted: "
                f"{', '.join(self.names)}"
            )
        if len(args) > len(self.names):
            self.refuse(f"{len(args)} arguments were given")
        twice = [name for name in kwargs if values.get(name) is not None]
        if twice:
            self.refuse(f"{twice[0]} was given twice")
        values.update(kwargs)
        missing = [n for n in self.names[: self.required] if values.get(n) is None]
        if missing:
            self.refuse(f"{missing[0]} is missing")
        return {name: value for name, value in values.items() if value is not None}

    def _form(self, name):
        value = self.values[name]
        if isinstance(value, torch.Tensor):
            return list(value.shape)
        return []  # a number

    def _is_float(self, name):
        value = self.values[name]
        if isinstance(value, torch.Tensor):
            return value.dtype.is_floating_point
        return isinstance(value, float)

    def _told(self, name):
        value = self.values[name]
        return messages.describe(value) if isinstance(value, torch.Tensor) else repr(value)

    # ---- the kinds of metrics ----

    def check_classes(self):
        """labels and predictions are classes of one shape."""
        labels, predictions = self._form("labels"), self._form("predictions")
        said = f"predictions are {self._told('predictions')}, and labels {self._told('labels')}"
        if labels != predictions:
            axis = self._axis_of_classes(labels, predictions)
            advice = (
                f"give the class of each: predictions.argmax({axis})"
                if axis is not None
                else "give one prediction for each label, in one shape"
            )
            self.refuse(f"{said}: {advice}")
        whole = traced.active.origins.of(self.values["predictions"], origins.WHOLE)
        if self._is_float("predictions") and not whole:
            self.refuse(
                f"{said}: these are scores, of which a metric of classes would see whole numbers: "
                "give classes, as scores.argmax(-1), (scores > 0.5).int(), or predictions.int()"
            )
        self._check_weights("weights", "labels")

    @staticmethod
    def _axis_of_classes(labels, predictions):
        for axis in (-1, 1):
            if len(predictions) != len(labels) + 1:
                continue
            rest = list(predictions)
            del rest[axis]
            if rest == labels:
                return axis
        return None

    def check_scores(self):
        """Scores of each class, and the label of each row of them."""
        labels, scores = self._form("labels"), self._form("scores")
        if not scores or scores[:-1] != labels or not self._is_float("scores"):
            self.refuse(
                f"scores are {self._told('scores')}, and labels {self._told('labels')}: give the "
                "scores of all classes for each label, [..., classes] of a float type"
            )
        self._check_weights("weights", "labels")

    def check_mean(self):
        self._check_weights("weight", "value")

    def _check_weights(self, name, beside):
        if name in self.values and self._form(name) != self._form(beside):
            self.refuse(
                f"{name} are {self._told(name)}, and {beside} {self._told(beside)}: give one for "
                f"each, as {name}.expand_as({beside})"
            )

    def check_perplexity(self):
        """The loss is a sum over the tokens, or one of each; its mean would be divided by the
        number of tokens once more."""
        labels, loss = self.values["labels"], self.values["loss"]
        if not isinstance(labels, torch.Tensor) or self._is_float("labels"):
            self.refuse(f"labels are {self._told('labels')}: give the class of each token")
        if not isinstance(loss, torch.Tensor) or not self._is_float("loss"):
            self.refuse(f"loss is {self._told('loss')}: give {SUM}")
        count, is_sum = labels.numel(), loss.numel() == 1
        if not is_sum and loss.numel() != count:
            self.refuse(
                f"loss is {self._told('loss')}, and labels {self._told('labels')}: give {SUM}"
            )
        if "weights" in self.values:
            weights = self.values["weights"]
            size = weights.numel() if isinstance(weights, torch.Tensor) else 1
            if size not in (1, count):
                self.refuse(
                    f"weights are {self._told('weights')}, and labels {self._told('labels')}: give "
                    "the weight of each token, or the number of tokens"
                )
            if not is_sum and size == count:
                self._leave_out(loss, weights)
        known = traced.active.origins
        if is_sum and count > 1:
            self._refuse_mean(known, loss)
        ignored = known.of(loss, origins.IGNORING)
        if ignored is not None and "weights" not in self.values:
            self._warn(
                f"the loss leaves out the labels that are {ignored}, and without weights they are "
                f"counted as tokens: give weights=(labels != {ignored}).float()"
            )

    def _refuse_mean(self, known, loss):
        made = known.of(loss, origins.MEAN)
        if made is not None:
            self.refuse(
                f"loss is a mean, made at {made.rstrip(': ')}, which would be divided by the "
                f"number of tokens once more: give {SUM}, or loss * (the number of tokens that it "
                "is the mean of)"
            )
        made = known.of(loss, origins.QUOTIENT)
        if made is not None:
            self._warn(
                f"loss is a quotient, made at {made.rstrip(': ')}: where it is a mean, give {SUM}, "
                "since it is divided by the number of tokens here"
            )

    def _leave_out(self, loss, weights):
        """Losses of tokens without weight, which are not counted, are not added either."""
        with traced.active.again():
            counted = weights.reshape(-1) != 0
            self.values["loss"] = torch.where(counted, loss.reshape(-1), 0.0)

    def _warn(self, what):
        warnings.warn(f"{messages.place_text()}{self.kind}: {what}", stacklevel=5)

    def checked(self, check):
        """The values in the order of the names, up to the last that was given."""
        if not any(is_traced(value) for value in self.values.values()):
            messages.refuse(f"{self.kind} was called outside of a step, or of constants")
        with traced.active.again():
            getattr(self, check)()
        return [self.values[name] for name in self.names if name in self.values]
