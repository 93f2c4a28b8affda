"""The client library: its functions (lib), its types (ffi), its failures as exceptions."""

from csengine._client import ffi, lib

__all__ = ["CsengineError", "check", "error", "ffi", "lib", "text"]


class CsengineError(RuntimeError):
    """What the engine failed with.

    Attributes:
        status: the name of the status, as "CSE_CONFIG".
        exit_code: what a program that ends with this failure returns (sysexits).
        hint: what to do, or "".
    """

    def __init__(self, message, status="CSE_FAILED", exit_code=1, hint=""):
        super().__init__(message)
        self.status = status
        self.exit_code = exit_code
        self.hint = hint


def text(pointer):
    """A C string as str; None for NULL."""
    return None if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def error(status=None):
    """The library's last failure as an exception."""
    last = lib.cse_error_last()
    code = last.status if status is None else status
    name = ffi.string(ffi.cast("cse_status", code))
    return CsengineError(
        text(lib.cse_error_message()) or text(lib.cse_status_text(code)),
        name,
        lib.cse_status_exit_code(code),
        text(last.hint) or "",
    )


def check(status):
    """Raises what a call failed with, unless its status is CSE_OK."""
    if status != lib.CSE_OK:
        raise error(status)
