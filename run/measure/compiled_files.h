/* The files of the step that a run was compiled to, as long as the folder of it is there. */
#ifndef CSE_RUN_MEASURE_COMPILED_FILES_H
#define CSE_RUN_MEASURE_COMPILED_FILES_H

#include "engine/code/codegen/artefact.h"
#include "store/reader.h"

/* `directory` receives its path, for messages; the caller clears both, also after a failure.
 * CSE_NO_INPUT: nothing was compiled, or it was removed; CSE_DATA: a file is too large, or is not
 * the one that was compiled. */
cse_status cse_compiled_files_read(cse_store_reader *reader, cse_text *directory,
                                   cse_artefact *artefact);

#endif
