"""Runs the tests of the documents' statements: `run.py yaml` those of configurations, `run.py torch`
those that need PyTorch, each with further names of tests."""

import pathlib
import sys
import unittest

FOLDER = pathlib.Path(__file__).parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "python")]


def main(kind, *names):
    of_yaml = kind == "yaml"
    files = [p.stem for p in sorted(FOLDER.glob("test_*.py"))]
    # The full examples take longest: check_examples.sh has them.
    files.remove("test_pytorch_api_examples")
    chosen = [f for f in files if f.endswith("_yaml") == of_yaml]
    suite = unittest.defaultTestLoader.loadTestsFromNames(names or chosen)
    found = unittest.TextTestRunner(verbosity=1).run(suite)
    return 0 if found.wasSuccessful() and found.testsRun > 0 else 1


sys.exit(main(*sys.argv[1:]))
