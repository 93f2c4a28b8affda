"""Runs, checkpoints and jobs from Python, without PyTorch."""

import contextlib
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import numpy

import csengine
from small_run import configuration

CONFIG = configuration(num_steps=60, checkpoint_steps=30)


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="csengine-runs-")
        os.environ["XDG_CACHE_HOME"] = cls.folder
        cls.one = csengine.run(CONFIG, model_dir=cls.folder + "/one", wait=True)
        cls.two = csengine.run(CONFIG, model_dir=cls.folder + "/two", wait=True, num_csx=3)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def test_no_torch_is_loaded(self):
        self.assertNotIn("torch", sys.modules)

    def test_metrics_and_state(self):
        points = list(self.one.metrics("loss"))
        self.assertEqual(points[-1].step, 60)
        self.assertLess(points[-1].value, points[0].value)
        self.assertEqual(self.one.state, "SUCCEEDED")
        self.assertIn("loss", self.one.series())
        self.assertEqual(self.one.step, 60)

    def test_the_digest_is_that_of_any_number_of_processes(self):
        self.assertTrue(self.one.weights_digest)
        self.assertEqual(self.one.weights_digest, self.two.weights_digest)

    def test_a_step_of_the_past(self):
        moment = csengine.open(self.one.model_dir).at(30, num_csx=2)
        with csengine.Checkpoint(self.one.checkpoints()[0].path) as kept:
            for name in moment:
                self.assertEqual(moment[name].tobytes(), kept[name].tobytes(), name)
        self.assertEqual(moment.bits, "same")
        between = self.two.at(41)
        self.assertEqual(between.bits, "same", between.words)
        self.assertEqual(between.scalars["loss"], self.one.points("loss", 40)[0].value)
        with self.assertRaisesRegex(csengine.CommandError, "steps 1 to 60"):
            self.one.at(61)["model.last_layer.weight"]
        with self.assertRaises(KeyError):
            between["model.no_such"]

    def test_a_live_run(self):
        with csengine.run(
            CONFIG,
            model_dir=self.folder + "/live",
            **{"loop.num_steps": 100000, "logging.log_steps": 1000}
        ) as run:
            for number, point in enumerate(run.metrics("loss", timeout=60)):
                if number == 5:
                    break
            self.assertFalse(run.ended)
        self.assertTrue(run.ended)
        self.assertGreater(point.step, 0)

    def test_checkpoints_are_mappings(self):
        files = self.one.checkpoints()
        self.assertEqual([f.step for f in files], [30, 60])
        with csengine.Checkpoint(files[-1].path) as checkpoint:
            names = [n for n in checkpoint if n.startswith("model.")]
            self.assertIn("global_step", list(checkpoint))
            self.assertEqual(checkpoint["global_step"], 60)
            weights = checkpoint[names[0]]
            self.assertEqual(weights.dtype, numpy.float32)
            self.assertEqual(weights.shape, checkpoint.shape(names[0]))
            self.assertTrue(numpy.isfinite(weights).all())
            with self.assertRaises(KeyError):
                checkpoint["model.none"]
        with self.assertRaisesRegex(ValueError, "is closed"):
            checkpoint[names[0]]
        with self.assertRaisesRegex(csengine.CsengineError, "none.mdl"):
            csengine.Checkpoint(self.folder + "/none.mdl")

    def test_checkpoints_of_a_moved_folder_are_the_files_in_it(self):
        moved = pathlib.Path(self.folder) / "moved"
        shutil.copytree(self.folder + "/one", moved)
        files = csengine.Run(moved).checkpoints()
        self.assertEqual([pathlib.Path(f.path).parent for f in files], [moved, moved])
        self.assertTrue(csengine.compare(files[-1].path, self.one.checkpoints()[-1].path)[0])

    def test_compare(self):
        one, two = self.one.checkpoints(), self.two.checkpoints()
        self.assertTrue(csengine.compare(one[1].path, two[1].path)[0])
        self.assertFalse(csengine.compare(one[0].path, one[1].path)[0])

    def test_the_graph(self):
        graph = self.one.graph()
        self.assertTrue(graph["nodes"])

    def test_a_notebook_shows_it(self):
        shown = self.one._repr_html_()
        self.assertIn("SUCCEEDED", shown)
        self.assertIn("<svg", shown)

    def test_a_wrong_setting(self):
        with self.assertRaises(csengine.CommandError) as raised:
            csengine.run(CONFIG, model_dir=self.folder + "/wrong", wait=True, num_cs=3)
        self.assertEqual(raised.exception.code, 64)
        self.assertIn("num_csx", str(raised.exception))

    def failing(self):
        """A configuration whose run begins and fails: its data are not there."""
        config = configuration(num_steps=60, checkpoint_steps=30)
        config["trainer"]["fit"]["train_dataloader"] = {
            "data_processor": "csv",
            "path": self.folder + "/none.csv",
            "label": "y",
            "batch_size": 30,
        }
        return config

    def test_a_run_that_failed_says_so(self):
        run = csengine.run(self.failing(), model_dir=self.folder + "/failed")
        with self.assertRaisesRegex(csengine.CommandError, "none.csv") as raised:
            list(run.metrics("loss"))
        self.assertNotIn(raised.exception.code, (0, None))
        with self.assertRaisesRegex(csengine.CommandError, "none.csv"):
            run.wait()
        self.assertEqual(run.checkpoints(), [])

    def test_a_failed_run_of_another_program(self):
        store = pathlib.Path(self.folder) / "other"
        shutil.copytree(self.folder + "/one", store)
        with contextlib.closing(sqlite3.connect(store / "run.db")) as connection, connection:
            connection.execute("UPDATE run SET value = 'FAILED' WHERE key = 'state'")
            connection.execute(
                "UPDATE transitions SET to_state = 'FAILED', reason = 'DATA', message = 'no file' "
                "WHERE seq = (SELECT max(seq) FROM transitions)"
            )
        run = csengine.Run(store)
        with self.assertRaisesRegex(csengine.CommandError, "DATA.*no file"):
            run.wait()
        with self.assertRaisesRegex(csengine.CommandError, "no file"):
            list(run.metrics("loss"))

    def test_an_interrupt_stops_the_run(self):
        body = (
            "import csengine\n"
            "from small_run import configuration\n"
            "config = configuration(num_steps=10000000, checkpoint_steps=5000000)\n"
            "run = csengine.run(config, model_dir={!r})\n"
            "for number, point in enumerate(run.metrics('loss')):\n"
            "    if number == 2:\n"
            "        print(run.process.pid, flush=True)\n"
        )
        for name, rest in (("metrics", ""), ("wait", "        run.wait()\n")):
            with self.subTest(waits_in=name):
                folder = self.folder + "/interrupted-" + name
                program = subprocess.Popen(
                    [sys.executable, "-c", body.format(folder) + rest],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env={
                        **os.environ,
                        "PYTHONPATH": os.pathsep.join(sys.path[:1] + sys.path),
                    },
                )
                process_id = int(program.stdout.readline())
                time.sleep(0.3)
                program.send_signal(signal.SIGINT)
                _, said = program.communicate(timeout=120)
                self.assertIn("KeyboardInterrupt", said)
                self.assertFalse(os.path.exists(f"/proc/{process_id}"))
                run = csengine.Run(folder)
                self.assertIn(run.state, ("SUCCEEDED", "CANCELLED"))
                self.assertEqual(run.checkpoints()[-1].step, run.step)


class Jobs(unittest.TestCase):
    def test_a_job_from_its_submission_to_its_end(self):
        import json

        folder = pathlib.Path(tempfile.mkdtemp(prefix="csengine-jobs-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        server = subprocess.Popen(
            [csengine.program.executable(), "serve", "--root", str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        self.addCleanup(server.stdout.close)
        import re

        address = None
        for line in server.stdout:
            found = re.search(r"(http://[^/\s?]+)/?\S*token=([\w-]+)", line)
            if found:
                address, token = found.groups()
                break
        client = csengine.Client(address, token)
        self.assertTrue(client.version())
        job = client.submit(json.dumps(CONFIG), name="python")
        self.assertIn(job.id, [j.id for j in client.jobs()])
        self.assertEqual(job.wait(120), "SUCCEEDED")
        self.assertTrue(job.metrics("loss"))
        with self.assertRaises(csengine.ClientError) as raised:
            client.job("none")
        self.assertEqual(raised.exception.code, 404)
        with self.assertRaises(csengine.ClientError) as raised:
            csengine.Client(address, "wrong").jobs()
        self.assertIn(raised.exception.code, (401, 403))


if __name__ == "__main__":
    unittest.main()
