/* Audits (workers/arena/audit.h): a replica that finds no node to compute adds a try to one that is
 * unchecked.
 *
 * The gradient of a try goes to private memory that no sum needs, since the process has no node of
 * its own in hand. Its digest is over what enters sums alone: bytes between two segments are never
 * written. */
#include <sched.h>

#include "workers/arena/audit.h"
#include "workers/arena/range_digest.h"
#include "workers/worker/work_state.h"

static uint64_t digest_of(const cse_work *work, const unsigned char *gradient)
{
    const cse_segments *segments = &work->cluster->segments;
    uint64_t digest = 0;
    for (int i = 0; i < segments->count; i++) {
        const cse_segment *s = &segments->items[i];
        digest = digest * UINT64_C(0x9e3779b97f4a7c15) ^
                 cse_range_digest(gradient + s->first * 4, (size_t)s->count * 4);
    }
    return digest;
}

void cse_work_audit_note(cse_work *work, int microbatch, const unsigned char *gradient)
{
    const int64_t sequence = work->frame.step + 1;
    const cse_audit_try made = {
        .digest = digest_of(work, gradient),
        .slot = work->slot,
        .incarnation = work->incarnation,
        .process = (int32_t)cse_cluster_number(work->cluster, work->slot),
        .core = sched_getcpu(),
    };
    cse_audit_add(work->cluster, sequence, microbatch, &made);
}

/* What is known of the audited microbatches of a node, and what this process may do about it. */
typedef enum outlook {
    ALL_RIGHT, /* each has bits that were confirmed, and is summed with them */
    ANOTHER,   /* this process may add a try to microbatch `at` */
    WRONG,     /* the verdict on `at` says that the node is to be computed again */
    WAITING,   /* for a try of another process */
} outlook;

static cse_audited look_at_one(const cse_cluster *cluster, int64_t step, int microbatch,
                               const cse_audit_voters *voters)
{
    cse_audited a = { .sequence = step + 1, .microbatch = microbatch };
    a.count = cse_audit_tries(cluster, step + 1, microbatch, a.tries);
    a.verdict = cse_audit_decide(a.tries, a.count, voters);
    return a;
}

/* The first try is the sum's own. */
static bool is_right(const cse_audited *a)
{
    return a->verdict.state == CSE_AUDIT_DECIDED && a->tries[0].digest == a->verdict.right;
}

static outlook look_at(const cse_work *work, cse_tree_node node, int64_t step,
                       const cse_audit_voters *voters, int *at)
{
    const cse_arena_head *head = work->cluster->head;
    outlook found = ALL_RIGHT;
    for (int m = cse_audit_next(head, step, node, 0); m >= 0;
         m = cse_audit_next(head, step, node, m + 1)) {
        const cse_audited a = look_at_one(work->cluster, step, m, voters);
        *at = m;
        if (is_right(&a))
            continue;
        if (a.count == 0 || a.verdict.state != CSE_AUDIT_OPEN)
            return WRONG;
        if (cse_audit_may_try(a.tries, a.count, voters, work->slot))
            return ANOTHER;
        found = WAITING;
    }
    return found;
}

static void add_try(cse_work *work, uint64_t step, int microbatch)
{
    cse_cluster *cluster = work->cluster;
    cse_frame *frame = &work->frame;
    const int64_t q = cse_step_number(step) * cluster->head->microbatches + microbatch;
    unsigned char *gradient = work->gradient != NULL ? work->gradient : work->sums_memory;
    frame->step = cse_step_number(step);
    frame->first_sample = microbatch * cluster->head->micro_batch_size;
    frame->base[CSE_SPACE_INPUT] = cse_arena_input(cluster, q);
    frame->base[CSE_SPACE_PARTIAL] = gradient;
    frame->prepared = work->prepared == frame->step + 1;
    frame->watch.call = NULL;
    frame->collector = NULL;
    cse_work_run_program(work, CSE_PART_REPLICA);
    work->prepared = frame->step + 1;
    cse_work_audit_note(work, microbatch, gradient);
}

static int audited_count(const cse_arena_head *head, int64_t step, cse_tree_node node)
{
    int count = 0;
    for (int m = cse_audit_next(head, step, node, 0); m >= 0;
         m = cse_audit_next(head, step, node, m + 1))
        count++;
    return count;
}

/* Tells of those whose bits were confirmed: who had others is known now. */
static void tell_all(cse_work *work, cse_tree_node node, int64_t step,
                     const cse_audit_voters *voters)
{
    const cse_arena_head *head = work->cluster->head;
    for (int m = cse_audit_next(head, step, node, 0); m >= 0;
         m = cse_audit_next(head, step, node, m + 1)) {
        const cse_audited a = look_at_one(work->cluster, step, m, voters);
        if (a.verdict.state != CSE_AUDIT_OPEN)
            cse_audit_tell(work->cluster, &a);
    }
}

static void end_right(cse_work *work, cse_tree_node node, uint64_t step,
                      const cse_audit_voters *voters)
{
    cse_cluster *cluster = work->cluster;
    const int64_t s = cse_step_number(step);
    tell_all(work, node, s, voters);
    atomic_fetch_add(&cluster->audit->audited, audited_count(cluster->head, s, node));
    cse_word_publish(&cluster->nodes[node.heap], s + 1, CSE_WORD_DONE);
    if (cluster->hosts != NULL)
        cse_doorbell_ring(cluster, CSE_DOORBELL_MOVE);
    cse_work_advance(work, step);
}

/* All its tries are forgotten: what is computed again is audited again. */
static void end_wrong(cse_work *work, cse_tree_node node, uint64_t step,
                      const cse_audit_voters *voters)
{
    cse_cluster *cluster = work->cluster;
    const int64_t s = cse_step_number(step);
    tell_all(work, node, s, voters);
    for (int m = cse_audit_next(cluster->head, s, node, 0); m >= 0;
         m = cse_audit_next(cluster->head, s, node, m + 1))
        cse_audit_clear(cluster, s + 1, m);
    cse_word_publish(&cluster->nodes[node.heap], cse_word_sequence_before(s + 1, 1), CSE_WORD_DONE);
    cse_doorbell_ring(cluster, CSE_DOORBELL_COMMIT);
}

/* Under the claim of the node: one try, or what follows from those that are there. */
static void check(cse_work *work, cse_tree_node node, uint64_t step)
{
    cse_cluster *cluster = work->cluster;
    const int64_t s = cse_step_number(step);
    int at = -1;
    cse_audit_voters voters = cse_audit_voters_of(cluster);
    outlook seen = look_at(work, node, s, &voters, &at);
    CSE_FAILPOINT(AUDIT_CLAIMED);
    if (seen == ANOTHER) {
        add_try(work, step, at);
        CSE_FAILPOINT(AUDIT_TRIED);
        voters = cse_audit_voters_of(cluster);
        seen = look_at(work, node, s, &voters, &at);
    }
    if (seen == ALL_RIGHT) {
        end_right(work, node, step, &voters);
    } else if (seen == WRONG) {
        end_wrong(work, node, step, &voters);
    } else {
        cse_word_publish(&cluster->nodes[node.heap], s + 1, CSE_WORD_UNCHECKED);
        cse_doorbell_ring(cluster, CSE_DOORBELL_COMMIT);
    }
}

/* The node, or one of its children when recovery has split it. */
static bool check_node(cse_work *work, cse_tree_node node, uint64_t step,
                       const cse_audit_voters *voters)
{
    cse_word *word = &work->cluster->nodes[node.heap];
    const int64_t s = cse_step_number(step);
    const uint64_t seen = cse_word_load(word);
    int at;
    if (node.size > 1 && cse_word_is(seen, CSE_WORD_SPLIT, s + 1))
        return check_node(work, cse_tree_left(node), step, voters) ||
               check_node(work, cse_tree_right(node), step, voters);
    if (!cse_word_is(seen, CSE_WORD_UNCHECKED, s + 1) ||
        look_at(work, node, s, voters, &at) == WAITING ||
        !cse_word_check(word, s + 1, work->slot, work->incarnation))
        return false;
    check(work, node, step);
    return true;
}

bool cse_work_audit(cse_work *work, uint64_t step)
{
    if (work->cluster->head->audit_limit == 0)
        return false;
    const cse_audit_voters voters = cse_audit_voters_of(work->cluster);
    for (int i = 0; i < work->plan.claimable; i++)
        if (check_node(work, work->plan.nodes[i], step, &voters))
            return true;
    return false;
}
