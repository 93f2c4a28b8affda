"""Reads a model in ONNX and computes it, with the standard library alone: an independent reader of
what csengine writes. Values are (shape, flat list); all sums are in double precision.

Run: python3 onnx_model.py MODEL.onnx INPUT PREDICTIONS.npy TOLERANCE, or with a folder of samples.
INPUT is a text whose bytes are the tokens of samples that follow one another, an IDX file of
pictures, or JSON with a list of rows for each input. The values must be those of the .npy file, of as many samples as that has.
"""

import glob
import itertools
import json
import math
import os
import struct
import sys

FORMATS = {1: ("f", 4), 6: ("i", 4), 7: ("q", 8), 9: ("?", 1), 10: ("e", 2), 11: ("d", 8)}


def fields(data):
    """(number, value) of each field of a message: an int, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 2:
            size = varint()
            yield tag >> 3, data[at : at + size]
            at += size
        elif tag & 7 == 5:
            yield tag >> 3, struct.unpack_from("<f", data, at)[0]
            at += 4
        else:
            raise ValueError(f"field type {tag & 7}")
    assert at == len(data), "a message is too short"


def collect(data):
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def count(shape):
    return math.prod(shape)


def read_outside(found, folder):
    """The elements that are in another file, on a page of their own."""
    pairs = [collect(one) for one in found[13]]
    facts = {pair[1][0].decode(): pair[2][0].decode() for pair in pairs}
    offset, length = int(facts["offset"]), int(facts["length"])
    assert offset % 4096 == 0 and length >= 1024, facts
    with open(os.path.join(folder, facts["location"]), "rb") as file:
        file.seek(offset)
        return file.read(length)


def read_tensor(data, folder):
    found = collect(data)
    shape = [signed(size) for size in found.get(1, [])]
    kind = found[2][0]
    raw = found[9][0] if 9 in found else b""
    if found.get(14) == [1]:
        raw = read_outside(found, folder)
    if kind == 16:
        words = struct.unpack(f"<{len(raw) // 2}H", raw)
        values = [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]
    else:
        code, size = FORMATS[kind]
        values = list(struct.unpack(f"<{len(raw) // size}{code}", raw))
    assert len(values) == count(shape)
    return found[8][0].decode(), (shape, values)


def read_attribute(data):
    found = collect(data)
    kind = found[20][0]
    value = found[2][0] if kind == 1 else signed(found[3][0]) if kind == 2 else None
    if kind == 7:
        value = [signed(one) for one in found.get(8, [])]
    assert value is not None, "a kind of attribute that is not written"
    return found[1][0].decode(), value


def read_declaration(data):
    """The name of an input, its type, and its sizes, None where it is the free one."""
    found = collect(data)
    tensor = collect(collect(found[2][0])[1][0])
    sizes = [collect(one) for one in collect(tensor[2][0]).get(1, [])]
    assert all(2 not in one or one[2] == [b"batch"] for one in sizes), sizes
    return found[1][0].decode(), (tensor[1][0], [one.get(1, [None])[0] for one in sizes])


class Model:
    def __init__(self, path):
        with open(path, "rb") as file:
            model = collect(file.read())
        assert model[1] == [8]
        operators = collect(model[8][0])
        assert operators[2] == [17]
        graph = collect(model[7][0])
        self.tensors = dict(read_tensor(data, os.path.dirname(path)) for data in graph.get(5, []))
        assert len(self.tensors) == len(graph.get(5, [])), "two tensors have one name"
        self.declared = dict(read_declaration(data) for data in graph.get(11, []))
        self.inputs = list(self.declared)
        self.results = dict(read_declaration(data) for data in graph[12])
        self.outputs = list(self.results)
        self.nodes = []
        known = set(self.tensors) | set(self.inputs)
        for data in graph.get(1, []):
            node = collect(data)
            inputs = [name.decode() for name in node.get(1, [])]
            output = node[2][0].decode()
            assert set(inputs) <= known, f"{output} comes before its inputs"
            assert output not in known, f"two values have the name {output}"
            known.add(output)
            attributes = dict(read_attribute(one) for one in node.get(5, []))
            self.nodes.append((node[4][0].decode(), inputs, output, attributes))
        used = {name for _, inputs, _, _ in self.nodes for name in inputs}
        assert set(self.tensors) <= used, f"not used: {set(self.tensors) - used}"

    def run(self, inputs):
        values = dict(self.tensors)
        values.update(inputs)
        for kind, names, output, attributes in self.nodes:
            arguments = [values[name] for name in names]
            shape, result = OPERATORS[kind](*arguments, **attributes)
            assert len(result) == count(shape), kind
            values[output] = (list(shape), result)
        return values[self.outputs[0]]


# ---- operators ----


def strides(shape):
    steps = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        steps[i] = steps[i + 1] * shape[i + 1]
    return steps


def places(shape):
    return itertools.product(*(range(size) for size in shape))


def broadcast_shape(*shapes):
    rank = max(len(shape) for shape in shapes)
    padded = [[1] * (rank - len(shape)) + list(shape) for shape in shapes]
    result = [max(sizes) for sizes in zip(*padded)]
    for shape in padded:
        assert all(size in (1, whole) for size, whole in zip(shape, result)), shapes
    return result


def spread(value, shape):
    own, values = value
    if list(own) == list(shape):
        return values
    steps = strides(own)
    missing = len(shape) - len(own)
    used = [0] * missing + [0 if size == 1 else step for size, step in zip(own, steps)]
    return [values[sum(i * s for i, s in zip(place, used))] for place in places(shape)]


def each(function):
    def operator(*arguments):
        shape = broadcast_shape(*(argument[0] for argument in arguments))
        return shape, [function(*row) for row in zip(*(spread(a, shape) for a in arguments))]

    return operator


def bent(function):
    return lambda x, alpha: (x[0], [function(value, alpha) for value in x[1]])


def reshape(x, shape):
    sizes = list(shape[1])
    if -1 in sizes:
        sizes[sizes.index(-1)] = len(x[1]) // -count(sizes)
    return sizes, x[1]


def expand(x, shape):
    sizes = broadcast_shape(x[0], shape[1])
    return sizes, spread(x, sizes)


def transpose(x, perm):
    steps = strides(x[0])
    shape = [x[0][axis] for axis in perm]
    used = [steps[axis] for axis in perm]
    return shape, [x[1][sum(i * s for i, s in zip(place, used))] for place in places(shape)]


def slices(x, starts, ends, axes, steps):
    taken = [range(size) for size in x[0]]
    for start, end, axis, step in zip(starts[1], ends[1], axes[1], steps[1]):
        size = x[0][axis]
        if step > 0:
            taken[axis] = range(max(start, 0), min(end, size), step)
        else:
            taken[axis] = range(start + size if start < 0 else start, -1, step)
    flat = strides(x[0])
    shape = [len(one) for one in taken]
    return shape, [
        x[1][sum(i * s for i, s in zip(place, flat))] for place in itertools.product(*taken)
    ]


def concat(*parts, axis):
    shape = list(parts[0][0])
    shape[axis] = sum(part[0][axis] for part in parts)
    rows = count(shape[:axis])
    result = []
    for row in range(rows):
        for own, values in parts:
            length = count(own[axis:])
            result += values[row * length : (row + 1) * length]
    return shape, result


def gather(table, indices):
    row = count(table[0][1:])
    result = []
    for index in indices[1]:
        assert 0 <= index < table[0][0]
        result += table[1][index * row : (index + 1) * row]
    return list(indices[0]) + list(table[0][1:]), result


def gather_elements(x, indices, axis):
    steps = strides(x[0])
    result = []
    for place, index in zip(places(indices[0]), indices[1]):
        at = list(place)
        at[axis] = index
        result.append(x[1][sum(i * s for i, s in zip(at, steps))])
    return indices[0], result


def shape_of(x, start, end):
    return [end - start], list(x[0][start:end])


def matmul(a, b):
    lead = broadcast_shape(a[0][:-2], b[0][:-2])
    m, k, n = a[0][-2], a[0][-1], b[0][-1]
    assert b[0][-2] == k
    left, right = spread(a, lead + [m, k]), spread(b, lead + [k, n])
    result = []
    for block in range(count(lead)):
        columns = [right[block * k * n + j : (block + 1) * k * n : n] for j in range(n)]
        for i in range(m):
            row = left[(block * m + i) * k : (block * m + i + 1) * k]
            result += [sum(x * y for x, y in zip(row, column)) for column in columns]
    return lead + [m, n], result


def gemm(a, b, transA, transB):
    return matmul(transpose(a, [1, 0]) if transA else a, transpose(b, [1, 0]) if transB else b)


def by_rows(function):
    def operator(x, *more, axis, **options):
        assert axis == -1
        length = x[0][-1]
        result = []
        for at in range(0, len(x[1]), length):
            result += function(x[1][at : at + length], *(one[1] for one in more), **options)
        return x[0], result

    return operator


def softmax(row):
    largest = max(row)
    powers = [math.exp(value - largest) for value in row]
    total = sum(powers)
    return [value / total for value in powers]


def log_softmax(row):
    return [math.log(value) for value in softmax(row)]


def layer_norm(row, weight, bias, epsilon):
    mean = sum(row) / len(row)
    variance = sum((value - mean) ** 2 for value in row) / len(row)
    factor = 1 / math.sqrt(variance + epsilon)
    return [(x - mean) * factor * w + b for x, w, b in zip(row, weight, bias)]


def reduced(function):
    def operator(x, listed=None, axes=None, keepdims=1):
        axes = [axis % len(x[0]) for axis in (listed[1] if listed is not None else axes)]
        kept = [1 if i in axes else size for i, size in enumerate(x[0])]
        groups = [[] for _ in range(count(kept))]
        steps = [0 if i in axes else step for i, step in enumerate(strides(kept))]
        for place, value in zip(places(x[0]), x[1]):
            groups[sum(i * s for i, s in zip(place, steps))].append(value)
        shape = kept if keepdims else [s for i, s in enumerate(x[0]) if i not in axes]
        return shape, [function(group) for group in groups]

    return operator


def windows(shape, kernel, step, pads, dilations=(1, 1)):
    """Of each output place the (row, column, number in the kernel) within the picture."""
    sizes = [
        (shape[2 + i] + pads[i] + pads[2 + i] - dilations[i] * (kernel[i] - 1) - 1) // step[i] + 1
        for i in range(2)
    ]
    for y, x in places(sizes):
        inside = []
        for number, (i, j) in enumerate(places(kernel)):
            row = y * step[0] - pads[0] + i * dilations[0]
            column = x * step[1] - pads[1] + j * dilations[1]
            if 0 <= row < shape[2] and 0 <= column < shape[3]:
                inside.append((row, column, number))
        yield sizes, inside


def conv(x, weight, kernel_shape, strides, pads, dilations, group):
    out, taken = weight[0][0], weight[0][1]
    every = list(windows(x[0], kernel_shape, strides, pads, dilations))
    sizes, size = every[0][0], count(kernel_shape)
    result = []
    for image, channel in places([x[0][0], out]):
        first = channel // (out // group) * taken
        for _, inside in every:
            total = 0.0
            for own in range(taken):
                plane = (image * x[0][1] + first + own) * x[0][2] * x[0][3]
                at = (channel * taken + own) * size
                for row, column, number in inside:
                    total += x[1][plane + row * x[0][3] + column] * weight[1][at + number]
            result.append(total)
    return [x[0][0], out] + sizes, result


def pooled(function):
    def operator(x, kernel_shape, strides, pads, count_include_pad=0):
        every = list(windows(x[0], kernel_shape, strides, pads))
        result = []
        for plane in range(x[0][0] * x[0][1]):
            for _, inside in every:
                start = plane * x[0][2] * x[0][3]
                found = [x[1][start + row * x[0][3] + column] for row, column, _ in inside]
                divisor = count(kernel_shape) if count_include_pad else len(found)
                result.append(function(found, divisor))
        return list(x[0][:2]) + every[0][0], result

    return operator


def cast(x, to):
    function = {1: float, 6: int, 7: int, 9: bool}[to]
    return x[0], [function(value) for value in x[1]]


def pad(x, pads, value):
    rank = len(x[0])
    shape = [size + pads[1][i] + pads[1][rank + i] for i, size in enumerate(x[0])]
    result, steps = [value[1][0]] * count(shape), strides(shape)
    for place, element in zip(places(x[0]), x[1]):
        result[sum((i + before) * s for i, before, s in zip(place, pads[1], steps))] = element
    return shape, result


def cumsum(x, axis, reverse):
    axis, step = axis[1][0], strides(x[0])[axis[1][0]]
    result = list(x[1])
    order = [place for place in places(x[0]) if place[axis] > 0]
    last = x[0][axis] - 1
    for place in order:
        at = sum(i * s for i, s in zip(place, strides(x[0])))
        if reverse:
            at += (last - 2 * place[axis]) * step
        result[at] += result[at + step if reverse else at - step]
    return x[0], result


def argmax(x, axis, keepdims):
    assert keepdims == 0
    shape = x[0][:axis] + x[0][axis + 1 :]
    steps = strides(x[0])
    others = steps[:axis] + steps[axis + 1 :]
    result = []
    for place in places(shape):
        start = sum(i * s for i, s in zip(place, others))
        row = [x[1][start + k * steps[axis]] for k in range(x[0][axis])]
        result.append(row.index(max(row)))
    return shape, result


OPERATORS = {
    "Identity": lambda x: x,
    "Add": each(lambda a, b: a + b),
    "Sub": each(lambda a, b: a - b),
    "Mul": each(lambda a, b: a * b),
    "Div": each(lambda a, b: a / b),
    "Pow": each(lambda a, b: a**b),
    "Max": each(max),
    "Min": each(min),
    "Neg": each(lambda x: -x),
    "Abs": each(abs),
    "Exp": each(math.exp),
    "Log": each(math.log),
    "Sin": each(math.sin),
    "Cos": each(math.cos),
    "Sqrt": each(math.sqrt),
    "Reciprocal": each(lambda x: 1 / x),
    "Tanh": each(math.tanh),
    "Erf": each(math.erf),
    "Sigmoid": each(lambda x: 1 / (1 + math.exp(-x))),
    "Softplus": each(lambda x: math.log1p(math.exp(x))),
    "Relu": each(lambda x: max(x, 0)),
    "Elu": bent(lambda x, alpha: x if x > 0 else alpha * math.expm1(x)),
    "LeakyRelu": bent(lambda x, alpha: x if x > 0 else alpha * x),
    "Clip": each(lambda x, low, high: min(max(x, low), high)),
    "Equal": each(lambda a, b: a == b),
    "Greater": each(lambda a, b: a > b),
    "GreaterOrEqual": each(lambda a, b: a >= b),
    "Less": each(lambda a, b: a < b),
    "LessOrEqual": each(lambda a, b: a <= b),
    "And": each(lambda a, b: a and b),
    "Or": each(lambda a, b: a or b),
    "Not": each(lambda a: not a),
    "Where": each(lambda condition, a, b: a if condition else b),
    "Cast": cast,
    "Floor": each(math.floor),
    "Ceil": each(math.ceil),
    "Round": each(round),
    "Sign": each(lambda x: (x > 0) - (x < 0)),
    "Mod": each(lambda a, b: a % b),
    "Pad": pad,
    "CumSum": cumsum,
    "ArgMax": argmax,
    "Reshape": reshape,
    "Expand": expand,
    "Transpose": transpose,
    "Slice": slices,
    "Concat": concat,
    "Gather": gather,
    "GatherElements": gather_elements,
    "Shape": shape_of,
    "MatMul": matmul,
    "Gemm": gemm,
    "Softmax": by_rows(softmax),
    "LogSoftmax": by_rows(log_softmax),
    "LayerNormalization": by_rows(layer_norm),
    "ReduceSum": reduced(sum),
    "ReduceMax": reduced(max),
    "ReduceMean": reduced(lambda group: sum(group) / len(group)),
    "Conv": conv,
    "MaxPool": pooled(lambda found, divisor: max(found)),
    "AveragePool": pooled(lambda found, divisor: sum(found) / divisor),
}


# ---- the comparison ----


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack_from("<H", data, 8)[0]
    header = data[10 : 10 + size].decode()
    shape = [int(n) for n in header.split("(")[1].split(")")[0].split(",") if n.strip()]
    assert "<f4" in header
    return shape, list(struct.unpack(f"<{count(shape)}f", data[10 + size :]))


def read_inputs(path, samples, model):
    """{name: (shape, values)}; of a JSON file those of its lists that the model takes."""
    if path.endswith(".json"):
        with open(path) as file:
            rows = json.load(file)
        return {
            name: ([samples, len(rows[name][0])], sum(rows[name][:samples], []))
            for name in model.inputs
        }
    (name,) = model.inputs
    free, *sizes = model.declared[name][1]
    assert free is None, "the number of samples is fixed"
    shape = [samples] + sizes
    with open(path, "rb") as file:
        data = file.read()
    if struct.unpack(">I", data[:4])[0] == 0x803:
        return {name: (shape, [byte / 255 for byte in data[16 : 16 + count(shape)]])}
    return {name: (shape, list(data[: count(shape)]))}


def read_values(path, kind, shape):
    code, _ = FORMATS[kind]
    with open(path, "rb") as file:
        return shape, list(struct.unpack(f"<{count(shape)}{code}", file.read()))


def near(a, b):
    return a == b or a != a and b != b or abs(a - b) <= 2e-5 * max(1, abs(b))


def check_samples(folder):
    """Of each NAME.onnx NAME.out is the value of the inputs NAME.in0, NAME.in1, ..."""
    wrong = 0
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        model, stem = Model(path), path[: -len(".onnx")]
        inputs = {
            name: read_values(f"{stem}.in{name}", kind, shape)
            for name, (kind, shape) in model.declared.items()
        }
        try:
            shape, got = model.run(inputs)
            assert model.results[model.outputs[0]][1] == list(shape), "another shape"
            kind = model.results[model.outputs[0]][0]
            expected = read_values(f"{stem}.out", kind, shape)[1]
            bad = [place for place, pair in enumerate(zip(got, expected)) if not near(*pair)]
            assert not bad, f"element {bad[0]} is {got[bad[0]]}, not {expected[bad[0]]}"
        except (AssertionError, ArithmeticError, KeyError, TypeError) as error:
            print(f"{os.path.basename(stem)}: {type(error).__name__}: {error}")
            wrong += 1
    sys.exit(wrong > 0)


def main(path, source, predictions, tolerance):
    model = Model(path)
    expected = read_npy(predictions)
    got = model.run(read_inputs(source, expected[0][0], model))
    assert got[0] == expected[0], (got[0], expected[0])
    worst = max(abs(a - b) for a, b in zip(got[1], expected[1]))
    spreads = max(expected[1]) - min(expected[1])
    print(f"{path}: {len(model.nodes)} nodes, largest difference {worst:.3g} of {spreads:.3g}")
    assert worst <= float(tolerance), "other values"
    assert spreads > 50 * float(tolerance), "the values are all alike: that shows nothing"


if __name__ == "__main__":
    check_samples(*sys.argv[1:]) if len(sys.argv) == 2 else main(*sys.argv[1:])
