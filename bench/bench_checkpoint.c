/* The rate of a checkpoint beside a raw write of as many bytes, and where its time goes.
 *
 * Raw writes (write and fsync of one buffer) and saves alternate on one file system, so that what
 * else the disk and the processors do meets both alike; medians are shown. The parts are run alone:
 * their sum is more than the save, which runs them beside each other.
 *
 *     bench_checkpoint [MEGABYTES] [ROUNDS] */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/pages.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/digest.h"

enum { TENSORS = 24, MOST_ROUNDS = 99, BLOCK_BYTES = 1 << 20 };

typedef struct bench {
    cse_checkpoint checkpoint;
    cse_checkpoint_tensor tensors[TENSORS];
    char names[TENSORS][32];
    unsigned char *bytes, *copy;
    size_t size;
} bench;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_checkpoint: %s\n", what);
    exit(1);
}

static void make(bench *b, size_t megabytes)
{
    const size_t each = (megabytes << 20) / TENSORS / 4096 * 4096;
    b->size = each * TENSORS;
    b->bytes = cse_pages_new(b->size);
    for (size_t i = 0; i < b->size / 4; i++) {
        const uint32_t bits = (uint32_t)i * 2654435761U;
        memcpy(b->bytes + 4 * i, &bits, 4);
    }
    for (int t = 0; t < TENSORS; t++) {
        snprintf(b->names[t], sizeof b->names[t], "model.layers.%d.weight", t);
        b->tensors[t] = (cse_checkpoint_tensor){ .name = b->names[t],
                                                 .dtype = CSE_FLOAT32,
                                                 .shape = cse_shape_of((int64_t)(each / 4)),
                                                 .data = b->bytes + (size_t)t * each };
    }
    b->checkpoint = (cse_checkpoint){
        .tensors = b->tensors, .tensor_count = TENSORS, .global_step = 1, .model_name = "bench"
    };
}

static void write_raw(const bench *b)
{
    const int file = open("raw", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (size_t done = 0; done < b->size;) {
        const size_t left = b->size - done;
        const ssize_t wrote = write(file, b->bytes + done, left < BLOCK_BYTES ? left : BLOCK_BYTES);
        if (wrote <= 0)
            fail("the raw write failed");
        done += (size_t)wrote;
    }
    if (fsync(file) != 0)
        fail("the raw write failed");
    close(file);
}

static void save(const bench *b)
{
    char digest[65];
    if (cse_checkpoint_save_digest(&b->checkpoint, "saved.mdl", digest) != CSE_OK)
        fail(cse_error_message());
}

static double seconds_of(void (*action)(const bench *), const bench *b)
{
    const int64_t before = cse_clock_ns();
    action(b);
    return (double)(cse_clock_ns() - before) * 1e-9;
}

static void copy_out(const bench *b)
{
    unsigned char *copy = cse_pages_new(b->size);
    memcpy(copy, b->bytes, b->size);
    cse_pages_release(copy, b->size);
}

static void hash_all(const bench *b)
{
    char digits[65];
    cse_checkpoint_digest(&b->checkpoint, NULL, digits);
}

static void read_back(const bench *b)
{
    const int file = open("raw", O_RDONLY);
    unsigned char *block = malloc(BLOCK_BYTES);
    for (size_t done = 0; done < b->size;) {
        const ssize_t got = read(file, block, BLOCK_BYTES);
        if (got <= 0 || memcmp(block, b->bytes + done, (size_t)got) != 0)
            fail("the raw file is not what was written");
        done += (size_t)got;
    }
    free(block);
    close(file);
}

static void show_part(const bench *b, const char *name, void (*action)(const bench *))
{
    const double seconds = seconds_of(action, b);
    printf("  %-34s %6.3f s  %5.2f GB/s\n", name, seconds, (double)b->size * 1e-9 / seconds);
}

int main(int argc, char **argv)
{
    const long megabytes = argc > 1 ? strtol(argv[1], NULL, 10) : 256;
    const long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 5;
    double raw[MOST_ROUNDS], saved[MOST_ROUNDS], ratio[MOST_ROUNDS], cpu = 0;
    char folder[] = "bench_checkpoint_XXXXXX";
    static bench b;
    if (megabytes < 1 || rounds < 1 || rounds > MOST_ROUNDS)
        fail("MEGABYTES and ROUNDS must be at least 1, ROUNDS at most 99");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        fail("no folder can be made here");
    make(&b, (size_t)megabytes);
    for (int r = 0; r < rounds; r++) {
        raw[r] = seconds_of(write_raw, &b);
        const double before = cpu_seconds();
        saved[r] = seconds_of(save, &b);
        cpu += cpu_seconds() - before;
        ratio[r] = raw[r] / saved[r];
    }
    printf(
        "%.0f MB, median of %ld: raw write and fsync %.3f s (%.2f GB/s), save %.3f s; the save's "
        "rate is %.0f %% of the raw one (median of the rounds' ratios), %.2f s of processor\n",
        (double)b.size * 1e-6, rounds, median(raw, (int)rounds),
        (double)b.size * 1e-9 / median(raw, (int)rounds), median(saved, (int)rounds),
        100 * median(ratio, (int)rounds), cpu / (double)rounds);
    show_part(&b, "copy to new memory", copy_out);
    show_part(&b, "one pass of BLAKE2b, one processor", hash_all);
    show_part(&b, "read back and compare", read_back);
    unlink("raw");
    unlink("saved.mdl");
    if (chdir("..") == 0)
        rmdir(folder);
    return 0;
}
