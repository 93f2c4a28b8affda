"""Programs that import the reference's packages: which names are answered, how a package of the
user's below `cerebras` is found, and a model and a trainer in the style of the ModelZoo."""

import dataclasses
import importlib
import inspect
import math
import os
import sys
import typing
import unittest
import warnings
from contextlib import ExitStack
from unittest import mock

import torch
from torch.utils import _pytree as pytree

import cstorch
import cstorch.as_cerebras  # noqa: F401 - what is tested
from cstorch import reference_names
from programs import Case, loader

# What programs of the reference import: module and names.
IMPORTED = """
cerebras.appliance.cluster.client TelemetryClient
cerebras.appliance.environment appliance_environ
cerebras.appliance.errors ApplianceNanError ApplianceCompilationError
cerebras.appliance.log ClassLogger named_class_logger get_level_name wsc_logger
cerebras.appliance.storage StorageReader StorageWriter H5Reader S3Reader S3Writer
cerebras.appliance.utils.classes retrieve_all_subclasses
cerebras.appliance.utils.debug_args get_debug_args
cerebras.appliance.utils.file create_symlink
cerebras.appliance.utils.units bytes_to_human
cerebras.pytorch amp backend backends compile current_pol distributed load make_constant metrics
cerebras.pytorch name_scope optim pol save sparse step_closure trace use_cs utils _generating_docs
cerebras.pytorch.amp GradScaler autocast get_half_dtype get_floating_point_dtype_str
cerebras.pytorch.backend Backend BackendType get_backend_args use_cs
cerebras.pytorch.backend.ltc_backend register_after_tensor_to_cpu
cerebras.pytorch.core.annotation AnnotationMode create_annotation
cerebras.pytorch.distributed ClusterConfig get_worker_state is_master_ordinal is_streamer
cerebras.pytorch.experimental.listener register_traced_tensor_hook
cerebras.pytorch.lib cerebras_pytorch_lib
cerebras.pytorch.metrics AccuracyMetric PerplexityMetric MeanMetric FBetaScoreMetric
cerebras.pytorch.metrics.metric Metric
cerebras.pytorch.nn.functional one_hot
cerebras.pytorch.optim Optimizer AdamW lr_scheduler scheduler weight_decay_scheduler
cerebras.pytorch.optim.lr_scheduler LRScheduler LinearLR SequentialLR
cerebras.pytorch.optim.scheduler Scheduler
cerebras.pytorch.sparse SparsityAlgorithm
cerebras.pytorch.sparse.configure default_sparse_param_filter
cerebras.pytorch.utils.call_once call_once
cerebras.pytorch.utils.data DataExecutor DataLoader Schedule compute_num_steps
cerebras.pytorch.utils.data.data_executor MbsSetting
cerebras.pytorch.utils.data.sampler pad_index
cerebras.pytorch.utils.data.utils Schedule infer_batch_size
cerebras.pytorch.utils.kernel kernel_annotater
cerebras.pytorch.utils.nest visit_torch_tensors recurse_spec
cerebras.pytorch.utils.num_kv_groups groups_annotater
cerebras.pytorch.utils.tracker RateTracker
cerebras.pytorch.utils.utils FilterCallable make_param_filter
"""


class Names(unittest.TestCase):
    def test_imported_names_are_answered(self):
        for line in IMPORTED.split("\n"):
            name, *names = line.split() or [None]
            for one in names:
                scope = {}
                exec(f"from {name} import {one}", scope)
                self.assertIn(one, scope)

    def test_modules_of_the_same_place_are_the_same(self):
        self.assertIs(importlib.import_module("cerebras.pytorch"), cstorch)
        self.assertIs(importlib.import_module("cerebras_pytorch.experimental"), cstorch)
        self.assertIs(importlib.import_module("cerebras.pytorch.amp"), cstorch.amp)

    def test_a_module_in_the_place_of_a_function_may_be_called(self):
        with mock.patch.object(cstorch.setup.session_module.current, "configure"):
            self.assertEqual(cstorch.backend("CPU").name, "CPU")
        called = []
        cstorch.utils.call_once()(lambda: called.append(1))()
        self.assertEqual(called, [1])
        with self.assertRaisesRegex(ValueError, "no backend 'TPU'"):
            cstorch.backend("TPU")

    def test_what_is_not_answered_is_said(self):
        for line in (
            "from cerebras.pytorch.utils import no_such_thing",
            "from cerebras.appliance.log import no_such_thing",
            "import cerebras.pytorch.no_such_thing",
            "import cerebras.appliance.no_such_thing",
        ):
            with self.assertRaisesRegex(
                ImportError, r"no_such_thing is not answered by cstorch.*docs/python\.md"
            ):
                exec(line)
        with self.assertRaisesRegex(ModuleNotFoundError, "cerebras.unknown"):
            importlib.import_module("cerebras.unknown")
        with self.assertRaisesRegex(NotImplementedError, "start_implicit_loop: not possible"):
            cstorch.experimental.start_implicit_loop(None, 1)

    def test_refusals_and_annotations_change_nothing(self):
        annotated = cstorch.core.annotation.create_annotation(object, len, name="x")
        self.assertEqual(annotated(abs)(-1), 1)
        with annotated:
            pass
        self.assertEqual(cstorch.utils.kernel.kernel_annotater(None)(abs)(-2), 2)

    def test_small_functions(self):
        names = reference_names
        self.assertEqual(names.get_level_name("info"), 20)
        with self.assertRaisesRegex(ValueError, "no level of logging 'loud'"):
            names.get_level_name("loud")
        self.assertEqual(names.bytes_to_human(3 * 2**20), "3 MiB")
        found = list(names.visit_torch_tensors({"a": [torch.ones(2), 3]}, scope=["input"]))
        self.assertEqual([path for path, _ in found], [["input", "a", 0]])
        self.assertEqual(names.infer_batch_size({"x": torch.ones(5, 2)}), 5)
        chosen = names.make_param_filter(["*.bias", "ln"])
        self.assertEqual(
            [chosen(n) for n in ("fc.bias", "bias_table", "h.ln.weight", "lnx")],
            [True, False, True, False],
        )
        distributed = cstorch.distributed
        self.assertEqual(distributed.get_streaming_batch_size(8, global_rank=None), 8)
        spec = distributed.service_resolver().cluster_spec
        self.assertEqual((spec.num_tasks(), spec.task().rank), (1, 0))
        kinds = set(names.retrieve_all_subclasses(cstorch.optim.lr_scheduler.LRScheduler))
        self.assertTrue(all(issubclass(k, cstorch.optim.lr_scheduler.LRScheduler) for k in kinds))

    def test_signatures_name_settings_and_parts(self):
        lr = cstorch.optim.lr_scheduler
        found = inspect.signature(cstorch.optim.AdamW.__init__).parameters
        self.assertTrue({"params", "lr", "betas", "weight_decay"} <= set(found))
        self.assertEqual(found["lr"].default, 0.001)
        found = inspect.signature(lr.SequentialLR.__init__).parameters
        self.assertEqual(found["optimizer"].annotation, torch.optim.Optimizer)
        self.assertEqual(found["schedulers"].annotation, typing.List[lr.LRScheduler])
        self.assertTrue(issubclass(lr.LinearLR, lr.LRScheduler))
        self.assertTrue(issubclass(lr.SequentialLR, cstorch.optim.scheduler.SequentialScheduler))
        decay = cstorch.optim.weight_decay_scheduler
        found = inspect.signature(decay.CosineDecayWD.__init__).parameters
        self.assertTrue({"initial_val", "end_val", "total_iters"} <= set(found))
        self.assertTrue(issubclass(decay.SequentialWD, cstorch.optim.scheduler.SequentialScheduler))

    def test_a_batch_sampler_chooses_whole_batches(self):
        from cstorch.utils.data.source import SampleSource

        rows = torch.arange(10.0)[:, None]
        for shuffle in (False, True):
            sampler = cstorch.utils.data.DistributedSampler(rows, shuffle=shuffle, batch_size=4)
            self.assertEqual(list(sampler), [[0, 1, 2, 3], [4, 5, 6, 7]])
            self.assertEqual(len(sampler), 2)
            loader = torch.utils.data.DataLoader(rows, batch_sampler=sampler)
            source = SampleSource(lambda loader=loader: loader)
            self.assertTrue(source.by_index)
            self.assertEqual((source.batch_size, source.shuffles), (4, shuffle))
            self.assertEqual(source.read([9, 0], [0, 0])[0][1].flatten().tolist(), [9.0, 0.0])

    def test_a_rate_counts_from_its_reset(self):
        with mock.patch("time.perf_counter") as clock:
            clock.return_value = 10.0
            tracker = cstorch.utils.tracker.RateTracker(smooth_factor=0.25)
            self.assertEqual((tracker.rate(), tracker.global_rate()), (0.0, 0.0))
            clock.return_value = 12.0
            tracker.add(8)
            self.assertEqual((tracker.rate(), tracker.global_rate()), (4.0, 4.0))
            clock.return_value = 13.0
            tracker.add(1)
            self.assertEqual(tracker.elapsed_seconds(), 3.0)
            self.assertEqual(tracker.rate(), 0.75 * 1 + 0.25 * 4)
            self.assertEqual((tracker.global_rate(), tracker.total_count), (3.0, 9))
            tracker.reset_time(offset=1)
            self.assertEqual((tracker.elapsed_seconds(), tracker.total_count), (1.0, 9))

    def test_schedules(self):
        every = cstorch.utils.data.Schedule.Range(start=3, end=10, step=4, include_last=True)
        self.assertEqual([s for s in range(12) if every.match(s)], [3, 7, 9])
        self.assertEqual(list(every), [3, 7, 9])
        self.assertEqual(len(every), 3)
        self.assertEqual([every.next_immediate_step(s) for s in (0, 3, 4, 7)], [3, 3, 7, 7])
        self.assertEqual(cstorch.utils.data.Schedule([every]).interval(), 4)


class Packages(Case):
    ABSENT = """
from bigcode_eval import tasks
from lm_eval import evaluator
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

@register_model("mine")
class Mine(LM):
    pass
"""

    def test_tree_specs_are_copied_by_their_older_names(self):
        def lists(spec):
            if spec.num_children == 0:
                return spec
            kind = list if spec.type is tuple else spec.type
            children = [lists(child) for child in spec.children_specs]
            return dataclasses.replace(spec, type=kind, children_specs=children)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's about the older names
            values, spec = pytree.tree_flatten({"a": (1, (2, [3])), "b": 4})
            made = pytree.tree_unflatten(values, lists(spec))
        self.assertEqual(made, {"a": [1, [2, [3]]], "b": 4})

    def test_packages_for_evaluations_may_be_absent(self):
        folder = os.path.join(self.folder, "cerebras", "modelzoo")
        os.makedirs(folder)
        with open(os.path.join(folder, "harness.py"), "w") as file:
            file.write(self.ABSENT)
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        names = ("lm_eval", "bigcode_eval", "cerebras")
        kept = {n: m for n, m in sys.modules.items() if n.partition(".")[0] in names}
        self.addCleanup(sys.modules.update, kept)
        with mock.patch.object(
            sys, "path", [self.folder]
        ):  # where they may be installed is left out
            harness = importlib.import_module("cerebras.modelzoo.harness")
        told = r"lm_eval\..* needs the package lm_eval, which is not installed"
        with self.assertRaisesRegex(ImportError, told):
            harness.evaluator.simple_evaluate(model=None)
        with self.assertRaisesRegex(ImportError, r"harness\.Mine needs|" + told):
            harness.Mine()
        with self.assertRaisesRegex(ImportError, r"bigcode_eval\.tasks needs the package"):
            harness.tasks.get_task("one")
        for name in [n for n in sys.modules if n.partition(".")[0] in names[:2]]:
            del sys.modules[name]
        with self.assertRaises(ImportError):  # of a program that is not the ModelZoo's
            importlib.import_module("lm_eval")

    def test_a_package_below_cerebras_is_found_in_the_module_path(self):
        folder = os.path.join(self.folder, "src", "cerebras", "zoo")
        os.makedirs(folder)
        with open(os.path.join(folder, "model.py"), "w") as file:
            file.write("from cerebras.pytorch import use_cs\nVALUE = use_cs()\n")
        with mock.patch.object(sys, "path", [os.path.join(self.folder, "src"), *sys.path]):
            self.assertIs(importlib.import_module("cerebras.zoo.model").VALUE, True)


class Network(torch.nn.Module):
    """A model that computes its loss, and its metrics where it is not trained."""

    def __init__(self):
        from cerebras.pytorch.metrics import AccuracyMetric, PerplexityMetric

        super().__init__()
        self.kernel = cstorch.utils.kernel.kernel_annotater("DEFAULT")
        self.embedding = torch.nn.Embedding(12, 8)
        self.norm = torch.nn.LayerNorm(8)
        self.head = torch.nn.Linear(8, 12, bias=False)
        self.head.weight = self.embedding.weight
        self.accuracy = AccuracyMetric(name="eval/accuracy")
        self.perplexity = PerplexityMetric(name="eval/perplexity")

    def forward(self, data):
        labels = data.pop("labels")
        mask = data["attention_mask"].to(torch.float32)
        logits = self.kernel(self.head)(self.norm(self.embedding(data["input_ids"])))
        loss = torch.nn.functional.cross_entropy(
            logits.view(-1, 12), labels.view(-1).long(), reduction="none"
        )
        loss = (loss.view(labels.shape) * mask).sum()
        if not self.training:
            self.accuracy(
                labels=labels, predictions=logits.argmax(-1).int(), weights=mask, dtype=mask.dtype
            )
            self.perplexity(labels=labels, loss=loss, weights=mask)
        return loss / mask.sum()


class Trainer:
    """A trainer whose step is a method, with hooks around it."""

    def __init__(self, model, optimizer, scheduler):
        self.backend = cstorch.current_backend()
        self.model = model
        self.compiled_model = cstorch.compile(model, self.backend)
        self.optimizer = optimizer(model)
        self.scheduler = scheduler(self.optimizer)
        self.losses = []
        self.saved = []

    @cstorch.trace
    def training_step(self, batch):
        assert self.backend.is_tracing
        outputs = {"loss": self.compiled_model(batch)}
        outputs["loss"].backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        with cstorch.name_scope(self.scheduler.param_group_key):
            self.scheduler.step()
        return outputs

    @cstorch.trace
    @torch.no_grad()
    def validation_step(self, batch):
        return {"loss": self.compiled_model(batch)}

    @cstorch.step_closure
    def log(self, loss):
        assert not self.backend.is_tracing
        self.losses.append(loss.item())

    @cstorch.checkpoint_closure
    def save(self, path):
        cstorch.save({"model": self.model.state_dict()}, path)
        self.saved.append(cstorch.current_executor().step)

    def loop(self, data, step, **options):
        executor = cstorch.utils.data.DataExecutor(data, profiler_activities=[], **options)
        with ExitStack():
            for index, batch in enumerate(executor):
                assert executor.iteration == index
                assert cstorch.utils.data.utils.infer_batch_size(batch) == 8
                self.log(step(batch)["loss"])
                self.save(os.path.join(executor.artifact_dir, f"at_{index}.mdl"))


class Hooks(Case):
    def test_a_hook_sees_each_value_before_its_closure(self):
        """The ModelZoo's profiler of durations takes the time of a step in one."""
        seen = []
        handle = cstorch.backend.ltc_backend.register_after_tensor_to_cpu(
            lambda tensor, name: seen.append(("value", round(tensor.item(), 4)))
        )
        self.addCleanup(handle.remove)

        @cstorch.step_closure
        def before():
            seen.append("before")

        @cstorch.step_closure
        def after(value):
            seen.append("after")

        self.configure()

        @cstorch.trace
        def step(batch):
            before()
            return batch[0].sum()

        data = loader(torch.arange(4.0).reshape(4, 1), batch_size=2)
        for index, batch in enumerate(cstorch.utils.data.DataExecutor(data, num_steps=3)):
            after(step(batch))
            if index == 1:
                handle.remove()
        expected = ["before", ("value", 1.0), "after", "before", "after", "before", "after"]
        self.assertEqual(seen, expected)


class Training(Case):
    def test_a_trainer_of_hooks_beside_pytorch(self):
        made = torch.Generator().manual_seed(5)
        ids = torch.randint(0, 12, (32, 6), generator=made).int()
        mask = torch.ones_like(ids)
        mask[::2, 4:] = 0
        labels = ids.roll(1, 1)

        def input_fn():
            rows = [
                {"input_ids": i, "attention_mask": m, "labels": t}
                for i, m, t in zip(ids, mask, labels)
            ]
            return torch.utils.data.DataLoader(rows, batch_size=8)

        model = Network()
        other = torch.nn.ModuleDict(
            {"embedding": torch.nn.Embedding(12, 8), "norm": torch.nn.LayerNorm(8)}
        )
        other.load_state_dict({k: v for k, v in model.state_dict().items() if "head" not in k})
        self.assertEqual(len(list(model.parameters())), 3)
        cstorch.backend("CSX", os.path.join(self.folder, "model"))
        trainer = Trainer(
            model,
            lambda m: cstorch.optim.convert(torch.optim.AdamW(m.parameters(), lr=0.01)),
            lambda o: cstorch.optim.lr_scheduler.LinearLR(o, 0.01, 0.001, 12),
        )
        every = cstorch.utils.data.Schedule(
            [cstorch.utils.data.Schedule.Range(start=3, step=4, end=8)]
        )
        data = cstorch.utils.data.DataLoader(input_fn)
        trainer.loop(data, trainer.training_step, num_steps=8, checkpoint_steps=every)
        self.assertEqual(trainer.saved, [4, 8])
        trained, trainer.losses = trainer.losses, []
        model.eval()
        trainer.loop(data, trainer.validation_step, num_steps=4)

        optimizer = torch.optim.AdamW(other.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 1 - 0.9 * t / 12)

        def forward(begin):
            rows = slice(begin, begin + 8)
            weight = other["embedding"].weight
            hidden = other["norm"](torch.nn.functional.embedding(ids[rows], weight))
            logits = hidden @ weight.T
            loss = torch.nn.functional.cross_entropy(
                logits.transpose(1, 2), labels[rows].long(), reduction="none"
            )
            kept = mask[rows].float()
            return logits, (loss * kept).sum(), kept

        for step, loss in enumerate(trained):
            _, total, kept = forward(step % 4 * 8)
            expected = total / kept.sum()
            self.assertAlmostEqual(loss, expected.item(), places=5)
            expected.backward()
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
        sums = [0.0, 0.0, 0.0]
        with torch.no_grad():
            for step, loss in enumerate(trainer.losses):
                logits, total, kept = forward(step * 8)
                self.assertAlmostEqual(loss, (total / kept.sum()).item(), places=5)
                hits = (logits.argmax(-1) == labels[step * 8 : step * 8 + 8]) * kept
                sums = [a + float(b) for a, b in zip(sums, (hits.sum(), total, kept.sum()))]
        self.assertEqual(model.accuracy.num_updates, 1)
        self.assertAlmostEqual(float(model.accuracy), sums[0] / sums[2], places=6)
        perplexity = math.exp(sums[1] / sums[2])
        self.assertAlmostEqual(float(model.perplexity) / perplexity, 1.0, places=5)
        model.accuracy.reset()
        self.assertEqual(model.accuracy.num_updates, 0)


if __name__ == "__main__":
    unittest.main()
