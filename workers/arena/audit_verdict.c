/* Tries are few: each question is answered by looking at all of them. */
#include "workers/arena/audit_verdict.h"

enum { TRIES_EACH = 2, TRIES_ALONE = 3 };

static int tries_of(const cse_audit_try *tries, int count, int slot)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += tries[i].slot == slot;
    return found;
}

/* Whether no try before `at` is of the same slot, and has the same bits. */
static bool is_first(const cse_audit_try *tries, int at)
{
    for (int i = 0; i < at; i++)
        if (tries[i].slot == tries[at].slot && tries[i].digest == tries[at].digest)
            return false;
    return true;
}

/* Slots, or tries, that have the digest. */
static int support(const cse_audit_try *tries, int count, uint64_t digest, bool by_slot)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += tries[i].digest == digest && (!by_slot || is_first(tries, i));
    return found;
}

/* The digest that at least two have, and more than have another one. */
static bool find_majority(const cse_audit_try *tries, int count, bool by_slot, uint64_t *digest)
{
    int most = 1;
    bool single = false;
    for (int i = 0; i < count; i++) {
        const int found = support(tries, count, tries[i].digest, by_slot);
        if (found > most) {
            most = found;
            single = true;
            *digest = tries[i].digest;
        } else if (found == most && tries[i].digest != *digest) {
            single = false;
        }
    }
    return single;
}

/* Whether all tries of the slot of try `at`, at least two, have the same bits. */
static bool is_consistent(const cse_audit_try *tries, int count, int at)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        if (tries[i].slot != tries[at].slot)
            continue;
        if (tries[i].digest != tries[at].digest)
            return false;
        found++;
    }
    return found >= TRIES_EACH;
}

/* The digest that all consistent slots have; false: there are none, or they have several. */
static bool find_consistent(const cse_audit_try *tries, int count, uint64_t *digest)
{
    bool found = false;
    for (int i = 0; i < count; i++) {
        if (!is_consistent(tries, count, i))
            continue;
        if (found && tries[i].digest != *digest)
            return false;
        found = true;
        *digest = tries[i].digest;
    }
    return found;
}

static bool are_alone(const cse_audit_voters *voters)
{
    return voters->count == 1 && !voters->missing;
}

static int tries_each(const cse_audit_voters *voters)
{
    return are_alone(voters) ? TRIES_ALONE : TRIES_EACH;
}

static bool are_exhausted(const cse_audit_try *tries, int count, const cse_audit_voters *voters)
{
    if (count >= CSE_MOST_AUDIT_TRIES)
        return true;
    for (int v = 0; v < voters->count; v++)
        if (tries_of(tries, count, voters->slots[v]) < tries_each(voters))
            return false;
    return voters->count > 0 && !voters->missing;
}

cse_audit_verdict cse_audit_decide(const cse_audit_try *tries, int count,
                                   const cse_audit_voters *voters)
{
    cse_audit_verdict verdict = { .state = CSE_AUDIT_DECIDED };
    if (find_majority(tries, count, true, &verdict.right) ||
        (are_alone(voters) && find_majority(tries, count, false, &verdict.right)))
        return verdict;
    if (!are_exhausted(tries, count, voters))
        return (cse_audit_verdict){ .state = CSE_AUDIT_OPEN };
    if (!are_alone(voters) && find_consistent(tries, count, &verdict.right))
        return verdict;
    return (cse_audit_verdict){ .state = CSE_AUDIT_UNDECIDED };
}

bool cse_audit_may_try(const cse_audit_try *tries, int count, const cse_audit_voters *voters,
                       int slot)
{
    const int own = tries_of(tries, count, slot);
    if (own >= tries_each(voters))
        return false;
    for (int v = 0; v < voters->count; v++)
        if (tries_of(tries, count, voters->slots[v]) < own)
            return false;
    return true;
}
