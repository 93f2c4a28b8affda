/* The class of every sample, and how many samples each class has: for balanced sampling, and for
 * weights of classes in the loss. */
#ifndef CSE_DATALOADER_LABEL_LIST_H
#define CSE_DATALOADER_LABEL_LIST_H

#include "dataloader/input.h"

/* *labels [sample_count of the input], to be freed. They come from the input's read_labels where it
 * has one; otherwise all samples are read. CSE_CONFIG where the input has no stream `labels` with
 * one class for each sample, or determines the order of its samples itself; `setting` and `origin`
 * name for that message the setting that needs them. */
cse_status cse_label_list_read(cse_input *input, const char *setting, const char *origin,
                               int32_t **labels);

/* How many samples each class has: counts [*classes], to be freed. There are as many classes as the
 * data name, or more where a label is higher. CSE_DATA for a label that is negative or too high. */
cse_status cse_label_counts(const cse_input *input, const int32_t *labels, int64_t **counts,
                            int64_t *classes);

#endif
