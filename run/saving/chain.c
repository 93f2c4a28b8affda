/* The links of the checkpoints that a session writes (engine/formats/checkpoint/links.h): those of
 * the step that it trains, and of the checkpoint before. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/build_identity.h"
#include "engine/base/instruction_set.h"
#include "engine/base/log.h"
#include "run/session/session.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

static void set_link(cse_links *links, cse_link which, const cse_text *content)
{
    cse_link_digest(content->data, content->size, links->link[which].digest);
}

void cse_session_take_code(cse_session *session, const char *fingerprint)
{
    unsigned char build[CSE_BUILD_IDENTITY_BYTES];
    char digits[2 * CSE_BUILD_IDENTITY_BYTES + 1];
    cse_text text = { 0 };
    cse_links *links = &session->saving.links;
    if (session->saving.effective_settings != NULL) {
        cse_text_add(&text, "%s", session->saving.effective_settings);
        set_link(links, CSE_LINK_CONFIGURATION, &text);
        text.size = 0;
    }
    sodium_bin2hex(digits, sizeof digits, build, cse_build_identity(build));
    cse_text_add(&text, "graph %s, csengine %s, build %s", fingerprint, PACKAGE_VERSION, digits);
    set_link(links, CSE_LINK_CODE, &text);
    snprintf(links->link[CSE_LINK_CODE].detail, CSE_LINK_DETAIL_BYTES, "%s", text.data);
    cse_text_clear(&text);
}

void cse_session_take_artefact(cse_session *session, const char *digest)
{
    const uint64_t seed = session->configuration.seed;
    cse_links *links = &session->saving.links;
    cse_text text = { 0 };
    snprintf(links->link[CSE_LINK_ARTEFACT].digest, CSE_DIGEST_DIGITS + 1, "%s", digest);
    snprintf(links->link[CSE_LINK_ARTEFACT].detail, CSE_LINK_DETAIL_BYTES, "%s",
             cse_isa_name(cse_isa_of_host()));
    cse_data_identity_digest(&session->data.identity, links->link[CSE_LINK_DATA].digest);
    cse_text_add(&text, "%" PRIu64, seed);
    set_link(links, CSE_LINK_SEED, &text);
    snprintf(links->link[CSE_LINK_SEED].detail, CSE_LINK_DETAIL_BYTES, "%s", text.data);
    cse_text_clear(&text);
}

/* A step that is saved again has the same checkpoint before it. */
static void link_previous(cse_session *session)
{
    cse_links *links = &session->saving.links;
    char *digest = links->link[CSE_LINK_PREVIOUS].digest;
    char *detail = links->link[CSE_LINK_PREVIOUS].detail;
    if (session->saving.latest.digest[0] != '\0' &&
        session->saving.latest.step < session->training.global_step) {
        memcpy(digest, session->saving.latest.digest, CSE_DIGEST_DIGITS + 1);
        snprintf(detail, CSE_LINK_DETAIL_BYTES, "step %" PRId64, session->saving.latest.step);
    } else if (*digest == '\0' && session->saving.weights_link == NULL) {
        cse_links_initial(links, digest);
        snprintf(detail, CSE_LINK_DETAIL_BYTES, "start");
    }
}

const char *cse_session_known_links(cse_session *session)
{
    cse_text text = { 0 };
    if (session->saving.links.link[CSE_LINK_CODE].digest[0] == '\0')
        return NULL; /* nothing was trained */
    link_previous(session);
    cse_links_print(&session->saving.links, &text);
    free(session->saving.links_text);
    session->saving.links_text = text.data;
    return session->saving.links_text;
}

/* The identity is one of the file: without it, the next checkpoint links to the one before. */
void cse_session_link_to(cse_session *session, const cse_checkpoint *checkpoint, const char *path)
{
    char digest[CSE_DIGEST_DIGITS + 1];
    if (cse_checkpoint_identity(path, checkpoint->links, checkpoint->global_step, digest) !=
        CSE_OK) {
        cse_log_line(CSE_LOG_WARNING, "%s", cse_error_message());
        return;
    }
    memcpy(session->saving.latest.digest, digest, sizeof digest);
    session->saving.latest.step = checkpoint->global_step;
}

/* Saved again, it has the checkpoint before it that it has. */
void cse_session_go_on_from(cse_session *session, const cse_checkpoint *checkpoint,
                            const char *path)
{
    cse_links loaded;
    cse_links_parse(checkpoint->links, &loaded);
    session->saving.links.link[CSE_LINK_PREVIOUS] = loaded.link[CSE_LINK_PREVIOUS];
    cse_session_link_to(session, checkpoint, path);
}
