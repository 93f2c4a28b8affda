/* Settings of the reference system's documents that have no counterpart here, or another name: so
 * that an example that is taken over says why it cannot start as it is. */
#ifndef CSE_CONFIG_REFERENCE_NAMES_H
#define CSE_CONFIG_REFERENCE_NAMES_H

/* Why there is no setting of that name, and what to do; NULL for a name that is not known. */
const char *cse_reference_name_hint(const char *name);

#endif
