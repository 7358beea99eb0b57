/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon as small as can be, to be killed at any moment: one instance from start to forget.
 * usage: host STATE_DIR UID SCRIPT FORGETTING_FILE */
#include "tests/unit/engine/station.h"

#include <fcntl.h>
#include <unistd.h>

static int go(struct station *s, struct tf_engine_spec *spec, const char *forgetting)
{
    struct tf_engine *e = s->engine;
    e->initialise(e, 10);
    if (!station_wait(s, TF_ENGINE_LISTED))
        return 1;
    e->peers(e, 10, spec->id.uid, spec->id.epoch, "one\n", 4);
    e->fence(e, 10, spec->id.uid, spec->id.epoch, INT64_MAX / 2);
    e->start(e, 10, spec);
    if (!station_wait_state(s, &spec->id, TF_INSTANCE_READY))
        return 1;
    e->peers(e, 10, spec->id.uid, spec->id.epoch, "two\n", 4);
    e->stop(e, 10, &spec->id, 0, 1000);
    if (!station_wait_state(s, &spec->id, TF_INSTANCE_EXITED))
        return 1;
    close(open(forgetting, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    e->forget(e, 10, spec->id.uid, spec->id.epoch);
    return station_wait_state(s, &spec->id, TF_INSTANCE_GONE) ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct station s;
    struct tf_engine_spec spec;
    struct tf_uid uid;
    if (argc != 5 || tf_uid_parse(argv[2], &uid, NULL))
        return 2;
    station_config(&s, STATION_PROCESS, argv[1]);
    station_spec(&spec, uid, 0, argv[3]);
    int rc = station_open(&s) ? go(&s, &spec, argv[4]) : 1;
    tf_engine_spec_release(&spec);
    station_release(&s);
    return rc;
}
