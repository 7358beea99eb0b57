/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the journals of shims. The format is written down in subcluster/engine/state/journal.h; it is read
 * here by other means, so that a mistake in writing it is found. */
#include "tests/support/federation/journal.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <cjson/cJSON.h>
#include <dirent.h>

static int64_t number(const cJSON *line, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, key);
    return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : -1;
}

static const char *word(const cJSON *line, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(line, key));
    return text ? text : "";
}

static bool read_id(const cJSON *line, struct tf_instance_id *id)
{
    int64_t epoch = number(line, "epoch"), index = number(line, "index"), attempt = number(line, "attempt");
    if (epoch < 0 || index < 0 || attempt < 0 || number(line, "boottime") < 0)
        return false;
    id->epoch = (uint64_t)epoch;
    id->index = (uint32_t)index;
    id->attempt = (uint32_t)attempt;
    return tf_uid_parse(word(line, "uid"), &id->uid, NULL) == 0;
}

static struct test_run *find(struct test_runs *runs, const struct tf_instance_id *id)
{
    tf_vec_each (run, runs)
        if (tf_instance_id_eq(&run->id, id))
            return run;
    return NULL;
}

static void take_start(struct test_runs *runs, const cJSON *line, const struct tf_instance_id *id)
{
    struct test_run *run = find(runs, id);
    if (!run) {
        run = tf_vec_add(runs);
        run->id = *id;
        run->begin = number(line, "boottime");
        run->end = INT64_MAX;
    }
    run->starts++;
}

static void take_stop(struct test_runs *runs, const cJSON *line, const struct tf_instance_id *id)
{
    struct test_run *run = find(runs, id);
    if (!run || run->end != INT64_MAX)
        return; /* the first one counts */
    run->end = number(line, "boottime");
    run->code = (int)number(line, "code");
    run->signal = (int)number(line, "signal");
    snprintf(run->cause, sizeof run->cause, "%s", word(line, "cause"));
}

static void take_line(struct test_runs *runs, const char *text)
{
    struct tf_instance_id id;
    cJSON *line = cJSON_Parse(text);
    const char *event = word(line, "event");
    if (!read_id(line, &id))
        runs->broken++;
    else if (strcmp(event, "start") == 0)
        take_start(runs, line, &id);
    else if (strcmp(event, "stop") == 0)
        take_stop(runs, line, &id);
    else
        runs->broken++;
    cJSON_Delete(line);
}

static void read_file(struct test_runs *runs, const char *path)
{
    FILE *file = fopen(path, "re");
    TF_AUTO_FREE char *line = NULL;
    size_t size = 0;
    if (!file) {
        runs->broken++;
        return;
    }
    while (getline(&line, &size, file) > 0)
        take_line(runs, line);
    fclose(file);
}

static int by_id(const void *a, const void *b)
{
    const struct tf_instance_id *x = &((const struct test_run *)a)->id,
                                *y = &((const struct test_run *)b)->id;
    int order = tf_uid_cmp(x->uid, y->uid);
    if (order == 0)
        order = (x->epoch > y->epoch) - (x->epoch < y->epoch);
    if (order == 0)
        order = (x->index > y->index) - (x->index < y->index);
    return order ? order : (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

void test_runs_read(struct test_runs *runs, const char *state_dir)
{
    TF_AUTO_FREE char *folder = tf_asprintf("%s/journal", state_dir);
    DIR *dir = opendir(folder); /* absent: nothing ever ran there */
    struct dirent **names = NULL;
    int count = dir ? scandir(folder, &names, NULL, alphasort) : 0; /* days, in order */
    for (int i = 0; i < count; i++) {
        TF_AUTO_FREE char *path = tf_asprintf("%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            read_file(runs, path);
        free(names[i]);
    }
    free(names);
    if (dir)
        closedir(dir);
    if (runs->count)
        qsort(runs->items, runs->count, sizeof *runs->items, by_id);
}

void test_runs_release(struct test_runs *runs)
{
    tf_vec_release(runs);
}
