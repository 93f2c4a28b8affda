/* The precision report: class, types and accumulation of every op, as text and as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/graph/precision/graphamp.h"

typedef struct totals {
    int ops, sets[3];
    int casts_low, casts_wide, casts_weights;
    int products, products_low;
    int64_t bytes, bytes_float32; /* of all float values, as typed and as if they were float32 */
} totals;

static bool is_listed(const cse_node *node)
{
    return node->input_count > 0 && node->op->kind != CSE_OP_STRUCTURAL && !node->inserted_cast;
}

static int casts_of(const cse_node *node)
{
    int count = 0;
    for (int i = 0; i < node->input_count; i++)
        count += node->inputs[i]->inserted_cast;
    return count;
}

static const char *short_type(cse_dtype dtype)
{
    static const char *const names[CSE_DTYPE_COUNT] = { "fp32", "bf16",  "fp16",
                                                        "cb16", "int32", "bool" };
    return names[dtype];
}

enum { SUM_BYTES = 64 };

/* How the node's sum is permitted to be accumulated: "fp32", "fp32 in 64, bf16 across", or "-"
 * where the policy concerns no sum. */
static const char *permitted_text(const cse_node *node, char text[SUM_BYTES])
{
    const cse_accumulation *a = &node->accumulation;
    if (!cse_pol_applies(node->op))
        snprintf(text, SUM_BYTES, "-");
    else if (a->across == CSE_FLOAT32)
        snprintf(text, SUM_BYTES, "fp32");
    else
        snprintf(text, SUM_BYTES, "fp32 in %d, %s%s across", (int)a->tile_length,
                 short_type(a->across), a->stochastic ? " stochastic" : "");
    size_t used = strlen(text);
    if (a->arithmetic != CSE_FLOAT32)
        snprintf(text + used, SUM_BYTES - used, ", in %s", short_type(a->arithmetic));
    return text;
}

/* How this run accumulates it: as permitted where that is emulated, else in float32. */
static const char *executed_text(const cse_node *node, char text[SUM_BYTES])
{
    permitted_text(node, text);
    if (!node->accumulation.emulated && cse_pol_applies(node->op))
        snprintf(text, SUM_BYTES, "fp32");
    return text;
}

static const char *reason_of(const cse_node *node)
{
    return node->precision_reason ? node->precision_reason : "precision is off";
}

static void count_node(totals *t, const cse_node *node)
{
    int64_t elements = cse_shape_elements(node->shape);
    if (node->op == &cse_op_constant)
        return;
    if (cse_dtype_is_float(node->dtype)) {
        t->bytes += elements * (int64_t)cse_dtype_size(node->dtype);
        t->bytes_float32 += elements * (int64_t)cse_dtype_size(CSE_FLOAT32);
    }
    if (node->inserted_cast) {
        t->casts_low += node->dtype != CSE_FLOAT32;
        t->casts_wide += node->dtype == CSE_FLOAT32;
        t->casts_weights += node->inputs[0]->op == &cse_op_state;
    }
    if (!is_listed(node))
        return;
    t->ops++;
    t->sets[node->precision_class]++;
    if (node->op->precision == CSE_FAMILY_PRODUCT) {
        cse_dtype type = node->inputs[0]->dtype;
        t->products++;
        t->products_low += cse_dtype_is_float(type) && type != CSE_FLOAT32;
    }
}

static totals totals_of(const cse_graph *graph)
{
    totals t = { 0 };
    for (int n = 0; n < graph->node_count; n++)
        count_node(&t, graph->nodes[n]);
    return t;
}

/* ---- text ---- */

/* op, set, reads, "->", gives, sums permitted, sums executed */
#define ROW_FORMAT "%-24s %-5s  %-16s %s %-5s  %-26s %-26s"

static void print_row(const cse_node *node, cse_text *out)
{
    char types[128] = "", permitted[SUM_BYTES], executed[SUM_BYTES];
    for (int i = 0; i < node->input_count; i++) {
        size_t used = strlen(types);
        snprintf(types + used, sizeof types - used, "%s%s", i ? "," : "",
                 short_type(node->inputs[i]->dtype));
    }
    cse_text_add(out, ROW_FORMAT " %d  %s%s  # %s\n", node->op->name,
                 cse_precision_class_name(node->precision_class), types, "->",
                 short_type(node->dtype), permitted_text(node, permitted),
                 executed_text(node, executed), casts_of(node), node->scope[0] ? node->scope : "-",
                 node->backward ? " (backward)" : "", reason_of(node));
}

void cse_precision_report(const cse_graph *graph, const char *step, cse_text *out)
{
    const totals t = totals_of(graph);
    cse_text_add(out, "# precision of the %s step\n", step);
    cse_text_add(out, ROW_FORMAT " %s\n", "op", "set", "reads", "  ", "gives", "sums: permitted",
                 "sums: executed", "casts  scope  # why");
    for (int n = 0; n < graph->node_count; n++)
        if (is_listed(graph->nodes[n]))
            print_row(graph->nodes[n], out);
    cse_text_add(out,
                 "ops: %d (allow %d, infer %d, deny %d); products: %d, %d of them in 16 bits\n"
                 "casts added: %d to 16 bits (%d of weights), %d to float32\n"
                 "float values: %lld bytes, %lld as float32\n",
                 t.ops, t.sets[CSE_ALLOW], t.sets[CSE_INFER], t.sets[CSE_DENY], t.products,
                 t.products_low, t.casts_low, t.casts_weights, t.casts_wide, (long long)t.bytes,
                 (long long)t.bytes_float32);
}

/* ---- JSON ---- */

static void add_string(cse_text *out, const char *key, const char *value)
{
    cse_text_add(out, "\"%s\":", key);
    cse_json_add_string(out, value);
    cse_text_add_bytes(out, ",", 1);
}

static void json_row(const cse_node *node, cse_text *out)
{
    const cse_accumulation *a = &node->accumulation;
    char permitted[SUM_BYTES], executed[SUM_BYTES];
    cse_text_add_bytes(out, "{", 1);
    add_string(out, "op", node->op->name);
    add_string(out, "scope", node->scope);
    cse_text_add(out, "\"backward\":%s,", node->backward ? "true" : "false");
    add_string(out, "set", cse_precision_class_name(node->precision_class));
    add_string(out, "why", reason_of(node));
    cse_text_add(out, "\"in\":[");
    for (int i = 0; i < node->input_count; i++)
        cse_text_add(out, "%s\"%s\"", i > 0 ? "," : "", cse_dtype_name(node->inputs[i]->dtype));
    cse_text_add(out, "],\"out\":\"%s\",", cse_dtype_name(node->dtype));
    add_string(out, "permitted", permitted_text(node, permitted));
    add_string(out, "executed", executed_text(node, executed));
    cse_text_add(out,
                 "\"accumulation\":{\"dtype\":\"%s\",\"stochastic\":%s,\"emulated\":%s,"
                 "\"arithmetic\":\"%s\",\"tile_length\":%d},\"casts\":%d}",
                 cse_dtype_name(a->across), a->stochastic ? "true" : "false",
                 a->emulated ? "true" : "false", cse_dtype_name(a->arithmetic), (int)a->tile_length,
                 casts_of(node));
}

void cse_precision_report_json(const cse_graph *graph, const char *step, cse_text *out)
{
    const totals t = totals_of(graph);
    bool first = true;
    cse_text_add_bytes(out, "{", 1);
    add_string(out, "step", step);
    cse_text_add(out, "\"ops\":[");
    for (int n = 0; n < graph->node_count; n++) {
        if (!is_listed(graph->nodes[n]))
            continue;
        if (!first)
            cse_text_add_bytes(out, ",", 1);
        json_row(graph->nodes[n], out);
        first = false;
    }
    cse_text_add(out,
                 "],\"totals\":{\"ops\":%d,\"allow\":%d,\"infer\":%d,\"deny\":%d,\"products\":%d,"
                 "\"products_low\":%d,\"casts_low\":%d,\"casts_weights\":%d,\"casts_float32\":%d,"
                 "\"float_bytes\":%lld,\"float_bytes_float32\":%lld}}\n",
                 t.ops, t.sets[CSE_ALLOW], t.sets[CSE_INFER], t.sets[CSE_DENY], t.products,
                 t.products_low, t.casts_low, t.casts_weights, t.casts_wide, (long long)t.bytes,
                 (long long)t.bytes_float32);
}
