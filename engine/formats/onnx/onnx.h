/* A model's forward pass as a graph of ONNX (onnx.ai), operator set 17.
 *
 * The pass is traced twice, with two numbers of samples, and both traces are walked together: a
 * size that is the same in both is fixed, one that grows with the samples is a multiple of the free
 * dimension "batch", and anything else that differs is refused. All floats are float32. */
#ifndef CSE_ONNX_ONNX_H
#define CSE_ONNX_ONNX_H

#include "engine/formats/weights/forward_pass.h"
#include "engine/graph/graph.h"

enum { CSE_ONNX_OPSET = 17, CSE_ONNX_IR_VERSION = 8 };

typedef struct cse_onnx_trace {
    const cse_graph *graph;   /* of microbatches of that many samples */
    const cse_tensor *output; /* [samples, ...] */
} cse_onnx_trace;

/* Describes what `output` is computed from, under the name `name`; what lives longer than `pass`
 * lives in `arena`. Fails with CSE_SHAPE, naming the op and where the model calls it, where ONNX
 * has no counterpart. Clear pass->graph also after a failure. */
cse_status cse_onnx_describe(cse_arena *arena, const cse_onnx_trace traces[2], const char *name,
                             cse_forward_pass *pass);

#endif
