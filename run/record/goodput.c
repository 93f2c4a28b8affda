/* Every function that moves the hand does so through `spend`, which keeps bins and hand in step. */
#include "run/record/goodput.h"

#include <string.h>

const char *cse_goodput_bin_name(cse_goodput_bin bin)
{
    static const char *const names[] = {
#define CSE_GOODPUT_NAME(name, word, doc) word,
        CSE_GOODPUT_TABLE(CSE_GOODPUT_NAME)
#undef CSE_GOODPUT_NAME
    };
    return bin >= 0 && bin < CSE_GOODPUT_BINS ? names[bin] : "";
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t between(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : least(value, high);
}

/* Moves the hand to `until_ns`, if that is later. */
static void spend(cse_goodput *a, cse_goodput_bin bin, int64_t until_ns)
{
    if (until_ns <= a->hand_ns)
        return;
    a->bin_ns[bin] += until_ns - a->hand_ns;
    a->hand_ns = until_ns;
}

/* The same for time in which no step gets on: what of it lies within a save belongs to that. */
static void spend_standing(cse_goodput *a, cse_goodput_bin bin, int64_t until_ns)
{
    spend(a, bin, least(a->save_from_ns, until_ns));
    spend(a, CSE_GOODPUT_SAVE, least(a->save_end_ns, until_ns));
    spend(a, bin, until_ns);
}

static bool takes_steps(const cse_goodput *a)
{
    return a->doing == CSE_GOODPUT_COMPUTE || a->doing == CSE_GOODPUT_IDLE;
}

/* The time since the last step, when something else begins or is asked for. */
static void spend_rest(cse_goodput *a, int64_t now_ns)
{
    if (takes_steps(a))
        spend_standing(a, a->doing, now_ns);
    else
        spend(a, a->doing, now_ns);
}

void cse_goodput_begin(cse_goodput *a, cse_goodput_bin doing, int64_t now_ns)
{
    *a = (cse_goodput){ .start_ns = now_ns, .hand_ns = now_ns, .doing = doing };
}

void cse_goodput_enter(cse_goodput *a, cse_goodput_bin doing, int64_t now_ns)
{
    /* It stands still since its last step, which was what the operator waited for. */
    if (doing == CSE_GOODPUT_PAUSED && a->doing == CSE_GOODPUT_COMPUTE)
        spend_standing(a, doing, now_ns);
    spend_rest(a, now_ns);
    a->doing = doing;
    if (doing == CSE_GOODPUT_COMPUTE)
        a->input_wait_ns = a->exposed_ns = 0;
    if (doing != CSE_GOODPUT_IDLE)
        a->owed_input_ns = a->owed_exposed_ns = 0;
}

void cse_goodput_save(cse_goodput *a, bool saving, int64_t now_ns)
{
    const bool lasts = a->save_end_ns == INT64_MAX;
    if (saving == lasts)
        return;
    if (saving) {
        /* No step is behind the one before: what this overwrites is no longer asked for. */
        a->save_from_ns = now_ns;
        a->save_end_ns = INT64_MAX;
        a->saved = true;
    } else {
        a->save_end_ns = now_ns;
    }
}

/* Waits are counted when they end, and may be seen with a later step than they belong to. */
static void take_counters(cse_goodput *a, const cse_goodput_step_times *t)
{
    const int replicas = t->replicas > 0 ? t->replicas : 1;
    if (t->input_wait_ns > a->input_wait_ns)
        a->owed_input_ns += (t->input_wait_ns - a->input_wait_ns) / replicas;
    if (t->exposed_ns > a->exposed_ns)
        a->owed_exposed_ns += t->exposed_ns - a->exposed_ns;
    a->input_wait_ns = t->input_wait_ns;
    a->exposed_ns = t->exposed_ns;
}

static void spend_owed(cse_goodput *a, cse_goodput_bin bin, int64_t *owed_ns, int64_t until_ns)
{
    const int64_t paid_ns = between(*owed_ns, 0, until_ns > a->hand_ns ? until_ns - a->hand_ns : 0);
    *owed_ns -= paid_ns;
    spend(a, bin, a->hand_ns + paid_ns);
}

void cse_goodput_step(cse_goodput *a, const cse_goodput_step_times *t)
{
    const int64_t end_ns = t->committed_ns;
    take_counters(a, t);
    if (!takes_steps(a) || end_ns <= a->hand_ns) {
        a->owed_input_ns = a->owed_exposed_ns = 0;
        return;
    }
    if (t->again) {
        spend(a, CSE_GOODPUT_RECOVERY, end_ns);
        a->owed_input_ns = a->owed_exposed_ns = 0;
    }
    const int64_t computed_ns = between(t->computed_ns, a->hand_ns, end_ns);
    const int64_t held_ns = between(t->held_from_ns, computed_ns, end_ns);
    const int64_t free_ns = between(t->held_until_ns, held_ns, end_ns);
    spend_owed(a, CSE_GOODPUT_INPUT, &a->owed_input_ns, computed_ns);
    spend_owed(a, CSE_GOODPUT_COMMUNICATION, &a->owed_exposed_ns, computed_ns);
    spend(a, CSE_GOODPUT_COMPUTE, computed_ns);
    spend(a, CSE_GOODPUT_UPDATE, held_ns);
    if (a->saved) /* it was held for the snapshot */
        spend(a, CSE_GOODPUT_SAVE, free_ns);
    spend_standing(a, CSE_GOODPUT_IDLE, free_ns);
    spend(a, CSE_GOODPUT_UPDATE, end_ns);
    a->saved = false;
}

cse_goodput cse_goodput_until(const cse_goodput *account, int64_t now_ns)
{
    cse_goodput until = *account;
    spend_rest(&until, now_ns);
    return until;
}

void cse_goodput_milliseconds(const cse_goodput *account, int64_t milliseconds[CSE_GOODPUT_BINS])
{
    int64_t sum_ns = 0;
    /* Differences of rounded sums, so that rounding adds up as well. */
    for (int b = 0; b < CSE_GOODPUT_BINS; b++) {
        const int64_t before_ms = sum_ns / 1000000;
        sum_ns += account->bin_ns[b];
        milliseconds[b] = sum_ns / 1000000 - before_ms;
    }
}
