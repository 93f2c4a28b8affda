/* safetensors: a length, a JSON object of names, types, shapes and places, then the elements
 * (https://github.com/huggingface/safetensors, section Format).
 *
 * All that the format promises is checked before an element is read: the header is at most 100 MB
 * and within the file, no key stands twice, places are in order of begin and end, fit shape and
 * type, do not overlap, and leave no hole. What is written is sorted by the size of the elements,
 * then by name, so that each weight is aligned and equal weights are equal files. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/base/nesting.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/format.h"

enum { HEADER_LIMIT_BYTES = 100000000, LENGTH_BYTES = 8, MOST_NESTING = 8 };

static bool begins(const cse_weights_file *file, const unsigned char *start, size_t bytes)
{
    (void)file;
    return bytes > LENGTH_BYTES && start[LENGTH_BYTES] == '{' && start[7] == 0 && start[6] == 0;
}

/* ---- reading ---- */

typedef struct span {
    uint64_t begin, end;
    const char *name;
} span;

typedef struct reading {
    cse_weights *weights;
    const cse_weights_file *at;
    int file;
    uint64_t data; /* where elements begin */
    span *spans;
    int count, capacity;
} reading;

static cse_status refuse(const reading *r, const char *name, const char *what)
{
    return cse_fail(CSE_DATA, "%s: '%s' %s; the file is damaged or no safetensors file",
                    r->at->path, name, what);
}

static cse_status read_shape(const reading *r, const char *name, const json_t *list,
                             cse_shape *shape)
{
    *shape = (cse_shape){ .rank = 0 };
    if (!json_is_array(list))
        return refuse(r, name, "has no shape");
    if (json_array_size(list) > CSE_MAX_RANK)
        return refuse(r, name, "has more than 8 dimensions");
    shape->rank = (int)json_array_size(list);
    for (int i = 0; i < shape->rank; i++) {
        const json_t *size = json_array_get(list, (size_t)i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return refuse(r, name, "has a shape that is no list of sizes");
        shape->dims[i] = json_integer_value(size);
    }
    return CSE_OK;
}

static cse_status read_weight(reading *r, const char *name, const json_t *entry)
{
    cse_weight weight = { .name = name, .file = r->file };
    const json_t *places = json_object_get(entry, "data_offsets");
    const json_t *first = json_array_get(places, 0), *last = json_array_get(places, 1);
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    if (type == NULL || json_array_size(places) != 2 || !json_is_integer(first) ||
        !json_is_integer(last) || json_integer_value(first) < 0 ||
        json_integer_value(last) < json_integer_value(first))
        return refuse(r, name, "has no dtype, or no data_offsets [begin, end]");
    const span at = { (uint64_t)json_integer_value(first), (uint64_t)json_integer_value(last),
                      name };
    weight.element = cse_element_from_name(type);
    if (weight.element == CSE_ELEMENT_COUNT ||
        strcmp(cse_element_short_name(weight.element), type) != 0)
        return cse_fail(CSE_DATA,
                        "%s: '%s' has the type %.40s, which is not read; accepted: F32, BF16, F16, "
                        "F64, I64, I32, I16, I8, U8, BOOL",
                        r->at->path, name, type);
    CSE_TRY(read_shape(r, name, json_object_get(entry, "shape"), &weight.shape));
    if (at.end > r->at->bytes - r->data)
        return refuse(r, name, "lies beyond the end of the file");
    weight.offset = r->data + at.begin;
    CSE_TRY(cse_weights_add(r->weights, &weight));
    if (cse_weight_bytes(&weight) != at.end - at.begin)
        return refuse(r, name, "has data_offsets that do not fit its shape and dtype");
    CSE_GROW(r->spans, r->count, r->capacity);
    r->spans[r->count++] = at;
    return CSE_OK;
}

static int compare_spans(const void *left, const void *right)
{
    const span *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Whether the spans are the bytes of the data, each once. */
static cse_status check_spans(reading *r)
{
    uint64_t at = 0;
    if (r->count > 1)
        qsort(r->spans, (size_t)r->count, sizeof *r->spans, compare_spans);
    for (int i = 0; i < r->count; i++) {
        if (r->spans[i].begin != at)
            return refuse(r, r->spans[i].name,
                          r->spans[i].begin < at ? "overlaps the weight before it"
                                                 : "leaves a hole before it");
        at = r->spans[i].end;
    }
    return at == r->at->bytes - r->data
               ? CSE_OK
               : cse_fail(CSE_DATA, "%s: bytes that are no weight's follow the last one",
                          r->at->path);
}

static cse_status read_metadata(const reading *r, json_t *metadata)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return refuse(r, "__metadata__", "is no object");
    json_object_foreach(metadata, key, value) if (!json_is_string(value)) return refuse(
        r, "__metadata__", "holds something that is no text");
    return CSE_OK;
}

static cse_status read_header(reading *r, const char *text, size_t size)
{
    cse_nesting where;
    json_error_t error;
    if (!cse_nesting_json(text, size, MOST_NESTING, &where))
        return cse_fail(CSE_DATA, "%s: the header has too many brackets in each other",
                        r->at->path);
    json_t *header = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error), *entry;
    if (!json_is_object(header)) {
        json_decref(header);
        return cse_fail(CSE_DATA, "%s: the header is no JSON object: %s", r->at->path, error.text);
    }
    const char *name;
    cse_status status = CSE_OK;
    json_object_foreach(header, name, entry)
    {
        status = strcmp(name, "__metadata__") == 0 ? read_metadata(r, entry)
                                                   : read_weight(r, name, entry);
        if (status != CSE_OK)
            break;
    }
    if (status == CSE_OK)
        status = check_spans(r);
    json_decref(header);
    return status;
}

static cse_status open_safetensors(cse_weights *weights, int file,
                                   const cse_weights_options *options)
{
    unsigned char length[LENGTH_BYTES];
    uint64_t size = 0;
    (void)options;
    reading r = { .weights = weights, .at = &weights->files[file], .file = file };
    if (cse_read_at(r.at->descriptor, length, LENGTH_BYTES, 0) == LENGTH_BYTES)
        for (int i = LENGTH_BYTES - 1; i >= 0; i--)
            size = size << 8 | length[i];
    if (size < 2 || size > HEADER_LIMIT_BYTES || size > r.at->bytes - LENGTH_BYTES)
        return cse_fail(CSE_DATA,
                        "%s: the header would have %" PRIu64 " bytes; accepted: up to %d, and not "
                        "beyond the end of the file",
                        r.at->path, size, HEADER_LIMIT_BYTES);
    char *text = cse_malloc(size + 1);
    r.data = LENGTH_BYTES + size;
    cse_status status = CSE_OK;
    if (cse_read_at(r.at->descriptor, text, size, LENGTH_BYTES) != (int64_t)size)
        status = cse_fail(CSE_IO, "%s: the header cannot be read", r.at->path);
    else
        status = read_header(&r, text, size);
    free(text);
    free(r.spans);
    return status;
}

/* ---- writing ---- */

/* By falling size of the elements, then by name. */
static int *order_of(const cse_weights *from)
{
    int *by_name = cse_weights_name_order(from);
    int *order = cse_malloc(((size_t)from->count + 1) * sizeof *order), count = 0;
    for (size_t width = 8; width > 0; width /= 2)
        for (int i = 0; i < from->count; i++)
            if (cse_element_bytes(from->list[by_name[i]].element) == width)
                order[count++] = by_name[i];
    free(by_name);
    return order;
}

static void print_header(const cse_weights *from, const int *order, cse_text *header)
{
    uint64_t at = 0;
    /* The key that readers of PyTorch's library look for. */
    cse_text_add(header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int i = 0; i < from->count; i++) {
        const cse_weight *weight = &from->list[order[i]];
        const uint64_t end = at + cse_weight_bytes(weight);
        cse_text_add(header, ",");
        cse_json_add_string(header, weight->name);
        cse_text_add(header, ":{\"dtype\":\"%s\",\"shape\":[",
                     cse_element_short_name(weight->element));
        for (int k = 0; k < weight->shape.rank; k++)
            cse_text_add(header, "%s%" PRId64, k > 0 ? "," : "", weight->shape.dims[k]);
        cse_text_add(header, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", at, end);
        at = end;
    }
    cse_text_add(header, "}");
    while (header->size % LENGTH_BYTES != 0)
        cse_text_add(header, " ");
}

static cse_status write_safetensors(cse_weights *from, const cse_weights_target *to)
{
    static const cse_element accepted[] = { CSE_ELEMENT_F32,  CSE_ELEMENT_BF16, CSE_ELEMENT_F16,
                                            CSE_ELEMENT_F64,  CSE_ELEMENT_I64,  CSE_ELEMENT_I32,
                                            CSE_ELEMENT_I16,  CSE_ELEMENT_I8,   CSE_ELEMENT_U8,
                                            CSE_ELEMENT_BOOL, CSE_ELEMENT_COUNT };
    unsigned char length[LENGTH_BYTES];
    cse_text header = { 0 };
    CSE_TRY(cse_weights_accept(from, to, accepted));
    int *order = order_of(from);
    print_header(from, order, &header);
    for (int i = 0; i < LENGTH_BYTES; i++)
        length[i] = (unsigned char)((uint64_t)header.size >> (8 * i));
    cse_status status = header.size > HEADER_LIMIT_BYTES
                            ? cse_fail(CSE_DATA, "%s: the names and shapes take more than %d bytes",
                                       to->path, HEADER_LIMIT_BYTES)
                            : cse_weights_put_bytes(to, length, LENGTH_BYTES, 0);
    if (status == CSE_OK)
        status = cse_weights_put_bytes(to, header.data, header.size, LENGTH_BYTES);
    uint64_t at = LENGTH_BYTES + header.size;
    for (int i = 0; i < from->count && status == CSE_OK; i++) {
        status = cse_weights_put(from, order[i], to, at, NULL);
        at += cse_weight_bytes(&from->list[order[i]]);
    }
    free(order);
    cse_text_clear(&header);
    return status;
}

const cse_weights_format cse_weight_format_safetensors = {
    .name = "safetensors",
    .summary = "a JSON header and raw elements, as Hugging Face writes them",
    .extensions = ".safetensors",
    .begins = begins,
    .open = open_safetensors,
    .write = write_safetensors,
};
