"""Every loss of torch.nn.functional, with its reductions and options, beside PyTorch in float64:
values and gradients, all in one step; and means over what counts, for every cut into microbatches.
"""

import unittest

import torch
import torch.nn.functional as F

import cstorch
from programs import Case, loader

N, CLASSES = 6, 4
LABELS = torch.tensor([0, 3, 1, 2, -100, 3])
IGNORED = torch.full((N,), -100)
WEIGHT = torch.tensor([0.5, 2.0, 0.0, 1.5])
TARGET = torch.linspace(0.05, 0.9, N * CLASSES).reshape(N, CLASSES)
SIGNS = torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
REDUCTIONS = ("mean", "sum", "none")


def target(x):
    return TARGET.to(x.dtype)


def weight(x):
    return WEIGHT.to(x.dtype)


def signs(x):
    return SIGNS.to(x.dtype)


def probabilities(x):
    return torch.sigmoid(x) * 0.98 + 0.01


def every_reduction(name, function):
    return {f"{name}_{how}": lambda x, how=how: function(x, how) for how in REDUCTIONS}


LOSSES = {
    **every_reduction("cross_entropy", lambda x, r: F.cross_entropy(x, LABELS, reduction=r)),
    **every_reduction(
        "cross_entropy_all",
        lambda x, r: F.cross_entropy(
            x,
            LABELS.clamp(min=0),
            weight=weight(x),
            ignore_index=3,
            label_smoothing=0.2,
            reduction=r,
        ),
    ),
    **every_reduction(
        "cross_entropy_255",
        lambda x, r: F.cross_entropy(
            x, torch.where(LABELS < 0, 255, LABELS), ignore_index=255, reduction=r
        ),
    ),
    **every_reduction(
        "cross_entropy_soft",
        lambda x, r: F.cross_entropy(x, target(x), weight=weight(x), label_smoothing=0.1, reduction=r),
    ),
    "cross_entropy_ignored_sum": lambda x: F.cross_entropy(x, IGNORED, reduction="sum"),
    "cross_entropy_ignored_none": lambda x: F.cross_entropy(x, IGNORED, reduction="none"),
    **every_reduction(
        "nll", lambda x, r: F.nll_loss(F.log_softmax(x, 1), LABELS, weight=weight(x), reduction=r)
    ),
    **every_reduction("mse", lambda x, r: F.mse_loss(x, target(x), reduction=r)),
    **every_reduction("mse_weight", lambda x, r: F.mse_loss(x, target(x), reduction=r, weight=target(x))),
    **every_reduction("l1", lambda x, r: F.l1_loss(x, target(x), reduction=r)),
    **every_reduction("smooth_l1", lambda x, r: F.smooth_l1_loss(x, target(x), beta=0.4, reduction=r)),
    **every_reduction("smooth_l1_0", lambda x, r: F.smooth_l1_loss(x, target(x), beta=0.0, reduction=r)),
    **every_reduction("huber", lambda x, r: F.huber_loss(x, target(x), delta=0.7, reduction=r)),
    **every_reduction(
        "bce_logits",
        lambda x, r: F.binary_cross_entropy_with_logits(
            x, target(x), weight=weight(x), pos_weight=weight(x) + 0.5, reduction=r
        ),
    ),
    **every_reduction(
        "bce", lambda x, r: F.binary_cross_entropy(probabilities(x), target(x), weight(x), reduction=r)
    ),
    **every_reduction(
        "kl", lambda x, r: F.kl_div(F.log_softmax(x, 1), target(x), reduction=r)
    ),
    "kl_batchmean": lambda x: F.kl_div(F.log_softmax(x, 1), target(x), reduction="batchmean"),
    "kl_log": lambda x: F.kl_div(
        F.log_softmax(x, 1), target(x).log(), reduction="batchmean", log_target=True
    ),
    **every_reduction(
        "gaussian",
        lambda x, r: F.gaussian_nll_loss(x, target(x), x * x + 0.5, full=True, reduction=r),
    ),
    **every_reduction("poisson", lambda x, r: F.poisson_nll_loss(x, target(x) * 5, reduction=r)),
    **every_reduction(
        "soft_margin", lambda x, r: F.soft_margin_loss(x, signs(x)[:, None].expand(N, CLASSES), reduction=r)
    ),
    **every_reduction(
        "multilabel_soft",
        lambda x, r: F.multilabel_soft_margin_loss(x, (target(x) > 0.4).to(x.dtype), reduction=r),
    ),
    **every_reduction(
        "margin_ranking",
        lambda x, r: F.margin_ranking_loss(x[:, 0], x[:, 1], signs(x), margin=0.1, reduction=r),
    ),
    **every_reduction(
        "hinge", lambda x, r: F.hinge_embedding_loss(x[:, 0], signs(x), margin=0.8, reduction=r)
    ),
    **every_reduction(
        "cosine_embedding",
        lambda x, r: F.cosine_embedding_loss(x, target(x), signs(x), margin=0.1, reduction=r),
    ),
    **every_reduction(
        "triplet",
        lambda x, r: F.triplet_margin_loss(x, x.flip(0), target(x), reduction=r),
    ),
}


class Holder(torch.nn.Module):
    def __init__(self, names):
        super().__init__()
        generator = torch.Generator().manual_seed(5)
        self.values = torch.nn.ParameterDict(
            {"f_" + n: torch.nn.Parameter(torch.randn(N, CLASSES, generator=generator)) for n in names}
        )


def weighed(value):
    """A scalar of it to which each element counts otherwise."""
    weights = torch.arange(1.0, 1 + value.numel(), dtype=value.dtype).reshape(value.shape) / 10
    return (value * weights).sum()


class Losses(Case):
    def test_every_loss_is_that_of_pytorch(self):
        self.configure()
        holder = Holder(LOSSES)
        cstorch.compile(holder)
        wanted = {}
        for name, function in LOSSES.items():
            x = holder.values["f_" + name].detach().double().requires_grad_()
            value = function(x)
            weighed(value).backward()
            wanted[name] = (value.detach(), x.grad)

        @cstorch.trace
        def step(batch):
            values, loss = {}, batch[0].sum()
            for name, function in LOSSES.items():
                values[name] = function(holder.values["f_" + name])
                loss = loss + weighed(values[name])
            loss.backward()
            return values, {name: holder.values["f_" + name].grad for name in LOSSES}

        ((values, gradients),) = self.run_step(step, loader(torch.zeros(8, 1)))
        for name, (value, gradient) in wanted.items():
            with self.subTest(name):
                torch.testing.assert_close(values[name].double(), value, rtol=2e-5, atol=2e-6)
                torch.testing.assert_close(gradients[name].double(), gradient, rtol=5e-5, atol=5e-6)

    def test_means_are_those_of_the_whole_batch(self):
        rows = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))
        labels = torch.tensor([2, -100, -100, -100, 0, 1, 3, 1])
        table = torch.randn(CLASSES, 3, generator=torch.Generator().manual_seed(2))

        def loss_of(logits, targets, weight):
            entropy = F.cross_entropy(logits, targets)
            rest = F.nll_loss(F.log_softmax(logits, 1), targets, weight=WEIGHT.to(logits.dtype))
            return 2 * entropy - rest / 3 + 0.1 * (weight * weight).sum()

        exact = table.double().requires_grad_()
        wanted = loss_of(rows.double() @ exact.t(), labels, exact)
        wanted.backward()
        for micro in (1, 2, 4, 8):
            self.configure()
            model = torch.nn.Linear(3, CLASSES, bias=False)
            with torch.no_grad():
                model.weight.copy_(table)
            cstorch.compile(model)
            data = loader(rows, labels, batch_size=8)
            data.micro_batch_size = micro

            @cstorch.trace
            def step(batch):
                loss = loss_of(model(batch[0]), batch[1], model.weight)
                loss.backward()
                return loss, model.weight.grad

            ((loss, gradient),) = self.run_step(step, data)
            torch.testing.assert_close(loss.double(), wanted.detach(), rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(gradient.double(), exact.grad, rtol=1e-5, atol=1e-6)
            cstorch.finish()

    def test_labels_that_are_no_class_end_the_run(self):
        for wrong in (4, -1):
            self.configure()
            model = torch.nn.Linear(3, CLASSES)
            cstorch.compile(model)
            data = loader(torch.ones(8, 3), torch.tensor([0, 1, 2, wrong, 0, -100, 3, 1]))

            @cstorch.trace
            def step(batch):
                loss = F.cross_entropy(model(batch[0]), batch[1])
                loss.backward()
                return loss

            with self.assertRaisesRegex(Exception, f"{wrong} in stream .*accepted are 0 to 3, and -100"):
                self.run_step(step, data)
            cstorch.finish()


if __name__ == "__main__":
    unittest.main()
