/* An input that several ops read must suit each of them. */
#include "engine/graph/trace/input_range.h"

#include "engine/graph/trace/trace.h"

int cse_range_input(const cse_node *indices)
{
    while (indices->op->kind == CSE_OP_RESHAPE || indices->op->kind == CSE_OP_BROADCAST)
        indices = indices->inputs[0];
    return indices->op == &cse_op_input ? (int)indices->attributes.integers[0] : -1;
}

void cse_note_range(cse_graph *graph, const cse_node *indices, int64_t count, int32_t ignored,
                    const char *use)
{
    const int input = cse_range_input(indices);
    if (input < 0)
        return;
    cse_input_entry *entry = &graph->inputs[input];
    /* An index below the number is accepted as what it is. */
    const int32_t besides = (ignored >= 0 && ignored < count) || ignored == INT32_MIN ? 0 : ignored;
    const bool is_first = entry->index_count == 0;
    if (is_first || count < entry->index_count) {
        entry->index_count = count;
        entry->index_use = use;
    }
    entry->index_ignored = is_first || entry->index_ignored == besides ? besides : 0;
}

void cse_note_label_range(const cse_node *labels, int64_t classes, int32_t ignored)
{
    cse_graph *graph = cse_trace_graph();
    const char *scope = cse_trace_scope_view();
    if (!cse_trace_is_poison(labels))
        cse_note_range(graph, labels, classes, ignored,
                       cse_arena_printf(graph->arena, "the number of classes of %s",
                                        scope[0] != '\0' ? scope : "nll_loss"));
}
