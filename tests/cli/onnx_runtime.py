"""Computes a model by ONNX Runtime, as onnx_model.py does by itself, and checks it by the onnx package
where that is installed.

Run: python3 onnx_runtime.py MODEL.onnx INPUT PREDICTIONS.npy TOLERANCE
"""

import sys

import numpy
import onnxruntime

import onnx_model

try:
    import onnx
except ImportError:
    onnx = None

path, source, predictions, tolerance = sys.argv[1:]
if onnx is not None:
    onnx.checker.check_model(path, full_check=True)
expected = numpy.load(predictions)
model = onnx_model.Model(path)
kinds = {1: numpy.float32, 6: numpy.int32}
inputs = {
    name: numpy.array(values, kinds[model.declared[name][0]]).reshape(shape)
    for name, (shape, values) in onnx_model.read_inputs(source, len(expected), model).items()
}
(got,) = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)
worst = abs(got - expected).max()
print(f"{path}: ONNX Runtime {onnxruntime.__version__}, largest difference {worst:.3g}")
assert got.shape == expected.shape and worst <= float(tolerance), "other values"
