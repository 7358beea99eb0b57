/* SPDX-License-Identifier: Apache-2.0 */
/* Owns reading peers files as an application would: one JSON object a line, the members after the first. */
#include "tests/support/caller/caller.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first line has no member in it, and none is listed before it is known where it listens. */
static void read_member(struct peers *peers, const char *line, const char *port)
{
    cJSON *member = cJSON_Parse(line);
    const char *state = cJSON_GetStringValue(cJSON_GetObjectItem(member, "state"));
    const char *address = cJSON_GetStringValue(cJSON_GetObjectItem(member, "addr"));
    const cJSON *number = cJSON_GetObjectItem(cJSON_GetObjectItem(member, "ports"), port);
    struct sockaddr_in at = {.sin_family = AF_INET};
    if (state && strcmp(state, "ready") == 0 && address && inet_pton(AF_INET, address, &at.sin_addr) == 1 &&
        cJSON_IsNumber(number)) {
        at.sin_port = htons((uint16_t)number->valueint);
        tf_vec_push(&peers->ready, at);
    }
    cJSON_Delete(member);
}

static bool read_file(struct peers *peers, const char *path, const char *port)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) > 0)
        read_member(peers, line, port);
    free(line);
    fclose(file);
    return true;
}

bool peers_read(struct peers *peers, const char *pattern, const char *port)
{
    struct peers found = {0};
    glob_t files;
    bool any = false;
    int code = glob(pattern, 0, NULL, &files);
    if (code)
        fprintf(stderr, "%s: %s\n", pattern,
                code == GLOB_NOMATCH ? "there is no such file" : "cannot be read");
    for (size_t i = 0; code == 0 && i < files.gl_pathc; i++)
        any |= read_file(&found, files.gl_pathv[i], port); /* an ended epoch's file may just have gone */
    globfree(&files);
    if (any) {
        tf_vec_release(&peers->ready);
        *peers = found;
    } else
        tf_vec_release(&found.ready);
    return any;
}
