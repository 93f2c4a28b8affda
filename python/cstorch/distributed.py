"""Who this process is: in the program there is one, which controls; input workers stream."""

import dataclasses
import os

_worker = None  # (rank, count) in an input worker


def is_streamer():
    """Whether this process is an input worker."""
    return _worker is not None


def is_master_ordinal(*_, **__):
    return _worker is None


def get_streaming_rank():
    """Number of this input worker; 0 outside of any. Which samples a worker reads is decided by the
    engine: a data set need not be divided by it."""
    return _worker[0] if _worker else 0


def num_streamers():
    return _worker[1] if _worker else 1


def get_rank():
    return 0


get_ordinal = get_rank


def get_world_size():
    return 1


num_tasks = get_world_size


def get_worker_state():
    """None: samples are found by their number, so that nothing has to be kept."""
    return None


WORKER_CACHE_ROOT = os.environ.get("CSTORCH_WORKER_CACHE", "/tmp")


def hit_worker_cache_limit(*_, **__):
    return False


@dataclasses.dataclass(eq=False)  # programs use it as a key
class ClusterConfig:
    """Settings of the cluster, as cstorch.backend takes them."""

    num_csx: int = 1
    max_wgt_servers: int = 0
    num_workers_per_csx: int = 1
    job_labels: list = None
    job_time_sec: int = None
    mount_dirs: list = None
    python_paths: list = None
    max_act_per_csx: int = None
    mgmt_address: str = None
    mgmt_namespace: str = None
    disable_version_check: bool = None
    precision_opt_level: int = None

    def settings(self):
        """What differs from the defaults, which are those of a run that is told nothing."""
        first = {field.name: field.default for field in dataclasses.fields(self)}
        return {k: v for k, v in dataclasses.asdict(self).items() if v != first[k]}
