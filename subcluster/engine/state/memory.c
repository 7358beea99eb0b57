/* SPDX-License-Identifier: Apache-2.0 */
/* The marker of a memory, and signs of operators. What they mean is left to the engines. */
#include "subcluster/engine/state/memory.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/state/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int tf_root_make(const char *path, struct tf_error *err)
{
    TF_AUTO_FREE char *text = tf_strdup(path);
    for (char *p = text + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char was = *p;
        *p = '\0';
        if (mkdir(text, 0700) != 0 && errno != EEXIST)
            return tf_error_errno(err, TF_ERR_IO, errno, "cannot make the folder %s", text);
        *p = was;
        if (!was)
            return 0;
    }
}

int tf_memory_load(int root, struct tf_uid *id, struct tf_error *err)
{
    struct tf_record_reader record = {0};
    const char *key, *value;
    bool found = false;
    if (tf_record_load(root, "marker", &record, err))
        return -1;
    while (tf_record_next(&record, &key, &value))
        found |= tf_str_eq(key, "id") && tf_uid_parse(value, id, NULL) == 0;
    tf_record_reader_release(&record);
    return found ? 0 : tf_error_set(err, TF_ERR_INVALID, "the record marker names no memory");
}

int tf_memory_make(int root, struct tf_uid *id, struct tf_error *err)
{
    struct tf_error why = TF_ERROR_INIT;
    if (tf_memory_load(root, id, &why) == 0)
        return 0;
    if (why.code != TF_ERR_NOT_FOUND)
        return tf_error_set(err, why.code, "%s", why.text);
    char text[TF_UID_TEXT];
    TF_AUTO_BUF out = TF_BUF_INIT;
    if (getrandom(id, sizeof *id, 0) != (ssize_t)sizeof *id)
        return tf_error_errno(err, TF_ERR_IO, errno, "no random numbers");
    tf_uid_format(*id, text);
    tf_record_put(&out, "id", text);
    return tf_record_save(root, "marker", &out, true, err);
}

int tf_signs_read(int root, const char *folder, void (*each)(void *context, const char *name), void *context,
                  struct tf_error *err)
{
    int fd = mkdirat(root, folder, 0700) == 0 || errno == EEXIST
                 ? openat(root, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
                 : -1;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        tf_error_errno(err, TF_ERR_IO, errno, "cannot read the folder %s of the state folder", folder);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    for (struct dirent *entry; (entry = readdir(dir));)
        each(context, entry->d_name);
    closedir(dir);
    return 0;
}
