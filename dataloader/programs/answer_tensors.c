/* Each tensor's range must be as long as its shape says, within the values. */
#include "dataloader/programs/answer_tensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/nesting.h"

enum { LENGTH_BYTES = 8, HEADER_MOST_BYTES = 1 << 20, MOST_LEVELS = 8 };

void cse_answer_tensors_clear(cse_answer_tensors *answer)
{
    for (int i = 0; i < answer->count; i++)
        free(answer->tensors[i].name);
    *answer = (cse_answer_tensors){ 0 };
}

static cse_status take_shape(const char *name, const json_t *list, cse_shape *shape)
{
    size_t i;
    const json_t *dim;
    int64_t elements = 1;
    if (!json_is_array(list) || json_array_size(list) > CSE_MAX_RANK)
        return cse_fail(CSE_DATA, "tensor \"%.60s\" has no shape of at most %d sizes", name,
                        CSE_MAX_RANK);
    json_array_foreach(list, i, dim)
    {
        if (!json_is_integer(dim) || json_integer_value(dim) < 0 ||
            __builtin_mul_overflow(elements, (int64_t)json_integer_value(dim), &elements) ||
            elements > INT64_C(1) << 40)
            return cse_fail(CSE_DATA, "tensor \"%.60s\" has a shape beyond all answers", name);
        shape->dims[shape->rank++] = json_integer_value(dim);
    }
    return CSE_OK;
}

static cse_status take_tensor(cse_answer_tensors *answer, const char *name, const json_t *entry,
                              const unsigned char *values, size_t size)
{
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    const json_t *range = json_object_get(entry, "data_offsets");
    const json_int_t begin = json_integer_value(json_array_get(range, 0));
    const json_int_t end = json_integer_value(json_array_get(range, 1));
    if (answer->count == CSE_MAX_STREAMS)
        return cse_fail(CSE_DATA, "there are more than %d tensors", CSE_MAX_STREAMS);
    cse_answer_tensor *tensor = &answer->tensors[answer->count];
    *tensor = (cse_answer_tensor){ .dtype = CSE_INT32 };
    if (dtype != NULL && strcmp(dtype, "F32") == 0)
        tensor->dtype = CSE_FLOAT32;
    else if (dtype != NULL && strcmp(dtype, "I64") == 0)
        tensor->is_wide = true;
    else if (dtype == NULL || strcmp(dtype, "I32") != 0)
        return cse_fail(CSE_DATA, "tensor \"%.60s\" has dtype %.20s: accepted are F32, I32 and I64",
                        name, dtype != NULL ? dtype : "none");
    CSE_TRY(take_shape(name, json_object_get(entry, "shape"), &tensor->shape));
    const int64_t bytes = cse_shape_elements(tensor->shape) * (tensor->is_wide ? 8 : 4);
    if (json_array_size(range) != 2 || begin < 0 || end < begin || (uint64_t)end > size ||
        end - begin != bytes)
        return cse_fail(CSE_DATA, "tensor \"%.60s\" has data_offsets that do not fit its shape",
                        name);
    tensor->values = values + begin;
    tensor->name = cse_strdup(name);
    answer->count++;
    return CSE_OK;
}

static cse_status take_all(cse_answer_tensors *answer, const json_t *root,
                           const unsigned char *values, size_t size)
{
    const char *name;
    json_t *entry;
    json_object_foreach((json_t *)(uintptr_t)root, name, entry)
    {
        if (strcmp(name, "__metadata__") != 0) {
            CSE_TRY(take_tensor(answer, name, entry, values, size));
            continue;
        }
        const char *count = json_string_value(json_object_get(entry, "sample_count"));
        answer->sample_count = count != NULL ? strtoll(count, NULL, 10) : 0;
    }
    return CSE_OK;
}

cse_status cse_answer_tensors_read(const unsigned char *bytes, size_t size,
                                   cse_answer_tensors *answer)
{
    uint64_t length = 0;
    cse_nesting where;
    json_error_t error;
    *answer = (cse_answer_tensors){ 0 };
    if (size >= LENGTH_BYTES)
        memcpy(&length, bytes, LENGTH_BYTES);
    if (size < LENGTH_BYTES || length > HEADER_MOST_BYTES || length > size - LENGTH_BYTES)
        return cse_fail(CSE_DATA, "it is no safetensors: its header has %" PRIu64 " of %zu bytes",
                        length, size);
    const char *header = (const char *)bytes + LENGTH_BYTES;
    if (!cse_nesting_json(header, length, MOST_LEVELS, &where))
        return cse_fail(CSE_DATA, "its header has more than %d levels", MOST_LEVELS);
    json_t *root = json_loadb(header, length, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(root)) {
        json_decref(root);
        return cse_fail(CSE_DATA, "its header is no JSON object: %s", error.text);
    }
    cse_status status =
        take_all(answer, root, bytes + LENGTH_BYTES + length, size - LENGTH_BYTES - (size_t)length);
    json_decref(root);
    if (status != CSE_OK)
        cse_answer_tensors_clear(answer);
    return status;
}

cse_status cse_answer_tensor_copy(const cse_answer_tensor *tensor, void *values)
{
    const int64_t count = cse_shape_elements(tensor->shape);
    int32_t *to = values;
    if (!tensor->is_wide) {
        memcpy(values, tensor->values, (size_t)count * 4);
        return CSE_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t value;
        memcpy(&value, tensor->values + 8 * i, sizeof value);
        if (value < INT32_MIN || value > INT32_MAX)
            return cse_fail(CSE_DATA, "tensor \"%.60s\" has %" PRId64 ", which is no int32",
                            tensor->name, value);
        to[i] = (int32_t)value;
    }
    return CSE_OK;
}
