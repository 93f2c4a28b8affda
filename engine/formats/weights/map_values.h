/* What the files of maps share: values of facts, and what maps write for them. */
#ifndef CSE_WEIGHTS_MAP_VALUES_H
#define CSE_WEIGHTS_MAP_VALUES_H

#include "engine/formats/weights/map.h"

bool cse_map_is_number(const char *text, double *number);
bool cse_map_has_form(const cse_map_fact *fact, const char *form);
/* =NAME and its like; and of our settings =root(NAME). */
bool cse_map_is_formula(const cse_yaml_node *node);
bool cse_map_is_root_formula(const cse_yaml_node *node);
/* =inverse_root(NAME) or =inverse_root(NAME/NAME) of facts of theirs, and what it makes. */
bool cse_map_is_inverse_root(const cse_yaml_node *node);
const char *cse_map_inverse_root_of(const cse_map *map, cse_arena *arena, const json_t *facts,
                                    const char *formula);

/* Whether a fact is read and written, by its `where` and `except`. */
bool cse_map_fact_holds(const cse_map *map, cse_arena *arena, const json_t *facts,
                        const cse_map_fact *fact);
/* A scalar among our settings, or one side of a square; a dot leads into a mapping. NULL: none. */
const char *cse_map_our_setting(const cse_yaml_node *settings, const char *name);
/* Under the first of the fact's names that is there; NULL: there is none. */
const json_t *cse_map_value_of(const json_t *facts, const cse_map_fact *fact);
/* NAME, NAME/NAME or NAME*NUMBER of integers of theirs; below 0: it is none. `steps`: 0. */
int64_t cse_map_quotient(const cse_map *map, const json_t *facts, const char *text, int steps);
/* Whether null is what the fact has where it is not given. */
bool cse_map_takes_null(const cse_map_fact *fact);
/* The list of layers that begins every period with full attention. */
json_t *cse_map_period_kinds(int64_t layers, int64_t period);
/* Their value of a fact as text; NULL: neither given, nor is there a default. */
const char *cse_map_their_text(const cse_map *map, cse_arena *arena, const json_t *facts,
                               const cse_map_fact *fact);
/* All names of a fact that are given say the same. CSE_DATA. */
cse_status cse_map_check_agreement(const cse_map *map, cse_arena *arena, const json_t *facts,
                                   const cse_map_fact *fact);

#endif
