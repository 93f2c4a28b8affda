/* The types that elements of weights have in files of any origin: ours, and those that others use,
 * which are converted where they come in. */
#ifndef CSE_WEIGHTS_ELEMENT_H
#define CSE_WEIGHTS_ELEMENT_H

#include "csengine/tensor.h"

/* X(enumerator, name in safetensors, name here and in PyTorch, bytes) */
#define CSE_ELEMENT_TABLE(X)                      \
    X(CSE_ELEMENT_F32, "F32", "float32", 4)       \
    X(CSE_ELEMENT_BF16, "BF16", "bfloat16", 2)    \
    X(CSE_ELEMENT_F16, "F16", "float16", 2)       \
    X(CSE_ELEMENT_CBF16, "CBF16", "cbfloat16", 2) \
    X(CSE_ELEMENT_F64, "F64", "float64", 8)       \
    X(CSE_ELEMENT_I64, "I64", "int64", 8)         \
    X(CSE_ELEMENT_I32, "I32", "int32", 4)         \
    X(CSE_ELEMENT_I16, "I16", "int16", 2)         \
    X(CSE_ELEMENT_I8, "I8", "int8", 1)            \
    X(CSE_ELEMENT_U8, "U8", "uint8", 1)           \
    X(CSE_ELEMENT_BOOL, "BOOL", "bool", 1)

typedef enum cse_element {
#define CSE_ELEMENT_ENUM(enumerator, short_name, name, bytes) enumerator,
    CSE_ELEMENT_TABLE(CSE_ELEMENT_ENUM)
#undef CSE_ELEMENT_ENUM
        CSE_ELEMENT_COUNT
} cse_element;

const char *cse_element_name(cse_element element);
const char *cse_element_short_name(cse_element element); /* of safetensors */
size_t cse_element_bytes(cse_element element);
bool cse_element_is_float(cse_element element);
/* By either name; CSE_ELEMENT_COUNT when there is no such one. */
cse_element cse_element_from_name(const char *name);

/* Between these types and those of tensors; CSE_DTYPE_COUNT for one that tensors do not have. */
cse_element cse_element_of_dtype(cse_dtype dtype);
cse_dtype cse_element_dtype(cse_element element);

/* Whether elements can be converted: floats to floats, to nearest, ties to even; integers and
 * booleans to int32 and int64. */
bool cse_element_converts(cse_element from, cse_element to);
/* False when an integer does not fit. The blocks may not overlap. */
bool cse_element_convert(cse_element from, const void *source, cse_element to, void *target,
                         size_t count);

#endif
