/* A ring of places of one size. */
#include "run/record/record_tail.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

enum { MOST_RECORDS = 4096 };

struct cse_record_tail {
    int64_t first, end; /* steps that are kept */
    size_t bytes;       /* of each */
    unsigned char *fetched;
    int64_t committed_ns[MOST_RECORDS];
};

cse_record_tail *cse_record_tail_new(void)
{
    return cse_calloc(1, sizeof(cse_record_tail));
}

void cse_record_tail_destroy(cse_record_tail **tail)
{
    if (*tail != NULL)
        free((*tail)->fetched);
    free(*tail);
    *tail = NULL;
}

static unsigned char *place(const cse_record_tail *tail, int64_t step)
{
    return tail->fetched + (size_t)(step % MOST_RECORDS) * tail->bytes;
}

void cse_record_tail_add(cse_record_tail *tail, const cse_record *record, size_t bytes)
{
    if (tail->fetched == NULL || tail->bytes != bytes) {
        free(tail->fetched);
        tail->fetched = cse_calloc(MOST_RECORDS, bytes > 0 ? bytes : 1);
        tail->bytes = bytes;
        tail->end = -1;
    }
    if (record->step != tail->end)
        tail->first = record->step;
    memcpy(place(tail, record->step), record->fetched, bytes);
    tail->committed_ns[record->step % MOST_RECORDS] = record->committed_ns;
    tail->end = record->step + 1;
    if (tail->end - tail->first > MOST_RECORDS)
        tail->first = tail->end - MOST_RECORDS;
}

int64_t cse_record_tail_first(const cse_record_tail *tail, int64_t begin, int64_t end)
{
    const int64_t first = tail->first > begin ? tail->first : begin;
    return tail->fetched != NULL && first < tail->end && first < end ? first : end;
}

int64_t cse_record_tail_end(const cse_record_tail *tail)
{
    return tail->fetched != NULL ? tail->end : 0;
}

cse_record cse_record_tail_of(const cse_record_tail *tail, int64_t step)
{
    assert(step >= tail->first && step < tail->end);
    return (cse_record){ .step = step,
                         .fetched = place(tail, step),
                         .committed_ns = tail->committed_ns[step % MOST_RECORDS],
                         .steps_done = step + 1 };
}
