/* A small training step in plain C, for tests of the cluster: a cse_graph made by hand and a
 * cse_executable that runs it. Two tensors of weights are trained by momentum on made-up gradients
 * whose sums depend on the order of addition; the loss and a factor over the summed gradients are
 * fetched. The reference runs the same step in one process, with a reduction tree of its own. */
#ifndef CSE_TESTS_FAKE_STEP_H
#define CSE_TESTS_FAKE_STEP_H

#include <stdatomic.h>

#include "workers/arena/coordinator_side.h"
#include "workers/worker/work.h"

typedef struct fake_step fake_step;

/* Every way in which sums may be kept. */
enum { FAKE_PAYLOADS = 5 };
extern const cse_rounding fake_payloads[FAKE_PAYLOADS];

/* `large` and `small`: elements of the two tensors; a step has `microbatches` of them. */
fake_step *fake_step_new(int microbatches, int large, int small);
/* As one without a norm of all gradients: its factor does not depend on them. */
fake_step *fake_step_new_unclipped(int microbatches, int large, int small);
void fake_step_destroy(fake_step **step);
cse_graph *fake_step_graph(fake_step *step);
/* Borrowed; stateless, may be shared by threads. */
cse_executable *fake_step_executable(fake_step *step);
const cse_microbatch_source *fake_step_source(fake_step *step);
/* Initial states: space_bytes[CSE_SPACE_STATE] bytes; release with free(). */
unsigned char *fake_step_states(const fake_step *step);

enum { FAKE_FETCHES = 2 };

/* Runs steps [steps[0], steps[1]) on `states`; fetched[i] are the values of the i-th. */
void fake_step_reference(fake_step *step, cse_rounding payload, const int64_t steps[2],
                         unsigned char *states, float (*fetched)[FAKE_FETCHES]);

/* Points inside the update of a line, in the order they are passed. */
typedef enum fake_point {
    FAKE_BEFORE_UNDO,
    FAKE_HALF_UNDO,
    FAKE_UNDO_COPIED,
    FAKE_MARKED,
    FAKE_HALF_LINE,
    FAKE_LINE_DONE,
    FAKE_POINT_COUNT
} fake_point;
/* Called at each when not NULL; may not return. */
typedef void fake_point_function(fake_point point);
extern _Atomic(fake_point_function *) fake_point_hook;

#endif
