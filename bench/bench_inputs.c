/* Samples that a data loader reads in a second, by the code of an input worker:
 *
 *     bench_inputs SECONDS WORKERS 'settings of a data loader, as in a configuration'
 *
 * Each worker is a process that reads its share of the microbatches of the steps in turn, as input
 * workers do. Prints one line of JSON. Without arguments: made-up samples.
 *
 *     bench_inputs samples COUNT 'settings'
 *
 * prints the first samples of the data, for a comparison of values: a line of JSON with name, type
 * and elements of a sample of each stream, then the bytes, stream after stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dataloader/input.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/types/shape.h"

typedef struct rate {
    int64_t samples, bytes;
    double seconds;
} rate;

static int failed(void)
{
    fprintf(stderr, "bench_inputs: %s\n", cse_error_message());
    return 1;
}

static cse_status read_for(const cse_settings *settings, double seconds, const int share[2],
                           rate *result)
{
    cse_dataloader *loader = NULL;
    CSE_TRY(cse_dataloader_open(settings, 1, &loader));
    const cse_batching *b = cse_dataloader_batching_view(loader);
    const int64_t microbatches = b->batch_size / b->micro_batch_size;
    void *bytes = cse_aligned_calloc((size_t)cse_dataloader_microbatch_bytes(loader));
    cse_status status = cse_dataloader_read(loader, 0, 0, bytes); /* files are open then */
    const int64_t begun = cse_clock_ns();
    *result = (rate){ .samples = 0 };
    for (int64_t q = share[0]; status == CSE_OK && result->seconds < seconds; q += share[1]) {
        status = cse_dataloader_read(loader, q / microbatches, q % microbatches, bytes);
        result->samples += b->micro_batch_size;
        result->bytes += cse_dataloader_microbatch_bytes(loader);
        result->seconds = (double)(cse_clock_ns() - begun) * 1e-9;
    }
    free(bytes);
    cse_dataloader_close(&loader);
    return status;
}

static int work(const cse_settings *settings, double seconds, const int share[2], int to)
{
    rate result;
    if (read_for(settings, seconds, share, &result) != CSE_OK)
        return failed();
    return write(to, &result, sizeof result) == (ssize_t)sizeof result ? 0 : 1;
}

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

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 1;
    const int workers = argc > 2 ? atoi(argv[2]) : 1;
    const char *text = argc > 3 ? argv[3]
                                : "{data_processor: synthetic, features: [784], "
                                  "batch_size: 64}";
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *tree = NULL;
    cse_settings *settings = NULL;
    int results[2];
    double samples = 0, bytes = 0;
    bool good = true;
    if (cse_yaml_parse(arena, "arguments", text, strlen(text), &tree) != CSE_OK ||
        cse_dataloader_settings_read(arena, tree, &settings) != CSE_OK || pipe(results) != 0)
        return failed();
    if (argc > 1 && strcmp(argv[1], "samples") == 0)
        return show_samples(settings, workers) == CSE_OK ? 0 : failed();
    for (int w = 0; w < workers; w++)
        if (fork() == 0)
            _exit(work(settings, seconds, (const int[]){ w, workers }, results[1]));
    close(results[1]);
    for (rate one; read(results[0], &one, sizeof one) == (ssize_t)sizeof one;) {
        samples += (double)one.samples / one.seconds;
        bytes += (double)one.bytes / one.seconds;
    }
    for (int status; wait(&status) > 0;)
        good = good && status == 0;
    if (!good)
        return 1;
    printf("{\"workers\": %d, \"samples_per_second\": %.1f, \"mb_per_second\": %.2f}\n", workers,
           samples, bytes * 1e-6);
    return 0;
}
