from typing import Any

# The C API, as cffi binds it (csengine/csengine.h).
ffi: Any
lib: Any
__all__: list[str]

class CsengineError(RuntimeError):
    status: str
    exit_code: int
    hint: str
    def __init__(
        self, message: str | None, status: str = "CSE_FAILED", exit_code: int = 1, hint: str = ""
    ) -> None: ...

def text(pointer: Any) -> str | None: ...
def error(status: int | None = None) -> CsengineError: ...
def check(status: int) -> None: ...
