/* The checks of run/contracts on the built-in plugins of a kind. */
#ifndef CSE_TESTS_SAMPLES_CONTRACT_H
#define CSE_TESTS_SAMPLES_CONTRACT_H

/* Plugins of a registry (NULL-terminated). */
int contract_count(const void *table);
/* Runs the checks of plugin `index`; the first that fails ends the test with its message. */
void contract_check(const char *kind, const void *table, int index);

#endif
