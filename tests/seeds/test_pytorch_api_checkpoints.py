"""Document 004, its sections about checkpoints, the loop and metrics."""

import contextlib
import io
import os

import torch.nn.functional as F

from seed_programs import Net, Programs, X, Y, cstorch, data, torch


class Checkpoints(Programs):
    def trained(self, steps=4, **options):
        model, compiled, optimizer = self.begin()
        self.train(compiled, optimizer, steps=steps, checkpoint_steps=steps, **options)
        return model, optimizer

    def test_format(self):
        """004:492-494 Checkpoints are HDF5 files of an own form."""
        model, _ = self.trained()
        path = self.folder + "/x.mdl"
        cstorch.save({"model": model.state_dict()}, path)
        with open(path, "rb") as file:
            self.assertEqual(file.read(8), b"\x89HDF\r\n\x1a\n")

    def test_save_and_load(self):
        """004:496-503 save takes what torch.save takes: dictionaries of states, and other values.
        004:505-511 load gives them back, for load_state_dict.
        """
        model, optimizer = self.trained()
        path = self.folder + "/x.mdl"
        state_dict = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "epoch": 3,
            "notes": ["a", 2.5, None],
        }
        cstorch.save(state_dict, path)
        weights = {name: p.detach().clone() for name, p in model.named_parameters()}
        cstorch.finish()
        torch.manual_seed(5)
        model, compiled, optimizer = self.begin()
        self.assertFalse(torch.equal(model.fc1.weight, weights["fc1.weight"]))
        state_dict = cstorch.load(path)
        model.load_state_dict(state_dict["model"])
        optimizer.load_state_dict(state_dict["optimizer"])
        for name, p in model.named_parameters():
            self.assertTrue(torch.equal(p, weights[name]), name)
        self.assertEqual(state_dict["epoch"], 3)
        self.assertEqual(state_dict["notes"], ["a", 2.5, None])
        expected = F.cross_entropy(model(X[:16]), Y[:16]).item()
        self.assertEqual(cstorch.global_step(), 4)
        found = self.train(compiled, optimizer, steps=1)[0]
        self.assertAlmostEqual(found, expected, delta=1e-5)

    def test_saving_in_a_closure(self):
        """004:513-515 A step closure makes sure that weights are there before they are saved.
        004:517-524 The closure takes no values, and saves both states.
        """
        _, compiled, optimizer = self.begin(checkpoint_steps=2)
        model = compiled
        path = self.folder + "/x.mdl"

        @cstorch.step_closure
        def save_checkpoint():
            state_dict = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            cstorch.save(state_dict, path)

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = F.cross_entropy(compiled(inputs), targets)
            cstorch.amp.optimizer_step(loss, optimizer)
            return loss

        for i, batch in enumerate(data(num_steps=4), start=1):
            training_step(batch)
            if i == 2:
                save_checkpoint()
        torch.manual_seed(0)
        twin = Net()
        usual = torch.optim.SGD(twin.parameters(), lr=0.1)
        for i in range(2):
            rows = slice(16 * i, 16 * i + 16)
            usual.zero_grad()
            F.cross_entropy(twin(X[rows]), Y[rows]).backward()
            usual.step()
        saved = cstorch.load(path)["model"]
        for name, p in twin.named_parameters():
            torch.testing.assert_close(saved[name].clone(), p.detach(), rtol=1e-5, atol=1e-6)

    def test_weights_are_there_at_checkpoint_steps(self):
        """004:526-528 Weights can be read at the checkpoint steps that were configured.
        004:530 With 100 that is each 100th step, and the last one; elsewhere it is refused.
        """
        _, compiled, optimizer = self.begin(checkpoint_steps=3)
        saved = []

        @cstorch.step_closure
        def save_checkpoint(step):
            try:
                cstorch.save({"model": compiled.state_dict()}, self.folder + "/x.mdl")
            except RuntimeError as error:
                self.assertIn("checkpoint step", str(error))
            else:
                saved.append(step)

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = F.cross_entropy(compiled(inputs), targets)
            cstorch.amp.optimizer_step(loss, optimizer)
            return loss

        for i, batch in enumerate(data(num_steps=8), start=1):
            training_step(batch)
            save_checkpoint(i)
        self.assertEqual(saved, [3, 6, 8])

    def test_pickles(self):
        """004:532-537 A checkpoint is loaded with map_location="cpu" and saved by torch.save.
        004:539 It is then read at once; otherwise tensors are read when they are used.
        """
        model, _ = self.trained()
        path = self.folder + "/x.mdl"
        cstorch.save({"model": model.state_dict()}, path)
        lazy = cstorch.load(path)["model"]["fc1.weight"]
        state_dict = cstorch.load(path, map_location="cpu")
        os.unlink(path)
        self.assertEqual(type(state_dict["model"]["fc1.weight"]), torch.Tensor)
        torch.save(state_dict, self.folder + "/x.pt")
        found = torch.load(self.folder + "/x.pt")
        self.assertTrue(torch.equal(found["model"]["fc1.weight"], model.fc1.weight))
        self.assertIsNot(type(lazy), torch.Tensor)

    def test_loop(self):
        """004:541-555 A basic loop: a step, a closure that prints, a checkpoint at some steps.
        004:557 The full example has it as well.
        """
        checkpoint_steps = 2
        model, compiled, optimizer = self.begin(checkpoint_steps=checkpoint_steps)
        written = io.StringIO()
        saved = []

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = F.cross_entropy(compiled(inputs), targets)
            cstorch.amp.optimizer_step(loss, optimizer)
            return loss

        @cstorch.step_closure
        def post_training_step(loss: torch.Tensor):
            print("Loss: ", loss.item())

        @cstorch.step_closure
        def save_checkpoint():
            cstorch.save({"model": model.state_dict()}, self.folder + "/x.mdl")
            saved.append(1)

        dataloader = data(num_steps=4)
        with contextlib.redirect_stdout(written):
            for i, batch in enumerate(dataloader, start=1):
                loss = training_step(batch)

                post_training_step(loss)

                if i % checkpoint_steps == 0:
                    save_checkpoint()
        self.assertEqual(written.getvalue().count("Loss: "), 4)
        self.assertEqual(len(saved), 2)

    def test_numbers_of_steps(self):
        """004:549-555 The number of a pass counts from 0, and checkpoints are taken where it is
        divisible by checkpoint_steps.
        Differs: a checkpoint step is one after which so many steps are done, from 1, as the
        document says it of checkpoint_steps; at the others a save is refused, with the next one
        that is possible. `enumerate(dataloader, start=1)` makes the two agree.
        """
        model, compiled, optimizer = self.begin(checkpoint_steps=2)

        @cstorch.compile_step
        def training_step(batch):
            inputs, targets = batch
            loss = F.cross_entropy(compiled(inputs), targets)
            cstorch.amp.optimizer_step(loss, optimizer)
            return loss

        @cstorch.step_closure
        def save_checkpoint():
            cstorch.save({"model": model.state_dict()}, self.folder + "/x.mdl")

        with self.assertRaisesRegex(RuntimeError, "next checkpoint step is 2: .*counts from 0"):
            for i, batch in enumerate(data(num_steps=4)):
                training_step(batch)
                if i % 2 == 0:
                    save_checkpoint()


class Metrics(Programs):
    def evaluate(self, update):
        """Evaluates a model on all of X; returns it."""
        model, compiled, _ = self.begin()
        compiled.eval()

        @cstorch.compile_step
        def evaluation_step(batch):
            inputs, targets = batch
            outputs = compiled(inputs)
            update(outputs, targets)
            return F.cross_entropy(outputs, targets)

        with torch.no_grad():
            self.run_step(evaluation_step, data(), 4)
        return model

    def test_accuracy(self):
        """004:559-565 AccuracyMetric measures an evaluation; it is in cstorch.metrics.
        004:569 A metric takes a name, and whether the system computes it, which is true.
        004:571 It keeps states from step to step, and gives its value at the end.
        """
        accuracy = cstorch.metrics.AccuracyMetric("accuracy", compute_on_system=True)
        model = self.evaluate(
            lambda outputs, targets: accuracy(
                labels=targets.clone(), predictions=outputs.argmax(-1).int()
            )
        )
        expected = (model(X).argmax(-1) == Y).float().mean().item()
        self.assertAlmostEqual(float(accuracy), expected, delta=1e-6)

    def test_accuracy_before_configure(self):
        """004:569 compute_on_system=False would compute it elsewhere.
        Differs: it is refused, since a metric is always computed with the step.
        """
        with self.assertRaisesRegex((ValueError, TypeError), "compute_on_system"):
            cstorch.metrics.AccuracyMetric("accuracy", compute_on_system=False)

    def test_perplexity(self):
        """004:567 PerplexityMetric measures how well tokens are predicted."""
        perplexity = cstorch.metrics.PerplexityMetric("perplexity", compute_on_system=True)

        def update(outputs, targets):
            loss = F.cross_entropy(outputs, targets, reduction="sum")
            perplexity(labels=targets, loss=loss)

        model = self.evaluate(update)
        expected = torch.exp(F.cross_entropy(model(X), Y)).item()
        self.assertAlmostEqual(float(perplexity), expected, delta=1e-4)
