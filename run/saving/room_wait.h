/* Checkpoints that find no room: with the last one a run waits, and asks its operators. */
#ifndef CSE_RUN_SAVING_ROOM_WAIT_H
#define CSE_RUN_SAVING_ROOM_WAIT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "workers/control/control_endpoint.h"

typedef struct cse_room_wait {
    cse_control_endpoint *endpoint; /* NULL: no operator can reach the run */
    int (*stop_requested)(void *self);
    void *self;
    int stops; /* requests there were before it waited */
    /* What operators said in the last turn: */
    char directory[PATH_MAX]; /* another place for the checkpoint; "": none yet */
    bool paused;              /* they want a pause after it */
} cse_room_wait;

/* Waits a moment, or until an operator wants another attempt. False when the run is to end without
 * its checkpoint. */
bool cse_room_wait_turn(cse_room_wait *wait);

/* Appends what the run waits for ("room"), and the ways out. */
void cse_room_wait_text(int64_t step, const char *what, const char *why, const char *model_dir,
                        cse_text *text);

/* Another checkpoint than the last one that cannot be written (full disk, a folder that is gone):
 * the run, whose `what` is training or validation, goes on with a warning, and the one before it
 * remains. Any other status is returned. */
cse_status cse_pass_over_checkpoint(int64_t step, cse_status status, const char *what);

#endif
