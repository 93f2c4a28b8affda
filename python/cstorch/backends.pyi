from typing import Any

class Flags:
    def __setattr__(self, name: str, value: Any) -> None: ...

csx: Any
