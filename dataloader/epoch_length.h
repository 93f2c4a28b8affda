/* An epoch that is shorter or longer than the data: the ModelZoo's num_samples.
 *
 * Where samples are shuffled, the passes over the data follow each other whatever the length of an
 * epoch is: each sample comes once before any comes twice. In their order, an epoch has the first
 * ones, or goes through the data again. */
#ifndef CSE_DATALOADER_EPOCH_LENGTH_H
#define CSE_DATALOADER_EPOCH_LENGTH_H

#include "dataloader/input.h"

/* A row of a table of settings. */
#define CSE_EPOCH_LENGTH_SETTING                                                                  \
    {                                                                                             \
        .name = "num_samples", .type = CSE_SETTING_INTEGER, .default_value = "null", .min = 1,    \
        .max = 1e15,                                                                              \
        .doc = "samples of an epoch: with shuffle as many of the passes over the data, which go " \
               "on in the next epoch, else the first ones, again from the first one where they "  \
               "are more; null: those of the data"                                                \
    }

typedef struct cse_epoch_length {
    int64_t samples; /* of the data */
    bool has_passes; /* numbers are places of the stream of all epochs */
    uint64_t seed;
} cse_epoch_length;

/* Sets sample_count of the input and is_stream; `samples` are those of the data. */
void cse_epoch_length_read(const cse_settings *settings, int64_t samples, cse_input *input,
                           cse_epoch_length *epoch);
/* The sample of the data that an index of the input stands for. `*pass`: its epoch, which becomes
 * the number of the pass over the data. */
int64_t cse_epoch_length_sample(const cse_epoch_length *epoch, int64_t index, int64_t *pass);

#endif
