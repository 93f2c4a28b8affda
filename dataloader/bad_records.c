/* The first ones are told one by one, later ones by powers of two: no log fills with them. */
#include "dataloader/bad_records.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "engine/base/log.h"

enum { TOLD_EACH = 10 };

static _Atomic int64_t total;

void cse_bad_records_read(const cse_settings *settings, cse_bad_records *records)
{
    records->skips = strcmp(cse_settings_text(settings, "on_bad_record"), "skip") == 0;
    records->count = 0;
}

int64_t cse_bad_records_total(void)
{
    return atomic_load_explicit(&total, memory_order_relaxed);
}

/* "bad record" is what the pages find these lines by. */
static void note(cse_bad_records *records, int64_t index)
{
    const int64_t count = ++records->count;
    atomic_fetch_add_explicit(&total, 1, memory_order_relaxed);
    if (count <= TOLD_EACH || (count & (count - 1)) == 0)
        cse_log_line(CSE_LOG_WARNING,
                     "bad record: sample %" PRId64 " was replaced, %" PRId64
                     " in this process so far: %s",
                     index, count, cse_error_message());
}

cse_status cse_read_good_record(cse_bad_records *records, int64_t index, int64_t sample_count,
                                cse_status (*read)(void *self, int64_t index), void *self)
{
    cse_status status = CSE_OK;
    for (int tries = 0; tries < CSE_BAD_RECORDS_IN_A_ROW; tries++) {
        status = read(self, index);
        if (status != CSE_DATA || !records->skips)
            return status;
        note(records, index);
        index = (index + 1) % sample_count;
    }
    return cse_fail_within(
        status, "%d samples in a row cannot be read; the last: ", CSE_BAD_RECORDS_IN_A_ROW);
}
