/* The file is opened, and closed again: its head says how each weight lies in it. */
#include "run/saving/keep_packed.h"

#include <string.h>

#include "engine/base/error.h"
#include "engine/formats/weights/open.h"
#include "engine/nn/packed_parameters.h"

void cse_session_keep_packed(cse_session *session, const cse_keep_packed *keep)
{
    cse_weights *weights = NULL;
    const bool unpacks = strcmp(keep->wanted, "unpacked") == 0;
    const bool halves = keep->all && strcmp(keep->wanted, "auto") == 0 &&
                        session->opened.cluster.states_directory != NULL;
    cse_weights_adapters adapters = { .count = 0 };
    if (keep->adapters != NULL)
        adapters = *keep->adapters;
    adapters.any_base = true; /* loading compares the digest, for which it reads the weights */
    if (keep->path == NULL ||
        cse_weights_open_ours(keep->path,
                              &(cse_weights_options){ .model = keep->model,
                                                      .adapters = &adapters,
                                                      .packs_halves = halves },
                              &weights) != CSE_OK)
        return;
    cse_packed_parameters *packed = cse_packed_parameters_new(session->arena);
    packed->all = keep->all;
    packed->halves = halves;
    for (int i = 0; i < weights->count; i++) {
        const cse_weight *weight = &weights->list[i];
        const cse_packed_parameter parameter = { cse_arena_string(session->arena, weight->name),
                                                 weight->packed, weight->shape };
        if (weight->packed != NULL && unpacks)
            cse_packed_parameters_unpack(packed, parameter.name, "weights_in_memory is unpacked");
        else if (weight->packed != NULL && weight->shape.rank == 2)
            cse_packed_parameters_add(packed, &parameter);
        else if (weight->packed != NULL || weight->why_unpacked != NULL)
            cse_packed_parameters_unpack(packed, parameter.name,
                                         weight->packed != NULL ? "it is no matrix"
                                                                : weight->why_unpacked);
    }
    session->network.packed = packed;
    cse_weights_close(&weights);
}

cse_status cse_session_check_packed(const cse_session *session, const cse_keep_packed *keep)
{
    const cse_packed_parameters *packed = session->network.packed;
    const cse_error error = { .status = CSE_CONFIG,
                              .accepted = "accepted: weights_in_memory: auto, which unpacks what "
                                          "cannot stay packed, and unpacked" };
    if (keep->goes_on && packed != NULL && packed->unpacked_count > 0)
        return cse_fail_at(
            &(cse_error){ .status = CSE_CONFIG,
                          .hint = "--weights with this checkpoint begins with the values of its "
                                  "weights, at step 0" },
            "%s: holds packed weights, from which a run goes on as they are, but \"%s\" cannot "
            "stay packed: %s",
            keep->path, packed->unpacked, packed->why);
    if (strcmp(keep->wanted, "packed") != 0)
        return CSE_OK;
    if (packed == NULL || packed->kept + packed->unpacked_count == 0)
        return cse_fail_at(&error, "weights_in_memory: packed: %s%s",
                           keep->path != NULL ? keep->path : "the run begins with no file",
                           keep->path != NULL ? " holds no packed weights of the model"
                                              : " of weights");
    return packed->unpacked_count == 0
               ? CSE_OK
               : cse_fail_at(&error, "weights_in_memory: packed: %s: \"%s\" cannot stay packed: %s",
                             keep->path, packed->unpacked, packed->why);
}

void cse_session_tell_packed(const cse_session *session, cse_text *text)
{
    const cse_packed_parameters *packed = session->network.packed;
    if (packed == NULL || packed->kept + packed->unpacked_count == 0)
        return;
    cse_text_add(text, "%d weight%s packed in memory", packed->kept,
                 packed->kept == 1 ? " stays" : "s stay");
    if (packed->unpacked_count > 0)
        cse_text_add(text, ", %d that %s packed in the file do%s not; the first is %s: %s",
                     packed->unpacked_count, packed->unpacked_count == 1 ? "is" : "are",
                     packed->unpacked_count == 1 ? "es" : "", packed->unpacked, packed->why);
}
