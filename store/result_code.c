/* A file that ends early is read by pages. */
#include "store/result_code.h"

#include <sqlite3.h>

bool cse_is_damage(int code)
{
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB ||
           code == SQLITE_IOERR_SHORT_READ;
}
