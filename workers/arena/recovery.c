/* Recovery: what a dead process had claimed becomes free again.
 *
 * Only the coordinator recovers, and only after the kernel reported the end of the process, so
 * nothing changes the words and payload meanwhile. Every step can be repeated if the coordinator
 * itself is killed: words are freed one by one; a line of states is restored before it is marked
 * clean, and marked clean before its chunk is freed.
 *
 * A node that it was checking is unchecked again.
 *
 * The clean mark matters when two owners die on one chunk: the second may die before it wrote its
 * own undo log, and restoring from that log would corrupt the states. */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "workers/arena/coordinator_side.h"
#include "workers/arena/doorbell.h"
#include "workers/arena/failpoint.h"
#include "workers/arena/layout.h"

_Atomic(cse_failpoint_hook *) cse_failpoint_armed;

static bool claimed_by(uint64_t word, int slot)
{
    return cse_word_state_of(word) == CSE_WORD_CLAIMED && cse_word_owner(word) == slot;
}

static int free_words(cse_word *words, int count, int slot, int64_t lap)
{
    int freed = 0;
    for (int i = 0; i < count; i++) {
        uint64_t word = cse_word_load(&words[i]);
        if (!claimed_by(word, slot))
            continue;
        cse_word_publish(&words[i], cse_word_sequence_before(cse_word_sequence(word), lap),
                         CSE_WORD_DONE);
        CSE_FAILPOINT(RECOVERY_FREED);
        freed++;
    }
    return freed;
}

static int free_checked(cse_word *word, uint64_t seen, int slot)
{
    if (cse_word_state_of(seen) != CSE_WORD_CHECKING || cse_word_owner(seen) != slot)
        return 0;
    cse_word_publish(word, cse_word_sequence(seen), CSE_WORD_UNCHECKED);
    CSE_FAILPOINT(RECOVERY_FREED);
    return 1;
}

/* Splits a node for two other replicas when there are two; else frees it for anyone to claim. A
 * node that comes from another host comes again. */
static int free_nodes(cse_cluster *cluster, int slot)
{
    const cse_arena_head *head = cluster->head;
    int others = 0, freed = 0;
    for (int i = 0; i < cse_cluster_slot_count(cluster); i++)
        others += cse_cluster_slot_kind(cluster, slot) != CSE_ROLE_MOVER && i != slot &&
                  cse_cluster_occupant(cluster, i) != 0 &&
                  (cse_cluster_slot_roles(cluster, i) & CSE_ROLE_REPLICA);
    for (int heap = 1; heap < head->tree_node_count; heap++) {
        uint64_t word = cse_word_load(&cluster->nodes[heap]);
        cse_tree_node node;
        freed += free_checked(&cluster->nodes[heap], word, slot);
        if (!claimed_by(word, slot) || !cse_tree_find(head->microbatches, heap, &node))
            continue;
        int64_t sequence = cse_word_sequence(word);
        bool split = others >= 2 && node.size > 1 &&
                     cse_arena_reserve_partial_sum(cluster, cse_tree_right(node).first) == CSE_OK;
        if (split)
            cse_word_publish(&cluster->nodes[heap], sequence, CSE_WORD_SPLIT);
        else
            cse_word_publish(&cluster->nodes[heap], cse_word_sequence_before(sequence, 1),
                             CSE_WORD_DONE);
        CSE_FAILPOINT(RECOVERY_FREED);
        freed++;
    }
    return freed;
}

/* Restores one line of a group's states from the undo log, array after array. */
static void restore_line(cse_cluster *cluster, int slot, cse_update_part part)
{
    const cse_graph *graph = cluster->graph;
    const cse_group *group = &graph->groups[part.group];
    const unsigned char *undo = cse_arena_undo(cluster, slot, (int)(part.first & 1));
    const int64_t lines[2] = { part.first, part.first + 1 };
    for (int i = 0; i < group->node_count; i++) {
        const cse_node *node = group->nodes[i];
        if (node->op != &cse_op_assign)
            continue;
        const cse_state_entry *state = &graph->states[node->attributes.integers[0]];
        int64_t bytes[2];
        cse_group_line_bytes(group, node, lines, bytes);
        memcpy(cse_arena_states(cluster) + state->offset_bytes + bytes[0], undo,
               (size_t)(bytes[1] - bytes[0]));
        undo += CSE_LINE_ELEMENTS * 4;
    }
}

static int free_updates(cse_cluster *cluster, int slot)
{
    int freed = 0;
    for (int chunk = 0; chunk < cluster->head->update_chunks; chunk++) {
        uint64_t word = cse_word_load(&cluster->update[chunk]);
        if (!claimed_by(word, slot))
            continue;
        int64_t sequence = cse_word_sequence(word);
        uint64_t progress = cse_word_load(&cluster->progress[chunk]);
        int64_t line = cse_progress_line(progress);
        if (cse_word_sequence(progress) == sequence && cse_progress_dirty(progress)) {
            restore_line(cluster, slot,
                         cse_arena_update_part(cluster, cluster->graph, chunk, line));
            CSE_COMPILER_BARRIER();
            CSE_FAILPOINT(RECOVERY_RESTORED);
            atomic_store(&cluster->progress[chunk].value, cse_progress_make(sequence, false, line));
            CSE_COMPILER_BARRIER();
            CSE_FAILPOINT(RECOVERY_CLEAN);
        }
        cse_word_publish(&cluster->update[chunk], cse_word_sequence_before(sequence, 1),
                         CSE_WORD_DONE);
        CSE_FAILPOINT(RECOVERY_FREED);
        freed++;
    }
    return freed;
}

int cse_cluster_recover(cse_cluster *cluster, int slot)
{
    const cse_arena_head *head = cluster->head;
    assert(slot >= 0 && slot < cse_cluster_slot_count(cluster) && cluster->graph != NULL);
    int freed = free_nodes(cluster, slot);
    freed += free_words(cluster->reduce, head->reduce_chunks, slot, 1);
    freed += free_words(cluster->norm, 1, slot, 1);
    if (cluster->hosts != NULL)
        freed += free_words(&cluster->hosts->sent, 1, slot, 1);
    freed += free_updates(cluster, slot);
    freed += free_words(cluster->ring, head->ring_count, slot, head->ring_count);
    atomic_store(&cluster->slots[slot].sleeping, 0);
    cse_doorbell_ring(cluster, CSE_DOORBELL_STAGE | CSE_DOORBELL_COMMIT | CSE_DOORBELL_FILLED |
                                   CSE_DOORBELL_CONTROL);
    uint64_t who = atomic_load(&cluster->slots[slot].who);
    atomic_store(&cluster->slots[slot].who, who & 0xff);
    atomic_store(&cluster->slots[slot].number, 0);
    /* Pages of restored lines: mapped here, they would stay in memory. */
    if (head->resident_bytes > 0)
        madvise(cluster->base + head->weights_offset,
                (size_t)(head->total_bytes - head->weights_offset), MADV_DONTNEED);
    return freed;
}
