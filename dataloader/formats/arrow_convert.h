/* Numbers of Arrow, in the byte order of the format, as int32 and float32. */
#ifndef CSE_DATALOADER_FORMATS_ARROW_CONVERT_H
#define CSE_DATALOADER_FORMATS_ARROW_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/tensor.h"

typedef enum cse_arrow_type {
    CSE_ARROW_BOOL,
    CSE_ARROW_INT,
    CSE_ARROW_UNSIGNED,
    CSE_ARROW_FLOAT
} cse_arrow_type;

typedef struct cse_arrow_form {
    cse_arrow_type type;
    int bits; /* 1, 8, 16, 32 or 64 */
} cse_arrow_form;

int64_t cse_arrow_integer(const unsigned char *raw, int bits, bool is_signed);
double cse_arrow_float(const unsigned char *raw, int bits);

/* Whether numbers stand in the file as they are wanted. */
bool cse_arrow_is_as(cse_arrow_form form, cse_dtype dtype);
/* False: one of them does not fit. Not of single bits. */
bool cse_arrow_convert(cse_arrow_form form, const unsigned char *raw, int64_t count,
                       cse_dtype dtype, void *values);

#endif
