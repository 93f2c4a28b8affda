/* The streams of features and targets. */
#include "dataloader/inputs/labelled.h"

void cse_describe_labelled(cse_input *input, const char *features, cse_shape shape, bool regression)
{
    input->stream_count = 2;
    input->streams[CSE_FEATURES_STREAM] =
        (cse_stream){ .name = features, .shape = shape, .dtype = CSE_FLOAT32 };
    input->streams[CSE_ANSWERS_STREAM] = (cse_stream){
        .name = regression ? "targets" : "labels",
        .shape = cse_scalar_shape,
        .dtype = regression ? CSE_FLOAT32 : CSE_INT32,
    };
}

void cse_write_answer(void *const outputs[], int64_t i, bool regression, double answer)
{
    if (regression)
        ((float *)outputs[CSE_ANSWERS_STREAM])[i] = (float)answer;
    else
        ((int32_t *)outputs[CSE_ANSWERS_STREAM])[i] = (int32_t)answer;
}
