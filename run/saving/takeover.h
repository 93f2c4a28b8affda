/* What a coordinator leaves to its successor, in memory that both share with the first process of
 * the run, which starts them.
 *
 * A coordinator may die at any instant, so each part is written in one piece: the steps, the flags,
 * the end of the run, which counts once its flag is set, and the newest checkpoint, of which the
 * one before stays until the new one is whole. */
#ifndef CSE_RUN_SAVING_TAKEOVER_H
#define CSE_RUN_SAVING_TAKEOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "run/session/observer.h"
#include "store/options.h"

typedef struct cse_takeover cse_takeover;

/* NULL when memory is short: such a run has no successor. */
cse_takeover *cse_takeover_new(void);
void cse_takeover_destroy(cse_takeover **takeover);

/* ---- of the first process ---- */

/* Whether a successor may go on after a coordinator's death, and counts it: not where the run was
 * about to end, nor when CSE_MOST_TAKEOVERS coordinators in a row died without a further step. */
bool cse_takeover_begin(cse_takeover *takeover);
enum { CSE_MOST_TAKEOVERS = 5 };

/* ---- of a coordinator; `takeover` may be NULL ---- */

/* As the run store has it. */
cse_succession cse_takeover_succession(const cse_takeover *takeover);
/* Coordinators before this one; 0: it is the run's first. */
int cse_takeover_count(const cse_takeover *takeover);
/* The newest checkpoint that this run has written or loaded; NULL: none. Borrowed. */
const char *cse_takeover_checkpoint(const cse_takeover *takeover);
/* Whether the first process is gone, so that nobody is left who asked for this run. */
bool cse_takeover_is_left_alone(const cse_takeover *takeover);
/* Whether the run stood still on request. */
bool cse_takeover_is_paused(const cse_takeover *takeover);

/* The coordinator's job goes on as another one in the same process: forgets the arena and the end
 * of the one before. */
void cse_takeover_hand_on(cse_takeover *takeover);
void cse_takeover_note_checkpoint(cse_takeover *takeover, const char *path);
/* Keeps the arena of the run's training. */
struct cse_kept_arena *cse_takeover_arena(cse_takeover *takeover);
/* Where the run begins and ends (run_target.h), once that is decided; false: it is not. */
bool cse_takeover_target(const cse_takeover *takeover, int64_t *first_step, int64_t *last_step);
void cse_takeover_note_target(cse_takeover *takeover, int64_t first_step, int64_t last_step);
/* The run is over: the first process, which asks whether it is, may forget its end. */
void cse_takeover_note_over(cse_takeover *takeover);
bool cse_takeover_is_over(const cse_takeover *takeover);
/* True for the first call in a run. */
bool cse_takeover_note_accepted(cse_takeover *takeover);
/* Notes steps and phases of a session's executions, as a further observer after `before`. */
void cse_takeover_observe(cse_takeover *takeover, cse_session_observer *own,
                          cse_session_observer *before);

#endif
