/* Two rounds: what is known to be the same value first, what has the same place last. */
#include "run/travel/value_pairs.h"

#include <inttypes.h>
#include <string.h>

#include "run/travel/replay.h"

/* Tensors of the second graph that are still free, by a key; equal keys in the order of
 * execution. */
typedef struct pairing {
    const cse_graph *graphs[2];
    cse_arena *arena;
    cse_node_digest *digests[2]; /* by a node's `scratch` */
    int *partners;               /* by the tensor of the first graph; -1: none yet */
    bool *taken;                 /* by the tensor of the second one */
} pairing;

typedef const char *key_of(const pairing *p, int graph, const cse_tracked_tensor *tensor);

/* States and gradients, of which a step has one each. */
static bool is_named(const cse_tracked_tensor *tensor)
{
    return tensor->kind == CSE_TRACKED_STATE || tensor->kind == CSE_TRACKED_GRADIENT;
}

static const char *key_of_digest(const pairing *p, int graph, const cse_tracked_tensor *tensor)
{
    const cse_node_digest *digest = &p->digests[graph][tensor->node->scratch];
    return is_named(tensor) ? NULL
                            : cse_arena_printf(p->arena, "%" PRIx64 " %" PRIx64, digest->words[0],
                                               digest->words[1]);
}

static const char *key_of_place(const pairing *p, int graph, const cse_tracked_tensor *tensor)
{
    (void)graph;
    const size_t length = strcspn(tensor->name, "#");
    return is_named(tensor) ? NULL
                            : cse_arena_printf(p->arena, "%.*s %s", (int)length, tensor->name,
                                               tensor->node->op->name);
}

/* The k-th free tensor of a key in one graph with the k-th in the other. */
static void pair_by(pairing *p, key_of *key)
{
    cse_name_index seen[2] = { { 0 }, { 0 } }, places = { 0 };
    for (int g = 1; g >= 0; g--)
        for (int t = 0; t < p->graphs[g]->tracked_count; t++) {
            const bool free_tensor = g == 1 ? !p->taken[t] : p->partners[t] < 0;
            const char *base = free_tensor ? key(p, g, &p->graphs[g]->tracked[t]) : NULL;
            if (base == NULL)
                continue;
            const char *numbered = base;
            for (int k = 1; cse_name_index_find(&seen[g], numbered) >= 0; k++)
                numbered = cse_arena_printf(p->arena, "%s %d", base, k);
            cse_name_index_add(&seen[g], numbered, t);
            if (g == 1) {
                cse_name_index_add(&places, numbered, t);
                continue;
            }
            const int partner = cse_name_index_find(&places, numbered);
            if (partner < 0)
                continue;
            p->partners[t] = partner;
            p->taken[partner] = true;
        }
    cse_name_index_clear(&seen[0]);
    cse_name_index_clear(&seen[1]);
    cse_name_index_clear(&places);
}

static const char *name_of(const pairing *p, int graph, int tensor)
{
    return cse_arena_string(p->arena, p->graphs[graph]->tracked[tensor].name);
}

/* Whether values can be equal: those of microbatches of other sizes cannot. */
static bool fit(const pairing *p, int first, int second)
{
    const cse_node *a = p->graphs[0]->tracked[first].node;
    const cse_node *b = p->graphs[1]->tracked[second].node;
    const bool same_batches = p->graphs[0]->micro_batch_size == p->graphs[1]->micro_batch_size;
    return cse_shape_equal(a->shape, b->shape) && (same_batches || (!a->batch && !b->batch));
}

static cse_compared_names list_pairs(const pairing *p)
{
    const cse_graph *a = p->graphs[0], *b = p->graphs[1];
    const char **names[2];
    int count = 0;
    for (int g = 0; g < 2; g++)
        names[g] = cse_arena_alloc(
            p->arena, ((size_t)a->tracked_count + (size_t)b->tracked_count + 1) * sizeof *names[g]);
    for (int t = 0; t < a->tracked_count; t++) {
        if (is_named(&a->tracked[t]))
            continue;
        const int partner = p->partners[t];
        const bool paired = partner >= 0 && fit(p, t, partner);
        if (partner >= 0)
            p->taken[partner] = paired;
        names[0][count] = name_of(p, 0, t);
        names[1][count++] = paired ? name_of(p, 1, partner) : NULL;
    }
    for (int t = 0; t < b->tracked_count; t++) {
        if (is_named(&b->tracked[t]) || p->taken[t])
            continue;
        names[0][count] = NULL;
        names[1][count++] = name_of(p, 1, t);
    }
    return (cse_compared_names){ { names[0], names[1] }, count };
}

cse_compared_names cse_value_pairs_find(cse_graph *const graphs[CSE_COMPARED_RUNS],
                                        cse_arena *arena)
{
    pairing p = { .graphs = { graphs[0], graphs[1] }, .arena = arena };
    for (int g = 0; g < 2; g++) {
        p.digests[g] =
            cse_arena_alloc(arena, ((size_t)graphs[g]->node_count + 1) * sizeof *p.digests[g]);
        cse_graph_node_digests(graphs[g], p.digests[g]);
    }
    p.partners =
        cse_arena_alloc(arena, ((size_t)graphs[0]->tracked_count + 1) * sizeof *p.partners);
    p.taken = cse_arena_alloc(arena, ((size_t)graphs[1]->tracked_count + 1) * sizeof *p.taken);
    for (int t = 0; t < graphs[0]->tracked_count; t++)
        p.partners[t] = -1;
    memset(p.taken, 0, (size_t)graphs[1]->tracked_count * sizeof *p.taken);
    pair_by(&p, key_of_digest);
    pair_by(&p, key_of_place);
    return list_pairs(&p);
}

bool cse_value_pairs_of_runs(const char *const folders[CSE_COMPARED_RUNS], cse_arena *arena,
                             cse_compared_names *pairs)
{
    cse_graph *graphs[CSE_COMPARED_RUNS] = { NULL, NULL };
    bool known = true;
    for (int r = 0; r < CSE_COMPARED_RUNS && known; r++)
        known = cse_replay_graph(folders[r], &graphs[r]) == CSE_OK;
    if (known)
        *pairs = cse_value_pairs_find(graphs, arena);
    for (int r = 0; r < CSE_COMPARED_RUNS; r++)
        cse_graph_destroy(&graphs[r]);
    return known;
}
