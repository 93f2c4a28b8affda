/* The planned cut against all cuts there are, for few microbatches and hosts; the numbers of pieces
 * that are known for equal hosts; its bounds and its time for many. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "workers/hosts/planned_cut.h"
#include "workers/hosts/reduction_tree.h"

/* ---- the model, by its definition and the tree's own cover ---- */

static double host_seconds(const cse_cut_options *o, int host, int first, int end, int *pieces)
{
    cse_tree_node *nodes = malloc((size_t)o->microbatches * sizeof *nodes);
    const int count = cse_tree_cover(o->microbatches, first, end, nodes);
    const int replicas = o->replicas > 1 ? o->replicas : 1;
    double link = INFINITY, done = 0;
    for (int i = 0; i < o->host_count; i++)
        if (cse_hosts_have(&o->present, i) && o->bytes_per_s[i] > 0 && o->bytes_per_s[i] < link)
            link = o->bytes_per_s[i];
    const double piece = (cse_hosts_count(&o->present) - 1) * o->piece_bytes / link;
    const double all = ceil((double)(end - first) / replicas) * o->microbatch_s[host];
    for (int i = 0; i < count; i++) {
        const double here =
            replicas > 1 ? all : (nodes[i].first + nodes[i].size - first) * o->microbatch_s[host];
        done = fmax(done, here) + piece;
    }
    *pieces += count;
    free(nodes);
    return done;
}

typedef struct best {
    double seconds; /* the least of all */
    double limit;
    int pieces; /* the fewest within the limit */
    double seconds_with_pieces;
} best;

static void try_cut(const cse_cut_options *o, const int *bounds, best *b)
{
    int pieces = 0;
    double seconds = 0;
    for (int h = 0; h < o->host_count; h++)
        seconds = fmax(seconds, host_seconds(o, h, bounds[h], bounds[h + 1], &pieces));
    b->seconds = fmin(b->seconds, seconds);
    if (seconds > b->limit || pieces > b->pieces)
        return;
    b->seconds_with_pieces = pieces < b->pieces ? seconds : fmin(b->seconds_with_pieces, seconds);
    b->pieces = pieces;
}

static void try_all(const cse_cut_options *o, int host, int *bounds, best *b)
{
    if (host == o->host_count) {
        if (bounds[host] == o->microbatches)
            try_cut(o, bounds, b);
        return;
    }
    const int last = cse_hosts_have(&o->present, host) ? o->microbatches : bounds[host];
    for (int end = bounds[host]; end <= last; end++) {
        bounds[host + 1] = end;
        try_all(o, host + 1, bounds, b);
    }
}

static int pieces_of(const cse_host_cut *cut)
{
    int pieces = 0;
    for (int h = 0; h < cut->host_count; h++)
        pieces += cse_host_cut_pieces(cut, h);
    return pieces;
}

static void check_cut(const cse_cut_options *o, const cse_host_cut *cut)
{
    ck_assert_int_eq(cut->host_count, o->host_count);
    ck_assert_int_eq(cut->bounds[0], 0);
    ck_assert_int_eq(cut->bounds[o->host_count], o->microbatches);
    for (int h = 0; h < o->host_count; h++) {
        ck_assert_int_le(cut->bounds[h], cut->bounds[h + 1]);
        if (!cse_hosts_have(&o->present, h))
            ck_assert_int_eq(cut->bounds[h], cut->bounds[h + 1]);
    }
}

static double drawn(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (1 << 24);
}

static cse_cut_options draw_options(unsigned *state)
{
    cse_cut_options o = { .host_count = 1 + (int)(drawn(state) * 4), .piece_bytes = 1e6 };
    static const double tolerances[] = { 0, 0, 0.125, 0.5 };
    o.microbatches = 1 + (int)(drawn(state) * (o.host_count > 3 ? 14 : 20));
    o.present.words[0] = 1 + (uint64_t)(drawn(state) * ((1 << o.host_count) - 1));
    o.replicas = (int)(drawn(state) * 4);
    o.tolerance = tolerances[(int)(drawn(state) * 4)];
    const double link = drawn(state) < 0.2 ? 0 : 1e6 * exp(6 * drawn(state) - 3);
    const bool equal = drawn(state) < 0.4;
    for (int h = 0; h < o.host_count; h++) {
        o.microbatch_s[h] = equal ? 1 : 0.5 + 2 * drawn(state);
        o.bytes_per_s[h] = equal ? link : link * (0.5 + drawn(state));
    }
    return o;
}

START_TEST(test_against_all_cuts)
{
    unsigned state = 1;
    for (int i = 0; i < 3000; i++) {
        const cse_cut_options o = draw_options(&state);
        int bounds[CSE_MAX_HOSTS + 1] = { 0 };
        cse_host_cut cut;
        const double seconds = cse_host_cut_plan(&o, &cut);
        check_cut(&o, &cut);
        best b = { .seconds = INFINITY, .limit = -1, .pieces = 1000 };
        try_all(&o, 0, bounds, &b);
        b.limit = b.seconds * (1 + o.tolerance) * (1 + 1e-9);
        try_all(&o, 0, bounds, &b);
        ck_assert_double_le(seconds, b.limit);
        ck_assert_int_eq(pieces_of(&cut), b.pieces);
        ck_assert_double_eq_tol(seconds, b.seconds_with_pieces, 1e-9 * seconds);
    }
}
END_TEST

static cse_cut_options equal_hosts(int microbatches, int hosts)
{
    cse_cut_options o = { .microbatches = microbatches,
                          .host_count = hosts,
                          .present = cse_hosts_first(hosts) };
    for (int h = 0; h < hosts; h++)
        o.microbatch_s[h] = 1;
    return o;
}

/* The fewest pieces of all cuts with a largest share, for equal hosts: 12 for equal shares become
 * 5 for 64 microbatches on 3 hosts. On 5 hosts, shares of a quarter leave one host without any, and
 * 4 pieces; where each host has to have some, it is 5. */
START_TEST(test_known_pieces)
{
    static const struct {
        int microbatches, hosts, largest, pieces;
    } known[] = { { 64, 3, 24, 5 },    { 64, 5, 14, 12 }, { 64, 5, 16, 4 }, { 64, 6, 12, 10 },
                  { 64, 7, 12, 9 },    { 32, 3, 12, 5 },  { 32, 5, 8, 4 },  { 64, 2, 32, 2 },
                  { 64, 4, 16, 4 },    { 64, 8, 8, 8 },   { 64, 1, 64, 1 }, { 4096, 64, 64, 64 },
                  { 4096, 1, 4096, 1 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        cse_cut_options o = equal_hosts(known[i].microbatches, known[i].hosts);
        const int least = (known[i].microbatches + known[i].hosts - 1) / known[i].hosts;
        o.tolerance = (known[i].largest + 0.5) / least - 1;
        cse_host_cut cut;
        ck_assert_double_le(cse_host_cut_plan(&o, &cut), known[i].largest);
        check_cut(&o, &cut);
        ck_assert_int_eq(pieces_of(&cut), known[i].pieces);
        o.tolerance = 0;
        ck_assert_double_eq(cse_host_cut_plan(&o, &cut), least);
    }
}
END_TEST

START_TEST(test_number_of_pieces_is_that_of_the_cover)
{
    cse_tree_node nodes[70];
    for (int leaves = 1; leaves <= 70; leaves++)
        for (int first = 0; first <= leaves; first++)
            for (int end = first; end <= leaves; end++) {
                const cse_host_cut cut = { .host_count = 3, .bounds = { 0, first, end, leaves } };
                const int count = cse_tree_cover(leaves, first, end, nodes);
                ck_assert_int_eq(cse_host_cut_pieces(&cut, 1), count);
                for (int i = 0, at = first; i < count; i++) {
                    at = cse_tree_next(leaves, at, end);
                    ck_assert_int_eq(at, nodes[i].first + nodes[i].size);
                }
            }
}
END_TEST

/* Many microbatches: no worse than shares by speed, and the work is bounded. */
START_TEST(test_many)
{
    static const int microbatches[] = { 100, 1000, 4096, 4095, 100000 };
    static const int hosts[] = { 2, 3, 7, 64, 255, 256 };
    unsigned state = 7;
    for (int m = 0; m < 5; m++)
        for (int h = 0; h < 6; h++)
            for (int kind = 0; kind < 12; kind++) {
                cse_cut_options o = equal_hosts(microbatches[m], hosts[h]);
                const double share = (double)o.microbatches / o.host_count;
                o.piece_bytes = (const double[]){ 0, 0.01, 0.2, 20 }[kind % 4] * share;
                o.replicas = kind == 3 ? 2 : 1;
                for (int i = 0; i < o.host_count; i++) {
                    o.bytes_per_s[i] = o.host_count - 1;
                    o.microbatch_s[i] = kind < 4   ? 1
                                        : kind < 8 ? 0.8 + 0.4 * drawn(&state)
                                        : i == 1   ? 0.01 + 0.1 * drawn(&state)
                                                   : 1;
                }
                cse_host_cut cut, even;
                const clock_t start = clock();
                const double seconds = cse_host_cut_plan(&o, &cut);
                const double taken = (double)(clock() - start) / CLOCKS_PER_SEC;
                if (getenv("CSE_CUT_TIMES") != NULL)
                    printf("%d on %d, kind %d: %.1f ms, %d pieces, %.4g s\n", o.microbatches,
                           o.host_count, kind, 1e3 * taken, pieces_of(&cut), seconds);
                check_cut(&o, &cut);
                cse_host_cut_even(o.microbatches, o.host_count, &o.present, &even);
                ck_assert_double_le(seconds, cse_host_cut_seconds(&o, &even) * (1 + 1e-9));
            }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("planned cut");
    TCase *tests = tcase_create("planned cut");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_against_all_cuts);
    tcase_add_test(tests, test_known_pieces);
    tcase_add_test(tests, test_number_of_pieces_is_that_of_the_cover);
    tcase_add_test(tests, test_many);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
