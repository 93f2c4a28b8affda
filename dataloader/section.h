/* A data loader's section of the configuration: which input function, its own settings, and
 * those that every data loader has. All of it is one table, so that one check sees the section
 * as a whole. */
#ifndef CSE_DATALOADER_SECTION_H
#define CSE_DATALOADER_SECTION_H

#include "dataloader/input.h"

typedef struct cse_dataloader_section {
    const cse_input_descriptor *descriptor;
    cse_setting *table; /* the common settings, then the input function's */
    cse_settings *settings;
    cse_batching batching;
} cse_dataloader_section;

/* Checks the section's text (see cse_dataloader_open), but not yet against the data. The caller
 * releases the result with cse_dataloader_section_clear; on failure there is nothing to release. */
cse_status cse_dataloader_section_parse(const char *yaml, uint64_t default_seed,
                                        cse_dataloader_section *section);
void cse_dataloader_section_clear(cse_dataloader_section *section);

/* Checks the batching against the number of samples; CSE_CONFIG. */
cse_status cse_dataloader_section_check_samples(const cse_dataloader_section *section,
                                                int64_t sample_count);

#endif
