/* Whole executions with real processes; this program is also their worker. For any number of
 * processes, and with kills, states and losses must have the same bits as the step run serially in
 * this process; and no process or file may be left behind. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dataloader/input.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/code/codegen/codegen.h"
#include "engine/code/execute/tensor_statistics.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/open_loader.h"
#include "tests/support/straight_run.h"
#include "tests/support/temporary_folder.h"
#include "workers/control/execution.h"
#include "workers/worker/worker_main.h"

enum {
    MICRO_BATCH = 4,
    MICROBATCHES = 6,
    FEATURES = 300,
    MOST_STEPS = 2000,
    SEED = 7,
    OBSERVED = 3
};

#define LOADER                                                                      \
    "{data_processor: synthetic, samples: 240, features: [300], regression: true, " \
    "batch_size: 24, micro_batch_size: 4, shuffle: true, shuffle_seed: 3}"

static cse_graph *graph;
static cse_compile_result artefact;
static char directory[] = "/tmp/check_execution_XXXXXX";
static char self_path[PATH_MAX];

/* ---- The step: linear regression by SGD with momentum ---- */

static cse_node *input(const char *name, cse_shape shape)
{
    cse_attributes attributes = { .integer_count = 1,
                                  .integers = { graph->input_count },
                                  .text = name };
    cse_node *node = cse_graph_leaf(graph, &cse_op_input, &attributes, shape, CSE_FLOAT32);
    CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
    graph->inputs[graph->input_count++] =
        (cse_input_entry){ .name = name, .shape = shape, .dtype = CSE_FLOAT32, .node = node };
    return node;
}

static int state(const char *name, cse_initializer initializer)
{
    int index;
    cse_state_entry entry = { .name = name,
                              .shape = cse_shape_of(FEATURES),
                              .dtype = CSE_FLOAT32,
                              .initializer = initializer,
                              .trainable = strcmp(name, "w") == 0 };
    ck_assert_int_eq(cse_graph_add_state(graph, &entry, &index), CSE_OK);
    return index;
}

static void make_graph(void)
{
    graph = cse_graph_new(MICROBATCHES, MICRO_BATCH);
    cse_trace_begin(graph);
    cse_node *x = input("images", cse_shape_of(MICRO_BATCH, FEATURES));
    cse_node *target = input("targets", cse_shape_of(MICRO_BATCH));
    int w = state("w", (cse_initializer){ CSE_INIT_NORMAL, 0, 0.1 });
    int m = state("m", (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 });
    cse_node *weight = cse_graph_state_node(graph, w);
    cse_tensor *guess = cse_sum(cse_mul(x, weight), (int[]){ 1 }, 1, false);
    cse_tensor *error = cse_sub(guess, target);
    cse_tensor *loss = cse_mean_all(cse_mul(error, error));
    cse_tensor *gradient = cse_trace_2(&cse_op_gradient, NULL, loss, weight);
    cse_tensor *sum = cse_trace_1(&cse_op_batch_sum, NULL, gradient);
    cse_tensor *momentum = cse_add(cse_scale(cse_graph_state_node(graph, m), 0.9), sum);
    graph->states[m].next = momentum;
    graph->states[w].next = cse_sub(weight, cse_scale(momentum, 1e-5));
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count++] =
        (cse_fetch_entry){ .name = "loss", .value = cse_trace_1(&cse_op_batch_sum, NULL, loss) };
    cse_trace_end();
    static const char *const patterns[] = { "*" };
    static const cse_numerics_request request = {
        .every = OBSERVED, .patterns = patterns, .origins = patterns, .pattern_count = 1
    };
    graph->numerics = &request;
    cse_status status = cse_passes_run(graph, NULL);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

/* ---- The same in a straight line ---- */

static int64_t states_bytes(void)
{
    return graph->space_bytes[CSE_SPACE_STATE];
}

/* Counts of the observed steps that the cluster did, by step / OBSERVED; NULL: not there. */
static cse_tensor_statistics *observed[MOST_STEPS / OBSERVED + 1];

/* What the collector of the straight run did not count: the summed gradient, the states before and
 * after, and weights that stayed although they should have moved. */
static void count_once_a_step(const straight_run *run, const unsigned char *before,
                              cse_tensor_statistics *records)
{
    const float *gradient = (const float *)(const void *)run->gradients[0];
    const float *m = straight_run_state(run, "m");
    for (int i = 0; i < graph->tracked_count; i++) {
        const cse_tracked_tensor *o = &graph->tracked[i];
        cse_tensor_values v = { .count = FEATURES };
        if (o->kind == CSE_TRACKED_GRADIENT)
            v.values = gradient + o->node->offset_bytes / 4;
        if (o->kind == CSE_TRACKED_STATE)
            v.values = before + graph->states[o->node->attributes.integers[0]].offset_bytes;
        if (v.values != NULL)
            cse_tensor_statistics_count(&records[i], &v);
        if (o->kind != CSE_TRACKED_STATE)
            continue;
        const float *after = straight_run_state(run, o->name), *w = v.values;
        records[i].digest_after = cse_tensor_digest(after, FEATURES, 0);
        if (graph->states[o->node->attributes.integers[0]].trainable)
            cse_count_update(&records[i], w, after, FEATURES);
        for (int e = 0; strcmp(o->name, "w") == 0 && e < FEATURES; e++)
            records[i].absorbed += w[e] == after[e] && m[e] * 1e-5f != 0;
    }
}

/* One step of the straight run; where the cluster observed it, the same counts. */
static void step_straight(straight_run *run, unsigned char *const inputs[])
{
    cse_tensor_statistics *expected =
        (run->step + 1) % OBSERVED == 0 ? observed[(run->step + 1) / OBSERVED] : NULL;
    if (expected == NULL) {
        straight_run_step(run, inputs);
        return;
    }
    const size_t count = (size_t)graph->tracked_count;
    cse_tensor_statistics *records = cse_calloc(count, sizeof *records);
    unsigned char *before = cse_malloc((size_t)states_bytes());
    unsigned char *scratch = cse_aligned_calloc((size_t)graph->statistics_scratch_bytes + 64);
    cse_statistics_collector collector;
    memcpy(before, run->spaces[CSE_SPACE_STATE], (size_t)states_bytes());
    cse_statistics_collector_init(&collector, run->executable->graph, records, scratch);
    run->collector = &collector;
    straight_run_step(run, inputs);
    run->collector = NULL;
    count_once_a_step(run, before, records);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(memcmp(&records[i], &expected[i], sizeof records[i]) == 0,
                      "step %lld: other counts of %s", (long long)run->step,
                      graph->tracked[i].name);
    free(records);
    free(before);
    free(scratch);
}

/* losses[s], and the states after `steps` steps. */
static unsigned char *run_straight(int64_t steps, float losses[])
{
    cse_executable *executable;
    cse_dataloader *loader;
    straight_run run;
    ck_assert_int_eq(cse_executable_open(artefact.directory, &executable), CSE_OK);
    ck_assert_int_eq(open_loader(LOADER, SEED, &loader), CSE_OK);
    straight_run_init(&run, executable, SEED);
    size_t bytes = (size_t)cse_dataloader_microbatch_bytes(loader);
    unsigned char *read[MICROBATCHES], *inputs[MICROBATCHES];
    for (int m = 0; m < MICROBATCHES; m++) {
        read[m] = cse_aligned_calloc(bytes);
        inputs[m] = cse_aligned_calloc((size_t)graph->space_bytes[CSE_SPACE_INPUT]);
    }
    static const size_t sizes[] = { MICRO_BATCH * FEATURES * 4, MICRO_BATCH * 4 };
    for (int64_t s = 0; s < steps; s++) {
        for (int m = 0; m < MICROBATCHES; m++) {
            ck_assert_int_eq(cse_dataloader_read(loader, s, m, read[m]), CSE_OK);
            for (int i = 0; i < 2; i++)
                for (int stream = 0; stream < 2; stream++)
                    if (strcmp(cse_dataloader_input_view(loader)->streams[stream].name,
                               graph->inputs[i].name) == 0)
                        memcpy(inputs[m] + graph->inputs[i].offset_bytes,
                               read[m] + cse_dataloader_stream_offset(loader, stream), sizes[i]);
        }
        step_straight(&run, inputs);
        losses[s] = straight_run_fetched(&run, 0);
    }
    unsigned char *states = cse_malloc((size_t)states_bytes());
    memcpy(states, run.spaces[CSE_SPACE_STATE], (size_t)states_bytes());
    for (int m = 0; m < MICROBATCHES; m++) {
        free(read[m]);
        free(inputs[m]);
    }
    straight_run_clear(&run);
    cse_executable_destroy(&executable);
    cse_dataloader_close(&loader);
    return states;
}

/* ---- An execution and what it was seen to do ---- */

typedef struct witness {
    float losses[MOST_STEPS];
    int64_t records, snapshots, last_snapshot, snapshot_every;
    int64_t stop_at; /* request this when so many records were seen */
    cse_stop_request stop;
    int64_t fail_at;      /* on_record fails at this step; -1: never */
    int64_t strike_every; /* a child gets `strike_signal` at each such step; 0: never */
    int64_t strikes, most_strikes;
    int strike_signal;
    bool stop_when_timed; /* request `stop` when kernels of so many steps were seen */
    int timed;
    int64_t sampled_step, compute_ns; /* of the spans of a sampled step, over all processes */
    unsigned char *expected_snapshot; /* states after `expected_at` steps */
    int64_t expected_at;
    unsigned char *states;        /* those handed out last */
    const unsigned char *lasting; /* where they stand in the arena until the end; NULL: nowhere */
    int64_t states_steps;
    bool ended;
} witness;

static witness seen;
static cse_execution execution;

/* Numbers of this process's children, oldest first. */
static int list_children(pid_t children[], int most)
{
    char path[64];
    int count = 0, number;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    while (file != NULL && count < most && fscanf(file, "%d", &number) == 1)
        children[count++] = number;
    if (file != NULL)
        fclose(file);
    return count;
}

static cse_status on_record(void *self, const cse_record *record)
{
    (void)self;
    ck_assert_int_eq(record->step, seen.records);
    memcpy(&seen.losses[seen.records++], record->fetched + graph->fetches[0].offset_bytes, 4);
    ck_assert((record->statistics != NULL) == ((record->step + 1) % OBSERVED == 0));
    if (record->statistics != NULL) {
        const size_t bytes = (size_t)graph->tracked_count * sizeof *record->statistics;
        cse_tensor_statistics *kept = cse_malloc(bytes);
        memcpy(kept, record->statistics, bytes);
        free(observed[(record->step + 1) / OBSERVED]);
        observed[(record->step + 1) / OBSERVED] = kept;
    }
    pid_t children[64];
    if (seen.strike_every > 0 && record->step % seen.strike_every == 1 &&
        seen.strikes < seen.most_strikes) {
        int count = list_children(children, 64);
        ck_assert_int_gt(count, 0);
        kill(children[seen.strikes++ % count], seen.strike_signal);
    }
    return record->step == seen.fail_at ? cse_fail(CSE_FAILED, "the loss is not finite") : CSE_OK;
}

static void on_late_record(void *self, const cse_record *record)
{
    seen.fail_at = -1;
    on_record(self, record);
}

static cse_status fill_states(void *self, unsigned char *states)
{
    (void)self;
    if (execution.first_step == 0)
        cse_states_initialize(graph, SEED, states);
    else
        memcpy(states, seen.states, (size_t)states_bytes()); /* goes on from the last execution */
    seen.lasting = NULL;
    seen.ended = false;
    return CSE_OK;
}

/* Those that are said to last must still stand when the workers are gone. */
static void on_states(void *self, const cse_standing_states *standing)
{
    (void)self;
    const size_t bytes = (size_t)states_bytes();
    ck_assert(!seen.ended);
    if (seen.lasting != NULL) {
        ck_assert(standing->ended);
        ck_assert_ptr_eq(standing->states, seen.lasting);
        ck_assert_int_eq(standing->steps_done, seen.states_steps);
        ck_assert_mem_eq(standing->states, seen.states, bytes);
    }
    memcpy(seen.states, standing->states, bytes);
    seen.lasting = standing->last ? standing->states : NULL;
    seen.states_steps = standing->steps_done;
    seen.ended = standing->ended;
}

static cse_status on_snapshot(void *self, const cse_snapshot *snapshot)
{
    (void)self;
    seen.snapshots++;
    seen.last_snapshot = snapshot->steps_done;
    ck_assert_int_eq(seen.states_steps, snapshot->steps_done);
    if (seen.expected_snapshot != NULL && snapshot->steps_done == seen.expected_at)
        ck_assert_mem_eq(seen.states, seen.expected_snapshot, (size_t)states_bytes());
    return CSE_OK;
}

static bool wants_snapshot(void *self, int64_t steps)
{
    (void)self;
    return seen.snapshot_every > 0 && steps % seen.snapshot_every == 0;
}

static void on_spans(void *self, const cse_process_span *spans, int count)
{
    (void)self;
    seen.compute_ns = 0;
    for (int i = 0; i < count; i++) {
        seen.sampled_step = spans[i].step;
        if (spans[i].kind == CSE_SPAN_COMPUTE)
            seen.compute_ns += spans[i].end_ns - spans[i].start_ns;
    }
}

/* Of one process: what its kernels took is in its spans, and so in those of all. */
static void on_kernels(void *self, const cse_kernel_time *times, int count)
{
    int64_t replica_ns = 0;
    (void)self;
    ck_assert_int_gt(count, 0);
    for (int i = 0; i < count; i++) {
        const cse_kernel_time *t = &times[i];
        ck_assert_int_eq(t->step, seen.sampled_step);
        ck_assert_int_ne(t->step % OBSERVED, 0);
        ck_assert_str_eq(t->process, times[0].process);
        ck_assert(t->kernel >= 0 && t->kernel < graph->group_count);
        ck_assert(t->calls > 0 && t->min_ns >= 0 && t->min_ns <= t->median_ns + 1);
        ck_assert(t->min_ns * t->calls <= t->total_ns && t->median_ns <= t->total_ns);
        if (graph->groups[t->kernel].part == CSE_PART_REPLICA) {
            ck_assert_int_le(t->calls, MICROBATCHES);
            replica_ns += t->total_ns;
        }
    }
    /* Spans below 200 ns are left out. */
    ck_assert_int_le(replica_ns, seen.compute_ns + MICROBATCHES * 200);
    seen.timed++;
}

static cse_stop_request stop_requested(void *self)
{
    (void)self;
    if (seen.stop_when_timed)
        return seen.timed > 0 ? seen.stop : CSE_STOP_NONE;
    return seen.stop != CSE_STOP_NONE && seen.records >= seen.stop_at ? seen.stop : CSE_STOP_NONE;
}

static cse_run_result result;

static cse_status run(int64_t num_steps)
{
    execution.num_steps = num_steps;
    execution.statistics_every = OBSERVED;
    return cse_execution_run(&execution, &result);
}

static void expect_run(int64_t num_steps)
{
    cse_status status = run(num_steps);
    ck_assert_msg(status == CSE_OK, "%d: %s", status, cse_error_message());
}

static void expect_straight(int64_t steps)
{
    float losses[MOST_STEPS];
    unsigned char *states = run_straight(steps, losses);
    ck_assert_int_eq(seen.records, steps);
    ck_assert_mem_eq(seen.losses, losses, (size_t)steps * sizeof losses[0]);
    ck_assert(seen.ended);
    ck_assert_int_eq(seen.states_steps, steps);
    ck_assert_mem_eq(seen.states, states, (size_t)states_bytes());
    free(states);
}

/* ---- Before and after each test ---- */

static int descriptors_before;

static int open_descriptors(void)
{
    DIR *entries = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count;
}

static void drop_record(void *self, const cse_log_record *record)
{
    (void)self;
    (void)record;
}

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    setenv("XDG_RUNTIME_DIR", directory, 1);
    setenv("CSENGINE_EXECUTABLE", self_path, 1);
    if (getenv("CSE_DEBUG") == NULL)
        cse_log_set_sink(drop_record, NULL);
    make_graph();
    cse_status status = cse_codegen_compile(graph, directory, &artefact);
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
    seen = (witness){ .fail_at = -1, .states = cse_malloc((size_t)states_bytes()) };
    execution = (cse_execution){
        .artefact_directory = artefact.directory,
        .graph = graph,
        .dataloader = encoded_loader(LOADER),
        .seed = SEED,
        .cluster = { .num_csx = 2, .num_workers_per_csx = 1 },
        .callbacks = { .fill_states = fill_states,
                       .on_states = on_states,
                       .on_record = on_record,
                       .on_late_record = on_late_record,
                       .on_snapshot = on_snapshot,
                       .wants_snapshot = wants_snapshot,
                       .stop_requested = stop_requested },
    };
    descriptors_before = open_descriptors();
}

/* Nothing is left: no process, no descriptor (so no arena), no socket. */
static void tear_down(void)
{
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_int_eq(open_descriptors(), descriptors_before);
    DIR *entries = opendir(directory);
    struct dirent *entry;
    while ((entry = readdir(entries)) != NULL)
        ck_assert_ptr_null(strstr(entry->d_name, "csengine-run"));
    closedir(entries);
    for (size_t i = 0; i < sizeof observed / sizeof observed[0]; i++) {
        free(observed[i]);
        observed[i] = NULL;
    }
    free(seen.states);
    free((char *)(uintptr_t)execution.dataloader);
    cse_graph_destroy(&graph);
    ck_assert(temporary_folder_remove(directory));
}

/* ---- Tests ---- */

static const cse_cluster_options clusters[] = {
    { .num_csx = 1, .num_workers_per_csx = 1 },
    { .num_csx = 2, .num_workers_per_csx = 2 },
    { .num_csx = 3, .num_workers_per_csx = 1, .max_wgt_servers = 1 },
    { .num_csx = 4, .num_workers_per_csx = 3, .max_wgt_servers = 2 },
    { .num_csx = 9, .num_workers_per_csx = 1 }, /* more than microbatches */
};

START_TEST(every_cluster_gives_the_bits_of_a_straight_line)
{
    float losses[MOST_STEPS];
    execution.cluster = clusters[_i];
    seen.snapshot_every = 7;
    seen.expected_at = 14;
    seen.expected_snapshot = run_straight(14, losses);
    expect_run(20);
    expect_straight(20);
    ck_assert_int_eq(seen.snapshots, 3); /* 7, 14 and the end */
    ck_assert_int_eq(seen.last_snapshot, 20);
    ck_assert_int_eq(result.steps_done, 20);
    ck_assert(!result.stopped);
    ck_assert(result.train_seconds > 0);
    free(seen.expected_snapshot);
}
END_TEST

START_TEST(a_sampled_step_times_its_kernels_and_changes_no_bit)
{
    execution.cluster = clusters[_i];
    execution.events = &(const cse_run_events){ .on_spans = on_spans, .on_kernels = on_kernels };
    seen.stop = CSE_STOP_CHECKPOINT;
    seen.stop_when_timed = true;
    expect_run(MOST_STEPS);
    ck_assert_int_gt(seen.timed, 0);
    expect_straight(result.steps_done);
}
END_TEST

START_TEST(a_stopped_run_goes_on_with_the_same_bits)
{
    seen.stop = CSE_STOP_CHECKPOINT;
    seen.stop_at = 1;
    expect_run(MOST_STEPS);
    ck_assert(result.stopped);
    ck_assert_int_lt(result.steps_done, MOST_STEPS);
    ck_assert_int_eq(seen.records, result.steps_done);
    ck_assert_int_eq(seen.snapshots, 1);
    ck_assert_int_eq(seen.last_snapshot, result.steps_done);
    seen.stop = CSE_STOP_NONE;
    execution.first_step = result.steps_done;
    execution.cluster = clusters[2];
    expect_run(10);
    expect_straight(execution.first_step + 10);
}
END_TEST

START_TEST(no_steps_start_nothing)
{
    execution.first_step = 5;
    execution.cluster.worker_executable = "/nowhere";
    expect_run(0);
    ck_assert_int_eq(result.steps_done, 5);
    ck_assert_int_eq(seen.snapshots + seen.records, 0);
}
END_TEST

START_TEST(killed_workers_change_no_bit)
{
    seen.strike_every = 20;
    seen.strike_signal = SIGKILL;
    seen.most_strikes = 4;
    expect_run(600);
    ck_assert_int_eq(seen.strikes, 4);
    expect_straight(600);
}
END_TEST

START_TEST(a_frozen_worker_changes_no_bit)
{
    setenv("CSENGINE_SILENCE_MS", "600", 1);
    seen.strike_every = 20;
    seen.strike_signal = SIGSTOP;
    seen.most_strikes = 1;
    expect_run(60);
    ck_assert_int_eq(seen.strikes, 1);
    expect_straight(60);
}
END_TEST

/* ---- Several hosts, each a process with a cluster of its own ---- */

enum { MOST_HOSTS = 4 };

/* A port that is free now. */
static int free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)(void *)&address, size), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)(void *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static cse_execution_hosts hosts_of_run;
static char host_addresses[MOST_HOSTS][32];
static const char *host_address_list[MOST_HOSTS];
static cse_host_cut host_cut;
static pid_t host_processes[MOST_HOSTS];

static void run_host_and_exit(int host, int64_t steps)
{
    hosts_of_run.host = host;
    seen.most_strikes = seen.strikes = 0;
    alarm(200);
    const cse_status status = run(steps);
    if (status != CSE_OK)
        fprintf(stderr, "host %d: %s\n", host, cse_error_message());
    _exit(status == CSE_OK ? 0 : 1);
}

/* Hosts 1 and up are processes of their own; this one is host 0. */
static void start_hosts(int count, int64_t steps)
{
    const cse_host_set all = cse_hosts_first(count);
    cse_host_cut_even(MICROBATCHES, count, &all, &host_cut);
    for (int h = 0; h < count; h++) {
        snprintf(host_addresses[h], sizeof host_addresses[h], "127.0.0.1:%d", free_port());
        host_address_list[h] = host_addresses[h];
    }
    hosts_of_run = (cse_execution_hosts){
        .host_count = count, .cut = &host_cut, .addresses = host_address_list, .session = 3
    };
    execution.hosts = &hosts_of_run;
    for (int h = 1; h < count; h++)
        if ((host_processes[h] = fork()) == 0)
            run_host_and_exit(h, steps);
}

static void expect_hosts_ended(int count)
{
    for (int h = 1; h < count; h++) {
        int how = -1;
        ck_assert_int_eq(waitpid(host_processes[h], &how, 0), host_processes[h]);
        ck_assert_msg(WIFEXITED(how) && WEXITSTATUS(how) == 0, "host %d ended with %x", h, how);
    }
    execution.hosts = NULL;
}

START_TEST(several_hosts_give_the_bits_of_a_straight_line)
{
    const int count = 2 + _i;
    execution.cluster = clusters[_i % 3];
    start_hosts(count, 40);
    expect_run(40);
    expect_hosts_ended(count);
    expect_straight(40);
}
END_TEST

START_TEST(deaths_without_a_step_between_them_end_the_run)
{
    execution.cluster.restarts = 2;
    setenv("CSE_TEST_WORKER", "die", 1);
    ck_assert_int_eq(run(5), CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "was killed by signal 9"));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "as the 2 before it"));
}
END_TEST

/* Each slot's first process ends between exec and READY: killed by itself, or stopped until it is
 * given up. */
START_TEST(deaths_while_the_cluster_starts_change_no_bit)
{
    static const char *const kinds[] = { "die once", "die soon", "stop soon" };
    setenv("CSENGINE_SILENCE_MS", "1000", 1);
    setenv("CSE_TEST_WORKER", kinds[_i], 1);
    expect_run(20);
    expect_straight(20);
}
END_TEST

START_TEST(a_missing_executable_is_named)
{
    execution.cluster.worker_executable = "/nowhere/csengine";
    ck_assert_int_eq(run(5), CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "/nowhere/csengine"));
}
END_TEST

START_TEST(a_worker_that_ends_at_once_is_named)
{
    setenv("CSE_TEST_WORKER", "exit", 1);
    ck_assert_int_eq(run(5), CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(
        strstr(cse_error_message(), "ended with exit code 3 before the run began"));
}
END_TEST

START_TEST(a_worker_that_is_no_worker_is_made_to_leave)
{
    setenv("CSE_TEST_WORKER", "sleep", 1); /* never joins */
    seen.stop = CSE_STOP_NOW;
    ck_assert_int_eq(run(5), CSE_INTERRUPTED);
}
END_TEST

START_TEST(a_loader_that_cannot_open_ends_the_run_with_its_words)
{
    free((char *)(uintptr_t)execution.dataloader);
    execution.dataloader =
        encoded_loader("{data_processor: csv, path: /nowhere/table.csv, label: y, "
                       "batch_size: 24, micro_batch_size: 4}");
    cse_status status = run(5);
    ck_assert_int_ne(status, CSE_OK);
    ck_assert_int_ne(status, CSE_UNAVAILABLE); /* the loader's status, not that somebody left */
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "input worker "));
}
END_TEST

START_TEST(an_artefact_that_is_not_there_ends_the_run)
{
    execution.artefact_directory = "/nowhere/step";
    ck_assert_int_eq(run(5), CSE_NO_INPUT);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "/nowhere/step"));
}
END_TEST

START_TEST(a_failing_closure_ends_the_run)
{
    seen.fail_at = 3;
    ck_assert_int_eq(run(MOST_STEPS), CSE_FAILED);
    ck_assert_str_eq(cse_error_message(), "the loss is not finite");
    ck_assert_int_eq(seen.records, 4);
}
END_TEST

/* Its states are those of all the steps that were committed, also those after the failure. */
START_TEST(a_failed_run_hands_out_the_states_of_its_last_step)
{
    execution.settles = true;
    seen.fail_at = 3 + _i;
    ck_assert_int_eq(run(MOST_STEPS), CSE_FAILED);
    ck_assert(result.settled);
    ck_assert_int_ge(result.steps_done, 4 + _i);
    expect_straight(result.steps_done);
}
END_TEST

START_TEST(stop_now_stops)
{
    seen.stop = CSE_STOP_NOW;
    seen.stop_at = 3;
    ck_assert_int_eq(run(MOST_STEPS), CSE_INTERRUPTED);
    ck_assert(result.stopped);
    ck_assert_int_eq(seen.snapshots, 0);
}
END_TEST

static int struck_with;

static void on_alarm(int number)
{
    (void)number;
    raise(struck_with);
}

/* A signal while the worker connects, joins or opens the artefact. */
static void strike_soon(int number)
{
    struck_with = number;
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { 0, 3000 } }, NULL);
}

static int be_a_worker(int argc, char **argv)
{
    const char *kind = getenv("CSE_TEST_WORKER");
    if (kind != NULL && strcmp(kind, "exit") == 0)
        return 3;
    while (kind != NULL && strcmp(kind, "sleep") == 0)
        pause();
    bool first = false;
    for (int i = 1; i < argc; i++)
        first = first || strcmp(argv[i], "--incarnation=0") == 0;
    if (kind != NULL && (strcmp(kind, "die") == 0 || (first && strcmp(kind, "die once") == 0)))
        raise(SIGKILL);
    if (kind != NULL && first && strstr(kind, " soon") != NULL)
        strike_soon(strncmp(kind, "die", 3) == 0 ? SIGKILL : SIGSTOP);
    return cse_worker_main(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return be_a_worker(argc, argv);
    ssize_t length = readlink("/proc/self/exe", self_path, sizeof self_path - 1);
    self_path[length > 0 ? length : 0] = '\0';
    Suite *suite = suite_create("execution");
    TCase *tests = tcase_create("execution");
    tcase_set_timeout(tests, 600);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, every_cluster_gives_the_bits_of_a_straight_line, 0,
                        (int)(sizeof clusters / sizeof clusters[0]));
    tcase_add_loop_test(tests, a_sampled_step_times_its_kernels_and_changes_no_bit, 0,
                        (int)(sizeof clusters / sizeof clusters[0]));
    tcase_add_test(tests, a_stopped_run_goes_on_with_the_same_bits);
    tcase_add_test(tests, no_steps_start_nothing);
    tcase_add_test(tests, killed_workers_change_no_bit);
    tcase_add_test(tests, a_frozen_worker_changes_no_bit);
    tcase_add_loop_test(tests, several_hosts_give_the_bits_of_a_straight_line, 0, 3);
    tcase_add_test(tests, deaths_without_a_step_between_them_end_the_run);
    tcase_add_loop_test(tests, deaths_while_the_cluster_starts_change_no_bit, 0, 3);
    tcase_add_test(tests, a_missing_executable_is_named);
    tcase_add_test(tests, a_worker_that_ends_at_once_is_named);
    tcase_add_test(tests, a_worker_that_is_no_worker_is_made_to_leave);
    tcase_add_test(tests, a_loader_that_cannot_open_ends_the_run_with_its_words);
    tcase_add_test(tests, an_artefact_that_is_not_there_ends_the_run);
    tcase_add_test(tests, a_failing_closure_ends_the_run);
    tcase_add_loop_test(tests, a_failed_run_hands_out_the_states_of_its_last_step, 0, 10);
    tcase_add_test(tests, stop_now_stops);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
