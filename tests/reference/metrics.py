"""Prints the samples of engine/metrics: values after each of three batches, by NumPy in float64.
Run: python3 metrics.py, then clang-format."""
import numpy

BATCHES, ROWS = 3, 4
random = numpy.random.default_rng(7)
labels = random.integers(0, 3, BATCHES * ROWS)
predictions = numpy.where(random.random(BATCHES * ROWS) < 0.5, labels, (labels + 1) % 3)
weights = random.integers(0, 7, BATCHES * ROWS) / 4  # exact in float32; some are 0
scores = random.integers(-40, 60, (BATCHES * ROWS, 2)) / 16
hits = labels == predictions
ends = range(ROWS, BATCHES * ROWS + 1, ROWS)


def numbers(values):
    return "{ " + ", ".join(f"{float(v):.10g}" for v in values) + " }"


def show(name, source, arguments, values):
    print(f"    {{ .name = \"{name}\",\n      .source = \"{source}\",")
    print(f"      .argument_count = {len(arguments)},\n      .arguments = {{")
    for dtype, columns, content in arguments:
        shape = f" .columns = {columns}," if columns else ""
        print(f"{{ .dtype = {dtype},{shape} .values = {numbers(numpy.ravel(content))} }},")
    print(f"      }},\n      .values = {numbers(values)} }},")


I, F = "CSE_INT32", "CSE_FLOAT32"
print("/* accuracy */")
show("plain", "numpy.mean(labels == predictions)", [(I, 0, labels), (I, 0, predictions)],
     [hits[:n].mean() for n in ends])
show("weighted", "NumPy: weights of the hits, over the number of weights above 0",
     [(I, 0, labels), (I, 0, predictions), (F, 0, weights)],
     [(hits * weights)[:n].sum() / (weights[:n] > 0).sum() for n in ends])
print("/* mean */")
show("of a matrix", "numpy.mean", [(F, 2, scores)], [scores[:n].mean() for n in ends])
show("weighted", "numpy.average", [(F, 0, scores[:, 0]), (F, 0, weights)],
     [numpy.average(scores[:n, 0], weights=weights[:n]) for n in ends])
