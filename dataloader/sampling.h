/* The setting `sampling` of a data loader: samples are drawn with replacement, by weights of the
 * classes, by weights of the samples, or so that all classes are equally frequent. */
#ifndef CSE_DATALOADER_SAMPLING_H
#define CSE_DATALOADER_SAMPLING_H

#include "dataloader/input.h"
#include "dataloader/positions/weighted.h"

/* Checks what needs no data. */
cse_status cse_sampling_check(const cse_settings *settings);
/* Of the settings of a data loader, or the weights of samples of its open input; *sampler NULL
 * where none is asked for. */
cse_status cse_sampling_read(const cse_settings *settings, cse_input *input,
                             cse_weighted **sampler);

#endif
