import os

from csengine.checkpoints import Checkpoint as Checkpoint
from csengine.client import Client as Client, ClientError as ClientError, Job as Job
from csengine.library import CsengineError as CsengineError
from csengine.moments import Moment as Moment
from csengine.program import (
    CommandError as CommandError,
    call as call,
    compare as compare,
    run as run,
)
from csengine.runs import CheckpointFile as CheckpointFile, Point as Point, Run as Run

__version__: str
__all__: list[str]

def open(model_dir: str | os.PathLike[str]) -> Run: ...
