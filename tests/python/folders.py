"""What the tests of transformers' folders share: transformers itself, and commands of csengine.

Such a script is run as: python3 SCRIPT CSENGINE FOLDER, and works in FOLDER.
"""

import os
import subprocess
import sys

sys.modules.setdefault("torchvision", None)  # not needed, and often of another version of PyTorch

import transformers  # noqa: E402

csengine = os.path.abspath(sys.argv[1])
os.chdir(sys.argv[2])
transformers.utils.logging.set_verbosity_error()


def run(*arguments):
    """What the command prints; it must succeed."""
    result = subprocess.run([csengine, *arguments], capture_output=True, text=True)
    assert result.returncode == 0, (arguments, result.stderr)
    return result.stdout + result.stderr
