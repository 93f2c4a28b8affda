/* What a step takes is known when it is planned, and a plan consumes its graph: so each way to run
 * it is traced anew and planned, and only the sizes are kept. The settings that are tried change
 * memory and time, never what is learned but for the order of sums: recomputation, no copy of the
 * states while steps run, smaller microbatches, fewer replicas. */
#include "run/execution/fit_memory.h"

#include <math.h>

#include "dataloader/input.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/code/kernels/kernel.h"
#include "engine/graph/passes/pass.h"
#include "run/session/traced_step.h"
#include "workers/control/execution_needs.h"

typedef struct way {
    int64_t micro_batch_size;
    int replicas;
    bool copies_states;
    bool recomputes; /* by `recompute`; else as the configuration says */
    cse_recompute_request recompute;
} way;

typedef struct fitting {
    cse_runner *runner;
    const cse_execution *execution;
    int64_t limit;
    cse_execution_needs needs; /* of the way that was tried last */
    int64_t least_bytes;       /* of all ways that were tried; 0: none yet */
} fitting;

#define MIB(bytes) ((double)(bytes) / (1 << 20))

static int64_t peak_of(const cse_execution_needs *needs)
{
    return cse_execution_steps_bytes(needs) + needs->checkpoint_bytes;
}

static cse_status plan(fitting *f, const way *w, cse_step *step)
{
    cse_execution execution = *f->execution;
    execution.graph = step->graph;
    execution.cluster.num_csx = w->replicas;
    execution.copies_states = w->copies_states;
    if (w->recomputes)
        step->graph->recompute = &w->recompute;
    CSE_TRY(cse_passes_run(step->graph, NULL));
    CSE_TRY(cse_kernel_scratch_bytes(step->graph, &execution.scratch_bytes));
    CSE_TRY(cse_execution_needs_find(&execution, &f->needs));
    const int64_t bytes = peak_of(&f->needs);
    f->least_bytes = f->least_bytes == 0 || bytes < f->least_bytes ? bytes : f->least_bytes;
    return CSE_OK;
}

static cse_status trial(fitting *f, const way *w)
{
    cse_runner *r = f->runner;
    cse_step *step = NULL;
    cse_graph *graph = cse_graph_of_size(r->loader, w->micro_batch_size);
    cse_status status = cse_step_trace_graph(r->session, graph, r->function, r->self, &step);
    if (status == CSE_OK)
        status = plan(f, w, step);
    cse_step_destroy(&step);
    return status;
}

/* As it is, and with as much recomputation as it needs; *w becomes what fits. False: neither does,
 * or it cannot be planned so. */
static bool fits(fitting *f, way *w)
{
    const bool may_recompute =
        f->runner->step->training && f->runner->session->opened.recompute == NULL;
    if (trial(f, w) != CSE_OK)
        return false;
    const int64_t excess = peak_of(&f->needs) - f->limit;
    if (excess <= 0 || !may_recompute)
        return excess <= 0;
    const cse_execution_needs without = f->needs;
    const int64_t room =
        without.workspace_bytes - (excess + without.replicas - 1) / without.replicas;
    w->recomputes = true;
    w->recompute.memory_limit_bytes = room > 0 ? room : 0;
    bool enough = room > 0 && trial(f, w) == CSE_OK && peak_of(&f->needs) <= f->limit;
    w->recompute.memory_limit_bytes = enough ? room : 0; /* 0: all regions */
    enough = enough || (trial(f, w) == CSE_OK && peak_of(&f->needs) <= f->limit);
    if (!enough)
        f->needs = without;
    w->recomputes = enough;
    return enough;
}

/* ---- the refusal ---- */

static void tell_parts(const cse_execution_needs *n, cse_text *out)
{
    cse_text_add(out, "%.1f MiB at most (shared by all processes %.1f, %d replica%s %.1f each, ",
                 MIB(peak_of(n)), MIB(n->arena_bytes), n->replicas, n->replicas > 1 ? "s" : "",
                 MIB(n->replica_bytes));
    if (n->weight_servers > 0)
        cse_text_add(out, "%d weight server%s %.1f each, ", n->weight_servers,
                     n->weight_servers > 1 ? "s" : "", MIB(n->weight_server_bytes));
    cse_text_add(out, "%d input worker%s %.1f each, the coordinator %.1f", n->input_workers,
                 n->input_workers > 1 ? "s" : "", MIB(n->input_worker_bytes),
                 MIB(n->coordinator_bytes));
    if (n->checkpoint_bytes > 0)
        cse_text_add(out, ", a copy of the states for checkpoints %.1f", MIB(n->checkpoint_bytes));
    cse_text_add(out, ")");
}

static void tell_way(const fitting *f, const way *asked, const way *w, cse_text *out)
{
    const char *between = "";
    if (w->micro_batch_size != asked->micro_batch_size) {
        cse_text_add(out, "micro_batch_size: %lld", (long long)w->micro_batch_size);
        between = " and ";
    }
    if (w->replicas != asked->replicas) {
        cse_text_add(out, "%snum_csx: %d", between, w->replicas);
        between = " and ";
    }
    if (w->copies_states != asked->copies_states)
        cse_text_add(out,
                     "%scheckpoint: {steps: null, minutes: 0}, which writes the last one alone",
                     between);
    cse_text_add(out, " (%.1f MiB%s)", MIB(peak_of(&f->needs)),
                 w->recomputes ? ", with activations computed again" : "");
}

/* Nearest first: what changes least of the run. */
static bool find_nearest(fitting *f, const way *asked, way *found)
{
    for (int replicas = asked->replicas; replicas >= 1; replicas /= 2)
        for (int copies = asked->copies_states; copies >= 0; copies--)
            for (int64_t size = asked->micro_batch_size; size >= 1; size /= 2) {
                *found = (way){ .micro_batch_size = size,
                                .replicas = replicas,
                                .copies_states = copies != 0 };
                if (size * 2 > asked->micro_batch_size && replicas == asked->replicas &&
                    copies == asked->copies_states)
                    continue; /* what was asked for */
                if (asked->micro_batch_size % size == 0 && fits(f, found))
                    return true;
            }
    return false;
}

static cse_status refuse(fitting *f, const way *asked)
{
    cse_text text = { 0 }, hint = { 0 };
    way nearest = *asked;
    tell_parts(&f->needs, &text);
    const bool found = f->runner->step->training && find_nearest(f, asked, &nearest);
    if (found) {
        cse_text_add(&hint, "the nearest that fits: ");
        tell_way(f, asked, &nearest, &hint);
    } else {
        cse_text_add(&hint,
                     "neither recomputation nor a smaller micro_batch_size or fewer replicas "
                     "suffice: memory_limit: %.0fMiB is the least that was found",
                     ceil(MIB(f->least_bytes)));
    }
    const cse_status status = cse_fail_at(
        &(cse_error){ .status = CSE_CONFIG, .hint = hint.data },
        "memory_limit: the run takes %s, and the limit is %.1f MiB", text.data, MIB(f->limit));
    cse_text_clear(&text);
    cse_text_clear(&hint);
    return status;
}

cse_status cse_runner_fit_memory(cse_runner *r, const cse_execution *execution)
{
    fitting f = { .runner = r,
                  .execution = execution,
                  .limit = r->session->opened.memory_limit_bytes };
    const cse_batching *batching = cse_dataloader_batching_view(r->loader);
    const way asked = { .micro_batch_size = batching->micro_batch_size,
                        .replicas = execution->cluster.num_csx,
                        .copies_states = execution->copies_states };
    way chosen = asked;
    if (f.limit == 0)
        return CSE_OK;
    if (!fits(&f, &chosen))
        return f.needs.cores > 0 ? refuse(&f, &asked) : trial(&f, &asked);
    if (!chosen.recomputes)
        return CSE_OK;
    cse_recompute_request *request = cse_arena_alloc(r->session->arena, sizeof *request);
    *request = chosen.recompute;
    r->step->graph->recompute = request;
    cse_log_line(CSE_LOG_INFO,
                 "memory_limit: activations are computed again in the backward pass, as few as "
                 "needed: %.1f MiB at most",
                 MIB(peak_of(&f.needs)));
    return CSE_OK;
}
