"""Tests that must fail until a piece of work is there: name -> the piece. A test that passes while
it is named here is a failure, so that no name stays."""

_LOOP = "batches that are unpacked in the loop's body"
_PRINT = "printing tensors of a step is refused"
_REGIONS = "mixed precision of regions, in Python"
_TRAINER = "a Trainer with MixedPrecision, in Python"
_OWN_CLASSES = "optimizers and schedules of a program: counters, methods, sparse states"
_CONFIGURE = "configure: once, mount_dirs, python_paths, precision_opt_level"

PENDING = {
    "test_batches_are_unpacked_in_the_loop": _LOOP,
    "test_a_step_of_two_arguments": _LOOP,
    "test_printing_is_refused": _PRINT,
    "test_tensors_are_not_printed_in_a_step": _PRINT,
    "test_region_by_hand": _REGIONS,
    "test_trainer_takes_mixed_precision": _TRAINER,
    "test_types_of_mixed_precision": _TRAINER,
    "test_scaling_of_mixed_precision": _TRAINER,
    "test_clipping_of_mixed_precision": _TRAINER,
    "test_levels_of_mixed_precision": _TRAINER,
    "test_enable_global_step": _OWN_CLASSES,
    "test_methods_that_must_be_there": _OWN_CLASSES,
    "test_states_that_are_sparse": _OWN_CLASSES,
    "test_pol_of_the_model": _CONFIGURE,
    "test_mount_dirs": _CONFIGURE,
    "test_python_paths": _CONFIGURE,
    "test_once": _CONFIGURE,
}
