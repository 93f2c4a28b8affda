/* pytorch: what torch.save writes since version 1.6, a ZIP archive of a pickle and of one entry for
 * each storage. Tensors in dictionaries within others get names with dots.
 *
 * What is written is loaded by torch.load(weights_only=True). The archive's parts stand in the
 * order of the names, with fixed times, so that equal weights are equal files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/weight_formats/pickle.h"
#include "engine/formats/weights/weight_formats/zip.h"

enum {
    PICKLE_LIMIT_BYTES = 1 << 23,
    MOST_DEPTH = 16,       /* of dictionaries in others */
    MOST_VALUES = 1 << 20, /* that are looked at for tensors */
    NAME_BYTES = 1024
};

/* The first entry is the pickle. */
static bool begins(const cse_weights_file *file, const unsigned char *start, size_t bytes)
{
    static const unsigned char old[] = { 0x80, 2, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20 };
    static const char pickle[] = "/data.pkl";
    (void)file;
    if (bytes >= sizeof old && memcmp(start, old, sizeof old) == 0)
        return true;
    if (bytes < 30 || memcmp(start, "PK\3\4", 4) != 0)
        return false;
    const size_t length = start[26] | (size_t)start[27] << 8, size = sizeof pickle - 1;
    return length >= size && 30 + length <= bytes &&
           memcmp(start + 30 + length - size, pickle, size) == 0;
}

/* ---- reading ---- */

typedef struct reading {
    cse_weights *weights;
    int file, values;
    cse_zip zip;
    const char *folder; /* before the names of entries */
} reading;

static cse_status refuse(const reading *r, const char *name, const char *what)
{
    return cse_fail(CSE_DATA, "%s: '%s' %s", r->weights->path, name, what);
}

/* Whether the strides are those of elements one after another. */
static bool is_contiguous(const cse_shape *shape, const cse_pickle_value *strides)
{
    int64_t expected = 1;
    if (strides->count != shape->rank)
        return false;
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (strides->items[i]->kind != CSE_PICKLE_INTEGER ||
            (shape->dims[i] != 1 && strides->items[i]->integer != expected))
            return false;
        if (__builtin_mul_overflow(expected, shape->dims[i], &expected) || expected == 0)
            return expected == 0; /* it has no elements, or the size is refused anyhow */
    }
    return true;
}

static cse_status add_tensor(reading *r, const char *name, const cse_pickle_value *tensor)
{
    const cse_pickle_value *storage = tensor->items[0], *sizes = tensor->items[2];
    const char *entry_name =
        cse_arena_printf(r->weights->arena, "%sdata/%s", r->folder, storage->text);
    const cse_zip_entry *entry = cse_zip_find(&r->zip, entry_name);
    cse_weight weight = { .name = name,
                          .element = (cse_element)storage->integer,
                          .shape = { .rank = sizes->count },
                          .file = r->file };
    const uint64_t width = cse_element_bytes(weight.element);
    if (entry == NULL)
        return refuse(r, name, "has a storage that is not in the archive");
    if (sizes->count > CSE_MAX_RANK)
        return refuse(r, name, "has more than 8 dimensions");
    for (int i = 0; i < sizes->count; i++) {
        if (sizes->items[i]->kind != CSE_PICKLE_INTEGER || sizes->items[i]->integer < 0)
            return refuse(r, name, "has a shape that is no list of sizes");
        weight.shape.dims[i] = sizes->items[i]->integer;
    }
    if (!is_contiguous(&weight.shape, tensor->items[3]))
        return refuse(r, name,
                      "does not lie in one block; save it with .contiguous() before torch.save");
    const int64_t first = tensor->items[1]->integer;
    const uint64_t held = entry->bytes / width;
    if (first < 0 || (uint64_t)first > held)
        return refuse(r, name, "begins beyond its storage");
    weight.offset = entry->offset + (uint64_t)first * width;
    weight.span = entry->span;
    CSE_TRY(cse_weights_add(r->weights, &weight));
    return cse_weight_bytes(&weight) <= (held - (uint64_t)first) * width
               ? CSE_OK
               : refuse(r, name, "goes beyond its storage");
}

/* The name of something in a container: its own behind the container's. */
static cse_status join(reading *r, const char *prefix, const cse_pickle_value *key, int position,
                       const char **name)
{
    char number[24];
    const char *own = number;
    if (key != NULL && key->kind == CSE_PICKLE_TEXT)
        own = key->text;
    else
        snprintf(number, sizeof number, "%" PRId64,
                 key != NULL && key->kind == CSE_PICKLE_INTEGER ? key->integer : position);
    if (strlen(prefix) + strlen(own) > NAME_BYTES)
        return refuse(r, "a name", "is longer than 1024 bytes");
    *name = cse_arena_printf(r->weights->arena, "%s%s%s", prefix, *prefix != '\0' ? "." : "", own);
    return CSE_OK;
}

static cse_status add_value(reading *r, const char *name, const cse_pickle_value *value, int depth)
{
    const bool is_dict = value->kind == CSE_PICKLE_DICT;
    if (depth > MOST_DEPTH || r->values++ > MOST_VALUES)
        return cse_fail(CSE_DATA,
                        "%s: dictionaries are in each other more than %d deep, or "
                        "there are more than %d values",
                        r->weights->path, MOST_DEPTH, MOST_VALUES);
    if (value->kind == CSE_PICKLE_TENSOR)
        return add_tensor(r, name, value);
    if (!is_dict && value->kind != CSE_PICKLE_LIST)
        return CSE_OK;
    for (int i = 0; i < value->count; i += 1 + is_dict) {
        const char *own = NULL;
        const cse_pickle_value *item = value->items[i + is_dict];
        if (item->kind != CSE_PICKLE_TENSOR && item->kind != CSE_PICKLE_DICT &&
            item->kind != CSE_PICKLE_LIST)
            continue;
        CSE_TRY(join(r, name, is_dict ? value->items[i] : NULL, i, &own));
        CSE_TRY(add_value(r, own, item, depth + 1));
    }
    return CSE_OK;
}

static cse_status check_byte_order(const reading *r)
{
    char *text = NULL;
    const cse_zip_entry *entry =
        cse_zip_find(&r->zip, cse_arena_printf(r->weights->arena, "%sbyteorder", r->folder));
    if (entry == NULL)
        return CSE_OK;
    CSE_TRY(cse_zip_read(r->weights, r->file, entry, 64, &text));
    const bool good = strcmp(text, "little") == 0;
    free(text);
    return good ? CSE_OK
                : cse_fail(CSE_DATA, "%s: its numbers are big endian; accepted: little",
                           r->weights->path);
}

static cse_status read_archive(reading *r)
{
    static const char pickle[] = "data.pkl";
    const cse_zip_entry *entry = NULL;
    cse_pickle_value *value = NULL;
    char *content = NULL;
    for (int i = 0; i < r->zip.count && entry == NULL; i++) {
        const char *name = r->zip.entries[i].name, *slash = strchr(name, '/');
        if (slash != NULL && strcmp(slash + 1, pickle) == 0) {
            entry = &r->zip.entries[i];
            r->folder = cse_arena_printf(r->weights->arena, "%.*s", (int)(slash + 1 - name), name);
        }
    }
    if (entry == NULL)
        return cse_fail(CSE_DATA, "%s: the archive has no data.pkl: torch.save did not write it",
                        r->weights->path);
    CSE_TRY(check_byte_order(r));
    CSE_TRY(cse_zip_read(r->weights, r->file, entry, PICKLE_LIMIT_BYTES, &content));
    cse_status status = cse_pickle_read(r->weights->arena, r->weights->files[r->file].path,
                                        (const unsigned char *)content, entry->bytes, &value);
    free(content);
    CSE_TRY(status);
    CSE_TRY(add_value(r, "", value, 0));
    return r->weights->count > 0
               ? CSE_OK
               : cse_fail(CSE_DATA, "%s: its dictionaries hold no tensors", r->weights->path);
}

static cse_status open_pytorch(cse_weights *weights, int file, const cse_weights_options *options)
{
    reading r = { .weights = weights, .file = file };
    unsigned char first = 0;
    (void)options;
    if (cse_read_at(weights->files[file].descriptor, &first, 1, 0) == 1 && first == 0x80)
        return cse_fail(CSE_DATA,
                        "%s: was written by PyTorch before 1.6, or with "
                        "_use_new_zipfile_serialization=False; load and save it anew",
                        weights->path);
    cse_status status = cse_zip_open(weights, file, &r.zip);
    if (status == CSE_OK)
        status = read_archive(&r);
    cse_zip_clear(&r.zip);
    return status;
}

/* ---- writing ---- */

static const char *storage_of(cse_element element)
{
    switch (element) {
    case CSE_ELEMENT_F32:
        return "FloatStorage";
    case CSE_ELEMENT_BF16:
        return "BFloat16Storage";
    case CSE_ELEMENT_F16:
        return "HalfStorage";
    case CSE_ELEMENT_F64:
        return "DoubleStorage";
    case CSE_ELEMENT_I64:
        return "LongStorage";
    case CSE_ELEMENT_I32:
        return "IntStorage";
    case CSE_ELEMENT_I16:
        return "ShortStorage";
    case CSE_ELEMENT_I8:
        return "CharStorage";
    case CSE_ELEMENT_U8:
        return "ByteStorage";
    default:
        return "BoolStorage";
    }
}

static void put_number(cse_text *out, uint64_t value, int bytes)
{
    char number[8];
    for (int i = 0; i < bytes; i++)
        number[i] = (char)(value >> (8 * i));
    cse_text_add_bytes(out, number, (size_t)bytes);
}

static void put_text(cse_text *out, const char *text)
{
    cse_text_add_bytes(out, "X", 1);
    put_number(out, strlen(text), 4);
    cse_text_add_bytes(out, text, strlen(text));
}

static void put_integer(cse_text *out, int64_t value)
{
    if (value < 1 << 8) {
        cse_text_add_bytes(out, "K", 1);
        put_number(out, (uint64_t)value, 1);
    } else if (value <= INT32_MAX) {
        cse_text_add_bytes(out, "J", 1);
        put_number(out, (uint64_t)value, 4);
    } else {
        cse_text_add_bytes(out, "\x8a\x08", 2);
        put_number(out, (uint64_t)value, 8);
    }
}

static void put_strides(cse_text *out, cse_shape shape)
{
    int64_t strides[CSE_MAX_RANK], product = 1;
    for (int i = shape.rank - 1; i >= 0; i--) {
        strides[i] = product;
        product *= shape.dims[i] > 0 ? shape.dims[i] : 1;
    }
    cse_text_add_bytes(out, "(", 1);
    for (int i = 0; i < shape.rank; i++)
        put_integer(out, strides[i]);
    cse_text_add_bytes(out, "t", 1);
}

static void put_tensor(cse_text *out, const cse_weight *weight, int number)
{
    char key[16];
    snprintf(key, sizeof key, "%d", number);
    put_text(out, weight->name);
    cse_text_add(out, "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_text(out, "storage");
    cse_text_add(out, "ctorch\n%s\n", storage_of(weight->element));
    put_text(out, key);
    put_text(out, "cpu");
    put_integer(out, (int64_t)(cse_weight_bytes(weight) / cse_element_bytes(weight->element)));
    cse_text_add(out, "tQ");
    put_integer(out, 0);
    cse_text_add(out, "(");
    for (int i = 0; i < weight->shape.rank; i++)
        put_integer(out, weight->shape.dims[i]);
    cse_text_add(out, "t");
    put_strides(out, weight->shape);
    cse_text_add(out, "\x89"
                      "ccollections\nOrderedDict\n)RtR");
}

static cse_status write_archive(cse_weights *from, const int *order, cse_zip_writer *zip)
{
    cse_text pickle = { 0 };
    cse_text_add(&pickle, "\x80\x02}(");
    for (int i = 0; i < from->count; i++)
        put_tensor(&pickle, &from->list[order[i]], i);
    cse_text_add(&pickle, "u.");
    cse_status status = pickle.size <= PICKLE_LIMIT_BYTES
                            ? cse_zip_add_bytes(zip, "weights/data.pkl", pickle.data, pickle.size)
                            : cse_fail(CSE_DATA, "%s: the names take more than %d bytes",
                                       zip->to->path, PICKLE_LIMIT_BYTES);
    cse_text_clear(&pickle);
    CSE_TRY(status);
    CSE_TRY(cse_zip_add_bytes(zip, "weights/.format_version", "1", 1));
    CSE_TRY(cse_zip_add_bytes(zip, "weights/.storage_alignment", "64", 2));
    CSE_TRY(cse_zip_add_bytes(zip, "weights/byteorder", "little", 6));
    for (int i = 0; i < from->count; i++) {
        char name[40];
        snprintf(name, sizeof name, "weights/data/%d", i);
        CSE_TRY(cse_zip_add_weight(zip, name, from, order[i]));
    }
    CSE_TRY(cse_zip_add_bytes(zip, "weights/version", "3\n", 2));
    return cse_zip_finish(zip);
}

static cse_status write_pytorch(cse_weights *from, const cse_weights_target *to)
{
    static const cse_element accepted[] = { CSE_ELEMENT_F32,  CSE_ELEMENT_BF16, CSE_ELEMENT_F16,
                                            CSE_ELEMENT_F64,  CSE_ELEMENT_I64,  CSE_ELEMENT_I32,
                                            CSE_ELEMENT_I16,  CSE_ELEMENT_I8,   CSE_ELEMENT_U8,
                                            CSE_ELEMENT_BOOL, CSE_ELEMENT_COUNT };
    cse_zip_writer zip = { .to = to };
    CSE_TRY(cse_weights_accept(from, to, accepted));
    int *order = cse_weights_name_order(from);
    cse_status status = write_archive(from, order, &zip);
    cse_zip_writer_clear(&zip);
    free(order);
    return status;
}

const cse_weights_format cse_weight_format_pytorch = {
    .name = "pytorch",
    .summary = "a dictionary of tensors as torch.save writes it",
    .extensions = ".pt .pth .bin",
    .begins = begins,
    .open = open_pytorch,
    .write = write_pytorch,
};
