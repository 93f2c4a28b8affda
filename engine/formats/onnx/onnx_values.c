/* The values that a node of the ONNX graph has as inputs. */
#include "engine/formats/onnx/onnx_writer.h"

#include <string.h>

const char *cse_onnx_value(cse_onnx *o, const cse_node *node)
{
    if (o->error != CSE_OK)
        return NULL;
    if (o->values[node->scratch] == NULL)
        o->values[node->scratch] = o->write(o, node);
    return o->values[node->scratch];
}

bool cse_onnx_is_broadcast(const cse_node *node)
{
    return strcmp(node->op->name, "broadcast_to") == 0;
}

const char *cse_onnx_narrow_value(cse_onnx *o, const cse_node *node)
{
    while (cse_onnx_is_broadcast(node))
        node = node->inputs[0];
    return cse_onnx_value(o, node);
}

/* Operators broadcast as ours do, so that one input of the whole shape is enough. */
void cse_onnx_elementwise_inputs(cse_onnx *o, const cse_node *node, const char *values[])
{
    bool whole = false;
    for (int i = 0; i < node->input_count; i++)
        whole = whole || !cse_onnx_is_broadcast(node->inputs[i]);
    for (int i = 0; i < node->input_count; i++)
        values[i] = whole || i > 0 ? cse_onnx_narrow_value(o, node->inputs[i])
                                   : cse_onnx_value(o, node->inputs[i]);
}
