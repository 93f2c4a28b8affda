"""What metrics are given: right arguments have the value of their definition, and wrong ones, whose
shapes would pass, are refused or told with what the metric takes."""

import math
import re
import unittest
import warnings

import torch
import torch.nn.functional as F

import cstorch
from programs import Case, loader

M = cstorch.metrics
torch.manual_seed(7)
X, Y = torch.randn(32, 16), torch.randint(0, 4, (32,))
T, W = torch.randint(0, 4, (32, 5)), (torch.rand(32) > 0.4).float()
SUM = r"give the sum of the losses over the tokens \(reduction='sum'\), or the loss of each token"


def losses(logits, y, how):
    return F.cross_entropy(logits, y, reduction=how)


# (name, metric, call of (metric, logits, y, t, w), what the message says)
WRONG = [
    (
        "mean",
        M.PerplexityMetric,
        lambda m, g, y, t, w: m(labels=y, loss=F.cross_entropy(g, y)),
        r"loss is a mean, made at test_metrics\.py:\d+ in <lambda>.*" + SUM,
    ),
    (
        "module",
        M.PerplexityMetric,
        lambda m, g, y, t, w: m(labels=y, loss=torch.nn.CrossEntropyLoss()(g, y).detach()),
        r"loss is a mean",
    ),
    (
        "mean_of_losses",
        M.PerplexityMetric,
        lambda m, g, y, t, w: m(labels=y, loss=losses(g, y, "none").mean(), weights=w),
        r"loss is a mean",
    ),
    (
        "log_likelihood",
        M.PerplexityMetric,
        lambda m, g, y, t, w: m(y, F.nll_loss(g.log_softmax(-1), y)),
        r"loss is a mean",
    ),
    ("logits", M.PerplexityMetric, lambda m, g, y, t, w: m(y, g), r"loss is \[8, 4\].*" + SUM),
    (
        "other_tokens",
        M.PerplexityMetric,
        lambda m, g, y, t, w: m(labels=t, loss=losses(g, y, "none")),
        r"loss is \[8\] float32, and labels \[8, 5\] int64.*" + SUM,
    ),
    (
        "token_weights",
        M.PerplexityMetric,
        lambda m, g, y, t, w: m(labels=t, loss=g.sum(), weights=w),
        r"weights are \[8\] float32, and labels \[8, 5\].*weight of each token",
    ),
    (
        "swapped",
        M.PerplexityMetric,
        lambda m, g, y, t, w: m(losses(g, y, "sum"), y),
        r"labels are \[\] float32: give the class of each token",
    ),
    (
        "no_loss",
        M.PerplexityMetric,
        lambda m, g, y, t, w: m(labels=y, loss=None, weights=w),
        r"loss is missing; it takes \(labels, loss\[, weights\]\)",
    ),
    (
        "logits_as_classes",
        M.AccuracyMetric,
        lambda m, g, y, t, w: m(labels=y, predictions=g),
        r"predictions are \[8, 4\] float32, and labels \[8\].*predictions\.argmax\(-1\)",
    ),
    (
        "scores_as_classes",
        M.AccuracyMetric,
        lambda m, g, y, t, w: m(labels=y, predictions=g[:, 0].sigmoid()),
        r"these are scores.*\(scores > 0\.5\)\.int\(\)",
    ),
    (
        "a_column",
        M.AccuracyMetric,
        lambda m, g, y, t, w: m(labels=y[:, None], predictions=g.argmax(-1)),
        r"give one prediction for each label, in one shape",
    ),
    (
        "weights_of_rows",
        M.AccuracyMetric,
        lambda m, g, y, t, w: m(labels=t, predictions=t, weights=w[:, None]),
        r"weights are \[8, 1\].*weights\.expand_as\(labels\)",
    ),
    (
        "a_fourth",
        M.AccuracyMetric,
        lambda m, g, y, t, w: m(y, y, None, w),
        r"4 arguments were given; it takes \(labels, predictions\[, weights\]\)",
    ),
    ("twice", M.AccuracyMetric, lambda m, g, y, t, w: m(y, y, labels=y), r"labels was given twice"),
    (
        "pictures",
        lambda: M.MeanIOUMetric(num_classes=4),
        lambda m, g, y, t, w: m(labels=t, predictions=g[:, :, None].expand(8, 4, 5)),
        r"predictions\.argmax\(1\)",
    ),
    (
        "classes_as_scores",
        lambda: M.PrecisionAtKMetric(k=2),
        lambda m, g, y, t, w: m(labels=y, scores=g.argmax(-1)),
        r"scores are \[8\] int64.*scores of all classes for each label",
    ),
    (
        "mean_weight",
        M.MeanMetric,
        lambda m, g, y, t, w: m(g, w[:, None]),
        r"weight are \[8, 1\].*weight\.expand_as\(value\)",
    ),
]


class Metrics(Case):
    def value(self, made, call, steps=2):
        """The metric's value after the steps."""
        self.configure()
        torch.manual_seed(1)
        self.model = torch.nn.Linear(16, 4).eval()
        cstorch.compile(self.model)
        metric = made()

        @cstorch.trace
        def step(batch):
            x, y, t, w = batch
            call(metric, self.model(x), y, t, w)

        with torch.no_grad():
            for batch in cstorch.utils.data.DataExecutor(
                loader(X, Y, T, W), num_steps=steps
            ):
                step(batch)
        return float(metric)

    def refuse(self, made, call, pattern):
        with self.assertRaises(cstorch.TraceError) as raised:
            self.value(made, call)
        said = str(raised.exception)
        self.assertRegex(said, re.compile(pattern, re.DOTALL))
        self.assertRegex(said, r"^test_metrics\.py:\d+ in <lambda>: \w+Metric: ")

    def logits(self):
        torch.manual_seed(1)
        return torch.nn.Linear(16, 4)(X[:16]).detach()

    def perplexity(self, weights=None):
        found = losses(self.logits(), Y[:16], "none")
        weights = torch.ones(16) if weights is None else weights
        return math.exp((found * weights).sum() / weights.sum())

    # ---- what is right ----

    def test_perplexity_of_what_it_takes(self):
        expected = self.perplexity()
        calls = [
            lambda m, g, y, t, w: m(labels=y, loss=losses(g, y, "sum")),
            lambda m, g, y, t, w: m(labels=y, loss=losses(g, y, "none")),
            lambda m, g, y, t, w: m(labels=y, loss=losses(g, y, "none").sum()),
            # As the ModelZoo does: a mean, times what it is the mean of.
            lambda m, g, y, t, w: m(labels=y, loss=F.cross_entropy(g, y) * y.shape[0]),
            lambda m, g, y, t, w: m(y, losses(g, y, "sum"), weights=torch.ones(8), dtype=g.dtype),
            lambda m, g, y, t, w: m(y, losses(g, y, "sum"), weights=8.0),
        ]
        for number, call in enumerate(calls):
            with self.subTest(number):
                self.assertAlmostEqual(self.value(M.PerplexityMetric, call), expected, places=4)
                cstorch.finish()

    def test_perplexity_with_weights(self):
        expected = self.perplexity(W[:16])
        calls = [
            lambda m, g, y, t, w: m(y, (losses(g, y, "none") * w).sum(), w),
            lambda m, g, y, t, w: m(y, losses(g, y, "none") * w, w),
            lambda m, g, y, t, w: m(y, losses(g, y, "none"), w),
            lambda m, g, y, t, w: m(y, F.cross_entropy(g, y.where(w > 0, -100)) * w.sum(), w),
        ]
        for number, call in enumerate(calls):
            with self.subTest(number):
                self.assertAlmostEqual(self.value(M.PerplexityMetric, call), expected, places=4)
                cstorch.finish()

    def test_a_sample_of_one_token(self):
        found = self.value(
            M.PerplexityMetric, lambda m, g, y, t, w: m(y[:1], F.cross_entropy(g[:1], y[:1])), 1
        )
        self.assertAlmostEqual(found, math.exp(F.cross_entropy(self.logits()[:1], Y[:1])), places=4)

    def test_classes_of_any_type(self):
        expected = (self.logits().argmax(-1) == Y[:16]).float().mean().item()
        for cast in (torch.int32, torch.int64, torch.float32):
            with self.subTest(cast):
                found = self.value(
                    M.AccuracyMetric, lambda m, g, y, t, w: m(y, g.argmax(-1).to(cast))
                )
                self.assertAlmostEqual(found, expected, places=5)
                cstorch.finish()
        found = self.value(
            M.AccuracyMetric, lambda m, g, y, t, w: m((y > 1).float(), (g[:, 0] > 0).float())
        )
        expected = ((self.logits()[:, 0] > 0) == (Y[:16] > 1)).float().mean().item()
        self.assertAlmostEqual(found, expected, places=5)

    def test_scores_by_both_names(self):
        best = self.logits().topk(2).indices
        expected = (best == Y[:16, None]).any(-1).float().mean().item()
        for name in ("scores", "predictions"):
            found = self.value(
                lambda: M.RecallAtKMetric(k=2), lambda m, g, y, t, w: m(labels=y, **{name: g})
            )
            self.assertAlmostEqual(found, expected, places=5)
            cstorch.finish()

    def test_a_mean_with_a_number_as_weight(self):
        found = self.value(M.MeanMetric, lambda m, g, y, t, w: m(g.mean(), weight=8))
        self.assertAlmostEqual(found, self.logits().mean().item(), places=5)

    # ---- what is told ----

    def told(self, call):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            self.value(M.PerplexityMetric, call, 1)
        return [str(w.message) for w in found if "Perplexity" in str(w.message)]

    def test_a_quotient(self):
        said = self.told(lambda m, g, y, t, w: m(y, losses(g, y, "sum") / w.sum()))
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"test_metrics\.py:\d+.*loss is a quotient, made at test_metrics")

    def test_ignored_labels_without_weights(self):
        def loss(g, y):
            return F.cross_entropy(g, y, reduction="sum", ignore_index=0)

        said = self.told(lambda m, g, y, t, w: m(y, loss(g, y)))
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"leaves out the labels that are 0.*weights=\(labels != 0\)")
        cstorch.finish()
        self.assertEqual(self.told(lambda m, g, y, t, w: m(y, loss(g, y), (y != 0).float())), [])

    def test_outside_of_a_step(self):
        with self.assertRaisesRegex(cstorch.TraceError, "called outside of a step"):
            M.AccuracyMetric()(labels=Y, predictions=Y)


def _wrong_test(made, call, pattern):
    return lambda self: self.refuse(made, call, pattern)


for _name, _made, _call, _pattern in WRONG:
    setattr(Metrics, f"test_wrong_{_name}", _wrong_test(_made, _call, _pattern))


if __name__ == "__main__":
    unittest.main()
