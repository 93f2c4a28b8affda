/* Identities of ops: see the header. */
#include "engine/graph/trace/identities.h"

#include "engine/base/types/shape.h"

bool cse_node_number(const cse_node *node, double *number)
{
    while (node->op->kind == CSE_OP_BROADCAST || node->op->kind == CSE_OP_RESHAPE)
        node = node->inputs[0];
    if (node->op != &cse_op_constant || node->shape.rank != 0)
        return false;
    *number = node->attributes.numbers[0];
    return true;
}

static bool is_everywhere(const cse_node *node, double wanted)
{
    double number;
    return cse_node_number(node, &number) && number == wanted;
}

cse_tensor *cse_drop_neutral_right(const cse_tensor *node, double neutral)
{
    return is_everywhere(node->inputs[1], neutral) ? node->inputs[0] : NULL;
}

cse_tensor *cse_drop_neutral(const cse_tensor *node, double neutral)
{
    cse_tensor *left = cse_drop_neutral_right(node, neutral);
    return left == NULL && is_everywhere(node->inputs[0], neutral) ? node->inputs[1] : left;
}

cse_tensor *cse_drop_same_shape(cse_tensor *node)
{
    bool same = cse_shape_equal(node->shape, node->inputs[0]->shape) &&
                node->dtype == node->inputs[0]->dtype;
    return same ? node->inputs[0] : NULL;
}
