/* A damaged run store: run.db is set aside as run.db.damaged-N, what can be read of it goes to a
 * new run.db, and both are told, so that an intact run goes on.
 *
 * Damaged is a file that SQLite cannot make sense of, one with other tables than this version's,
 * and an empty one of a run that has logs. A store of a newer version and a database of something
 * else are not: they are refused. */
#ifndef CSE_STORE_DAMAGE_H
#define CSE_STORE_DAMAGE_H

#include "store/database.h"

/* Looks at model_dir/run.db, and mends it where it is damaged. By the process that holds the lock,
 * before it opens the store. CSE_OK also when there is none, or when it cannot be looked at: who
 * opens it then says why. */
cse_status cse_damage_mend(const char *model_dir);

/* A store that is open for writing was found damaged, or `why` its file is not the one that was
 * opened: puts a new one in its place, with what the open one can still read. *database NULL: with
 * what can be read of the file. After a failure (CSE_IO: no room) it is the one before, or NULL.
 * `event`: gets the payload of the event `damaged`, which the store's writer gives a number. */
cse_status cse_damage_replace(const char *model_dir, const char *why, cse_database **database,
                              cse_text *event);

/* Gives a database and its log the first name of PATH.damaged-1, -2, ... that is free. */
enum { CSE_ASIDE_BYTES = 4096 + 32 };
cse_status cse_damage_set_aside(const char *path, char name[CSE_ASIDE_BYTES]);

/* The same look without a change, and before a run begins: takes the lock for a moment. A run that
 * is under way is left alone. */
cse_status cse_damage_mend_unless_held(const char *model_dir);

#endif
