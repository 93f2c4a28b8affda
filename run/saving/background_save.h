/* Checkpoints that another process writes while the steps go on.
 *
 * At a snapshot the states are copied into a shared memory
 * (engine/formats/checkpoint/shared_checkpoint.h), which closures read them from. A closure may
 * hand that memory to a `csengine writer`: the file stands when `done` is told so, not before. One
 * is written at a time; the next snapshot waits for it. A writer that dies is replaced; what it
 * left of a file is written over or removed. */
#ifndef CSE_RUN_SAVING_BACKGROUND_SAVE_H
#define CSE_RUN_SAVING_BACKGROUND_SAVE_H

#include "run/session/session.h"

/* What became of a save; `status` is not CSE_OK: the thread's last error says why. */
typedef struct cse_background_result {
    cse_status status;
    int64_t step, start_ns, end_ns;
    const char *path;
} cse_background_result;

typedef struct cse_background_request {
    const char *path;
    void *self;
    /* In the session's thread, between two of its callbacks or before cse_run returns. What it
     * returns ends the run unless it is CSE_OK. */
    cse_status (*done)(void *self, const cse_background_result *result);
} cse_background_request;

/* Copies the states of the graph into shared memory and lets them be read there. CSE_TEMPORARY when
 * that is missing: nothing has changed. */
cse_status cse_session_capture(cse_session *session, const cse_graph *graph,
                               cse_state *const *bound, const unsigned char *states);
/* The states are given up; the memory stays while a save needs it. */
void cse_session_end_capture(cse_session *session);
bool cse_session_has_captured(const cse_session *session, const cse_state *state);

/* Whether there are captured states that no save has taken. */
bool cse_session_can_save_in_background(const cse_session *session);
/* Begins to save the captured states. CSE_USAGE without a capture; what keeps a writer from being
 * started: then the caller can save as cse_save does. */
cse_status cse_session_save_in_background(cse_session *session,
                                          const cse_background_request *request);
bool cse_session_is_saving(const cse_session *session);
/* Tells `done` once it is over, and returns its status; starts another writer for one that died. */
cse_status cse_session_saving_turn(cse_session *session);
/* Ends what is under way: waits for it, or kills it and removes its part of a file. */
cse_status cse_session_finish_saving(cse_session *session, bool wait);
/* The same at the end of an execution, however that has ended, to which what is being written
 * belongs; one that was stopped at once waits for nothing. Returns the first failure. */
cse_status cse_session_end_saving(cse_session *session, cse_status status);

#endif
