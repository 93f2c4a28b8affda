import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from cstorch.utils.data.schedule import Schedule as Schedule

__all__: list[str]

class DataLoader:
    is_data_loader: bool
    is_restartable: bool
    id: int
    def __init__(
        self,
        input_fn: Callable[..., Any],
        *args: Any,
        num_steps: int | None = None,
        max_steps: int | None = None,
        num_epochs: int | None = None,
        steps_per_epoch: int | None = None,
        checkpoint_steps: int | None = None,
        activation_steps: int | None = None,
        micro_batch_size: int | None = None,
        **kwargs: Any,
    ) -> None: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def dataloader(self) -> Any: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: Any, strict: bool = True) -> None: ...
    def __len__(self) -> int: ...
    def microbatches(self) -> int: ...
    def steps(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

class DataExecutor:
    is_data_loader: bool
    dataloader: DataLoader
    num_steps: int | None
    checkpoint_steps: int | None
    activation_steps: int | None
    def __init__(
        self,
        dataloader: DataLoader = ...,
        num_steps: int | None = None,
        checkpoint_steps: int | Schedule | None = None,
        activation_steps: int | None = None,
        micro_batch_size: int | str | None = None,
        **hints: Any,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def on_final_iteration(self) -> bool: ...
    @property
    def user_iteration(self) -> int: ...
    @property
    def iteration(self) -> int: ...
    @property
    def artifact_dir(self) -> pathlib.Path: ...
    def __iter__(self) -> Iterator[Any]: ...

def compute_num_steps(
    dataloader: DataLoader,
    initial_step: int = 0,
    num_steps: int | None = None,
    max_steps: int | None = None,
    num_epochs: int | None = None,
    steps_per_epoch: int | None = None,
    **_: Any,
) -> int: ...
def pickled(value: Any) -> bytes: ...

class DistributedSampler(torch.utils.data.Sampler[int]):
    is_in_order: bool
    @property
    def leaves_out(self) -> bool: ...
    def __init__(
        self,
        data_source: Any,
        shuffle: bool = False,
        seed: int | None = None,
        shard: bool = True,
        batch_size: int | None = None,
        drop_last: bool = False,
        num_samples: int | None = None,
        pad_last: bool = False,
    ) -> None: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...

class SyntheticDataset(torch.utils.data.Dataset[Any]):
    def __init__(self, sample_spec: Any, num_samples: int | None = None) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Any: ...
