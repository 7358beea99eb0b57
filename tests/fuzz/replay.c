/* SPDX-License-Identifier: Apache-2.0 */
/* A main for fuzz targets without libFuzzer: runs the target over every file of the corpus (TF_CORPUS) and
 * over damaged copies of each. */
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/suite.h"

#include <dirent.h>

enum { INPUT_MAX = 256 * 1024, COPIES = 200 };

static size_t read_file(const char *path, uint8_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t len = fread(bytes, 1, INPUT_MAX, file);
    fclose(file);
    return len;
}

static void replay(struct tf_rng *rng, const char *path)
{
    uint8_t *bytes = tf_malloc(INPUT_MAX), *copy = tf_malloc(INPUT_MAX);
    size_t len = read_file(path, bytes);
    LLVMFuzzerTestOneInput(bytes, len);
    for (size_t i = 0; i < suite_rounds(COPIES); i++) {
        memcpy(copy, bytes, len);
        LLVMFuzzerTestOneInput(copy, damage(rng, copy, len));
    }
    free(bytes);
    free(copy);
}

int main(void)
{
    const char *folder = getenv("TF_CORPUS");
    DIR *dir = folder ? opendir(folder) : NULL;
    struct tf_rng rng;
    size_t files = 0;
    if (!dir) {
        fprintf(stderr, "TF_CORPUS does not name a folder\n");
        return 2;
    }
    tf_rng_init(&rng, suite_seed(1));
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = tf_asprintf("%s/%s", folder, entry->d_name);
        replay(&rng, path);
        free(path);
        files++;
    }
    closedir(dir);
    printf("\n%zu files of the corpus, each with %zu damaged copies\n", files, suite_rounds(COPIES));
    return files == 0;
}
