"""Callbacks of cstorch.trainer.Trainer, with the names of the ModelZoo's.

A name of the ModelZoo's that is not here is refused when it is imported, with the reason.
"""

from cstorch.trainer.callbacks.callback import (
    GLOBAL_CALLBACK_REGISTRY,
    Callback,
    CoreCallback,
    ValidationCallback,
    register_global_callback,
)
from cstorch.trainer.callbacks.checkpoint import (
    Checkpoint,
    KeepNCheckpoints,
    LoadCheckpointStates,
    SaveCheckpointState,
)
from cstorch.trainer.callbacks.flags import GlobalFlags, ScopedTrainFlags, ScopedValidateFlags
from cstorch.trainer.callbacks.logging import Logging
from cstorch.trainer.callbacks.loop import LoopCallback, TrainingLoop, ValidationLoop
from cstorch.trainer.callbacks.precision import MixedPrecision, Precision
from cstorch.trainer.callbacks.watch import (
    CheckLoss,
    ComputeNorm,
    CountParams,
    DurationProfiler,
    EarlyStopping,
    LogOptimizerParamGroup,
    ModelEvalMetrics,
    NaNChecker,
    RateProfiler,
    SavePerformanceData,
)

__all__ = [
    "Callback",
    "CheckLoss",
    "Checkpoint",
    "ComputeNorm",
    "CoreCallback",
    "CountParams",
    "DurationProfiler",
    "EarlyStopping",
    "GLOBAL_CALLBACK_REGISTRY",
    "GlobalFlags",
    "KeepNCheckpoints",
    "LoadCheckpointStates",
    "LogOptimizerParamGroup",
    "Logging",
    "LoopCallback",
    "MixedPrecision",
    "ModelEvalMetrics",
    "NaNChecker",
    "Precision",
    "RateProfiler",
    "SaveCheckpointState",
    "SavePerformanceData",
    "ScopedTrainFlags",
    "ScopedValidateFlags",
    "TrainingLoop",
    "ValidationCallback",
    "ValidationLoop",
    "register_global_callback",
]

_OTHER_RUNTIME = "it needs another system's runtime"
_TRAINER = "it is an argument of Trainer here"
_ABSENT = {
    "ArtifactDirCallback": _TRAINER,
    "AutoRestart": "`csengine serve` starts a job that was killed again",
    "BackendCallback": _TRAINER,
    "DataLoaderCallback": _TRAINER,
    "DebugArgsPath": _OTHER_RUNTIME,
    "DumpActivations": "the setting numerics keeps statistics of tensors",
    "DumpAvailableTensorNames": _OTHER_RUNTIME,
    "EmailNotification": "a run sends nothing over the network",
    "FlopUtilization": "`csengine bench` measures it",
    "GradientAccumulationCallback": "the data loader's micro_batch_size does it",
    "Lora": "derive the model from layers of your own",
    "LossAccumulationCallback": _TRAINER,
    "ModelCallback": _TRAINER,
    "NormTensorListener": "ComputeNorm, or the setting numerics",
    "OpProfiler": "the pages of the dashboard show the times of a run",
    "OptimizerCallback": _TRAINER,
    "Profiler": "the pages of the dashboard show the times of a run",
    "Reproducibility": "Trainer takes seed",
    "RunSchedule": "TrainingLoop takes eval_frequency, Checkpoint takes steps",
    "SchedulersCallback": _TRAINER,
    "SelectiveGrad": "torch.where on the gradients, in a hook, does it",
    "SlackNotification": "a run sends nothing over the network",
    "SparsityCallback": _TRAINER,
    "SummaryTensorListener": "the setting numerics keeps statistics of tensors",
    "WeightCompression": _OTHER_RUNTIME,
}


def __getattr__(name):
    if name in _ABSENT:
        raise ImportError(f"cstorch.trainer.callbacks has no {name}: {_ABSENT[name]}")
    raise AttributeError(f"cstorch.trainer.callbacks has no {name}; it has: {', '.join(__all__)}")
