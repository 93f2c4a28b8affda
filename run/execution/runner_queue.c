/* Steps that wait for the caller's loop. */
#include "run/execution/runner.h"

#include <string.h>

#include "engine/base/arena.h"

void cse_runner_queue(cse_runner *r, const cse_record *record, bool checkpoint)
{
    const size_t bytes = (size_t)r->step->graph->space_bytes[CSE_SPACE_FETCH];
    cse_waiting_step *last = r->last_waiting;
    if (checkpoint && last != NULL && last->record.step == record->step) {
        last->checkpoint = true;
        return;
    }
    cse_waiting_step *waiting = cse_calloc(1, sizeof *waiting);
    *waiting = (cse_waiting_step){ .record = *record,
                                   .activation = !checkpoint,
                                   .checkpoint = checkpoint,
                                   .values = cse_aligned_calloc(bytes + 64) };
    memcpy(waiting->values, record->fetched, bytes);
    waiting->record.fetched = waiting->values;
    if (last != NULL)
        last->next = waiting;
    else
        r->first_waiting = waiting;
    r->last_waiting = waiting;
}
