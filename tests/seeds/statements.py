"""What the tests of the documents' statements share.

A test's docstring holds its statements, each on a line that begins with its place, DOCUMENT:LINES;
a line that begins with "Differs:" says why the one before it is otherwise here, on purpose.
scripts/write_seeds_page.py makes docs/seeds.md of them. A test that PENDING names must fail: it says
what the document says, and what makes it hold is another piece of work.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from pending import PENDING

CSENGINE = os.environ.get("CSENGINE_EXECUTABLE", "csengine")
SYNTHETIC = pathlib.Path(__file__).parents[2] / "configs" / "synthetic.yaml"


class Statements(unittest.TestCase):
    """A group of tests, those of PENDING turned round."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name in list(vars(cls)):
            if name in PENDING:
                setattr(cls, name, unittest.expectedFailure(getattr(cls, name)))


class Configurations(Statements):
    """Statements about YAML: the configuration of configs/synthetic.yaml with other lines."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="csengine-seeds-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def csengine(self, command, section, *flags):
        """Runs a command on the configuration with a section in trainer.init."""
        text = SYNTHETIC.read_text()
        place = "    loop: {num_steps: 60}\n"
        assert place in text
        lines = "".join(f"    {line}\n" for line in section.strip("\n").split("\n") if section)
        path = os.path.join(self.folder, "config.yaml")
        with open(path, "w") as file:
            file.write(text.replace(place, "    loop: {num_steps: 2}\n" + lines))
        if command == "start":  # anew
            shutil.rmtree(self.folder + "/model", ignore_errors=True)
        where = ["--model_dir", self.folder + "/model", "--compile_dir", self.folder + "/compiled"]
        environment = {**os.environ, "CSE_DASHBOARD": "0"}
        return subprocess.run(
            [CSENGINE, command, path, *where, *flags],
            capture_output=True,
            text=True,
            env=environment,
        )

    def trains(self, section, *flags):
        """It trains; returns what is printed, errors first."""
        done = self.csengine("start", section, "--no_dashboard", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr + done.stdout

    def refused(self, section, pattern, *flags):
        """It is refused, in words that match the pattern."""
        done = self.csengine("start", section, "--validate_only", *flags)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertRegex(done.stderr, pattern)

    def ops(self, section, *flags):
        """The ops of the training step, as `--print_precision --json` describes them."""
        done = self.csengine("compile", section, "--print_precision", "--json", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return next(step["ops"] for step in found if step["step"] == "training")

    def digest(self, section, *flags):
        """The digest of the trained weights."""
        told = self.trains(section, *flags)
        return next(line for line in told.splitlines() if line.startswith("Weights digest: "))
