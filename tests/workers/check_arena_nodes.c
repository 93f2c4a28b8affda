/* Which memory the parts of an arena are told to lie on. */
#include <check.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/fake_step.h"
#include "workers/arena/arena_nodes.h"
#include "workers/arena/memory.h"

enum { MICROBATCHES = 16, REPLICAS = 4, PAGE = 4096 };

static fake_step *step;
static cse_cluster_layout layout;
static cse_arena_head head;
static cse_node_ranges ranges;
static int replica_nodes[REPLICAS], server_nodes[2];

static void setup(void)
{
    step = fake_step_new(MICROBATCHES, 2000000, 1000);
    layout = (cse_cluster_layout){ .graph = fake_step_graph(step),
                                   .replica_count = REPLICAS,
                                   .input_worker_count = REPLICAS,
                                   .weight_grad_reduce = { CSE_FLOAT32, false },
                                   .num_steps = 10 };
    for (int r = 0; r < REPLICAS; r++)
        replica_nodes[r] = 10 + r;
    server_nodes[0] = 20;
    server_nodes[1] = 21;
}

static void teardown(void)
{
    free(ranges.items);
    fake_step_destroy(&step);
}

static void find(void)
{
    const cse_arena_nodes nodes = { replica_nodes, server_nodes };
    ck_assert_int_eq(cse_arena_plan(&layout, &head), CSE_OK);
    cse_arena_node_ranges(&layout, &head, &nodes, &ranges);
}

/* -1: no place. */
static int node_at(int64_t byte)
{
    int found = -1;
    for (int i = 0; i < ranges.count; i++)
        if (byte >= ranges.items[i].first && byte < ranges.items[i].end) {
            ck_assert_int_eq(found, -1); /* ranges do not overlap */
            found = ranges.items[i].node;
        }
    return found;
}

START_TEST(test_sums_and_input_lie_at_their_replica)
{
    find();
    for (int i = 0; i < ranges.count; i++) {
        ck_assert_int_eq(ranges.items[i].first % PAGE, 0);
        ck_assert_int_eq(ranges.items[i].end % PAGE, 0);
        ck_assert_int_lt(ranges.items[i].first, ranges.items[i].end);
    }
    for (int m = 0; m < MICROBATCHES; m++)
        ck_assert_int_eq(node_at(head.partial_sums_offset + m * head.partial_sum_stride + PAGE),
                         10 + m / (MICROBATCHES / REPLICAS));
    ck_assert_int_eq(node_at(0), -1);
    ck_assert_int_eq(node_at(head.slots_offset), -1);
}
END_TEST

/* By its chunk: each replica begins with a quarter of them. The large tensor is the first one, of
 * 2,000,000 elements, and so are its states: each ends up in four parts. */
START_TEST(test_states_lie_at_who_updates_them)
{
    find();
    int64_t bytes[REPLICAS] = { 0 };
    for (int64_t at = head.states_offset; at < head.states_offset + head.state_bytes; at += PAGE) {
        const int node = node_at(at);
        if (node >= 0)
            bytes[node - 10] += PAGE;
    }
    for (int r = 0; r < REPLICAS; r++) {
        const double share = (double)bytes[r] / (double)head.state_bytes;
        ck_assert_double_gt(share, 0.23);
        ck_assert_double_lt(share, 0.27);
    }
    const cse_state_entry *first = &fake_step_graph(step)->states[0];
    ck_assert_int_eq(node_at(head.states_offset + first->offset_bytes + 2 * PAGE), 10);
}
END_TEST

START_TEST(test_states_lie_at_the_weight_servers)
{
    layout.weight_server_count = 2;
    find();
    const int64_t middle = head.states_offset + fake_step_graph(step)->states[0].offset_bytes;
    ck_assert_int_eq(node_at(middle + 2 * PAGE), 20);
    ck_assert_int_eq(node_at(middle + 2000000 * 4 - 4 * PAGE), 21);
    ck_assert_int_eq(node_at(head.partial_sums_offset + PAGE), 10);
}
END_TEST

START_TEST(test_microbatches_of_other_hosts_have_no_place)
{
    const cse_host_cut cut = { .host_count = 2, .bounds = { 0, 8, 16 } };
    layout.host = 1;
    layout.host_count = 2;
    layout.cut = &cut;
    find();
    const int64_t sums = head.partial_sums_offset + PAGE;
    ck_assert_int_eq(node_at(sums + 7 * head.partial_sum_stride), -1);
    for (int m = 8; m < 16; m++)
        ck_assert_int_eq(node_at(sums + m * head.partial_sum_stride), 10 + (m - 8) / 2);
}
END_TEST

START_TEST(test_processes_without_a_place_give_none)
{
    for (int r = 0; r < REPLICAS; r++)
        replica_nodes[r] = -1;
    find();
    ck_assert_int_eq(ranges.count, 0);
}
END_TEST

/* The kernel keeps it: this machine has a memory 0, whose number the arena's pages are told. */
START_TEST(test_the_kernel_is_told)
{
    for (int r = 0; r < REPLICAS; r++)
        replica_nodes[r] = 0;
    const cse_arena_nodes nodes = { replica_nodes, NULL };
    cse_cluster *cluster;
    find();
    layout.nodes = &nodes;
    ck_assert_int_eq(cse_cluster_create(&layout, &cluster), CSE_OK);
    unsigned long mask[16] = { 0 };
    int policy = -1;
    unsigned char *sum = cse_arena_partial_sum(cluster, 3) + PAGE;
    const long told = syscall(SYS_get_mempolicy, &policy, mask, 8 * sizeof mask, sum, MPOL_F_ADDR);
    if (told == 0) { /* a kernel without memories of their own does not know the call */
        ck_assert_int_eq(policy, MPOL_PREFERRED);
        ck_assert_uint_eq(mask[0], 1);
        ck_assert_int_eq(
            cse_arena_nodes_set(cse_cluster_descriptor(cluster), head.total_bytes, &ranges),
            ranges.count);
    }
    cse_cluster_destroy(&cluster);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_nodes");
    TCase *cases = tcase_create("arena_nodes");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, test_sums_and_input_lie_at_their_replica);
    tcase_add_test(cases, test_states_lie_at_who_updates_them);
    tcase_add_test(cases, test_states_lie_at_the_weight_servers);
    tcase_add_test(cases, test_microbatches_of_other_hosts_have_no_place);
    tcase_add_test(cases, test_processes_without_a_place_give_none);
    tcase_add_test(cases, test_the_kernel_is_told);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
