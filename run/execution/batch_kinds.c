/* Every sample counts, also where the last batch of an epoch is smaller than the others, and one
 * that is left out (`without`) counts nowhere.
 *
 * Nothing is filled up and masked: a step of a program may do anything with the rows of its batch,
 * and only a batch that has no other rows is right for all of it. So the step is traced and
 * compiled another time for each smaller size, whose microbatches are all of one size, too, and an
 * execution ends where another kind of batch follows; the next one goes on with the same states
 * (run.c). A run without such batches is one execution, and nothing of it is different.
 *
 * Whether a step trains is known when it has been traced, and with that, whether last batches are
 * left out, which of the steps it begins with, and whether means of microbatches differ in weight:
 * what was taken for granted may turn out to be wrong, and then it is traced again. */
#include "run/execution/batch_kinds.h"

#include <inttypes.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "engine/nn/configured.h"
#include "run/execution/compile_step.h"
#include "run/execution/standing_arena.h"

/* What was told already, the newest first. */
struct cse_told {
    const char *text;
    const struct cse_told *next;
};

static bool was_told(cse_session *session, const char *text)
{
    for (const struct cse_told *told = session->execution.told_of_last; told != NULL;
         told = told->next)
        if (strcmp(told->text, text) == 0)
            return true;
    struct cse_told *told = cse_arena_alloc(session->arena, sizeof *told);
    *told = (struct cse_told){ .text = text, .next = session->execution.told_of_last };
    session->execution.told_of_last = told;
    return false;
}

/* Once for each kind of step and data. */
static void tell_left_out(const cse_runner *r)
{
    const cse_input *input = cse_dataloader_input_view(r->loader);
    const int64_t left = cse_dataloader_last_samples(r->loader);
    if (!r->drops_last || left == 0 || r->session->hooks.follows)
        return;
    const char *text = cse_arena_printf(
        r->session->arena,
        "%s leaves out %" PRId64 " of %" PRId64 " samples in each epoch: they do not fill a batch "
        "of %" PRId64 "; with drop_last: false they are a batch of their own",
        r->step->training ? "training" : "the evaluation", left, input->sample_count,
        cse_dataloader_batching_view(r->loader)->batch_size);
    if (!was_told(r->session, text))
        cse_log_line(CSE_LOG_INFO, "%s", text);
}

/* A model in evaluation mode is evaluated; a program need not have said so. A frozen one beside it
 * always is in that mode. */
static bool may_train(const cse_session *session)
{
    for (int i = 0; i < session->network.model_count; i++)
        if (session->network.models[i]->role == NULL && !session->network.models[i]->training)
            return false;
    return true;
}

/* The next step that is run, counted over all epochs. */
static int64_t next_step(const cse_runner *r, bool training)
{
    if (training && r->found)
        return r->facts.end_step - 1; /* all batches of an execution are of one kind */
    return r->follows || !training ? r->at : r->session->training.global_step;
}

/* A step that is not run, as for a plan, is that of a whole batch, even where the first one lacks
 * samples that are left out. */
static bool wants_whole(const cse_runner *r, int64_t batch_size)
{
    const cse_configuration *c = &r->session->configuration;
    return (c->compile_only || c->validate_only) && !r->follows &&
           cse_dataloader_batching_view(r->loader)->without != NULL &&
           cse_dataloader_input_view(r->loader)->sample_count >= batch_size;
}

/* Returns whether batches are read as before, or there are none but whole ones. */
static bool choose(cse_runner *r, bool training)
{
    const cse_batching before = *cse_dataloader_batching_view(r->loader);
    cse_dataloader_choose_kind(r->loader, (cse_batch_kind){ .dropped = r->drops_last });
    if (!wants_whole(r, before.batch_size))
        cse_dataloader_choose_kind(r->loader,
                                   cse_dataloader_kind_of(r->loader, next_step(r, training)));
    const cse_batching *now = cse_dataloader_batching_view(r->loader);
    return now->smaller == before.smaller &&
           (cse_dataloader_last_samples(r->loader) == 0 || now->drop_last == before.drop_last);
}

cse_status cse_runner_check_batch(const cse_runner *r)
{
    const int64_t step = r->first_step;
    if (r->last_step == step || cse_dataloader_batch_samples(r->loader, step) > 0)
        return CSE_OK;
    return cse_fail(CSE_CONFIG,
                    "data loader: without leaves out all samples of the batch of step %" PRId64
                    ": at least one must be left of each batch; leave out fewer, or give a larger "
                    "batch_size",
                    step + 1);
}

/* As PyTorch refuses it: what is normalized would be 0. Microbatches of a smaller batch may be
 * smaller than those that the user has chosen. */
static cse_status check_batch_norm(const cse_runner *r)
{
    const cse_batching *batching = cse_dataloader_batching_view(r->loader);
    const cse_graph *graph = r->step->graph;
    if (batching->smaller == 0)
        return CSE_OK;
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        if (node->op != &cse_op_batch_norm || cse_shape_elements(node->shape) > node->shape.dims[1])
            continue;
        return cse_fail(CSE_CONFIG,
                        "data loader: the last batch of an epoch, or one that samples are left "
                        "out of (without), has %" PRId64 " samples, and microbatches of %" PRId64
                        ", of which batch norm has no variance: leave last batches out "
                        "(drop_last: true), or give another batch_size or micro_batch_size",
                        batching->smaller, batching->micro_batch_size);
    }
    return CSE_OK;
}

static cse_status trace(cse_runner *r)
{
    cse_session *session = r->session;
    cse_step_tell_graph(session);
    cse_step_destroy(&r->step);
    session->execution.traces++;
    session->execution.loader = r->loader;
    cse_status status = cse_step_trace(session, r->loader, r->function, r->self, &r->step);
    if (r->step->training)
        session->training.batch_size = session->report.batch_size;
    return status == CSE_OK ? check_batch_norm(r) : status;
}

cse_status cse_runner_trace(cse_runner *r)
{
    const bool guessed = r->follows ? r->trains : may_train(r->session);
    if (cse_dataloader_drops_last(r->loader, r->input, guessed, &r->drops_last) != CSE_OK)
        r->drops_last = false; /* an evaluation may have less than a batch */
    choose(r, guessed);
    CSE_TRY(trace(r));
    r->trains = r->step->training;
    r->found = r->trains && !r->follows && cse_session_finds_arena(r->session, &r->facts);
    CSE_TRY(cse_dataloader_drops_last(r->loader, r->input, r->trains, &r->drops_last));
    tell_left_out(r);
    return choose(r, r->trains) ? CSE_OK : trace(r);
}

cse_status cse_runner_trace_anew(cse_runner *r, bool *again)
{
    *again = !choose(r, r->trains);
    return *again ? trace(r) : CSE_OK;
}

int64_t cse_runner_kind_end(const cse_runner *r, int64_t first, int64_t last)
{
    return first < last ? cse_dataloader_kind_end(r->loader, first, last) : last;
}
