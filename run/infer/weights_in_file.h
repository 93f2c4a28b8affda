/* The states of an inference in a file (states.keep_in: file), for models that are larger than
 * memory.
 *
 * Every pass reads all weights in the same order, so that what was used longest ago is needed next:
 * as much as `states.memory` has room for is in memory for good, and the rest comes and goes in
 * what is left of it, read ahead in the order of the pass. Nothing is written after the start. */
#ifndef CSE_RUN_INFER_WEIGHTS_IN_FILE_H
#define CSE_RUN_INFER_WEIGHTS_IN_FILE_H

#include "engine/code/execute/execute.h"
#include "run/session/session.h"

typedef struct cse_weights_in_file cse_weights_in_file;

/* Places the session's values of the states that `step` reads, a graph that is planned. CSE_CONFIG
 * where states.memory is less than a group of the pass reads; CSE_IO where the file cannot be made,
 * written or read. */
cse_status cse_weights_in_file_new(cse_session *session, const cse_step *step,
                                   const cse_graph *planned, cse_weights_in_file **file);
void cse_weights_in_file_destroy(cse_weights_in_file **file);

/* The space of the states; of the file. */
unsigned char *cse_weights_in_file_base(const cse_weights_in_file *file);

/* Of a pass over a graph that reads these states: what the frame calls before each group. */
cse_group_watch cse_weights_in_file_watch(cse_weights_in_file *file, const cse_graph *graph);
/* After the pass: CSE_IO, with the message, where weights could not be read in it. */
cse_status cse_weights_in_file_outcome(const cse_weights_in_file *file);

#endif
