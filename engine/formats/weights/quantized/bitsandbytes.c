/* The types of bitsandbytes.
 *
 * 4 bits (nf4, fp4): the elements of a matrix in order, two in a byte, the first in the high half;
 * each stands for an entry of quant_map, times the largest magnitude of its block, absmax. That may
 * be packed itself, by bytes that stand for entries of nested_quant_map, times the nested_absmax of
 * their block, plus an offset. The sizes are JSON in a tensor of bytes,
 * quant_state.bitsandbytes__TYPE.
 * 8 bits: an int8, times the scale of its row, SCB, by 127.
 * Source: T. Dettmers et al., "QLoRA", 2023, and "LLM.int8()", 2022, and the files they write. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/formats/weights/quantized/quantization.h"

enum { WEIGHT = 0, ABSMAX, MAP, NESTED_ABSMAX, NESTED_MAP, NF4_STATE, FP4_STATE };
enum { STATE_BYTES = 1 << 16, LEVELS = 16, NESTED_LEVELS = 256 };

static int64_t elements_of(const cse_quantized *q, int part)
{
    const cse_weight *weight = cse_quantized_part(q, part);
    return (int64_t)(cse_weight_bytes(weight) / cse_element_bytes(weight->element));
}

/* ---- 4 bits ---- */

typedef struct state {
    int64_t block, nested_block, rows, columns;
    double offset;
} state;

static int state_part(const cse_quantized *q)
{
    return q->parts[NF4_STATE] >= 0 ? NF4_STATE : FP4_STATE;
}

static cse_status read_state(const cse_quantized *q, state *s)
{
    void *text = NULL;
    const int part = state_part(q);
    if (elements_of(q, part) > STATE_BYTES ||
        cse_quantized_part(q, part)->element != CSE_ELEMENT_U8)
        return cse_quantized_refuse(q, part, "is no short text in bytes");
    CSE_TRY(cse_quantized_read(q, part, CSE_ELEMENT_U8, &text));
    json_t *root = json_loadb(text, (size_t)elements_of(q, part), JSON_REJECT_DUPLICATES, NULL);
    free(text);
    const json_t *shape = json_object_get(root, "shape");
    *s = (state){ .block = json_integer_value(json_object_get(root, "blocksize")),
                  .nested_block = json_integer_value(json_object_get(root, "nested_blocksize")),
                  .rows = json_integer_value(json_array_get(shape, 0)),
                  .columns = json_integer_value(json_array_get(shape, 1)),
                  .offset = json_number_value(json_object_get(root, "nested_offset")) };
    const bool fits = json_array_size(shape) == 2 && s->block > 0 && s->rows > 0 &&
                      s->columns > 0 && s->rows < INT32_MAX && s->columns < INT32_MAX &&
                      s->block < INT32_MAX && s->nested_block < INT32_MAX;
    json_decref(root);
    return fits ? CSE_OK
                : cse_quantized_refuse(q, part, "says no blocksize, or no shape of two sizes");
}

static int64_t blocks_of(int64_t count, int64_t block)
{
    return (count + block - 1) / block;
}

static cse_status check_nested(const cse_quantized *q, const state *s, int64_t blocks)
{
    const bool nested = q->parts[NESTED_ABSMAX] >= 0;
    if (cse_quantized_part(q, ABSMAX)->element != (nested ? CSE_ELEMENT_U8 : CSE_ELEMENT_F32) ||
        elements_of(q, ABSMAX) != blocks)
        return cse_quantized_refuse(q, ABSMAX, "has not a magnitude for each block");
    if (!nested)
        return CSE_OK;
    if (q->parts[NESTED_MAP] < 0 || s->nested_block < 1 ||
        elements_of(q, NESTED_MAP) != NESTED_LEVELS ||
        elements_of(q, NESTED_ABSMAX) != blocks_of(blocks, s->nested_block))
        return cse_quantized_refuse(q, NESTED_ABSMAX,
                                    "has not a magnitude for each block of magnitudes");
    return CSE_OK;
}

static cse_status check_4(cse_quantized *q)
{
    state s;
    const int needed[] = { ABSMAX, MAP, state_part(q) };
    for (int i = 0; i < 3; i++)
        if (q->parts[needed[i]] < 0)
            return cse_quantized_refuse(q, needed[i], "is missing");
    CSE_TRY(read_state(q, &s));
    const int64_t count = s.rows * s.columns;
    if (cse_quantized_part(q, WEIGHT)->element != CSE_ELEMENT_U8 ||
        elements_of(q, WEIGHT) != (count + 1) / 2)
        return cse_quantized_refuse(q, WEIGHT, "has not half a byte for each element");
    if (elements_of(q, MAP) != LEVELS)
        return cse_quantized_refuse(q, MAP, "has not 16 entries");
    CSE_TRY(check_nested(q, &s, blocks_of(count, s.block)));
    q->shape = cse_shape_of(s.rows, s.columns);
    return CSE_OK;
}

/* The largest magnitude of each block; free(*absmax). */
static cse_status read_absmax(const cse_quantized *q, const state *s, void **absmax)
{
    void *bytes = NULL, *map = NULL, *outer = NULL;
    const int64_t blocks = elements_of(q, ABSMAX);
    if (q->parts[NESTED_ABSMAX] < 0)
        return cse_quantized_read(q, ABSMAX, CSE_ELEMENT_F32, absmax);
    cse_status status = cse_quantized_read(q, ABSMAX, CSE_ELEMENT_U8, &bytes);
    if (status == CSE_OK)
        status = cse_quantized_read(q, NESTED_MAP, CSE_ELEMENT_F32, &map);
    if (status == CSE_OK)
        status = cse_quantized_read(q, NESTED_ABSMAX, CSE_ELEMENT_F32, &outer);
    if (status == CSE_OK) {
        float *to = cse_malloc((size_t)blocks * sizeof *to + 1);
        for (int64_t i = 0; i < blocks; i++) {
            const float scaled = ((const float *)map)[((const unsigned char *)bytes)[i]] *
                                 ((const float *)outer)[i / s->nested_block];
            to[i] = scaled + (float)s->offset;
        }
        *absmax = to;
    }
    free(outer);
    free(map);
    free(bytes);
    return status;
}

static cse_status unpack_4(const cse_quantized *q, float *to)
{
    state s = { 0 };
    void *packed = NULL, *map = NULL, *absmax = NULL;
    cse_status status = read_state(q, &s);
    if (status == CSE_OK)
        status = cse_quantized_read(q, WEIGHT, CSE_ELEMENT_U8, &packed);
    if (status == CSE_OK)
        status = cse_quantized_read(q, MAP, CSE_ELEMENT_F32, &map);
    if (status == CSE_OK)
        status = read_absmax(q, &s, &absmax);
    for (int64_t i = 0; i < s.rows * s.columns && status == CSE_OK; i++) {
        const int level = ((const unsigned char *)packed)[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15;
        to[i] = ((const float *)map)[level] * ((const float *)absmax)[i / s.block];
    }
    free(absmax);
    free(map);
    free(packed);
    return status;
}

enum { BLOCK = 64, BLOCK_BYTES = 36 };

/* Blocks of ours, whose levels are those of their type, lie within a block of theirs and a row. */
static cse_status choose_4(cse_quantized *q)
{
    state s;
    void *map = NULL;
    const bool is_nf4 = state_part(q) == NF4_STATE;
    CSE_TRY(read_state(q, &s));
    CSE_TRY(cse_quantized_read(q, MAP, CSE_ELEMENT_F32, &map));
    const bool known = memcmp(map, is_nf4 ? cse_packed_levels_nf4 : cse_packed_levels_fp4,
                              LEVELS * sizeof(float)) == 0;
    free(map);
    if (!known)
        q->why_unpacked = "its quant_map is not that of its type";
    else if (s.block % BLOCK != 0)
        q->why_unpacked = "its blocksize is no multiple of 64";
    else
        cse_quantized_keep(q, is_nf4 ? &cse_packed_nf4 : &cse_packed_fp4);
    return CSE_OK;
}

static cse_status pack_4(const cse_quantized *q, unsigned char *blocks)
{
    state s = { 0 };
    void *packed = NULL, *absmax = NULL;
    cse_status status = read_state(q, &s);
    if (status == CSE_OK)
        status = cse_quantized_read(q, WEIGHT, CSE_ELEMENT_U8, &packed);
    if (status == CSE_OK)
        status = read_absmax(q, &s, &absmax);
    for (int64_t i = 0; i < s.rows * s.columns / BLOCK && status == CSE_OK; i++) {
        memcpy(blocks + i * BLOCK_BYTES, (const float *)absmax + i * BLOCK / s.block,
               sizeof(float));
        memcpy(blocks + i * BLOCK_BYTES + sizeof(float),
               (const unsigned char *)packed + i * BLOCK / 2, BLOCK / 2);
    }
    free(absmax);
    free(packed);
    return status;
}

static const cse_quantization_key keys[] = {
    { "quant_method", "\"bitsandbytes\"" },
    { "load_in_4bit", NULL }, /* the tensors tell */
    { "load_in_8bit", NULL },
    { "_load_in_4bit", NULL },
    { "_load_in_8bit", NULL },
    { "bnb_4bit_quant_type", "\"nf4\" \"fp4\"" },
    { "bnb_4bit_quant_storage", "\"uint8\" null" },
    { "bnb_4bit_use_double_quant", NULL },
    { "bnb_4bit_compute_dtype", NULL },
    { "llm_int8_threshold", NULL },
    { "llm_int8_skip_modules", NULL },
    { "llm_int8_enable_fp32_cpu_offload", NULL },
    { "llm_int8_has_fp16_weight", "false null" },
    { NULL, NULL },
};

const cse_quantization cse_quantization_bitsandbytes_4 = {
    .method = "bitsandbytes",
    .ends = { "", ".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map",
              ".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4", NULL },
    .result = "",
    .keys = keys,
    .check = check_4,
    .unpack = unpack_4,
    .choose = choose_4,
    .pack = pack_4,
};

/* ---- 8 bits ---- */

enum { INT8 = 1, SCALES = 0 };

static cse_status check_8(cse_quantized *q)
{
    if (q->parts[INT8] < 0)
        return cse_quantized_refuse(q, INT8, "is missing");
    const cse_weight *weight = cse_quantized_part(q, INT8);
    if (weight->element != CSE_ELEMENT_I8 || weight->shape.rank != 2)
        return cse_quantized_refuse(q, INT8, "is no matrix of int8");
    if (cse_quantized_part(q, SCALES)->element != CSE_ELEMENT_F32 ||
        elements_of(q, SCALES) != weight->shape.dims[0])
        return cse_quantized_refuse(q, SCALES, "has not a scale for each row");
    q->shape = weight->shape;
    return CSE_OK;
}

static cse_status unpack_8(const cse_quantized *q, float *to)
{
    void *whole = NULL, *scales = NULL;
    const int64_t rows = q->shape.dims[0], columns = q->shape.dims[1];
    cse_status status = cse_quantized_read(q, INT8, CSE_ELEMENT_I8, &whole);
    if (status == CSE_OK)
        status = cse_quantized_read(q, SCALES, CSE_ELEMENT_F32, &scales);
    for (int64_t i = 0; i < rows * columns && status == CSE_OK; i++) {
        const float scaled =
            (float)((const signed char *)whole)[i] * ((const float *)scales)[i / columns];
        to[i] = scaled / 127;
    }
    free(scales);
    free(whole);
    return status;
}

static cse_status choose_8(cse_quantized *q)
{
    cse_quantized_keep(q, &cse_packed_int8_row);
    return CSE_OK;
}

static cse_status pack_8(const cse_quantized *q, unsigned char *blocks)
{
    enum { WIDTH = 32 };
    void *whole = NULL, *scales = NULL;
    const int64_t rows = q->shape.dims[0], columns = q->shape.dims[1];
    cse_status status = cse_quantized_read(q, INT8, CSE_ELEMENT_I8, &whole);
    if (status == CSE_OK)
        status = cse_quantized_read(q, SCALES, CSE_ELEMENT_F32, &scales);
    for (int64_t i = 0; i < rows * columns / WIDTH && status == CSE_OK; i++) {
        unsigned char *to = blocks + i * (int64_t)(sizeof(float) + WIDTH);
        memcpy(to, (const float *)scales + i * WIDTH / columns, sizeof(float));
        memcpy(to + sizeof(float), (const signed char *)whole + i * WIDTH, WIDTH);
    }
    free(scales);
    free(whole);
    return status;
}

const cse_quantization cse_quantization_bitsandbytes_8 = {
    .method = "bitsandbytes",
    .ends = { ".SCB", ".weight", ".weight_format", NULL },
    .result = ".weight",
    .keys = keys,
    .check = check_8,
    .unpack = unpack_8,
    .choose = choose_8,
    .pack = pack_8,
};
