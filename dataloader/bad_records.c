/* Counting goes by powers of two, so that a log does not fill with what is known. */
#include "dataloader/bad_records.h"

#include <inttypes.h>
#include <string.h>

#include "engine/base/log.h"

void cse_bad_records_read(const cse_settings *settings, cse_bad_records *records)
{
    records->skips = strcmp(cse_settings_text(settings, "on_bad_record"), "skip") == 0;
    records->count = 0;
}

static void note(cse_bad_records *records)
{
    records->count++;
    if ((records->count & (records->count - 1)) == 0)
        cse_log_line(CSE_LOG_WARNING,
                     "samples that could not be read, and were replaced: %" PRId64
                     " in this process; the last one: %s",
                     records->count, cse_error_message());
}

cse_status cse_read_good_record(cse_bad_records *records, int64_t index, int64_t sample_count,
                                cse_status (*read)(void *self, int64_t index), void *self)
{
    cse_status status = CSE_OK;
    for (int tries = 0; tries < CSE_BAD_RECORDS_IN_A_ROW; tries++) {
        status = read(self, index);
        if (status != CSE_DATA || !records->skips)
            return status;
        note(records);
        index = (index + 1) % sample_count;
    }
    return cse_fail_within(
        status, "%d samples in a row cannot be read; the last: ", CSE_BAD_RECORDS_IN_A_ROW);
}
