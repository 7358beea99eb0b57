/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/fixture.h"

#include "common/base/alloc.h"
#include "common/base/text.h"
#include "subcluster/engine/state/proc.h"
#include "tests/support/orphans.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <unistd.h>

enum station_kind fixture_kind = STATION_PROCESS;

void fixture_open(struct fixture *f)
{
    test_adopt_orphans();
    CU_ASSERT_TRUE_FATAL(test_make_folder(f->dir));
    snprintf(f->state, sizeof f->state, "%s/deep/state", f->dir);
    f->uid = station_uid();
    station_config(&f->s, fixture_kind, f->state);
    tf_str_set(&f->s.config.work_dir, f->dir);
    CU_ASSERT_TRUE_FATAL(station_open(&f->s));
    f->s.engine->initialise(f->s.engine, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(station_wait(&f->s, TF_ENGINE_LISTED));
}

void fixture_close(struct fixture *f)
{
    station_release(&f->s);
    CU_ASSERT_TRUE(test_children_end(5));
    CU_ASSERT_EQUAL(test_end_children(5), 0);
    test_remove_folder(f->dir);
}

void fixture_restart(struct fixture *f, uint64_t owner)
{
    station_close(&f->s);
    CU_ASSERT_TRUE_FATAL(station_open(&f->s));
    f->s.engine->adopt(f->s.engine, owner);
    CU_ASSERT_PTR_NOT_NULL_FATAL(station_wait(&f->s, TF_ENGINE_LISTED));
}

void fixture_start(struct fixture *f, uint64_t owner, uint32_t index, const char *script)
{
    struct tf_engine_spec spec;
    station_spec(&spec, f->uid, index, script);
    f->s.engine->start(f->s.engine, owner, &spec);
    tf_engine_spec_release(&spec);
}

struct tf_instance_id fixture_id(const struct fixture *f, uint32_t index)
{
    return (struct tf_instance_id){f->uid, 7, index, 1};
}

void fixture_stop(struct fixture *f, uint64_t owner, uint32_t index, int64_t grace)
{
    struct tf_instance_id id = fixture_id(f, index);
    f->s.engine->stop(f->s.engine, owner, &id, 0, grace);
}

const struct station_event *fixture_wait(struct fixture *f, uint32_t index, enum tf_instance_state state)
{
    struct tf_instance_id id = fixture_id(f, index);
    const struct station_event *e = station_wait_state(&f->s, &id, state);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    return e;
}

size_t fixture_lines(const struct fixture *f, const char *name)
{
    char path[200], line[200];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        n++;
    if (file)
        fclose(file);
    return n;
}

void fixture_wait_lines(struct fixture *f, const char *name, size_t count)
{
    int64_t end = tf_boottime_ms() + TF_MINUTE;
    while (fixture_lines(f, name) < count && tf_boottime_ms() < end)
        tf_loop_turn(f->s.loop, 2);
    CU_ASSERT_EQUAL_FATAL(fixture_lines(f, name), count);
}

void fixture_refused(struct fixture *f, struct tf_engine_spec *spec, enum tf_engine_refusal why,
                     const char *word)
{
    station_clear(&f->s);
    f->s.engine->start(f->s.engine, 10, spec);
    const struct station_event *e = station_wait_state(&f->s, &spec->id, TF_INSTANCE_REFUSED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->event.refusal, why);
    CU_ASSERT_PTR_NOT_NULL(strstr(e->text, word));
}

void fixture_sign(struct fixture *f, const char *folder, bool said)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s/a", f->state, folder);
    int fd = said ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        close(fd);
    else
        unlink(path);
}
