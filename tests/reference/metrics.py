"""Prints the samples of engine/nn/metrics: values after each of three batches, by NumPy in float64.
Run: python3 metrics.py, then clang-format."""
import collections
import math

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


def argument(dtype, columns, values):
    shape = f" .columns = {columns}," if columns else ""
    if not isinstance(values, str):
        values = numbers(numpy.ravel(values))
    return f"{{ .dtype = {dtype},{shape} .values = {values} }}"


def show(name, source, arguments, values, settings=None):
    print(f"    {{ .name = \"{name}\",")
    if settings:
        print(f"      .settings = \"{settings}\",")
    print(f"      .source = \"{source}\",")
    print(f"      .argument_count = {len(arguments)},\n      .arguments = {{")
    rows = [argument(*a) for a in arguments]
    print(",\n".join(rows) + f" }},\n      .values = {numbers(values)} }},")


def define(name, dtype, columns, content):
    """An argument of several samples, whose values have a name."""
    print(f"#define {name} {numbers(numpy.ravel(content)).strip('{ }')}")
    return dtype, columns, f"{{ {name} }}"


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


def confusion(n, weighted, classes=4):
    """Sums of weights, by loops over samples: correct, labelled, predicted of each class."""
    sums = numpy.zeros((3, classes))
    for k in range(n):
        w = weights[k] if weighted else 1.0
        sums[0, labels[k]] += w * (labels[k] == predictions[k])
        sums[1, labels[k]] += w
        sums[2, predictions[k]] += w
    return sums


def class_mean(numerator, denominator, ignored=()):
    kept = [a / b for c, (a, b) in enumerate(zip(numerator, denominator))
            if b > 0 and c not in ignored]
    return sum(kept) / len(kept) if kept else 0.0


def f_score(beta, average, ignored=()):
    def score(correct, labelled, predicted):
        top, bottom = (1 + beta**2) * correct, beta**2 * labelled + predicted
        if average == "macro":
            return class_mean(top, bottom, ignored)
        kept = [c for c in range(len(correct)) if c not in ignored]
        return top[kept].sum() / bottom[kept].sum()
    return score


def mean_iou(ignored=()):
    return lambda c, l, p: class_mean(c, l + p - c, ignored)


def dice(ignored=()):
    return lambda c, l, p: class_mean(2 * c, l + p, ignored)


PLAIN = [(I, 0, labels), (I, 0, predictions)]
WEIGHTED = PLAIN + [(F, 0, weights)]
CLASSES = "the definition, by NumPy and loops over the samples"
for metric, cases in (
        ("mean_iou", [("", mean_iou()), (", ignore_classes: [1, 3]", mean_iou((1, 3)))]),
        ("dice", [("", dice()), (", ignore_classes: [0]", dice((0,)))]),
        ("mean_per_class_accuracy", [("", lambda c, l, p: class_mean(c, l))]),
        ("f_beta", [(", average_type: macro", f_score(1, "macro")),
                    (", beta: 2, ignore_labels: [2]", f_score(2, "micro", (2,)))])):
    print(f"/* {metric} */")
    for more, value in cases:
        for name, weighted in (("plain", False), ("weighted", True)):
            show(name, CLASSES, WEIGHTED if weighted else PLAIN,
                 [value(*confusion(n, weighted)) for n in ends], f"{{num_classes: 4{more}}}")

many = random.permutation(BATCHES * ROWS * 4).reshape(BATCHES * ROWS, 4) / 8  # no two are equal


def found(k):
    order = numpy.argsort(-many, axis=1)[:, :k]
    return (order == labels[:, None]).any(axis=1)


SORTED = "NumPy: labels among the first k of argsort"
for metric, divisor in (("recall_at_k", lambda k: 1), ("precision_at_k", lambda k: k)):
    print(f"/* {metric} */")
    for k in (1, 2):
        show(f"plain, {k}", SORTED, [(I, 0, labels), (F, 4, many)],
             [found(k)[:n].mean() / divisor(k) for n in ends], f"{{k: {k}}}")
    show("weighted", SORTED, [(I, 0, labels), (F, 4, many), (F, 0, weights)],
         [numpy.average(found(2)[:n], weights=weights[:n]) / divisor(2) for n in ends], "{k: 2}")

losses = random.integers(0, 40, BATCHES * ROWS) / 16
for metric, function in (("mean_loss", lambda x: x), ("perplexity", numpy.exp)):
    print(f"/* {metric} */")
    show("plain", "NumPy: sums over the samples", [(I, 0, labels), (F, 0, losses)],
         [function(losses[:n].sum() / n) for n in ends])
    show("weighted", "NumPy: sums over the samples",
         [(I, 0, labels), (F, 0, losses * weights), (F, 0, weights)],
         [function((losses * weights)[:n].sum() / weights[:n].sum()) for n in ends])

# ---- the area under a curve ----

probabilities = random.permutation(BATCHES * ROWS * 2)[:BATCHES * ROWS] / 32 + 1 / 64
classes = random.integers(0, 2, BATCHES * ROWS)


def counts(n, thresholds, weight):
    """By loops: weights of those of the class, and of the others, above each threshold."""
    hits, misses = numpy.zeros(thresholds), numpy.zeros(thresholds)
    for t in range(thresholds):
        at = -1e-7 if t == 0 else 1 + 1e-7 if t == thresholds - 1 else t / (thresholds - 1)
        for k in range(n):
            if probabilities[k] > at:
                (hits if classes[k] else misses)[t] += weight[k]
    return hits, misses


def ratio(a, b):
    return a / b if b > 0 else 0.0


def curve_area(n, thresholds=200, curve="ROC", method="interpolation", weight=None):
    weight = numpy.ones(BATCHES * ROWS) if weight is None else weight
    hits, misses = counts(n, thresholds, weight)
    positives, negatives = (weight[:n][classes[:n] == c].sum() for c in (1, 0))
    area = 0.0
    for t in range(thresholds - 1):
        if curve == "PR" and method == "interpolation":
            # The integral of hits / found over hits / positives, hits linear in found.
            a, b = hits[t + 1], hits[t]
            p, q = hits[t + 1] + misses[t + 1], hits[t] + misses[t]
            slope = ratio(b - a, q - p)
            start = a - slope * p
            area += ratio(slope * (b - a + (start * numpy.log(q / p) if p > 0 < q else 0)), positives)
            continue
        x = [ratio(misses[t + i], negatives) if curve == "ROC" else ratio(hits[t + i], positives)
             for i in (0, 1)]
        y = [ratio(hits[t + i], positives) if curve == "ROC" else
             ratio(hits[t + i], hits[t + i] + misses[t + i]) for i in (0, 1)]
        tall = {"interpolation": sum(y) / 2, "minoring": min(y), "majoring": max(y)}[method]
        area += (x[0] - x[1]) * tall
    return area


def in_order(n):
    """Of all pairs of one of the class and one of the others, those in the right order."""
    pairs = [(probabilities[i] > probabilities[k]) for i in range(n) for k in range(n)
             if classes[i] and not classes[k]]
    return numpy.mean(pairs) if pairs else 0.0


COUNTED = "the definition, by loops over thresholds and samples"
print("/* auc */")
AREA = [define("CLASSES", I, 0, classes), define("PROBABILITIES", F, 0, probabilities)]
for n in ends:
    assert abs(in_order(n) - curve_area(n)) < 1e-12
show("pairs in the right order", "the share of pairs in the right order, by loops", AREA,
     [in_order(n) for n in ends])
show("weighted", COUNTED, AREA + [(F, 0, weights)], [curve_area(n, weight=weights) for n in ends])
for curve, method in (("ROC", "minoring"), ("PR", "interpolation"), ("PR", "majoring")):
    show(f"{curve}, {method}", COUNTED, AREA, [curve_area(n, 7, curve, method) for n in ends],
         f"{{num_thresholds: 7, curve: {curve}, summation_method: {method}}}")

# ---- runs of tokens ----

texts = random.integers(1, 4, (BATCHES * ROWS, 4))
guesses = numpy.where(random.random(texts.shape) < 0.6, texts, random.integers(1, 4, texts.shape))
shorter = guesses * (numpy.arange(4) < random.integers(1, 5, (BATCHES * ROWS, 1)))  # 0 behind


def runs(row, n, padding=None):
    tuples = [tuple(row[i:i + n]) for i in range(len(row) - n + 1)]
    return collections.Counter(t for t in tuples if padding not in t)


def compared(count, n, guessed, padding):
    """Numbers of common, predicted and labelled ones of the first `count` samples."""
    sums = numpy.zeros(3)
    for k in range(count):
        a, b = runs(guessed[k], n, padding), runs(texts[k], n, padding)
        sums += [sum((a & b).values()), sum(a.values()), sum(b.values())]
    return sums


def bleu(count, longest, guessed, padding=None):
    found = [compared(count, n, guessed, padding) for n in range(1, longest + 1)]
    if any(common == 0 for common, _, _ in found):
        return 0.0
    _, c, r = found[0]
    brevity = 1 if c > r else math.exp(1 - r / c)
    return brevity * math.exp(sum(math.log(common / all_) for common, all_, _ in found) / longest)


def rouge(count, n, measure, guessed, padding=None):
    common, predicted, labelled = compared(count, n, guessed, padding)
    return {"recall": common / labelled, "precision": common / predicted,
            "f1": 2 * common / (labelled + predicted)}[measure]


COUNTER = "the definition, by collections.Counter"
print("/* tests/samples/metrics/ngrams.h */")
LABELS = define("CSE_NGRAMS_LABELS", I, 4, texts)
PREDICTIONS = define("CSE_NGRAMS_PREDICTIONS", I, 4, guesses)
PADDED = define("CSE_NGRAMS_PADDED_PREDICTIONS", I, 4, shorter)
for metric, cases in (
        ("bleu", [("up to 2", "{max_n: 2}", lambda n, g, p: bleu(n, 2, g, p)),
                  ("up to 4", None, lambda n, g, p: bleu(n, 4, g, p))]),
        ("rouge_n", [("1", None, lambda n, g, p: rouge(n, 1, "recall", g, p)),
                     ("2, precision", "{n: 2, measure: precision}",
                      lambda n, g, p: rouge(n, 2, "precision", g, p)),
                     ("2, f1", "{n: 2, measure: f1}", lambda n, g, p: rouge(n, 2, "f1", g, p))])):
    print(f"/* {metric} */")
    for name, setting, value in cases:
        show(name, COUNTER, [LABELS, PREDICTIONS],
             [value(n, guesses, None) for n in ends], setting)
        padded = (setting[:-1] + ", padding: 0}") if setting else "{padding: 0}"
        show(name + ", padded", COUNTER, [LABELS, PADDED],
             [value(n, shorter, 0) for n in ends], padded)


def matrix(n, weighted, classes):
    """Share of the diagonal of the matrix of sums of weights, by loops over samples."""
    counts = numpy.zeros((classes, classes))
    for k in range(n):
        if labels[k] < classes and predictions[k] < classes:
            counts[labels[k], predictions[k]] += weights[k] if weighted else 1.0
    return numpy.trace(counts) / counts.sum() if counts.sum() > 0 else 0.0


print("/* confusion_matrix */")
for name, weighted, classes in ("plain", False, 4), ("weighted", True, 3), ("fewer classes", False, 2):
    arguments = [(I, 0, labels), (I, 0, predictions)] + ([(F, 0, weights)] if weighted else [])
    show(name, "the definition, by NumPy and loops over the samples", arguments,
         [matrix(n, weighted, classes) for n in ends], f"{{num_classes: {classes}}}")
