/* Makes the kernel of a LIBRARY group: reads the group into a plan (which inputs are the operands,
 * which is the bias, whether there is a relu), then calls the maker that the product's op names. */
#include "engine/code/kernels/kernel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/code/kernels/plan.h"
#include "engine/code/kernels/scratch.h"

/* Whether the kernel rounds its result, adds a bias of bfloat16 to it and rounds again. */
static bool takes_narrow_bias(const cse_node *product)
{
    return product->op->kernel.types == CSE_KERNEL_ANY_FLOAT_AND_BIAS &&
           product->dtype == CSE_BFLOAT16 && !cse_node_is_tiled(product) &&
           cse_shape_elements(product->inputs[0]->shape) > 0;
}

/* The broadcast bias that `add` adds to the value of `last`, or NULL unless it is a vector along
 * the bias axis of `product`. A reshape between product and add is allowed if it keeps the rows
 * whole. */
static const cse_node *bias_of(const cse_node *product, const cse_node *last, const cse_node *add)
{
    int from_right = product->op->kernel.bias_axis;
    if (from_right == 0 || add->op->role != CSE_OP_ROLE_ADD ||
        (add->dtype != CSE_FLOAT32 && (add->dtype != CSE_BFLOAT16 || !takes_narrow_bias(product))))
        return NULL;
    int side = cse_node_storage(add->inputs[0]) == last ? 1 : 0;
    const cse_node *bias = add->inputs[side];
    if (cse_node_storage(add->inputs[1 - side]) != last || bias->op->kind != CSE_OP_BROADCAST)
        return NULL;
    cse_shape from = bias->inputs[0]->shape;
    int64_t channels = product->shape.dims[product->shape.rank - from_right];
    bool fits = from.rank >= from_right && add->shape.rank >= from_right &&
                add->shape.dims[add->shape.rank - from_right] == channels &&
                (from_right == 1 || cse_shape_equal(add->shape, product->shape));
    for (int i = 0; fits && i < from.rank; i++)
        fits = from.dims[i] == (i == from.rank - from_right ? channels : 1);
    const cse_node *stored = fits ? cse_node_storage(bias->inputs[0]) : NULL;
    return fits && stored->dtype == add->dtype && stored->op != &cse_op_constant ? bias : NULL;
}

bool cse_kernel_accepts(cse_node *const nodes[], int node_count, const cse_node *node)
{
    const cse_node *product = nodes[0], *last = nodes[node_count - 1];
    const cse_op_kernel *kernel = &product->op->kernel;
    cse_op_role role = node->op->role;
    bool computed = false;
    for (int i = 1; i < node_count; i++)
        computed = computed || nodes[i]->op->role == CSE_OP_ROLE_RELU ||
                   nodes[i]->op->role == CSE_OP_ROLE_STORE;
    if (kernel->make == NULL || kernel->results > 1 || last->op->role == CSE_OP_ROLE_STORE ||
        node->dtype != product->dtype)
        return false;
    if (role == CSE_OP_ROLE_STORE)
        return cse_node_storage(node->inputs[0]) == last;
    if (product->op->updates > 0 && product->input_count >= product->op->updates)
        return false;
    if (role == CSE_OP_ROLE_RELU)
        return kernel->bias_axis > 0 && !computed && cse_node_storage(node->inputs[0]) == last;
    return node_count == 1 && bias_of(product, last, node) != NULL;
}

const char *cse_kernel_plan_text(const cse_kernel_plan *plan, char *text, size_t size)
{
    char shape[128];
    int used = snprintf(text, size, "%s", plan->product->op->name);
    for (int i = 0; i < plan->product->input_count && used >= 0 && (size_t)used < size; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%s", i ? " x " : " ",
                         cse_shape_text(plan->product->inputs[i]->shape, shape, sizeof shape));
    return text;
}

bool cse_kernel_plan_has_one_type(const cse_kernel_plan *plan)
{
    bool one_type = true;
    for (int i = 0; i < plan->product->input_count && i < 2; i++)
        one_type = one_type && plan->operand_dtypes[i] == plan->dtype;
    return one_type;
}

/* The position of the stored value of `node` among the group's inputs. */
static cse_status find_input(cse_node *const inputs[], int count, cse_node *node, int *at)
{
    const cse_node *stored = cse_node_storage(node);
    for (*at = 0; *at < count; ++*at)
        if (inputs[*at] == stored)
            return CSE_OK;
    return cse_fail(CSE_INTERNAL, "%%%u (%s): input %%%u is not among the inputs of its group",
                    node->id, node->op->name, stored->id);
}

static cse_status read_epilogue(const cse_group *group, cse_node *const inputs[], int count,
                                cse_kernel_plan *plan)
{
    for (int i = 1; i < group->node_count; i++) {
        cse_node *node = group->nodes[i];
        const cse_node *last = group->nodes[i - 1];
        if (node->op->kind == CSE_OP_BROADCAST && i + 1 < group->node_count)
            continue;
        /* The bias's broadcast stands between the product and the add. */
        if (last->op->kind == CSE_OP_BROADCAST)
            last = group->nodes[i - 2];
        const cse_node *bias = bias_of(plan->product, last, node);
        if (bias != NULL && plan->bias < 0 && !plan->relu) {
            CSE_TRY(find_input(inputs, count, bias->inputs[0], &plan->bias));
            plan->narrow_bias = bias->dtype != CSE_FLOAT32;
        } else if (node->op->role == CSE_OP_ROLE_RELU && cse_node_storage(node->inputs[0]) == last)
            plan->relu = true;
        else if (node->op->role != CSE_OP_ROLE_STORE || i + 1 < group->node_count)
            return cse_fail(CSE_INTERNAL, "%%%u (%s): cannot be an epilogue of %s", node->id,
                            node->op->name, plan->product->op->name);
    }
    return CSE_OK;
}

static cse_status read_group(const cse_graph *graph, const cse_group *group, cse_kernel_plan *plan)
{
    cse_node *inputs[CSE_MAX_INPUTS];
    int count = cse_group_inputs(graph, group, inputs, CSE_MAX_INPUTS);
    const cse_node *product = group->nodes[0];
    if (count > CSE_MAX_INPUTS)
        return cse_fail(CSE_INTERNAL, "%%%u (%s): a library group of %d inputs", product->id,
                        product->op->name, count);
    *plan = (cse_kernel_plan){
        .graph = graph, .product = product, .dtype = product->dtype, .bias = -1
    };
    if (product->input_count > CSE_MAX_OPERANDS)
        return cse_fail(CSE_INTERNAL, "%%%u (%s): a kernel of %d operands", product->id,
                        product->op->name, product->input_count);
    for (int i = 0; i < product->input_count; i++) {
        plan->operand_dtypes[i] = product->inputs[i]->dtype;
        CSE_TRY(find_input(inputs, count, product->inputs[i], &plan->operands[i]));
    }
    plan->continues = product->op->updates > 0 && product->input_count >= product->op->updates;
    if (product->op->kernel.results <= 1)
        return read_epilogue(group, inputs, count, plan);
    for (int n = 0; n < group->node_count; n++) {
        int result = cse_node_result(group->nodes[n]);
        if (group->nodes[n]->op != product->op || result < 0 || result >= CSE_MAX_RESULTS)
            return cse_fail(CSE_INTERNAL, "%%%u (%s): cannot be a result of a run of %s",
                            group->nodes[n]->id, group->nodes[n]->op->name, product->op->name);
        plan->results[result] = group->nodes[n];
    }
    return CSE_OK;
}

cse_status cse_kernel_new(const cse_graph *graph, const cse_group *group, cse_kernel **kernel)
{
    cse_kernel_plan plan;
    *kernel = NULL;
    assert(group->kind == CSE_GROUP_LIBRARY && group->node_count > 0);
    CSE_TRY(read_group(graph, group, &plan));
    const cse_op_kernel *of = &plan.product->op->kernel;
    if (of->make == NULL)
        return cse_fail(CSE_UNAVAILABLE, "%%%u (%s): no library kernel computes this op",
                        plan.product->id, plan.product->op->name);
    if (cse_node_is_tiled(plan.product) && of->make_tiled != NULL)
        return of->make_tiled(&plan, kernel);
    bool one_type = cse_kernel_plan_has_one_type(&plan);
    bool native =
        of->types >= CSE_KERNEL_ANY_FLOAT ||
        (one_type && (plan.dtype == CSE_FLOAT32 ||
                      (plan.dtype == CSE_BFLOAT16 && of->types == CSE_KERNEL_BFLOAT16_TOO)));
    if (native && of->make(&plan, kernel) == CSE_OK)
        return CSE_OK;
    if ((one_type && plan.dtype == CSE_FLOAT32) || of->results > 1)
        return CSE_UNAVAILABLE;
    return cse_kernel_new_widened(&plan, of->make, kernel);
}

cse_status cse_kernel_scratch_bytes(const cse_graph *graph, int64_t *bytes)
{
    cse_kernel **kernels = cse_calloc((size_t)graph->group_count + 1, sizeof *kernels);
    cse_status status = CSE_OK;
    for (int g = 0; g < graph->group_count && status == CSE_OK; g++)
        if (graph->groups[g].kind == CSE_GROUP_LIBRARY)
            status = cse_kernel_new(graph, &graph->groups[g], &kernels[g]);
    *bytes = (int64_t)cse_scratch_bytes(graph);
    for (int g = 0; g < graph->group_count; g++)
        if (kernels[g] != NULL)
            cse_kernel_destroy(&kernels[g]);
    free(kernels);
    return status;
}
