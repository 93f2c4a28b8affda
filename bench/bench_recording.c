/* What the record of a run costs a program: the same program with and without `no_run_store`, in
 * turns, PAIRS times, so that other load on the machine affects both. The program hands out a loss
 * at every step, calls a closure that prints, and logs a number of its own.
 *
 * For each pair the ratio of the two is taken, of the time of a step (from the first activation
 * step to the last), and of the processor time of all processes of the run from its start to its
 * end, which other load on the machine affects less. Medians of the ratios are printed, with those
 * of the same number of pairs whose runs are alike: what is not above them is noise. The limit is
 * 0.5 %. PAIRS and STEPS may be given as arguments. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "csengine/csengine.h"
#include "engine/base/clock.h"
#include "engine/base/directory.h"

enum { MOST_PAIRS = 99, ACTIVATION_STEPS = 10 };
static const char limit_text[] = "at most 0.5";

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_output *loss;
} training;

static cse_status tell_loss(void *self, const cse_values *values)
{
    (void)self;
    printf("step %lld: loss %g\n", (long long)cse_values_step(values), cse_value(values, 0));
    return CSE_OK;
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    t->loss = cse_step_output(step, "own_loss", loss);
    cse_step_closure(step, tell_loss, NULL, loss);
    return loss;
}

/* In a process of its own: trains, and writes the milliseconds of a step to `result`. */
static int train(const char *folder, bool records, long steps, int result)
{
    char model_dir[128], compile_dir[128];
    snprintf(model_dir, sizeof model_dir, "%s/run", folder);
    snprintf(compile_dir, sizeof compile_dir, "%s/compiled", folder);
    cse_configure(&(cse_configuration){
        .model_dir = model_dir, .compile_dir = compile_dir, .seed = 1, .no_run_store = !records });
    training t = { .model = cse_compile(
                       cse_model_new("fc_mnist", "{input_size: 784, hidden_sizes: [500, 300]}")) };
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.01, momentum: 0.9}");
    cse_executor *executor = cse_executor_new(&(cse_executor_options){
        .input = "{data_processor: synthetic, samples: 4096, features: [784], classes: 10, "
                 "batch_size: 1024, micro_batch_size: 256}",
        .num_steps = steps,
        .activation_steps = ACTIVATION_STEPS });
    cse_loop *loop = cse_execution_begin(executor, training_step, &t);
    int64_t first_ns = 0, last_ns = 0, first_step = 0, last_step = 0;
    while (cse_execution_next(loop, -1) == CSE_NEXT_STEP) {
        last_ns = cse_clock_ns();
        last_step = cse_execution_step(loop);
        if (first_ns == 0) {
            first_ns = last_ns;
            first_step = last_step;
        }
        cse_log_scalar("twice_the_loss", 2 * cse_output_number(t.loss));
    }
    cse_status status = cse_execution_end(&loop);
    if (status != CSE_OK)
        fprintf(stderr, "bench_recording: %s\n", cse_error_message());
    cse_finish();
    double ms = (double)(last_ns - first_ns) * 1e-6 / (double)(last_step - first_step);
    return status == CSE_OK && write(result, &ms, sizeof ms) == sizeof ms ? 0 : 1;
}

typedef struct cost {
    double step_ms, processor_s;
} cost;

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static double processor_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/* Processes that the run leaves to others become our children, and are waited for. */
static cost measure(const char *folder, bool records, long steps)
{
    char model_dir[128];
    int results[2], status = 0;
    cost found = { 0, -processor_seconds() };
    if (pipe2(results, O_CLOEXEC) != 0)
        exit(EXIT_FAILURE);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        exit(train(folder, records, steps, results[1]));
    }
    close(results[1]);
    if (read(results[0], &found.step_ms, sizeof found.step_ms) != sizeof found.step_ms)
        found.step_ms = NAN;
    close(results[0]);
    while (wait(&status) > 0)
        continue;
    found.processor_s += processor_seconds();
    snprintf(model_dir, sizeof model_dir, "%s/run", folder);
    cse_remove_tree(model_dir);
    if (!(found.step_ms > 0))
        exit(EXIT_FAILURE);
    return found;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Per cent. The middle half of the ratios says how sure it is. */
static void print_ratios(const char *what, double *ratios, int count, const char *limit)
{
    qsort(ratios, (size_t)count, sizeof *ratios, compare);
    printf("%-58s %+6.2f %% (%+.2f..%+.2f) %s\n", what, 100 * (ratios[count / 2] - 1),
           100 * (ratios[count / 4] - 1), 100 * (ratios[count - 1 - count / 4] - 1), limit);
}

int main(int argc, char **argv)
{
    const int pairs = argc > 1 ? atoi(argv[1]) : 15;
    const long steps = argc > 2 ? atol(argv[2]) : 300;
    double step[2][MOST_PAIRS], processor[2][MOST_PAIRS], times[MOST_PAIRS];
    char folder[] = "/tmp/bench_recording_XXXXXX";
    if (pairs < 1 || pairs > MOST_PAIRS || steps < 2 * ACTIVATION_STEPS) {
        fprintf(stderr, "usage: bench_recording [PAIRS [STEPS]]\n");
        return 64;
    }
    setenv("CSENGINE_EXECUTABLE", "./csengine", 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (mkdtemp(folder) == NULL)
        return EXIT_FAILURE;
    measure(folder, true, 2 * ACTIVATION_STEPS); /* compiles */
    for (int i = 0; i < pairs; i++) {
        /* Which comes first changes, as a machine grows warm. */
        cost recorded, plain, again;
        if (i % 2 == 0)
            recorded = measure(folder, true, steps);
        plain = measure(folder, false, steps);
        if (i % 2 != 0)
            recorded = measure(folder, true, steps);
        again = measure(folder, false, steps);
        times[i] = plain.step_ms;
        step[0][i] = recorded.step_ms / plain.step_ms;
        step[1][i] = again.step_ms / plain.step_ms;
        processor[0][i] = recorded.processor_s / plain.processor_s;
        processor[1][i] = again.processor_s / plain.processor_s;
    }
    cse_remove_tree(folder);
    qsort(times, (size_t)pairs, sizeof *times, compare);
    printf("%d pairs of %ld steps of %.1f ms\n", pairs, steps, times[pairs / 2]);
    print_ratios("time of a step, recorded over not recorded", step[0], pairs, limit_text);
    print_ratios("time of a step, not recorded over not recorded", step[1], pairs, "");
    print_ratios("processor time, recorded over not recorded", processor[0], pairs, limit_text);
    print_ratios("processor time, not recorded over not recorded", processor[1], pairs, "");
    return 0;
}
