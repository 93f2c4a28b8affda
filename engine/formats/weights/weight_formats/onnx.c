/* onnx: a model's forward pass and its weights (onnx.ai), which other programs run. The pass is
 * described elsewhere (forward_pass.h); here it gets its weights. Weights are read from such files,
 * passes are not.
 *
 * A file is one message of protocol buffers, which has 2 GiB at most. Where it would be larger, its
 * weights are in NAME.onnx.data beside it, at multiples of a page, so that runtimes can map them.
 * Weights in 16 bits are cast to float32, in which the pass is computed. Constants of the pass,
 * "constant/...", are no weights. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/protobuf.h"
#include "engine/base/types/shape.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/format.h"

/* Versions that the described pass is of. */
enum { IR_VERSION = 8, OPERATOR_SET = 17 };
/* Field numbers of onnx.proto. */
enum { MODEL_VERSION = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPERATORS = 8 };
enum { OPERATORS_VERSION = 2, GRAPH_NODE = 1, GRAPH_TENSOR = 5 };
enum { TENSOR_SIZE = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_BYTES = 9, TENSOR_DOC = 12 };
enum { TENSOR_OUTSIDE = 13, TENSOR_LOCATION = 14, PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { VARINT = 0, EIGHT_BYTES = 1, BYTES = 2, FOUR_BYTES = 5 };
enum { MOST_NAME = 1024, MOST_PAIR = 255 };
/* Of weights in a file beside: smaller ones stay in the message, as runtimes prefer it. */
enum { PAGE_BYTES = 4096, SMALL_WEIGHT = 1024 };

static const char stored[] = ".stored", constant[] = "constant/";

static const struct {
    int64_t type;
    cse_element element;
} types[] = {
    { 1, CSE_ELEMENT_F32 },   { 2, CSE_ELEMENT_U8 },   { 3, CSE_ELEMENT_I8 },
    { 5, CSE_ELEMENT_I16 },   { 6, CSE_ELEMENT_I32 },  { 7, CSE_ELEMENT_I64 },
    { 9, CSE_ELEMENT_BOOL },  { 10, CSE_ELEMENT_F16 }, { 11, CSE_ELEMENT_F64 },
    { 16, CSE_ELEMENT_BF16 },
};
enum { TYPES = sizeof types / sizeof types[0] };

static int64_t type_of(cse_element element)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].element == element)
            return types[i].type;
    return 0;
}

/* A version, then a field that models begin with. */
static bool begins(const cse_weights_file *file, const unsigned char *start, size_t bytes)
{
    (void)file;
    return bytes >= 4 && start[0] == (MODEL_VERSION << 3 | VARINT) && start[1] < 64 &&
           (start[2] == (MODEL_PRODUCER << 3 | BYTES) || start[2] == (MODEL_GRAPH << 3 | BYTES) ||
            start[2] == (MODEL_OPERATORS << 3 | BYTES)) &&
           start[3] != 0;
}

/* ---- reading ---- */

/* A message in the file. */
typedef struct message {
    cse_weights *weights;
    int file;
    uint64_t next, end;
} message;

typedef struct field {
    int number, type;
    uint64_t value; /* of a number; the bytes of others */
    uint64_t at;    /* where those begin */
} field;

static cse_status refuse(const message *m, const char *what)
{
    return cse_fail(CSE_DATA, "%s: byte %" PRIu64 ": %s", m->weights->path, m->next, what);
}

static cse_status take_varint(message *m, uint64_t *value)
{
    unsigned char bytes[10];
    const uint64_t left = m->end - m->next, most = left < sizeof bytes ? left : sizeof bytes;
    const int64_t got =
        cse_read_at(m->weights->files[m->file].descriptor, bytes, (size_t)most, m->next);
    *value = 0;
    for (int i = 0; i < got && i < (int)most; i++) {
        *value |= (uint64_t)(bytes[i] & 127) << (7 * i);
        if (bytes[i] < 128) {
            m->next += (uint64_t)i + 1;
            return CSE_OK;
        }
    }
    return refuse(m, "a number does not end");
}

static cse_status take_field(message *m, field *f)
{
    uint64_t tag = 0;
    CSE_TRY(take_varint(m, &tag));
    *f = (field){ .number = (int)(tag >> 3 & 0x1fffffff), .type = (int)(tag & 7) };
    if (f->type == VARINT)
        return take_varint(m, &f->value);
    if (f->type == BYTES)
        CSE_TRY(take_varint(m, &f->value));
    else if (f->type == EIGHT_BYTES || f->type == FOUR_BYTES)
        f->value = f->type == EIGHT_BYTES ? 8 : 4;
    else
        return refuse(m, "it is no field of protocol buffers");
    if (f->value > m->end - m->next)
        return refuse(m, "a field goes beyond its message");
    f->at = m->next;
    m->next += f->value;
    return CSE_OK;
}

static message inside(const message *m, const field *f)
{
    return (message){ m->weights, m->file, f->at, f->at + f->value };
}

static cse_status take_size(const message *m, cse_weight *weight, uint64_t size)
{
    if (weight->shape.rank == CSE_MAX_RANK || size > INT64_MAX)
        return refuse(m, "a weight has more than 8 dimensions, or a size that no file can have");
    weight->shape.dims[weight->shape.rank++] = (int64_t)size;
    return CSE_OK;
}

static cse_status take_sizes(message *m, const field *f, cse_weight *weight)
{
    message packed = inside(m, f);
    uint64_t size = 0;
    if (f->type == VARINT)
        return take_size(m, weight, f->value);
    while (packed.next < packed.end) {
        CSE_TRY(take_varint(&packed, &size));
        CSE_TRY(take_size(&packed, weight, size));
    }
    return CSE_OK;
}

static cse_status take_name(const message *m, const field *f, cse_weight *weight)
{
    char name[MOST_NAME + 1];
    if (f->value > MOST_NAME || cse_read_at(m->weights->files[m->file].descriptor, name,
                                            (size_t)f->value, f->at) != (int64_t)f->value)
        return refuse(m, "a name has more than 1024 bytes");
    name[f->value] = '\0';
    const size_t length = strlen(name), tail = sizeof stored - 1;
    if (length > tail && strcmp(name + length - tail, stored) == 0)
        name[length - tail] = '\0';
    weight->name = cse_arena_string(m->weights->arena, name);
    return CSE_OK;
}

/* Where a weight's elements are that are in another file. */
typedef struct outside {
    bool is_set;
    char location[MOST_PAIR + 1];
    uint64_t offset, length;
    bool has_length;
} outside;

static cse_status take_text(const message *m, const field *f, char text[MOST_PAIR + 1])
{
    if (f->type != BYTES || f->value > MOST_PAIR ||
        cse_read_at(m->weights->files[m->file].descriptor, text, (size_t)f->value, f->at) !=
            (int64_t)f->value)
        return refuse(m, "a fact of external data has more than 255 bytes");
    text[f->value] = '\0';
    return CSE_OK;
}

static bool take_whole(const char *text, uint64_t *number)
{
    char *end;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 18)
        return false;
    *number = strtoull(text, &end, 10);
    return *end == '\0';
}

/* An entry of external_data; others than these three are hints. */
static cse_status take_outside(message pair, outside *place)
{
    char key[MOST_PAIR + 1] = "", value[MOST_PAIR + 1] = "";
    bool good = true;
    field f;
    while (pair.next < pair.end) {
        CSE_TRY(take_field(&pair, &f));
        if (f.number == PAIR_KEY || f.number == PAIR_VALUE)
            CSE_TRY(take_text(&pair, &f, f.number == PAIR_KEY ? key : value));
    }
    if (strcmp(key, "location") == 0)
        memcpy(place->location, value, sizeof value);
    else if (strcmp(key, "offset") == 0)
        good = take_whole(value, &place->offset);
    else if (strcmp(key, "length") == 0)
        good = place->has_length = take_whole(value, &place->length);
    return good ? CSE_OK : refuse(&pair, "the place of external data is no number");
}

/* Opens the file of external data beside the model, unless it is open. */
static cse_status open_outside(const message *m, const char *location, int *file)
{
    cse_weights *weights = m->weights;
    const char *model = weights->files[m->file].path, *slash = strrchr(model, '/');
    if (location[0] == '\0' || location[0] == '.' || strchr(location, '/') != NULL)
        return refuse(m, "external data is not in a file of the same folder, by its plain name");
    const char *path = cse_arena_printf(
        weights->arena, "%.*s%s", slash != NULL ? (int)(slash - model) + 1 : 0, model, location);
    for (*file = 0; *file < weights->file_count; ++*file)
        if (strcmp(weights->files[*file].path, path) == 0)
            return CSE_OK;
    return cse_weights_add_file(weights, path, file);
}

static cse_status take_tensor(message *m)
{
    cse_weight weight = { .name = "", .element = CSE_ELEMENT_COUNT, .file = m->file };
    outside place = { .is_set = false };
    uint64_t bytes = 0;
    field f;
    while (m->next < m->end) {
        CSE_TRY(take_field(m, &f));
        if (f.number == TENSOR_SIZE)
            CSE_TRY(take_sizes(m, &f, &weight));
        else if (f.number == TENSOR_NAME && f.type == BYTES)
            CSE_TRY(take_name(m, &f, &weight));
        else if (f.number == TENSOR_BYTES && f.type == BYTES) {
            weight.offset = f.at;
            bytes = f.value;
        } else if (f.number == TENSOR_OUTSIDE && f.type == BYTES) {
            CSE_TRY(take_outside(inside(m, &f), &place));
        } else if (f.number == TENSOR_LOCATION && f.type == VARINT) {
            place.is_set = f.value == 1;
        } else if (f.number == TENSOR_TYPE) {
            for (int i = 0; i < TYPES; i++)
                if ((uint64_t)types[i].type == f.value)
                    weight.element = types[i].element;
        } else if (f.number != TENSOR_DOC)
            return refuse(m, "a weight's elements are not bytes (raw_data, or external data)");
    }
    if (strncmp(weight.name, constant, sizeof constant - 1) == 0)
        return CSE_OK;
    if (weight.element == CSE_ELEMENT_COUNT)
        return refuse(m, "a weight has a type that is not read; accepted: floats, integers, bool");
    if (place.is_set) {
        CSE_TRY(open_outside(m, place.location, &weight.file));
        weight.offset = place.offset;
    }
    CSE_TRY(cse_weights_add(m->weights, &weight));
    if (place.is_set)
        bytes = place.has_length ? place.length : cse_weight_bytes(&weight);
    return cse_weight_bytes(&weight) == bytes
               ? CSE_OK
               : refuse(m, "a weight's shape does not fit its bytes");
}

static cse_status take_graph(message *m)
{
    field f;
    while (m->next < m->end) {
        CSE_TRY(take_field(m, &f));
        message tensor = inside(m, &f);
        if (f.number == GRAPH_TENSOR && f.type == BYTES)
            CSE_TRY(take_tensor(&tensor));
    }
    return CSE_OK;
}

static cse_status open_onnx(cse_weights *weights, int file, const cse_weights_options *options)
{
    message model = { weights, file, 0, weights->files[file].bytes };
    field f;
    (void)options;
    while (model.next < model.end) {
        CSE_TRY(take_field(&model, &f));
        message graph = inside(&model, &f);
        if (f.number == MODEL_GRAPH && f.type == BYTES)
            CSE_TRY(take_graph(&graph));
    }
    return CSE_OK;
}

/* ---- writing ---- */

static bool is_outside(const cse_weight *weight, const char *location)
{
    return location != NULL && cse_weight_bytes(weight) >= SMALL_WEIGHT;
}

static uint64_t next_page(uint64_t at)
{
    return (at + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static void put_pair(cse_text *tensor, const char *key, const char *value)
{
    cse_text pair = { 0 };
    cse_protobuf_add_text(&pair, PAIR_KEY, key);
    cse_protobuf_add_text(&pair, PAIR_VALUE, value);
    cse_protobuf_take(tensor, TENSOR_OUTSIDE, &pair);
}

/* What is written of a weight before its elements, of which its message has `bytes` more: none of
 * one that is outside, at `offset` of the file `location`; that is NULL where all are inside. */
static uint64_t put_tensor_head(const cse_weight *weight, const char *location, uint64_t offset,
                                cse_text *graph)
{
    char number[32];
    cse_text tensor = { 0 };
    const bool out = is_outside(weight, location);
    const uint64_t bytes = cse_weight_bytes(weight), inner = out ? 0 : bytes;
    const bool is_cast = weight->element != CSE_ELEMENT_F32;
    for (int i = 0; i < weight->shape.rank; i++)
        cse_protobuf_add_integer(&tensor, TENSOR_SIZE, weight->shape.dims[i]);
    cse_protobuf_add_integer(&tensor, TENSOR_TYPE, type_of(weight->element));
    cse_protobuf_add_head(&tensor, TENSOR_NAME,
                          strlen(weight->name) + (is_cast ? sizeof stored - 1 : 0));
    cse_text_add(&tensor, "%s%s", weight->name, is_cast ? stored : "");
    if (out) {
        put_pair(&tensor, "location", location);
        snprintf(number, sizeof number, "%" PRIu64, offset);
        put_pair(&tensor, "offset", number);
        snprintf(number, sizeof number, "%" PRIu64, bytes);
        put_pair(&tensor, "length", number);
        cse_protobuf_add_integer(&tensor, TENSOR_LOCATION, 1);
    } else {
        cse_protobuf_add_head(&tensor, TENSOR_BYTES, bytes);
    }
    cse_protobuf_add_head(graph, GRAPH_TENSOR, tensor.size + inner);
    cse_text_add_bytes(graph, tensor.data, tensor.size);
    cse_text_clear(&tensor);
    return inner;
}

static void put_cast(const cse_weight *weight, cse_text *graph)
{
    cse_text node = { 0 }, to = { 0 }, from = { 0 };
    cse_text_add(&from, "%s%s", weight->name, stored);
    cse_protobuf_add_text(&node, 1, from.data);
    cse_protobuf_add_text(&node, 2, weight->name);
    cse_protobuf_add_text(&node, 3, weight->name);
    cse_protobuf_add_text(&node, 4, "Cast");
    cse_protobuf_add_text(&to, 1, "to");
    cse_protobuf_add_integer(&to, 3, type_of(CSE_ELEMENT_F32));
    cse_protobuf_add_integer(&to, 20, 2);
    cse_protobuf_take(&node, 5, &to);
    cse_protobuf_take(graph, GRAPH_NODE, &node);
    cse_text_clear(&from);
}

/* The position of each weight that the pass takes, in the order of their names. */
static cse_status choose(const cse_weights *from, const cse_weights_target *to, int *chosen)
{
    const cse_forward_pass *pass = to->forward;
    int *order = cse_weights_name_order(from), count = 0;
    bool *taken = cse_calloc((size_t)from->count + 1, sizeof *taken);
    cse_status status = CSE_OK;
    for (int i = 0; i < pass->weight_count && status == CSE_OK; i++) {
        const int at = cse_weights_find(from, pass->weights[i].name);
        char wanted[128], there[128];
        if (at < 0)
            status = cse_fail(CSE_DATA, "%s: the weight '%s' of the model is missing", from->path,
                              pass->weights[i].name);
        else if (!cse_shape_equal(from->list[at].shape, pass->weights[i].shape))
            status = cse_fail(CSE_DATA, "%s: '%s' is %s; the model has %s", from->path,
                              pass->weights[i].name,
                              cse_shape_text(from->list[at].shape, there, sizeof there),
                              cse_shape_text(pass->weights[i].shape, wanted, sizeof wanted));
        else
            taken[at] = true;
    }
    for (int i = 0; i < from->count; i++)
        if (taken[order[i]])
            chosen[count++] = order[i];
    free(taken);
    free(order);
    return status;
}

/* What is written, and how. */
typedef struct writing {
    cse_weights *from;
    const cse_weights_target *to;
    const int *chosen; /* weights of `from`, as many as the pass takes */
    int count;
    const char *location; /* of the weights' file; NULL: they are in the message */
} writing;

static const cse_weight *weight_at(const writing *w, int i)
{
    return &w->from->list[w->chosen[i]];
}

/* The message up to its weights. Returns the bytes of all of it. */
static uint64_t put_model_head(const writing *w, cse_text *model)
{
    cse_text operators = { 0 }, nodes = { 0 }, head = { 0 };
    uint64_t offset = 0;
    cse_protobuf_add_integer(model, MODEL_VERSION, IR_VERSION);
    cse_protobuf_add_text(model, MODEL_PRODUCER, "csengine");
    cse_protobuf_add_text(&operators, 1, "");
    cse_protobuf_add_integer(&operators, OPERATORS_VERSION, OPERATOR_SET);
    cse_protobuf_take(model, MODEL_OPERATORS, &operators);
    for (int i = 0; i < w->count; i++)
        if (weight_at(w, i)->element != CSE_ELEMENT_F32)
            put_cast(weight_at(w, i), &nodes);
    cse_text_add_bytes(&nodes, w->to->forward->graph.data, w->to->forward->graph.size);
    uint64_t bytes = nodes.size;
    for (int i = 0; i < w->count; i++) {
        bytes += put_tensor_head(weight_at(w, i), w->location, offset, &head);
        bytes += head.size;
        if (is_outside(weight_at(w, i), w->location))
            offset = next_page(offset + cse_weight_bytes(weight_at(w, i)));
        cse_text_clear(&head);
    }
    cse_protobuf_add_head(model, MODEL_GRAPH, bytes);
    const uint64_t all = model->size + bytes;
    cse_text_add_bytes(model, nodes.data, nodes.size);
    cse_text_clear(&nodes);
    return all;
}

static cse_status write_model(const writing *w, cse_text *model)
{
    uint64_t at = 0, offset = 0;
    cse_status status = CSE_OK;
    for (int i = 0; i < w->count && status == CSE_OK; i++) {
        const cse_weight *weight = weight_at(w, i);
        const uint64_t inner = put_tensor_head(weight, w->location, offset, model);
        status = cse_weights_put_bytes(w->to, model->data, model->size, at);
        at += model->size;
        if (is_outside(weight, w->location))
            offset = next_page(offset + cse_weight_bytes(weight));
        else if (status == CSE_OK)
            status = cse_weights_put(w->from, w->chosen[i], w->to, at, NULL);
        at += inner;
        cse_text_clear(model);
    }
    if (status == CSE_OK && model->size > 0)
        status = cse_weights_put_bytes(w->to, model->data, model->size, at);
    return status;
}

static cse_status write_beside(const writing *w)
{
    uint64_t offset = 0;
    const cse_weights_target beside = { .descriptor = w->to->beside->descriptor,
                                        .path = w->to->beside->path };
    for (int i = 0; i < w->count; i++)
        if (is_outside(weight_at(w, i), w->location)) {
            CSE_TRY(cse_weights_put(w->from, w->chosen[i], &beside, offset, NULL));
            offset = next_page(offset + cse_weight_bytes(weight_at(w, i)));
        }
    return CSE_OK;
}

/* Chooses the file of the weights, and writes it. */
static cse_status move_weights(writing *w)
{
    cse_arena *arena = w->from->arena;
    const char *path = cse_arena_printf(arena, "%s.data", w->to->path);
    const char *slash = strrchr(path, '/');
    w->location = slash != NULL ? slash + 1 : path;
    if (strlen(w->location) > MOST_PAIR)
        return cse_fail(CSE_CANNOT_CREATE, "%s: the name is too long", path);
    if (access(path, F_OK) == 0)
        return cse_fail(CSE_CANNOT_CREATE, "%s: is there already; give a name that is new", path);
    CSE_TRY(cse_new_file_open(w->to->beside, path));
    return write_beside(w);
}

static cse_status write_all(cse_weights *from, const cse_weights_target *to, const int *chosen)
{
    writing w = { from, to, chosen, to->forward->weight_count, NULL };
    const uint64_t most =
        to->file_bytes > 0 && to->file_bytes < INT32_MAX ? to->file_bytes : INT32_MAX;
    cse_text model = { 0 };
    cse_status status = CSE_OK;
    uint64_t bytes = put_model_head(&w, &model);
    if (bytes > most && to->beside != NULL) {
        status = move_weights(&w);
        cse_text_clear(&model);
        bytes = put_model_head(&w, &model);
    }
    if (status == CSE_OK && bytes > INT32_MAX)
        status =
            cse_fail(CSE_SHAPE,
                     "%s: %" PRIu64 " bytes, without the weights, are more than the 2 GiB that "
                     "a file of ONNX may have; give another format",
                     to->path, bytes);
    if (status == CSE_OK)
        status = write_model(&w, &model);
    cse_text_clear(&model);
    return status;
}

static cse_status write_onnx(cse_weights *from, const cse_weights_target *to)
{
    cse_element accepted[TYPES + 1] = { CSE_ELEMENT_COUNT };
    for (int i = 0; i < TYPES; i++)
        accepted[i] = types[i].element;
    accepted[TYPES] = CSE_ELEMENT_COUNT;
    if (to->forward == NULL || to->all)
        return cse_fail(CSE_USAGE,
                        "%s: ONNX holds the weights of a forward pass, which is that of "
                        "a model: not for --all",
                        to->path);
    int *chosen = cse_calloc((size_t)to->forward->weight_count + 1, sizeof *chosen);
    cse_status status = choose(from, to, chosen);
    for (int i = 0; i < to->forward->weight_count && status == CSE_OK; i++)
        if (type_of(from->list[chosen[i]].element) == 0)
            status = cse_weights_accept(from, to, accepted);
    if (status == CSE_OK)
        status = write_all(from, to, chosen);
    free(chosen);
    return status;
}

const cse_weights_format cse_weight_format_onnx = {
    .name = "onnx",
    .summary = "a model's forward pass with its weights, for ONNX runtimes",
    .extensions = ".onnx",
    .begins = begins,
    .open = open_onnx,
    .write = write_onnx,
    .holds_forward = true,
};
