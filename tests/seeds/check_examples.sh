#!/bin/sh
# The two full examples of docs/seeds.md from a wheel, in a new environment that has nothing else of
# csengine, beside PyTorch. Needs a Python with PyTorch (CSE_TORCH_PYTHON), and one, which may be
# another (CSE_WHEEL_PYTHON), with what makes a wheel.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, cloudpickle, cffi') ||
    skip 'no Python has PyTorch, cloudpickle and cffi; CSE_TORCH_PYTHON names one that has'
maker=${CSE_WHEEL_PYTHON:-$(python_with 'auditwheel, cffi, numpy, setuptools, wheel')} ||
    skip 'no Python has auditwheel, cffi, numpy, setuptools and wheel'
has_headers "$maker"
"$maker" "$tree/python/build_wheel.py" --build "$build" --output "$work/wheels"

# The environment sees the packages that the wheel needs by a path.
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip --quiet install --no-index --no-deps "$work"/wheels/*.whl
packages=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["platlib"])')
"$python" -c 'import sys
print(*(path for path in sys.path if path.endswith("-packages")), sep="\n")' >"$packages/needed.pth"
unset CSENGINE_EXECUTABLE LD_LIBRARY_PATH PYTHONPATH CSE_CC
CSE_DASHBOARD=0 TMPDIR=$work XDG_CACHE_HOME=$work/cache PYTHONDONTWRITEBYTECODE=1
export CSE_DASHBOARD TMPDIR XDG_CACHE_HOME PYTHONDONTWRITEBYTECODE
cd "$work"
found=$("$work/venv/bin/python" -W ignore -c 'import cstorch; print(cstorch.__file__)')
[ "$found" = "$packages/cstorch/__init__.py" ] || { echo "FAIL: cstorch is $found"; exit 1; }
"$work/venv/bin/python" -W ignore "$tree/tests/seeds/run.py" torch test_pytorch_api_examples
