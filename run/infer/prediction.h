/* Predictions: what a trained model says of samples of a data loader, in the order of the data. */
#ifndef CSE_RUN_INFER_PREDICTION_H
#define CSE_RUN_INFER_PREDICTION_H

#include "csengine/train.h"
#include "dataloader/input.h"
#include "dataloader/pictures/picture_files.h"

typedef struct cse_prediction_options {
    cse_model *model;
    const cse_settings *loader; /* checked settings of a data loader */
    cse_picture_files *files;   /* of cse_predict_files: the samples */
    uint64_t seed;
    int64_t first, count; /* samples of the data; count 0: to the end */
    int64_t stride;       /* from one of them to the next; 0: 1 */
    bool may_be_fewer;    /* `count` is the most: the data may end before */
    /* What is handed out: NULL: the model's predictions; else the last value that is computed in
     * the scope of this name ("model.fc_layers.0"). */
    const char *output;
} cse_prediction_options;

/* What was computed for some samples that follow one another; alive during the call. */
typedef struct cse_predicted {
    int64_t first, count;   /* samples; of files: the positions in `samples` */
    const int64_t *samples; /* [count] the files; NULL: first, first + 1, ... */
    cse_shape shape;        /* of one sample's values */
    cse_dtype dtype;        /* float32 or int32 */
    const void *values;     /* [count, shape] */
    const int32_t *labels;  /* [count]; NULL: the data have none, one a sample */
    const float *targets;   /* [count] of a regression, NaN where there is none; NULL: as labels */
    const cse_input *input; /* where the samples come from; NULL: files */
    const void *const *streams; /* [input->stream_count] [count, shape]; NULL: files */
} cse_predicted;

/* Returns other than CSE_OK to end. */
typedef cse_status cse_prediction_listener(void *self, const cse_predicted *predicted);

/* Calls `listener` in the order of the samples. Fails with CSE_USAGE where the data have no such
 * samples, or the model no such output. */
cse_status cse_predict(const cse_prediction_options *options, cse_prediction_listener *listener,
                       void *self);

/* Of a file that is no picture: the failure is the last error. Returns other than CSE_OK to end. */
typedef cse_status cse_bad_file_listener(void *self, int64_t file, cse_status status);

/* The same of files, each of which is either predicted or told to `bad`. */
cse_status cse_predict_files(const cse_prediction_options *options,
                             cse_prediction_listener *listener, cse_bad_file_listener *bad,
                             void *self);

#endif
