/* Splits and commit messages from elsewhere: what is accepted is written again to what reads as the same. */
#include <stdlib.h>

#include "table/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tl_splits splits = {.items = tl_calloc(1, sizeof(tl_split)), .cap = 1};
    tl_commit_message msg = {0}, msg_again = {0};
    tl_buf out = {0};
    if (splits.items == NULL)
        abort();
    if (tl_split_deserialize((tl_bytes_view){data, size}, &splits.items[0], NULL) == TL_OK)
        splits.n = 1;
    if (tl_commit_message_deserialize((tl_bytes_view){data, size}, &msg, NULL) == TL_OK) {
        if (tl_commit_message_serialize(&msg, &out, NULL) == TL_OK &&
            tl_commit_message_deserialize((tl_bytes_view){out.data, out.len}, &msg_again, NULL) != TL_OK)
            abort();
        tl_commit_message_deinit(&msg);
        tl_commit_message_deinit(&msg_again);
    }
    tl_splits_deinit(&splits);
    tl_buf_deinit(&out);
    return 0;
}
