/* Thousands of runs in one thread, each made of a seed: the real coordinator, arena, recovery and
 * workers' loops under simulated time, with processes that interleave, are killed and freeze at any
 * of the protocol's points, operators, and coordinators that are replaced. In each, every step is
 * told once with its values, states that are handed out or saved are those of a step, a run that
 * stands still stands still, nobody is reaped alive, and what nothing disturbs ends.
 *
 * Of the seeds from 1 to 10,000 CSE_TEST_PART chooses a quarter.
 *
 *     CSE_SIMULATION_SEEDS=FIRST:COUNT    other seeds
 *     CSE_SIMULATION_TRACE=1              what happens, to standard output */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/float_mode.h"
#include "engine/base/log.h"
#include "tests/support/part.h"
#include "tests/support/simulation/disk_calls.h"
#include "tests/support/simulation/world_calls.h"

/* Seeds that once failed. What they found has a test of its own, too: a change of the protocol
 * makes other runs of them. */
static const uint64_t kept[] = { 4193, 6493, 6813, 10174, 11556, 15797 };

enum { PARTS = 4 };

static int failures;

static void run_one(uint64_t seed, simulation_counts *counts)
{
    char fault[FAULT_TEXT_BYTES];
    if (simulation_run(seed, counts, fault))
        return;
    failures++;
    printf("seed %llu: %s\n", (unsigned long long)seed, fault);
}

static void expect(bool good, const char *what)
{
    if (good)
        return;
    failures++;
    printf("not reached: %s\n", what);
}

int main(void)
{
    unsigned long long first = 1, count = 10000;
    const char *given = getenv("CSE_SIMULATION_SEEDS");
    simulation_counts counts = { 0 };
    if (given != NULL && sscanf(given, "%llu:%llu", &first, &count) != 2) {
        fprintf(stderr, "CSE_SIMULATION_SEEDS=%s: accepted is FIRST:COUNT\n", given);
        return 64;
    }
    const int part = given == NULL ? part_of(PARTS, "seeds") : -1;
    if (part >= 0) {
        count /= PARTS;
        first += count * (unsigned)part;
    }
    cse_log_set_level(CSE_LOG_ERROR);
    cse_set_float_mode();
    const time_t begun = time(NULL);
    for (size_t i = 0; given == NULL && i < sizeof kept / sizeof kept[0]; i++)
        run_one(kept[i], &counts);
    for (unsigned long long seed = first; seed < first + count && failures < 10; seed++)
        run_one(seed, &counts);
    printf("%ld runs in %ld s: %ld executions, %ld takeovers (%ld in the arena), %ld turns; %ld "
           "kills, %ld freezes, "
           "%ld commands; %ld records, %ld snapshots; %ld run stores, %ld outages of a disk; "
           "ended: %ld with all steps, %ld on request, "
           "%ld failed, %ld at once\n",
           counts.runs, (long)(time(NULL) - begun), counts.executions, counts.takeovers,
           counts.inherited, counts.turns, counts.kills, counts.freezes, counts.commands,
           counts.records, counts.snapshots, counts.stores, counts.outages, counts.completed,
           counts.stopped, counts.failed, counts.ended_by_hand);
    if (given == NULL) {
        for (int point = 0; point < CSE_FAILPOINT_RECOVERY_RESTORED; point++)
            expect(counts.kills_at[point] > 0, "a kill at each failpoint");
        expect(counts.takeovers > 100 && counts.freezes > 100, "takeovers and freezes");
        expect(counts.inherited > 100, "takeovers in the arena");
        expect(counts.failed > 10 && counts.stopped > 10, "failures and requested ends");
        expect(counts.completed > counts.runs / 2, "most runs do all their steps");
    }
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
