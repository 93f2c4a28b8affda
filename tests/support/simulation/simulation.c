/* One run: executions one after the other, and a coordinator after each that was killed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/simulation/store_process.h"
#include "workers/arena/inherit.h"

static void prepare(world *w)
{
    const scenario *s = &w->scenario;
    w->step = fake_step_new(s->microbatches, s->large ? 33 * 1024 + 5 : 700, 100);
    w->state_bytes = (size_t)fake_step_graph(w->step)->space_bytes[CSE_SPACE_STATE];
    w->reference[0] = fake_step_states(w->step);
    for (int64_t step = 0; step < s->steps; step++) {
        w->reference[step + 1] = cse_aligned_calloc(w->state_bytes);
        memcpy(w->reference[step + 1], w->reference[step], w->state_bytes);
        fake_step_reference(w->step, s->payload, (const int64_t[]){ step, step + 1 },
                            w->reference[step + 1], &w->fetched[step]);
    }
    w->copied = cse_aligned_calloc(w->state_bytes);
    w->written = cse_aligned_calloc(w->state_bytes);
    w->takeover = cse_takeover_new();
    if (w->takeover == NULL)
        abort();
    cse_takeover_observe(w->takeover, &w->takeover_observer, &w->no_observer);
}

static void clear(world *w)
{
    for (int64_t step = 0; step <= w->scenario.steps; step++) {
        free(w->reference[step]);
        free(w->saved[step]);
    }
    free(w->copied);
    store_clear(w);
    free(w->written);
    cse_takeover_destroy(&w->takeover);
    cse_cluster_destroy(&w->cluster);
    fake_step_destroy(&w->step);
}

/* The next coordinator begins at the newest checkpoint, or at the start. */
static bool begin_at_checkpoint(world *w, unsigned char *states)
{
    const char *name = cse_takeover_checkpoint(w->takeover);
    w->first_step = name != NULL ? strtoll(name, NULL, 10) : 0;
    const unsigned char *from = name != NULL ? w->saved[w->first_step] : w->reference[0];
    if (w->first_step != w->newest || from == NULL) {
        world_fault(w, "the next coordinator begins at step %lld, the newest checkpoint is of %lld",
                    (long long)w->first_step, (long long)w->newest);
        return false;
    }
    if (!world_states_are(w, from, w->first_step))
        world_fault(w, "the checkpoint of step %lld holds others", (long long)w->first_step);
    memcpy(states, from, w->state_bytes);
    world_tell(w, "another coordinator begins at step %lld", (long long)w->first_step);
    return true;
}

/* The next coordinator begins where the arena stands: no step is done again, and of the records
 * those that may be lost are told again. */
static bool begin_in_arena(world *w)
{
    cse_arena_facts facts;
    if (cse_arena_look(cse_cluster_descriptor(w->cluster), &facts) != CSE_OK) {
        world_fault(w, "the arena cannot be read: %s", cse_error_message());
        return false;
    }
    if (facts.freed > w->kept_records || facts.steps_done < w->newest ||
        facts.end_step != w->end_step)
        world_fault(w,
                    "%lld records of %lld steps are gone; %lld are kept, and a checkpoint of %lld",
                    (long long)facts.freed, (long long)facts.steps_done, (long long)w->kept_records,
                    (long long)w->newest);
    w->first_step = facts.freed;
    world_tell(w, "another coordinator goes on after step %lld", (long long)facts.steps_done);
    return true;
}

static bool take_over(world *w, unsigned char *states)
{
    const bool stood = w->phase == CSE_PHASE_PAUSING || w->phase == CSE_PHASE_PAUSED;
    if (!cse_takeover_begin(w->takeover))
        return false;
    w->paused = cse_takeover_is_paused(w->takeover);
    if (stood != w->paused && w->phase != CSE_PHASE_STARTING && w->phase != CSE_PHASE_RECOVERING)
        world_fault(w, "a run in phase %d is taken over %s", (int)w->phase,
                    w->paused ? "paused" : "running");
    w->counts->takeovers++;
    return w->cluster != NULL ? begin_in_arena(w) : begin_at_checkpoint(w, states);
}

static void check_end(world *w, cse_status status, const cse_run_result *result)
{
    const scenario *s = &w->scenario;
    if (status == CSE_OK && !result->stopped && result->steps_done != w->end_step)
        world_fault(w, "it ended well after %lld of %lld steps", (long long)result->steps_done,
                    (long long)w->end_step);
    if (status == CSE_OK && result->stopped && !w->asked_to_end)
        world_fault(w, "it stopped and nobody had asked for it");
    if (status == CSE_OK && w->told_records != result->steps_done)
        world_fault(w, "%lld steps were done and %lld records told", (long long)result->steps_done,
                    (long long)w->told_records);
    if (status != CSE_OK && result->settled && w->told_records != result->steps_done)
        world_fault(w, "it failed after %lld steps and told %lld records",
                    (long long)result->steps_done, (long long)w->told_records);
    if (status == CSE_OK && !result->stopped && w->phase == CSE_PHASE_PAUSED)
        world_fault(w, "it ended while it was paused");
    if (status == CSE_INTERRUPTED && !w->asked_to_end_now)
        world_fault(w, "it ended at once and nobody had asked for it");
    if (status == CSE_DATA && s->fails_at < 0)
        world_fault(w, "data were at fault: %s", cse_error_message());
    if (status == CSE_UNAVAILABLE && s->useless_slot < 0 && !s->kills)
        world_fault(w, "no fault, and it failed: %s", cse_error_message());
    if (status != CSE_OK && status != CSE_INTERRUPTED && status != CSE_DATA &&
        status != CSE_UNAVAILABLE)
        world_fault(w, "it failed with %d: %s", (int)status, cse_error_message());
    if (status != CSE_OK && status != CSE_INTERRUPTED && !result->settled && !w->asked_to_end &&
        !w->hindered)
        world_fault(w, "it failed and its steps are lost: %s", cse_error_message());
}

static void count_end(world *w, cse_status status, const cse_run_result *result)
{
    simulation_counts *c = w->counts;
    c->completed += status == CSE_OK && !result->stopped;
    c->stopped += status == CSE_OK && result->stopped;
    c->failed += status != CSE_OK && status != CSE_INTERRUPTED;
    c->ended_by_hand += status == CSE_INTERRUPTED;
    world_tell(w, "ended with %d after %lld steps: %s", (int)status, (long long)result->steps_done,
               status != CSE_OK ? cse_error_message() : "");
}

static void run(world *w)
{
    unsigned char *states = fake_step_states(w->step);
    const int64_t steps = w->scenario.steps;
    cse_run_result result = { 0 };
    cse_status status = CSE_OK;
    execution_end end;
    do {
        const int64_t to = w->first_step + w->scenario.segment;
        if (w->cluster == NULL)
            w->end_step = to < steps ? to : steps;
        end = world_execute(w, states, &status, &result);
        if (end == EXECUTION_FAULTY || (end == EXECUTION_DIED && !take_over(w, states)))
            break;
        if (end == EXECUTION_DIED && (w->cluster != NULL || w->first_step < steps))
            continue;
        if (end == EXECUTION_DIED) {
            w->counts->completed++; /* all steps are in its last checkpoint */
            break;
        }
        check_end(w, status, &result);
        w->first_step = result.steps_done;
        w->paused = result.paused;
    } while (w->fault[0] == '\0' &&
             (end == EXECUTION_DIED ||
              (status == CSE_OK && !result.stopped && result.steps_done < steps)));
    if (end == EXECUTION_ENDED)
        count_end(w, status, &result);
    if (end == EXECUTION_ENDED)
        store_end(w, status, &result);
    free(states);
}

bool simulation_run(uint64_t seed, simulation_counts *counts, char fault[FAULT_TEXT_BYTES])
{
    world *w = cse_calloc(1, sizeof *w);
    w->scenario = scenario_of(seed);
    w->counts = counts;
    w->random = seed;
    w->now_ns = INT64_C(1000000000);
    prepare(w);
    run(w);
    counts->runs++;
    counts->turns += w->turns;
    snprintf(fault, FAULT_TEXT_BYTES, "%s", w->fault);
    clear(w);
    free(w);
    return fault[0] == '\0';
}
