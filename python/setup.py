"""The extension module is made by cffi from the engine's headers (build_client.py)."""

from setuptools import setup

setup(
    cffi_modules=["build_client.py:ffibuilder"], options={"bdist_wheel": {"py_limited_api": "cp39"}}
)
