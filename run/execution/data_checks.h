/* Whether data fit the model and each other, found before the first step: labels that are no class
 * of the model, validation data whose features are other ones than those of the training, and all
 * that opening the data of later validations finds. */
#ifndef CSE_RUN_EXECUTION_DATA_CHECKS_H
#define CSE_RUN_EXECUTION_DATA_CHECKS_H

#include "engine/graph/graph.h"
#include "run/session/session.h"

/* The data that an execution of the traced graph reads. CSE_DATA. */
cse_status cse_session_check_data(cse_session *session, const cse_graph *graph,
                                  cse_dataloader *loader, bool training);

#endif
