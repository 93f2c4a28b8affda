/* A graph of ONNX while it is written: nodes, constants, and which value stands for which node of
 * the traced pass. Fields and their numbers are those of onnx.proto. */
#ifndef CSE_ONNX_ONNX_WRITER_H
#define CSE_ONNX_ONNX_WRITER_H

#include "engine/base/protobuf.h"
#include "engine/formats/onnx/onnx.h"
#include "engine/graph/graph.h"

/* Types of elements in ONNX. */
enum { CSE_ONNX_FLOAT = 1, CSE_ONNX_INT32 = 6, CSE_ONNX_INT64 = 7, CSE_ONNX_BOOL = 9 };

typedef struct cse_onnx {
    cse_arena *arena;
    const cse_graph *graph, *other; /* the two traces, node by node the same */
    const char **values;            /* by the place of a node in `graph`; NULL: not written yet */
    cse_text nodes, constants, inputs;
    cse_name_index names; /* of constants that were written */
    int written;          /* nodes */
    const char *batch;    /* the value with the number of samples, int64 [1]; NULL: not yet */
    cse_forward_pass *pass;
    const char *(*write)(struct cse_onnx *o, const cse_node *node); /* of a node's value */
    cse_status error;
} cse_onnx;

/* A size: of each sample so many where it grows with them. */
typedef struct cse_onnx_size {
    int64_t size;
    bool per_sample;
} cse_onnx_size;

/* Writes the nodes for one of the trace and returns the value; NULL after a failure. */
typedef const char *cse_onnx_write(cse_onnx *o, const cse_node *node, const char *type);

typedef struct cse_onnx_mapping {
    const char *op;
    cse_onnx_write *write;
    const char *type; /* handed to it: the operator of ONNX */
} cse_onnx_mapping;

/* Ended by a NULL op. */
extern const cse_onnx_mapping cse_onnx_elementwise[], cse_onnx_shapes[], cse_onnx_networks[];

/* Keeps the failure, with the op and its place; returns NULL. */
const char *cse_onnx_fail(cse_onnx *o, const cse_node *node, const char *why);

/* The same node in the other trace. */
const cse_node *cse_onnx_other(const cse_onnx *o, const cse_node *node);
/* What a size is that has these values in the two traces; false: neither fixed nor a multiple. */
bool cse_onnx_size_of(const cse_onnx *o, int64_t here, int64_t there, cse_onnx_size *size);
/* Size `axis` of a node; a failure is kept. */
cse_onnx_size cse_onnx_axis(cse_onnx *o, const cse_node *node, int axis);

/* The value of a node; NULL after a failure. */
const char *cse_onnx_value(cse_onnx *o, const cse_node *node);
bool cse_onnx_is_broadcast(const cse_node *node);
/* One that broadcasts to it: what a broadcast is of. */
const char *cse_onnx_narrow_value(cse_onnx *o, const cse_node *node);
/* Values of a node's inputs, as narrow as its elementwise operator takes them. */
void cse_onnx_elementwise_inputs(cse_onnx *o, const cse_node *node, const char *values[]);

/* Adds a node for `node` and returns its value. `inputs` ends with NULL; one that is NULL after a
 * failure makes the result NULL. `attributes`, unless NULL, is cleared. */
const char *cse_onnx_add(cse_onnx *o, const cse_node *node, const char *type,
                         const char *const inputs[], cse_text *attributes);
#define CSE_ONNX_ADD(o, node, type, ...) \
    cse_onnx_add(o, node, type, (const char *const[]){ __VA_ARGS__, NULL }, NULL)

void cse_onnx_integer(cse_text *attributes, const char *name, int64_t value);
void cse_onnx_number(cse_text *attributes, const char *name, double value);
void cse_onnx_integers(cse_text *attributes, const char *name, const int64_t *values, int count);

/* Constants; equal ones are one. */
const char *cse_onnx_scalar(cse_onnx *o, cse_dtype dtype, double value);
const char *cse_onnx_list(cse_onnx *o, const int64_t *values, int count); /* int64 [count] */
/* int32 first, first + step, ... of shape [count], or [count, 1] for a column. */
const char *cse_onnx_row(cse_onnx *o, const int64_t first_and_step[2], int64_t count, bool column);
/* Any tensor; `data` in the byte order of the file, as all machines that we run on have it. */
typedef struct cse_onnx_tensor {
    const char *name;
    int type;
    cse_shape shape;
    const void *data;
    size_t bytes;
} cse_onnx_tensor;
void cse_onnx_constant(cse_onnx *o, const cse_onnx_tensor *tensor);

/* A shape as a value, int64 [rank]; `kept`, unless NULL: sizes that are written as 1. */
const char *cse_onnx_shape(cse_onnx *o, const cse_node *node, const bool kept[]);

/* The type of a node's elements in ONNX. */
int cse_onnx_type(cse_dtype dtype);
/* A ValueInfoProto of a node, as field `field` of `graph`. */
void cse_onnx_declare(cse_onnx *o, const cse_node *node, const char *name, int field,
                      cse_text *graph);

#endif
