/* Nothing is stored for this beyond what a run leaves anyway: checkpoints and the run store. */
#include "run/job/job_start.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/reader.h"

/* Above 2^24 the spacing of float32 is more than 1: an update of usual size changes nothing. */
enum { MOST_NAMED = 8 };
#define LARGEST_SOUND_WEIGHT 16777216.0f

/* ---- the run before ---- */

void cse_previous_run_read(const char *model_dir, cse_previous_run *previous)
{
    cse_store_reader *reader = NULL;
    cse_run_status status;
    *previous = (cse_previous_run){ .steps_done = 0 };
    if (cse_store_reader_open(model_dir, &reader) != CSE_OK)
        return;
    if (cse_store_reader_status(reader, &status) == CSE_OK && status.state == CSE_RUN_FAILED) {
        previous->diverged = strcmp(status.reason, cse_run_reason_name(CSE_REASON_NUMERICS)) == 0 ||
                             strcmp(status.reason, cse_run_reason_name(CSE_REASON_DIVERGED)) == 0;
        previous->steps_done = status.last_step;
    }
    cse_store_reader_close(&reader);
}

cse_status cse_check_fresh_start(const char *model_dir)
{
    int64_t *steps = NULL;
    int count = 0;
    cse_status status = cse_checkpoint_steps(model_dir, &steps, &count);
    int64_t newest = count > 0 ? steps[0] : 0;
    free(steps);
    if (status != CSE_OK || count == 0)
        return status == CSE_NO_INPUT ? CSE_OK : status;
    return cse_fail_at(
        &(cse_error){ .status = CSE_CANNOT_CREATE,
                      .hint = "give another --model_dir, or move them away; without "
                              "--checkpoint_path null training goes on from the newest" },
        "%s holds %d checkpoint%s of an earlier run (the newest: checkpoint_%lld.mdl), among which "
        "a run that starts from step 0 would write its own",
        model_dir, count, count > 1 ? "s" : "", (long long)newest);
}

cse_status cse_check_damaged_start(const char *model_dir)
{
    int64_t *steps = NULL;
    int count = 0;
    cse_text names = { 0 };
    cse_status status = cse_checkpoint_steps(model_dir, &steps, &count);
    for (int i = 0; i < count && i < MOST_NAMED; i++)
        cse_text_add(&names, "%scheckpoint_%lld.mdl", i > 0 ? ", " : "", (long long)steps[i]);
    if (count > MOST_NAMED)
        cse_text_add(&names, " and %d more", count - MOST_NAMED);
    free(steps);
    if (status == CSE_OK && count > 0)
        status = cse_fail_at(
            &(cse_error){ .status = CSE_CANNOT_CREATE,
                          .hint = "`csengine checkpoint verify FILE` says what is wrong; put a "
                                  "whole one there, or give --checkpoint_path FILE; to begin at "
                                  "step 0 all the same: --set checkpoint.begin_anew=true" },
            "%s: no checkpoint of the earlier run is whole, and to begin at step 0 would lose the "
            "steps that it did: %s",
            model_dir, names.data);
    cse_text_clear(&names);
    return status == CSE_NO_INPUT ? CSE_OK : status;
}

void cse_tell_overwriting(const char *model_dir, int64_t step, cse_text *text)
{
    int64_t *steps = NULL, newest = 0;
    int count = 0;
    if (cse_checkpoint_steps(model_dir, &steps, &count) == CSE_OK && count > 0)
        newest = steps[0];
    free(steps);
    if (newest > step)
        cse_text_add(
            text,
            "%s holds checkpoints up to checkpoint_%lld.mdl of an earlier run; those that this "
            "run reaches again from step %lld are overwritten; another --model_dir keeps them",
            model_dir, (long long)newest, (long long)step);
}

/* ---- divergence ---- */

/* The largest magnitude among the elements; infinite when one is not finite. */
static float largest_of(const float *values, size_t count)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return INFINITY;
        largest = fmaxf(largest, fabsf(values[i]));
    }
    return largest;
}

/* The parameter with the largest weight. */
static const cse_state *largest_parameter(cse_session *session, float *largest)
{
    const cse_state *found = NULL;
    *largest = 0;
    for (int i = 0; i < session->network.state_count; i++) {
        cse_state *state = session->network.states[i];
        if (!state->persistent || state->dtype != CSE_FLOAT32 ||
            strncmp(state->name, "model.", 6) != 0)
            continue;
        float one = largest_of(cse_state_values(&session->network, state),
                               cse_state_bytes(state) / sizeof(float));
        if (one > *largest) {
            *largest = one;
            found = state;
        }
    }
    return found;
}

void cse_failed_checkpoint_path(cse_session *session, const char *directory, int64_t step,
                                char path[PATH_MAX])
{
    float largest;
    if (largest_parameter(session, &largest) == NULL || largest <= LARGEST_SOUND_WEIGHT)
        cse_checkpoint_path(directory, step, path, PATH_MAX);
    else
        snprintf(path, PATH_MAX, "%s/diverged_%lld.mdl", directory, (long long)step);
}

/* How to begin before the divergence: the checkpoint before `step`, or anew. */
static void tell_way_out(const char *model_dir, int64_t step, cse_text *text)
{
    int64_t *steps = NULL, earlier = -1;
    int count = 0;
    if (cse_checkpoint_steps(model_dir, &steps, &count) == CSE_OK)
        for (int i = 0; i < count && earlier < 0; i++)
            earlier = steps[i] < step ? steps[i] : -1;
    free(steps);
    cse_text_add(text, "; to start earlier, with a lower learning rate: ");
    if (earlier >= 0)
        cse_text_add(text, "--checkpoint_path %s/checkpoint_%lld.mdl ", model_dir,
                     (long long)earlier);
    cse_text_add(text, "--model_dir NEW_DIR");
}

void cse_tell_divergence(cse_session *session, const char *path, const cse_previous_run *previous,
                         cse_text *text)
{
    float largest = 0;
    const char *model_dir = session->configuration.model_dir;
    const cse_state *parameter = largest_parameter(session, &largest);
    if (parameter != NULL && !isfinite(largest))
        cse_text_add(text,
                     "%s: %s holds values that are not finite: the training that wrote it "
                     "has diverged",
                     path, parameter->name);
    else if (parameter != NULL && largest > LARGEST_SOUND_WEIGHT)
        cse_text_add(text,
                     "%s: the largest weight is %.3g (in %s): the training that wrote it has "
                     "diverged",
                     path, (double)largest, parameter->name);
    else if (previous->diverged)
        cse_text_add(text,
                     "the last run of %s diverged after step %lld: going on from step %lld "
                     "with the same settings repeats that",
                     model_dir, (long long)previous->steps_done,
                     (long long)session->training.global_step);
    else
        return;
    tell_way_out(model_dir, session->training.global_step, text);
}

/* ---- nothing left ---- */

void cse_tell_complete(const cse_session_report *report, const char *model_dir, cse_text *text)
{
    long long done = (long long)report->first_step, asked = (long long)report->asked_last_step;
    if (done == asked)
        cse_text_add(text, "%lld of %lld steps are done: nothing is left to train", done, asked);
    else
        cse_text_add(text,
                     "%lld steps are done, and the limits given end at step %lld: nothing is "
                     "left to train",
                     done, asked);
    cse_text_add(text,
                 ". To go on: --num_steps N for N more steps, or a later end by --max_steps "
                 "or --num_epochs. To start over: another --model_dir than %s",
                 model_dir);
}
