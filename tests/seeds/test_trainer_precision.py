"""Document 001, numeric precision, in Python: a Trainer with MixedPrecision."""

import cstorch.as_cerebras  # noqa: F401 - answers the imports of the documents
from seed_programs import Net, Programs, X, Y, cstorch, data, torch

HALVES = ("float16", "bfloat16", "cbfloat16")


class Model(Net):
    """Computes its loss, as a Trainer's model does."""

    def forward(self, batch):
        inputs, targets = batch
        return torch.nn.functional.cross_entropy(super().forward(inputs), targets)


class Precision(Programs):
    def fit(self, precision, steps=3):
        """Trains by a Trainer with this precision; its losses."""
        from cerebras.modelzoo import Trainer
        from cerebras.modelzoo.trainer.callbacks import Callback, TrainingLoop

        torch.manual_seed(0)
        losses = []

        class Losses(Callback):
            def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
                keep(outputs["loss"])

        @cstorch.step_closure
        def keep(loss):
            losses.append(loss.item())

        trainer = Trainer(
            model=Model(),
            optimizer=lambda model: cstorch.optim.SGD(model.parameters(), lr=0.1),
            model_dir=self.folder + "/model",
            precision=precision,
            callbacks=[Losses()],
            loop=TrainingLoop(num_steps=steps),
        )
        trainer.fit(data())
        return losses

    def test_trainer_takes_mixed_precision(self):
        """001:11-31 MixedPrecision is given to the Trainer as its precision.
        001:32-33 cbfloat16 is the lower precision then.
        """
        from cerebras.modelzoo.trainer.callbacks import MixedPrecision

        self.fit(MixedPrecision(fp16_type="cbfloat16"))
        products = [op for op in self.planned() if op["op"] == "matmul"]
        self.assertTrue(products)
        for op in products:
            self.assertEqual(set(op["in"]), {"cbfloat16"})

    def test_types_of_mixed_precision(self):
        """001:33-39 The types are float16, bfloat16 and cbfloat16."""
        from cerebras.modelzoo.trainer.callbacks import MixedPrecision

        for name in HALVES:
            MixedPrecision(fp16_type=name)
        with self.assertRaisesRegex(ValueError, "cbfloat16"):
            MixedPrecision(fp16_type="float8")

    def test_scaling_of_mixed_precision(self):
        """001:40-60 loss_scaling_factor of MixedPrecision scales gradients.
        001:61-65 It is a number or the word dynamic.
        """
        from cerebras.modelzoo.trainer.callbacks import MixedPrecision

        for factor in ("dynamic", 128.0):
            losses = self.fit(
                MixedPrecision(fp16_type="cbfloat16", loss_scaling_factor=factor)
            )
            self.assertEqual(len(losses), 3)
            cstorch.finish()
        with self.assertRaisesRegex(ValueError, "dynamic"):
            MixedPrecision(fp16_type="cbfloat16", loss_scaling_factor="sometimes")

    def test_clipping_of_mixed_precision(self):
        """001:66-98 MixedPrecision clips by max_gradient_norm or max_gradient_value.
        001:100-104 They exclude each other.
        """
        from cerebras.modelzoo.trainer.callbacks import MixedPrecision

        told = [self.fit(MixedPrecision(fp16_type="bfloat16"))]
        for clip in ({"max_gradient_norm": 0.01}, {"max_gradient_value": 0.001}):
            cstorch.finish()
            told.append(self.fit(MixedPrecision(fp16_type="bfloat16", **clip)))
        self.assertEqual(len(set(map(tuple, told))), 3)
        with self.assertRaisesRegex(ValueError, "max_gradient_norm"):
            MixedPrecision(
                fp16_type="cbfloat16",
                loss_scaling_factor="dynamic",
                max_gradient_norm=1.0,
                # OR
                max_gradient_value=2.0,
            )

    def test_levels_of_mixed_precision(self):
        """001:105-131 precision_opt_level of MixedPrecision is the compiled step's level.
        001:132-133 It is 0, 1 or 2.
        001:133-135 Without one it is 1.
        """
        from cerebras.modelzoo.trainer.callbacks import MixedPrecision

        told = []
        for level in ({}, {"precision_opt_level": 0}, {"precision_opt_level": 1}):
            self.fit(
                MixedPrecision(
                    fp16_type="float16",
                    loss_scaling_factor="dynamic",
                    max_gradient_norm=1.0,
                    **level,
                )
            )
            told.append([(op["op"], op["in"], op["out"], op["permitted"]) for op in self.planned()])
            cstorch.finish()
        self.assertEqual(told[0], told[2])
        self.assertNotEqual(told[0], told[1])
        with self.assertRaisesRegex(ValueError, "precision_opt_level"):
            MixedPrecision(fp16_type="float16", precision_opt_level=3)


class Clipping(Programs):
    def test_clipping_is_that_of_torch(self):
        """001:99 The two kinds of clipping are PyTorch's clip_grad_norm_ and clip_grad_value_."""
        for clip, of_torch in (
            ({"max_gradient_norm": 0.01}, torch.nn.utils.clip_grad_norm_),
            ({"max_gradient_value": 0.001}, torch.nn.utils.clip_grad_value_),
        ):
            torch.manual_seed(0)
            model, compiled, optimizer = self.begin()
            twin = Net()
            twin.load_state_dict(model.state_dict())
            usual = torch.optim.SGD(twin.parameters(), lr=0.1)

            @cstorch.compile_step
            def training_step(batch, compiled=compiled, optimizer=optimizer, clip=clip):
                inputs, targets = batch
                loss = torch.nn.functional.cross_entropy(compiled(inputs), targets)
                cstorch.amp.optimizer_step(loss, optimizer, **clip)
                return loss

            found = [v.item() for v in self.run_step(training_step, data(), 4)]
            cstorch.finish()
            expected = []
            for i in range(4):
                rows = slice(16 * i, 16 * i + 16)
                loss = torch.nn.functional.cross_entropy(twin(X[rows]), Y[rows])
                usual.zero_grad()
                loss.backward()
                of_torch(twin.parameters(), *clip.values())
                usual.step()
                expected.append(loss.item())
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
