/* Who leads next.
 *
 * A follower without its leader keeps what it has, and waits as long as somebody whose turn it is
 * before its own is heard of: that one has all states as well, and may end before it leads. The
 * caller's lock says whether there is another leader; one that has it, but is not heard of here,
 * leads without this host. */
#include <assert.h>
#include <stdio.h>

#include "workers/group/members_state.h"

enum { TERM_BITS = 20 }; /* of an epoch: losses that one leader tells of */
/* A follower waits longer than its leader, which may still be told of. */
#define PATIENCE(lease_ns) ((lease_ns) + (lease_ns) / 2)

/* ---- another leader ---- */

/* What was said of executions and cuts is over. */
static void begin_anew(cse_members *m, int leader, int64_t epoch)
{
    m->leader = leader;
    m->epoch = epoch;
    m->begun = m->executes = m->set = m->wants_cut = m->wants_end = false;
    m->first = m->newest = (cse_numbered_cut){ .number = 0 };
    m->execution = (cse_members_execution){ .number = 0 };
    m->work = (cse_host_work){ .microbatches = 0 };
    m->ready_sent = m->cut_known_sent = m->record_count = m->cut_count = 0;
    m->held_since_ns = 0;
    m->end.kind = 0;
    for (int h = 0; h < m->options.host_count; h++) {
        cse_member *one = &m->members[h];
        one->told_records = one->execution = one->ready = 0;
        one->told_ns = one->told_steps = one->told_promise = one->told_execution = 0;
        one->sent_cut = one->known_cut = one->sent_epoch = 0;
        one->steps_done = one->sent_bytes = -1;
        one->told_end = one->said_hello = false;
    }
}

void cse_members_follow(cse_members *m, int leader, int64_t epoch)
{
    assert(leader != m->options.host);
    begin_anew(m, leader, epoch);
}

/* The leader before may have told others of losses that this host has not heard of. */
static int64_t next_term(int64_t epoch)
{
    return ((epoch >> TERM_BITS) + 1) << TERM_BITS;
}

void cse_members_lead(cse_members *m, const cse_members_leading *leading, int64_t now_ns)
{
    cse_member *before = &m->members[m->leader];
    assert(m->leader != m->options.host);
    begin_anew(m, m->options.host, next_term(m->epoch));
    m->took_lead = true;
    m->ticked_ns = now_ns;
    m->options.replicas = leading->replicas;
    m->options.even_shares = leading->even_shares;
    m->shares = (cse_measured_shares){ .host_count = m->options.host_count,
                                       .replicas = leading->replicas,
                                       .even = leading->even_shares };
    m->check = cse_record_check_new(m->options.host_count, m->options.host);
    before->state = CSE_MEMBER_LOST;
    snprintf(before->why, sizeof before->why, "it led the run, and was not heard of any more");
    for (int h = 0; h < m->options.host_count; h++) {
        cse_member *one = &m->members[h];
        if (h == m->options.host || !cse_members_counts(m, h))
            continue;
        one->said_hello = one->connected && one->knows_hello;
        one->state = one->said_hello ? CSE_MEMBER_PRESENT : CSE_MEMBER_EXPECTED;
    }
}

/* ---- none ---- */

/* One without data could not end the step in flight by itself. */
static bool comes_before(const cse_members *m, int a, int b)
{
    const bool a_has = cse_hosts_have_data(&m->options.data_hosts, a);
    const bool b_has = cse_hosts_have_data(&m->options.data_hosts, b);
    return a_has != b_has ? a_has : a < b;
}

bool cse_members_lack_leader(const cse_members *m, int *successor)
{
    const cse_member *leader = &m->members[m->leader];
    const bool ended = leader->gone && !leader->connected;
    const int64_t patience_ns = ended ? CSE_MEMBERS_GONE_NS : PATIENCE(m->options.lease_ns);
    if (cse_members_leads(m) || m->ticked_ns - m->members[m->leader].heard_ns <= patience_ns)
        return false;
    *successor = m->options.host;
    for (int h = 0; h < m->options.host_count; h++)
        if (h != m->options.host && h != m->leader && cse_members_counts(m, h) &&
            m->members[h].connected &&
            m->ticked_ns - m->members[h].heard_ns <= m->options.lease_ns &&
            comes_before(m, h, *successor))
            *successor = h;
    return true;
}

cse_members_turn cse_members_turn_to_lead(const cse_members *m)
{
    int successor;
    if (!cse_members_lack_leader(m, &successor))
        return CSE_TURN_FOLLOWS;
    if (successor != m->options.host)
        return CSE_TURN_WAITS;
    return m->held_since_ns != 0 && m->ticked_ns - m->held_since_ns > m->options.lease_ns
               ? CSE_TURN_GIVES_UP
               : CSE_TURN_LEADS;
}

void cse_members_note_lead_held(cse_members *m)
{
    if (m->held_since_ns == 0)
        m->held_since_ns = m->ticked_ns;
}
