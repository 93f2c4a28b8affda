/* Whether the states that are cut over hosts are whole here. */
#include "workers/arena/state_ranges.h"
#include "workers/worker/mover_state.h"

bool cse_mover_has_states(cse_mover *mover)
{
    const cse_cluster *cluster = mover->cluster;
    if (!cse_states_are_cut(cluster))
        return true;
    while (mover->states_complete < cluster->head->update_chunks &&
           (cse_chunk_is_kept(cluster, mover->states_complete) ||
            cse_update_is_done(cluster, mover->states_complete, mover->step + 1)))
        mover->states_complete++;
    return mover->states_complete == cluster->head->update_chunks;
}
