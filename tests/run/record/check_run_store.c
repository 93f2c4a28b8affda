/* `csengine start` and its run store: its contents after a run, the effect of commands on a running
 * job, and its contents after a kill. */
#include <check.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "store/reader.h"
#include "store/run_lock.h"
#include "tests/support/temporary_folder.h"
#include "workers/control/control_client.h"

static char folder[64], model_dir[128];
static pid_t run;

static void set_up(void)
{
    snprintf(folder, sizeof folder, "check_run_store_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(model_dir, sizeof model_dir, "%s/run", folder);
    run = 0;
}

static void tear_down(void)
{
    ck_assert(temporary_folder_remove(folder));
}

/* Starts configs/synthetic.yaml with `arguments` (ended by NULL). */
static void start(const char *const *arguments)
{
    const char *program = getenv("CSENGINE_EXECUTABLE"), *tree = getenv("top_srcdir");
    char config[512], compile_dir[512], errors[256];
    const char *words[32] = { "csengine", "start",         config,     "--model_dir",
                              model_dir,  "--compile_dir", compile_dir };
    int count = 7;
    snprintf(config, sizeof config, "%s/configs/synthetic.yaml", tree ? tree : "..");
    snprintf(compile_dir, sizeof compile_dir, "%s/compiled", folder);
    snprintf(errors, sizeof errors, "%s/output", folder);
    for (int i = 0; arguments[i] != NULL; i++)
        words[count++] = arguments[i];
    fflush(NULL);
    run = fork();
    ck_assert_int_ge(run, 0);
    if (run != 0)
        return;
    int output = open(errors, O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(output, 1);
    dup2(output, 2);
    execv(program ? program : "./csengine", (char *const *)(uintptr_t)words);
    _exit(127);
}

static int finish(void)
{
    int how = 0;
    for (int i = 0; i < 10000; i++) {
        pid_t ended = waitpid(run, &how, WNOHANG);
        if (ended == run)
            return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
        cse_sleep_ns(10000000);
    }
    kill(run, SIGKILL);
    waitpid(run, &how, 0);
    ck_abort_msg("the run did not end");
    return -1;
}

static cse_run_status status_now(void)
{
    cse_run_status status = { .state = CSE_RUN_NONE };
    cse_store_reader *reader = NULL;
    if (cse_store_reader_open(model_dir, &reader) == CSE_OK)
        cse_store_reader_status(reader, &status);
    cse_store_reader_close(&reader);
    return status;
}

static cse_run_status await(cse_run_state state)
{
    cse_run_status status = status_now();
    for (int i = 0; i < 4000 && status.state != state; i++) {
        cse_sleep_ns(10000000);
        status = status_now();
    }
    ck_assert_msg(status.state == state, "state %s instead of %s: %s",
                  cse_run_state_name(status.state), cse_run_state_name(state), status.message);
    return status;
}

static void await_step(int64_t step)
{
    for (int i = 0; i < 4000 && status_now().last_step < step; i++)
        cse_sleep_ns(10000000);
    ck_assert_int_ge(status_now().last_step, step);
}

static cse_status say(cse_control_request request, cse_control_reply *reply)
{
    cse_text endpoint = { 0 };
    cse_store_reader *reader = NULL;
    ck_assert_int_eq(cse_store_reader_open(model_dir, &reader), CSE_OK);
    cse_store_reader_key(reader, "control_endpoint", &endpoint);
    cse_store_reader_close(&reader);
    request.endpoint = endpoint.data;
    cse_status status = cse_control_send(&request, reply);
    cse_text_clear(&endpoint);
    return status;
}

static void assert_json(cse_row_kind kind, const cse_store_query *query, const char *part)
{
    cse_store_reader *reader = NULL;
    cse_text json = { 0 };
    ck_assert_int_eq(cse_store_reader_open(model_dir, &reader), CSE_OK);
    ck_assert_int_eq(cse_store_reader_json(reader, kind, query, &json), CSE_OK);
    ck_assert_msg(strstr(json.data, part) != NULL, "%s is not in %s", part, json.data);
    cse_text_clear(&json);
    cse_store_reader_close(&reader);
}

static void count_row(void *self, const cse_row *row)
{
    (void)row;
    (*(int *)self)++;
}

static int count_of(cse_row_kind kind, const cse_store_query *query)
{
    cse_store_reader *reader = NULL;
    int count = 0;
    ck_assert_int_eq(cse_store_reader_open(model_dir, &reader), CSE_OK);
    ck_assert_int_eq(cse_store_reader_rows(reader, kind, query, count_row, &count), CSE_OK);
    cse_store_reader_close(&reader);
    return count;
}

static void count_point(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    ck_assert_int_eq(curve->level, 0);
    *(int *)self += row != NULL;
}

static int points_of(const char *series, int64_t attempt)
{
    cse_store_reader *reader = NULL;
    int count = 0;
    ck_assert_int_eq(cse_store_reader_open(model_dir, &reader), CSE_OK);
    const cse_metrics_query query = { .names = (const char *const[]){ series, NULL },
                                      .attempt = attempt,
                                      .max_points = 100000 };
    ck_assert_int_eq(cse_store_reader_metrics(reader, &query, count_point, &count), CSE_OK);
    cse_store_reader_close(&reader);
    return count;
}

static const cse_store_query everything;

START_TEST(a_run_leaves_all_of_itself)
{
    start((const char *const[]){ "--num_csx", "2", "--max_steps", "40", "--set",
                                 "checkpoint.steps=20", "--set", "loop.num_steps=null", NULL });
    ck_assert_int_eq(finish(), 0);
    ck_assert_int_eq(status_now().state, CSE_RUN_SUCCEEDED);
    assert_json(CSE_ROW_TRANSITION, &everything, "\"to_state\":\"STARTING\"");
    ck_assert_int_eq(points_of("loss", 1), 40);
    ck_assert_int_eq(points_of("val_loss", 1), 1);
    ck_assert_int_eq(count_of(CSE_ROW_CHECKPOINT, &everything), 2);
    assert_json(CSE_ROW_ARTEFACT, &everything, "config.origins.json");
    assert_json(CSE_ROW_ARTEFACT, &everything, "graph.training.json");
    assert_json(CSE_ROW_CLOSURE, &everything, "\"name\":\"progress\"");
    assert_json(CSE_ROW_CLOSURE, &everything, "\"names\":[\"loss\"],\"values\":[");
    assert_json(CSE_ROW_CLOSURE, &everything, "\"training\":false,\"names\":[\"loss\"]");
    assert_json(CSE_ROW_LOG, &everything, "saved checkpoint");
    /* The second start goes on: points of its own under attempt 2. */
    start((const char *const[]){ "--num_csx", "1", "--max_steps", "60", "--set",
                                 "loop.num_steps=null", NULL });
    ck_assert_int_eq(finish(), 0);
    ck_assert_int_eq(status_now().attempt, 2);
    ck_assert_int_eq(points_of("loss", 1), 40);
    ck_assert_int_eq(points_of("loss", 2), 20);
    assert_json(CSE_ROW_LOG, &everything, "loaded checkpoint");
}
END_TEST

static void add_point(void *self, const cse_curve *curve, const cse_curve_row *row)
{
    if (row != NULL && curve->attempt == 1)
        json_array_append_new(self, json_pack("[I,I,f]", (json_int_t)row->first_step,
                                              (json_int_t)row->time_ms, row->last));
}

/* [step, time_ms, value] of a series in attempt 1; release with json_decref. */
static json_t *points(const char *series)
{
    cse_store_reader *reader = NULL;
    json_t *all = json_array();
    ck_assert_int_eq(cse_store_reader_open(model_dir, &reader), CSE_OK);
    const cse_metrics_query query = { .names = (const char *const[]){ series, NULL } };
    ck_assert_int_eq(cse_store_reader_metrics(reader, &query, add_point, all), CSE_OK);
    cse_store_reader_close(&reader);
    return all;
}

/* The rate by its formula (cosine decay), at the step it was used in; what explains failures is no
 * curve. */
START_TEST(what_a_step_used_is_recorded_with_it)
{
    start((const char *const[]){
        "--set", "optimizer={SGD: {momentum: 0.9}}", "--set",
        "schedulers=[{CosineDecayLR: {initial_learning_rate: 0.1, end_learning_rate: 0.01, "
        "total_iters: 60}}]",
        "--set", "precision.max_gradient_norm=0.001", "--set",
        "precision.loss_scaling_factor=dynamic", "--set", "precision.initial_loss_scale=4096",
        NULL });
    ck_assert_int_eq(finish(), 0);
    json_t *rates = points("lr/0"), *norms = points("grad_norm"), *scales = points("loss_scale");
    ck_assert_uint_eq(json_array_size(rates), 60);
    ck_assert_uint_eq(json_array_size(norms), 60);
    for (size_t i = 0; i < 60; i++) {
        const json_t *rate = json_array_get(rates, i);
        double t = (double)i / 60, expected = 0.01 + 0.5 * 0.09 * (1 + cos(3.14159265358979 * t));
        ck_assert_int_eq(json_integer_value(json_array_get(rate, 0)), (json_int_t)i + 1);
        ck_assert_double_eq_tol(json_number_value(json_array_get(rate, 2)), expected, 1e-6);
        /* Before clipping, so above the bound. */
        ck_assert_double_gt(json_number_value(json_array_get(json_array_get(norms, i), 2)), 0.001);
    }
    /* It stands still: its ends are enough. */
    ck_assert_uint_eq(json_array_size(scales), 2);
    ck_assert_double_eq(json_number_value(json_array_get(json_array_get(scales, 1), 2)), 4096);
    json_decref(rates);
    json_decref(norms);
    json_decref(scales);
    cse_store_reader *reader = NULL;
    cse_text text = { 0 };
    ck_assert_int_eq(cse_store_reader_open(model_dir, &reader), CSE_OK);
    ck_assert_int_eq(cse_store_reader_json(reader, CSE_ROW_SERIES, &everything, &text), CSE_OK);
    ck_assert_ptr_null(strstr(text.data, "squares"));
    cse_text_clear(&text);
    cse_store_reader_close(&reader);
}
END_TEST

START_TEST(a_failure_has_its_reason)
{
    start((const char *const[]){ "--set", "optimizer.SGD.lr=900", NULL });
    ck_assert_int_eq(finish(), 1);
    cse_run_status status = status_now();
    ck_assert_int_eq(status.state, CSE_RUN_FAILED);
    ck_assert_str_eq(status.reason, "NUMERICS");
    ck_assert_ptr_nonnull(strstr(status.message, "loss"));
}
END_TEST

static const char *const long_run[] = { "--num_csx",   "2",     "--max_steps",
                                        "2000000000",  "--set", "loop.num_steps=null",
                                        "--log_steps", "1000",  NULL };

static void look_for_stream(void *self, const cse_row *row)
{
    const char *stream = "\"from\":\"input ring\",\"to\":\"replica 1\"";
    *(bool *)self = strstr(row->fields[1].text, stream) != NULL;
}

/* Whether microbatches go to replica 1, by a topology that is made from now on. */
static bool second_replica_is_fed(void)
{
    const cse_store_query newest = { .newest_first = true, .limit = 1 };
    int samples = count_of(CSE_ROW_TOPOLOGY, &everything);
    cse_store_reader *reader = NULL;
    bool found = false;
    for (int i = 0; i < 1000 && count_of(CSE_ROW_TOPOLOGY, &everything) < samples + 2; i++)
        cse_sleep_ns(10000000);
    ck_assert_int_eq(cse_store_reader_open(model_dir, &reader), CSE_OK);
    ck_assert_int_eq(
        cse_store_reader_rows(reader, CSE_ROW_TOPOLOGY, &newest, look_for_stream, &found), CSE_OK);
    cse_store_reader_close(&reader);
    return found;
}

START_TEST(an_operator_pauses_saves_scales_and_cancels)
{
    cse_control_reply reply;
    start(long_run);
    await(CSE_RUN_RUNNING);
    await_step(100);
    ck_assert(second_replica_is_fed());
    ck_assert_int_eq(say((cse_control_request){ .command = "pause", .reason = "lunch" }, &reply),
                     CSE_OK);
    await(CSE_RUN_PAUSED);
    cse_sleep_ns(500000000); /* what was under way is written */
    int64_t stood_at = status_now().last_step;
    cse_sleep_ns(500000000);
    ck_assert_int_eq(status_now().last_step, stood_at);
    ck_assert_int_eq(say((cse_control_request){ .command = "status" }, &reply), CSE_OK);
    ck_assert_str_eq(reply.text, "paused");
    ck_assert_int_eq(reply.step, stood_at);
    ck_assert_int_eq(say((cse_control_request){ .command = "checkpoint" }, &reply), CSE_OK);
    for (int i = 0; i < 500 && count_of(CSE_ROW_CHECKPOINT, &everything) == 0; i++)
        cse_sleep_ns(10000000);
    char step[64], path[256];
    snprintf(step, sizeof step, "\"step\":%lld,", (long long)stood_at);
    assert_json(CSE_ROW_CHECKPOINT, &everything, step);
    snprintf(path, sizeof path, "%s/checkpoint_%lld.mdl", model_dir, (long long)stood_at);
    ck_assert_int_eq(access(path, R_OK), 0);
    ck_assert_int_eq(say((cse_control_request){ .command = "scale", .num_csx = 1 }, &reply),
                     CSE_OK);
    ck_assert_int_eq(say((cse_control_request){ .command = "scale", .num_csx = 5 }, &reply),
                     CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(reply.text, "unsupported"));
    ck_assert_int_eq(say((cse_control_request){ .command = "resume" }, &reply), CSE_OK);
    await(CSE_RUN_RUNNING);
    await_step(stood_at + 100);
    ck_assert(!second_replica_is_fed());
    ck_assert_int_eq(say((cse_control_request){ .command = "cancel",
                                                .save = true,
                                                .grace_ms = 20000,
                                                .reason = "enough" },
                         &reply),
                     CSE_OK);
    ck_assert_int_eq(finish(), 130);
    ck_assert_int_eq(status_now().state, CSE_RUN_CANCELLED);
    ck_assert_int_eq(count_of(CSE_ROW_CHECKPOINT, &everything), 2);
    assert_json(CSE_ROW_TRANSITION, &everything, "\"message\":\"lunch\"");
    assert_json(CSE_ROW_TRANSITION, &everything, "\"to_state\":\"CANCELLING\"");
    assert_json(CSE_ROW_RUN, &everything, "{\"key\":\"num_csx\",\"value\":\"1\"}");
    ck_assert_int_eq(say((cse_control_request){ .command = "pause" }, &reply), CSE_UNAVAILABLE);
    ck_assert_int_eq(say((cse_control_request){ .command = "pose" }, &reply), CSE_USAGE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "pause"));
}
END_TEST

static json_int_t integer_in(const json_t *object, const char *name)
{
    ck_assert_msg(json_is_integer(json_object_get(object, name)), "no integer %s", name);
    return json_integer_value(json_object_get(object, name));
}

static const char *text_in(const json_t *object, const char *name)
{
    ck_assert_msg(json_is_string(json_object_get(object, name)), "no text %s", name);
    return json_string_value(json_object_get(object, name));
}

/* The shares of a process are shares, and add up; each says which microbatch it is at. */
static void check_process(const json_t *one)
{
    double busy = json_number_value(json_object_get(one, "busy"));
    double idle = json_number_value(json_object_get(one, "idle"));
    double pressed = json_number_value(json_object_get(one, "back_pressured"));
    const bool input = strcmp(text_in(one, "role"), "input_worker") == 0;
    ck_assert(busy >= 0 && idle >= 0 && pressed >= 0);
    ck_assert_double_eq_tol(busy + idle + pressed, 1, 1e-3);
    if (strcmp(text_in(one, "state"), "running") != 0)
        return; /* it is starting, or has left with the run */
    ck_assert_int_gt(integer_in(one, "pid"), 0);
    ck_assert_int_eq(integer_in(one, "incarnation"), 1);
    if (json_object_get(one, "microbatch") == NULL)
        return; /* its first is still to come */
    ck_assert_int_gt(integer_in(one, "step"), 0);
    ck_assert(integer_in(one, "microbatch") >= 0 && integer_in(one, "microbatch") < 4);
    if (input) {
        ck_assert_int_gt(integer_in(one, "epoch"), 0);
        ck_assert_int_ge(integer_in(one, "sample"), 0);
    }
}

/* Streams begin and end at the ring, the tree and the weights: their bits in the answer. */
static int check_stream(const json_t *one, bool steps)
{
    static const char *const names[] = { "input ring",   "microbatches", "partial sums",
                                         "reduced sums", "weights",      "records" };
    const char *name = text_in(one, "name");
    int64_t depth = json_integer_value(json_object_get(one, "depth"));
    int64_t capacity = json_integer_value(json_object_get(one, "capacity"));
    ck_assert(depth >= 0 && depth <= capacity);
    if (steps)
        ck_assert_double_gt(json_number_value(json_object_get(one, "mb_per_second")), 0);
    if (strcmp(name, "partial sums") == 0)
        ck_assert_str_eq(text_in(one, "payload"), "bfloat16, stochastic");
    if (strcmp(name, "weights") == 0)
        ck_assert_str_eq(text_in(one, "payload"), "float32");
    if (strcmp(name, "microbatches") == 0)
        ck_assert_ptr_nonnull(strstr(text_in(one, "payload"), "float32"));
    for (int i = 0; i < 6; i++)
        if (strcmp(name, names[i]) == 0)
            return 1 << i;
    return 1 << 6;
}

typedef struct topology_seen {
    int streams, fed;
} topology_seen;

static void check_topology(void *self, const cse_row *row)
{
    topology_seen *seen = self;
    json_error_t error;
    json_t *root = json_loads(row->fields[1].text, 0, &error), *one;
    ck_assert_msg(root != NULL, "%s", error.text);
    const json_t *ring = json_object_get(root, "ring"), *data = json_object_get(root, "data");
    const json_int_t capacity = integer_in(ring, "capacity");
    int64_t taken = 0, given = 0;
    size_t index;
    json_array_foreach(json_object_get(root, "processes"), index, one)
    {
        check_process(one);
        seen->fed += (int)json_array_size(json_object_get(one, "fed_by"));
    }
    ck_assert_uint_eq(index, 1 + 2 + 1 + 2); /* coordinator, replicas, weight server, inputs */
    const bool steps = json_number_value(json_object_get(root, "steps_per_second")) > 0;
    json_array_foreach(json_object_get(root, "streams"), index, one)
    {
        seen->streams |= check_stream(one, steps);
        if (strcmp(text_in(one, "name"), "input ring") == 0)
            given += integer_in(one, "capacity");
        if (strcmp(text_in(one, "name"), "microbatches") == 0)
            taken += integer_in(one, "capacity");
    }
    ck_assert_uint_eq(index, 2 + 2 + 2 + 2 + 1);
    ck_assert_int_eq(given, capacity);
    ck_assert_int_eq(taken, capacity);
    ck_assert_int_eq(capacity % 4, 0); /* whole steps of four microbatches */
    ck_assert_int_le(integer_in(ring, "filled") + integer_in(ring, "filling"), capacity);
    ck_assert_int_eq(integer_in(root, "microbatches"), 4);
    ck_assert_int_eq(integer_in(root, "replicas"), 2);
    ck_assert_int_ge(integer_in(root, "interval_ms"), 0);
    ck_assert_str_eq(text_in(data, "input"), "synthetic");
    ck_assert(json_is_null(json_object_get(data, "source"))); /* it reads no file */
    ck_assert_int_gt(integer_in(data, "samples"), 0);
    json_decref(root);
}

/* One lane of a sampled step: in order, without overlap. */
typedef struct lane {
    char process[32];
    int64_t end_ns;
    int computes, updates, waits;
} lane;

static void check_span(void *self, const cse_row *row)
{
    lane *lanes = self;
    int64_t start_ns = row->fields[4].integer, end_ns = row->fields[5].integer;
    const char *process = row->fields[2].text, *kind = row->fields[3].text;
    int i = 0;
    while (lanes[i].process[0] != '\0' && strcmp(lanes[i].process, process) != 0)
        i++;
    snprintf(lanes[i].process, sizeof lanes[i].process, "%s", process);
    ck_assert_int_gt(end_ns, start_ns);
    ck_assert_msg(start_ns >= lanes[i].end_ns, "%s: %s overlaps what was before", process, kind);
    lanes[i].end_ns = end_ns;
    lanes[i].computes += strcmp(kind, "compute") == 0;
    lanes[i].updates += strcmp(kind, "update") == 0;
    lanes[i].waits += strcmp(kind, "wait") == 0;
}

START_TEST(processes_and_streams_of_a_run_can_be_watched)
{
    start((const char *const[]){ "--num_csx", "2", "--max_wgt_servers", "1", "--max_steps",
                                 "2000000000", "--set", "loop.num_steps=null", "--log_steps",
                                 "1000", "--weight_grad_reduce", "bf16sr", NULL });
    await(CSE_RUN_RUNNING);
    for (int i = 0; i < 1000 && count_of(CSE_ROW_TOPOLOGY, &everything) < 4; i++)
        cse_sleep_ns(10000000);
    cse_control_reply reply;
    ck_assert_int_eq(say((cse_control_request){ .command = "cancel" }, &reply), CSE_OK);
    ck_assert_int_eq(finish(), 130);
    cse_store_reader *reader = NULL;
    topology_seen seen = { 0 };
    ck_assert_int_eq(cse_store_reader_open(model_dir, &reader), CSE_OK);
    ck_assert_int_eq(
        cse_store_reader_rows(reader, CSE_ROW_TOPOLOGY, &everything, check_topology, &seen),
        CSE_OK);
    ck_assert_int_eq(seen.streams, 63);
    ck_assert_int_gt(seen.fed, 0);
    lane lanes[16] = { 0 };
    ck_assert_int_eq(cse_store_reader_rows(reader, CSE_ROW_SPAN, &everything, check_span, lanes),
                     CSE_OK);
    int computes = 0, updates = 0, names = 0;
    for (; lanes[names].process[0] != '\0'; names++) {
        bool replica = strncmp(lanes[names].process, "replica", 7) == 0;
        computes += lanes[names].computes;
        updates += lanes[names].updates;
        ck_assert(replica || lanes[names].computes == 0); /* nobody else has that role */
        ck_assert(!replica || lanes[names].updates == 0);
    }
    ck_assert_int_gt(computes, 0);
    ck_assert_int_gt(updates, 0);
    cse_store_reader_close(&reader);
}
END_TEST

/* What the samples say of replica 1. */
typedef struct replica_seen {
    long pid;
    int lost, starting, second; /* samples in which it is so; `second`: its second process runs */
} replica_seen;

static void find_replica(void *self, const cse_row *row)
{
    replica_seen *seen = self;
    json_t *root = json_loads(row->fields[1].text, 0, NULL), *one;
    size_t index;
    json_array_foreach(json_object_get(root, "processes"), index, one)
    {
        if (strcmp(text_in(one, "name"), "replica 1") != 0)
            continue;
        const char *state = text_in(one, "state");
        const bool is_second = integer_in(one, "incarnation") == 2;
        seen->pid = (long)json_integer_value(json_object_get(one, "pid"));
        seen->lost += strcmp(state, "lost") == 0;
        seen->starting += strcmp(state, "starting") == 0 && is_second;
        seen->second += strcmp(state, "running") == 0 && is_second && seen->pid > 0;
        if (strcmp(state, "lost") == 0)
            ck_assert(json_is_null(json_object_get(one, "pid")));
    }
    json_decref(root);
}

static replica_seen replica_now(void)
{
    cse_store_reader *reader = NULL;
    replica_seen seen = { 0 };
    ck_assert_int_eq(cse_store_reader_open(model_dir, &reader), CSE_OK);
    ck_assert_int_eq(
        cse_store_reader_rows(reader, CSE_ROW_TOPOLOGY, &everything, find_replica, &seen), CSE_OK);
    cse_store_reader_close(&reader);
    return seen;
}

START_TEST(a_lost_process_is_replaced_and_that_is_told)
{
    cse_control_reply reply;
    start(long_run);
    await(CSE_RUN_RUNNING);
    for (int i = 0; i < 1000 && count_of(CSE_ROW_TOPOLOGY, &everything) < 1; i++)
        cse_sleep_ns(10000000);
    const long pid = replica_now().pid;
    ck_assert_int_gt(pid, 1);
    ck_assert_int_eq(kill((pid_t)pid, SIGKILL), 0);
    const cse_store_query recovering = { .filters[0] = { "to_state", (const char *const[]){
                                                                         "RECOVERING", NULL } } };
    for (int i = 0; i < 1000 && count_of(CSE_ROW_TRANSITION, &recovering) == 0; i++)
        cse_sleep_ns(10000000);
    assert_json(CSE_ROW_TRANSITION, &recovering, "replica 1 was killed by signal 9");
    await(CSE_RUN_RUNNING);
    assert_json(CSE_ROW_LOG, &everything, "a new process takes its place");
    await_step(status_now().last_step + 100);
    for (int i = 0; i < 1000 && replica_now().second == 0; i++)
        cse_sleep_ns(10000000);
    ck_assert_int_eq(say((cse_control_request){ .command = "cancel" }, &reply), CSE_OK);
    ck_assert_int_eq(finish(), 130);
    const replica_seen seen = replica_now();
    ck_assert_int_gt(seen.lost, 0);
    ck_assert_int_gt(seen.starting, 0);
    ck_assert_int_gt(seen.second, 0);
}
END_TEST

/* The account of the time, and the same from the transitions, by their own clock. */
typedef struct account_seen {
    int64_t start_ms, time_ms, sum_ms;
    int64_t bins_ms[10]; /* in the order of the table */
    int64_t left_ms, first_ms;
    int64_t starting_ms, paused_ms, recovering_ms;
} account_seen;

static void read_account(void *self, const cse_row *row)
{
    account_seen *seen = self;
    *seen = (account_seen){ .start_ms = row->fields[1].integer };
    seen->time_ms = row->fields[2].integer;
    for (int i = 0; i < 10; i++) {
        seen->bins_ms[i] = row->fields[3 + i].integer;
        ck_assert_int_ge(seen->bins_ms[i], 0);
        seen->sum_ms += seen->bins_ms[i];
    }
    ck_assert_int_eq(seen->sum_ms, seen->time_ms - seen->start_ms);
}

static void read_transition(void *self, const cse_row *row)
{
    account_seen *seen = self;
    const int64_t time_ms = row->fields[1].integer;
    const char *from = row->fields[2].text != NULL ? row->fields[2].text : "";
    const int64_t lasted_ms = time_ms - seen->left_ms;
    if (seen->first_ms == 0)
        seen->first_ms = time_ms;
    else if (strcmp(from, "COMPILING") == 0 || strcmp(from, "STARTING") == 0)
        seen->starting_ms += lasted_ms;
    else if (strcmp(from, "PAUSED") == 0)
        seen->paused_ms += lasted_ms;
    else if (strcmp(from, "RECOVERING") == 0)
        seen->recovering_ms += lasted_ms;
    seen->left_ms = time_ms;
}

static account_seen account_now(void)
{
    account_seen seen = { 0 };
    cse_store_reader *reader = NULL;
    ck_assert_int_eq(cse_store_reader_open(model_dir, &reader), CSE_OK);
    ck_assert_int_eq(
        cse_store_reader_rows(reader, CSE_ROW_GOODPUT, &everything, read_account, &seen), CSE_OK);
    ck_assert_int_eq(
        cse_store_reader_rows(reader, CSE_ROW_TRANSITION, &everything, read_transition, &seen),
        CSE_OK);
    cse_store_reader_close(&reader);
    return seen;
}

/* Two readings of the clock are apart by what a machine with other work does between them. */
static void assert_near(const char *what, int64_t accounted_ms, int64_t stated_ms)
{
    const int64_t apart_ms = accounted_ms - stated_ms;
    ck_assert_msg(apart_ms > -300 && apart_ms < 300, "%s: %lld ms, by the transitions %lld ms",
                  what, (long long)accounted_ms, (long long)stated_ms);
}

START_TEST(each_millisecond_of_a_run_is_in_one_bin)
{
    enum { STARTING, COMPUTE, INPUT, UPDATE, COMMUNICATION, SAVE, VALIDATION, RECOVERY, PAUSED };
    cse_control_reply reply;
    start(long_run);
    await(CSE_RUN_RUNNING);
    for (int i = 0; i < 1000 && count_of(CSE_ROW_TOPOLOGY, &everything) < 2; i++)
        cse_sleep_ns(10000000);
    ck_assert_int_eq(kill((pid_t)replica_now().pid, SIGKILL), 0);
    for (int i = 0; i < 1000 && replica_now().second == 0; i++)
        cse_sleep_ns(10000000);
    ck_assert_int_eq(say((cse_control_request){ .command = "pause" }, &reply), CSE_OK);
    await(CSE_RUN_PAUSED);
    cse_sleep_ns(1200000000);
    for (int i = 0; i < 1000 && account_now().bins_ms[PAUSED] == 0; i++)
        cse_sleep_ns(10000000);
    ck_assert_int_gt(account_now().bins_ms[PAUSED], 0); /* told while it lasts */
    ck_assert_int_eq(say((cse_control_request){ .command = "resume" }, &reply), CSE_OK);
    await(CSE_RUN_RUNNING);
    await_step(status_now().last_step + 100);
    ck_assert_int_eq(
        say((cse_control_request){ .command = "cancel", .save = true, .grace_ms = 20000 }, &reply),
        CSE_OK);
    ck_assert_int_eq(finish(), 130);
    const account_seen seen = account_now();
    assert_near("the run", seen.sum_ms, seen.left_ms - seen.first_ms);
    assert_near("starting", seen.bins_ms[STARTING], seen.starting_ms);
    assert_near("paused", seen.bins_ms[PAUSED], seen.paused_ms);
    assert_near("recovery", seen.bins_ms[RECOVERY], seen.recovering_ms);
    ck_assert_int_ge(seen.bins_ms[PAUSED], 1200);
    ck_assert_int_gt(seen.bins_ms[RECOVERY], 0);
    ck_assert_int_gt(seen.bins_ms[SAVE], 0);
    ck_assert_int_gt(seen.bins_ms[COMPUTE], 0);
    ck_assert_int_gt(seen.bins_ms[UPDATE], 0);
    ck_assert_int_eq(seen.bins_ms[COMMUNICATION], 0);
    ck_assert_int_eq(seen.bins_ms[VALIDATION], 0);
}
END_TEST

START_TEST(killed_on_request_it_ends_at_once_and_says_so)
{
    cse_control_reply reply;
    start(long_run);
    await(CSE_RUN_RUNNING);
    ck_assert_int_eq(say((cse_control_request){ .command = "kill" }, &reply), CSE_OK);
    ck_assert_int_eq(finish(), 130);
    ck_assert_int_eq(status_now().state, CSE_RUN_CANCELLED);
    ck_assert_int_eq(count_of(CSE_ROW_CHECKPOINT, &everything), 0);
}
END_TEST

START_TEST(a_killed_coordinator_is_seen_as_dead)
{
    start(long_run);
    await(CSE_RUN_RUNNING);
    await_step(50);
    cse_store_reader *reader = NULL;
    cse_text pid = { 0 };
    ck_assert_int_eq(cse_store_reader_open(model_dir, &reader), CSE_OK);
    ck_assert(cse_store_reader_key(reader, "pid", &pid));
    cse_store_reader_close(&reader);
    ck_assert_int_ne(atoi(pid.data), run); /* the supervisor is another process */
    /* The supervisor would start another coordinator, and without it this one would end in good
     * order. */
    ck_assert_int_eq(kill((pid_t)atoi(pid.data), SIGSTOP), 0);
    kill(run, SIGKILL);
    ck_assert_int_eq(kill((pid_t)atoi(pid.data), SIGKILL), 0);
    cse_text_clear(&pid);
    ck_assert_int_eq(finish(), 128 + SIGKILL);
    cse_run_status status = status_now();
    for (int i = 0; i < 1000 && status.alive; i++) {
        cse_sleep_ns(10000000);
        status = status_now();
    }
    ck_assert(!status.alive && status.derived);
    ck_assert_int_eq(status.state, CSE_RUN_FAILED);
    ck_assert_str_eq(status.reason, "INTERRUPTED");
    ck_assert_int_ge(status.last_step, 50);
    ck_assert_int_gt(points_of("loss", 1), 50);
    /* There is no checkpoint: all steps are done again. */
    cse_control_reply reply;
    start(long_run);
    await(CSE_RUN_RUNNING);
    for (int i = 0; i < 1000 && account_now().bins_ms[1] == 0; i++) /* computes what is new */
        cse_sleep_ns(10000000);
    ck_assert_int_eq(say((cse_control_request){ .command = "kill" }, &reply), CSE_OK);
    ck_assert_int_eq(finish(), 130);
    ck_assert_int_gt(account_now().bins_ms[7], 0);
}
END_TEST

START_TEST(two_runs_do_not_share_a_model_dir)
{
    start(long_run);
    await(CSE_RUN_RUNNING);
    pid_t first = run;
    start(long_run);
    ck_assert_int_eq(finish(), 75);
    run = first;
    ck_assert_int_eq(status_now().state, CSE_RUN_RUNNING);
    cse_control_reply reply;
    ck_assert_int_eq(say((cse_control_request){ .command = "cancel" }, &reply), CSE_OK);
    ck_assert_int_eq(finish(), 130);
}
END_TEST

/* A limit of the size of files stands for a full disk: it lets the log of the store grow no more.
 */
START_TEST(training_goes_on_when_the_store_cannot_be_written)
{
    struct rlimit before, limit;
    char output[256], text[8192] = "";
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 1536 << 10; /* with less the run does not begin */
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    /* More than the limit holds. */
    start((const char *const[]){ "--max_steps", "20000", "--set", "loop.num_steps=null",
                                 "--log_steps", "100000", NULL });
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(finish(), 0);
    snprintf(output, sizeof output, "%s/output", folder);
    FILE *file = fopen(output, "r");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    fclose(file);
    const char *warning = strstr(text, "run store: cannot be written");
    ck_assert_msg(warning != NULL, "%s", text);
    ck_assert_ptr_null(strstr(warning + 1, "run store: cannot be written"));
    ck_assert_ptr_nonnull(strstr(text, "Training completed successfully"));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("run store of a run");
    tcase_set_timeout(cases, 600);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_run_leaves_all_of_itself);
    tcase_add_test(cases, what_a_step_used_is_recorded_with_it);
    tcase_add_test(cases, a_failure_has_its_reason);
    tcase_add_test(cases, an_operator_pauses_saves_scales_and_cancels);
    tcase_add_test(cases, processes_and_streams_of_a_run_can_be_watched);
    tcase_add_test(cases, a_lost_process_is_replaced_and_that_is_told);
    tcase_add_test(cases, each_millisecond_of_a_run_is_in_one_bin);
    tcase_add_test(cases, killed_on_request_it_ends_at_once_and_says_so);
    tcase_add_test(cases, a_killed_coordinator_is_seen_as_dead);
    tcase_add_test(cases, two_runs_do_not_share_a_model_dir);
    tcase_add_test(cases, training_goes_on_when_the_store_cannot_be_written);
    Suite *suite = suite_create("run store of a run");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
