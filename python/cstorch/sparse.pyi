from typing import Any, TypeVar

_Target = TypeVar("_Target")

class SparsityAlgorithm:
    settings: dict[str, Any]
    def __init__(self, algorithm: str = "static", **settings: Any) -> None: ...
    def apply(self, target: _Target) -> _Target: ...

def configure(settings: float | dict[str, Any]) -> SparsityAlgorithm: ...
