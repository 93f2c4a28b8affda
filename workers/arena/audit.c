/* What a verdict says is told before the node's word says it: a process that dies between has told
 * of it twice at most, and the coordinator takes one finding of a process. */
#include "workers/arena/audit.h"

#include <string.h>

#include "engine/base/random.h"
#include "workers/arena/doorbell.h"
#include "workers/arena/slots.h"

/* Of draws that no op has: its name's hash has no such value in the high bits of cse_hash_key. */
enum { AUDIT_STREAM = 0x61756469 };

bool cse_audit_takes(const cse_arena_head *head, int64_t step, int microbatch)
{
    return head->audit_limit > 0 &&
           cse_hash_key(head->seed, step, AUDIT_STREAM, (uint32_t)microbatch, 1) >>
               (64 - CSE_AUDIT_DRAW_BITS) < head->audit_limit;
}

int cse_audit_next(const cse_arena_head *head, int64_t step, cse_tree_node node, int from)
{
    int microbatch = from > node.first ? from : node.first;
    for (; head->audit_limit > 0 && microbatch < node.first + node.size; microbatch++)
        if (cse_audit_takes(head, step, microbatch))
            return microbatch;
    return -1;
}

void cse_audit_clear(cse_cluster *cluster, int64_t sequence, int microbatch)
{
    cse_audit_place *place = &cluster->audit_places[microbatch];
    atomic_store(&place->count, 0);
    atomic_store(&place->sequence, sequence);
}

void cse_audit_add(cse_cluster *cluster, int64_t sequence, int microbatch,
                   const cse_audit_try *made)
{
    cse_audit_place *place = &cluster->audit_places[microbatch];
    if (atomic_load(&place->sequence) != sequence)
        cse_audit_clear(cluster, sequence, microbatch);
    const int count = atomic_load(&place->count);
    assert(count < CSE_MOST_AUDIT_TRIES);
    place->tries[count] = *made;
    atomic_store(&place->count, count + 1);
}

int cse_audit_tries(const cse_cluster *cluster, int64_t sequence, int microbatch,
                    cse_audit_try tries[CSE_MOST_AUDIT_TRIES])
{
    const cse_audit_place *place = &cluster->audit_places[microbatch];
    if (atomic_load(&place->sequence) != sequence)
        return 0;
    const int count = atomic_load(&place->count);
    memcpy(tries, place->tries, (size_t)count * sizeof *tries);
    return count;
}

cse_audit_voters cse_audit_voters_of(const cse_cluster *cluster)
{
    cse_audit_voters voters = { .count = 0 };
    for (int slot = 0; slot < cluster->head->replicas; slot++) {
        if (cse_cluster_is_barred(cluster, slot) ||
            !(cse_cluster_slot_roles(cluster, slot) & CSE_ROLE_REPLICA))
            continue;
        if (cse_cluster_occupant(cluster, slot) == 0 || cse_audit_suspects(cluster, slot)) {
            voters.missing = true;
            continue;
        }
        voters.slots[voters.count++] = slot;
    }
    return voters;
}

static void suspect(cse_cluster *cluster, const cse_audit_try *made)
{
    cse_slot *slot = &cluster->slots[made->slot];
    const uint64_t who = atomic_load(&slot->who);
    if ((int)(who & 0xff) == made->incarnation)
        atomic_store(&slot->suspect, who);
}

static void report(cse_cluster *cluster, int64_t sequence, const cse_audit_finding *told)
{
    cse_arena_audit *audit = cluster->audit;
    cse_audit_finding *place =
        &audit->findings[atomic_fetch_add(&audit->found, 1) % CSE_AUDIT_FINDINGS];
    place->confirmed = told->confirmed;
    place->microbatch = told->microbatch;
    place->undecided = told->undecided;
    place->made = told->made;
    place->other = told->other;
    atomic_store(&place->sequence, sequence);
    suspect(cluster, &told->made);
    atomic_fetch_add(&audit->unequal, 1);
    atomic_store(&cluster->control->urgent, 1);
    cse_doorbell_ring(cluster, CSE_DOORBELL_URGENT);
}

/* The first try with the digest (equal) or with another one. */
static const cse_audit_try *find_try(const cse_audited *a, uint64_t digest, bool equal)
{
    for (int i = 0; i < a->count; i++)
        if ((a->tries[i].digest == digest) == equal)
            return &a->tries[i];
    return &a->tries[0];
}

static bool is_right(const cse_audited *a, int at)
{
    return a->verdict.state == CSE_AUDIT_DECIDED && a->tries[at].digest == a->verdict.right;
}

static bool is_told_before(const cse_audited *a, int at)
{
    for (int i = 0; i < at; i++)
        if (a->tries[i].slot == a->tries[at].slot && !is_right(a, i))
            return true;
    return false;
}

/* By a process that has died since. */
static bool is_suspected(const cse_cluster *cluster, const cse_audit_try *made)
{
    const uint64_t suspected = atomic_load(&cluster->slots[made->slot].suspect);
    return suspected != 0 && (int)(suspected & 0xff) == made->incarnation;
}

static void tell_of(cse_cluster *cluster, const cse_audited *a, int at)
{
    const bool undecided = a->verdict.state == CSE_AUDIT_UNDECIDED;
    const cse_audit_try *made = &a->tries[at];
    report(cluster, a->sequence,
           &(cse_audit_finding){ .confirmed = atomic_load(&cluster->slots[made->slot].confirmed),
                                 .microbatch = a->microbatch,
                                 .undecided = undecided,
                                 .made = *made,
                                 .other = *(undecided ? find_try(a, made->digest, false)
                                                      : find_try(a, a->verdict.right, true)) });
}

void cse_audit_tell(cse_cluster *cluster, const cse_audited *a)
{
    assert(a->verdict.state != CSE_AUDIT_OPEN);
    for (int i = 0; i < a->count; i++)
        if (is_right(a, i))
            atomic_store(&cluster->slots[a->tries[i].slot].confirmed, a->sequence);
        else if (!is_told_before(a, i) && !is_suspected(cluster, &a->tries[i]))
            tell_of(cluster, a, i);
}

bool cse_audit_suspects(const cse_cluster *cluster, int slot)
{
    const uint64_t suspected = atomic_load(&cluster->slots[slot].suspect);
    return suspected != 0 && suspected == atomic_load(&cluster->slots[slot].who);
}

bool cse_cluster_next_finding(cse_cluster *cluster, cse_audit_finding *finding)
{
    for (int i = 0; cluster->head->audit_limit > 0 && i < CSE_AUDIT_FINDINGS; i++) {
        cse_audit_finding *place = &cluster->audit->findings[i];
        const int64_t sequence = atomic_load(&place->sequence);
        if (sequence == 0)
            continue;
        finding->confirmed = place->confirmed;
        finding->microbatch = place->microbatch;
        finding->undecided = place->undecided;
        finding->made = place->made;
        finding->other = place->other;
        atomic_store(&finding->sequence, sequence);
        atomic_store(&place->sequence, 0);
        return true;
    }
    return false;
}

void cse_cluster_bar(cse_cluster *cluster, int slot)
{
    atomic_store(&cluster->slots[slot].barred, 1);
    cse_doorbell_ring(cluster, CSE_DOORBELL_COMMIT);
}

bool cse_cluster_is_barred(const cse_cluster *cluster, int slot)
{
    return atomic_load(&cluster->slots[slot].barred) != 0;
}

void cse_cluster_audit_counts(const cse_cluster *cluster, int64_t *audited, int64_t *unequal)
{
    const bool any = cluster->head->audit_limit > 0;
    *audited = any ? atomic_load(&cluster->audit->audited) : 0;
    *unequal = any ? atomic_load(&cluster->audit->unequal) : 0;
}
