/* Manifests and manifest lists out of any bytes. */
#include <stdlib.h>

#include "meta/meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tl_fs *fs;
    if (tl_fs_memory(&fs, NULL) != TL_OK || tl_fs_publish(fs, "/t/manifest/m", (tl_bytes_view){data, size}, false, NULL) != TL_OK)
        abort();
    tl_paths paths = {"/t", NULL};
    tl_manifest_list list = {0};
    tl_entries entries = {0};
    (void)tl_manifest_list_read(fs, &paths, "m", (int64_t)size, &list, NULL); /* refusing is fine */
    if (tl_manifest_read(fs, &paths, "m", (int64_t)size, NULL, NULL, &entries, NULL) == TL_OK)
        (void)tl_entries_merge(&entries, false, NULL); /* entries that collide are refused */
    tl_manifest_list_deinit(&list);
    tl_entries_deinit(&entries);
    tl_fs_unref(fs);
    return 0;
}
