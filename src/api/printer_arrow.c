/* Rows as an Arrow IPC stream: each batch goes out as it comes. */
#include "api/printer_private.h"

#include "api/arrow_ipc_private.h"
#include "types/arrow.h"

typedef struct arrow_state {
    const tl_type *type;
    struct ArrowSchema schema;
} arrow_state;

tl_status tl_printer__arrow_start(tidelake_printer *p, tl_error *err)
{
    arrow_state *state = p->state = tl_calloc(1, sizeof *state);
    if (state == NULL)
        return tl_nomem(err, "printer");
    TL_TRY(tl_printer__full_type(p, &state->type, err));
    TL_TRY(tl_arrow_export_schema(state->type, &state->schema, err));
    return tl_ipc__append_schema(&p->out, &state->schema, err);
}

tl_status tl_printer__arrow_print(tidelake_printer *p, const tl_batch *batch, tl_error *err)
{
    arrow_state *state = p->state;
    TL_CLEANUP(tl_batch_freep) tl_batch *full = NULL;
    struct ArrowArray array;
    TL_TRY(tl_printer__full_batch(p, state->type, batch, &full, err));
    TL_TRY(tl_arrow_export_batch(full, &array, err));
    tl_status status = tl_ipc__append_batch(&p->out, &array, &state->schema, err);
    array.release(&array);
    return status == TL_OK ? tl_printer__flush(p, err) : status;
}

tl_status tl_printer__arrow_finish(tidelake_printer *p, tl_error *err)
{
    if (tl_ipc__append_end(&p->out) != TL_OK)
        return tl_nomem(err, "output");
    return tl_printer__flush(p, err);
}

void tl_printer__arrow_close(tidelake_printer *p)
{
    arrow_state *state = p->state;
    if (state == NULL)
        return;
    if (state->schema.release != NULL)
        state->schema.release(&state->schema);
    tl_type_unref(state->type);
    tl_free(state);
}
