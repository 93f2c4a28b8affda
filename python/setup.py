"""The extension module is made by cffi from the engine's headers (build_client.py).

A wheel that has the program inside (build_wheel.py) gives it its name as a command, too; elsewhere
that name is the installed program's.
"""

import pathlib

from setuptools import setup

has_program = (pathlib.Path(__file__).parent / "csengine" / "bin" / "csengine").exists()

setup(
    cffi_modules=["build_client.py:ffibuilder"],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
    entry_points={"console_scripts": ["csengine = csengine.program:main"]} if has_program else {},
)
