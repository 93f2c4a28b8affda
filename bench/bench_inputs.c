/* Samples that a data loader gives a training in a second, by the code of an input worker:
 *
 *     bench_inputs SECONDS WORKERS 'settings of a data loader, as in a configuration'
 *
 * Each worker is a process that reads its share of the microbatches of the steps in turn into
 * places of a ring in shared memory, and this process takes them in their order, as replicas do.
 * Prints one line of JSON: the rate, the processor time of all processes, how long the data took to
 * open. Without arguments: made-up samples.
 *
 *     bench_inputs samples COUNT 'settings'
 *
 * prints the first samples of the data, for a comparison of values: a line of JSON with name, type
 * and elements of a sample of each stream, then the bytes, stream after stream.
 *
 *     bench_inputs epoch EPOCH 'settings'
 *
 * reads a whole epoch and prints the number of samples and the sum of the values of each stream. */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dataloader/input.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/types/shape.h"

enum { PLACES = 8, MOST_WORKERS = 64, WARM_EPOCHS = 4, WARM_SECONDS = 2 };

static int failed(void)
{
    fprintf(stderr, "bench_inputs: %s\n", cse_error_message());
    return 1;
}

/* ---- the ring ---- */

typedef struct ring {
    sem_t empty[PLACES], full[PLACES];
    int64_t place_bytes;
    double open_seconds[MOST_WORKERS];
} ring; /* the places follow it */

enum { RING_HEAD = (sizeof(ring) + 63) / 64 * 64 };

static ring *ring_new(int64_t place_bytes)
{
    const size_t bytes = RING_HEAD + PLACES * (size_t)place_bytes;
    ring *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    made->place_bytes = place_bytes;
    for (int i = 0; i < PLACES; i++) {
        sem_init(&made->empty[i], 1, 1);
        sem_init(&made->full[i], 1, 0);
    }
    return made;
}

static void *place_of(ring *r, int64_t q)
{
    return (unsigned char *)r + RING_HEAD + q % PLACES * r->place_bytes;
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        ;
}

/* ---- workers ---- */

static double since(int64_t begun)
{
    return (double)(cse_clock_ns() - begun) * 1e-9;
}

/* Until it is ended. */
static cse_status fill(const cse_settings *settings, ring *r, int worker, int workers)
{
    cse_dataloader *loader = NULL;
    const int64_t begun = cse_clock_ns();
    CSE_TRY(cse_dataloader_open(settings, 1, &loader));
    r->open_seconds[worker] = since(begun);
    const cse_batching *b = cse_dataloader_batching_view(loader);
    const int64_t microbatches = b->batch_size / b->micro_batch_size;
    cse_status status = CSE_OK;
    for (int64_t q = worker; status == CSE_OK; q += workers) {
        wait_for(&r->empty[q % PLACES]);
        status = cse_dataloader_read(loader, q / microbatches, q % microbatches, place_of(r, q));
        sem_post(&r->full[q % PLACES]);
    }
    cse_dataloader_close(&loader);
    return status;
}

/* A worker that fails ends its process: then nothing fills the ring any more. */
static bool take(ring *r, int64_t q, pid_t *ids, int workers)
{
    struct timespec until;
    for (;;) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        if (sem_timedwait(&r->full[q % PLACES], &until) == 0)
            return true;
        for (int w = 0; w < workers; w++)
            if (waitpid(ids[w], NULL, WNOHANG) == ids[w]) {
                ids[w] = 0;
                return false;
            }
    }
}

static double processor_seconds(pid_t id)
{
    struct timespec spent = { 0 };
    clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
    if (id != 0 && clock_getcpuclockid(id, &clock) != 0)
        return 0;
    clock_gettime(clock, &spent);
    return (double)spent.tv_sec + (double)spent.tv_nsec * 1e-9;
}

static double all_processor_seconds(const pid_t *ids, int workers)
{
    double sum = processor_seconds(0);
    for (int w = 0; w < workers; w++)
        sum += processor_seconds(ids[w]);
    return sum;
}

static bool end_workers(const pid_t *ids, int workers)
{
    bool good = true;
    for (int w = 0; w < workers; w++) {
        good = good && ids[w] != 0;
        if (ids[w] != 0) {
            kill(ids[w], SIGKILL);
            waitpid(ids[w], NULL, 0);
        }
    }
    return good;
}

/* Whether the clock starts: what was ready is used up, and what workers keep in memory is there. */
static bool is_warm(const cse_dataloader *loader, int64_t q, double passed)
{
    const int64_t samples = q * cse_dataloader_batching_view(loader)->micro_batch_size;
    const int64_t all = cse_dataloader_input_view(loader)->sample_count;
    return q >= 2 * PLACES && (samples >= WARM_EPOCHS * all || passed >= WARM_SECONDS);
}

static int feed(const cse_settings *settings, double seconds, int workers)
{
    cse_dataloader *loader = NULL;
    pid_t ids[MOST_WORKERS] = { 0 };
    if (cse_dataloader_open(settings, 1, &loader) != CSE_OK)
        return failed();
    const int64_t bytes = cse_dataloader_microbatch_bytes(loader);
    const int64_t samples = cse_dataloader_batching_view(loader)->micro_batch_size;
    ring *r = ring_new(bytes);
    if (r == NULL)
        return 1;
    for (int w = 0; w < workers; w++)
        if ((ids[w] = fork()) == 0)
            _exit(fill(settings, r, w, workers) == CSE_OK ? 0 : failed());
    int64_t q = 0, begun = cse_clock_ns(), first = INT64_MAX;
    double spent = 0, passed = 0;
    for (; (first == INT64_MAX || passed < seconds) && take(r, q, ids, workers); q++) {
        sem_post(&r->empty[q % PLACES]);
        passed = since(begun);
        if (first == INT64_MAX && is_warm(loader, q, passed)) {
            first = q;
            begun = cse_clock_ns();
            spent = all_processor_seconds(ids, workers);
            passed = 0;
        }
    }
    spent = all_processor_seconds(ids, workers) - spent;
    if (!end_workers(ids, workers))
        return 1;
    const double rate = (double)(q - 1 - first) / passed;
    printf("{\"workers\": %d, \"samples_per_second\": %.1f, \"mb_per_second\": %.2f, "
           "\"processor_us\": %.4f, \"open_seconds\": %.4f}\n",
           workers, rate * (double)samples, rate * (double)bytes * 1e-6,
           spent / (double)((q - 1 - first) * samples) * 1e6, r->open_seconds[0]);
    cse_dataloader_close(&loader);
    return 0;
}

/* ---- values ---- */

static void print_samples(const cse_input *input, int64_t count, void *const outputs[])
{
    printf("[");
    for (int s = 0; s < input->stream_count; s++)
        printf("%s{\"name\": \"%s\", \"dtype\": \"%s\", \"elements\": %lld}", s > 0 ? ", " : "",
               input->streams[s].name, cse_dtype_name(input->streams[s].dtype),
               (long long)cse_shape_elements(input->streams[s].shape));
    printf("]\n");
    for (int s = 0; s < input->stream_count; s++)
        fwrite(outputs[s], cse_dtype_size(input->streams[s].dtype),
               (size_t)(count * cse_shape_elements(input->streams[s].shape)), stdout);
}

static cse_status show_samples(const cse_settings *settings, int64_t count)
{
    cse_dataloader *loader = NULL;
    void *outputs[CSE_MAX_STREAMS] = { NULL };
    CSE_TRY(cse_dataloader_open(settings, 1, &loader));
    const cse_input *input = cse_dataloader_input_view(loader);
    for (int s = 0; s < input->stream_count; s++)
        outputs[s] = cse_calloc((size_t)(count * cse_shape_elements(input->streams[s].shape)),
                                cse_dtype_size(input->streams[s].dtype));
    cse_status status = count <= input->sample_count
                            ? cse_dataloader_read_samples(loader, 0, count, outputs)
                            : cse_fail(CSE_USAGE, "there are no %lld samples", (long long)count);
    if (status == CSE_OK)
        print_samples(input, count, outputs);
    for (int s = 0; s < input->stream_count; s++)
        free(outputs[s]);
    cse_dataloader_close(&loader);
    return status;
}

/* The sum of the values of a stream of a microbatch. */
static double sum_of(const cse_stream *stream, int64_t samples, const void *values)
{
    double sum = 0;
    const int64_t count = samples * cse_shape_elements(stream->shape);
    for (int64_t i = 0; i < count; i++)
        sum += stream->dtype == CSE_INT32 ? ((const int32_t *)values)[i]
                                          : (double)((const float *)values)[i];
    return sum;
}

static cse_status show_epoch(const cse_settings *settings, int64_t epoch)
{
    cse_dataloader *loader = NULL;
    double sums[CSE_MAX_STREAMS] = { 0 };
    CSE_TRY(cse_dataloader_open(settings, 1, &loader));
    const cse_input *input = cse_dataloader_input_view(loader);
    const cse_batching *b = cse_dataloader_batching_view(loader);
    const int64_t steps = cse_dataloader_steps_per_epoch(loader);
    const int64_t microbatches = b->batch_size / b->micro_batch_size;
    unsigned char *bytes = cse_aligned_calloc((size_t)cse_dataloader_microbatch_bytes(loader));
    cse_status status = CSE_OK;
    for (int64_t q = epoch * steps * microbatches;
         q < (epoch + 1) * steps * microbatches && status == CSE_OK; q++) {
        status = cse_dataloader_read(loader, q / microbatches, q % microbatches, bytes);
        for (int s = 0; s < input->stream_count; s++)
            sums[s] += sum_of(&input->streams[s], b->micro_batch_size,
                              bytes + cse_dataloader_stream_offset(loader, s));
    }
    printf("{\"samples\": %lld", (long long)(steps * b->batch_size));
    for (int s = 0; s < input->stream_count; s++)
        printf(", \"%s\": %.17g", input->streams[s].name, sums[s]);
    printf("}\n");
    free(bytes);
    cse_dataloader_close(&loader);
    return status;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "1";
    const int number = argc > 2 ? atoi(argv[2]) : 1;
    const char *text = argc > 3 ? argv[3]
                                : "{data_processor: synthetic, features: [784], "
                                  "batch_size: 64}";
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *tree = NULL;
    cse_settings *settings = NULL;
    if (cse_yaml_parse(arena, "arguments", text, strlen(text), &tree) != CSE_OK ||
        cse_dataloader_settings_read(arena, tree, &settings) != CSE_OK)
        return failed();
    if (strcmp(what, "samples") == 0)
        return show_samples(settings, number) == CSE_OK ? 0 : failed();
    if (strcmp(what, "epoch") == 0)
        return show_epoch(settings, number) == CSE_OK ? 0 : failed();
    if (number < 1 || number > MOST_WORKERS) {
        fprintf(stderr, "bench_inputs: %s workers: accepted are 1 to %d\n", argv[2], MOST_WORKERS);
        return 1;
    }
    return feed(settings, atof(what), number);
}
