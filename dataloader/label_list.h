/* The class of every sample, for what goes by how many samples a class has. */
#ifndef CSE_DATALOADER_LABEL_LIST_H
#define CSE_DATALOADER_LABEL_LIST_H

#include "dataloader/input.h"

/* *labels [sample_count of the input], to be freed. An input function that knows them without
 * reading the samples (read_labels) is asked, of others the samples are read. CSE_CONFIG where the
 * input has no stream `labels` of one class a sample, or orders its samples itself; `setting` and
 * `origin` say who asks. */
cse_status cse_label_list_read(cse_input *input, const char *setting, const char *origin,
                               int32_t **labels);

/* How many samples each class has: counts [*classes], to be freed; the classes that the data name,
 * and at least up to the highest label. CSE_DATA for a negative label. */
cse_status cse_label_counts(const cse_input *input, const int32_t *labels, int64_t **counts,
                            int64_t *classes);

#endif
