/* What is done about a sample that cannot be read: an error, or the next one in its place. */
#ifndef CSE_DATALOADER_BAD_RECORDS_H
#define CSE_DATALOADER_BAD_RECORDS_H

#include <stdint.h>

#include "csengine/extend.h"

#define CSE_BAD_RECORD_SETTING                                                                \
    {                                                                                         \
        .name = "on_bad_record", .type = CSE_SETTING_CHOICE, .default_value = "error",        \
        .choices = "error|skip",                                                              \
        .doc = "error: a sample that cannot be read ends the run; skip: the next one of the " \
               "data stands in its place, and it is counted in the log"                       \
    }

/* Replacements that are tried in a row. */
enum { CSE_BAD_RECORDS_IN_A_ROW = 100 };

typedef struct cse_bad_records {
    bool skips;
    int64_t count; /* in this process */
} cse_bad_records;

/* Of all data loaders of this process. */
int64_t cse_bad_records_total(void);

void cse_bad_records_read(const cse_settings *settings, cse_bad_records *records);

/* Calls read(self, i) for i = index, and, where bad ones are skipped, for the samples behind it, in
 * a circle, until one succeeds: the same for every process. Only CSE_DATA counts as bad. */
cse_status cse_read_good_record(cse_bad_records *records, int64_t index, int64_t sample_count,
                                cse_status (*read)(void *self, int64_t index), void *self);

#endif
