import os
import subprocess
from typing import Any

from csengine.runs import Run

class CommandError(RuntimeError):
    code: int
    output: str
    def __init__(self, command: str, code: int, output: str) -> None: ...

def find() -> str | None: ...
def executable() -> str: ...
def main() -> None: ...
def call(
    *arguments: str | os.PathLike[str], check: bool = True, **options: Any
) -> subprocess.CompletedProcess[str]: ...
def run(
    config: str | os.PathLike[str] | dict[str, Any],
    *,
    model_dir: str | os.PathLike[str] | None = None,
    wait: bool = False,
    progress: bool = False,
    **sets: Any,
) -> Run: ...
def resolved(config: str | os.PathLike[str]) -> str: ...
def compare(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> tuple[bool, str]: ...
def serve(
    model_dir: str | os.PathLike[str], timeout: float = 20
) -> tuple[str, subprocess.Popen[str]]: ...
