/* The overhead of the run store: nanoseconds that the training thread spends per metric, with a
 * limit of 1000 ns, and the rate that the writer thread sustains. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "store/reader.h"
#include "store/store.h"

enum { FEW = 5, MOST = 256 };

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Steps `pause_ns` apart, as training has them; prints what each call took. */
static void measure(cse_store *store, int count, int steps, int64_t pause_ns, const char *what)
{
    int series[MOST];
    double values[MOST];
    char name[32];
    int64_t *taken = malloc((size_t)steps * sizeof *taken), total = 0;
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s/%d", what, i);
        series[i] = cse_store_series(store, name);
    }
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < count; i++)
            values[i] = 1.0 / (step + i + 1);
        int64_t before = cse_clock_ns();
        cse_store_points(
            store,
            &(cse_step_points){
                .step = step, .time_ms = 1, .count = count, .series = series, .values = values });
        taken[step] = cse_clock_ns() - before;
        total += taken[step];
        while (cse_clock_ns() < before + pause_ns)
            continue;
    }
    qsort(taken, (size_t)steps, sizeof *taken, compare);
    printf("%-24s %d metrics a step: mean %.0f ns a metric, median %.0f, p99 %.0f, worst %.0f us\n",
           what, count, (double)total / steps / count, (double)taken[steps / 2] / count,
           (double)taken[steps - steps / 100 - 1] / count, (double)taken[steps - 1] * 1e-3);
    free(taken);
}

int main(void)
{
    char folder[] = "bench_store_XXXXXX", path[64];
    cse_store *store = NULL;
    if (mkdtemp(folder) == NULL || cse_store_open(folder, NULL, &store) != CSE_OK) {
        fprintf(stderr, "%s\n", cse_error_message());
        return 1;
    }
    measure(store, FEW, 200000, 0, "as fast as it goes");
    cse_store_flush(store);
    measure(store, FEW, 20000, 100000, "10000 steps/s");
    cse_store_flush(store);
    measure(store, MOST, 1000, 4000000, "250 steps/s");
    int64_t before = cse_clock_ns();
    cse_store_flush(store);
    printf("%-24s %.1f ms\n", "last flush", (double)(cse_clock_ns() - before) * 1e-6);
    cse_store_close(&store);
    static const char *const left[] = { "run.db", "run.lock", "logs/attempt_1.log" };
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, left[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/logs", folder);
    rmdir(path);
    return rmdir(folder) != 0;
}
