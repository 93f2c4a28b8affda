/* A cluster whose host is simulated: clock, processes, messages and faults are moved by a seed, all
 * else is the real code: coordinator, arena, recovery, messages, and the work of the workers.
 *
 * Each process is a fiber. It stops at each failpoint and wherever it acts on something that others
 * see, and the seed chooses who goes on, so that any two processes interleave at those points, and
 * one can be killed or frozen at each of them. */
#ifndef CSE_TESTS_SIMULATION_WORLD_H
#define CSE_TESTS_SIMULATION_WORLD_H

#include "run/saving/takeover.h"
#include "tests/support/fake_step.h"
#include "tests/support/simulation/fiber.h"
#include "workers/arena/failpoint.h"
#include "workers/control/coordinator.h"

/* Limits of a simulated run. */
enum {
    SIMULATED_SLOTS = 12,
    SIMULATED_STEPS = 30,
    SIMULATED_LETTERS = 128,
    LETTER_BYTES = 512,
    FAULT_TEXT_BYTES = 512,
};

/* What a seed makes of a run; drawn by scenario.c. */
typedef struct scenario {
    uint64_t seed;
    int microbatches, replicas, servers, inputs, records, ring;
    bool large; /* states of more than one chunk */
    cse_rounding payload;
    int64_t steps, segment;       /* the run's; of one execution, as between two validations */
    int64_t snapshot_every;       /* 0: none but the last */
    int64_t snapshot_interval_ns; /* a checkpoint by time; 0: none */
    int64_t save_ns;              /* what writing a checkpoint takes */
    bool writes_beside;           /* another process writes it, while the steps go on */
    int64_t fails_at;             /* the data of this step cannot be read; -1: all can */
    int useless_slot;             /* its processes end themselves before READY; -1: none */
    int fault_interval;           /* turns between faults, on average; 0: none */
    bool keeps_arena;             /* for the next coordinator */
    bool kills, kills_coordinator, freezes, commands, asks_to_end;
    bool keeps_store; /* a run store, on a disk that fails now and then where disk_fails */
    bool disk_fails;
    long quiet_after; /* turns: from then on there are no faults */
} scenario;

/* What happened, summed over runs. */
typedef struct simulation_counts {
    long runs, turns, kills, freezes, commands, takeovers, inherited, executions, records,
        snapshots;
    long completed, stopped, failed, ended_by_hand;
    long stores, outages;
    long kills_at[CSE_FAILPOINT_COUNT];
} simulation_counts;

typedef struct letter {
    int64_t due_ns;
    int slot, incarnation; /* of the sender; slot -1: an operator */
    size_t size;
    unsigned char bytes[LETTER_BYTES];
} letter;

typedef struct mailbox {
    letter letters[SIMULATED_LETTERS];
    int count;
} mailbox;

/* When a fiber that has stopped goes on: at a time, or before it at one of two events. */
typedef struct sleep_until {
    int64_t ns;
    bool doorbell, message;
    uint32_t seen; /* of the doorbell */
} sleep_until;

typedef struct store_state store_state;

typedef struct process {
    struct world *world;
    int slot, incarnation;
    fiber *fiber; /* NULL: there is no process */
    cse_work *work;
    bool ended; /* and nobody has noticed */
    cse_exit how;
    bool terminated, joined, ready;
    sleep_until sleep;
    bool woke_late;              /* by time, though something to do may have been there */
    int64_t frozen_ns, thaws_ns; /* since; until. 0: it is not frozen */
    int weight;                  /* of its turns */
    cse_failpoint at;            /* CSE_FAILPOINT_COUNT: at none */
    mailbox inbox;
} process;

typedef struct world {
    scenario scenario;
    simulation_counts *counts;
    uint64_t random;
    int64_t now_ns;
    long turns, quiet_turns;
    char fault[FAULT_TEXT_BYTES]; /* what was found; "": nothing */

    fake_step *step;
    cse_microbatch_source source;
    size_t state_bytes;
    unsigned char *reference[SIMULATED_STEPS + 1]; /* states after so many steps */
    float fetched[SIMULATED_STEPS][FAKE_FETCHES];

    /* The execution. */
    cse_cluster *cluster;
    cse_coordinator *coordinator;
    process processes[SIMULATED_SLOTS];
    int slot_count;
    process control; /* the coordinator's */
    int64_t first_step, end_step;
    bool paused;    /* it begins so */
    bool inherited; /* in the arena of a coordinator that was killed */
    int64_t looked_ns;
    bool over; /* the coordinator has ended it */

    /* What the coordinator has told. */
    cse_phase phase;
    int64_t phase_ns, stopping_ns; /* since; when its workers were told to leave, 0: not yet */
    int64_t kept_records;          /* of told_records, those that a takeover does not lose */
    int64_t told_records, paused_at, copied_steps, saved_ns;
    unsigned char *copied;
    unsigned char *written; /* what another process writes, after written_steps; -1: none does */
    int64_t written_steps, writer_ends_ns;
    bool last_copied;

    /* The run. */
    cse_takeover *takeover;
    cse_session_observer takeover_observer, no_observer;
    unsigned char *saved[SIMULATED_STEPS + 1]; /* checkpoints by their steps; NULL: none */
    int64_t newest;                            /* steps of the last one that was noted; 0: none */
    bool asked_to_end, asked_to_end_now;
    bool hindered; /* a fault struck while a run that failed brought its step to an end */
    cse_stop_request request;
    store_state *store;    /* store_process.c; NULL: the run has none yet */
    int64_t freed_records; /* steps whose records the arena no longer holds */
    int64_t told_ever;     /* steps of which a record was told, by any coordinator */
} world;

/* ---- world.c ---- */

/* A number below n >= 1. */
unsigned world_random(world *w, unsigned n);
/* True once in n times. */
bool world_chance(world *w, unsigned n);
/* An invariant does not hold: keeps the first such text and stops the fiber for good. */
__attribute__((format(printf, 2, 3))) void world_fault(world *w, const char *format, ...);
/* Prints one line where CSE_SIMULATION_TRACE is set. */
__attribute__((format(printf, 2, 3))) void world_tell(const world *w, const char *format, ...);
bool world_is_quiet(const world *w);
/* Call for each fault: a run that fails meanwhile may lose its steps. */
void world_note_fault(world *w);
/* Stops the fiber of `p` until `sleep` is over and the seed chooses it. */
void world_stop(process *p, sleep_until sleep);
/* At a point where the process may be interrupted, killed or frozen. */
void world_point(process *p);
/* Whether the process may go on now. */
bool world_is_runnable(const world *w, const process *p);
void world_send(world *w, mailbox *to, letter sent);
/* The first letter that has arrived, in order of time; false: none has. */
bool world_receive(world *w, mailbox *from, letter *taken);
/* Whether the states in the arena, or a copy, are those after `steps`. */
bool world_states_are(const world *w, const unsigned char *states, int64_t steps);

/* ---- processes.c ---- */

void process_start(world *w, int slot, int incarnation);
/* Ends the process by a signal, at the point where it stands. */
void process_end(process *p, cse_exit how);
/* Frees what is left of it; its slot is vacant then. */
void process_forget(process *p);

/* ---- coordinator_process.c ---- */

void coordinator_process_start(world *w);

/* ---- faults.c ---- */

/* With the probability that the scenario gives: one fault, or one command of an operator. */
void world_disturb(world *w);

/* ---- execution.c ---- */

typedef enum execution_end { EXECUTION_ENDED, EXECUTION_DIED, EXECUTION_FAULTY } execution_end;

/* Lets one process run until it stops. */
void world_turn(world *w, process *p);
/* Whose fiber runs; NULL: none of a process. */
process *world_on_turn(void);

/* Runs steps [first_step, end_step) on `states`, which become the final ones where the execution
 * ends with those of a step. */
execution_end world_execute(world *w, unsigned char *states, cse_status *status,
                            cse_run_result *result);

/* ---- scenario.c ---- */

scenario scenario_of(uint64_t seed);

/* ---- simulation.c ---- */

/* Runs what the seed says. True: every invariant held; else `fault` says which did not. */
bool simulation_run(uint64_t seed, simulation_counts *counts, char fault[FAULT_TEXT_BYTES]);

#endif
