/* A forward pass that is compiled once and run in this process, as often as wanted: predictions and
 * generated text. It needs neither a cluster nor a data loader.
 *
 * The step function traces the pass: it declares its inputs and outputs by the calls below. The
 * whole batch is one microbatch, so that an output is what the pass computed, for every sample. */
#ifndef CSE_RUN_INFER_INFERENCE_H
#define CSE_RUN_INFER_INFERENCE_H

#include "csengine/input.h"
#include "csengine/train.h"

typedef struct cse_inference cse_inference;

typedef struct cse_inference_options {
    int64_t batch; /* samples of a run */
    /* Traces the pass; what it returns is ignored. Failures are found in the step. */
    void (*trace)(cse_inference *inference, void *self);
    void *self;
    /* Another one whose states this one reads, in place of a copy of its own, where both lay them
     * out alike; NULL: none. */
    const cse_inference *states_of;
    /* Another one whose inputs this one reads: each lies where it lies there. CSE_INTERNAL where it
     * does not. NULL: none. */
    const cse_inference *inputs_of;
} cse_inference_options;

/* Traces, compiles (or finds in the cache), and copies the states of the open session as they stand
 * now. The caller destroys it, before the session ends; others that read its memory may live on. */
cse_status cse_inference_new(const cse_inference_options *options, cse_inference **inference);
void cse_inference_destroy(cse_inference **inference);

/* While tracing: the step, for calls of csengine/train.h. */
cse_step *cse_inference_step(const cse_inference *inference);
/* While tracing: another input, `stream` a sample, float32 or int32: [batch, ...]. */
cse_tensor *cse_inference_input(cse_inference *inference, const cse_stream *stream);
/* While tracing: another output. Floats become float32, all others int32. Returns its number,
 * counted from 0, or -1 after a failure of the trace. */
int cse_inference_output(cse_inference *inference, const char *name, cse_tensor *tensor);

/* Memory of input `index`, in the order in which they were declared, for the caller to write; zeros
 * at first. Lives as long as the inference. */
void *cse_inference_input_memory(const cse_inference *inference, int index);

/* One run over the inputs as they stand. Fails with CSE_DATA where one that is used as an index is
 * outside of what it is an index of; nothing is computed then. */
cse_status cse_inference_run(cse_inference *inference);

/* Values of the last run, until the next one; `shape`, unless NULL, is set. Float32 or int32. */
const void *cse_inference_output_view(const cse_inference *inference, int index, cse_shape *shape,
                                      cse_dtype *dtype);
int cse_inference_output_count(const cse_inference *inference);
const char *cse_inference_output_name(const cse_inference *inference, int index);

#endif
