"""What a program computes in, by one rule over all forms of its settings; regions and levels, as the
step's graph says; wrong places and values."""

import contextlib
import os
import sqlite3
import unittest
import warnings

import torch

import csengine
import cstorch
from cstorch import disable_graphamp
from cstorch.trainer import Trainer
from cstorch.trainer.callbacks import MixedPrecision, TrainingLoop
from programs import Case, loader

torch.manual_seed(0)
X = torch.randn(128, 256)  # sums of four tiles


class Square(torch.nn.Linear):
    """The mean of the squares of a layer's outputs."""

    def forward(self, batch):
        return super().forward(batch[0]).float().pow(2).mean()


class Precise(Case):
    def folder_of_run(self):
        return os.path.join(self.folder, "model")

    def train(self, model=None, wrap=None, outside=None):
        """One step; returns its loss."""
        torch.manual_seed(0)
        model = cstorch.compile(model or Square(256, 8))
        optimizer = cstorch.optim.SGD(model.parameters(), lr=0.1)

        def step(batch):
            loss = (wrap(model) if wrap else model)(batch)
            loss.backward()
            optimizer.step()
            return loss

        with outside or contextlib.nullcontext():
            (loss,) = self.run_step(cstorch.trace(step), loader(X, batch_size=128))
        cstorch.finish()
        return float(loss)

    def told(self):
        """The line in the run's record."""
        with sqlite3.connect(os.path.join(self.folder_of_run(), "run.db")) as store:
            (line,) = store.execute(
                "SELECT message FROM logs WHERE message LIKE 'computes in %' ORDER BY id DESC"
                " LIMIT 1"
            ).fetchone()
        return line

    def nodes(self, op):
        graph = csengine.Run(self.folder_of_run()).graph()
        return [n for n in graph["nodes"] if n["op"] == op]

    def sums(self):
        """Of each product: the format between the tiles of its sums."""
        return [(n.get("accumulation") or {}).get("dtype") for n in self.nodes("matmul")]


class Rule(Precise):
    def check(self, expected, reason, **settings):
        self.configure(**settings)
        loss = self.train()
        line = self.told()
        self.assertIn(f"computes in {expected}, because {reason}", line)
        casts = [n["dtype"] for n in self.nodes("cast") if n.get("inserted_cast")]
        self.assertEqual(set(casts), set() if expected == "float32" else {expected})
        return loss, line

    def test_settings_that_leave_float32(self):
        first, line = self.check("float32", "neither precision.fp16_type nor precision.enabled")
        self.assertTrue(line.endswith("(default)"), line)
        for settings in (
            {"precision": {"weight_grad_reduce": "bf16"}},
            {"precision": {"max_gradient_norm": 1e9, "loss_scaling_factor": 1024}},
            {"precision": {"weight_update": "bf16"}},
            {"weight_grad_reduce": "bf16"},
            {"weight_update": "bf16sr"},
        ):
            with self.subTest(settings=settings):
                found, _ = self.check("float32", "neither", **settings)
                self.assertAlmostEqual(found, first, delta=1e-3)  # weights begin rounded
        found, _ = self.check(
            "float32",
            "precision.enabled is false (cstorch.configure, programs.py",
            precision={"enabled": False, "fp16_type": "float16"},
        )
        self.assertEqual(found, first)
        cstorch.amp.set_half_dtype("bfloat16")
        cstorch.amp.enable_mixed_precision(False)
        self.check("float32", "precision.enabled is false (cstorch.amp.enable_mixed_precision, ")

    def test_settings_that_choose_16_bits(self):
        self.check(
            "float16",
            "precision.fp16_type is float16 (cstorch.configure, programs.py",
            precision={"fp16_type": "float16"},
        )
        self.check("bfloat16", "precision.enabled is true", precision={"enabled": True})
        cstorch.amp.enable_mixed_precision()
        self.assertTrue(cstorch.amp.mixed_precision())
        self.assertEqual(cstorch.amp.get_half_dtype(), torch.bfloat16)
        self.check("bfloat16", "precision.enabled is true (cstorch.amp.enable_mixed_precision, ")
        cstorch.amp.set_half_dtype("cbfloat16")
        self.check(
            "cbfloat16",
            "precision.fp16_type is cbfloat16 (cstorch.amp.set_half_dtype, test_precision.py:",
            weight_grad_reduce="bf16",
        )

    def test_the_trainer_has_the_same_rule(self):
        for precision, expected in (
            (None, "float32"),
            (MixedPrecision(max_gradient_norm=1.0), "float32"),
            (MixedPrecision(enabled=False, fp16_type="float16"), "float32"),
            (MixedPrecision(enabled=True), "bfloat16"),
            (MixedPrecision(fp16_type="float16"), "float16"),
        ):
            Trainer(
                model_dir=self.folder_of_run(),
                model=lambda: Square(256, 8),
                optimizer=lambda model: cstorch.optim.SGD(model.parameters(), lr=0.1),
                precision=precision,
                loop=TrainingLoop(num_steps=1),
            ).fit(loader(X, batch_size=128))
            cstorch.finish()
            self.assertIn(f"computes in {expected}, because ", self.told())

    def test_settings_of_16_bits_need_them(self):
        self.configure(precision={"graphamp": {"preset": "mp2"}})
        with self.assertRaisesRegex(csengine.CsengineError, "graphamp has no effect without fp16_t"):
            self.train()

    def test_a_late_change_is_refused(self):
        self.configure()
        cstorch.compile(Square(2, 2))
        cstorch.global_step()
        cstorch.set_global_step(0)
        with self.assertRaisesRegex(RuntimeError, "set_half_dtype was called after the first"):
            cstorch.amp.set_half_dtype("float16")

    def test_texts_and_dictionaries(self):
        self.configure(precision="{fp16_type: bfloat16}")
        self.train()
        self.assertIn("precision.fp16_type is bfloat16 (cstorch.configure, ", self.told())
        self.configure(precision="{fp16_type: bfloat16}", tiling_accum="bf16")
        with self.assertRaisesRegex(ValueError, "precision is a text, and tiling_accum was given"):
            self.train()
        cstorch.finish()
        with self.assertRaisesRegex(ValueError, "tiling_accum is 'fp61'; accepted: 'fp32' or 'bf16'"):
            self.configure(tiling_accum="fp61")


class DocumentsExample(torch.nn.Module):
    """Two products, each with an activation; the second pair has the types as written."""

    def __init__(self):
        super().__init__()
        self.b = torch.nn.Parameter(torch.randn(256, 16))
        self.c = torch.nn.Parameter(torch.randn(16, 4))
        self.gelu = torch.nn.GELU()

    def forward(self, batch):
        matmul_1 = torch.matmul(batch[0], self.b)
        act_1 = self.gelu(matmul_1)
        with disable_graphamp():
            matmul_2 = torch.matmul(act_1.bfloat16(), self.c.bfloat16())
            out = self.gelu(matmul_2)
        return out.float().mean()


class Regions(Precise):
    LOW = {"fp16_type": "bfloat16"}

    def test_the_graphs_of_the_document(self):
        self.configure(precision={**self.LOW, "graphamp": {"preset": "mp1"}})
        self.train(DocumentsExample())
        forward = [n for n in self.nodes("matmul") if not n["backward"]]
        # The allowed product reads bfloat16 and gives float32; the other one is as written.
        self.assertEqual([n["dtype"] for n in forward], ["float32", "bfloat16"])
        self.assertEqual([n.get("graphamp_off", False) for n in forward], [False, True])
        self.assertEqual([n["dtype"] for n in self.nodes("gelu")], ["float32", "bfloat16"])

    def test_graphamp_is_off_in_blocks_functions_layers_and_around_the_loop(self):
        off = disable_graphamp()
        for wrap, outside in (
            (lambda model: disable_graphamp()(model), None),
            (lambda model: disable_graphamp()(lambda batch: model(batch)), None),
            (None, off),
            (None, off),
        ):
            self.configure(precision=self.LOW)
            self.train(wrap=wrap, outside=outside)
            self.assertEqual([n.get("graphamp_off") for n in self.nodes("matmul")], [True, True])
            self.assertEqual(self.nodes("cast"), [])
        self.configure(precision=self.LOW)
        self.train()
        self.assertNotEqual(self.nodes("cast"), [])

    def test_sets_of_ops(self):
        self.configure(precision={**self.LOW, "graphamp": {"preset": "mp1", "deny": ["matmul"]}})
        self.train()
        self.assertEqual(self.nodes("cast"), [])
        self.configure(precision={**self.LOW, "graphamp": {"deny": ["matmull"]}})
        with self.assertRaisesRegex(csengine.CsengineError, "there is no op 'matmull'"):
            self.train()

    def test_the_preset_and_sums_by_their_flags(self):
        self.configure(precision=self.LOW, preset="mp0")
        self.train()
        self.assertEqual(self.nodes("cast"), [])
        self.assertIn("computes in float32, because precision.graphamp.preset is mp0", self.told())
        self.configure(precision=self.LOW, tiling_accum="bf16sr")
        self.train()
        found = [n["accumulation"]["stochastic"] for n in self.nodes("matmul")]
        self.assertEqual(found, [True] * len(found))
        self.configure(precision=self.LOW, tiling_accum="fp32")
        self.train()
        self.assertEqual(set(self.sums()), {None})


class Levels(Precise):
    LOW = {"fp16_type": "bfloat16"}
    ROUNDED, EXACT = "bfloat16", None

    def check(self, forward, backward, wrap=None, outside=None, **settings):
        self.configure(**{"precision": self.LOW, **settings})
        self.train(wrap=wrap, outside=outside)
        self.assertEqual(self.sums(), [forward, backward])

    def test_of_a_model(self):
        rounded, exact = self.ROUNDED, self.EXACT
        self.check(rounded, rounded)
        self.check(exact, exact, precision={**self.LOW, "precision_opt_level": 0})
        self.check(exact, exact, precision_opt_level=0)
        cstorch.backends.csx.precision.optimization_level = 0
        self.assertEqual(cstorch.current_pol(), 0)
        self.assertEqual(cstorch.backends.csx.precision.optimization_level, 0)
        self.check(exact, exact)
        cstorch.backend(
            "CSX", cluster_config=cstorch.distributed.ClusterConfig(precision_opt_level=0)
        )
        self.check(exact, exact)

    def test_of_a_layer(self):
        rounded, exact = self.ROUNDED, self.EXACT
        self.check(exact, exact, cstorch.pol(level=0))
        self.check(rounded, exact, cstorch.pol(bwd_level=0))
        self.check(rounded, exact, cstorch.pol(level=0, enable_fwd=False))
        self.check(exact, exact, None, cstorch.pol(level=0))
        # A layer's level prevails over the model's.
        self.check(rounded, rounded, cstorch.pol(level=1), precision_opt_level=0)

        @cstorch.pol(level=0)
        def fc(model):
            return model

        self.assertEqual(fc.__name__, "fc")

    def test_wrong_levels_and_places(self):
        for level in (3, -1, True, "high", 1.5):
            with self.subTest(level=level):
                message = rf"is {level!r}; accepted: 0, 1, 2"
                with self.assertRaisesRegex(ValueError, message):
                    cstorch.backends.csx.precision.optimization_level = level
                with self.assertRaisesRegex(ValueError, message):
                    cstorch.pol(level=level)
                with self.assertRaisesRegex(ValueError, message):
                    MixedPrecision(precision_opt_level=level)
        with self.assertRaisesRegex(ValueError, "precision_opt_level is 3; accepted: 0 or 1 or 2"):
            self.configure(precision_opt_level=3)
        with self.assertRaisesRegex(AttributeError, "no flag 'level'; accepted: optimization_level"):
            cstorch.backends.csx.precision.level = 1
        with self.assertRaisesRegex(TypeError, "decorates a function or a layer, not <class"):
            cstorch.pol(level=0)(Square)
        with self.assertRaisesRegex(TypeError, "Trainer.*unexpected keyword.*precision_opt_level"):
            Trainer(model=Square, precision_opt_level=1)
        self.configure(precision={**self.LOW, "precision_opt_level": 1}, precision_opt_level=0)
        with self.assertRaisesRegex(ValueError, "level is 0 .*configure.* and 1 .*: keep one"):
            self.train()

    def test_a_level_in_float32_is_told(self):
        cstorch.backends.csx.precision.optimization_level = 0
        self.configure()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.train()
        self.assertIn("has no effect: the run computes in float32", " ".join(map(str, told)))


if __name__ == "__main__":
    unittest.main()
