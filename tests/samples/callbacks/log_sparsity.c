/* Samples of log_sparsity, with independent values. */
#include "tests/samples/samples.h"

/* What it computes is held by tests/run/check_sparse_runs.sh, against the masks of checkpoints. */
static const cse_callback_sample samples[] = {
    { .settings = "{}", .val_losses = { 1.0 }, .source = "it does nothing but trace" },
    { .settings = NULL },
};

CSE_SAMPLES(callback, log_sparsity, samples);
