/* Types, shapes and tensors of a traced step.
 *
 * A cse_tensor is a handle to a value of the step graph that is being traced: it has a shape, a
 * type and a place in the graph, and no value. Values exist only while the compiled step runs; step
 * closures receive them. Handles belong to their graph and are freed with it.
 *
 * Errors while tracing are sticky: the first one is kept with the op's name, the shapes and the
 * caller's file and line; later calls return a poisoned handle, and compiling reports the error. */
#ifndef CSENGINE_TENSOR_H
#define CSENGINE_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CSE_MAX_RANK = 8 };

/* X(enumerator, name in configurations and files, size in bytes) */
#define CSE_DTYPE_TABLE(X)           \
    X(CSE_FLOAT32, "float32", 4)     \
    X(CSE_BFLOAT16, "bfloat16", 2)   \
    X(CSE_FLOAT16, "float16", 2)     \
    X(CSE_CBFLOAT16, "cbfloat16", 2) \
    X(CSE_INT32, "int32", 4)         \
    X(CSE_BOOL, "bool", 1)

typedef enum cse_dtype {
#define CSE_DTYPE_ENUM(enumerator, name, size) enumerator,
    CSE_DTYPE_TABLE(CSE_DTYPE_ENUM)
#undef CSE_DTYPE_ENUM
        CSE_DTYPE_COUNT
} cse_dtype;

typedef struct cse_shape {
    int rank; /* 0 is a scalar */
    int64_t dims[CSE_MAX_RANK];
} cse_shape;

/* cse_shape_of(2, 3) is the shape [2, 3]; cse_scalar_shape is []. */
#define cse_shape_of(...)                                                              \
    ((cse_shape){ .rank = (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), \
                  .dims = { __VA_ARGS__ } })
#define cse_scalar_shape ((cse_shape){ .rank = 0 })

/* A value of the graph being traced. */
typedef struct cse_node cse_tensor;

/* The step being traced: its graph, its scope, its first error. */
typedef struct cse_step cse_step;

CSE_API const char *cse_dtype_name(cse_dtype dtype);
CSE_API size_t cse_dtype_size(cse_dtype dtype);
CSE_API bool cse_dtype_is_float(cse_dtype dtype);
/* CSE_DTYPE_COUNT when there is no such name. */
CSE_API cse_dtype cse_dtype_from_name(const char *name);

/* Product of the dimensions; 1 for a scalar. */
CSE_API int64_t cse_shape_elements(cse_shape shape);
CSE_API bool cse_shape_equal(cse_shape a, cse_shape b);
/* "[batch, 3]"-style text of the sizes in `text`, which is returned. */
CSE_API const char *cse_shape_text(cse_shape shape, char *text, size_t size);

/* Shape and type of a traced value; a poisoned handle is a float32 scalar. */
CSE_API cse_shape cse_tensor_shape(const cse_tensor *tensor);
CSE_API cse_dtype cse_tensor_dtype(const cse_tensor *tensor);

/* Whether the value depends on the microbatch (batch level); false: it is the same for the whole
 * step. */
CSE_API bool cse_tensor_is_batch(const cse_tensor *tensor);

/* Whether the handle is poisoned: tracing has failed before, and cse_step_failure says with what.
 * For front ends that stop at the call that failed. */
CSE_API bool cse_tensor_failed(const cse_tensor *tensor);

/* Always an error, which is its purpose: a traced tensor has no value to read, and the message says
 * what to do instead. Returns 0. */
CSE_API double cse_item(const cse_tensor *tensor);

/* Remembers where the next traced call stands in the caller's source, for messages; called by the
 * macros of ops.h. `file` is copied. No effect outside of a step. */
CSE_API void cse_at(const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
