"""Makes the extension module csengine._client from the installed headers.

The declarations are those of csengine/csengine.h, after the C preprocessor: what the compiler
checks is the real header, so that a declaration that changed is an error when the wheel is built.
"""

import os
import pathlib
import re
import shlex
import subprocess
import tempfile

import cffi

HERE = pathlib.Path(__file__).resolve().parent
STANDARD_HEADERS = (
    "stdarg.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
)

# What C calls in Python. A callback that raises returns the value of a failure; the exception
# waits in Python for the call that led there.
CALLBACKS = """
extern "Python" cse_tensor *csengine_trace_step(cse_step *step, void *self);
extern "Python" void csengine_trace_backward(void *self, const cse_backward *backward);
extern "Python" void csengine_choose_elements(void *self, const cse_mask_request *request);
"""


def include_folder():
    """Where csengine/csengine.h is: CSENGINE_INCLUDE, else this source tree."""
    return os.environ.get("CSENGINE_INCLUDE", str(HERE.parent / "include"))


def library_folder():
    """Where libcsengine_client is: CSENGINE_LIBDIR, else the source tree's build directory."""
    return os.environ.get("CSENGINE_LIBDIR", str(HERE.parent / "build" / ".libs"))


def library_name():
    return os.environ.get("CSENGINE_LIBRARY", "csengine_client")


def preprocessed():
    compiler = shlex.split(os.environ.get("CC", "cc"))
    with tempfile.TemporaryDirectory() as empty:
        for name in STANDARD_HEADERS:
            (pathlib.Path(empty) / name).touch()
        return subprocess.run(
            [
                *compiler,
                "-E",
                "-P",
                "-nostdinc",
                "-undef",
                "-D__x86_64__",
                "-D__extension__=",
                "-DCSE_BUILDING_LIBRARY",
                "-I",
                empty,
                "-I",
                include_folder(),
                str(pathlib.Path(include_folder()) / "csengine" / "csengine.h"),
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout


def without_bodies(text):
    """Leaves out functions that the header defines itself."""
    kept = []
    at = 0
    for match in re.finditer(r"^static inline .*\n?", text, re.MULTILINE):
        if match.start() < at:
            continue
        kept.append(text[at : match.start()])
        depth, at = 0, text.index("{", match.start())
        while True:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
    return "".join(kept) + text[at:]


def declarations():
    return without_bodies(preprocessed()) + CALLBACKS


def builder():
    ffi = cffi.FFI()
    ffi.cdef(declarations())
    ffi.set_source(
        "csengine._client",
        "#define CSE_BUILDING_LIBRARY\n#include <csengine/csengine.h>\n",
        include_dirs=[include_folder()],
        library_dirs=[library_folder()],
        libraries=[library_name()],
        extra_compile_args=["-std=gnu11"],
        py_limited_api=True,
    )
    return ffi


ffibuilder = builder()

if __name__ == "__main__":
    ffibuilder.compile(verbose=True)
