/* No two words of the arena that different processes write while steps run share a line of the
 * cache, and the words that all read have a pair of lines: a processor fetches both. */
#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_step.h"
#include "workers/arena/layout.h"
#include "workers/arena/worker_side.h"

enum { LINE = 64, MOST_WORDS = 1 << 14, MICROBATCHES = 16, REPLICAS = 8, COORDINATOR = -1 };

/* Bytes [first, end) of the arena. Words of one writer may share a line. Those that whoever has
 * claimed a unit writes are each of a writer of their own. */
typedef struct hot_word {
    const char *what;
    int64_t first, end;
    int writer;
} hot_word;

static hot_word words[MOST_WORDS];
static int word_count, next_writer;
static const cse_cluster *walked;

static void add(const char *what, const volatile void *at, size_t bytes, int writer)
{
    const int64_t first = (const volatile unsigned char *)at - walked->base;
    ck_assert_int_lt(word_count, MOST_WORDS);
    words[word_count++] = (hot_word){ what, first, first + (int64_t)bytes, writer };
}

static void add_words(const char *what, const cse_word *first, int count)
{
    for (int i = 0; i < count; i++)
        add(what, &first[i].value, sizeof first[i].value, next_writer++);
}

#define ADD_MEMBERS(what, object, from, to, writer)                           \
    add(what, (const char *)(object) + offsetof(__typeof__(*(object)), from), \
        offsetof(__typeof__(*(object)), to) + sizeof(object)->to -            \
            offsetof(__typeof__(*(object)), from),                            \
        writer)

static void add_slot(const cse_slot *slot, int writer)
{
    ADD_MEMBERS("slot: who", slot, who, number, COORDINATOR);
    ADD_MEMBERS("slot: sleeping", slot, sleeping, sleeping, next_writer++);
    ADD_MEMBERS("slot: times", slot, input_wait_ns, compute_ns, writer);
    ADD_MEMBERS("slot: failure", slot, failed, failure, writer);
    ADD_MEMBERS("slot: spans", slot, spans_sequence, kernels_sequence, writer);
}

static void walk(const cse_cluster *cluster)
{
    const cse_arena_head *head = cluster->head;
    walked = cluster;
    word_count = 0;
    next_writer = cse_cluster_slot_count(cluster);
    add_words("step", cluster->step, 1);
    add("doorbell", cluster->doorbell, sizeof *cluster->doorbell, next_writer++);
    ADD_MEMBERS("control: plan", cluster->control, plan, released, COORDINATOR);
    ADD_MEMBERS("control: sleeping", cluster->control, sleeping, urgent, next_writer++);
    ADD_MEMBERS("control: computed", cluster->control, computed_ns, running_ns, next_writer++);
    add_words("norm", cluster->norm, 1);
    for (int s = 0; s < cse_cluster_slot_count(cluster); s++)
        add_slot(&cluster->slots[s], s);
    add_words("node", cluster->nodes, head->tree_node_count);
    add_words("reduce", cluster->reduce, head->reduce_chunks);
    add_words("update", cluster->update, head->update_chunks);
    add_words("progress", cluster->progress, head->update_chunks);
    add_words("ring", cluster->ring, head->ring_count);
    for (int s = 0; s < cse_cluster_slot_count(cluster); s++)
        add("undo", cse_arena_undo(cluster, s, 0), 2 * CSE_UNDO_LINE_BYTES, s);
    for (int m = 0; m < head->microbatches; m++)
        add("partial sum", cse_arena_partial_sum(cluster, m), (size_t)head->partial_sum_stride,
            next_writer++);
    for (int p = 0; p < head->ring_count; p++)
        add("input", cse_arena_input(cluster, p), (size_t)head->input_bytes, next_writer++);
}

static int by_place(const void *a, const void *b)
{
    const hot_word *left = a, *right = b;
    return (left->first > right->first) - (left->first < right->first);
}

static int shared_lines(int64_t line)
{
    int shared = 0;
    qsort(words, (size_t)word_count, sizeof *words, by_place);
    for (int i = 1; i < word_count; i++) {
        const hot_word *left = &words[i - 1], *right = &words[i];
        ck_assert_msg(left->end <= right->first, "%s and %s overlap", left->what, right->what);
        if (left->writer != right->writer && (left->end - 1) / line == right->first / line)
            shared++;
    }
    return shared;
}

static cse_cluster *create(fake_step *step, int weight_servers)
{
    cse_cluster *cluster;
    const cse_cluster_layout layout = { .graph = fake_step_graph(step),
                                        .replica_count = REPLICAS,
                                        .weight_server_count = weight_servers,
                                        .input_worker_count = REPLICAS,
                                        .weight_grad_reduce = { CSE_BFLOAT16, false },
                                        .num_steps = 10 };
    ck_assert_msg(cse_cluster_create(&layout, &cluster) == CSE_OK, "%s", cse_error_message());
    return cluster;
}

START_TEST(test_no_line_has_two_writers)
{
    fake_step *step = fake_step_new(MICROBATCHES, 300000, 1000);
    for (int servers = 0; servers <= 3; servers += 3) {
        cse_cluster *cluster = create(step, servers);
        ck_assert_int_gt(cluster->head->update_chunks, REPLICAS);
        walk(cluster);
        ck_assert_int_eq(shared_lines(LINE), 0);
        cse_cluster_destroy(&cluster);
    }
    fake_step_destroy(&step);
}
END_TEST

/* The test can fail: words without their alignment share lines. */
START_TEST(test_words_that_share_a_line_are_found)
{
    static _Alignas(LINE) unsigned char bytes[2 * LINE];
    const cse_cluster cluster = { .base = bytes };
    walked = &cluster;
    word_count = 0;
    add("one", bytes, 8, 1);
    add("its neighbour", bytes + 8, 8, 2);
    add("alone", bytes + LINE, 8, 3);
    ck_assert_int_eq(shared_lines(LINE), 1);
}
END_TEST

static bool has_own_pair(const char *what)
{
    for (int i = 0; i < word_count; i++)
        for (int k = 0; k < word_count && strcmp(words[i].what, what) == 0; k++)
            if (k != i && words[k].first / CSE_HOT_BYTES == words[i].first / CSE_HOT_BYTES)
                return false;
    return true;
}

START_TEST(test_words_that_all_read_have_pairs_of_lines)
{
    static const char *const all_read[] = { "step",           "doorbell", "control: plan",
                                            "slot: sleeping", "norm",     "control: sleeping" };
    fake_step *step = fake_step_new(MICROBATCHES, 300000, 1000);
    cse_cluster *cluster = create(step, 0);
    walk(cluster);
    for (size_t i = 0; i < sizeof all_read / sizeof all_read[0]; i++)
        ck_assert_msg(has_own_pair(all_read[i]), "%s", all_read[i]);
    cse_cluster_destroy(&cluster);
    fake_step_destroy(&step);
}
END_TEST

/* Chunks of a stage end at lines in the tensors that they write, too. */
START_TEST(test_chunks_end_at_lines)
{
    fake_step *step = fake_step_new(MICROBATCHES, 300000, 1000);
    cse_cluster *cluster = create(step, 0);
    const cse_arena_head *head = cluster->head;
    ck_assert_int_eq(head->reduced_offset % LINE, 0);
    ck_assert_int_eq(head->reduce_chunk_elements * 4 % LINE, 0);
    ck_assert_int_eq(head->states_offset % LINE, 0);
    ck_assert_int_eq(CSE_LINE_ELEMENTS * 4 % LINE, 0);
    for (int s = 0; s < fake_step_graph(step)->state_count; s++)
        ck_assert_int_eq(fake_step_graph(step)->states[s].offset_bytes % LINE, 0);
    cse_cluster_destroy(&cluster);
    fake_step_destroy(&step);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("false_sharing");
    TCase *cases = tcase_create("false_sharing");
    tcase_add_test(cases, test_no_line_has_two_writers);
    tcase_add_test(cases, test_words_that_share_a_line_are_found);
    tcase_add_test(cases, test_words_that_all_read_have_pairs_of_lines);
    tcase_add_test(cases, test_chunks_end_at_lines);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
