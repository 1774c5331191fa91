/* What the public printer makes of rows, as text. */
#ifndef TL_TESTS_SUPPORT_PRINT_ROWS_H
#define TL_TESTS_SUPPORT_PRINT_ROWS_H

#include <errno.h>

#include <tidelake/tidelake.h>

#include "base/mem.h"

static inline int print_rows_append(void *ctx, const void *data, size_t bytes)
{
    return tl_buf_append(ctx, data, bytes) == TL_OK ? 0 : ENOMEM;
}

/** Print rows, which are freed, behind `text`, which stays the caller's, also after an error. */
static inline tl_status print_rows(tidelake_rows *rows, const tidelake_printer_options *how, tl_buf *text, tl_error *err)
{
    tidelake_printer *printer = NULL;
    tl_status status = tidelake_printer_open(rows, how, print_rows_append, text, &printer, err);
    while (status == TL_OK) {
        tidelake_batch *batch;
        status = tidelake_rows_next(rows, &batch, err);
        if (status != TL_OK || batch == NULL)
            break;
        status = tidelake_printer_print(printer, batch, err);
        tidelake_batch_free(batch);
    }
    if (status == TL_OK)
        status = tidelake_printer_finish(printer, err);
    tidelake_printer_close(printer);
    tidelake_rows_free(rows);
    return status;
}

#endif
