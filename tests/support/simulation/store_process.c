/* What the store was told, and what it must hold: every step that was told, once in an attempt; all
 * steps whose records were freed, however their process ended; one end of each attempt. */
#include "tests/support/simulation/store_process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/reader.h"
#include "store/shared.h"
#include "store/store.h"
#include "tests/support/simulation/disk.h"
#include "tests/support/temporary_folder.h"

#define MILLISECONDS INT64_C(1000000)
enum { MOST_TURNS = 1000000 };

const int64_t *simulated_clock_ns;
static world *acting; /* whose store it is; the calls know none */

struct store_state {
    char model_dir[64];
    cse_store *store; /* NULL: none is open */
    process writer;
    void *(*start)(void *);
    void *argument;
    bool calling; /* the coordinator's fiber is in a call of the store */
    bool killed;
    bool stores_nothing; /* it could not be opened: the run goes on without */
    int64_t outage_until_ns;
    int series;
    int64_t attempts;
    bool told[SIMULATED_STEPS];     /* in this attempt */
    bool may_lack[SIMULATED_STEPS]; /* told while nothing could be written, and then killed */
    bool may_lack_end;
    cse_run_state end;
};

/* ---- the writer ---- */

static void writer_body(void *self)
{
    store_state *s = self;
    s->start(s->argument);
}

int simulated_thread_create(void *(*start)(void *), void *argument)
{
    store_state *s = acting->store;
    s->start = start;
    s->argument = argument;
    s->writer = (process){ .world = acting, .slot = -2, .weight = 3 };
    s->writer.fiber = fiber_new(writer_body, s);
    return 0;
}

process *store_writer(world *w)
{
    return w->store != NULL ? &w->store->writer : NULL;
}

/* Outside of the world's turns, as when its process has been killed. */
static void run_writer(world *w)
{
    process *p = &w->store->writer;
    if (p->sleep.ns > w->now_ns)
        w->now_ns = p->sleep.ns;
    world_turn(w, p);
}

static void let_writer_run(world *w)
{
    if (fiber_is_running())
        world_stop(&w->control, (sleep_until){ .ns = w->now_ns + MILLISECONDS / 20 });
    else
        run_writer(w);
}

int simulated_thread_join(void)
{
    world *w = acting;
    while (!w->store->writer.ended)
        let_writer_run(w);
    fiber_destroy(&w->store->writer.fiber);
    w->store->writer = (process){ .slot = -2 };
    return 0;
}

int simulated_thread_wait(pthread_mutex_t *mutex, const struct timespec *until)
{
    world *w = acting;
    pthread_mutex_unlock(mutex);
    if (until != NULL)
        world_stop(&w->store->writer,
                   (sleep_until){ .ns = until->tv_sec * INT64_C(1000000000) + until->tv_nsec });
    else
        let_writer_run(w);
    pthread_mutex_lock(mutex);
    return 0;
}

int simulated_thread_wake(void)
{
    if (acting != NULL && acting->store != NULL)
        acting->store->writer.sleep.ns = 0;
    return 0;
}

/* ---- the disk ---- */

/* Before each change of a file: of the process that makes it. */
static void on_disk(void)
{
    world *w = acting;
    store_state *s = w->store;
    if (disk_fault.dead)
        return;
    process *p = world_on_turn();
    if (p != NULL)
        world_point(p);
    disk_fault.dead = s->killed;
    if (w->scenario.disk_fails && !world_is_quiet(w) && s->store != NULL &&
        w->now_ns >= s->outage_until_ns && world_chance(w, 60)) {
        s->outage_until_ns = w->now_ns + (1 + (int64_t)world_random(w, 3000)) * MILLISECONDS;
        disk_fault.error = world_chance(w, 2) ? ENOSPC : EIO;
        w->counts->outages++;
        world_tell(w, "the disk fails");
    }
    disk_fault.fails_at = w->now_ns < s->outage_until_ns ? 0 : -1;
    disk_fault.calls = LONG_MAX;
}

/* ---- the coordinator's process ---- */

/* A killed process ends here, once the call that it was in has come back. */
static void leave(world *w)
{
    w->store->calling = false;
    while (w->store->killed && fiber_is_running())
        fiber_stop();
}

static void make_folder(world *w)
{
    w->store = cse_calloc(1, sizeof *w->store);
    snprintf(w->store->model_dir, sizeof w->store->model_dir, "/tmp/csengine-check-XXXXXX");
    if (mkdtemp(w->store->model_dir) == NULL)
        abort();
    disk_watch(w->store->model_dir);
    w->store->end = CSE_RUN_NONE;
    w->counts->stores++;
}

void store_begin(world *w)
{
    if (!w->scenario.keeps_store)
        return;
    acting = w;
    simulated_clock_ns = &w->now_ns;
    if (w->store == NULL)
        make_folder(w);
    store_state *s = w->store;
    if (s->store != NULL || s->stores_nothing)
        return;
    disk_fault.point = on_disk;
    s->killed = disk_fault.dead = false;
    s->calling = true;
    const cse_store_options options = { .succession = { .takes_over = s->attempts > 0 } };
    cse_store *opened = NULL;
    const cse_status status = cse_store_open(s->model_dir, &options, &opened);
    s->store = opened;
    leave(w);
    s->stores_nothing = status == CSE_IO && w->now_ns <= s->outage_until_ns;
    if (s->stores_nothing)
        return;
    if (status != CSE_OK)
        world_fault(w, "the run store cannot be opened: %s", cse_error_message());
    s->attempts = cse_store_attempt(s->store);
    memset(s->told, 0, sizeof s->told);
    s->series = cse_store_series(s->store, "loss");
    cse_store_transition(s->store, CSE_RUN_COMPILING, NULL, NULL);
}

void store_record(world *w, const cse_record *record)
{
    if (w->store == NULL)
        return;
    w->store->may_lack[record->step] |= w->store->stores_nothing;
    if (w->store->store == NULL)
        return;
    w->store->told[record->step] = true;
    cse_store_point(w->store->store, w->store->series, record->step,
                    (double)w->fetched[record->step][0]);
}

void store_phase(world *w, cse_phase phase)
{
    static const cse_run_state states[] = {
        [CSE_PHASE_STARTING] = CSE_RUN_STARTING,     [CSE_PHASE_RUNNING] = CSE_RUN_RUNNING,
        [CSE_PHASE_PAUSING] = CSE_RUN_PAUSING,       [CSE_PHASE_PAUSED] = CSE_RUN_PAUSED,
        [CSE_PHASE_RECOVERING] = CSE_RUN_RECOVERING, [CSE_PHASE_CANCELLING] = CSE_RUN_CANCELLING,
    };
    if (w->store == NULL || w->store->store == NULL)
        return;
    /* Later executions belong to the run that has started. */
    if (phase == CSE_PHASE_STARTING && cse_store_state(w->store->store) != CSE_RUN_COMPILING)
        return;
    if (cse_store_transition(w->store->store, states[phase], NULL, "") != CSE_OK)
        world_fault(w, "the store refuses a state: %s", cse_error_message());
}

int64_t store_kept(world *w, int64_t mark, bool hurry)
{
    return w->store == NULL ? -1 : cse_store_kept(w->store->store, mark, hurry);
}

void store_saving(world *w)
{
    if (w->store == NULL || w->store->store == NULL)
        return;
    w->store->calling = true;
    (void)cse_store_flush(w->store->store);
    leave(w);
}

void store_saved(world *w, int64_t steps)
{
    char path[96];
    if (w->store == NULL || w->store->store == NULL)
        return;
    /* The file itself is not simulated here; any one that is there will do. */
    snprintf(path, sizeof path, "%s/run.db", w->store->model_dir);
    cse_store_checkpoint(w->store->store,
                         &(cse_checkpoint_row){ .step = steps, .path = path, .digest = "" });
}

/* ---- its end ---- */

/* What was told in this attempt may be lost: nothing could be written when it ended. */
static void note_losses(store_state *s)
{
    const bool fails = s->store != NULL && s->store->failing;
    for (int step = 0; step < SIMULATED_STEPS; step++)
        s->may_lack[step] = s->may_lack[step] || (fails && s->told[step]);
}

void store_kill(world *w)
{
    store_state *s = w->store;
    if (s != NULL)
        s->stores_nothing = false;
    if (s == NULL || (s->store == NULL && !s->calling))
        return;
    note_losses(s);
    s->killed = disk_fault.dead = true;
    for (int i = 0; s->calling && i < MOST_TURNS; i++) {
        world_turn(w, &w->control);
        if (s->calling && s->writer.fiber != NULL && !s->writer.ended)
            run_writer(w);
    }
    cse_store_close(&s->store);
    s->killed = false;
    store_check(w, false);
}

void store_end(world *w, cse_status status, const cse_run_result *result)
{
    store_state *s = w->store;
    if (s == NULL || s->store == NULL)
        return;
    s->end = status == CSE_INTERRUPTED || (status == CSE_OK && result->stopped) ? CSE_RUN_CANCELLED
             : status == CSE_OK                                                 ? CSE_RUN_SUCCEEDED
                                                                                : CSE_RUN_FAILED;
    if (cse_store_transition(s->store, s->end, s->end == CSE_RUN_FAILED ? "DATA" : NULL, "") !=
        CSE_OK)
        world_fault(w, "the store refuses its end: %s", cse_error_message());
    note_losses(s);
    cse_store_close(&s->store);
    s->may_lack_end = w->now_ns < s->outage_until_ns;
    for (int step = 0; s->may_lack_end && step < SIMULATED_STEPS; step++)
        s->may_lack[step] = true;
    store_check(w, true);
}

/* ---- what it holds ---- */

typedef struct found {
    world *w;
    bool steps[SIMULATED_STEPS];
    int64_t attempt;
    cse_run_state state;
    long ends;
} found;

static void take_point(void *self, const cse_row *row)
{
    found *f = self;
    const int64_t step = row->fields[2].integer;
    if (step < 0 || step >= f->w->told_ever)
        world_fault(f->w, "the store holds step %lld, which nobody told", (long long)step);
    else if (row->fields[4].number != (double)f->w->fetched[step][0])
        world_fault(f->w, "the store holds another value of step %lld", (long long)step);
    else
        f->steps[step] = true;
}

static void take_transition(void *self, const cse_row *row)
{
    found *f = self;
    const int64_t attempt = row->fields[6].integer;
    const cse_run_state from = cse_run_state_of(row->fields[2].text),
                        to = cse_run_state_of(row->fields[3].text);
    if (attempt != f->attempt && attempt != f->attempt + 1)
        world_fault(f->w, "attempt %lld follows attempt %lld", (long long)attempt,
                    (long long)f->attempt);
    if (attempt == f->attempt && from != f->state)
        world_fault(f->w, "%s is said to follow %s, and the state was %s", row->fields[3].text,
                    cse_run_state_name(from), cse_run_state_name(f->state));
    if (cse_run_state_is_terminal(f->state))
        world_fault(f->w, "after the end, %s, comes %s", cse_run_state_name(f->state),
                    row->fields[3].text);
    if (!cse_run_state_may_follow(attempt == f->attempt ? from : CSE_RUN_NONE, to))
        world_fault(f->w, "%s follows %s", row->fields[3].text, cse_run_state_name(from));
    f->attempt = attempt;
    f->state = to;
}

static void check_steps(world *w, const found *f, bool ended)
{
    const int64_t promised = ended ? w->told_records : w->freed_records;
    for (int64_t step = 0; step < promised; step++)
        if (!f->steps[step] && !w->store->may_lack[step])
            world_fault(w, "step %lld is missing in the store: of %lld steps the records are %s",
                        (long long)step, (long long)promised, ended ? "told" : "freed");
}

void store_check(world *w, bool ended)
{
    store_state *s = w->store;
    const cse_store_query all = { .limit = 100000 };
    cse_store_reader *reader = NULL;
    found f = { .w = w, .attempt = 0, .state = CSE_RUN_NONE };
    if (w->fault[0] != '\0')
        return;
    disk_fault = (disk_faults){ .fails_at = -1, .short_at = -1 }; /* until the next one begins */
    cse_status status = cse_store_reader_open(s->model_dir, &reader);
    if (status == CSE_OK)
        status = cse_store_reader_rows(reader, CSE_ROW_POINT, &all, take_point, &f);
    if (status == CSE_OK)
        status = cse_store_reader_rows(reader, CSE_ROW_TRANSITION, &all, take_transition, &f);
    cse_store_reader_close(&reader);
    if (status == CSE_NO_INPUT || status == CSE_TEMPORARY) /* killed before it was made */
        f.attempt = 0;
    else if (status != CSE_OK)
        world_fault(w, "the store cannot be read: %s", cse_error_message());
    if (w->scenario.keeps_arena || ended)
        check_steps(w, &f, ended);
    if (ended && !s->may_lack_end && f.state != s->end)
        world_fault(w, "the run ended %s, and the store says %s", cse_run_state_name(s->end),
                    cse_run_state_name(f.state));
}

void store_clear(world *w)
{
    if (w->store == NULL)
        return;
    disk_watch(NULL);
    simulated_clock_ns = NULL;
    acting = NULL;
    if (w->store->store == NULL) /* else it is left as it is, after a fault */
        temporary_folder_remove(w->store->model_dir);
    free(w->store);
    w->store = NULL;
}
