/* A seed's scenario. Each member is drawn by its own name, so that a new one changes no other. */
#include "tests/support/simulation/world.h"

#define MILLISECONDS INT64_C(1000000)

/* A number below n, from the seed and a name (FNV-1a over the name, mixed as in SplitMix64). */
static int draw(uint64_t seed, const char *name, int n)
{
    uint64_t x = UINT64_C(14695981039346656037);
    for (; *name != '\0'; name++)
        x = (x ^ (unsigned char)*name) * UINT64_C(1099511628211);
    x ^= (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (int)((x ^ x >> 31) >> 33) % n;
}

static bool draw_one_in(uint64_t seed, const char *name, int n)
{
    return draw(seed, name, n) == 0;
}

static void draw_cluster(scenario *s)
{
    static const int records[] = { 1, 2, 3, 8, 64 };
    const uint64_t seed = s->seed;
    s->microbatches = 1 + draw(seed, "microbatches", 8);
    s->replicas = 1 + draw(seed, "replicas", s->microbatches < 4 ? s->microbatches : 4);
    s->servers = draw_one_in(seed, "has servers", 3) ? 1 + draw(seed, "servers", 2) : 0;
    s->inputs = 1 + draw(seed, "inputs", 3);
    s->records = records[draw(seed, "records", 5)];
    s->ring = draw_one_in(seed, "has ring", 2) ? 0 : s->microbatches + draw(seed, "ring", 5);
    s->large = draw_one_in(seed, "large", 16);
    s->payload =
        fake_payloads[draw_one_in(seed, "exact", 2) ? 0 : draw(seed, "payload", FAKE_PAYLOADS)];
}

static void draw_steps(scenario *s)
{
    const uint64_t seed = s->seed;
    s->steps = 1 + draw(seed, "steps", draw_one_in(seed, "many steps", 4) ? SIMULATED_STEPS : 10);
    s->segment =
        draw_one_in(seed, "segments", 3) ? 1 + draw(seed, "segment", (int)s->steps) : s->steps;
    s->snapshot_every = draw_one_in(seed, "snapshots", 2) ? 1 + draw(seed, "every", 4) : 0;
    s->snapshot_interval_ns =
        draw_one_in(seed, "by time", 3) ? (1 + draw(seed, "interval", 30)) * MILLISECONDS : 0;
    s->save_ns = draw(seed, "save", draw_one_in(seed, "slow save", 3) ? 60 : 2) * MILLISECONDS;
    s->writes_beside = draw_one_in(seed, "beside", 2);
}

static void draw_faults(scenario *s)
{
    static const int intervals[] = { 0, 20, 60, 200, 600, 2000 };
    const uint64_t seed = s->seed;
    s->fails_at = draw_one_in(seed, "bad data", 20) ? draw(seed, "bad step", (int)s->steps) : -1;
    s->useless_slot =
        draw_one_in(seed, "useless", 40) ? draw(seed, "slot", s->replicas + s->servers) : -1;
    s->fault_interval = intervals[draw(seed, "faults", 6)];
    s->kills = s->fault_interval > 0 && !draw_one_in(seed, "commands alone", 6);
    s->kills_coordinator = draw_one_in(seed, "coordinator", 2);
    s->keeps_arena = s->kills_coordinator && !draw_one_in(seed, "forgets", 3);
    if (s->keeps_arena && s->records < 2)
        s->records = 2; /* one place keeps the last record */
    s->freezes = draw_one_in(seed, "freezes", 2);
    s->commands = draw_one_in(seed, "commands", 2);
    s->asks_to_end = draw_one_in(seed, "asks to end", 3);
    s->keeps_store = draw_one_in(seed, "store", 16);
    s->disk_fails = draw_one_in(seed, "disk", 3);
    s->quiet_after = 500 + draw(seed, "quiet", 20000);
}

scenario scenario_of(uint64_t seed)
{
    scenario s = { .seed = seed };
    draw_cluster(&s);
    draw_steps(&s);
    draw_faults(&s);
    return s;
}
