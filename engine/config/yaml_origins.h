/* The comment that carries the places of a printed tree; see cse_yaml_print_with_origins. */
#ifndef CSE_CONFIG_YAML_ORIGINS_H
#define CSE_CONFIG_YAML_ORIGINS_H

#include "engine/config/yaml.h"

/* Gives the nodes of `root` the places of the origins comment that ends `text`. Text without such a
 * comment, or whose comment does not fit the tree, is left as it is. */
void cse_yaml_restore_origins(cse_arena *arena, const char *text, size_t size, cse_yaml_node *root);

#endif
