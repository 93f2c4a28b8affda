/* Constant tensors from data. A table of data is a state that no step changes: its values are
 * filled into the memory that all processes of a run share, once, and no process has a copy of its
 * own or finds them in generated code. The state's name is the digest of what it holds: the key of
 * a compiled step has it, and a step that is traced again finds the table that is there. */
#include <stdio.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/types/dtype.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/network.h"

/* How a type is kept: states are float32 or int32, which hold the others exactly. */
static cse_dtype kept_type(cse_dtype dtype)
{
    return dtype == CSE_INT32 || dtype == CSE_BOOL ? CSE_INT32 : CSE_FLOAT32;
}

static void widen(cse_dtype dtype, const void *bytes, int64_t elements, void *values)
{
    const uint16_t *bits = bytes;
    const unsigned char *flags = bytes;
    int32_t *integers = values;
    float *floats = values;
    if (dtype == CSE_FLOAT32 || dtype == CSE_INT32) {
        memcpy(values, bytes, (size_t)elements * 4);
        return;
    }
    for (int64_t i = 0; i < elements; i++)
        if (dtype == CSE_BOOL)
            integers[i] = flags[i] != 0;
        else
            floats[i] = cse_float_from_format(dtype, bits[i]);
}

static cse_state *find(const cse_network *network, const char *name)
{
    const int index = cse_name_index_find(&network->state_names, name);
    return index >= 0 ? network->states[index] : NULL;
}

static cse_state *table_of(cse_network *network, const cse_checkpoint_tensor *table)
{
    char digits[CSE_DIGEST_DIGITS + 1], name[64];
    cse_checkpoint_tensor_digest(table, digits);
    snprintf(name, sizeof name, "constants.%.32s", digits);
    cse_state *state = find(network, name);
    if (state != NULL)
        return state;
    state = cse_network_add_state(network, name,
                                  &(cse_state_options){ .shape = table->shape,
                                                        .dtype = kept_type(table->dtype),
                                                        .transient = true });
    state->constant = true;
    widen(table->dtype, table->data, cse_shape_elements(table->shape), cse_state_own_values(state));
    return state;
}

cse_tensor *cse_constant_data(cse_step *step, cse_shape shape, cse_dtype dtype, const void *bytes)
{
    char text[128];
    cse_network *network = cse_network_tracing_view("cse_constant_data");
    (void)step; /* as in the other calls, NULL is the step that is traced */
    if (network == NULL)
        return NULL;
    bool sound =
        bytes != NULL && dtype < CSE_DTYPE_COUNT && shape.rank >= 0 && shape.rank <= CSE_MAX_RANK;
    for (int i = 0; sound && i < shape.rank; i++)
        sound = shape.dims[i] > 0;
    if (!sound)
        return cse_trace_fail(CSE_SHAPE,
                              "cse_constant_data: takes a shape of sizes from 1 on, a type and the "
                              "elements%s%s",
                              bytes == NULL                                   ? ", which are NULL"
                              : shape.rank >= 0 && shape.rank <= CSE_MAX_RANK ? ", not shape "
                                                                              : "",
                              bytes != NULL && shape.rank >= 0 && shape.rank <= CSE_MAX_RANK
                                  ? cse_shape_text(shape, text, sizeof text)
                                  : "");
    const cse_checkpoint_tensor table = {
        .name = "constant", .dtype = dtype, .shape = shape, .data = (void *)(uintptr_t)bytes
    };
    cse_tensor *value = cse_read(table_of(network, &table));
    return cse_tensor_dtype(value) == dtype ? value : cse_cast(value, dtype);
}
