/* What is wrong with a member of a JobSpec. */
#ifndef CSE_DASHBOARD_CHECKS_SPEC_FAULT_H
#define CSE_DASHBOARD_CHECKS_SPEC_FAULT_H

#include <jansson.h>
#include <stdbool.h>

/* Appends a Diagnostic; `pointer` names the member, as "/launcher". Returns false, for the check
 * that found it. */
bool cse_spec_fault(json_t *diagnostics, const char *pointer, const char *message);

#endif
