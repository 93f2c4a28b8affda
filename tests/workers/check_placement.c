/* Machines as values, and which processor each process gets, over random machines. */
#include <check.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "workers/placement/placement.h"

static cse_processors machine(const char *text)
{
    cse_processors found;
    ck_assert_msg(cse_processors_read(text, &found) == CSE_OK, "%s", cse_error_message());
    return found;
}

static cse_placement place(const cse_processors *processors, int replicas, int servers,
                           cse_binding binding)
{
    cse_placement made;
    cse_placement_make(processors, (int[]){ replicas, servers }, binding, &made);
    return made;
}

/* 2 sockets of 4 memories of 4 caches of 4 cores: 128 cores, in the order of the machine. */
START_TEST(test_a_machine_of_128_cores)
{
    cse_processors p = machine("pack:2 numa:4 l3:4 core:4 pu:1");
    ck_assert_int_eq(p.count, 128);
    ck_assert_int_eq(p.cores, 128);
    ck_assert_int_eq(p.caches, 32);
    ck_assert_int_eq(p.memories, 8);
    ck_assert_int_eq(p.sockets, 2);
    for (int i = 0; i < p.count; i++) {
        ck_assert_int_eq(p.items[i].number, i);
        ck_assert_int_eq(p.items[i].core, i);
        ck_assert_int_eq(p.items[i].cache, i / 4);
        ck_assert_int_eq(p.items[i].memory, i / 16);
        ck_assert_int_eq(p.items[i].node, i / 16);
        ck_assert_int_eq(p.items[i].socket, i / 64);
    }
    char text[64];
    cse_processors_describe(&p, text, sizeof text);
    ck_assert_str_eq(text, "pack:2 numa:4 l3:4 core:4 pu:1");
    cse_processors_clear(&p);
}
END_TEST

START_TEST(test_hardware_threads_and_levels_that_are_missing)
{
    cse_processors p = machine("pack:1 core:3 pu:2");
    ck_assert_int_eq(p.count, 6);
    ck_assert_int_eq(p.cores, 3);
    ck_assert_int_eq(p.caches, 1); /* of its memory */
    for (int i = 0; i < p.count; i++) {
        ck_assert_int_eq(p.items[i].thread, i % 2);
        ck_assert_int_eq(p.items[i].core, i / 2);
    }
    cse_processors_clear(&p);
    p = machine("numa:2 core:2 pu:1");
    ck_assert_int_eq(p.caches, 2);
    ck_assert_int_eq(p.memories, 2);
    ck_assert_int_eq(p.sockets, 1);
    cse_processors_clear(&p);
}
END_TEST

START_TEST(test_what_is_no_machine_is_refused)
{
    static const char *const wrong[] = { "",
                                         "cores",
                                         "pack:0",
                                         "core:65537",
                                         "core:1e9 pu:1",
                                         "pack:-2 core:-2",
                                         "pack:nan",
                                         "/nowhere/machine.xml" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cse_processors p;
        ck_assert_int_eq(cse_processors_read(wrong[i], &p), CSE_DATA);
        ck_assert_ptr_nonnull(strstr(cse_error_message(), "lstopo FILE.xml"));
        ck_assert_ptr_null(p.items);
    }
}
END_TEST

START_TEST(test_this_process_uses_what_it_is_allowed)
{
    cpu_set_t allowed, one;
    cse_processors p;
    ck_assert_int_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    ck_assert_int_eq(cse_processors_of_host(&p), CSE_OK);
    ck_assert_int_eq(p.count, CPU_COUNT(&allowed));
    for (int i = 0; i < p.count; i++)
        ck_assert(CPU_ISSET(p.items[i].number, &allowed));
    const int last = p.items[p.count - 1].number;
    cse_processors_clear(&p);
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq(cse_processors_of_host(&p), CSE_OK);
    ck_assert_int_eq(p.count, 1);
    ck_assert_int_eq(p.items[0].number, last);
    ck_assert_int_eq(p.items[0].core, 0);
    cse_processors_clear(&p);
    ck_assert_int_eq(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}
END_TEST

/* As printed in docs/many_cores.md. */
START_TEST(test_replicas_are_spread_and_neighbours_are_near)
{
    cse_processors p = machine("pack:2 numa:1 l3:2 core:4 pu:1");
    cse_placement four = place(&p, 4, 0, CSE_BINDING_CORES);
    for (int r = 0; r < 4; r++) /* one to each cache */
        ck_assert_int_eq(p.items[four.places[r]].cache, r);
    cse_placement eight = place(&p, 8, 0, CSE_BINDING_CORES);
    for (int r = 0; r < 8; r++) /* neighbours share a cache, halves a socket */
        ck_assert_int_eq(p.items[eight.places[r]].cache, r / 2);
    cse_placement all = place(&p, 12, 4, CSE_BINDING_AUTO);
    for (int s = 0; s < 4; s++) /* a weight server at each cache */
        ck_assert_int_eq(p.items[all.places[12 + s]].cache, s);
    cse_placement_clear(&four);
    cse_placement_clear(&eight);
    cse_placement_clear(&all);
    cse_processors_clear(&p);
}
END_TEST

START_TEST(test_when_processes_are_bound)
{
    cse_processors p = machine("core:8 pu:2");
    static const struct {
        int replicas, servers;
        cse_binding binding;
        bool bound;
    } cases[] = {
        { 7, 0, CSE_BINDING_AUTO, false }, /* less than half */
        { 8, 0, CSE_BINDING_AUTO, true },   { 16, 0, CSE_BINDING_AUTO, true },
        { 17, 0, CSE_BINDING_AUTO, false }, /* more than there are */
        { 4, 4, CSE_BINDING_AUTO, true },   { 16, 1, CSE_BINDING_AUTO, true },
        { 1, 0, CSE_BINDING_CORES, true },  { 300, 0, CSE_BINDING_CORES, true },
        { 16, 0, CSE_BINDING_NONE, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cse_placement made = place(&p, cases[i].replicas, cases[i].servers, cases[i].binding);
        ck_assert_int_eq(made.bound, cases[i].bound);
        ck_assert_int_eq(made.places[0] >= 0, cases[i].bound);
        cse_placement_clear(&made);
    }
    cse_placement crowded = place(&p, 16, 1, CSE_BINDING_AUTO); /* no core for the server */
    ck_assert_int_eq(crowded.places[16], -1);
    ck_assert_ptr_null(cse_placement_processor(&p, &crowded, 16));
    cse_placement_clear(&crowded);
    cse_processors_clear(&p);
}
END_TEST

/* ---- properties, over random machines and numbers of processes ---- */

static int64_t drawn; /* counts the random numbers of a case */

static int draw(uint64_t seed, int least, int most)
{
    uint32_t counter[4] = { (uint32_t)drawn++ }, random[4];
    cse_philox(seed, counter, random);
    return least + (int)(random[0] % (uint32_t)(most - least + 1));
}

static void random_machine(uint64_t seed, char text[96])
{
    snprintf(text, 96, "pack:%d numa:%d l3:%d core:%d pu:%d", draw(seed, 1, 4), draw(seed, 1, 3),
             draw(seed, 1, 4), draw(seed, 1, 6), draw(seed, 1, 3));
}

/* The processes on a part of the machine differ from those on an equal one by at most one; `part`
 * gives the part of a processor. */
static void is_even(const cse_processors *p, const cse_placement *made, int all, int parts,
                    size_t part)
{
    int *counts = calloc((size_t)parts, sizeof *counts);
    int least = all, most = 0;
    for (int i = 0; i < all; i++)
        counts[*(const int *)(const void *)((const char *)&p->items[made->places[i]] + part)]++;
    for (int i = 0; i < parts; i++) {
        least = counts[i] < least ? counts[i] : least;
        most = counts[i] > most ? counts[i] : most;
    }
    free(counts);
    ck_assert_int_le(most - least, 1);
}

/* Each core once before any twice, and threads of a core in their order. */
static void check_uses(const cse_processors *p, const cse_placement *made, int all)
{
    int *uses = calloc((size_t)p->count, sizeof *uses);
    for (int i = 0; i < all; i++)
        uses[made->places[i]]++;
    int least = all, most = 0, least_of_cores = all, most_of_others = 0;
    for (int i = 0; i < p->count; i++) {
        least = uses[i] < least ? uses[i] : least;
        most = uses[i] > most ? uses[i] : most;
        if (p->items[i].thread == 0)
            least_of_cores = uses[i] < least_of_cores ? uses[i] : least_of_cores;
        else
            most_of_others = uses[i] > most_of_others ? uses[i] : most_of_others;
        if (p->items[i].thread > 0)
            ck_assert_int_le(uses[i], uses[i - 1]);
    }
    ck_assert_int_le(most_of_others, least_of_cores);
    ck_assert_int_le(most - least, 1);
    ck_assert_int_eq(most, made->most_shared);
    free(uses);
}

/* Replicas have the machine's order, so that those of a part of it are contiguous. */
static void check_order(const cse_placement *made)
{
    for (int r = 1; r < made->replicas; r++)
        ck_assert_int_le(made->places[r - 1], made->places[r]);
    for (int s = 1; s < made->weight_servers; s++)
        ck_assert_int_le(made->places[made->replicas + s - 1], made->places[made->replicas + s]);
}

START_TEST(test_properties_over_random_machines)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        char text[96];
        drawn = 0;
        random_machine(seed, text);
        cse_processors p = machine(text);
        const int servers = draw(seed, 0, 2) > 0 ? 0 : draw(seed, 1, 5);
        const int replicas = draw(seed, 1, 3 * p.count);
        cse_placement made = place(&p, replicas, servers, CSE_BINDING_CORES);
        const int bound = replicas + servers <= p.count ? replicas + servers : replicas;
        check_uses(&p, &made, bound);
        if (bound > replicas || servers == 0)
            check_order(&made);
        if (bound <= p.cores) {
            is_even(&p, &made, bound, p.cores, offsetof(cse_processor, core));
            is_even(&p, &made, bound, p.caches, offsetof(cse_processor, cache));
            is_even(&p, &made, bound, p.memories, offsetof(cse_processor, memory));
            is_even(&p, &made, bound, p.sockets, offsetof(cse_processor, socket));
        }
        cse_placement again = place(&p, replicas, servers, CSE_BINDING_CORES);
        ck_assert(memcmp(made.places, again.places,
                         (size_t)(replicas + servers) * sizeof *made.places) == 0);
        cse_placement_clear(&made);
        cse_placement_clear(&again);
        cse_processors_clear(&p);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("placement");
    TCase *cases = tcase_create("placement");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, test_a_machine_of_128_cores);
    tcase_add_test(cases, test_hardware_threads_and_levels_that_are_missing);
    tcase_add_test(cases, test_what_is_no_machine_is_refused);
    tcase_add_test(cases, test_this_process_uses_what_it_is_allowed);
    tcase_add_test(cases, test_replicas_are_spread_and_neighbours_are_near);
    tcase_add_test(cases, test_when_processes_are_bound);
    tcase_add_test(cases, test_properties_over_random_machines);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
