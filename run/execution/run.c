/* Executions: a step is traced, planned, compiled and run by a cluster of processes.
 *
 * Records of committed steps arrive in order while training goes on, and are passed to the step
 * closures. At a checkpoint step training waits only until the states are copied; checkpoint
 * closures save the copy while the next steps run. Where a loop of the caller drives the execution
 * (runner.h), both wait in a queue instead, and nothing else is different. */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/input.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/heap.h"
#include "engine/base/log.h"
#include "engine/base/pages.h"
#include "engine/code/kernels/kernel.h"
#include "engine/nn/frozen_copy.h"
#include "engine/nn/update/grad_scaler.h"
#include "engine/nn/update/selective_gradients.h"
#include "engine/nn/update/weight_average.h"
#include "run/execution/batch_kinds.h"
#include "run/execution/compile_step.h"
#include "run/execution/cut_states.h"
#include "run/execution/data_checks.h"
#include "run/execution/divergence.h"
#include "run/execution/fill_states.h"
#include "run/execution/fit_memory.h"
#include "run/execution/kept_values.h"
#include "run/execution/runner.h"
#include "run/execution/standing_arena.h"
#include "run/execution/time_limit.h"
#include "run/saving/background_save.h"
#include "run/saving/weights_link.h"
#include "workers/arena/kept_arena.h"
#include "workers/arena/memory.h"
#include "workers/control/execution_limits.h"

typedef cse_runner runner;

#define REPORT CSE_SESSION_REPORT

#define LATE_GRAPH_NS INT64_C(1000000000)

static volatile sig_atomic_t stop_asked;

static void drop_states(const runner *r, bool borrowed);

void cse_stop(void)
{
    stop_asked = 1;
}

static cse_executor *make_executor(const cse_executor_options *options, const cse_settings *input)
{
    cse_session *session = cse_session_open_view("cse_executor_new");
    if (session == NULL)
        return NULL;
    if ((options->input == NULL && input == NULL) || options->checkpoint_steps < 0 ||
        !(options->checkpoint_minutes >= 0) || options->activation_steps < 0) {
        cse_network_fail(cse_fail(CSE_CONFIG,
                                  "executor: input must be given, checkpoint_steps, "
                                  "checkpoint_minutes and activation_steps must not be negative"));
        return NULL;
    }
    cse_executor *executor = cse_arena_alloc(session->arena, sizeof *executor);
    executor->options = *options;
    executor->options.input = cse_arena_string(session->arena, options->input);
    executor->input = input;
    return executor;
}

cse_executor *cse_executor_new(const cse_executor_options *options)
{
    return make_executor(options, NULL);
}

cse_executor *cse_session_executor_new(const cse_executor_options *options,
                                       const cse_settings *input)
{
    return make_executor(options, input);
}

/* Parses the text of the input's settings at the first call. */
static cse_status read_input(cse_session *session, cse_executor *executor)
{
    cse_yaml_node *tree = NULL;
    cse_settings *settings = NULL;
    if (executor->input != NULL)
        return CSE_OK;
    CSE_TRY(cse_network_parse("data loader", executor->options.input, &tree));
    CSE_TRY(cse_dataloader_settings_read(session->arena, tree, &settings));
    executor->input = settings;
    return CSE_OK;
}

/* ---- callbacks of the execution ---- */

/* Counts by the global step, so that a resumed run reports and saves the same steps. */
static bool is_due(const runner *r, int64_t every, int64_t steps_done)
{
    return steps_done % every == 0 || steps_done == r->end_step;
}

static cse_status call_closures(runner *r, bool on_checkpoint, const cse_record *record)
{
    for (int i = 0; i < r->step->closure_count; i++) {
        const cse_step_closure_entry *entry = &r->step->closures[i];
        const cse_values values = { .graph = r->step->graph,
                                    .fetched = record->fetched,
                                    .fetches = entry->fetches,
                                    .count = entry->count,
                                    .step = record->step + 1 };
        if (entry->on_checkpoint != on_checkpoint)
            continue;
        cse_closure_call call = { .index = i, .record = record, .called_ns = cse_clock_ns() };
        REPORT(r->session, on_calling, i);
        call.status = entry->closure(entry->self, &values);
        REPORT(r->session, on_closure, &call);
        CSE_TRY(call.status);
    }
    return CSE_OK;
}

cse_status cse_runner_call(runner *r, bool on_checkpoint, const cse_record *record)
{
    const unsigned char *before = r->session->execution.delivered;
    r->session->execution.delivered = record->fetched;
    r->session->execution.delivered_step = record->step + 1;
    cse_status status = call_closures(r, on_checkpoint, record);
    r->session->execution.delivered = before;
    return status;
}

void cse_runner_enter_checkpoint(runner *r)
{
    r->session->network.states_standing = true;
}

void cse_runner_leave_checkpoint(runner *r)
{
    if (!r->session->network.states_standing)
        return;
    r->session->network.states_standing = false;
    r->session->execution.checkpoint_ns = cse_clock_ns();
    if (r->step->training)
        drop_states(r, false);
}

static bool makes_checkpoints(const runner *r)
{
    return r->options->checkpoint_steps > 0 || r->options->checkpoint_minutes > 0;
}

/* By the clock of the whole run, over its executions. When it is due changes nothing but where
 * checkpoints lie. */
static bool checkpoint_due(void *self)
{
    const runner *r = self;
    const double minutes = r->options->checkpoint_minutes;
    return r->step->training && minutes > 0 && r->session->execution.checkpoint_ns != 0 &&
           (double)(cse_clock_ns() - r->session->execution.checkpoint_ns) >= minutes * 60e9;
}

static bool wants_snapshot(void *self, int64_t steps_done)
{
    const runner *r = self;
    int64_t every = r->options->checkpoint_steps;
    return every > 0 && is_due(r, every, steps_done);
}

static void chain_step(runner *r, const cse_record *record)
{
    cse_chain_step step;
    if (!r->step->training || record->state_digest_count == 0)
        return;
    cse_step_chain_add(&r->session->saving.chain, &r->session->saving.links, r->loader, record,
                       &step);
    REPORT(r->session, on_chain, &step);
}

static cse_status on_record(void *self, const cse_record *record)
{
    runner *r = self;
    cse_session_report *report = &r->session->report;
    int64_t steps_done = record->step + 1, every = r->options->activation_steps;
    if (r->session->execution.checkpoint_ns == 0)
        r->session->execution.checkpoint_ns = cse_clock_ns();
    if (report->first_commit_step == 0) {
        report->first_commit_step = steps_done;
        report->first_commit_ns = record->committed_ns;
    }
    report->commit_ns = record->committed_ns;
    cse_nan_monitor_record(r->monitor, record);
    REPORT(r->session, on_statistics, record);
    /* A step that ends the run is one that was done: observers see its values. */
    cse_status status = cse_check_divergence(r->step, record, r->monitor);
    REPORT(r->session, on_step, record);
    chain_step(r, record);
    CSE_TRY(status);
    if (r->values.prefix != NULL)
        CSE_TRY(cse_kept_values_note_samples(r->session, r->loader, steps_done));
    r->fetched_step = steps_done;
    cse_step_tell_graph(r->session);
    if (makes_checkpoints(r))
        memcpy(r->fetched, record->fetched, (size_t)r->step->graph->space_bytes[CSE_SPACE_FETCH]);
    if (!is_due(r, every > 0 ? every : 1, steps_done))
        return CSE_OK;
    if (!r->queues)
        return cse_runner_call(r, false, record);
    cse_runner_queue(r, record, false);
    return CSE_OK;
}

/* The run has failed: only observers are told of the steps that were done until it stood. */
static void on_late_record(void *self, const cse_record *record)
{
    runner *r = self;
    r->session->report.commit_ns = record->committed_ns;
    REPORT(r->session, on_step, record);
    chain_step(r, record);
}

static bool chains(const runner *r)
{
    return r->step->training && !r->session->plan.no_step_digests;
}

static cse_status fill_states(void *self, unsigned char *states)
{
    const runner *r = self;
    const cse_states_filling filling = {
        .step = r->step, .found = r->found, .chains = chains(r), .first_step = r->first_step
    };
    return cse_fill_states(r->session, &filling, states);
}

static bool holds_states(void *self)
{
    const runner *r = self;
    return cse_weights_link_holds(r->session);
}

static const unsigned char *begun_chain(void *self)
{
    const runner *r = self;
    const cse_step_chain *chain = &r->session->saving.chain;
    return !r->found && chains(r) && chain->known && chain->steps == r->first_step ? chain->chain
                                                                                   : NULL;
}

static void on_arena(void *self, int descriptor)
{
    const runner *r = self;
    struct cse_kept_arena *kept = r->session->hooks.kept_arena;
    if (!r->step->training)
        return;
    if (kept != NULL && !r->goes_on && !cse_kept_arena_put(kept, descriptor))
        cse_log_line(CSE_LOG_WARNING,
                     "the memory of the run cannot be kept for another coordinator, which would go "
                     "on from the last checkpoint");
    cse_session_leave_arena(r->session);
}

/* Everything of them is kept where all observers have it. */
static int64_t kept_steps(void *self, bool hurry)
{
    const runner *r = self;
    int64_t kept = r->fetched_step > r->first_step ? r->fetched_step : r->first_step;
    if (r->first_waiting != NULL && r->first_waiting->record.step < kept)
        kept = r->first_waiting->record.step;
    for (const cse_session_observer *to = &r->session->observer; to != NULL; to = to->next) {
        const int64_t of_one =
            to->kept_steps != NULL ? to->kept_steps(to->self, kept, hurry) : kept;
        kept = of_one < kept ? of_one : kept;
    }
    return kept;
}

/* Into memory that another process can write a file from. */
static bool capture(runner *r, const cse_standing_states *standing)
{
    if (!r->step->training || standing->last || standing->ended)
        return false;
    if (cse_session_capture(r->session, r->step->graph, r->step->bound, standing->states) == CSE_OK)
        return true;
    cse_log_line(CSE_LOG_WARNING, "%s; the coordinator writes this one", cse_error_message());
    return false;
}

static void keep_states(runner *r, const cse_standing_states *standing)
{
    const cse_graph *graph = r->step->graph;
    const bool captured = capture(r, standing);
    for (int i = 0; i < graph->state_count && !captured; i++) {
        cse_state *state = r->step->bound[i];
        const unsigned char *values = standing->states + graph->states[i].offset_bytes;
        if (state->constant || cse_session_keeps(r->session, state, &graph->states[i]))
            continue; /* an evaluation did not change it */
        if (standing->last || (standing->ended && r->step->training)) {
            cse_state_borrow_values(state, values);
            continue;
        }
        memcpy(cse_state_own_values(state), values, cse_state_bytes(state));
        if (standing->ended) /* so that there are never two copies of all */
            cse_pages_discard(values, cse_state_bytes(state));
    }
    r->session->network.states_lost = false;
    if (r->step->training)
        r->session->training.global_step = standing->steps_done;
}

/* Gives up the values of states that were copied and that training changes now; and, after a
 * failure, of those that are borrowed. */
static void drop_states(const runner *r, bool borrowed)
{
    for (int i = 0; i < r->step->graph->state_count; i++) {
        cse_state *state = r->step->bound[i];
        const bool captured = cse_session_has_captured(r->session, state);
        if (state->constant || (state->borrowed != borrowed && !captured) ||
            cse_session_stands(r->session, state))
            continue;
        cse_state_release_values(state);
        r->session->network.states_lost = true;
    }
    cse_session_end_capture(r->session);
}

static bool is_kept(const runner *r, int64_t steps_done)
{
    return makes_checkpoints(r) && steps_done != r->checkpointed_step;
}

static void on_states(void *self, const cse_standing_states *standing)
{
    runner *r = self;
    if (standing->ended || is_kept(r, standing->steps_done))
        keep_states(r, standing);
}

/* The states of training stand still during a validation: a checkpoint that an operator wants is
 * one of the last step of training. */
static cse_status save_between(cse_session *session)
{
    if (session->hooks.save == NULL)
        return CSE_OK;
    session->network.states_standing = true;
    cse_status status = session->hooks.save(session->hooks.self);
    session->network.states_standing = false;
    return status;
}

/* The last step of an execution always has a snapshot; nobody asked for this one. */
static bool only_hands_on(runner *r, const cse_snapshot *snapshot)
{
    return snapshot->steps_done == r->last_step && r->last_step < r->end_step &&
           !snapshot->ending && !snapshot->requested && !wants_snapshot(r, r->last_step);
}

static cse_status on_snapshot(void *self, const cse_snapshot *snapshot)
{
    runner *r = self;
    const int64_t steps_done = snapshot->steps_done;
    r->session->execution.ending = snapshot->ending;
    if (!r->step->training && snapshot->requested)
        CSE_TRY(save_between(r->session));
    if (!is_kept(r, steps_done) || only_hands_on(r, snapshot))
        return CSE_OK;
    if (steps_done == r->first_step) {
        /* Stopped before the first step: keeps the initial states; closures have no values yet. */
        r->checkpointed_step = steps_done;
        return CSE_OK;
    }
    if (r->fetched_step != steps_done)
        return cse_fail(CSE_INTERNAL, "step %lld: states arrived before the step's values",
                        (long long)steps_done);
    r->checkpointed_step = steps_done;
    const cse_record record = { .step = steps_done - 1,
                                .fetched = r->fetched,
                                .committed_ns = r->session->report.commit_ns,
                                .steps_done = steps_done };
    if (r->queues) {
        cse_runner_queue(r, &record, true);
        return CSE_OK;
    }
    cse_runner_enter_checkpoint(r);
    cse_status status = cse_runner_call(r, true, &record);
    cse_runner_leave_checkpoint(r);
    return status;
}

/* One checkpoint is written at a time: the memory for another copy is never needed. */
static bool takes_snapshots(void *self)
{
    const runner *r = self;
    return !cse_session_is_saving(r->session);
}

/* A first step may be long in coming. */
static void tell_late_graph(const runner *r)
{
    if (r->session->execution.untold != NULL &&
        cse_clock_ns() - r->session->execution.untold_ns > LATE_GRAPH_NS)
        cse_step_tell_graph(r->session);
}

static cse_status on_turn(void *self)
{
    const runner *r = self;
    tell_late_graph(r);
    cse_step_keep_artefact(r->session);
    return cse_session_saving_turn(r->session);
}

static cse_status change_hosts(void *self, const char *hosts)
{
    const runner *r = self;
    return r->session->hooks.change_hosts(r->session->hooks.self, hosts);
}

static cse_stop_request stop_requested(void *self)
{
    const runner *r = self;
    const cse_session_hooks *hooks = &r->session->hooks;
    int asked = hooks->stop_requested != NULL ? hooks->stop_requested(hooks->self) : 0;
    if (asked == 2 || r->stop == CSE_STOP_NOW)
        return CSE_STOP_NOW;
    if (asked == 3)
        return CSE_STOP_EARLY;
    if (asked == 1)
        return CSE_STOP_CHECKPOINT;
    /* Of a program's own, which may run more; a job's says by itself what it ends for. */
    if (stop_asked || r->stop != CSE_STOP_NONE)
        return hooks->stop_requested != NULL ? CSE_STOP_CHECKPOINT : CSE_STOP_EARLY;
    return cse_session_time_is_up(r->session) ? CSE_STOP_CHECKPOINT : CSE_STOP_NONE;
}

/* ---- one execution ---- */

/* Where operators reach the job, from its first execution on to its end. */
static cse_status open_endpoint(cse_session *session)
{
    const char *directory = session->observer.run_directory;
    if (directory == NULL || session->execution.endpoint != NULL)
        return CSE_OK;
    return cse_control_endpoint_open(directory, session->opened.cluster.transport,
                                     &session->execution.endpoint);
}

/* Fewer replicas take part where a smaller batch has fewer microbatches. */
static cse_cluster_options cluster_of(const runner *r)
{
    const int most = r->step->graph->microbatch_count;
    cse_cluster_options cluster = r->session->opened.cluster;
    if (cse_dataloader_batching_view(r->loader)->smaller > 0 && cluster.num_csx > most)
        cluster.num_csx = most;
    cluster.state_copies = r->step->training ? cluster.state_copies : 0;
    return cluster;
}

/* Whether a checkpoint may be due before the last step, whose states are written where they lie. */
static bool may_copy_states(const runner *r)
{
    const int64_t every = r->options->checkpoint_steps;
    return r->step->training && (r->options->checkpoint_minutes > 0 ||
                                 (every > 0 && (r->first_step / every + 1) * every < r->end_step));
}

static cse_execution execution_of(runner *r, const char *dataloader)
{
    cse_session *session = r->session;
    const bool keeps = r->step->training && session->hooks.kept_arena != NULL;
    return (cse_execution){
        .artefact_directory = session->report.artefact_directory,
        .artefact_digest = session->report.artefact_digest,
        .graph = r->step->graph,
        .data_identity = cse_session_data_text(session),
        .dataloader = dataloader,
        .loader = r->loader,
        .loader_bytes = r->loader_bytes,
        .seed = session->configuration.seed,
        .first_step = r->first_step,
        .num_steps = r->last_step - r->first_step,
        .settles = r->step->training,
        .copies_states = may_copy_states(r),
        .paused = session->execution.paused,
        .statistics_every = session->report.numerics_every,
        .state_digests = chains(r),
        .begins_with = session->plan.begins_with,
        .values = r->values,
        .cluster = cluster_of(r),
        .run_directory = session->observer.run_directory,
        .endpoint = session->execution.endpoint,
        .left = r->step->training ? &r->left : NULL,
        .before = session->standing.cluster,
        .hosts = r->hosts,
        .callbacks = { .self = r,
                       .fill_states = fill_states,
                       .begun_chain = begun_chain,
                       .holds_states = r->step->training ? holds_states : NULL,
                       .on_arena = on_arena,
                       .on_states = on_states,
                       .on_record = on_record,
                       .kept_steps = keeps ? kept_steps : NULL,
                       .on_late_record = on_late_record,
                       .on_snapshot = on_snapshot,
                       .wants_snapshot = wants_snapshot,
                       .takes_snapshots = takes_snapshots,
                       .on_turn = on_turn,
                       .checkpoint_due = checkpoint_due,
                       .change_hosts = session->hooks.change_hosts != NULL ? change_hosts : NULL,
                       .stop_requested = stop_requested },
        .events = &session->observer.events,
    };
}

/* Begins the steps in an arena that stands, or in a new one. */
static cse_status begin_execution(runner *r, const cse_execution *execution)
{
    cse_session *session = r->session;
    r->goes_on = execution->inherited != NULL;
    r->fetched = cse_aligned_calloc((size_t)r->step->graph->space_bytes[CSE_SPACE_FETCH] + 64);
    REPORT(session, on_start, r->step, &session->report);
    r->has_begun = true;
    session->network.executing = true;
    session->execution.ending = false;
    session->network.locked = true;
    session->report.execution = (cse_run_result){ .steps_done = r->first_step };
    return cse_execution_open(execution, &r->running);
}

static cse_status end_execution(runner *r, cse_status status)
{
    cse_session *session = r->session;
    cse_run_result *result = &session->report.execution;
    cse_weights_link_leave(session);
    if (r->running != NULL)
        status = cse_execution_close(&r->running, result);
    status = cse_session_end_saving(session, status);
    r->has_ended = true;
    r->seconds += result->train_seconds;
    r->samples += (result->steps_done - r->first_step) *
                  cse_batching_samples(cse_dataloader_batching_view(r->loader));
    result->train_seconds = r->seconds;
    cse_run_result_sum(result, &r->disk, &r->audits);
    session->report.samples = r->samples;
    session->network.executing = false;
    session->execution.delivered = NULL;
    session->execution.paused = result->paused;
    if (status == CSE_OK)
        session->network.locked = r->checkpointed_step != result->steps_done;
    else if (r->left == NULL)
        drop_states(r, true);
    if (r->left != NULL)
        session->standing.cluster = r->left;
    return status;
}

static cse_status run_from_checkpoint(runner *r);

static cse_status execute(runner *r)
{
    cse_session *session = r->session;
    CSE_TRY(open_endpoint(session));
    session->report.numerics_every =
        r->monitor != NULL ? cse_numerics_every(session->opened.numerics) : 0;
    CSE_TRY(cse_kept_values_place(session, r->step->training, r->first_step, &r->values));
    session->report.data = cse_session_data_text(session);
    session->report.links = cse_session_known_links(session);
    const cse_batching *batching = cse_dataloader_batching_view(r->loader);
    const cse_batch_kind kind = { batching->drop_last, .samples = batching->smaller };
    cse_dataloader_settings_encode(r->input, kind, &r->dataloader);
    cse_execution execution = execution_of(r, r->dataloader.data);
    if (session->hooks.meet_hosts != NULL && r->last_step > r->first_step) {
        CSE_TRY(session->hooks.meet_hosts(session->hooks.self, &execution, &r->hosts));
        execution.hosts = r->hosts;
        CSE_TRY(cse_check_cut_states(r->step, &execution));
    }
    if (r->step->training && !cse_session_take_arena(session, r->found, &execution)) {
        r->found = false;
        return run_from_checkpoint(r);
    }
    if (r->found)
        r->checkpointed_step = session->training.global_step; /* its checkpoint was loaded */
    return r->last_step > r->first_step ? begin_execution(r, &execution) : CSE_OK;
}

/* A step that is to be executed is refused where the host has less than it needs. */
static cse_status find_needs(cse_session *session, runner *r)
{
    cse_execution execution = execution_of(r, NULL);
    cse_execution_needs *needs = &session->report.needs;
    execution.statistics_every = cse_numerics_every(session->opened.numerics);
    cse_status asked = CSE_OK;
    if (session->configuration.validate_only) /* a run has no time for it */
        asked = cse_kernel_scratch_bytes(r->step->graph, &execution.scratch_bytes);
    if (asked != CSE_OK && asked != CSE_UNAVAILABLE) /* the client library has no kernels */
        return asked;
    CSE_TRY(cse_execution_needs_find(&execution, needs));
    return session->configuration.validate_only || r->last_step == r->first_step
               ? CSE_OK
               : cse_execution_limits_check(&execution, needs);
}

static cse_status fit_memory(runner *r)
{
    cse_execution execution = execution_of(r, NULL);
    execution.statistics_every = cse_numerics_every(r->session->opened.numerics);
    return cse_runner_fit_memory(r, &execution);
}

static cse_status run_traced(runner *r)
{
    cse_session *session = r->session;
    const cse_configuration *c = &session->configuration;
    CSE_TRY(cse_runner_plan_steps(r));
    CSE_TRY(fit_memory(r));
    CSE_TRY(cse_step_compile(session, r->step));
    if (!c->compile_only)
        CSE_TRY(find_needs(r->session, r));
    if (c->validate_only || c->compile_only || r->last_step == r->first_step)
        return CSE_OK;
    if (!r->follows)
        CSE_TRY(cse_session_record_job(session));
    cse_nan_monitor_destroy(&r->monitor);
    r->monitor = cse_nan_monitor_new(r->step->graph);
    return execute(r);
}

/* The arena of a coordinator that died was of no use: the steps begin at those of the checkpoint,
 * perhaps with a batch of the other size. */
static cse_status run_from_checkpoint(runner *r)
{
    bool again = false;
    cse_text_clear(&r->dataloader);
    CSE_TRY(cse_runner_trace_anew(r, &again));
    return run_traced(r);
}

static cse_status may_run(cse_session *session, const char *caller, const cse_executor *executor)
{
    CSE_TRY(cse_session_status());
    CSE_TRY(cse_network_may_read(&session->network, caller));
    if (session->execution.cancelled && session->recording.begun)
        return cse_fail(CSE_INTERRUPTED, "%s: an operator has ended this run", caller);
    if (session->network.executing || session->network.traced != NULL ||
        session->execution.loop != NULL)
        return cse_fail(CSE_USAGE, "%s: an execution is under way already", caller);
    return executor != NULL ? CSE_OK : cse_fail(CSE_USAGE, "%s: there is no executor", caller);
}

/* Less is no more than names, whose lengths differ from run to run. */
static int64_t without_names(int64_t bytes)
{
    return bytes >> 20 > 0 ? bytes >> 16 << 16 : 0;
}

cse_status cse_runner_open(runner *r, const char *caller, cse_executor *executor,
                           cse_step_function *function, void *self)
{
    cse_session *session = r->session;
    CSE_TRY(may_run(session, caller, executor));
    CSE_TRY(cse_network_settle_precision(&session->network));
    CSE_TRY(read_input(session, executor));
    const int64_t heap_bytes = cse_heap_bytes();
    CSE_TRY(cse_session_open_data(session, executor->input, &r->loader));
    r->loader_bytes = without_names(cse_heap_bytes() - heap_bytes);
    cse_session_begin_record(session);
    r->options = &executor->options;
    r->input = executor->input;
    r->function = function;
    r->self = self;
    r->checkpointed_step = r->fetched_step = -1;
    stop_asked = 0;
    session->report =
        (cse_session_report){ .batch_size = cse_dataloader_batching_view(r->loader)->batch_size };
    CSE_TRY(cse_runner_trace(r));
    CSE_TRY(cse_session_settle_data(session, r->step->training));
    if (r->step->training)
        cse_session_keep_names(session, r->loader);
    CSE_TRY(cse_session_check_data(session, r->step->graph, r->loader, r->step->training));
    return run_traced(r);
}

bool cse_runner_turn(runner *r, int64_t most_ns)
{
    return r->running == NULL || cse_execution_pump(r->running, most_ns);
}

/* ---- executions in a row ---- */

/* What is of one execution alone. */
static void leave_execution(runner *r)
{
    free(r->fetched);
    r->fetched = NULL;
    cse_nan_monitor_destroy(&r->monitor);
    cse_text_clear(&r->dataloader);
}

static cse_status end_if_begun(runner *r, cse_status status)
{
    if (!r->has_begun || r->has_ended)
        return status;
    status = end_execution(r, status);
    return status == CSE_OK ? cse_session_check_time(r->session) : status;
}

/* Whether its steps are done; a step that is compiled alone has both kinds of batches after two. */
static bool is_complete(const runner *r)
{
    const cse_session *session = r->session;
    const cse_run_result *result = &session->report.execution;
    const cse_configuration *c = &session->configuration;
    if (c->validate_only || c->compile_only)
        return !r->follows;
    return r->has_ended && !result->stopped && result->steps_done == r->last_step &&
           (!r->step->training || session->training.global_step == r->last_step);
}

bool cse_runner_goes_on(runner *r, cse_status *status)
{
    if (*status != CSE_OK || r->last_step >= r->end_step || r->stop != CSE_STOP_NONE)
        return false;
    *status = end_if_begun(r, CSE_OK);
    if (*status != CSE_OK || !is_complete(r))
        return false;
    leave_execution(r);
    if (!r->follows) {
        r->first = cse_arena_alloc(r->session->arena, sizeof *r->first);
        *r->first = r->session->report;
    }
    r->at = r->last_step;
    r->follows = true;
    r->found = r->has_begun = r->has_ended = r->goes_on = false;
    r->left = NULL;
    r->hosts = NULL;
    r->checkpointed_step = r->fetched_step = -1;
    *status = cse_runner_trace(r);
    if (*status == CSE_OK)
        *status = run_traced(r);
    return true;
}

/* For the record of the run, whose end is told by its last execution. */
static void note_outcome(const runner *r, cse_status status)
{
    cse_session *session = r->session;
    free(session->execution.outcome);
    session->execution.outcome = NULL;
    session->execution.cancelled = r->has_begun && session->report.execution.stopped &&
                                   !stop_asked && !session->execution.time_is_up &&
                                   r->stop == CSE_STOP_NONE;
    if (status == CSE_OK)
        return;
    session->execution.outcome = cse_error_copy(cse_error_last());
    session->execution.outcome->status = status;
}

/* The row is reported as one execution, with the step that was compiled first. */
static void report_first(const runner *r)
{
    cse_session_report *report = &r->session->report;
    report->first_step = r->begin_step;
    report->compile_seconds = r->first->compile_seconds;
    report->compile_cached = r->first->compile_cached;
    report->memory = r->first->memory;
    report->needs = r->first->needs;
    memcpy(report->artefact_directory, r->first->artefact_directory,
           sizeof report->artefact_directory);
    memcpy(report->artefact_digest, r->first->artefact_digest, sizeof report->artefact_digest);
    memcpy(report->kernels, r->first->kernels, sizeof report->kernels);
}

cse_status cse_runner_close(runner *r, cse_status status)
{
    status = end_if_begun(r, status);
    note_outcome(r, status);
    if (r->first != NULL)
        report_first(r);
    leave_execution(r);
    cse_step_tell_graph(r->session);
    cse_step_destroy(&r->step);
    cse_dataloader_close(&r->loader);
    return status;
}

cse_status cse_run(cse_executor *executor, cse_step_function *function, void *self)
{
    runner r = { .session = cse_session_open_view("cse_run") };
    if (r.session == NULL)
        return CSE_USAGE;
    cse_status status = cse_runner_open(&r, "cse_run", executor, function, self);
    do {
        while (!cse_runner_turn(&r, INT64_MAX))
            continue;
    } while (cse_runner_goes_on(&r, &status));
    return cse_runner_close(&r, status);
}
