# Sourced by the tests of the Python packages, in a folder of their own: makes the package there.
#
# PYTHON: configure's; CSE_TORCH_PYTHON: one that has PyTorch, cffi, numpy and cloudpickle.

tree=$(cd "${top_srcdir:-.}" && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    echo "$*: skipped"
    exit 77
}

# The first Python that has the modules; the first one in PATH may not be Debian's.
python_with() { # modules
    for one in "${CSE_TORCH_PYTHON:-}" "${PYTHON:-}" python3 /usr/bin/python3; do
        [ -n "$one" ] && "$one" -c "import $1" 2>/dev/null && echo "$one" && return
    done
    return 1
}

has_headers() { # python
    "$1" -c 'import sysconfig, os, sys
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' ||
        skip "the headers of $1 are missing"
}

make_package() { # python
    has_headers "$1"
    cp -r "$tree/python/csengine" "$tree/python/cstorch" "$tree/python/build_client.py" "$work/"
    rm -rf "$work"/csengine/_client.* "$work"/*/__pycache__
    (
        cd "$work" && CSENGINE_INCLUDE=$tree/include CSENGINE_LIBDIR=$build/.libs \
            "$1" build_client.py
    ) >"$work/build.log" 2>&1 || {
        cat "$work/build.log"
        exit 1
    }
    PYTHONPATH=$work
    LD_LIBRARY_PATH=$build/.libs
    PYTHONDONTWRITEBYTECODE=1
    TMPDIR=$work
    CSE_DASHBOARD=0
    export PYTHONPATH LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE TMPDIR CSE_DASHBOARD
}
