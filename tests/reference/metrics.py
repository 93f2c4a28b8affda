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


def show(name, source, arguments, values, settings=None):
    print(f"    {{ .name = \"{name}\",")
    if settings:
        print(f"      .settings = \"{settings}\",")
    print(f"      .source = \"{source}\",")
    print(f"      .argument_count = {len(arguments)},\n      .arguments = {{")
    rows = []
    for dtype, columns, content in arguments:
        shape = f" .columns = {columns}," if columns else ""
        rows.append(f"{{ .dtype = {dtype},{shape} .values = {numbers(numpy.ravel(content))} }}")
    print(",\n".join(rows) + f" }},\n      .values = {numbers(values)} }},")


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
