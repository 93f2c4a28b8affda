"""python -m cstorch run SCRIPT [ARGUMENTS]: runs a program that imports the reference's
packages."""

import os
import runpy
import sys

import cstorch.as_cerebras  # noqa: F401 - answers the program's imports


def main():
    if len(sys.argv) < 3 or sys.argv[1] != "run":
        print("usage: python -m cstorch run SCRIPT [ARGUMENTS]", file=sys.stderr)
        return 64
    script = sys.argv[2]
    if not os.path.isfile(script):
        print(f"cstorch: error: {script}: no such file", file=sys.stderr)
        return 66
    sys.argv = sys.argv[2:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
