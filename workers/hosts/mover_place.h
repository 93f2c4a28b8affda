/* Where a mover is linked to: what its coordinator tells it, as text of a control message. */
#ifndef CSE_WORKERS_HOSTS_MOVER_PLACE_H
#define CSE_WORKERS_HOSTS_MOVER_PLACE_H

#include "engine/base/text.h"
#include "workers/links/link.h"

typedef struct cse_mover_place {
    char link[32]; /* its name in the registry; "": the default */
    int host, host_count;
    char addresses[CSE_MAX_HOSTS][CSE_HOST_LINK_ADDRESS_BYTES]; /* "": not linked to that host */
    unsigned char key[CSE_HOST_LINK_KEY_BYTES];
    uint64_t session;
    bool plain;
    /* Most of one frame, of a piece and of a microbatch; 0: the default. Not told. */
    int64_t frame_elements, frame_input_bytes;
} cse_mover_place;

void cse_mover_place_encode(const cse_mover_place *place, cse_text *out);
/* CSE_DATA when the text is not one. */
cse_status cse_mover_place_decode(const char *text, cse_mover_place *place);

#endif
