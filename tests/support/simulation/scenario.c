/* A seed's scenario. */
#include "tests/support/simulation/world.h"

#define MILLISECONDS INT64_C(1000000)

scenario scenario_of(uint64_t seed)
{
    world w = { .random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1 };
    static const int fault_intervals[] = { 0, 20, 60, 200, 600, 2000 };
    static const int records[] = { 1, 2, 3, 8, 64 };
    scenario s = { .seed = seed };
    s.microbatches = 1 + (int)world_random(&w, 8);
    s.replicas = 1 + (int)world_random(&w, 4);
    if (s.replicas > s.microbatches)
        s.replicas = s.microbatches;
    s.servers = world_chance(&w, 3) ? 1 + (int)world_random(&w, 2) : 0;
    s.inputs = 1 + (int)world_random(&w, 3);
    s.records = records[world_random(&w, 5)];
    s.ring = world_chance(&w, 2) ? 0 : s.microbatches + (int)world_random(&w, 5);
    s.large = world_chance(&w, 16);
    s.payload = fake_payloads[world_chance(&w, 2) ? 0 : world_random(&w, FAKE_PAYLOADS)];
    s.steps = 1 + (int64_t)world_random(&w, world_chance(&w, 4) ? SIMULATED_STEPS : 10);
    s.segment = world_chance(&w, 3) ? 1 + (int64_t)world_random(&w, (unsigned)s.steps) : s.steps;
    s.snapshot_every = world_chance(&w, 2) ? 1 + (int64_t)world_random(&w, 4) : 0;
    s.snapshot_interval_ns =
        world_chance(&w, 3) ? (1 + (int64_t)world_random(&w, 30)) * MILLISECONDS : 0;
    s.save_ns = (int64_t)world_random(&w, world_chance(&w, 3) ? 60 : 2) * MILLISECONDS;
    s.fails_at = world_chance(&w, 20) ? (int64_t)world_random(&w, (unsigned)s.steps) : -1;
    s.useless_slot =
        world_chance(&w, 40) ? (int)world_random(&w, (unsigned)(s.replicas + s.servers)) : -1;
    s.fault_interval = fault_intervals[world_random(&w, 6)];
    s.kills = s.fault_interval > 0 && !world_chance(&w, 6);
    s.kills_coordinator = world_chance(&w, 2);
    s.freezes = world_chance(&w, 2);
    s.commands = world_chance(&w, 2);
    s.asks_to_end = world_chance(&w, 3);
    s.quiet_after = 500 + (long)world_random(&w, 20000);
    return s;
}
