/* The hang report: the step word and every unit of work that is not done. */
#include "workers/arena/coordinator_side.h"
#include "workers/arena/layout.h"

static void dump_words(const cse_word *words, int count, int64_t sequence, const char *what,
                       cse_text *out)
{
    static const char *const states[] = { "done", "split", "claimed", "unchecked", "checking" };
    for (int i = 0; i < count; i++) {
        uint64_t word = cse_word_load(&words[i]);
        if (cse_word_is(word, CSE_WORD_DONE, sequence) ||
            (sequence == 0 && cse_word_state_of(word) != CSE_WORD_CLAIMED))
            continue;
        unsigned state = cse_word_state_of(word);
        cse_text_add(out, "  %s %d: %s, number %lld, owner %d, incarnation %d\n", what, i,
                     state < 5 ? states[state] : "unknown", (long long)cse_word_sequence(word),
                     cse_word_owner(word), (int)(word & 0xff));
    }
}

void cse_cluster_dump(const cse_cluster *cluster, cse_text *out)
{
    static const char *const stages[] = { "compute", "reduce", "norm", "update" };
    const cse_arena_head *head = cluster->head;
    const cse_control *control = cluster->control;
    uint64_t step = cse_word_load(cluster->step);
    int64_t sequence = cse_step_number(step) + 1;
    cse_stage stage = cse_step_stage(step);
    char name[32];
    cse_text_add(out, "step %lld, stage %s, %d replicas; released %lld, closed %lld, end %lld%s\n",
                 (long long)cse_step_number(step), (unsigned)stage < 4 ? stages[stage] : "unknown",
                 cse_step_replicas(step), (long long)atomic_load(&control->released),
                 (long long)atomic_load(&control->closed), (long long)head->end_step,
                 atomic_load(&control->stopping) ? ", stopping" : "");
    for (int i = 0; i < cse_cluster_slot_count(cluster); i++)
        cse_text_add(out, "  slot %d (%s): process %d, roles %d, waits for %u\n", i,
                     cse_cluster_slot_name(cluster, i, name, sizeof name),
                     (int)cse_cluster_occupant(cluster, i), cse_cluster_slot_roles(cluster, i),
                     (unsigned)atomic_load(&cluster->slots[i].sleeping));
    for (int h = 0; cluster->hosts != NULL && h < head->host_count; h++)
        if (h != head->host)
            cse_text_add(out, "  host %d: %s, %lld steps done, %lld frames refused\n", h,
                         cse_arena_is_lost(cluster, h) ? "lost" : "present",
                         (long long)atomic_load(&cluster->hosts->hosts[h].steps_done),
                         (long long)atomic_load(&cluster->hosts->hosts[h].refused));
    if (cluster->hosts != NULL)
        dump_words(&cluster->hosts->sent, 1, sequence, "sent", out);
    if (stage == CSE_STAGE_COMPUTE)
        dump_words(cluster->nodes, head->tree_node_count, sequence, "node", out);
    if (stage == CSE_STAGE_REDUCE)
        dump_words(cluster->reduce, head->reduce_chunks, sequence, "reduce", out);
    if (stage == CSE_STAGE_NORM)
        dump_words(cluster->norm, 1, sequence, "norm", out);
    if (stage == CSE_STAGE_UPDATE)
        dump_words(cluster->update, head->update_chunks, sequence, "update", out);
    dump_words(cluster->ring, head->ring_count, 0, "ring", out);
}
