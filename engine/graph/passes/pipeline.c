/* The list of passes, in order, and the loop that runs them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/registry.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/precision/graphamp.h"
#include "engine/graph/trace/trace.h"

const cse_pass cse_passes[] = {
    { "input_indices", "inputs that hold indices, and how many values they may have",
      cse_pass_input_indices, true },
    { "autodiff", "gradients of losses become nodes", cse_pass_autodiff, true },
    { "attention", "attentions that one kernel computes", cse_pass_attention, false },
    { "precision", "16-bit types for edges, casts, how sums accumulate", cse_pass_precision,
      false },
    { "expand", "composite ops become the ops they stand for", cse_pass_expand, true },
    { "sample_sums", "gradients as sums over the samples of a microbatch", cse_pass_sample_sums,
      true },
    { "simplify", "constant folding, common subexpressions, identities, dead nodes",
      cse_pass_simplify, false },
    { "packed_weights", "products and look-ups that read packed weights block by block",
      cse_pass_packed_weights, false },
    { "row_pieces", "products with long rows, and what follows them, in pieces of their rows",
      cse_pass_row_pieces, false },
    { "recompute", "activations that the backward pass computes again", cse_pass_recompute, false },
    { "partition", "replica, reduction, weight and update programs", cse_pass_partition, true },
    { "fusion", "nodes that run as one loop or one library call", cse_pass_fusion, false },
    { "order", "the order of the groups in each program", cse_pass_order, false },
    { "memory_plan", "an offset for each stored value", cse_pass_memory_plan, false },
    { "numerics", "tensors that statistics are taken of", cse_pass_numerics, false },
    { NULL, NULL, NULL, false },
};

static bool listed(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = names; at != NULL && *at != '\0'; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static cse_status check_disable(const char *names)
{
    char word[64];
    const char *known[32] = { NULL };
    for (int i = 0; cse_passes[i].name != NULL; i++)
        known[i] = cse_passes[i].name;
    for (const char *at = names; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        at += length + (at[length] == ',');
        const cse_pass *pass = cse_passes;
        while (pass->name != NULL && strcmp(pass->name, word) != 0)
            pass++;
        const char *near = cse_did_you_mean(word, known);
        if (pass->name == NULL)
            return cse_fail(CSE_CONFIG, "CSE_DISABLE: there is no pass '%s'%s%s%s", word,
                            near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
        if (pass->required)
            return cse_fail(CSE_CONFIG, "CSE_DISABLE: pass '%s' cannot be switched off", word);
    }
    return CSE_OK;
}

static const char *disabled(const cse_passes_options *options)
{
    return options && options->disable ? options->disable : getenv("CSE_DISABLE");
}

static void describe_recompute(const cse_recompute_request *recompute, cse_text *out)
{
    if (recompute == NULL)
        return;
    cse_text_add(out, "recompute %lld\n", (long long)recompute->memory_limit_bytes);
    for (int p = 0; p < recompute->pattern_count; p++)
        cse_text_add(out, "region %s\n", recompute->patterns[p]);
}

void cse_passes_describe(const cse_graph *graph, const cse_passes_options *options, cse_text *out)
{
    const char *disable = disabled(options);
    cse_text_add(out, "disable %s\n", disable != NULL ? disable : "");
    if (graph->precision != NULL)
        cse_precision_describe(graph->precision, out);
    describe_recompute(graph->recompute, out);
    if (graph->sums_samples)
        cse_text_add(out, "gradients are sums over samples\n");
    if (graph->streams_states)
        cse_text_add(out, "streams states\n");
    if (graph->numerics == NULL)
        return;
    /* Not how often: that is of the run, and does not change the code. */
    cse_text_add(out, "numerics %d\n", graph->numerics->every > 0);
    for (int p = 0; p < graph->numerics->pattern_count; p++)
        cse_text_add(out, "pattern %s\n", graph->numerics->patterns[p]);
    if (graph->numerics->values != NULL)
        cse_text_add(out, "values %s\n", graph->numerics->values);
}

cse_status cse_passes_run(cse_graph *graph, const cse_passes_options *options)
{
    const char *disable = disabled(options);
    CSE_TRY(cse_trace_status(graph));
    CSE_TRY(check_disable(disable));
    for (const cse_pass *pass = cse_passes; pass->name != NULL; pass++) {
        cse_status status = pass->run(graph, !listed(disable, pass->name));
        if (status == CSE_OK)
            status = cse_graph_verify(graph);
        if (status != CSE_OK)
            return cse_fail_within(status, "pass %s: ", pass->name);
        if (options && options->after)
            options->after(options->self, pass, graph);
    }
    return CSE_OK;
}
