"""cstorch.backends.csx: flags of a run, with the reference's names.

    cstorch.backends.csx.precision.optimization_level = 1    # precision_opt_level of the model
    cstorch.backends.csx.performance.micro_batch_size = 64   # of data loaders that give none

Flags that describe other hardware are kept and have no effect; any other name is refused.
"""

from cstorch import precision as precision_module
from cstorch import session as session_module


class Flags:
    """A group of flags. Class attributes that are no functions are its flags and their defaults."""

    def __setattr__(self, name, value):
        if not hasattr(type(self), name):
            raise AttributeError(
                f"cstorch.backends.{self._path} has no flag {name!r}; accepted: "
                + ", ".join(sorted(n for n in dir(type(self)) if not n.startswith("_")))
            )
        super().__setattr__(name, value)


class _Precision(Flags):
    _path = "csx.precision"

    @property
    def optimization_level(self):
        """The precision optimization level of the model: 0, 1 or 2."""
        from cstorch.pol import current_pol

        return current_pol()

    @optimization_level.setter
    def optimization_level(self, level):
        what = "cstorch.backends.csx.precision.optimization_level"
        precision_module.give_level(level, what)


class _Performance(Flags):
    _path = "csx.performance"
    transfer_processes = None
    max_transfer_bytes = None
    compress_weights = None
    use_speculative_optimizers = None

    @property
    def micro_batch_size(self):
        """Samples that a step computes with at once, of data loaders that give none."""
        return session_module.current.micro_batch_size

    @micro_batch_size.setter
    def micro_batch_size(self, size):
        good = size in (None, "auto", "none") or (
            isinstance(size, int) and not isinstance(size, bool) and size >= 1
        )
        if not good:
            raise ValueError(
                f"cstorch.backends.csx.performance.micro_batch_size is {size!r}; accepted: a whole "
                "number of at least 1, 'auto', 'none', None"
            )
        session_module.current.micro_batch_size = size if isinstance(size, int) else None


class _Cluster(Flags):
    _path = "csx.cluster"
    auto_taint = False


class _Ini:
    """Settings of the reference's compiler, by any name: they are kept."""


class _Debug(Flags):
    _path = "csx.debug"
    debug_args = ini = _Ini()
    drop_data = save_gpv = check_constraints = None
    lazy_initialization = True
    skip_weight_init = optimize_initialization = log_initialization = None
    retrace_every_iteration = False
    implicit_cast_cb16_to_fp32 = None
    fabric_type_blacklist = ()
    compile_crd_memory_gi = execute_crd_memory_gi = wrk_memory_gi = act_memory_gi = None
    cmd_memory_gi = wgt_memory_gi = chf_memory_gi = None


class _S3(Flags):
    _path = "csx.storage.s3"
    profile = None


class _Storage(Flags):
    _path = "csx.storage"
    s3 = _S3()


class _Csx(Flags):
    _path = "csx"
    cluster = _Cluster()
    debug = _Debug()
    performance = _Performance()
    precision = _Precision()
    storage = _Storage()


csx = _Csx()
