/* What quantization schemes read of the tensors of one packed matrix. */
#include <stdlib.h>

#include "engine/base/error.h"
#include "engine/formats/weights/quantized/quantization.h"

const cse_weight *cse_quantized_part(const cse_quantized *q, int part)
{
    return &q->from->list[q->parts[part]];
}

cse_status cse_quantized_read(const cse_quantized *q, int part, cse_element element,
                              void **elements)
{
    const cse_weight *weight = cse_quantized_part(q, part);
    const size_t count = (size_t)cse_weight_bytes(weight) / cse_element_bytes(weight->element);
    *elements = cse_malloc(count * cse_element_bytes(element) + 1);
    return cse_weights_read_as(q->from, q->parts[part], element, *elements);
}

int64_t cse_quantized_setting(const cse_quantized *q, const char *name, int64_t otherwise)
{
    const json_t *value = json_object_get(q->config, name);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

void cse_quantized_keep(cse_quantized *q, const cse_packed_type *type)
{
    if (q->shape.dims[1] % type->elements == 0)
        q->packed = type;
    else
        q->why_unpacked = "its rows are no whole blocks";
}

cse_status cse_quantized_refuse(const cse_quantized *q, int part, const char *what)
{
    return q->parts[part] >= 0
               ? cse_fail(CSE_DATA, "%s: '%s', of the packed '%s', %s", q->from->path,
                          cse_quantized_part(q, part)->name, q->name, what)
               : cse_fail(CSE_DATA, "%s: '%.*s%s', of the packed '%s', %s", q->from->path,
                          (int)q->stem, q->name, q->scheme->ends[part], q->name, what);
}
