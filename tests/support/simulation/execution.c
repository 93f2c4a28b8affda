/* One execution: which process runs next, and how the clock moves. */
#include <string.h>
#include <unistd.h>

#include "tests/support/simulation/store_process.h"
#include "workers/arena/inherit.h"
#include "workers/arena/layout.h"

#define MICROSECONDS INT64_C(1000)
/* A run ends within so many turns, and so much simulated time, after the last fault. */
enum { MOST_QUIET_TURNS = 3000000 };
#define MOST_QUIET_NS (INT64_C(1200) * 1000000000)

static process *on_turn; /* whose fiber runs; NULL: none */

static void on_failpoint(cse_failpoint point)
{
    process *p = on_turn;
    if (p == NULL)
        return;
    p->at = point;
    world_point(p);
    p->at = CSE_FAILPOINT_COUNT;
}

/* A step passes these points once in each line, so few of them are taken. */
static void on_fake_point(fake_point point)
{
    (void)point;
    if (on_turn != NULL && world_chance(on_turn->world, 8))
        world_point(on_turn);
}

void world_turn(world *w, process *p)
{
    on_turn = p;
    w->turns++;
    w->now_ns += (1 + (int64_t)world_random(w, 30)) * MICROSECONDS;
    if (!fiber_resume(p->fiber) && p->slot < 0)
        p->ended = true;
    on_turn = NULL;
}

process *world_on_turn(void)
{
    return on_turn;
}

/* By number: -2 is the writer of the run store, -1 the coordinator, others are workers. */
static process *process_of(world *w, int s)
{
    return s == -2 ? store_writer(w) : s == -1 ? &w->control : &w->processes[s];
}

/* Chooses by weight among those that may go on; NULL: none may. */
static process *next_of(world *w)
{
    process *chosen = NULL;
    int sum = 0;
    for (int s = -2; s < w->slot_count; s++) {
        process *p = process_of(w, s);
        if (p == NULL || !world_is_runnable(w, p))
            continue;
        sum += p->weight;
        if ((int)world_random(w, (unsigned)sum) < p->weight)
            chosen = p;
    }
    return chosen;
}

/* To the next moment at which somebody may go on. */
static void pass_time(world *w)
{
    int64_t next_ns = INT64_MAX;
    for (int s = -2; s < w->slot_count; s++) {
        const process *p = process_of(w, s);
        if (p == NULL || p->fiber == NULL || p->ended)
            continue;
        int64_t at_ns = p->frozen_ns != 0 ? p->thaws_ns : p->sleep.ns;
        for (int i = 0; p->frozen_ns == 0 && p->sleep.message && i < p->inbox.count; i++)
            if (p->inbox.letters[i].due_ns < at_ns)
                at_ns = p->inbox.letters[i].due_ns;
        if (at_ns < next_ns)
            next_ns = at_ns;
    }
    if (next_ns > w->now_ns && next_ns != INT64_MAX)
        w->now_ns = next_ns;
    else
        w->now_ns += MICROSECONDS;
}

static void check_limits(world *w, int64_t quiet_since_ns)
{
    if (world_is_quiet(w) && (w->turns - w->scenario.quiet_after > MOST_QUIET_TURNS ||
                              w->now_ns - quiet_since_ns > MOST_QUIET_NS)) {
        cse_text dump = { 0 };
        cse_cluster_dump(w->cluster, &dump);
        world_fault(w, "nothing disturbs the run, and it does not end: state %d, step %lld, %s",
                    (int)cse_coordinator_state_now(w->coordinator),
                    (long long)cse_cluster_steps_done(w->cluster),
                    dump.data != NULL ? dump.data : "");
        cse_text_clear(&dump);
    }
}

/* A coordinator's workers die with it. */
static void end_all(world *w)
{
    for (int s = 0; s < w->slot_count; s++)
        process_forget(&w->processes[s]);
    fiber_destroy(&w->control.fiber);
}

static cse_cluster_layout layout_of(const world *w, const unsigned char *states)
{
    const scenario *s = &w->scenario;
    return (cse_cluster_layout){ .graph = fake_step_graph(w->step),
                                 .states = states,
                                 .replica_count = s->replicas,
                                 .weight_server_count = s->servers,
                                 .input_worker_count = s->inputs,
                                 .weight_grad_reduce = s->payload,
                                 .seed = 77,
                                 .audit_fraction = s->seed % 4 == 0 ? 0.3 : 0,
                                 .first_step = w->first_step,
                                 .num_steps = w->end_step - w->first_step,
                                 .record_count = s->records,
                                 .ring_microbatches = s->ring };
}

static cse_cluster *new_cluster(world *w, const unsigned char *states)
{
    cse_cluster *cluster = NULL;
    const cse_cluster_layout layout = layout_of(w, states);
    if (cse_cluster_create(&layout, &cluster) != CSE_OK)
        world_fault(w, "no arena: %s", cse_error_message());
    return cluster;
}

/* A process of its own maps the arena anew. */
static cse_cluster *inherited_cluster(world *w)
{
    cse_cluster *cluster = NULL;
    const cse_cluster_layout layout = layout_of(w, NULL);
    const int descriptor = dup(cse_cluster_descriptor(w->cluster));
    if (cse_cluster_inherit(&layout, descriptor, &cluster) != CSE_OK)
        world_fault(w, "the arena is not inherited: %s", cse_error_message());
    cse_cluster_destroy(&w->cluster);
    return cluster;
}

static void begin(world *w, const unsigned char *states)
{
    w->inherited = w->cluster != NULL;
    w->cluster = w->inherited ? inherited_cluster(w) : new_cluster(w, states);
    if (w->cluster == NULL)
        return;
    w->counts->inherited += w->inherited;
    w->slot_count = cse_cluster_slot_count(w->cluster);
    memset(w->processes, 0, sizeof w->processes);
    w->over = w->last_copied = false;
    w->phase_ns = w->now_ns;
    w->stopping_ns = 0;
    w->told_records = w->kept_records = w->first_step;
    w->copied_steps = w->paused_at = w->written_steps = -1; /* a writer dies with its coordinator */
    w->counts->executions++;
    atomic_store(&cse_failpoint_armed, on_failpoint);
    atomic_store(&fake_point_hook, on_fake_point);
    coordinator_process_start(w);
}

static void loop(world *w)
{
    int64_t quiet_since_ns = 0;
    while (!w->over && !w->control.ended && w->fault[0] == '\0') {
        if (world_is_quiet(w) && quiet_since_ns == 0)
            quiet_since_ns = w->now_ns;
        world_disturb(w);
        process *p = next_of(w);
        if (p != NULL)
            world_turn(w, p);
        else
            pass_time(w);
        check_limits(w, quiet_since_ns);
    }
}

static void take_end(world *w, unsigned char *states, cse_status *status, cse_run_result *result)
{
    *status = cse_coordinator_result(w->coordinator, result);
    for (int s = 0; s < w->slot_count; s++)
        if (w->processes[s].fiber != NULL)
            world_fault(w, "the coordinator has ended and process %d is left", s);
    if (*status != CSE_OK && !result->settled)
        return;
    if (!world_states_are(w, cse_cluster_states_view(w->cluster), result->steps_done))
        world_fault(w, "at the end the states are not those after %lld steps",
                    (long long)result->steps_done);
    memcpy(states, cse_cluster_states_view(w->cluster), w->state_bytes);
}

execution_end world_execute(world *w, unsigned char *states, cse_status *status,
                            cse_run_result *result)
{
    *result = (cse_run_result){ .steps_done = w->first_step };
    begin(w, states);
    if (w->cluster == NULL)
        return EXECUTION_FAULTY;
    loop(w);
    atomic_store(&cse_failpoint_armed, NULL);
    atomic_store(&fake_point_hook, NULL);
    if (w->over && w->fault[0] == '\0')
        take_end(w, states, status, result);
    const execution_end end = w->fault[0] != '\0' ? EXECUTION_FAULTY
                              : w->over           ? EXECUTION_ENDED
                                                  : EXECUTION_DIED;
    if (end == EXECUTION_DIED)
        store_kill(w);
    end_all(w);
    cse_coordinator_destroy(&w->coordinator);
    if (end != EXECUTION_DIED || !w->scenario.keeps_arena)
        cse_cluster_destroy(&w->cluster);
    return end;
}
