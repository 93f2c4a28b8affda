"""Document 004, its two full examples: the programs in examples, beside PyTorch. check_examples.sh
runs them from an installed wheel as well."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import torch

from statements import Statements

EXAMPLES = pathlib.Path(__file__).parent / "examples"
sys.path.append(str(EXAMPLES))

from digits import Network, dataloader_fn, pictures  # noqa: E402


def trained():
    """The training by PyTorch: its losses and its network."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 1 - 0.8 * t / 300)
    losses = []
    while len(losses) < 300:
        for inputs, targets in dataloader_fn("train"):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) == 300:
                break
    return losses, model


class Examples(Statements):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="csengine-seeds-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_example(self, name, *arguments):
        """The numbers that a program prints."""
        done = subprocess.run(
            [sys.executable, EXAMPLES / name, *arguments], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return [float(number) for number in re.findall(r": +([-+.e0-9]+)$", done.stdout, re.M)]

    def test_training_and_evaluation(self):
        """004:573-668 The full example of a training.
        004:670-730 The full example of an evaluation.
        """
        found = self.run_example("training.py", self.folder)
        expected, twin = trained()
        self.assertEqual(len(found), 300)
        torch.testing.assert_close(found[:100], expected[:100], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)
        self.assertLess(found[-1], 0.5 * found[0])
        checkpoints = sorted(pathlib.Path(self.folder).glob("checkpoint_*.mdl"))
        self.assertEqual(len(checkpoints), 3)

        resumed = self.run_example(
            "training.py", self.folder + "/resumed", self.folder + "/checkpoint_200.mdl"
        )
        self.assertEqual(resumed, found[200:])

        loss, accuracy = self.run_example(
            "evaluation.py", self.folder + "/evaluation", self.folder + "/checkpoint_300.mdl"
        )
        inputs, targets = pictures("test")
        with torch.no_grad():
            outputs = twin(inputs)
        wanted = (outputs.argmax(-1) == targets).float().mean().item()
        self.assertGreater(wanted, 0.8)
        self.assertAlmostEqual(accuracy, wanted, delta=0.01)
        expected_loss = torch.nn.functional.cross_entropy(outputs, targets).item()
        self.assertAlmostEqual(loss, expected_loss, delta=0.02)
