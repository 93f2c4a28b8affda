/* The newest records of training, kept by a host that follows another one. When it takes the lead,
 * the run store gets those that the leader before it has not written. */
#ifndef CSE_RUN_RECORD_RECORD_TAIL_H
#define CSE_RUN_RECORD_RECORD_TAIL_H

#include <stddef.h>

#include "run/session/observer.h"

typedef struct cse_record_tail cse_record_tail;

cse_record_tail *cse_record_tail_new(void);
void cse_record_tail_destroy(cse_record_tail **tail);

/* Records come in the order of their steps; one that is not the next begins the tail anew. `bytes`:
 * of what was fetched. */
void cse_record_tail_add(cse_record_tail *tail, const cse_record *record, size_t bytes);

/* The first step (0-based, as in the records) of those before `end` that is kept, and not below
 * `begin`; `end`: none is. */
int64_t cse_record_tail_first(const cse_record_tail *tail, int64_t begin, int64_t end);
/* Behind the last one. */
int64_t cse_record_tail_end(const cse_record_tail *tail);
/* The record of a step that is kept; it is valid until the next one is added, without
 * statistics. */
cse_record cse_record_tail_of(const cse_record_tail *tail, int64_t step);

#endif
