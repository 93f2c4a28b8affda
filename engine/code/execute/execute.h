/* Running a compiled step: the frame it runs in, and the two ways to run it.
 *
 * An executable offers the three programs of a step graph: REPLICA (forward and backward of one
 * microbatch), WEIGHTS (serial, once a step) and UPDATE (elementwise, in place, on ranges of
 * lines). It is either generated code (codegen) or the interpreter over reference kernels
 * (reference.c). Both touch nothing but the frame's memory, and give the same bits for the same
 * frame every time. They allocate nothing while running. */
#ifndef CSE_EXECUTE_EXECUTE_H
#define CSE_EXECUTE_EXECUTE_H

#include "engine/base/thread_team.h"
#include "engine/graph/graph.h"

typedef struct cse_statistics_collector cse_statistics_collector;

/* Called between two groups: `before` each group of REPLICA and of WEIGHTS that will run, `call`
 * after each of REPLICA that has run: it may read what the groups so far have stored. NULL: nothing
 * is called. */
typedef struct cse_group_watch {
    void (*call)(void *self, int group);
    void (*before)(void *self, int group);
    void *self;
} cse_group_watch;

/* Everything a program reads besides its code. Generated code declares the same struct, so the
 * order of the members is part of its ABI (CSE_STEP_ABI). */
typedef struct cse_frame {
    /* NULL for the spaces a program does not use. That of LENT is set when REPLICA runs. */
    unsigned char *base[CSE_SPACE_COUNT];
    uint64_t seed;
    int64_t step; /* counted from 0 over the whole run */
    /* REPLICA: position of the microbatch's first sample in the global batch. */
    int64_t first_sample;
    /* REPLICA: the workspace holds the results of the groups that run once a step (`per_step`), of
     * an earlier run in the same step: they are skipped. */
    bool prepared;
    struct cse_kernel *const *kernels; /* one for each LIBRARY group, in group order; set by open */
    /* REPLICA, WEIGHTS: counts the tracked tensors (tensor_statistics.h); NULL on a step that takes
     * no statistics. */
    cse_statistics_collector *collector;
    cse_group_watch watch; /* generated code does not know it */
    /* Who shares the work of kernels; NULL: the caller runs alone. Not known to generated code. */
    cse_thread_team *team;
    int first_group, end_group; /* REPLICA: those in between alone; 0, 0: all. Likewise */
} cse_frame;

/* The undo log of UPDATE keeps old values until the new ones are written. Before line g of a group
 * is changed (g counts from the group's first line), its old values go to lines[g & 1] (array after
 * array, with room for CSE_LINE_ELEMENTS elements of 4 bytes each, in the order of the group's
 * assign nodes), then *progress is set to dirty_base + g, then the new values are written, with a
 * compiler barrier between any two of these. */
typedef struct cse_undo_log {
    unsigned char *lines[2];
    volatile uint64_t *progress;
    uint64_t dirty_base;
} cse_undo_log;

/* The most nodes of an UPDATE group that the interpreter accepts. */
enum { CSE_MAX_LINE_NODES = 128 };

typedef struct cse_executable cse_executable;
struct cse_executable {
    const cse_graph *graph;
    cse_graph *owned; /* the graph, if it is destroyed with the executable; NULL: borrowed */
    const char *kind; /* "compiled" or "interpreted" */
    struct cse_poison *poison; /* poison.h; NULL: nothing is poisoned */
    void (*replica)(cse_executable *self, cse_frame *frame);
    void (*weights)(cse_executable *self, cse_frame *frame);
    /* Runs what `replica` or `weights` runs, with the same bits, and sets ns[g] to the nanoseconds
     * that group g of graph->groups took, for the groups of `part` (REPLICA or WEIGHTS); -1 for
     * those that were skipped. Takes no statistics: frame->collector must be NULL. */
    void (*timed)(cse_executable *self, cse_frame *frame, cse_part part, int64_t ns[]);
    /* Updates lines [lines[0], lines[1]) of UPDATE group `group` (an index in graph->groups),
     * counted from the group's own first line. `undo` NULL: no old values are logged. */
    void (*update)(cse_executable *self, cse_frame *frame, int group, const int64_t lines[2],
                   const cse_undo_log *undo);
    /* Computes what UPDATE would write to these lines, without changing any state: elements of each
     * node that cse_group_proposed names, 4 bytes each, from values[i] on. For graphs with tracked
     * tensors. */
    void (*propose)(cse_executable *self, const cse_frame *frame, int group, const int64_t lines[2],
                    float *const values[]);
    void (*destroy)(cse_executable *self);
};

/* Loads the artefact that a compilation left in `directory`, verified
 * (engine/code/codegen/artefact.h): reads the graph, creates the library kernels, loads the code.
 * `digest`: of the manifest that the run was started with; NULL: any. */
cse_status cse_executable_open_verified(const char *directory, const char *digest,
                                        cse_executable **executable);
cse_status cse_executable_open(const char *directory, cse_executable **executable);
/* The graph of such an artefact alone. */
cse_status cse_executable_read_graph(const char *directory, const char *digest, cse_graph **graph);
/* Interprets `graph` (borrowed) with reference kernels; needs every pass up to memory_plan. */
cse_status cse_executable_interpret(const cse_graph *graph, cse_executable **executable);
void cse_executable_destroy(cse_executable **executable);

/* Before REPLICA runs. */
static inline void cse_frame_lend(cse_frame *frame)
{
    frame->base[CSE_SPACE_LENT] = frame->base[CSE_SPACE_PARTIAL];
}

static inline bool cse_frame_leaves_out(const cse_frame *frame, cse_part part, int group)
{
    return part == CSE_PART_REPLICA && frame->end_group > 0 &&
           (group < frame->first_group || group >= frame->end_group);
}

static inline void cse_frame_announce_group(const cse_frame *frame, int group)
{
    if (frame->watch.before != NULL)
        frame->watch.before(frame->watch.self, group);
}

static inline void cse_frame_note_group(const cse_frame *frame, cse_part part, int group)
{
    if (part == CSE_PART_REPLICA && frame->watch.call != NULL)
        frame->watch.call(frame->watch.self, group);
}

/* Initial contents of CSE_SPACE_STATE (graph->space_bytes[CSE_SPACE_STATE] bytes, zeroed by the
 * caller): each state by its initializer, a pure function of (seed, name, element). */
void cse_states_initialize(const cse_graph *graph, uint64_t seed, unsigned char *states);

/* Elements [first, first + count) of one state, by its initializer, to `values`. */
void cse_state_initialize_part(const cse_state_entry *state, uint64_t seed, int64_t first,
                               int64_t count, void *values);

/* Whether it makes bytes that are zero. */
bool cse_initial_zeros(const cse_initializer *init);

#endif
