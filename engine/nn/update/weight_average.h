/* Exponential moving averages of the weights (EMA): a state ema.NAME beside each parameter that an
 * optimizer changes, as torch.optim.swa_utils.AveragedModel with get_ema_avg_fn keeps them.
 *
 * The first update copies the weight, each later one moves the average by 1 - decay towards it; an
 * update that the loss scaler leaves out leaves out both. They are updated with the weights, in the
 * UPDATE program, and are states as others: planned, saved, and the same when a run goes on. An
 * evaluation may read them in place of the weights (network.reads_averages). */
#ifndef CSE_ENGINE_NN_UPDATE_WEIGHT_AVERAGE_H
#define CSE_ENGINE_NN_UPDATE_WEIGHT_AVERAGE_H

#include "engine/nn/network.h"

/* Gives each parameter of the optimizer an average; before the first step. */
cse_status cse_average_weights(cse_optimizer *optimizer, double decay);

/* In an update, of a parameter, which becomes `next`; `finite` as for cse_assign_if. */
void cse_average_weight(const cse_optimizer *optimizer, const cse_state *parameter,
                        cse_tensor *next, cse_tensor *finite);
/* After all parameters of the update. */
void cse_average_count(const cse_optimizer *optimizer, cse_tensor *finite);

/* Gives averages that have no values those of their parameters, before steps change these. */
void cse_network_settle_averages(cse_network *network);

#endif
