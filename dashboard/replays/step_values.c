/* What is not asked for is not read: the file is mapped. */
#include "dashboard/replays/step_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/json_value.h"
#include "engine/base/types/npy_header.h"
#include "engine/base/types/shape.h"

enum { BINS = 64, LEAST_EXPONENT = -149, EXPONENTS = 277 }; /* of float32, with subnormal values */

/* ---- a part ---- */

static int64_t elements_of(cse_shape shape)
{
    int64_t elements = 1;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] < 0 || __builtin_mul_overflow(elements, shape.dims[i], &elements))
            return -1;
    return elements;
}

/* The shape in which it is seen. */
static cse_status take_shape(const cse_checkpoint_tensor *tensor, const cse_value_choice *choice,
                             cse_shape *shape)
{
    *shape = choice->shape.rank > 0 ? choice->shape : tensor->shape;
    if (elements_of(*shape) == elements_of(tensor->shape))
        return CSE_OK;
    return cse_fail(CSE_USAGE,
                    "shape: %s has %" PRId64 " elements, and this shape has another number of them",
                    tensor->name, elements_of(tensor->shape));
}

static cse_status take_dimensions(const cse_value_choice *choice, cse_shape shape,
                                  cse_value_part *part)
{
    int64_t strides[CSE_MAX_RANK];
    if (choice->at_count > 0 && choice->at_count != shape.rank)
        return cse_fail(CSE_USAGE, "at: the tensor has %d dimensions, and %d indices were given",
                        shape.rank, choice->at_count);
    cse_shape_strides(shape, strides);
    for (int i = 0; i < shape.rank; i++) {
        const int64_t at = choice->at_count > 0 ? choice->at[i] : CSE_ALL_OF_IT;
        if (at != CSE_ALL_OF_IT && (at < 0 || at >= shape.dims[i]))
            return cse_fail(CSE_USAGE,
                            "at: dimension %d has the indices 0 to %" PRId64 ", and not %" PRId64
                            "; -1 is all of it",
                            i, shape.dims[i] - 1, at);
        if (at >= 0) {
            part->first += at * strides[i];
            continue;
        }
        part->strides[part->shape.rank] = strides[i];
        part->shape.dims[part->shape.rank++] = shape.dims[i];
    }
    const int last = part->shape.rank - 1;
    part->columns = last >= 0 ? part->shape.dims[last] : 1;
    part->rows = 1;
    for (int i = 0; i < last; i++)
        part->rows *= part->shape.dims[i];
    return CSE_OK;
}

cse_status cse_value_part_choose(const cse_tensor_map *map, const cse_value_choice *choice,
                                 cse_value_part *part)
{
    cse_shape shape;
    cse_checkpoint_tensor tensor;
    *part = (cse_value_part){ .rows = 1 };
    CSE_TRY(cse_tensor_map_find(map, choice->tensor, &tensor));
    part->values = tensor.data;
    part->dtype = tensor.dtype;
    CSE_TRY(take_shape(&tensor, choice, &shape));
    return take_dimensions(choice, shape, part);
}

/* Where a row's elements begin, in elements of the tensor. */
static int64_t row_start(const cse_value_part *part, int64_t row)
{
    int64_t at = part->first;
    for (int i = part->shape.rank - 2; i >= 0; i--) {
        at += row % part->shape.dims[i] * part->strides[i];
        row /= part->shape.dims[i];
    }
    return at;
}

static int64_t column_stride(const cse_value_part *part)
{
    return part->shape.rank > 0 ? part->strides[part->shape.rank - 1] : 1;
}

static float value_at(const cse_value_part *part, int64_t element)
{
    float number;
    int32_t integer;
    const unsigned char *at = part->values + element * 4;
    if (part->dtype == CSE_FLOAT32) {
        memcpy(&number, at, sizeof number);
        return number;
    }
    memcpy(&integer, at, sizeof integer);
    return (float)integer;
}

/* ---- cells ---- */

static float larger(float a, float b)
{
    return isnan(a) || fabsf(a) >= fabsf(b) ? a : b;
}

static void add_row(const cse_value_part *part, int64_t row, const cse_value_window *w,
                    int64_t block, float *cells)
{
    const int64_t start = row_start(part, row), stride = column_stride(part);
    for (int64_t c = 0; c < w->columns; c++) {
        const float value = value_at(part, start + (w->column + c) * stride);
        float *cell = &cells[c / block];
        *cell = larger(*cell, value);
    }
}

static bool fit(int64_t first, int64_t *count, int64_t all)
{
    if (first < 0 || first > all || *count < 0 || *count > all - first)
        return false;
    *count = *count > 0 ? *count : all - first;
    return true;
}

cse_status cse_value_part_cells(const cse_value_part *part, const cse_value_window *window,
                                cse_text *cells)
{
    cse_value_window w = *window;
    if (!fit(w.row, &w.rows, part->rows) || !fit(w.column, &w.columns, part->columns))
        return cse_fail(CSE_USAGE,
                        "the part has %" PRId64 " rows and %" PRId64
                        " columns, and the window lies outside",
                        part->rows, part->columns);
    const int64_t high = (w.rows + w.most_rows - 1) / w.most_rows;
    const int64_t wide = (w.columns + w.most_columns - 1) / w.most_columns;
    const int64_t columns = wide > 0 ? (w.columns + wide - 1) / wide : 0;
    float *row = cse_calloc((size_t)columns + 1, sizeof *row);
    for (int64_t r = 0; r < w.rows; r += high) {
        memset(row, 0, (size_t)columns * sizeof *row);
        for (int64_t i = r; i < r + high && i < w.rows; i++)
            add_row(part, w.row + i, &w, wide, row);
        cse_text_add_bytes(cells, (const char *)row, (size_t)columns * sizeof *row);
    }
    free(row);
    return CSE_OK;
}

cse_status cse_value_part_npy(const cse_value_part *part, int64_t most, cse_text *npy)
{
    const int64_t bytes = part->rows * part->columns * 4;
    if (bytes > most)
        return cse_fail(CSE_USAGE,
                        "these values take %" PRId64 " bytes, and %" PRId64
                        " are given at most: ask for a part with at=, or for all with format=npz",
                        bytes, most);
    cse_npy_header_print(part->dtype == CSE_FLOAT32 ? "<f4" : "<i4", part->shape, 0, npy);
    const int64_t stride = column_stride(part);
    for (int64_t row = 0; row < part->rows; row++) {
        const int64_t start = row_start(part, row);
        for (int64_t c = 0; stride != 1 && c < part->columns; c++)
            cse_text_add_bytes(npy, (const char *)part->values + (start + c * stride) * 4, 4);
        if (stride == 1)
            cse_text_add_bytes(npy, (const char *)part->values + start * 4,
                               (size_t)part->columns * 4);
    }
    return CSE_OK;
}

/* ---- figures ---- */

typedef struct figures {
    int64_t zeros, nan, inf, finite;
    double least, most, sum, squares;
    int64_t bins[BINS];
    int64_t by_exponent[2][EXPONENTS]; /* negative, positive */
} figures;

static void count_value(figures *f, float value)
{
    f->zeros += value == 0;
    f->nan += isnan(value) != 0;
    f->inf += isinf(value) != 0;
    if (!isfinite(value))
        return;
    const double number = (double)value;
    f->least = f->finite == 0 ? number : fmin(f->least, number);
    f->most = f->finite == 0 ? number : fmax(f->most, number);
    f->sum += number;
    f->squares += number * number;
    f->finite++;
    if (value != 0)
        f->by_exponent[value > 0][ilogbf(value) - LEAST_EXPONENT]++;
}

static void put_in_bin(figures *f, float value)
{
    const double width = (f->most - f->least) / BINS;
    if (!isfinite(value))
        return;
    const int bin = width > 0 ? (int)(((double)value - f->least) / width) : 0;
    f->bins[bin < BINS ? bin : BINS - 1]++;
}

static void each(const cse_value_part *part, void (*take)(figures *f, float value), figures *f)
{
    const int64_t stride = column_stride(part);
    for (int64_t row = 0; row < part->rows; row++) {
        const int64_t start = row_start(part, row);
        for (int64_t c = 0; c < part->columns; c++)
            take(f, value_at(part, start + c * stride));
    }
}

static json_t *counts(const int64_t *from, int first, int last)
{
    json_t *list = json_array();
    for (int i = first; i <= last; i++)
        json_array_append_new(list, json_integer(from[i]));
    return list;
}

/* null where no value is finite. */
static json_t *or_null(const figures *f, double value)
{
    return f->finite > 0 ? cse_json_finite(value) : json_null();
}

static json_t *figures_json(const figures *f)
{
    int first = 0, last = EXPONENTS - 1;
    while (first < EXPONENTS && f->by_exponent[0][first] + f->by_exponent[1][first] == 0)
        first++;
    while (last >= first && f->by_exponent[0][last] + f->by_exponent[1][last] == 0)
        last--;
    const double count = (double)f->finite, mean = count > 0 ? f->sum / count : 0;
    const double variance = count > 0 ? f->squares / count - mean * mean : 0;
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o}", "elements",
        (json_int_t)(f->finite + f->nan + f->inf), "zeros", (json_int_t)f->zeros, "nan",
        (json_int_t)f->nan, "inf", (json_int_t)f->inf, "min", or_null(f, f->least), "max",
        or_null(f, f->most), "mean", or_null(f, mean), "std", or_null(f, sqrt(fmax(variance, 0))),
        "bins", counts(f->bins, 0, BINS - 1), "lowest", first + LEAST_EXPONENT, "negative",
        counts(f->by_exponent[0], first, last), "positive", counts(f->by_exponent[1], first, last));
}

json_t *cse_value_part_histogram(const cse_value_part *part)
{
    figures *f = cse_calloc(1, sizeof *f);
    each(part, count_value, f);
    if (f->finite > 0)
        each(part, put_in_bin, f);
    json_t *shown = figures_json(f);
    free(f);
    return shown;
}
