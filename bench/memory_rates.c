/* The rates at which so many threads read memory and copy it, GB/s: of four rounds the best, over
 * blocks far larger than the caches. Bytes that are copied count twice, as read and as written.
 *
 *     memory_rates THREADS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 256 << 20, ROUNDS = 4, MOST_THREADS = 256, LANES = 16 };

typedef uint64_t words __attribute__((vector_size(8 * 8)));

typedef struct share {
    pthread_t thread;
    char *from, *to;
    size_t bytes;
    int copies;
    uint64_t sum;
} share;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *run(void *self)
{
    share *s = self;
    words sums[LANES] = { { 0 } };
    if (s->copies) {
        memcpy(s->to, s->from, s->bytes);
        return NULL;
    }
    for (size_t i = 0; i < s->bytes; i += LANES * sizeof(words))
        for (int lane = 0; lane < LANES; lane++)
            sums[lane] += *(const words *)(const void *)(s->from + i + lane * sizeof(words));
    for (int lane = 0; lane < LANES; lane++)
        for (int j = 0; j < 8; j++)
            s->sum += sums[lane][j];
    return NULL;
}

static double rate(share *shares, int threads, int copies)
{
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const double begun = seconds();
        for (int t = 0; t < threads; t++) {
            shares[t].copies = copies;
            pthread_create(&shares[t].thread, NULL, run, &shares[t]);
        }
        for (int t = 0; t < threads; t++)
            pthread_join(shares[t].thread, NULL);
        const double now = (copies ? 2.0 : 1.0) * BYTES / (seconds() - begun) * 1e-9;
        best = now > best ? now : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    static share shares[MOST_THREADS];
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    char *from = aligned_alloc(4096, BYTES), *to = aligned_alloc(4096, BYTES);
    if (threads < 1 || threads > MOST_THREADS || from == NULL || to == NULL)
        return 1;
    memset(from, 1, BYTES);
    memset(to, 2, BYTES);
    const size_t piece = BYTES / (size_t)threads / 4096 * 4096;
    for (int t = 0; t < threads; t++)
        shares[t] = (share){ .from = from + (size_t)t * piece,
                             .to = to + (size_t)t * piece,
                             .bytes = piece };
    const double reads = rate(shares, threads, 0), copies = rate(shares, threads, 1);
    printf("{\"read\": %.2f, \"copy\": %.2f, \"sum\": %llu}\n", reads, copies,
           (unsigned long long)shares[0].sum);
    free(from);
    free(to);
    return 0;
}
