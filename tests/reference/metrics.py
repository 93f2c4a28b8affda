"""Writes metrics.h: accuracy and weighted mean of made-up batches, by NumPy in float64.
Run: python3 metrics.py > metrics.h"""
import numpy

ROWS, CLASSES, BATCH = 24, 3, 4
random = numpy.random.default_rng(7)
scores = random.integers(-40, 60, (ROWS, CLASSES)) / 16  # exact in float32; ties are possible
labels = random.integers(0, CLASSES, ROWS)
weights = numpy.maximum(scores, 0).max(axis=1)  # some are 0
hits = scores.argmax(axis=1) == labels
batches = range(BATCH, ROWS + 1, BATCH)

print("/* Written by metrics.py: do not edit. */")
print("#ifndef CSE_TESTS_REFERENCE_METRICS_H\n#define CSE_TESTS_REFERENCE_METRICS_H\n")
print(f"enum {{ METRIC_ROWS = {ROWS}, METRIC_CLASSES = {CLASSES}, METRIC_BATCH = {BATCH},\n"
      f"       METRIC_STEPS = {ROWS // BATCH} }};\n")
print("static const double metric_scores[METRIC_ROWS * METRIC_CLASSES] = {")
print(", ".join(repr(float(x)) for x in scores.flatten()) + " };")
print("static const int metric_labels[METRIC_ROWS] = { " + ", ".join(map(str, labels)) + " };\n")
for name, values in [
        ("accuracies", [hits[:n].mean() for n in batches]),
        ("weighted_accuracies", [(hits * weights)[:n].sum() / (weights[:n] > 0).sum()
                                 for n in batches]),
        ("means", [scores[:n].mean() for n in batches]),
        ("weighted_means", [numpy.average(scores[:n].mean(axis=1), weights=weights[:n])
                            for n in batches])]:
    print(f"static const double metric_{name}[METRIC_STEPS] = {{ "
          + ", ".join(repr(float(v)) for v in values) + " };")
print("\n#endif")
