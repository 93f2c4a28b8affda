"""The trainer: the documents' examples with the import changed, the same weights as a loop of one's
own, hooks in their order, checkpoints, validations, loggers, and what is refused."""

import csv
import json
import pathlib
import subprocess
import sys
import unittest

import torch
import torch.nn.functional as F

import csengine
import cstorch
from cstorch.trainer import Trainer, callbacks
from cstorch.trainer.callbacks import (
    Callback,
    Checkpoint,
    ComputeNorm,
    CountParams,
    EarlyStopping,
    GlobalFlags,
    KeepNCheckpoints,
    LoadCheckpointStates,
    Logging,
    LogOptimizerParamGroup,
    MixedPrecision,
    RateProfiler,
    SaveCheckpointState,
    ScopedTrainFlags,
    TrainingLoop,
    ValidationLoop,
    register_global_callback,
)
from cstorch.trainer.loggers import CSVLogger, JSONLLogger, Logger, ProgressLogger
from programs import Case, loader

torch.manual_seed(0)
X = torch.randn(256, 16)
Y = torch.randint(0, 4, (256,))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(16, 32)
        self.last = torch.nn.Linear(32, 4)
        self.accuracy = cstorch.metrics.AccuracyMetric("accuracy")

    def forward(self, batch):
        x, y = batch
        outputs = self.last(torch.relu(self.first(x)))
        if not self.training:
            self.accuracy(labels=y.clone(), predictions=outputs.argmax(-1).int())
        return F.cross_entropy(outputs, y)


def sgd(model):
    return cstorch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def falling(optimizer):
    return cstorch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 0.01, 40)


class Keep(Logger):
    """Keeps what it is given: [(step, name, value)]."""

    def __init__(self):
        self.seen = []

    def log_metrics(self, metrics, step):
        self.seen += [(step, name, value) for name, value in metrics.items()]

    def of(self, name):
        return {step: value for step, one, value in self.seen if one == name}


class TrainerCase(Case):
    def trainer(self, **settings):
        given = {
            "device": "CSX",
            "model_dir": self.folder + "/model",
            "model": Net,
            "optimizer": sgd,
            "logging": Logging(log_level="WARNING"),
            "seed": 1,
            **settings,
        }
        return Trainer(**given)

    def data(self, **settings):
        return loader(X, Y, batch_size=64, **settings)

    def weights(self, trainer):
        return {n: p.detach().clone() for n, p in trainer.model.named_parameters()}

    def files(self, pattern):
        return sorted(p.name for p in pathlib.Path(self.folder, "model").glob(pattern))


class Training(TrainerCase):
    def test_the_weights_of_a_loop_of_ones_own(self):
        for precision, scale in (
            (None, None),
            (MixedPrecision(fp16_type="float16", loss_scaling_factor="dynamic"), "dynamic"),
        ):
            keep = Keep()
            trainer = self.trainer(
                schedulers=[falling],
                precision=precision,
                loop=TrainingLoop(num_steps=8, eval_frequency=3),
                loggers=[keep],
            )
            trainer.fit(self.data(), self.data())
            found = self.weights(trainer)
            cstorch.finish()

            self.configure(seed=1)
            torch.manual_seed(1)
            model = cstorch.compile(Net())
            optimizer = sgd(model)
            falling(optimizer)
            scaler = None
            if scale is not None:
                cstorch.amp.set_half_dtype("float16")
                scaler = cstorch.amp.GradScaler(scale, overflow_tolerance=0.0)

            @cstorch.trace
            def step(batch):
                loss = model(batch)
                cstorch.amp.optimizer_step(loss, optimizer, scaler)
                return loss

            losses = [float(v) for v in self.run_step(step, self.data(), 8)]
            self.assertEqual(list(keep.of("loss").values()), losses)
            for name, value in model.named_parameters():
                self.assertTrue(torch.equal(found[name], value), name)
            cstorch.finish()

    def test_clipping(self):
        norms = Keep()
        self.trainer(
            precision=MixedPrecision(max_gradient_norm=0.001),
            loop=TrainingLoop(num_steps=3),
            optimizer=lambda model: cstorch.optim.SGD(model.parameters(), lr=1.0),
            callbacks=[ComputeNorm()],
            loggers=[norms],
        ).fit(self.data())
        # Each step moves the weights by at most the norm that gradients are clipped to.
        sizes = list(norms.of("model_wise_params_norm").values())
        self.assertGreater(min(norms.of("model_wise_grad_norm").values()), 0.01)
        for before, after in zip(sizes, sizes[1:]):
            self.assertLessEqual(abs(after - before), 0.0011)

    def test_objects_and_functions(self):
        for made in (False, True):
            model = Net()
            optimizer = sgd(model) if made else sgd
            schedule = falling(optimizer) if made else falling
            trainer = self.trainer(
                model=model,
                optimizer=optimizer,
                schedulers=[schedule],
                backend=cstorch.backend("CSX"),
                device=None,
                loop=TrainingLoop(max_steps=2),
            )
            trainer.fit(self.data())
            self.assertEqual(trainer.global_step, 2)
            self.assertIs(trainer.model, model)
            cstorch.finish()

    def test_a_model_may_return_a_dictionary_or_a_tuple(self):
        for form in (lambda loss: {"loss": loss, "more": loss * 2}, lambda loss: (loss, loss * 2)):

            class Other(Net):
                def forward(self, batch, form=form):
                    return form(super().forward(batch))

            trainer = self.trainer(model=Other, loop=TrainingLoop(num_steps=1))
            trainer.fit(self.data())
            self.assertGreater(trainer.metrics["loss"], 0)
            cstorch.finish()

    def test_the_same_weights_in_parts_of_a_batch(self):
        found = []
        for size in (64, 16):
            trainer = self.trainer(
                loop=TrainingLoop(num_steps=4),
                callbacks=[GlobalFlags(**{"csx.performance.micro_batch_size": size})],
            )
            data = self.data()
            trainer.fit(data)
            self.assertEqual(data.microbatches(), 64 // size)
            found.append(self.weights(trainer))
            cstorch.finish()
        for name, value in found[0].items():
            self.assertTrue(torch.allclose(value, found[1][name], atol=1e-5), name)


class Hooks(TrainerCase):
    def test_their_order_and_arguments(self):
        called = []

        class Watch(Callback):
            def __getattribute__(self, name):
                value = super().__getattribute__(name)
                if name in callbacks.callback.HOOKS:
                    called.append(name)
                return value

        class Check(Callback):
            def on_before_forward(self, trainer, model, batch, args, kwargs):
                assert trainer.is_tracing and args == [batch] and kwargs == {}

            def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
                assert set(outputs) == {"loss"} and batch_idx == trainer.global_step - 1

            def on_before_optimizer_step(self, trainer, model, optimizer):
                assert all(p.grad is not None for p in model.parameters())

        trainer = self.trainer(
            callbacks=[Watch(), Check()],
            schedulers=[falling],
            loop=TrainingLoop(num_steps=2, eval_steps=1),
            checkpoint=Checkpoint(steps=2),
        )
        trainer.fit(self.data(), self.data())
        step = "on_train_step_start on_before_forward on_after_forward on_before_backward "
        step += "on_after_backward on_before_optimizer_step on_after_optimizer_step "
        step += "on_before_optimizer_zero_grad on_after_optimizer_zero_grad "
        step += "on_before_scheduler_step on_after_scheduler_step on_train_step_end"
        saved = "on_save_checkpoint postprocess_checkpoint on_after_save_checkpoint"
        batch = "on_train_batch_start on_train_batch_end"
        expected = (
            "pre_setup setup post_setup on_enter_fit on_before_load_checkpoint on_fit_start "
            f"on_enter_train on_train_start on_train_batch_start {step} on_train_batch_end {batch} "
            f"{saved} on_train_end on_enter_validate on_validate_start on_validate_batch_start "
            "on_validate_step_start on_before_forward on_after_forward on_validate_step_end "
            "on_validate_batch_end on_validate_end run_validation on_fit_end"
        )
        self.assertEqual(called, expected.split())

    def test_of_all_trainers(self):
        class Count(Callback):
            steps = 0

            def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
                Count.steps += 1

        handle = register_global_callback(Count)
        self.assertIs(handle, Count)
        try:
            self.trainer(loop=TrainingLoop(num_steps=3)).fit(self.data())
        finally:
            callbacks.GLOBAL_CALLBACK_REGISTRY.clear()
        self.assertEqual(Count.steps, 3)

    def test_an_exception_reaches_callbacks_and_the_program(self):
        seen = []

        class Fails(Callback):
            def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
                raise ArithmeticError("on purpose")

            def on_train_exception(self, trainer, exception):
                seen.append(("train", str(exception)))

            def on_fit_exception(self, trainer, exception):
                seen.append(("fit", str(exception)))

        with self.assertRaisesRegex(ArithmeticError, "on purpose"):
            self.trainer(callbacks=[Fails()]).fit(self.data())
        self.assertEqual(seen, [("train", "on purpose"), ("fit", "on purpose")])


class Checkpoints(TrainerCase):
    def test_a_training_goes_on_with_the_same_bits(self):
        settings = {"schedulers": [falling], "checkpoint": Checkpoint(steps=2)}
        precision = {"fp16_type": "float16", "loss_scaling_factor": "dynamic"}
        whole = self.trainer(
            loop=TrainingLoop(num_steps=6), precision=MixedPrecision(**precision), **settings
        )
        whole.fit(self.data(), ckpt_path=None)
        wanted = self.weights(whole)
        cstorch.finish()
        for name in ("checkpoint_6.mdl", "checkpoint_4.mdl"):
            pathlib.Path(self.folder, "model", name).unlink()
        rest = self.trainer(
            loop=TrainingLoop(max_steps=6), precision=MixedPrecision(**precision), **settings
        )
        rest.fit(self.data())  # the newest is that of step 2
        self.assertEqual(rest.global_step, 6)
        for name, value in self.weights(rest).items():
            self.assertTrue(torch.equal(wanted[name], value), name)

    def test_which_files_there_are(self):
        self.trainer(
            loop=TrainingLoop(num_steps=7, eval_frequency=3),
            checkpoint=Checkpoint(steps=2, save_initial_checkpoint=True),
            callbacks=[KeepNCheckpoints(3), SaveCheckpointState(2)],
        ).fit(self.data(), self.data())
        kept = ["checkpoint_4.mdl", "checkpoint_6.mdl", "checkpoint_7.mdl"]
        self.assertEqual(self.files("checkpoint_*"), kept)
        parts = ["model_checkpoint_2.mdl", "model_checkpoint_6.mdl"]
        self.assertEqual(self.files("model_*"), parts)
        part = cstorch.load(self.folder + "/model/" + parts[0])
        self.assertEqual(list(part), ["model"])

    def test_states_that_are_loaded(self):
        first = self.trainer(loop=TrainingLoop(num_steps=2), checkpoint=Checkpoint(steps=2))
        first.fit(self.data())
        wanted = self.weights(first)
        cstorch.finish()
        second = self.trainer(
            callbacks=[LoadCheckpointStates("model")], loop=TrainingLoop(num_steps=1)
        )
        second.load_checkpoint(...)
        self.assertEqual(second.global_step, 0)
        for name, value in self.weights(second).items():
            self.assertTrue(torch.equal(wanted[name], value), name)
        cstorch.finish()
        third = self.trainer(callbacks=[LoadCheckpointStates("modle")])
        with self.assertRaisesRegex(KeyError, "no state 'modle'; it has: global_step, model"):
            third.load_checkpoint(...)


class Validations(TrainerCase):
    def test_values_and_their_names(self):
        keep = Keep()
        trainer = self.trainer(
            loop=TrainingLoop(num_steps=4, eval_frequency=2, eval_steps=2), loggers=[keep]
        )
        trainer.fit(self.data(), self.data())
        self.assertEqual(list(keep.of("val_loss")), [2, 4])
        with torch.no_grad():
            x, y = X[:128], Y[:128]
            outputs = trainer.model.last(torch.relu(trainer.model.first(x)))
            loss = F.cross_entropy(outputs, y).item()
            accuracy = (outputs.argmax(-1) == y).float().mean().item()
        self.assertAlmostEqual(keep.of("val_loss")[4], loss, delta=1e-5)
        self.assertAlmostEqual(keep.of("val_accuracy")[4], accuracy, delta=1e-6)
        trainer.validate([self.data(), self.data()], ckpt_path=None, loop=ValidationLoop(1))
        self.assertIn("validate_1/loss", trainer.metrics)
        self.assertIn("validate_0/accuracy", trainer.metrics)

    def test_the_store_of_the_run_has_them(self):
        trainer = self.trainer(
            loop=TrainingLoop(num_steps=4, eval_frequency=2, eval_steps=2),
            callbacks=[LogOptimizerParamGroup("lr")],
            loggers=[keep := Keep()],
        )
        trainer.fit(self.data(), self.data())
        with self.assertWarnsRegex(UserWarning, "the run's store has no 'two words'"):
            trainer.log_metrics_dict({"two words": 1.0})
        names = {name for _, name, _ in keep.seen} - {"loss", "two words"}
        self.assertIn("val_accuracy", names)
        self.assertGreater(len(names), 2)
        cstorch.finish()
        run = csengine.Run(self.folder + "/model")
        for name in names:
            self.assertEqual({p.step: p.value for p in run.points(name)}, keep.of(name), name)

    def test_of_several_checkpoints(self):
        keep = Keep()
        trainer = self.trainer(
            loop=TrainingLoop(num_steps=4), checkpoint=Checkpoint(steps=2), loggers=[keep]
        )
        trainer.fit(self.data())
        trainer.validate_all(self.data(), self.folder + "/model/checkpoint_?.mdl")
        self.assertEqual(list(keep.of("val_loss")), [2, 4])
        with self.assertRaisesRegex(FileNotFoundError, "no checkpoint .*nothing"):
            trainer.validate_all(self.data(), self.folder + "/nothing*.mdl")

    def test_the_training_may_end_early(self):
        trainer = self.trainer(
            loop=TrainingLoop(num_steps=40, eval_frequency=1),
            callbacks=[EarlyStopping(patience=2, min_delta=100)],
        )
        trainer.fit(self.data(), self.data())
        self.assertEqual(trainer.global_step, 3)

    def test_without_an_optimizer(self):
        trainer = self.trainer(optimizer=None)
        trainer.validate(self.data())
        self.assertGreater(trainer.metrics["val_loss"], 0)
        with self.assertRaisesRegex(ValueError, "needs an optimizer"):
            trainer.fit(self.data())


class Loggers(TrainerCase):
    def test_files_and_steps(self):
        trainer = self.trainer(
            loop=TrainingLoop(num_steps=6),
            logging=Logging(log_steps=4, log_level="WARNING"),
            schedulers=[falling],
            callbacks=[CountParams(), RateProfiler(), LogOptimizerParamGroup(["lr", "momentum"])],
            loggers=[CSVLogger(), JSONLLogger(), ProgressLogger()],
        )
        trainer.fit(self.data())
        with open(self.folder + "/model/metrics.csv") as file:
            rows = list(csv.DictReader(file))
        with open(self.folder + "/model/metrics.jsonl") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual(
            [(r["step"], r["name"], float(r["value"])) for r in rows],
            [(str(n["step"]), n["name"], n["value"]) for n in lines],
        )
        rate = {n["step"]: n["value"] for n in lines if n["name"] == "lr/0"}
        # The rate of the step that was made: the schedule's after 3 and 5 steps.
        self.assertEqual(list(rate), [4, 6])
        for step, value in rate.items():
            self.assertAlmostEqual(value, 0.1 - 0.09 * (step - 1) / 40, delta=1e-6)
        names = {n["name"] for n in lines}
        self.assertLess({"loss", "momentum/0", "num_params", "local_samples_per_sec"}, names)

    def test_destinations(self):
        one, two = Keep(), ProgressLogger()
        trainer = self.trainer(loggers=[one, two])
        trainer.log_metrics_dict({"a": 1}, step=7, dest="Keep")
        trainer.log_metrics_dict({"a": 2}, dest={"ProgressLogger"})
        with trainer.name_scope("b"):
            trainer.log_metrics(c=torch.tensor(3.0))
        self.assertEqual(one.seen, [(7, "a", 1.0), (0, "b/c", 3.0)])
        with self.assertRaisesRegex(ValueError, "no logger 'Kep'; accepted: Keep, ProgressLogger"):
            trainer.log_metrics_dict({"a": 1}, dest="Kep")


class Refusals(TrainerCase):
    def test_arguments(self):
        torchs = torch.optim.SGD
        for message, settings in (
            ("device or backend, not both", {"backend": cstorch.backend("CSX")}),
            ("device is 'TPU'; accepted: CSX, CPU, GPU", {"device": "TPU"}),
            ("model is None; accepted: a torch.nn.Module", {"model": None}),
            ("optimizer is SGD; accepted: one of cstorch.optim", {"optimizer": lambda m: torchs(
                m.parameters(), 0.1
            )}),
            ("a scheduler is 'LinearLR'; accepted", {"schedulers": ["LinearLR"]}),
            ("precision is {'fp16_type': 'bfloat16'}", {"precision": {"fp16_type": "bfloat16"}}),
            ("loop is 10; accepted: a cstorch.trainer.callbacks.LoopCallback", {"loop": 10}),
            ("callbacks has the class CountParams: make an object", {"callbacks": [CountParams]}),
            ("callbacks has .*Checkpoint.*own parts", {"callbacks": [Checkpoint()]}),
            ("loggers has .*CountParams", {"loggers": [CountParams()]}),
            ("autorestart is given", {"autorestart": 3}),
            ("sparsity is 0.5", {"sparsity": 0.5}),
        ):
            with self.subTest(message=message):
                with self.assertRaisesRegex((ValueError, TypeError), message):
                    self.trainer(**settings)
                cstorch.finish()

    def test_settings_of_parts(self):
        for message, make in (
            ("num_steps is 0; accepted", lambda: TrainingLoop(num_steps=0)),
            ("num_steps or num_epochs, not both", lambda: TrainingLoop(num_steps=1, num_epochs=1)),
            ("grad_accum_steps is 2; accepted: 1", lambda: TrainingLoop(grad_accum_steps=2)),
            ("eval_frequency is 1.5", lambda: TrainingLoop(eval_frequency=1.5)),
            ("steps is -1", lambda: Checkpoint(steps=-1)),
            ("checkpoint_name is 'a.mdl'", lambda: Checkpoint(checkpoint_name="a.mdl")),
            ("log_level is 'LOUD'; accepted: DEBUG", lambda: Logging(log_level="LOUD")),
            ("fp16_type is 'fp16'; accepted: 'float16'", lambda: MixedPrecision(fp16_type="fp16")),
            ("exclude each other", lambda: MixedPrecision(
                max_gradient_norm=1.0, max_gradient_value=2.0
            )),
            ("max_gradient_norm is 0", lambda: MixedPrecision(max_gradient_norm=0)),
            ("no flag 'csx.precison.x'", lambda: GlobalFlags(**{"csx.precison.x": 1})),
            ("use GlobalFlags", lambda: ScopedTrainFlags(
                **{"csx.precision.optimization_level": 1}
            )),
        ):
            with self.subTest(message=message):
                with self.assertRaisesRegex((ValueError, TypeError, AttributeError), message):
                    make()

    def test_names_that_are_not_here(self):
        with self.assertRaisesRegex(ImportError, "no Lora: derive the model"):
            from cstorch.trainer.callbacks import Lora  # noqa: F401
        with self.assertRaisesRegex(ImportError, "no AutoRestart: `csengine serve`"):
            from cstorch.trainer.callbacks import AutoRestart  # noqa: F401

    def test_what_is_validated(self):
        with self.assertRaisesRegex(TypeError, "fit.. takes a cstorch.utils.data.DataLoader"):
            self.trainer().fit([1, 2])
        cstorch.finish()
        with self.assertRaisesRegex(TypeError, "model returned NoneType; accepted: its loss"):
            self.trainer(model=lambda: Silent(), loop=TrainingLoop(num_steps=1)).fit(self.data())
        with self.assertRaisesRegex(AttributeError, "no hook 'on_lunch'; accepted: finalize"):
            self.trainer(model=Net()).call("on_lunch")


class Silent(Net):
    def forward(self, batch):
        super().forward(batch)


# The examples of the document about the trainer's precision, as they stand there but for `...`.
EXAMPLES = """
import torch
import cstorch
{imports}

def input_fn():
    return torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.randn(64, 8)), batch_size=16
    )

class Model(torch.nn.Linear):
    def forward(self, batch):
        return super().forward(batch[0]).float().pow(2).mean()

for settings in (
    dict(fp16_type="cbfloat16"),
    dict(fp16_type="cbfloat16", loss_scaling_factor="dynamic"),
    dict(fp16_type="cbfloat16", loss_scaling_factor="dynamic", max_gradient_norm=1.0),
    dict(fp16_type="cbfloat16", loss_scaling_factor="dynamic", max_gradient_value=2.0),
    dict(
        fp16_type="float16",
        loss_scaling_factor="dynamic",
        max_gradient_norm=1.0,
        precision_opt_level=1,
    ),
):
    trainer = Trainer(
        model_dir={folder!r},
        model=lambda: Model(8, 4),
        optimizer=lambda model: cstorch.optim.SGD(model.parameters(), lr=0.1),
        precision=MixedPrecision(**settings),
    )
    trainer.fit(cstorch.utils.data.DataLoader(input_fn))
    print(trainer.global_step, trainer.metrics["loss"] > 0)
    cstorch.finish()
"""


class Documents(TrainerCase):
    def run_program(self, imports, *arguments):
        program = pathlib.Path(self.folder, "program.py")
        program.write_text(EXAMPLES.format(imports=imports, folder=self.folder + "/model"))
        found = subprocess.run(
            [sys.executable, "-W", "ignore", *arguments, str(program)],
            capture_output=True,
            text=True,
            timeout=200,
        )
        self.assertEqual(found.stdout, "4 True\n" * 5, found.stderr)
        return found.stderr

    def test_the_examples_with_the_import_changed(self):
        told = self.run_program(
            "from cstorch.trainer import Trainer\n"
            "from cstorch.trainer.callbacks import MixedPrecision"
        )
        self.assertIn("computes in cbfloat16, because precision.fp16_type is cbfloat16", told)

    def test_the_examples_as_they_are(self):
        self.run_program(
            "from cerebras.modelzoo import Trainer\n"
            "from cerebras.modelzoo.trainer.callbacks import MixedPrecision",
            "-m",
            "cstorch",
            "run",
        )

    def test_other_parts_of_the_modelzoo_say_what_is_missing(self):
        line = "import cstorch.as_cerebras\nimport cerebras.modelzoo.models.nlp.gpt2"
        found = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True)
        self.assertIn("add its folder src to PYTHONPATH", found.stderr)


if __name__ == "__main__":
    unittest.main()
