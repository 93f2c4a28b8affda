/* Both tables: a row for each state, with the events that it accepts. */
#include "run/job/job_life.h"

#include <assert.h>

#include "engine/base/log.h"

typedef struct transition {
    int next; /* 0: there is no such event in that state */
    unsigned actions;
} transition;

/* clang-format off */
#define ENDINGS                                                \
    [CSE_ON_FINISHED] = { CSE_LIFE_FINISHED, 0 },            \
    [CSE_ON_STOPPED] = { CSE_LIFE_STOPPED, 0 },                \
    [CSE_ON_HANDED_ON] = { CSE_LIFE_HANDED_ON, 0 },           \
    [CSE_ON_FAILED] = { CSE_LIFE_FAILED, 0 }
#define FAILURE [CSE_ON_UNSAVED_FAILURE] = { CSE_LIFE_FAILING, CSE_DO_SAVE_LAST }

static const transition stages[CSE_LIFE_COUNT][CSE_ON_COUNT] = {
    [CSE_LIFE_PREPARING] = {
        [CSE_ON_COUNTED_ANEW] = { CSE_LIFE_PREPARING, 0 },
        [CSE_ON_COUNTED_UNFINISHED] = { CSE_LIFE_PREPARING, 0 },
        [CSE_ON_COUNTED_TAKEN] = { CSE_LIFE_PREPARING, 0 },
        [CSE_ON_VALIDATION_PLANNED] = { CSE_LIFE_OWED, CSE_DO_TELL_FORMAT },
        [CSE_ON_STEPS_PLANNED] = { CSE_LIFE_TRAINING, CSE_DO_TELL_FORMAT | CSE_DO_ACCEPT },
        [CSE_ON_NOTHING_PLANNED] = { CSE_LIFE_COMPLETE,
                                    CSE_DO_TELL_FORMAT | CSE_DO_TELL_COMPLETE },
        FAILURE, ENDINGS },
    [CSE_LIFE_OWED] = {
        [CSE_ON_VALIDATION_PLANNED] = { CSE_LIFE_OWED, 0 },
        [CSE_ON_STEPS_PLANNED] = { CSE_LIFE_TRAINING, CSE_DO_ACCEPT },
        [CSE_ON_NOTHING_PLANNED] = { CSE_LIFE_COMPLETE, CSE_DO_TELL_COMPLETE },
        FAILURE, ENDINGS },
    [CSE_LIFE_TRAINING] = {
        [CSE_ON_VALIDATION_PLANNED] = { CSE_LIFE_VALIDATING, 0 },
        [CSE_ON_STEPS_PLANNED] = { CSE_LIFE_TRAINING, 0 }, /* batches of another size */
        [CSE_ON_SAVED] = { CSE_LIFE_TRAINING, 0 },
        [CSE_ON_NOT_SAVED] = { CSE_LIFE_UNSAVED, 0 },
        [CSE_ON_NO_ROOM] = { CSE_LIFE_WAITING, 0 },
        FAILURE, ENDINGS },
    [CSE_LIFE_VALIDATING] = {
        [CSE_ON_VALIDATION_PLANNED] = { CSE_LIFE_VALIDATING, 0 },
        [CSE_ON_STEPS_PLANNED] = { CSE_LIFE_TRAINING, 0 },
        FAILURE, ENDINGS },
    [CSE_LIFE_COMPLETE] = {
        [CSE_ON_VALIDATION_PLANNED] = { CSE_LIFE_COMPLETE, 0 },
        FAILURE, ENDINGS },
    [CSE_LIFE_WAITING] = {
        [CSE_ON_SAVED] = { CSE_LIFE_WAITING, 0 }, /* one before it, by a process of its own */
        [CSE_ON_NOT_SAVED] = { CSE_LIFE_UNSAVED, 0 },
        [CSE_ON_NO_ROOM] = { CSE_LIFE_WAITING, 0 },
        [CSE_ON_WAIT_OVER] = { CSE_LIFE_TRAINING, 0 },
        [CSE_ON_WAIT_GIVEN_UP] = { CSE_LIFE_UNSAVED, 0 },
        [CSE_ON_UNSAVED_FAILURE] = { CSE_LIFE_FAILING_WAITING, CSE_DO_SAVE_LAST },
        [CSE_ON_FAILED] = { CSE_LIFE_FAILED, 0 } },
    [CSE_LIFE_FAILING] = {
        [CSE_ON_NO_ROOM] = { CSE_LIFE_FAILING_WAITING, 0 },
        [CSE_ON_FAILED] = { CSE_LIFE_FAILED, 0 } },
    [CSE_LIFE_FAILING_WAITING] = {
        [CSE_ON_NO_ROOM] = { CSE_LIFE_FAILING_WAITING, 0 },
        [CSE_ON_WAIT_OVER] = { CSE_LIFE_FAILING, 0 },
        [CSE_ON_WAIT_GIVEN_UP] = { CSE_LIFE_UNSAVED, 0 },
        [CSE_ON_FAILED] = { CSE_LIFE_FAILED, 0 } },
    [CSE_LIFE_UNSAVED] = {
        [CSE_ON_SAVED] = { CSE_LIFE_TRAINING, 0 },
        [CSE_ON_NOT_SAVED] = { CSE_LIFE_UNSAVED, 0 },
        [CSE_ON_UNSAVED_FAILURE] = { CSE_LIFE_UNSAVED, 0 },
        [CSE_ON_FAILED] = { CSE_LIFE_FAILED, 0 } },
};

#define TELL_AND_KEEP (CSE_DO_TELL_CHANGES | CSE_DO_KEEP_END)

static const transition ends[CSE_END_COUNT][CSE_ON_COUNT] = {
    [CSE_END_OPEN] = {
        [CSE_ON_COUNTED_ANEW] = { CSE_END_ANEW, 0 },
        [CSE_ON_COUNTED_UNFINISHED] = { CSE_END_UNFINISHED, 0 },
        [CSE_ON_COUNTED_TAKEN] = { CSE_END_TAKEN, 0 } },
    [CSE_END_ANEW] = {
        [CSE_ON_STEPS_PLANNED] = { CSE_END_KEPT, CSE_DO_TELL_END | TELL_AND_KEEP },
        /* What was to be done stays so. */
        [CSE_ON_NOTHING_PLANNED] = { CSE_END_ANEW, CSE_DO_TELL_END | CSE_DO_TELL_CHANGES } },
    [CSE_END_UNFINISHED] = {
        [CSE_ON_STEPS_PLANNED] = { CSE_END_KEPT, TELL_AND_KEEP },
        [CSE_ON_NOTHING_PLANNED] = { CSE_END_KEPT, TELL_AND_KEEP } },
    [CSE_END_TAKEN] = { [CSE_ON_FINISHED] = { CSE_END_FORGOTTEN, CSE_DO_FORGET_END } },
    [CSE_END_KEPT] = { [CSE_ON_FINISHED] = { CSE_END_FORGOTTEN, CSE_DO_FORGET_END } },
};
/* clang-format on */

unsigned cse_job_life_next(cse_job_life *life, cse_job_life_event event)
{
    assert(life->stage > CSE_LIFE_NONE && life->stage < CSE_LIFE_COUNT);
    assert(life->end > CSE_END_NONE && life->end < CSE_END_COUNT);
    const transition *stage = &stages[life->stage][event];
    const transition *end = &ends[life->end][event];
    const bool counts = event <= CSE_ON_COUNTED_TAKEN;
    if (stage->next == 0 || (counts && end->next == 0))
        return CSE_DO_REFUSE;
    life->stage = (cse_job_stage)stage->next;
    if (end->next != 0)
        life->end = (cse_job_end)end->next;
    return stage->actions | end->actions;
}

unsigned cse_job_live(cse_job_life *life, cse_job_life_event event)
{
    const unsigned actions = cse_job_life_next(life, event);
    if (actions & CSE_DO_REFUSE)
        cse_log_line(
            CSE_LOG_WARNING,
            "job: event %d is none of state %d.%d: a fault of the engine, please report it",
            (int)event, (int)life->stage, (int)life->end);
    return actions;
}

bool cse_job_life_goes_on(cse_job_life life)
{
    return life.end == CSE_END_UNFINISHED || life.end == CSE_END_TAKEN;
}

bool cse_job_life_keeps_end(cse_job_life life)
{
    return life.end == CSE_END_TAKEN || life.end == CSE_END_KEPT;
}

bool cse_job_life_waits(cse_job_life life)
{
    return life.stage == CSE_LIFE_WAITING || life.stage == CSE_LIFE_FAILING_WAITING;
}

bool cse_job_life_fails(cse_job_life life)
{
    return life.stage == CSE_LIFE_FAILING || life.stage == CSE_LIFE_FAILING_WAITING;
}
