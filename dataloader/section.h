/* A data loader's section of the configuration: the name of the input function, its own settings,
 * and those that every data loader has. They form one table, so that the section is checked as a
 * whole. */
#ifndef CSE_DATALOADER_SECTION_H
#define CSE_DATALOADER_SECTION_H

#include "dataloader/input.h"
#include "engine/base/library.h"

typedef struct cse_dataloader_section {
    const cse_input_descriptor *descriptor;
    const cse_library *library;   /* that holds it; NULL: it is built in */
    const cse_settings *settings; /* borrowed */
    cse_batching batching;
} cse_dataloader_section;

/* Reads checked settings, without the data; CSE_CONFIG if micro_batch_size does not divide
 * batch_size. */
cse_status cse_dataloader_section_read(const cse_settings *settings, uint64_t default_seed,
                                       cse_dataloader_section *section);

/* CSE_CONFIG: a batch is larger than the data. */
cse_status cse_dataloader_too_few(const cse_settings *settings, int64_t sample_count);

/* Checks the batching, as read, against the number of samples; CSE_CONFIG. */
cse_status cse_dataloader_section_check_samples(const cse_dataloader_section *section,
                                                int64_t sample_count);

#endif
