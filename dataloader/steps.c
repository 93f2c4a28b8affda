/* The number of steps of a run, from the four settings that limit it.
 *
 * The rules are those of the reference's compute_num_steps: num_epochs and num_steps exclude each
 * other, steps_per_epoch shortens an epoch and never lengthens it, and the smallest bound wins. */
#include <inttypes.h>

#include "dataloader/input.h"

static cse_status check_given(const cse_loop_settings *loop, int64_t initial_step)
{
    const struct {
        const char *name;
        int64_t value;
    } rows[] = {
        { "num_steps", loop->num_steps },     { "max_steps", loop->max_steps },
        { "num_epochs", loop->num_epochs },   { "steps_per_epoch", loop->steps_per_epoch },
        { "the initial step", initial_step },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value < 0)
            return cse_fail(CSE_CONFIG, "loop: %s is %" PRId64 ": accepted are numbers from 1 on",
                            rows[i].name, rows[i].value);
    if (loop->num_epochs > 0 && loop->num_steps > 0)
        return cse_fail(CSE_CONFIG,
                        "loop: num_epochs (%" PRId64 ") and num_steps (%" PRId64
                        ") exclude each other: give one of them",
                        loop->num_epochs, loop->num_steps);
    if (loop->num_epochs == 0 && loop->num_steps == 0 && loop->max_steps == 0)
        return cse_fail(CSE_CONFIG,
                        "loop: the number of steps is not bounded: give num_steps, num_epochs "
                        "or max_steps");
    return CSE_OK;
}

/* The number of steps in one epoch. */
static cse_status epoch_length(const cse_loop_settings *loop, int64_t batches_per_epoch,
                               int64_t *length)
{
    if (batches_per_epoch <= 0 && loop->num_epochs > 0)
        return cse_fail(CSE_CONFIG, "loop: num_epochs is given, but the data has no known length: "
                                    "give num_steps or max_steps instead");
    if (batches_per_epoch > 0 && loop->steps_per_epoch > batches_per_epoch)
        return cse_fail(CSE_CONFIG,
                        "loop: steps_per_epoch is %" PRId64 ", but an epoch of the data has only "
                        "%" PRId64 " batches: accepted are 1 to %" PRId64,
                        loop->steps_per_epoch, batches_per_epoch, batches_per_epoch);
    *length = loop->steps_per_epoch > 0 ? loop->steps_per_epoch : batches_per_epoch;
    return CSE_OK;
}

static void lower(int64_t *total, int64_t bound)
{
    if (bound < *total)
        *total = bound;
}

cse_status cse_compute_num_steps(const cse_loop_settings *loop, int64_t batches_per_epoch,
                                 int64_t initial_step, int64_t *steps)
{
    int64_t length = 0, total = INT64_MAX;
    CSE_TRY(check_given(loop, initial_step));
    CSE_TRY(epoch_length(loop, batches_per_epoch, &length));
    if (loop->num_epochs > 0) {
        int64_t product;
        if (__builtin_mul_overflow(loop->num_epochs, length, &product))
            return cse_fail(CSE_CONFIG,
                            "loop: num_epochs %" PRId64 " of %" PRId64
                            " steps each are more steps than can be counted: give fewer epochs",
                            loop->num_epochs, length);
        lower(&total, product);
    }
    if (loop->num_steps > 0)
        lower(&total, loop->num_steps);
    if (loop->max_steps > 0) {
        if (initial_step > loop->max_steps)
            return cse_fail(CSE_CONFIG,
                            "loop: the run stands at step %" PRId64
                            " already, beyond max_steps %" PRId64
                            ": raise max_steps or start from an earlier checkpoint",
                            initial_step, loop->max_steps);
        lower(&total, loop->max_steps - initial_step);
    }
    *steps = total;
    return CSE_OK;
}
