/* The chain of identity: which configuration, code, artefact, data and seed a checkpoint came from,
 * and by way of which checkpoint before it.
 *
 * A checkpoint holds its links as text, one line each, in this order:
 *
 *     configuration DIGEST DETAIL   the settings that can change a bit, without places and outputs
 *     code DIGEST DETAIL            what the step computes, and the build of the engine
 *     artefact DIGEST DETAIL        the manifest of the compiled step, and its instruction set
 *     data DIGEST DETAIL            the files of training
 *     seed DIGEST DETAIL
 *     previous DIGEST DETAIL        the identity of the checkpoint before it; of the first one, the
 *                                   digest of the lines above, or that of the parameters of the
 *                                   model, where the run began with weights from elsewhere
 *
 * DIGEST is a BLAKE2b-256, DETAIL words for people. The identity of a checkpoint is not stored; it
 * follows from the file: the BLAKE2b-256 of the name and digest of each link, of its step and of
 * the digests of its tensors. So equal identities mean equal weights that were made in the same
 * way. */
#ifndef CSE_CHECKPOINT_LINKS_H
#define CSE_CHECKPOINT_LINKS_H

#include "engine/base/text.h"
#include "engine/formats/checkpoint/digest.h"

typedef enum cse_link {
    CSE_LINK_CONFIGURATION,
    CSE_LINK_CODE,
    CSE_LINK_ARTEFACT,
    CSE_LINK_DATA,
    CSE_LINK_SEED,
    CSE_LINK_PREVIOUS,
    CSE_LINKS,
} cse_link;

extern const char *const cse_link_names[CSE_LINKS];

enum { CSE_LINK_DETAIL_BYTES = 512 };

typedef struct cse_links {
    struct {
        char digest[CSE_DIGEST_DIGITS + 1]; /* "": not known */
        char detail[CSE_LINK_DETAIL_BYTES];
    } link[CSE_LINKS];
} cse_links;

void cse_links_print(const cse_links *links, cse_text *text);
/* What cannot be read stays not known; NULL: nothing is. */
void cse_links_parse(const char *text, cse_links *links);

/* The digest of a link's content. */
void cse_link_digest(const void *content, size_t size, char digits[CSE_DIGEST_DIGITS + 1]);
/* The identity of a run's start: of all links but the previous one. */
void cse_links_initial(const cse_links *links, char digits[CSE_DIGEST_DIGITS + 1]);

/* The identity of the checkpoint in a file, whose links and step are given. Reads no tensor: their
 * digests stand in the seal. */
cse_status cse_checkpoint_identity(const char *path, const char *links, int64_t step,
                                   char digits[CSE_DIGEST_DIGITS + 1]);

/* The first link but the previous one that differs; CSE_LINKS when none does. Adds words: "same
 * configuration, same code, other data". A link that one of both does not have is left out. */
cse_link cse_links_compare(const cse_links *a, const cse_links *b, cse_text *words);

#endif
