/* Times the update of one large parameter, as a run does it: chunk by chunk with the undo log and
 * the digest of the new states, beside STREAM's triad on the same cores.
 *
 * A row is an optimizer and what it keeps; bytes are those that an element takes from and to
 * memory. All rows and the triad take turns, ROUNDS times; medians are shown. A triad's plain
 * stores read what they overwrite, which its 12 bytes an element do not count: so an update, which
 * reads what it writes, can be above 1. Time is that of the processor, without that of others who
 * had it meanwhile. Arguments: --elements N. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "csengine/csengine.h"
#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "engine/code/codegen/codegen.h"
#include "run/contracts/traced_run.h"
#include "run/measure/bandwidth.h"
#include "workers/arena/range_digest.h"

enum { ROUNDS = 9, MOST_CORES = 2, CHUNK_LINES = 128 };

static int64_t elements = 16 << 20;

static const struct row {
    const char *optimizer, *settings;
    double bytes;
} rows[] = {
    { "SGD", "{lr: 0.1}", 12 },
    { "SGD", "{lr: 0.1, momentum: 0.9}", 20 },
    { "SGD", "{lr: 0.1, momentum: 0.9, moments: bfloat16}", 16 },
    { "SGD", "{lr: 0.1, momentum: 0.9, moments: int8_blocks}", 14.03 },
    { "AdamW", "{lr: 0.001}", 28 },
    { "AdamW", "{lr: 0.001, weight_decay: 0.1}", 28 },
    { "AdamW", "{lr: 0.001, moments: bfloat16}", 20 },
    { "AdamW", "{lr: 0.001, moments: bfloat16, moments_rounding: nearest}", 20 },
    { "AdamW", "{lr: 0.001, moments: int8_blocks}", 16.06 },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void require(cse_status status)
{
    if (status == CSE_OK)
        return;
    fprintf(stderr, "bench_update: %s\n", cse_error_message());
    exit(EXIT_FAILURE);
}

/* ---- a parameter whose gradient is the input ---- */

static cse_status build(cse_model *model, const cse_settings *settings)
{
    cse_state **w = cse_model_self(model);
    (void)settings;
    *w = cse_parameter(model, "w", cse_shape_of(elements),
                       (cse_initializer){ CSE_INIT_NORMAL, 0, 0.02 });
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    cse_state **w = cse_model_self(model);
    return cse_mul(cse_reshape(input, cse_shape_of(elements)), cse_read(*w));
}

static const cse_setting no_settings[] = { { .name = NULL } };
static const cse_model_descriptor vector = {
    .name = "vector",
    .summary = "the gradient of its loss is its input",
    .settings = no_settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_state *),
    .build = build,
    .forward = forward,
};

typedef struct subject {
    cse_model *model;
    cse_optimizer *optimizer;
} subject;

static cse_tensor *step_of(cse_step *step, void *self)
{
    const subject *s = self;
    cse_tensor *loss = cse_sum_all(cse_forward(s->model, cse_input(step, "images")));
    cse_optimizer_step(step, loss, s->optimizer, NULL, NULL);
    return loss;
}

/* ---- timing ---- */

typedef struct share {
    cse_traced_run *traced;
    cse_bandwidth_arrays *arrays; /* not NULL: a triad */
    int part, parts;
    bool digests;
    double triad, seconds; /* of its processor time */
    pthread_t thread;
    unsigned char undo[2][CSE_MAX_ASSIGNS * CSE_LINE_ELEMENTS * 4];
    uint64_t digest;
} share;

static void update_lines(share *s, int group, const int64_t lines[2])
{
    volatile uint64_t progress = 0;
    const cse_executable *executable = s->traced->executable;
    const cse_graph *graph = executable->graph;
    const cse_group *of = &graph->groups[group];
    cse_frame frame = cse_straight_run_frame(&s->traced->run);
    const cse_undo_log undo = { .lines = { s->undo[0], s->undo[1] }, .progress = &progress };
    executable->update((cse_executable *)(uintptr_t)executable, &frame, group, lines, &undo);
    for (int n = 0; s->digests && n < of->node_count; n++) {
        int64_t bytes[2];
        if (of->nodes[n]->op != &cse_op_assign)
            continue;
        cse_group_line_bytes(of, of->nodes[n], lines, bytes);
        s->digest ^=
            cse_range_digest(frame.base[CSE_SPACE_STATE] + of->nodes[n]->offset_bytes + bytes[0],
                             (size_t)(bytes[1] - bytes[0]));
    }
}

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void update_part(share *s)
{
    const cse_graph *graph = s->traced->executable->graph;
    for (int g = 0; g < graph->group_count; g++) {
        if (graph->groups[g].part != CSE_PART_UPDATE)
            continue;
        const int64_t all = cse_group_lines(&graph->groups[g]);
        const int64_t last = all * (s->part + 1) / s->parts;
        for (int64_t line = all * s->part / s->parts; line < last; line += CHUNK_LINES) {
            const int64_t end = line + CHUNK_LINES;
            update_lines(s, g, (const int64_t[]){ line, end < last ? end : last });
        }
    }
}

static void *run_share(void *argument)
{
    share *s = argument;
    const double start = thread_seconds(), clock = (double)cse_clock_ns() * 1e-9;
    if (s->arrays != NULL)
        s->triad = cse_bandwidth_triad(s->arrays);
    else
        update_part(s);
    s->seconds = thread_seconds() - start;
    s->triad *= ((double)cse_clock_ns() * 1e-9 - clock) / s->seconds;
    return NULL;
}

/* Processor seconds of the share that took longest. */
static double run_shares(share shares[], int count)
{
    double longest = 0;
    for (int i = 0; i < count; i++)
        if (pthread_create(&shares[i].thread, NULL, run_share, &shares[i]) != 0)
            exit(EXIT_FAILURE);
    for (int i = 0; i < count; i++)
        pthread_join(shares[i].thread, NULL);
    for (int i = 0; i < count; i++)
        longest = fmax(longest, shares[i].seconds);
    return longest;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values)
{
    qsort(values, ROUNDS, sizeof *values, by_value);
    return values[ROUNDS / 2];
}

static void time_row(const struct row *row, cse_traced_run *traced, int cores, bool digests)
{
    static share shares[MOST_CORES];
    static cse_bandwidth_arrays *arrays[MOST_CORES];
    double seconds[ROUNDS], triads[ROUNDS], ratios[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < cores; i++) {
            if (arrays[i] == NULL)
                arrays[i] = cse_bandwidth_arrays_new();
            shares[i] = (share){ .arrays = arrays[i] };
        }
        run_shares(shares, cores);
        triads[r] = 0;
        for (int i = 0; i < cores; i++)
            triads[r] += shares[i].triad;
        for (int i = 0; i < cores; i++)
            shares[i] = (share){ .traced = traced, .part = i, .parts = cores, .digests = digests };
        seconds[r] = run_shares(shares, cores);
        ratios[r] = row->bytes * (double)elements / seconds[r] * 1e-9 / triads[r];
        traced->run.step++;
    }
    const double taken = median_of(seconds);
    printf("%-6s %-62s %d  %-3s %6.2f %8.2f %7.1f %7.1f %6.2f\n", row->optimizer, row->settings,
           cores, digests ? "yes" : "no", row->bytes, taken * 1e3,
           row->bytes * (double)elements / taken * 1e-9, median_of(triads), median_of(ratios));
    fflush(stdout);
}

static void bench_row(const struct row *row, const char *folder)
{
    char yaml[256];
    cse_traced_run traced;
    cse_compile_result compiled;
    require(cse_configure(&(cse_configuration){ .model_dir = "/nowhere", .seed = 1 }));
    subject s = { .model = cse_compile(cse_model_define(&vector, NULL)) };
    s.optimizer = cse_configure_optimizer(row->optimizer, s.model, row->settings);
    require(cse_session_status());
    snprintf(yaml, sizeof yaml,
             "{data_processor: synthetic, samples: 1, features: [%lld], classes: 2, batch_size: "
             "1, micro_batch_size: 1}",
             (long long)elements);
    require(cse_traced_run_plan(&traced, yaml, step_of, &s));
    require(cse_codegen_compile(traced.step->graph, folder, &compiled));
    require(cse_executable_open(compiled.directory, &traced.executable));
    cse_traced_run_begin(&traced);
    require(cse_traced_run_step(&traced));
    for (int cores = 1; cores <= MOST_CORES; cores++)
        for (int digests = 0; digests < 2; digests++)
            time_row(row, &traced, cores, digests != 0);
    cse_traced_run_close(&traced);
    cse_finish();
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/csengine_bench_XXXXXX";
    if (argc == 3 && strcmp(argv[1], "--elements") == 0)
        elements = atoll(argv[2]);
    if (mkdtemp(folder) == NULL)
        return EXIT_FAILURE;
    printf("%-6s %-62s %s  %s %6s %8s %7s %7s %6s\n", "", "", "cores", "digest", "bytes", "ms",
           "GB/s", "triad", "ratio");
    for (int r = 0; r < ROWS; r++)
        bench_row(&rows[r], folder);
    cse_remove_tree(folder);
    return 0;
}
