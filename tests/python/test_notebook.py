"""The tutorial notebook: each code cell runs, in one program, and does what the text says."""

import ast
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import shutil
import unittest

NOTEBOOK = pathlib.Path(__file__).parents[2] / "python/examples/tutorial.ipynb"
HAS_TORCH = importlib.util.find_spec("torch") is not None


def run_cell(source, names):
    """Runs a cell; the value of its last line where that is an expression, as a notebook shows."""
    tree = ast.parse("".join(source))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if last is not None:
        return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    return None


class Notebook(unittest.TestCase):
    def test_each_cell_runs(self):
        with open(NOTEBOOK) as file:
            cells = json.load(file)["cells"]
        names = {"__name__": "__main__"}
        printed, shown, left_out = io.StringIO(), [], 0
        with contextlib.redirect_stdout(printed):
            for number, cell in enumerate(cells):
                if cell["cell_type"] != "code":
                    continue
                self.assertEqual(cell["outputs"], [], "outputs are not kept in the tree")
                if "torch" in cell["metadata"].get("tags", ()) and not HAS_TORCH:
                    left_out += 1
                    continue
                with self.subTest(cell=number):
                    shown.append(run_cell(cell["source"], names))
        self.addCleanup(shutil.rmtree, names["folder"], ignore_errors=True)
        text = printed.getvalue()
        self.assertIn("step 200: loss", text)
        self.assertEqual([v for v in shown if v is not None], [names["run"]])
        self.assertIn("<svg", names["run"]._repr_html_())
        self.assertEqual(text.count("standard deviation"), 4)
        self.assertLess(names["losses"]["float32"], names["run"].points("loss")[0].value / 2)
        self.assertEqual(left_out, 0 if HAS_TORCH else 2)
        if HAS_TORCH:
            self.assertLess(names["seen"][-1], names["seen"][0] / 2)
            self.assertGreater(names["right"].item(), 0.9)


if __name__ == "__main__":
    os.environ.setdefault("CSE_DASHBOARD", "0")
    unittest.main()
