/* GPTQ and AWQ: whole numbers of a few bits in words of 32, with a scale and a zero point for each
 * group of inputs and each output: weight[o][i] = scales[g][o] * (q[i][o] - zeros[g][o]).
 *
 * GPTQ has the inputs of one output one after the other in the words, qweight [in * bits / 32,
 * out], and the zero points of a group's outputs, qzeros [groups, out * bits / 32], each less 1
 * (but for the form gptq_v2). g_idx says the group of each input; without it they are in order.
 * AWQ has 8 outputs of one input in each word, qweight [in, out / 8] and qzeros [groups,
 * out / 8], in the order 0, 2, 4, 6, 1, 3, 5, 7 (of the form gemm).
 * Sources: E. Frantar et al., "GPTQ", 2022; J. Lin et al., "AWQ", 2023, and their files. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/formats/weights/quantized/quantization.h"

enum { WORD_BITS = 32, QWEIGHT = 0, QZEROS, SCALES, GROUPS };

typedef struct layer {
    int64_t bits, in, out, groups, group_size;
    const uint32_t *weights, *zeros;
    const float *scales;
    const int32_t *group_of; /* NULL: in order */
    bool less_one;           /* zero points are 1 less */
    bool is_awq;
} layer;

static uint32_t bits_of(uint32_t word, int64_t place, int64_t bits)
{
    return word >> (place * bits) & ((UINT32_C(1) << bits) - 1);
}

static int64_t group_of(const layer *l, int64_t i)
{
    return l->group_of != NULL ? l->group_of[i] : i / l->group_size;
}

static int64_t dim(const cse_quantized *q, int part, int axis)
{
    return cse_quantized_part(q, part)->shape.dims[axis];
}

static cse_status check_types(const cse_quantized *q)
{
    static const int parts[] = { QWEIGHT, QZEROS, SCALES };
    for (int i = 0; i < 3; i++) {
        if (q->parts[parts[i]] < 0)
            return cse_quantized_refuse(q, parts[i], "is missing");
        const cse_weight *part = cse_quantized_part(q, parts[i]);
        if (part->shape.rank != 2 || (parts[i] == SCALES ? !cse_element_is_float(part->element)
                                                         : part->element != CSE_ELEMENT_I32))
            return cse_quantized_refuse(q, parts[i],
                                        parts[i] == SCALES ? "is no matrix of floats"
                                                           : "is no matrix of int32");
    }
    return CSE_OK;
}

/* Without a size, all inputs are one group. */
static int64_t group_size_of(const cse_quantized *q, int64_t in)
{
    const int64_t size = cse_quantized_setting(q, "group_size", -1);
    return size > 0 && size < in ? size : in;
}

static cse_status check_sizes(cse_quantized *q, int64_t in, int64_t out, int64_t bits)
{
    const int64_t groups = dim(q, SCALES, 0);
    const int64_t group_size = group_size_of(q, in);
    if (dim(q, SCALES, 1) != out || groups < 1 || (groups - 1) * group_size >= in ||
        groups * group_size < in)
        return cse_quantized_refuse(q, SCALES, "has not a row for each group of inputs");
    if (dim(q, QZEROS, 0) != groups || dim(q, QZEROS, 1) * WORD_BITS != out * bits)
        return cse_quantized_refuse(q, QZEROS, "has not a zero point for each scale");
    q->shape = cse_shape_of(out, in);
    return CSE_OK;
}

static int64_t bits_setting(const cse_quantized *q)
{
    return cse_quantized_setting(q, "bits", cse_quantized_setting(q, "w_bit", 4));
}

/* Its sizes, and the group of each input. */
static cse_status read_groups(const cse_quantized *q, layer *l, void *parts[4])
{
    const char *form = json_string_value(json_object_get(q->config, "checkpoint_format"));
    *l = (layer){ .bits = bits_setting(q),
                  .less_one = form == NULL || strcmp(form, "gptq_v2") != 0,
                  .is_awq = q->scheme == &cse_quantization_awq,
                  .in = q->shape.dims[1],
                  .out = q->shape.dims[0],
                  .groups = dim(q, SCALES, 0),
                  .group_size = group_size_of(q, q->shape.dims[1]) };
    if (q->parts[GROUPS] >= 0)
        CSE_TRY(cse_quantized_read(q, GROUPS, CSE_ELEMENT_I32, &parts[GROUPS]));
    l->group_of = parts[GROUPS];
    for (int64_t i = 0; l->group_of != NULL && i < l->in; i++)
        if (l->group_of[i] < 0 || l->group_of[i] >= l->groups)
            return cse_quantized_refuse(q, GROUPS, "has a number that no group has");
    return CSE_OK;
}

static cse_status read_layer(const cse_quantized *q, layer *l, void *parts[4])
{
    CSE_TRY(read_groups(q, l, parts));
    CSE_TRY(cse_quantized_read(q, QWEIGHT, CSE_ELEMENT_I32, &parts[QWEIGHT]));
    CSE_TRY(cse_quantized_read(q, QZEROS, CSE_ELEMENT_I32, &parts[QZEROS]));
    CSE_TRY(cse_quantized_read(q, SCALES, CSE_ELEMENT_F32, &parts[SCALES]));
    l->weights = parts[QWEIGHT];
    l->zeros = parts[QZEROS];
    l->scales = parts[SCALES];
    return CSE_OK;
}

static void free_parts(void *parts[4])
{
    for (int i = 0; i < 4; i++)
        free(parts[i]);
}

/* ---- numbers ---- */

static const int place_of_output[] = { 0, 4, 1, 5, 2, 6, 3, 7 }; /* in a word of AWQ, of o % 8 */

static int whole_of(const layer *l, int64_t o, int64_t i)
{
    const int64_t a_word = WORD_BITS / l->bits;
    return (int)(l->is_awq
                     ? bits_of(l->weights[i * (l->out / 8) + o / 8], place_of_output[o % 8], 4)
                     : bits_of(l->weights[i / a_word * l->out + o], i % a_word, l->bits));
}

static int zero_of(const layer *l, int64_t o, int64_t g)
{
    const int64_t a_word = WORD_BITS / l->bits;
    if (l->is_awq)
        return (int)bits_of(l->zeros[g * (l->out / 8) + o / 8], place_of_output[o % 8], 4);
    const uint32_t zero =
        bits_of(l->zeros[g * (l->out / a_word) + o / a_word], o % a_word, l->bits);
    return (int)((zero + (l->less_one ? 1 : 0)) & ((UINT32_C(1) << l->bits) - 1));
}

static cse_status unpack_words(const cse_quantized *q, float *to)
{
    layer l;
    void *parts[4] = { NULL };
    cse_status status = read_layer(q, &l, parts);
    for (int64_t o = 0; o < l.out && status == CSE_OK; o++)
        for (int64_t i = 0; i < l.in; i++) {
            const int64_t g = group_of(&l, i);
            to[o * l.in + i] =
                l.scales[g * l.out + o] * (float)(whole_of(&l, o, i) - zero_of(&l, o, g));
        }
    free_parts(parts);
    return status;
}

/* ---- blocks ---- */

/* Whether all inputs of each so many are of one group. */
static bool has_blocks(const layer *l, int64_t size)
{
    bool whole = l->in % size == 0;
    for (int64_t i = 0; i < l->in && whole; i++)
        whole = group_of(l, i) == group_of(l, i / size * size);
    return whole;
}

static cse_status choose_words(cse_quantized *q)
{
    layer l;
    void *parts[4] = { NULL };
    cse_status status = read_groups(q, &l, parts);
    const cse_packed_type *type = status != CSE_OK ? NULL
                                  : l.bits == 2    ? &cse_packed_uint2_32
                                  : l.bits == 8    ? &cse_packed_uint8_32
                                  : has_blocks(&l, cse_packed_uint4_128.elements)
                                      ? &cse_packed_uint4_128
                                      : &cse_packed_uint4_32;
    if (type != NULL && has_blocks(&l, type->elements))
        cse_quantized_keep(q, type);
    else
        q->why_unpacked = q->parts[GROUPS] >= 0 ? "its g_idx has inputs of several groups among 32"
                                                : "its groups are no multiples of 32 inputs";
    free_parts(parts);
    return status;
}

/* As scaled_numbers.c has them. */
static void pack_block(const layer *l, const cse_packed_type *type, int64_t o, int64_t first,
                       unsigned char *to)
{
    const int64_t g = group_of(l, first), bytes = (int64_t)type->bytes - 8;
    const int32_t zero = zero_of(l, o, g);
    memset(to, 0, type->bytes);
    memcpy(to, &l->scales[g * l->out + o], sizeof(float));
    memcpy(to + 4, &zero, sizeof zero);
    for (int64_t i = 0; i < type->elements; i++)
        to[8 + i % bytes] =
            (unsigned char)(to[8 + i % bytes] | whole_of(l, o, first + i) << (i / bytes * l->bits));
}

static cse_status pack_words(const cse_quantized *q, unsigned char *blocks)
{
    layer l;
    void *parts[4] = { NULL };
    const cse_packed_type *type = q->packed;
    cse_status status = read_layer(q, &l, parts);
    for (int64_t o = 0; o < l.out && status == CSE_OK; o++)
        for (int64_t i = 0; i < l.in; i += type->elements, blocks += type->bytes)
            pack_block(&l, type, o, i, blocks);
    free_parts(parts);
    return status;
}

/* ---- GPTQ ---- */

static cse_status check_gptq(cse_quantized *q)
{
    const int64_t bits = bits_setting(q);
    CSE_TRY(check_types(q));
    const int64_t in = dim(q, QWEIGHT, 0) * WORD_BITS / bits;
    if (q->parts[GROUPS] >= 0) {
        const cse_weight *groups = cse_quantized_part(q, GROUPS);
        if (groups->element != CSE_ELEMENT_I32 || groups->shape.rank != 1 ||
            groups->shape.dims[0] != in)
            return cse_quantized_refuse(q, GROUPS, "has not an int32 for each input");
    }
    return check_sizes(q, in, dim(q, QWEIGHT, 1), bits);
}

static const cse_quantization_key gptq_keys[] = {
    { "quant_method", "\"gptq\"" },
    { "bits", "2 4 8" },
    { "checkpoint_format", "\"gptq\" \"gptq_v2\" null" },
    { "group_size", NULL }, /* used */
    { "is_marlin_format", "false null" },
    { "pack_dtype", "\"int32\" null" },
    { "desc_act", NULL },
    { "sym", NULL },
    { "static_groups", NULL },
    { "damp_percent", NULL },
    { "damp_auto_increment", NULL },
    { "true_sequential", NULL },
    { "act_group_aware", NULL },
    { "lm_head", NULL },
    { "dynamic", "null {}" },
    { "meta", NULL },
    { "model_name_or_path", NULL },
    { "model_file_base_name", NULL },
    { "tokenizer", NULL },
    { "dataset", NULL },
    { "batch_size", NULL },
    { "block_name_to_quantize", NULL },
    { "module_name_preceding_first_block", NULL },
    { "modules_in_block_to_quantize", NULL },
    { "pad_token_id", NULL },
    { "model_seqlen", NULL },
    { "cache_block_outputs", NULL },
    { "cache_examples_on_gpu", NULL },
    { "use_cuda_fp16", NULL },
    { "use_exllama", NULL },
    { "disable_exllama", NULL },
    { "exllama_config", NULL },
    { "max_input_length", NULL },
    { "backend", NULL },
    { "quantizer", NULL },
    { NULL, NULL },
};

const cse_quantization cse_quantization_gptq = {
    .method = "gptq",
    .ends = { ".qweight", ".qzeros", ".scales", ".g_idx", NULL },
    .result = ".weight",
    .keys = gptq_keys,
    .check = check_gptq,
    .unpack = unpack_words,
    .choose = choose_words,
    .pack = pack_words,
};

/* ---- AWQ ---- */

static cse_status check_awq(cse_quantized *q)
{
    CSE_TRY(check_types(q));
    return check_sizes(q, dim(q, QWEIGHT, 0), dim(q, QWEIGHT, 1) * 8, 4);
}

static const cse_quantization_key awq_keys[] = {
    { "quant_method", "\"awq\"" },
    { "bits", "4" },
    { "w_bit", "4" },
    { "version", "\"gemm\" \"GEMM\" null" },
    { "group_size", NULL }, /* used */
    { "zero_point", "true null" },
    { "backend", NULL },
    { "modules_to_not_convert", NULL },
    { "do_fuse", NULL },
    { "fuse_max_seq_len", NULL },
    { "modules_to_fuse", NULL },
    { "exllama_config", NULL },
    { NULL, NULL },
};

const cse_quantization cse_quantization_awq = {
    .method = "awq",
    .ends = { ".qweight", ".qzeros", ".scales", NULL },
    .result = ".weight",
    .keys = awq_keys,
    .check = check_awq,
    .unpack = unpack_words,
    .choose = choose_words,
    .pack = pack_words,
};
